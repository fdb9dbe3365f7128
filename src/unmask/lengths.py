"""Texts of like length together: whatever is computed as a rectangle costs its padding too."""

import numpy as np


def cut(
    lengths_N: np.ndarray,
    *,
    piece_costs: int,
    most_tokens: int | None = None,
    rounded: bool = False,
    squared: bool = False,
) -> list[np.ndarray]:
    """Texts in pieces of like length, the numbers of each one's texts: those pieces that are computed soonest.

    A piece costs its tokens, padding included, and a fixed price: long texts are parted from short ones if that saves
    more padding than one more piece costs.

    Args:
        lengths_N: tokens of each text.
        piece_costs: the price of a piece, in tokens.
        most_tokens: that a piece may have, unless it is a single text.
        rounded: whether the texts of a piece are computed, and cost, as many as the next power of two.
        squared: whether a text costs the square of its tokens, as in attention, and a piece is paid in such.
    """
    order = np.argsort(lengths_N, kind="stable")
    lengths_N = lengths_N[order]
    ends = np.arange(len(order) + 1) if rounded else _ends_of_runs(lengths_N, most_tokens)
    longest = lengths_N[ends - 1].tolist()
    costs, begins = np.zeros(len(ends)), [0] * len(ends)
    for last in range(1, len(ends)):  # the cheapest way to cut the shortest texts: where does the last piece begin?
        n_texts = ends[last] - ends[:last]
        if rounded:
            n_texts = 2 ** np.ceil(np.log2(n_texts))
        whole = costs[:last] + n_texts * (longest[last] ** 2 if squared else longest[last])
        if most_tokens is not None:
            whole[:-1][n_texts[:-1] * longest[last] > most_tokens] = np.inf
        begins[last] = int(whole.argmin())
        costs[last] = whole[begins[last]] + piece_costs
    pieces, last = [], len(ends) - 1
    while last:
        pieces.append(order[ends[begins[last]] : ends[last]])
        last = begins[last]
    return pieces


def fill(lengths_N: np.ndarray, *, most_tokens: int) -> list[np.ndarray]:
    """Texts in few pieces of like length, for where padding is not computed; see `cut`."""
    pieces: list[list[int]] = []
    n_tokens = most_tokens
    for i in np.argsort(lengths_N, kind="stable"):
        n_tokens += int(lengths_N[i])
        if n_tokens > most_tokens:
            pieces.append([])
            n_tokens = int(lengths_N[i])
        pieces[-1].append(int(i))
    return [np.asarray(piece) for piece in pieces]


def _ends_of_runs(sorted_N: np.ndarray, most_tokens: int | None) -> np.ndarray:
    """0, and after how many texts each run of equally long ones ends: they stay together, unless they are too many."""
    ends = [0]
    for length, n_texts in zip(*np.unique(sorted_N, return_counts=True), strict=True):
        step = n_texts if most_tokens is None else max(1, most_tokens // max(1, length))
        ends += [ends[-1] + min(n, n_texts) for n in range(step, n_texts + step, step)]
    return np.asarray(ends)
