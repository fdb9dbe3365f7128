"""Entities: conlleval's counts, whatever the tags."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conlleval import conlleval
from unmask.errors import UserError
from unmask.tasks.metrics.entities import Entity, entity_counts, entity_metrics, entity_statistic, per_label
from unmask.tasks.schemes import entities

TAGS = ["O", *(f"{letter}-{label}" for letter in "BIES" for label in ("PER", "creative-work", "PER.NAM"))]
SENTENCE = st.lists(st.tuples(*[st.sampled_from(TAGS)] * 2), max_size=12)


def ratio(part, whole):
    return part / whole if whole else 0.0


def check(sentences):
    gold, predicted = ([entities([row[i] for row in rows], "IOBES") for rows in sentences] for i in (0, 1))
    right, there, found = conlleval(sentences)
    precision, recall = ratio(right.total(), found.total()), ratio(right.total(), there.total())
    expected = {"precision": precision, "recall": recall, "f1": ratio(2 * precision * recall, precision + recall)}
    assert entity_metrics(gold, predicted) == pytest.approx(expected)
    labels = per_label(gold, predicted)
    assert set(labels) == {label for label in there | found if (there | found)[label]}
    assert list(labels) == sorted(labels)
    for label, figures in labels.items():
        precision, recall = ratio(right[label], found[label]), ratio(right[label], there[label])
        f1 = ratio(2 * precision * recall, precision + recall)
        assert figures == pytest.approx((precision, recall, f1, there[label]))


@settings(deadline=None, max_examples=500)
@given(st.lists(SENTENCE, min_size=1, max_size=4))
def test_the_figures_are_conllevals(sentences):
    check(sentences)


def test_the_figures_are_conllevals_where_most_is_right():
    draw = random.Random(0)
    for letters in ("BI", "BIES"):
        tags = ["O", *(f"{letter}-{label}" for letter in letters for label in ("PER", "LOC"))]
        sentences = []
        for _ in range(500):
            gold = draw.choices(tags, k=draw.randint(1, 30))
            found = [draw.choice(tags) if draw.random() < 0.1 else tag for tag in gold]
            sentences.append(list(zip(gold, found, strict=True)))
        check(sentences)


def test_the_example_of_the_definition():
    gold = [[Entity(0, 2, "PER"), Entity(5, 6, "LOC")], [Entity(0, 1, "ORG")]]
    predicted = [[Entity(0, 2, "PER"), Entity(5, 6, "ORG"), Entity(7, 8, "LOC")], []]
    assert entity_metrics(gold, predicted) == pytest.approx({"precision": 1 / 3, "recall": 1 / 3, "f1": 1 / 3})
    assert entity_counts(gold, predicted).tolist() == [[1, 3, 2], [0, 0, 1]]
    assert per_label(gold, predicted)["ORG"] == (0, 0, 0, 1)


def test_nothing_found_and_nothing_there():
    assert entity_metrics([[]], [[]]) == {"precision": 0, "recall": 0, "f1": 0}
    assert entity_metrics([[Entity(0, 1, "PER")]], [[]]) == {"precision": 0, "recall": 0, "f1": 0}
    assert per_label([[]], [[]]) == {}


def test_an_entity_listed_twice_counts_once():
    once, twice = [[Entity(0, 1, "PER")]], [[Entity(0, 1, "PER"), Entity(0, 1, "PER")]]
    assert entity_metrics(once, twice) == {"precision": 1, "recall": 1, "f1": 1}
    assert per_label(twice, once)["PER"] == (1, 1, 1, 1)


def test_a_sample_has_the_figures_of_its_texts():
    draw = random.Random(1)
    gold, predicted = (
        [[Entity(i, i + 1, draw.choice("AB")) for i in range(5) if draw.random() < 0.5] for _ in range(50)]
        for _ in range(2)
    )
    statistic = entity_statistic(gold, predicted)
    for seed in range(10):
        chosen = np.random.default_rng(seed).integers(0, 50, 50)
        expected = entity_metrics([gold[i] for i in chosen], [predicted[i] for i in chosen])
        assert statistic(chosen) == pytest.approx(expected)


def test_predictions_for_other_texts_are_refused():
    with pytest.raises(UserError, match="1 texts in gold and of 2"):
        entity_metrics([[]], [[], []])
    with pytest.raises(UserError, match="no examples"):
        entity_metrics([], [])
