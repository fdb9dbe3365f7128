"""Several labels in one cell: a list as JSON or Python writes it, or a text with one separator in the whole column."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from unmask.errors import UserError
from unmask.tasks.texts import is_missing
from unmask.tasks.written import read_list

SEPARATORS = ("\t", "|｜", ";；", ",，", "、")
"""What parts labels, the strongest first; the forms of one sign are one separator, as people mix them."""
BLANK = " "
WHOLE = ""
"""The separator of texts that are one label each."""
_ANY = "".join(SEPARATORS)
_CLEARLY = 2


def said_in(value: Any) -> list[str] | str:
    """What a cell says: its labels if it is a list, else its text, which may hold several.

    >>> said_in("['a', 'b']"), said_in("a|b"), said_in("[draft], news")
    (['a', 'b'], 'a|b', '[draft], news')
    """
    if isinstance(value, str):
        listed = read_list(value.strip())
        value = value if listed is None else listed
    if isinstance(value, list | tuple):
        return _distinct(str(part) for part in value if not is_missing(part))
    return "" if is_missing(value) else str(value).strip()


def parted(said: list[str] | str, separator: str | None) -> list[str]:
    """The labels of a cell, each once; a separator that is not known is any."""
    if isinstance(said, list):
        return said
    if separator == WHOLE:
        return _distinct([said])
    return _distinct(said.split() if separator == BLANK else re.split(f"[{re.escape(separator or _ANY)}]", said))


def _distinct(parts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name for part in parts if (name := part.strip())))


def separator_named(name: str) -> str:
    """The separator that somebody names: one sign, whose other forms count too, or `tab` or `blank`.

    >>> separator_named(";"), separator_named("/"), separator_named("blank")
    (';；', '/', ' ')
    """
    sign = {"tab": "\t", "\\t": "\t", "blank": BLANK, "space": BLANK}.get(name, name)
    if len(sign) != 1 or sign.isalnum():
        raise UserError(f"--separator is {name!r}, but must be one sign, such as ';', or tab, or blank.")
    return next((separator for separator in SEPARATORS if sign in separator), sign)


def separator_of(cells: Sequence[list[str] | str]) -> str | None:
    """The one that leaves the fewest different labels, of equals the strongest; None if the texts hold no separator.

    `Food, Drink|Travel`, `Food, Drink` and `Travel` are two labels by the bar and four by the comma; a semicolon that
    slipped into one of a thousand texts with commas would leave most of them whole.
    Beside lists a text is one label: some files write a list of one without brackets.
    """
    texts = [cell for cell in cells if isinstance(cell, str)]
    held = [separator for separator in SEPARATORS if any(sign in text for text in texts for sign in separator)]
    if any(isinstance(cell, list) and cell for cell in cells):
        return WHOLE if held else None
    if held:
        return min(held, key=lambda separator: len(_all(texts, separator)))
    return BLANK if _are_parted_by_blanks(texts) else None


def _all(texts: Sequence[str], separator: str) -> set[str]:
    return {label for text in texts for label in parted(text, separator)}


def _are_parted_by_blanks(texts: Sequence[str]) -> bool:
    """Whether the words are labels: each of them stands alone somewhere, or they are far fewer than the texts.

    `very good`, `good` and `bad` are three labels: `very` is none.
    """
    whole, words = {text for text in texts if text}, _all(texts, BLANK)
    if not words & whole or len(words) >= len(whole):
        return False
    return words <= whole or _CLEARLY * len(words) < len(whole)


def told(column: str, separator: str | None, labels: Sequence[str]) -> str:
    """How the labels of a column were parted, in one sentence."""
    if separator is None:
        return f"No separator is in {column!r}: every text has one of {len(labels)} labels, or none."
    sign = {"\t": "tabs", BLANK: "blanks"}.get(separator, f"{separator[0]!r}")
    whole = next((label for label in labels if any(sign in label for sign in _ANY)), None)
    rest = "" if whole is None else f"; others are part of a label, as in {whole!r}"
    return f"The labels in {column!r} are parted by {sign}: there are {len(labels)} different ones{rest}."
