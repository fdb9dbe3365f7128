"""Examples that are a text or a pair of texts, and how a model reads them: long ones are cut, or read in windows."""

import logging
import math
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Listed
from dataclasses import dataclass
from typing import Any

from unmask.data.readers import Record
from unmask.errors import UserError
from unmask.tasks.remarks import Remark
from unmask.tasks.units import Sequence, Window
from unmask.tasks.windows import cut, frame_of
from unmask.text import Tokenizer

log = logging.getLogger("unmask")

_STRIDE = "pass --stride to read them whole, in windows"
_STRIDE_OF_PAIRS = "pass --stride to read second texts whole, in windows; of first ones half a window is read"


@dataclass(frozen=True)
class TextExample:
    """A text or a pair, with its label where that is known."""

    text: str
    pair: str | None
    label: Any
    """A class's number, a tuple of them, a number; None where it is not known."""
    place: str


def text_of(record: Record, column: str) -> str:
    """The text in a column of a record."""
    if column not in record.values:
        raise UserError(f"{record.place}: there is no {column!r}, only {', '.join(record.values)}.")
    value = record.values[column]
    if is_missing(value):
        return ""
    if not isinstance(value, str | int | float):
        raise UserError(f"{record.place}: {column!r} must hold a text, not a {type(value).__name__}.")
    return str(value)


def is_missing(value: Any) -> bool:
    """Whether nothing was said: null, or the NaN that stands for it in many tools."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def texts_of(record: Record, columns: Mapping[str, str]) -> tuple[str, str | None]:
    """The text of a record, and the second one if there is a column for it."""
    return text_of(record, columns["text"]), text_of(record, columns["pair"]) if columns.get("pair") else None


def without_empty(examples: Iterable[TextExample]) -> list[TextExample]:
    """Those that have a text; the others are left out, counted and said."""
    kept: list[TextExample] = []
    empty: list[TextExample] = []
    for example in examples:
        (empty if _is_empty(example) else kept).append(example)
    if empty:
        told = f"{len(empty)} of {len(empty) + len(kept)} examples have no text and are left out"
        log.warning("%s; the first is %s.", told, empty[0].place)
    return kept


def _is_empty(example: TextExample) -> bool:
    return not (example.text.strip() or (example.pair or "").strip())


def sequences_of(
    examples: Listed[TextExample], tokenizer: Tokenizer, window: Window, *, remedy: str = _STRIDE
) -> list[list[Sequence]]:
    """For each example what the model reads: one sequence, or several where windows were asked for.

    How many were cut is told with `remedy`, the advice against it.
    """
    pairs = [example.pair for example in examples]
    n_texts = 1 if all(pair is None for pair in pairs) else 2
    texts = [[example.text for example in examples], [pair or "" for pair in pairs]][:n_texts]
    encoded = tokenizer.encode_many(*texts)
    found, frame, helps = [], None, False
    too_long: list[int] = []
    squeezed: list[int] = []
    for number, encoding in enumerate(encoded):
        if len(encoding.ids) <= window.length:
            found.append([Sequence(encoding.ids, encoding.segments)])
            continue
        frame = frame or frame_of(tokenizer, n_texts)
        parts = [[i for i, t in zip(encoding.ids, encoding.texts, strict=True) if t == n] for n in range(n_texts)]
        room = window.length - frame.size
        if room < n_texts:
            raise UserError(f"{window.length} tokens hold no text beside {frame.size} special ones; take more.")
        if window.stride is None:
            too_long.append(number)
            helps = helps or len(parts[-1]) > room // 2
            found.append([frame.around(*shortened(parts, room))])
        else:
            first, last = _shares(parts, room, window.stride)
            squeezed += [number] * (sum(map(len, first)) < sum(map(len, parts[:-1])))
            left = room - sum(map(len, first))
            windows = cut(len(last), left, window.stride if len(last) > left else 0)
            found.append([frame.around(*first, last[a:b]) for a, b in windows])
    if n_texts > 1 and remedy == _STRIDE:
        remedy = _STRIDE_OF_PAIRS if helps else ""
    _tell_of_cut(examples, [len(encoding.ids) for encoding in encoded], too_long, window, remedy)
    if window.stride is not None and n_texts > 1:
        frame = frame or frame_of(tokenizer, n_texts)
        _tell_of_squeezed(examples, squeezed, _most_of_first(window.length - frame.size, window.stride), window)
    _tell_of_empty(examples, window)
    _tell_of_half(examples, window)
    return found


def _shares(parts: list[list[int]], room: int, stride: int) -> tuple[list[list[int]], list[int]]:
    """What stands in every window, and what is moved over: of a pair, the first text and the second."""
    *first, last = parts
    # A short second text leaves the first more room than windows over it would.
    most = max(_most_of_first(room, stride), room - max(1, len(last)))
    return [text[:most] for text in first], last


def _most_of_first(room: int, stride: int) -> int:
    """How much of a first text stands in every window: if it were more than half, there would be too many windows."""
    return max(0, min(room - stride - 1, room // 2))


def shortened(parts: list[list[int]], room: int) -> list[list[int]]:
    """Texts that fit into so many tokens: of a pair, the longer one loses its end first (BERT's rule)."""
    lengths = [len(part) for part in parts]
    while sum(lengths) > room:
        longest = max(range(len(lengths)), key=lambda i: (lengths[i], i))  # of two that are as long, the second
        others = max((n for i, n in enumerate(lengths) if i != longest), default=0)
        lengths[longest] -= min(sum(lengths) - room, max(1, lengths[longest] - others))
    return [part[:n] for part, n in zip(parts, lengths, strict=True)]


def _tell_of_cut(
    examples: Listed[TextExample], lengths: Listed[int], too_long: list[int], window: Window, remedy: str
) -> None:
    worst = max(too_long, key=lambda number: lengths[number], default=None)
    window.tell(
        Remark(
            kind="cut",
            n=len(too_long),
            of=len(examples),
            what=f"texts are longer than {window.length} tokens and were cut",
            which="" if worst is None else f"the longest, {examples[worst].place}, has {lengths[worst]}",
            size=0 if worst is None else lengths[worst],
            advice=remedy,
        )
    )


def _tell_of_squeezed(examples: Listed[TextExample], squeezed: list[int], most: int, window: Window) -> None:
    what = f"first texts of pairs are longer than {most} tokens and were cut"
    advice = "windows move over the second text only"
    _tell_of_some("squeezed", [examples[i] for i in squeezed], len(examples), what, advice, window)


def _tell_of_empty(examples: Listed[TextExample], window: Window) -> None:
    empty = [example for example in examples if _is_empty(example)]
    advice = "what the model says of them means nothing"
    _tell_of_some("empty", empty, len(examples), "texts are empty", advice, window)


def _tell_of_half(examples: Listed[TextExample], window: Window) -> None:
    half = [e for e in examples if e.pair is not None and not _is_empty(e) and not (e.text.strip() and e.pair.strip())]
    advice = "the other is read as an empty one"
    _tell_of_some("half", half, len(examples), "pairs have one text only", advice, window)


def _tell_of_some(kind: str, some: list[TextExample], of: int, what: str, advice: str, window: Window) -> None:
    which = f"the first: {some[0].place}" if some else ""
    window.tell(Remark(kind=kind, n=len(some), of=of, what=what, which=which, advice=advice))
