"""The held-out part has the classes in their shares, and no text that training has."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.data.split import held_out
from unmask.errors import UserError


@given(
    st.lists(st.tuples(st.sampled_from("aabc"), st.integers(0, 12)), min_size=2, max_size=80),
    st.floats(0.01, 0.9),
    st.integers(0, 3),
)
def test_what_always_holds(examples, share, seed):
    labels, groups = [label for label, _ in examples], [group for _, group in examples]
    if len(set(groups)) < 2:
        with pytest.raises(UserError, match="so none can be held out"):
            held_out(labels, share, seed, groups)
        return
    chosen = held_out(labels, share, seed, groups)
    assert chosen == sorted(set(chosen)) == held_out(labels, share, seed, groups)
    assert 0 < len(chosen) < len(labels)
    assert not {groups[i] for i in chosen} & {groups[i] for i in set(range(len(labels))) - set(chosen)}


@given(st.lists(st.sampled_from("aaaaabbc"), min_size=4, max_size=200), st.floats(0.05, 0.6), st.integers(0, 3))
def test_classes_have_their_shares_and_stay_in_training(labels, share, seed):
    total = Counter(labels)
    if max(total.values()) < 2:
        return
    taken = Counter(labels[i] for i in held_out(labels, share, seed))
    for label, n in total.items():
        assert abs(taken[label] - share * n) <= 1.5
        assert taken[label] < n


def test_the_share_of_all():
    labels = ["a"] * 900 + ["b"] * 90 + ["c"] * 10
    taken = Counter(labels[i] for i in held_out(labels, 0.1, 0))
    assert taken == {"a": 90, "b": 9, "c": 1}
    assert held_out(labels, 0.1, 0) != held_out(labels, 0.1, 1)


def test_a_rare_class_is_measured_too():
    labels = ["usual"] * 196 + ["rare"] * 4
    assert Counter(labels[i] for i in held_out(labels, 0.1, 0)) == {"usual": 19, "rare": 1}
    assert len(held_out([number // 3 for number in range(300)], 0.1, 0)) == 30  # not one of each of 100 classes


def test_groups_of_many():
    contexts = [number // 7 for number in range(700)]
    chosen = held_out([None] * 700, 0.1, 0, contexts)
    assert len(chosen) == 70
    assert len({contexts[i] for i in chosen}) == 10


SEVERAL = st.lists(st.sampled_from("aaabcdef"), max_size=4, unique=True).map(tuple)


@given(
    st.lists(st.tuples(SEVERAL, st.integers(0, 30)), min_size=2, max_size=80), st.floats(0.01, 0.9), st.integers(0, 3)
)
def test_what_always_holds_of_several_labels(examples, share, seed):
    labels, groups = [label for label, _ in examples], [group for _, group in examples]
    if len(set(groups)) < 2:
        return
    chosen = held_out(labels, share, seed, groups)
    assert chosen == sorted(set(chosen)) == held_out(labels, share, seed, groups)
    assert 0 < len(chosen) < len(labels)
    rest = set(range(len(labels))) - set(chosen)
    assert not {groups[i] for i in chosen} & {groups[i] for i in rest}
    if len(chosen) <= share * len(labels):  # else too few examples to spare one by rule
        where = {label: {group for several, group in examples if label in several} for label in "abcdef"}
        kept = {label for i in rest for label in labels[i]}
        assert {label for label, found in where.items() if len(found) > 1} <= kept


def several_labels(n, n_labels, least, most, seed=0):
    draw = random.Random(seed)
    return [tuple(draw.sample(range(n_labels), draw.randint(least, most))) for _ in range(n)]


@pytest.mark.parametrize(("n_labels", "least", "most"), [(50, 3, 6), (30, 1, 4), (12, 0, 2)])
@pytest.mark.parametrize("seed", [0, 1])
def test_each_of_several_labels_has_its_share(n_labels, least, most, seed):
    """Nearly every set of labels is there once: taken as classes, none of them could be held out."""
    labels = several_labels(2000, n_labels, least, most)
    chosen = held_out(labels, 0.1, seed)
    assert len(chosen) == 200
    total, taken = (
        Counter(label for several in part for label in several) for part in (labels, map(labels.__getitem__, chosen))
    )
    assert all(abs(taken[label] - 0.1 * n) < 3 for label, n in total.items())
    assert taken.total() / 200 == pytest.approx(total.total() / 2000, abs=0.1)
    assert held_out(labels, 0.1, seed) != held_out(labels, 0.1, seed + 2)


def test_a_rare_label_among_several_is_measured_too():
    labels = [("usual", "rare") if n % 500 == 0 else ("usual",) if n % 3 else () for n in range(2000)]
    chosen = held_out(labels, 0.1, 0)
    assert Counter(labels[i] for i in chosen) == {("usual", "rare"): 1, ("usual",): 133, (): 66}
    labels = [(n, "usual") for n in range(100)]  # labels that nobody can spare leave the size as it was asked for
    assert len(held_out(labels, 0.1, 0)) == 10


def test_equal_texts_with_several_labels_are_on_one_side():
    labels = several_labels(900, 20, 1, 3)
    groups = [number // 3 for number in range(900)]
    chosen = held_out(labels, 0.1, 0, groups)
    assert len(chosen) == 90
    assert len({groups[i] for i in chosen}) == 30


def test_few_examples():
    assert len(held_out(["a", "b", "c"], 0.1, 0)) == 1
    assert held_out(["a", "a", "b"], 0.1, 0, ["x", "x", "y"]) == [2]  # rather the class that cannot be learned well
    assert held_out([("a", "b"), ("a", "b"), ("c",)], 0.1, 0, ["x", "x", "y"]) == [2]


@pytest.mark.parametrize("share", [0, 1, -0.1, 2, float("nan")])
def test_shares_that_are_none(share):
    with pytest.raises(UserError, match="it must be above 0 and below 1"):
        held_out([0, 1], share, 0)


def test_one_example():
    with pytest.raises(UserError, match="There is one example only"):
        held_out([0], 0.1, 0)
