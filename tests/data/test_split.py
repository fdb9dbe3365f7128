"""The held-out part has the classes in their shares, and no text that training has."""

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


def test_few_examples():
    assert len(held_out(["a", "b", "c"], 0.1, 0)) == 1
    assert held_out(["a", "a", "b"], 0.1, 0, ["x", "x", "y"]) == [2]  # rather the class that cannot be learned well


@pytest.mark.parametrize("share", [0, 1, -0.1, 2, float("nan")])
def test_shares_that_are_none(share):
    with pytest.raises(UserError, match="it must be above 0 and below 1"):
        held_out([0, 1], share, 0)


def test_one_example():
    with pytest.raises(UserError, match="There is one example only"):
        held_out([0], 0.1, 0)
