"""Sections of a multiple choice's page: accuracy by number of choices, favoured places, calibration; worst errors."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.report.classification import reliability_picture
from unmask.report.evaluation import Section, Table, WorstError
from unmask.report.marks import Mark

_LEAST_PROBABILITY = 1e-12


@dataclass(frozen=True)
class Choice:
    """What there was to choose from, what is right, and how likely the model finds each."""

    place: str
    context: str
    question: str
    """May be empty."""
    choices: Sequence[str]
    gold: int
    probabilities: np.ndarray

    @property
    def chosen(self) -> int:
        """The number of the choice that the model finds likeliest."""
        return int(np.argmax(self.probabilities))

    @property
    def right(self) -> bool:
        """Whether the right choice was made."""
        return self.chosen == self.gold


def choosing_sections(asked: Sequence[Choice]) -> list[Section]:
    """The sections for multiple choice. A confusion matrix would say nothing: the places of choices have no meaning."""
    if not asked:
        return []
    right_N, numbers_N = np.array([one.right for one in asked]), np.array([len(one.choices) for one in asked])
    rows = []
    for number in np.unique(numbers_N).tolist():
        here = numbers_N == number
        rows.append((number, int(here.sum()), float(right_N[here].mean()), 1 / number))
    columns = ["Choices", "Examples", "Accuracy", "By chance"]
    by_number = Table("By number of choices", columns, rows, bars=frozenset({"Accuracy", "By chance"}))
    return [by_number, _places(asked), _calibration(asked, int(numbers_N.max()))]


def _places(asked: Sequence[Choice]) -> Table:
    """Whether the model favours a place, such as the first."""
    rows = []
    for place in range(max(len(one.choices) for one in asked)):
        gold = [one.right for one in asked if one.gold == place]
        chosen = sum(one.chosen == place for one in asked)
        rows.append((_letter(place), len(gold), chosen, float(np.mean(gold)) if gold else None))
    columns = ["Place", "Right choice there", "Chosen", "Accuracy"]
    note = "If a place is chosen far more often than the right choice stands there, the model favours it."
    return Table("By place of the choice", columns, rows, note, frozenset({"Accuracy"}))


def _calibration(asked: Sequence[Choice], most: int) -> Section:
    probabilities_NC = np.zeros((len(asked), most))
    for row, one in zip(probabilities_NC, asked, strict=True):
        row[: len(one.choices)] = one.probabilities
    return reliability_picture(np.array([one.gold for one in asked]), probabilities_NC)


def choosing_errors(asked: Sequence[Choice]) -> list[WorstError]:
    """Every wrong choice, that with the highest loss first."""
    errors = [_error(one) for one in asked if not one.right]
    return sorted(errors, key=lambda error: -error.score)


def _error(one: Choice) -> WorstError:
    text, marks = one.context, []
    for place, choice in enumerate(one.choices):
        text += "\n" if text else ""
        start = len(text)
        text += f"{_letter(place)}. {choice}"
        if place == one.gold:
            marks.append(Mark(start, len(text), "gold", "gold"))
        elif place == one.chosen:
            marks.append(Mark(start, len(text), "predicted", "predicted"))
    loss = float(np.log(1 / max(float(one.probabilities[one.gold]), _LEAST_PROBABILITY)))
    return WorstError(one.place, text, _said(one, one.gold), _said(one, one.chosen), loss, marks, one.question)


def _said(one: Choice, place: int) -> str:
    return f"{_letter(place)}. {one.choices[place]} ({one.probabilities[place]:.3f})"


def _letter(place: int) -> str:
    return chr(ord("A") + place) if place < 26 else str(place + 1)
