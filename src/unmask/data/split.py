"""A part of the examples held out for development: each class as often as in the whole, equal texts on one side."""

import random
from collections import Counter
from collections.abc import Hashable, Sequence

from unmask.errors import UserError

_ENOUGH = 3
"""A class of so many can spare one."""


def held_out(
    labels: Sequence[Hashable], share: float, seed: int, groups: Sequence[Hashable] | None = None
) -> list[int]:
    """The numbers of the examples that are held out, in order.

    Every class of which there are two or more keeps one at least in training, as far as it is in several groups.

    Args:
        labels: the class of each example; the same for all where there are no classes.
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
    chosen = _chosen(order, labels, share)
    if not chosen:
        # A few examples of many classes: none can be spared by rule, yet training without a dev part is worse.
        total = Counter(labels)
        chosen = [min(order, key=lambda group: (len(_last_of(group, labels, total)), len(group)))]
    return sorted(number for group in chosen for number in group)


def _last_of(group: Sequence[int], labels: Sequence[Hashable], total: Counter[Hashable]) -> list[Hashable]:
    """The classes of two examples or more that are in no other group."""
    count = Counter(labels[number] for number in group)
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
