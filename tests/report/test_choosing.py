"""A multiple choice's sections: accuracy by number of choices, favoured places, choices listed."""

import numpy as np
import pytest

from unmask.report.choosing import Choice, choosing_errors, choosing_sections


def choice(gold, probabilities, place="place", context="A story.", question="Why?"):
    choices = [f"choice {n}" for n in range(len(probabilities))]
    return Choice(place, context, question, choices, gold, np.array(probabilities))


ASKED = [
    choice(0, [0.9, 0.1], "1"),
    choice(1, [0.8, 0.2], "2"),
    choice(2, [0.1, 0.2, 0.3, 0.4], "3"),
    choice(3, [0.1, 0.2, 0.3, 0.4], "4"),
    choice(1, [0.97, 0.01, 0.01, 0.01], "5"),
]


def test_sections():
    by_number, by_place, reliability = choosing_sections(ASKED)
    assert by_number.rows == [(2, 2, 0.5, 0.5), (4, 3, pytest.approx(1 / 3), 0.25)]
    assert by_place.rows == [("A", 1, 3, 1.0), ("B", 2, 0, 0.0), ("C", 1, 0, 0.0), ("D", 1, 2, 1.0)]
    assert reliability.name == "reliability"
    assert choosing_sections([]) == []


def test_a_place_that_is_never_right_has_no_accuracy():
    _, by_place, _ = choosing_sections([choice(0, [0.9, 0.1])])
    assert by_place.rows[1] == ("B", 0, 0, None)


def test_errors_list_the_choices():
    found = choosing_errors(ASKED)
    assert [error.place for error in found] == ["5", "2", "3"]
    assert found[1].head == "Why?"
    assert found[1].text == "A story.\nA. choice 0\nB. choice 1"
    marked = [(found[1].text[mark.start : mark.end], mark.kind) for mark in found[1].marks]
    assert marked == [("A. choice 0", "predicted"), ("B. choice 1", "gold")]
    assert (found[1].gold, found[1].predicted) == ("B. choice 1 (0.200)", "A. choice 0 (0.800)")
    assert found[1].score == pytest.approx(-np.log(0.2))


def test_without_a_context_the_choices_alone_are_shown():
    (error,) = choosing_errors([choice(1, [0.8, 0.2], context="")])
    assert error.text == "A. choice 0\nB. choice 1"
    many = choosing_errors([choice(1, [0.5, *[0.5 / 29] * 29])])[0]
    assert "Z. choice 25\n27. choice 26" in many.text
