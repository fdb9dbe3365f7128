"""What the values of a column look like: numbers, classes, texts, lists."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from unmask.data.header import is_number
from unmask.text.words import has_han

_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")
_DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+")
_DATE = re.compile(
    r"(?=.*\d)(?:[\d\s:/.,+-]|年|月|日|号|时|分|秒|上午|下午|(?<=\d)[TZ]|\b[A-Z]{2,4}\b"
    r"|\b(?i:[ap]m|sun|mon|tue|wed|thu|fri|sat|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*+)++"
)
"""A date or a time in figures, in English or in Chinese."""
_MUCH = 2
"""So many times as long as its title a text is at least."""
_MOST_GRADES = 10
"""Stars and marks go up to this, and in a small file they hardly recur."""


def filled(values: Sequence[Any]) -> list[Any]:
    """Those that are not missing."""
    return [value for value in values if value is not None and value != ""]


def are_words(values: list[Any]) -> bool:
    """Whether they can be read: a list or a number is no text."""
    given = filled(values)
    return all(isinstance(value, str) for value in given) and not (given and all(is_number(value) for value in given))


def are_texts(values: list[Any]) -> bool:
    """Whether most are several words or several Chinese characters, no dates, and most are different."""
    given = filled(values)
    if not given or not are_words(given):
        return False
    long = [value for value in given if len(value.split()) > 1 or (len(value) > 3 and has_han(value))]
    n_dates = sum(_DATE.fullmatch(value) is not None for value in long)
    return 2 * (len(long) - n_dates) > len(values) and 3 * len(set(given)) > len(given)


def much_longer(one: list[Any], other: list[Any]) -> bool:
    """Whether texts are so much longer than others that these are rather their titles."""
    mean, of_other = (sum(map(len, given)) / max(1, len(given)) for given in (filled(one), filled(other)))
    return mean >= _MUCH * of_other


def without_comma(value: str) -> str | None:
    """How a number with a comma is to be written; None if it is no such number."""
    if _THOUSANDS.fullmatch(value):
        return f"write {value.replace(',', '')} if the comma parts thousands, {value.replace(',', '.', 1)} if decimals"
    return "write a point for its comma" if _DECIMAL_COMMA.fullmatch(value) else None


def are_numbers(values: list[Any]) -> bool:
    """Whether there are some, and all are numbers, or texts that are."""
    given = filled(values)
    if any(isinstance(value, bool) or not isinstance(value, str | int | float) for value in given):
        return False
    return bool(given) and all(is_number(str(value)) and "%" not in str(value) for value in given)


def are_mostly_numbers(values: list[Any]) -> bool:
    """So that a column of scores is found although some are missing or broken, which is said later with their lines."""
    numbers = [value for value in filled(values) if are_numbers([value])]
    return 2 * len(numbers) > len(values)


def are_uncounted_numbers(values: list[Any]) -> bool:
    """Whether they are numbers, and do not count the rows."""
    if not are_numbers(values):
        return False
    numbers = [float(value) for value in filled(values)]
    return len(numbers) < 3 or any_fraction(values) or any(a >= b for a, b in pairwise(numbers))


def any_fraction(values: list[Any]) -> bool:
    """Whether one of these numbers is no whole one."""
    return any(float(value) % 1 for value in filled(values))


def are_grades(values: list[Any]) -> bool:
    """Whether these numbers are so small that they grade, or number classes, rather than name something."""
    return all(abs(float(value)) <= _MOST_GRADES for value in filled(values))


def n_different(values: list[Any]) -> int:
    """How many different ones there are."""
    return len({str(value) for value in filled(values)})


def are_labels(values: list[Any]) -> bool:
    """Whether they may be labels as far as one can tell: all but long texts."""
    return all(len(value) < 200 for value in values if isinstance(value, str))


def may_be_classes(values: list[Any]) -> bool:
    """Whether most are given, and they are neither texts nor measured: fractions or many numbers that hardly recur."""
    given = filled(values)
    if 2 * len(given) <= len(values) or are_texts(values) or not are_labels(values):
        return False
    if 3 * n_different(given) <= len(given) or not are_numbers(given):
        return True
    return n_different(given) <= _MOST_GRADES and not any_fraction(given)


def are_classes(values: list[Any]) -> bool:
    """Whether there are few different ones, more than one, and none is missing."""
    given = [str(value) for value in filled(values)]
    return len(given) == len(values) and 1 < len(set(given)) <= max(2, len(given) / 3)


def are_lists(values: list[Any]) -> bool:
    """Lists, objects with lists in them, or texts that hold lists (JSON, or words between spaces)."""
    given = filled(values)
    return bool(given) and all(
        isinstance(value, list | tuple | dict) or (isinstance(value, str) and (value.startswith("[") or " " in value))
        for value in given
    )


def any_list(values: list[Any]) -> bool:
    """Whether any is surely a list: a choice in a column of its own is a text, of several words mostly."""
    return any(isinstance(value, list | tuple | dict) or str(value).startswith("[") for value in filled(values))


def are_spans(values: list[Any]) -> bool:
    """Lists of objects or of lists."""
    given = filled(values)
    if given and all(isinstance(value, str) for value in given):
        return all(value.startswith("[") for value in given)
    if not given or not all(isinstance(value, list | tuple) for value in given):
        return False
    return all(isinstance(span, list | tuple | dict) for value in given for span in value)
