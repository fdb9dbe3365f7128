"""A regression's sections: pictures, means along the scale, the largest errors."""

import numpy as np
import pytest

from unmask.report.regression import regression_errors, regression_sections


def test_sections():
    gold_N = np.arange(10.0)
    scatter, histogram, table = regression_sections(gold_N, gold_N + np.repeat([1.0, -3.0], 5))
    assert scatter.name == "scatter"
    assert "10 examples" in scatter.alt
    assert "the mean is -1.000, the deviation 2.000" in histogram.alt
    assert table.rows[0] == (0.0, 1.0, 2, 1.0, 1.0)
    assert table.rows[-1] == (8.0, 9.0, 2, -3.0, 3.0)
    assert sum(row[2] for row in table.rows) == 10


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_examples(n):
    assert len(regression_sections(np.ones(n), np.zeros(n))) == (3 if n else 0)


def test_the_largest_error_comes_first():
    errors = regression_errors(
        ["a", ("b", "c"), "d"], ["1", "2", "3"], np.array([1.0, 2.0, 3.0]), np.array([1.5, -1.0, 3.0])
    )
    assert [(error.place, error.text, error.score) for error in errors] == [("2", "b\nc", 3.0), ("1", "a", 0.5)]
    assert (errors[0].gold, errors[0].predicted) == ("2", "-1")
