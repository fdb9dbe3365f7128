"""A part of the examples held out for development: each class as often as in the whole, equal texts on one side."""

import random
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import chain

from unmask.errors import UserError

_ENOUGH = 3
"""A class of so many can spare one."""


def held_out(
    labels: Sequence[Hashable], share: float, seed: int, groups: Sequence[Hashable] | None = None
) -> list[int]:
    """The numbers of the examples that are held out, in order.

    Every class of which there are two or more keeps one at least in training, as far as it is in several groups.

    Args:
        labels: the class of each example, or a tuple of its labels, each of which is to have its share; the same for
            all where there are no classes.
        share: of the examples, above 0 and below 1.
        seed: another one gives another choice.
        groups: for each example what it shares with those that must be on the same side, such as its text.
    """
    if not 0 < share < 1:
        raise UserError(f"The share that is held out is {share}; it must be above 0 and below 1.")
    members: dict[Hashable, list[int]] = {}
    for number, group in enumerate(range(len(labels)) if groups is None else groups):
        members.setdefault(group, []).append(number)
    if len(members) < 2:
        what = "example" if len(labels) == 1 else "text"
        raise UserError(f"There is one {what} only, so none can be held out; give data for development (--dev).")
    order = list(members.values())
    random.Random(seed).shuffle(order)
    several = [label if isinstance(label, tuple) else (label,) for label in labels]
    are_single = not any(isinstance(label, tuple) for label in labels)
    chosen = _chosen(order, labels, share) if are_single else _balanced(order, several, share)
    if not chosen:
        # A few examples of many classes: none can be spared by rule, yet training without a dev part is worse.
        total = Counter(chain.from_iterable(several))
        chosen = [min(order, key=lambda group: (len(_last_of(group, several, total)), len(group)))]
    return sorted(number for group in chosen for number in group)


def _last_of(group: Sequence[int], labels: Sequence[tuple[Hashable, ...]], total: Counter[Hashable]) -> list[Hashable]:
    """The classes of two examples or more that are in no other group."""
    count = Counter(label for number in group for label in labels[number])
    return [label for label, n in count.items() if n == total[label] > 1]


def _chosen(order: Sequence[list[int]], labels: Sequence[Hashable], share: float) -> list[list[int]]:
    """Whole groups, class by class from the rarest on, as many as the class' share and no class' last example."""
    total = Counter(labels)
    wanted = _quotas(total, share)
    counts = [Counter(labels[number] for number in group) for group in order]
    having: dict[Hashable, list[int]] = {label: [] for label in total}
    for place, count in enumerate(counts):
        for label in count:
            having[label].append(place)
    taken: Counter[Hashable] = Counter()
    chosen: set[int] = set()
    for label in sorted(total, key=lambda label: total[label]):
        for place in having[label]:
            count = counts[place]
            # A group that goes beyond the share is taken only if the share is nearer with it than without.
            if place in chosen or taken[label] + count[label] / 2 > wanted[label]:
                continue
            if all(taken[other] + n < total[other] for other, n in count.items()):
                chosen.add(place)
                taken.update(count)
    return [order[place] for place in sorted(chosen)]


def _quotas(total: Counter[Hashable], share: float) -> dict[Hashable, int]:
    """How many of each class, so that their sum is the share of all; what is left goes to the largest remainders."""
    exact = {label: share * n for label, n in total.items()}
    quotas = {label: int(n) for label, n in exact.items()}
    wanted = max(1, round(share * total.total()))
    rare = [label for label, n in total.items() if n >= _ENOUGH and not quotas[label]]
    if sum(quotas.values()) + len(rare) <= wanted:
        # What is not held out cannot be measured: figures without a rare class look better than the model is.
        quotas |= dict.fromkeys(rare, 1)
    left = wanted - sum(quotas.values())
    by_remainder = sorted(exact, key=lambda label: quotas[label] - exact[label])
    for label in by_remainder[:left]:
        quotas[label] += 1
    return quotas


def _balanced(order: Sequence[list[int]], labels: Sequence[tuple[Hashable, ...]], share: float) -> list[list[int]]:
    """Whole groups, each held out if what it has is then nearer to its share, until there are enough.

    Those with the rarest labels come first, since of common ones enough are left to set right what rare ones brought
    along: the order of iterative stratification (Sechidis, Tsoumakas and Vlahavas 2011).
    """
    # How many labels an example has is shared out as if it were a label, and with it those that have none.
    counts = [Counter(chain.from_iterable(_traits(labels[number]) for number in group)) for group in order]
    total: Counter[Hashable] = Counter()
    for count in counts:
        total.update(count)
    wanted = max(1, round(share * len(labels)))
    shares = _shares(total, share, wanted)
    # How many more, or fewer, of each were held out than their share of those that were placed.
    over = dict.fromkeys(total, 0.0)
    taken: Counter[Hashable] = Counter()
    chosen: list[list[int]] = []
    n_taken = n_kept = 0
    for place in sorted(range(len(order)), key=lambda place: min(total[trait] for trait in counts[place])):
        group, count = order[place], counts[place]
        n = len(group)
        is_last = any(isinstance(trait, tuple) and taken[trait] + k >= total[trait] > 1 for trait, k in count.items())
        may = n_taken + n / 2 <= wanted and n_taken + n < len(labels) and not is_last
        must = n_kept + n / 2 > len(labels) - wanted
        # The sum of the squares of what is over is less with it than without.
        nearer = sum(k * (over[trait] + k * (0.5 - shares[trait])) for trait, k in count.items()) < 0
        if is_held := may and (must or nearer):
            chosen.append(group)
            taken.update(count)
        n_taken, n_kept = n_taken + n * is_held, n_kept + n * (not is_held)
        for trait, k in count.items():
            over[trait] += k * (is_held - shares[trait])
    return chosen


def _traits(labels: tuple[Hashable, ...]) -> list[Hashable]:
    """What is to be as frequent on both sides: each label, and how many there are, as a number that is no label."""
    return [*((label,) for label in labels), len(labels)]


def _shares(total: Counter[Hashable], share: float, wanted: int) -> dict[Hashable, float]:
    """Which part of each is held out: of a rare one that can spare it one at least, if so few are rare."""
    rare = [trait for trait, n in total.items() if _ENOUGH <= n < 1 / share]
    spared = {trait: 1 / total[trait] for trait in rare if 2 * len(rare) <= wanted}
    return dict.fromkeys(total, share) | spared
