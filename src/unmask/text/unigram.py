"""Training of Kudo's unigram language model (2018, section 3.2) in NumPy: seeds, EM, pruning by loss of likelihood.

The trainer of the Rust library sums in the order of a hash table, which differs between runs; here words come sorted
and sums have one order, so that the same text gives the same pieces and scores.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

MAX_PIECE = 16
"""Characters of the longest piece, as in SentencePiece."""

_SHRINK = 0.75
_SUB_ITERATIONS = 2
_FEWEST_EXPECTED = 0.5
_SEEDS_PER_PIECE = 16
_MOST_SEEDS = 1_000_000


@dataclass(frozen=True)
class _Words:
    """Words laid end to end as numbers of characters."""

    codes_N: np.ndarray
    left_N: np.ndarray
    """For each position, how many characters of its word begin there or later."""
    counts_W: np.ndarray
    ends_W: np.ndarray
    """Where each word ends, in places between characters when every word has one place more than characters."""


@dataclass(frozen=True)
class _Seeds:
    """Frequent substrings as a trie: at each length the sorted keys (prefix × characters + last character)."""

    n_characters: int
    keys: list[np.ndarray]
    pieces: list[np.ndarray]
    """For each key the number of its piece, −1 for none."""
    names: list[str]


def train_unigram(
    counts: Mapping[str, int], n_pieces: int, *, forbidden: Collection[str] = ()
) -> list[tuple[str, float]]:
    """The pieces and their log probabilities, likeliest first; every character of the words is one of them.

    Fewer than `n_pieces` come back where the words yield no more.
    """
    if "" in counts:
        raise ValueError("An empty word cannot be cut into pieces.")
    alphabet, words = _lay_out(list(counts), np.fromiter(counts.values(), np.int64, len(counts)))
    seeds, scores_P = _find_seeds(alphabet, words, n_pieces, forbidden)
    lattice = _Lattice(words, seeds)
    themselves = _Lattice(_lay_out(seeds.names, np.zeros(len(seeds.names), np.int64), alphabet)[1], seeds)
    themselves.keep(themselves.lengths_E < themselves.words_lengths()[themselves.word_of(themselves.starts_E)])
    lengths_P = np.array([len(name) for name in seeds.names])
    alive_P = np.ones(len(seeds.names), bool)
    while True:
        for _ in range(_SUB_ITERATIONS):
            expected_P = lattice.expected(scores_P)
            alive_P &= (expected_P >= _FEWEST_EXPECTED) | (lengths_P == 1)
            scores_P = _maximize(expected_P, alive_P)
            lattice.keep(alive_P[lattice.pieces_E])
        if alive_P.sum() <= max(n_pieces * 11 // 10, len(alphabet)):
            break
        target = max(n_pieces * 11 // 10, int(alive_P.sum() * _SHRINK))
        themselves.keep(alive_P[themselves.pieces_E])
        alive_P = _prune(lattice, themselves, scores_P, alive_P, lengths_P, target)
        lattice.keep(alive_P[lattice.pieces_E])
    return _finish(seeds.names, scores_P, alive_P, lengths_P, n_pieces)


def most_seeds(n_pieces: int) -> int:
    """How many substrings training begins with at most, to choose so many pieces from."""
    return min(_MOST_SEEDS, max(_SEEDS_PER_PIECE * n_pieces, 10_000))


def _lay_out(words: list[str], counts_W: np.ndarray, alphabet: np.ndarray | None = None) -> tuple[np.ndarray, _Words]:
    points_N = np.frombuffer("".join(words).encode("utf-32-le"), np.uint32)
    if alphabet is None:
        alphabet = np.unique(points_N)
    codes_N = np.searchsorted(alphabet, points_N).astype(np.int32)
    lengths_W = np.array([len(word) for word in words], np.int32)
    last_N = np.repeat(np.cumsum(lengths_W), lengths_W)
    left_N = (last_N - np.arange(len(points_N))).astype(np.int32)
    return alphabet, _Words(codes_N, left_N, counts_W, np.cumsum(lengths_W + 1) - 1)


def _find_seeds(
    alphabet: np.ndarray, words: _Words, n_pieces: int, forbidden: Collection[str]
) -> tuple[_Seeds, np.ndarray]:
    """Every character, and the substrings with the greatest frequency × length that are not always followed alike."""
    weights_N = np.repeat(words.counts_W, _lengths(words))
    at, nodes = np.arange(len(words.codes_N), dtype=np.int32), words.codes_N
    keys, counts = [np.arange(len(alphabet))], [np.bincount(nodes, weights_N, minlength=len(alphabet))]
    firsts: list[np.ndarray] = [np.unique(nodes, return_index=True)[1]]
    followed: list[np.ndarray] = []
    for length in range(2, MAX_PIECE + 1):
        inside = words.left_N[at] >= length
        at, nodes = at[inside], nodes[inside]
        key = nodes.astype(np.int64) * len(alphabet) + words.codes_N[at + length - 1]
        found, first, which = np.unique(key, return_index=True, return_inverse=True)
        count = np.bincount(which, weights_N[at], minlength=len(found))
        likely = np.zeros(len(counts[-1]))
        np.maximum.at(likely, found // len(alphabet), count)
        followed.append(likely >= counts[-1])
        often = count >= 2
        keys.append(found[often])
        counts.append(count[often])
        firsts.append(at[first[often]])
        numbers, stays = np.cumsum(often) - 1, often[which]
        at, nodes = at[stays], numbers[which[stays]]
    followed.append(np.zeros(len(counts[-1]), bool))
    followed[0][:] = False
    return _choose_seeds(alphabet, words, keys, counts, firsts, followed, n_pieces, forbidden)


def _choose_seeds(
    alphabet: np.ndarray,
    words: _Words,
    keys: list[np.ndarray],
    counts: list[np.ndarray],
    firsts: list[np.ndarray],
    followed: list[np.ndarray],
    n_pieces: int,
    forbidden: Collection[str],
) -> tuple[_Seeds, np.ndarray]:
    lengths = np.concatenate([np.full(len(key), length) for length, key in enumerate(keys, 1)])
    score, first = np.concatenate(counts) * lengths, np.concatenate(firsts)
    score[np.concatenate(followed)] = 0
    longer = len(alphabet) + np.argsort(-score[len(alphabet) :], kind="stable")[: most_seeds(n_pieces)]
    chosen = np.sort(np.concatenate([np.arange(len(alphabet)), longer[score[longer] > 0]]))
    text = alphabet[words.codes_N].tobytes().decode("utf-32-le")
    names = [text[first[i] : first[i] + lengths[i]] for i in chosen]
    fine = np.array([name not in forbidden for name in names], bool)
    chosen, names = chosen[fine], [name for name in names if name not in forbidden]
    numbers = np.full(len(score), -1, np.int32)
    numbers[chosen] = np.arange(len(chosen))
    bounds = np.cumsum([len(key) for key in keys])[:-1]
    scores_P = np.log(score[chosen]) - np.log(score[chosen].sum())
    return _Seeds(len(alphabet), keys, np.split(numbers, bounds), names), scores_P


def _lengths(words: _Words) -> np.ndarray:
    return np.diff(words.ends_W, prepend=-1) - 1


class _Lattice:
    """All ways to cut words into pieces: an edge for each place where a piece fits, in order of its end.

    A word of n characters has n + 1 places; the edges are worked through one place-in-word at a time, all words at
    once.
    """

    def __init__(self, words: _Words, seeds: _Seeds) -> None:
        self.words = words
        self.n_places = int(words.ends_W[-1]) + 1
        lengths_W = _lengths(words)
        self.firsts_W = words.ends_W - lengths_W
        starts, pieces, sizes = _fit(words, seeds)
        # A word's first place is as many places further on as there are words before it.
        starts += np.repeat(np.arange(len(lengths_W), dtype=np.int32), lengths_W)[starts]
        columns = np.arange(self.n_places, dtype=np.int32) - np.repeat(self.firsts_W, lengths_W + 1).astype(np.int32)
        self.columns_M = columns
        # Edges are found shortest first, so those of one end come in that order: the sorts are stable.
        order = np.argsort(columns[starts + sizes].astype(np.int64) * self.n_places + starts + sizes, kind="stable")
        self.starts_E, self.pieces_E, self.lengths_E = starts[order], pieces[order], sizes[order]
        backwards = -columns[self.starts_E].astype(np.int64) * self.n_places + self.starts_E
        self._backwards_E = np.argsort(backwards, kind="stable").astype(np.int32)
        self._index()

    def word_of(self, places: np.ndarray) -> np.ndarray:
        """The words in which these places lie."""
        return np.searchsorted(self.words.ends_W, places)

    def words_lengths(self) -> np.ndarray:
        """Characters of each word."""
        return _lengths(self.words)

    def keep(self, stays_E: np.ndarray) -> None:
        """Takes all other edges out."""
        if stays_E.all():
            return
        numbers_E = (np.cumsum(stays_E) - 1).astype(np.int32)
        self._backwards_E = numbers_E[self._backwards_E[stays_E[self._backwards_E]]]
        self.starts_E, self.pieces_E = self.starts_E[stays_E], self.pieces_E[stays_E]
        self.lengths_E = self.lengths_E[stays_E]
        self._index()

    def _index(self) -> None:
        ends_E = self.starts_E + self.lengths_E
        self._by_end = _runs(self.columns_M[ends_E], ends_E)
        starts = self.starts_E[self._backwards_E]
        self._by_start = _runs(-self.columns_M[starts], starts)

    def expected(self, scores_P: np.ndarray) -> np.ndarray:
        """How often each piece is expected in the words: forward and backward sums of probabilities."""
        score_E = scores_P[self.pieces_E]
        forward_M = np.full(self.n_places, -np.inf)
        forward_M[self.firsts_W] = 0
        for edges, heads, places in self._by_end:
            forward_M[places] = _log_sums(forward_M[self.starts_E[edges]] + score_E[edges], heads)
        backward_M = np.full(self.n_places, -np.inf)
        backward_M[self.words.ends_W] = 0
        for edges, heads, places in self._by_start:
            chosen = self._backwards_E[edges]
            value = backward_M[self.starts_E[chosen] + self.lengths_E[chosen]] + score_E[chosen]
            backward_M[places] = _log_sums(value, heads)
        total_M = np.repeat(forward_M[self.words.ends_W], self.words_lengths() + 1)
        score_E += forward_M[self.starts_E] - total_M[self.starts_E]
        score_E += backward_M[self.starts_E + self.lengths_E]
        weight_M = np.repeat(self.words.counts_W, self.words_lengths() + 1)
        return np.bincount(self.pieces_E, np.exp(score_E) * weight_M[self.starts_E], minlength=len(scores_P))

    def best(self, scores_P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The pieces of the likeliest way through each word, and the word of each; no way, no piece."""
        value_M = np.full(self.n_places, -np.inf)
        value_M[self.firsts_W] = 0
        edge_M = np.full(self.n_places, -1, np.int64)
        for edges, heads, places in self._by_end:
            value = value_M[self.starts_E[edges]] + scores_P[self.pieces_E[edges]]
            value_M[places] = np.maximum.reduceat(value, heads)
            # The first edge that reaches the greatest value; of one place the shortest pieces come first.
            reaches = np.flatnonzero(value == np.repeat(value_M[places], np.diff(heads, append=len(value))))
            edge_M[places] = edges.start + reaches[np.searchsorted(reaches, heads)]
        at_W = np.flatnonzero(np.isfinite(value_M[self.words.ends_W]))
        place = self.words.ends_W[at_W]
        pieces, owners = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
        while len(place):
            edge = edge_M[place]
            pieces.append(self.pieces_E[edge])
            owners.append(at_W)
            place = self.starts_E[edge]
            inside = place != self.firsts_W[at_W]
            place, at_W = place[inside], at_W[inside]
        return np.concatenate(pieces), np.concatenate(owners)


def _fit(words: _Words, seeds: _Seeds) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where pieces fit: (position, piece, characters)."""
    at, nodes = np.arange(len(words.codes_N), dtype=np.int32), words.codes_N.astype(np.int64)
    starts, pieces, sizes = [], [], []
    for length, (keys, numbers) in enumerate(zip(seeds.keys, seeds.pieces, strict=True), 1):
        if length > 1:
            inside = words.left_N[at] >= length
            at, nodes = at[inside], nodes[inside]
            key = nodes * seeds.n_characters + words.codes_N[at + length - 1]
            nodes = np.searchsorted(keys, key)
            known = np.zeros(len(key), bool) if not len(keys) else keys[np.minimum(nodes, len(keys) - 1)] == key
            at, nodes = at[known], nodes[known]
        piece = numbers[nodes]
        starts.append(at[piece >= 0])
        pieces.append(piece[piece >= 0])
        sizes.append(np.full(len(starts[-1]), length, np.int8))
    return np.concatenate(starts), np.concatenate(pieces), np.concatenate(sizes)


def _runs(columns_E: np.ndarray, places_E: np.ndarray) -> list[tuple[slice, np.ndarray, np.ndarray]]:
    """For each column its edges, where in them each place begins, and those places."""
    if not len(columns_E):
        return []
    bounds = np.flatnonzero(np.diff(columns_E)) + 1
    found = []
    for start, end in zip([0, *bounds.tolist()], [*bounds.tolist(), len(columns_E)], strict=True):
        places = places_E[start:end]
        heads = np.concatenate([[0], np.flatnonzero(np.diff(places)) + 1])
        found.append((slice(start, end), heads, places[heads]))
    return found


def _log_sums(values: np.ndarray, heads: np.ndarray) -> np.ndarray:
    greatest = np.maximum.reduceat(values, heads)
    # A place that nothing leads to: −∞ − −∞ would be no number.
    base = np.where(np.isfinite(greatest), greatest, 0)
    sums = np.add.reduceat(np.exp(values - np.repeat(base, np.diff(heads, append=len(values)))), heads)
    with np.errstate(divide="ignore"):
        return np.log(sums) + base


def _maximize(expected_P: np.ndarray, alive_P: np.ndarray) -> np.ndarray:
    """New scores; digamma in place of the logarithm is a sparse prior, as in SentencePiece."""
    frequent_P = alive_P & (expected_P >= _FEWEST_EXPECTED)
    new_P = np.full(len(expected_P), -np.inf)
    new_P[frequent_P] = _digamma(expected_P[frequent_P]) - _digamma(expected_P[frequent_P].sum(keepdims=True))
    # A character must stay possible, or its words would have no way through.
    new_P[alive_P & ~frequent_P] = new_P[frequent_P].min() - 1
    return new_P


def _digamma(x: np.ndarray) -> np.ndarray:
    shift = np.zeros_like(x)
    for _ in range(7):
        shift -= np.where(x < 7, 1 / x, 0)
        x = np.where(x < 7, x + 1, x)
    square = 1 / (x * x)
    return shift + np.log(x) - 0.5 / x - square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))


def _prune(
    lattice: _Lattice,
    themselves: _Lattice,
    scores_P: np.ndarray,
    alive_P: np.ndarray,
    lengths_P: np.ndarray,
    target: int,
) -> np.ndarray:
    """Keeps the pieces without which the words would be least likely, and every character."""
    pieces, owners = lattice.best(scores_P)
    n_P = np.bincount(pieces, lattice.words.counts_W[owners], minlength=len(scores_P))
    parts, whole = themselves.best(scores_P)
    n_parts_P = np.bincount(whole, minlength=len(scores_P))
    total = n_P.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        # Without a piece its parts take over its occurrences.
        total_without_P = total + n_P * (n_parts_P - 1)
        part = np.log(n_P[parts] + n_P[whole]) - np.log(total_without_P[whole])
        loss_P = n_P * (np.log(n_P) - np.log(total) - np.bincount(whole, part, minlength=len(scores_P)))
    loss_P[(n_parts_P == 0) & (n_P > 0)] = np.inf
    loss_P[(lengths_P > 1) & (n_P == 0)] = -np.inf
    loss_P[lengths_P == 1] = np.inf
    loss_P[~alive_P] = -np.inf
    order = np.argsort(-loss_P, kind="stable")
    kept_P = np.zeros(len(scores_P), bool)
    kept_P[order[: max(target, int((lengths_P == 1).sum()))]] = True
    return kept_P & alive_P & (loss_P > -np.inf)


def _finish(
    names: list[str], scores_P: np.ndarray, alive_P: np.ndarray, lengths_P: np.ndarray, n_pieces: int
) -> list[tuple[str, float]]:
    # Six digits: what a sum in another order would change is not in the file.
    scored = [(names[i], round(float(scores_P[i]), 6), int(lengths_P[i])) for i in np.flatnonzero(alive_P)]
    characters = [(name, score) for name, score, length in scored if length == 1]
    longer = sorted(((name, score) for name, score, length in scored if length > 1), key=_by_score)
    return sorted([*characters, *longer[: max(n_pieces - len(characters), 0)]], key=_by_score)


def _by_score(piece: tuple[str, float]) -> tuple[float, str]:
    return -piece[1], piece[0]
