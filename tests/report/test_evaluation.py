"""An evaluation that contradicts itself is refused when it is made."""

import numpy as np
import pytest

from unmask.report import Confusion, Evaluation, Picture


def test_the_main_figure_is_among_the_figures():
    with pytest.raises(ValueError, match="The main figure f1 is not among accuracy, mcc"):
        Evaluation("classify", "model", "data", 1, {"accuracy": 1.0, "mcc": 1.0}, {}, "f1")


def test_a_confusion_has_a_count_for_each_pair():
    with pytest.raises(ValueError, match=r"3 classes cannot have counts of shape \(2, 2\)"):
        Confusion("Confusion", ["a", "b", "c"], np.zeros((2, 2), int))


def test_pictures_know_their_kind():
    assert Picture("title", b"\x89PNG\r\n", "alt").ending == "png"
    assert Picture("title", b"<?xml version='1.0'?><svg/>", "alt").ending == "svg"
