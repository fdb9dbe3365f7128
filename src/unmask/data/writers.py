"""Writing rows beside those that were read: CSV, TSV or JSON lines, packed by gzip or not.

The file is whole at the end, and a stopped run goes on.
"""

import codecs
import csv
import gzip
import json
import logging
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace, TracebackType
from typing import Any, Self

from unmask.errors import UserError
from unmask.files import only_writer_of, read_json, sync, write_json

log = logging.getLogger("unmask")

KINDS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}


class RowWriter:
    """A file of rows that appears when it is whole.

    Until then its rows stand in `NAME.part`, and how many they are in `NAME.part.json`: if the work is stopped, the
    same work goes on after them.

    Args:
        path: of the file; its ending says of which kind it is, and with .gz after it that it is packed.
        names: of the columns.
        work: what makes this work another one, such as its input and its model; plain JSON.
        marked: whether a table begins with a byte order mark, without which Excel takes UTF-8 for something else.
    """

    def __init__(self, path: Path, names: Sequence[str], work: Mapping[str, Any], *, marked: bool = False) -> None:
        self.packed = path.suffix.lower() == ".gz"
        ending = Path(path.stem if self.packed else path.name).suffix.lower()
        if ending not in KINDS:
            raise UserError(
                f"{path.name}: rows are written as {', '.join(KINDS)}; choose one of these endings, with .gz after it "
                "or not."
            )
        if path.is_dir():
            raise UserError(f"{path} is a folder; name a file for the rows.")
        self.path, self.names, self.kind = path, list(names), KINDS[ending]
        self.part, self.note = path.with_name(f"{path.name}.part"), path.with_name(f"{path.name}.part.json")
        self.work = {**work, "names": self.names}
        self.marked = marked

    def __enter__(self) -> Self:
        with ExitStack() as held:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            held.enter_context(only_writer_of(self.path))
            if self.path.exists():
                log.warning("%s is there already; it is replaced when all rows are written.", self.path)
            self.n_rows, size = self._before()
            self.file = self.part.open("r+b" if size else "wb")
            held.callback(self.file.close)
            self.file.truncate(size)
            self.file.seek(size)
            if not size and self.kind != "jsonl":
                self._put((codecs.BOM_UTF8 if self.marked else b"") + self._csv([self.names]))
            self.held = held.pop_all()
        return self

    def _before(self) -> tuple[int, int]:
        """The rows of the same work that are there already, and their bytes."""
        if not (self.part.is_file() and self.note.is_file()):
            return 0, 0
        note = read_json(self.note)
        if note.get("work") == self.work and self.part.stat().st_size >= note.get("bytes", 0):
            return note["rows"], note["bytes"]
        log.warning("%s: rows of another input, model or option are dropped; beginning anew.", self.part)
        return 0, 0

    def write(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Some more rows; once this is over, they are not lost.

        JSON lines have each the columns of its row; tables, whose header is written first, refuse others than named.
        """
        rows = list(rows)
        if self.kind == "jsonl":
            lines = (json.dumps(row, ensure_ascii=False, default=_plain) for row in rows)
            self._put("".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))
        else:
            self._refuse_late_names(rows)
            self._put(self._csv([_cell(row.get(name)) for name in self.names] for row in rows))
        self.file.flush()
        sync(self.part)
        self.n_rows += len(rows)
        write_json(self.note, {"work": self.work, "rows": self.n_rows, "bytes": self.file.tell()})

    def _refuse_late_names(self, rows: Sequence[Mapping[str, Any]]) -> None:
        known = set(self.names)
        for number, row in enumerate(rows, self.n_rows + 1):
            if late := [name for name in row if name not in known]:
                raise UserError(
                    f"{self.path.name}: row {number} has a column {late[0]!r}, which no row had before the header was "
                    "written; choose an output of JSON lines (.jsonl), or give the input as a file, not on standard "
                    "input."
                )

    def _put(self, content: bytes) -> None:
        """Packed, each part is a gzip of its own, after which the work can go on; readers join them."""
        self.file.write(gzip.compress(content, mtime=0) if self.packed else content)

    def _csv(self, rows: Iterable[Sequence[Any]]) -> bytes:
        lines: list[str] = []
        delimiter = "\t" if self.kind == "tsv" else ","
        # Only with "\r\n" does Python quote a field with a "\r" in it, at which readers would end the line.
        csv.writer(SimpleNamespace(write=lines.append), delimiter=delimiter, lineterminator="\r\n").writerows(rows)
        return "".join(line.removesuffix("\r\n") + "\n" for line in lines).encode("utf-8", "replace")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self.held:
            self.file.close()
            if kind is None:
                self.part.replace(self.path)
                self.note.unlink(missing_ok=True)


def _cell(value: Any) -> Any:
    """A value in a table: lists and objects as JSON."""
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=_plain)
    if isinstance(value, bytes):
        return _plain(value)
    return "" if value is None else value


def _plain(value: Any) -> str:
    """What JSON has no form for, as text: bytes, such as an image, in base64."""
    return b64encode(value).decode() if isinstance(value, bytes) else str(value)


def free_names(wanted: Sequence[str], taken: Iterable[str]) -> dict[str, str]:
    """New names for columns, so that none of those that are there is lost: `label` → `label_2`.

    >>> free_names(["label", "probability"], ["text", "label"])
    {'label': 'label_2', 'probability': 'probability'}
    """
    there, chosen = set(taken), {}
    for name in wanted:
        number, new = 1, name
        while new in there:
            number += 1
            new = f"{name}_{number}"
        there.add(new)
        chosen[name] = new
    return chosen
