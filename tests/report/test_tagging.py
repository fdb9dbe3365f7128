"""Each entity is right or wrong in one way, and sentences show theirs in place."""

import doctest

from hypothesis import given
from hypothesis import strategies as st

from unmask.report import tagging as module
from unmask.report.tagging import TaggedText, compare, joined, tagging_errors, tagging_sections
from unmask.tasks.metrics.entities import Entity, entity_counts, per_label

ENTITIES = st.lists(
    st.builds(lambda s, n, label: Entity(s, s + n, label), st.integers(0, 9), st.integers(1, 4), st.sampled_from("AB")),
    max_size=6,
)


@given(ENTITIES, ENTITIES)
def test_every_entity_is_in_one_place(gold, predicted):
    found = compare(gold, predicted)
    pairs = [*found.wrong_label, *found.wrong_boundary, *found.wrong_both]
    assert sorted([*found.right, *(one for one, _ in pairs), *found.missed]) == sorted(set(gold))
    assert sorted([*found.right, *(other for _, other in pairs), *found.spurious]) == sorted(set(predicted))
    assert len(found.right) == entity_counts([gold], [predicted])[0, 0]
    assert all(one[:2] == other[:2] and one.label != other.label for one, other in found.wrong_label)
    assert all(one[:2] != other[:2] and one.label == other.label for one, other in found.wrong_boundary)
    assert (found.n_errors == 0) == (set(gold) == set(predicted))


GOLD = [Entity(0, 1, "ORG"), Entity(2, 3, "MISC"), Entity(5, 7, "PER"), Entity(8, 11, "LOC"), Entity(12, 13, "LOC")]
PREDICTED = [Entity(0, 1, "ORG"), Entity(2, 3, "LOC"), Entity(5, 6, "PER"), Entity(8, 10, "ORG"), Entity(4, 5, "ORG")]
WORDS = ["EU", "rejects", "German", "lamb", "today", "Peter", "Blackburn", "in", "New", "York", "City", "near", "Bonn"]


def tagged():
    text, words = joined(WORDS)
    return TaggedText("conll.txt, line 1", text, GOLD, PREDICTED, words)


def test_kinds_of_errors_are_counted():
    labels, kinds, confused = tagging_sections([tagged()])
    assert [row[1] for row in kinds.rows] == [1, 1, 1, 1, 1, 1]
    assert [row[2] for row in kinds.rows] == [1 / 6] * 6
    assert confused.rows == [("MISC", "LOC", 1), ("LOC", "ORG", 1)]
    assert {row[0]: row[1:] for row in labels.rows} == {
        label: tuple(figures) for label, figures in per_label([GOLD], [PREDICTED]).items()
    }


def test_sentences_show_their_entities():
    (error,) = tagging_errors([tagged()])
    assert error.score == 5
    shown = {(error.text[mark.start : mark.end], mark.kind, mark.label) for mark in error.marks}
    assert ("EU", "right", "ORG") in shown
    assert ("Peter Blackburn", "gold", "gold: PER") in shown
    assert ("Peter", "predicted", "predicted: PER") in shown
    assert len(shown) == 9
    assert error.gold == "German (MISC), Peter Blackburn (PER), New York City (LOC), Bonn (LOC)"
    assert error.predicted == "German (LOC), today (ORG), Peter (PER), New York (ORG)"


def test_characters_may_be_counted_instead_of_words():
    text = TaggedText("place", "易纲在北京", [Entity(0, 2, "PER"), Entity(3, 5, "LOC")], [Entity(0, 2, "PER")])
    (error,) = tagging_errors([text])
    assert (error.gold, error.predicted) == ("北京 (LOC)", "nothing else")


def test_most_errors_first_then_the_shorter_text():
    entity = Entity(0, 1, "A")
    texts = [
        TaggedText("right", "x", [entity], [entity]),
        TaggedText("long", "xxx", [entity], []),
        TaggedText("short", "xx", [], [entity]),
        TaggedText("two", "xxxx", [entity, Entity(1, 2, "A")], []),
    ]
    assert [error.place for error in tagging_errors(texts)] == ["two", "short", "long"]


def test_an_entity_outside_of_the_words_breaks_nothing():
    text, words = joined(["one"])
    (error,) = tagging_errors([TaggedText("place", text, [Entity(5, 7, "A")], [], words)])
    assert error.score == 1


@given(st.lists(st.text(alphabet="ab字，0é", min_size=1, max_size=4), max_size=8))
def test_joined_words_are_where_they_are_told_to_be(words):
    text, places = joined(words)
    assert [text[start:end] for start, end in places] == words
    assert text.replace(" ", "") == "".join(words)


def test_examples_in_the_docstrings():
    assert doctest.testmod(module).attempted == 2
    assert doctest.testmod(module).failed == 0


def test_words_with_a_label_each_are_no_entities():
    gold, predicted = ([Entity(0, 1, "X"), Entity(1, 2, second)] for second in ("Y", "X"))
    labels, kinds, confused = tagging_sections([TaggedText("line 1", "a b", gold, predicted)], what="Words")
    assert labels.columns[-1] == kinds.columns[0] == confused.columns[-1] == "Words"
    assert [row[:2] for row in kinds.rows] == [("Right", 1), ("Wrong label", 1)]
