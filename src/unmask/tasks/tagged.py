"""Tagged texts: a text, its words by character, and their tags, from tokens, from spans or from plain text."""

import re
import sys
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from unmask.data.readers import Record
from unmask.errors import UserError
from unmask.tasks import schemes
from unmask.tasks.metrics.entities import Entity
from unmask.tasks.spans import Span
from unmask.tasks.texts import text_of
from unmask.tasks.written import read_list, read_nested
from unmask.text.sentences import HAN

# Languages whose words stand without spaces: Chinese characters, their marks, kana, full-width forms.
_DENSE = rf"{HAN}\u3000-\u30ff\uff00-\uffef"
_TOUCHES = re.compile(f"[{_DENSE}]")
_LIST = re.compile(r"""\[(?!\s+['"]\s).*\]|\(['"].*\)""", re.DOTALL)
"""What may be a list; `( 1994 , 1995 )` and `[ " yes " ]` are rather words."""
_BROKEN_LIST = re.compile(r"""(?:array\()?\[['"].*|array\(\[.*|\[(?!\s)[^\[\],]*+,[^\[\]]*+\]""", re.DOTALL)
"""A list that was cut, or written by something else, rather than words: `['O',` and `[B-LOC, O]`."""
_BROKEN_TAG = re.compile(r"""\[[^\]]+|[({]['"].*""")
"""The begin of a list; a bracket alone may be the tag of a bracket."""


@dataclass(frozen=True)
class TaggedExample:
    """A text with its words, and their tags where they are known."""

    text: str
    words: tuple[Span, ...]
    """First character and end of each word."""
    tags: tuple[str, ...] | None
    place: str
    """Where it stands in the data, for messages."""
    entities: tuple[Entity, ...] | None = None
    """By character, where the data say them so; a word that one touches has its tag."""


def words_of(text: str, *, characters: bool = False) -> list[Span]:
    """The words of plain text, found by rule: all that is no white space belongs to one.

    A word is a run of letters and digits with their combining marks; every other character is a word of its own, and so
    is each Chinese character and kana. With `characters` every character is a word, as in Chinese data that were
    tagged character by character.

    >>> [text[a:b] for text in ["It's 5kg, 北京!"] for a, b in words_of(text)]
    ['It', "'", 's', '5kg', ',', '北', '京', '!']
    """
    pattern = re.compile(r"\S") if characters else _word_pattern()
    return [match.span() for match in pattern.finditer(text)]


@lru_cache(maxsize=1)
def _word_pattern() -> re.Pattern[str]:
    codes = (code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code))[0] == "M")
    marks = "".join(map(chr, codes))
    alone = rf"[{HAN}\u3040-\u30ff]"
    return re.compile(rf"{alone}[{marks}]*|(?:(?!{alone})[^\W_])(?:(?!{alone})[^\W_]|[{marks}])*|\S")


def join(tokens: Sequence[str], *, characters: bool) -> tuple[str, list[Span]]:
    """The text of tokens, and where each stands in it.

    A space stands between two tokens, but none beside a Chinese character or mark, and none at all where the data are
    tagged character by character.

    >>> join(["我", "爱", "New", "York"], characters=False)
    ('我爱New York', [(0, 1), (1, 2), (2, 5), (6, 10)])
    """
    parts, spans, at = list(tokens[:1]), [(0, len(token)) for token in tokens[:1]], sum(map(len, tokens[:1]))
    for left, right in pairwise(tokens):
        if not (characters or _TOUCHES.match(left[-1:]) or _TOUCHES.match(right[:1])):
            parts.append(" ")
            at += 1
        parts.append(right)
        spans.append((at, at + len(right)))
        at += len(right)
    return "".join(parts), spans


def listed(record: Record, column: str) -> list[str]:
    """The tokens or tags in a column of a record: a list, one as JSON, Python or NumPy writes it, or words."""
    value = record.values.get(column)
    if isinstance(value, str):
        value = _listed_in(value.strip(), record.place, column)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple) or not all(isinstance(one, str | int) for one in value):
        raise UserError(f"{record.place}: {column!r} must hold a list of texts, but {_shown(value)} came.")
    return [str(one) for one in value]


def _listed_in(text: str, place: str, column: str) -> list[Any]:
    """The parts of a list in a cell, or its words: "[ 1 ] a note" is a text that begins with a bracket."""
    found = read_list(text) if _LIST.fullmatch(text) else None
    if found is not None:
        return found
    if _BROKEN_LIST.fullmatch(text):
        raise _no_list(text, place, column)
    return text.split()


def _no_list(value: Any, place: str, column: str) -> UserError:
    return UserError(
        f"{place}: {column!r} holds neither a list nor words between spaces: {_shown(value)}; "
        'write it as JSON, such as ["B-LOC", "O"].'
    )


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:59]}…"


def from_tokens(record: Record, columns: Mapping[str, str], *, characters: bool) -> tuple[str, list[Span]]:
    """A text and its words, from tokens if there are any, else from a text whose words are parted by white space."""
    if "tokens" in columns:
        return join(listed(record, columns["tokens"]), characters=characters)
    text = text_of(record, columns["text"])
    return text, [match.span() for match in re.finditer(r"\S+", text)]


def tags_of(record: Record, column: str, n_words: int) -> list[str]:
    """The tags of a record's words."""
    tags = listed(record, column)
    if tags and _BROKEN_TAG.fullmatch(tags[0]):
        raise _no_list(record.values[column], record.place, column)
    if len(tags) != n_words:
        raise UserError(f"{record.place}: {n_words} words came with {len(tags)} tags; each needs one.")
    if empty := [number for number, tag in enumerate(tags, 1) if not tag.strip()]:
        raise UserError(f"{record.place}: the tag of word {empty[0]} is empty; a word that is part of nothing has O.")
    return tags


def spans_of(record: Record, column: str, text: str) -> list[Entity]:
    """The entities of a record by character, in order, none over another.

    Args:
        record: has a list of {"start", "end", "label"} or of [start, end, label], or either as JSON.
        column: where.
        text: what they lie in.
    """
    place = record.place
    spans = sorted({_span(one, text, place) for one in _listed_spans(record, column)})
    for left, right in pairwise(spans):
        if right.start < left.end:
            raise UserError(
                f"{place}: the spans {tuple(left)} and {tuple(right)} overlap, but a word has one tag; keep one."
            )
    return spans


def misplaced(record: Record, column: str, text: str) -> list[str]:
    """What is wrong with spans that bring their own text along, but stand at another."""
    return [
        f"{text[start:end]!r} is said to be {one['text']!r}"
        for one in _listed_spans(record, column)
        if isinstance(one, Mapping) and isinstance(one.get("text"), str)
        for start, end, _ in [_span(one, text, record.place)]
        if one["text"].split() != text[start:end].split()
    ]


def _listed_spans(record: Record, column: str) -> list[Any]:
    value, place = record.values.get(column), record.place
    if isinstance(value, str):
        value = read_nested(value) if value.strip() else []
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        came = _shown(record.values.get(column))
        raise UserError(f"{place}: spans must be a list of [start, end, label], but {came} came; write it as JSON.")
    return [_named_parts(one) for one in value]


def _named_parts(one: Any) -> Any:
    """A span with the names of ours, where it has those of doccano or Label Studio; a list of one label is a label."""
    if not isinstance(one, Mapping):
        return one
    found = dict(one)
    for ours, theirs in (("start", "start_offset"), ("end", "end_offset"), ("label", "labels")):
        found[ours] = one.get(ours, one.get(theirs))
    if isinstance(found["label"], list | tuple) and len(found["label"]) == 1:
        found["label"] = found["label"][0]
    return found


def _span(one: Any, text: str, place: str) -> Entity:
    parts: list[Any]
    if isinstance(one, Mapping):
        parts = [one.get("start"), one.get("end"), one.get("label")]
    else:
        parts = list(one) if isinstance(one, list | tuple | np.ndarray) else []
    parts = [int(part) if isinstance(part, float) and part.is_integer() else part for part in parts]
    if len(parts) != 3 or not all(isinstance(part, int) for part in parts[:2]) or not _is_label(parts[2]):
        raise UserError(
            f"{place}: {_shown(one)} must have two whole numbers and a label: "
            'write {"start": …, "end": …, "label": …} or [start, end, label], end exclusive.'
        )
    if not 0 <= parts[0] < parts[1] <= len(text) or not text[parts[0] : parts[1]].strip():
        raise UserError(
            f"{place}: {_shown(one)} is no span of a text of {len(text)} characters; "
            'write {"start": …, "end": …, "label": …} around some words, end exclusive.'
        )
    return Entity(parts[0], parts[1], str(parts[2]))


def _is_label(value: Any) -> bool:
    return isinstance(value, str | int | float) and bool(str(value).strip())


def from_spans(
    text: str, spans: Sequence[Entity], words: Sequence[Span], scheme: str
) -> tuple[list[str], list[Entity]]:
    """The tags of words, and the spans without white space at their ends.

    The words are found as in prediction, which knows nothing of spans: where one begins or ends inside a word, the
    whole word counts.

    >>> from_spans("Toyotas sell", [Entity(0, 6, "ORG")], [(0, 7), (8, 12)], "IOB2")
    (['B-ORG', 'O'], [Entity(start=0, end=6, label='ORG')])
    """
    bare = []
    for start, end, label in spans:
        inside = text[start:end]
        bare.append(Entity(end - len(inside.lstrip()), start + len(inside.rstrip()), label))
    return schemes.tags(touching(bare, words), len(words), scheme), bare


def touching(entities: Sequence[Entity], spans: Sequence[Span]) -> list[Entity]:
    """Entities of characters as entities of words, or of words as ones of groups of words.

    Each takes every span that it touches, but none that the one before it took.
    """
    found: list[Entity] = []
    firsts, ends = [first for first, _ in spans], [end for _, end in spans]
    taken = 0
    for start, end, label in entities:
        first, last = max(taken, bisect_right(ends, start)), bisect_left(firsts, end)
        if first < last:
            found.append(Entity(first, last, label))
            taken = last
    return found


def by_character(entities: Sequence[Entity], words: Sequence[Span]) -> list[Entity]:
    """Entities of words as entities of characters."""
    return [Entity(words[start][0], words[end - 1][1], label) for start, end, label in entities]


def cut_words(spans: Sequence[Entity], words: Sequence[Span]) -> int:
    """How many spans begin or end inside a word."""
    firsts, ends = [first for first, _ in words], [end for _, end in words]
    return sum(any(bisect_left(firsts, edge) > bisect_right(ends, edge) for edge in span[:2]) for span in spans)
