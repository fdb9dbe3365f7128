"""What kind of file it is: by the ending of its name, and by what is in it where the ending does not tell."""

import json
import re
from collections.abc import Sequence
from typing import Literal, get_args

from unmask.data.conll import look_like_conll
from unmask.data.header import are_names
from unmask.data.tables import separator_of

RecordKind = Literal["csv", "tsv", "jsonl", "json", "parquet", "conll", "squad", "labels", "text"]
RECORD_KINDS: tuple[RecordKind, ...] = get_args(RecordKind)

WORDS_FOR_KINDS: dict[RecordKind, str] = {
    "csv": "CSV",
    "tsv": "TSV",
    "jsonl": "JSON lines",
    "json": "a JSON list",
    "parquet": "Parquet",
    "conll": "CoNLL columns",
    "squad": "JSON as SQuAD has it",
    "labels": "a label and a text a line",
    "text": "a text a line",
}

ENDINGS: dict[str, RecordKind] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    **dict.fromkeys((".conll", ".conllu", ".conllx", ".iob", ".iob2", ".bio", ".bioes", ".bmes"), "conll"),
}
_QUESTIONS = re.compile(r'"qas"\s*:\s*\[')
_INSIDE = r'[^"\\]*+(?:\\.[^"\\]*+)*+'
_MEMBERS = rf'(?:\s*"{_INSIDE}"\s*:\s*(?:"{_INSIDE}"|[\w.+-]+)\s*,)*+\s*'
_CONTEXT = r'"context(?:_text)?"\s*:\s*"'
_ARTICLES = re.compile(
    rf'\s*\{{{_MEMBERS}"data"\s*:\s*\[\s*\{{{_MEMBERS}'
    rf'(?:"paragraphs"\s*:\s*\[\s*\{{{_MEMBERS}(?:{_CONTEXT}|\Z)|{_CONTEXT}{_INSIDE}\\?\Z)',
    re.DOTALL,
)
"""How SQuAD's JSON begins, if the first context is so long that its questions are not in sight."""
_LABEL = re.compile(r"-?\d{1,3}|[A-Z]{2,}:\w+")
"""The label before a text: a small number, or TREC's `DESC:manner`."""


def guess_kind(ending: str, lines: Sequence[str]) -> tuple[RecordKind, bool]:
    """The kind of a file, and whether its content had to tell.

    Args:
        ending: of its name, in lower case, without `.gz` and `.zst`.
        lines: its first lines, without line ends; the last one may be cut.
    """
    if ending == ".json":
        return _kind_of_json(lines), False
    known = ENDINGS.get(ending)
    if known == "tsv" and "" in [line.strip() for line in lines[1:-1]] and look_like_conll(lines):
        return "conll", True
    if known is not None:
        return known, False
    found = _kind_of_content(lines)
    return found, found != "text" or ending not in (".txt", ".text")


def _kind_of_json(lines: Sequence[str]) -> RecordKind:
    head = "\n".join(lines)
    is_one = not any(line.strip() for line in lines[1:])
    if _QUESTIONS.search(head) or (_ARTICLES.match(head) and (is_one or not _is_json(lines[0]))):
        return "squad"
    return "json" if head.lstrip().startswith("[") else "jsonl"


def _kind_of_content(lines: Sequence[str]) -> RecordKind:
    filled = [line for line in lines if line.strip()]
    if not filled:
        return "text"
    if re.match(r'\s*(?:\{\s*(?:"|$)|\[\s*(?:\{|$))', filled[0]) and _begins_with_json(filled):
        return _kind_of_json(filled)
    if look_like_conll(lines):
        return "conll"
    n_tabs = filled[0].count("\t")
    if n_tabs and all(line.count("\t") == n_tabs for line in filled):
        return "tsv"
    if _have_labels(filled):
        return "labels"
    header = filled[0].split(separator_of(filled[:1]))
    return "csv" if len(header) > 1 and are_names([cell.strip(' "') for cell in header]) else "text"


def _is_json(line: str) -> bool:
    """Whether a line is a whole value, as each of JSON lines is."""
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _begins_with_json(lines: Sequence[str]) -> bool:
    """Whether the first line is JSON, or the first of several that are."""
    try:
        json.loads(lines[0])
    except json.JSONDecodeError as error:
        return error.pos >= len(lines[0].rstrip()) or error.msg.startswith("Unterminated string")
    return True


def _have_labels(lines: Sequence[str]) -> bool:
    """Whether each line begins with one of a few labels."""
    if all(line.startswith("__label__") for line in lines):
        return True
    words = [line.split(maxsplit=1) for line in lines]
    if any(len(pair) < 2 or not _LABEL.fullmatch(pair[0]) for pair in words):
        return False
    return 2 <= len({label for label, _ in words}) <= len(words) / 2
