"""Every figure that a task gives is told in words."""

import numpy as np

from unmask.report.glossary import GLOSSARY, OF_A_CLASS, in_words
from unmask.tasks.metrics.answers import answer_metrics
from unmask.tasks.metrics.classification import classification_metrics, multi_label_metrics
from unmask.tasks.metrics.entities import entity_metrics
from unmask.tasks.metrics.regression import regression_metrics


def test_the_figures_of_every_task_are_explained():
    two = np.array([[0.9, 0.1], [0.2, 0.8]])
    found = {
        *classification_metrics(np.array([0, 1]), two),
        *multi_label_metrics(two > 0.5, two),
        *regression_metrics(np.array([0.0, 1.0]), np.array([0.1, 0.9])),
        *entity_metrics([[]], [[]]),
        *answer_metrics(["a", ""], [["a"], []], chinese=False),
    }
    assert len(found) > 15
    assert found <= GLOSSARY.keys()
    assert all(in_words(name).meaning for name in found)


def test_figures_of_one_class_name_it():
    two = np.array([[0.9, 0.1], [0.2, 0.8]])
    found = classification_metrics(np.array([0, 1]), two)
    named = {name for name in found if "'{x} [y]'" in in_words(name, "{x} [y]").meaning}
    assert named == OF_A_CLASS.keys() == found.keys() - {"accuracy", "macro_f1", "mcc", "ece"}
    assert in_words("precision", "spam") == ("Precision", "Share of what was found as 'spam' that is right.")
    assert in_words("accuracy", "spam") == in_words("accuracy")
    assert in_words("precision") == GLOSSARY["precision"]


def test_an_unknown_figure_keeps_its_name():
    assert in_words("my_own_figure") == ("My own figure", "")
