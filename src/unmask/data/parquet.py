"""Parquet, a few rows at a time, packed or not."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import Any

from unmask.data.decode import Errors, Seen, are_texts, decoded
from unmask.data.source import STDIN, Source
from unmask.data.unpack import blocks_of
from unmask.data.where import optional
from unmask.errors import UserError

_ROWS_AT_ONCE = 1024
_ENOUGH_TO_JUDGE = 100
"""So many values that are bytes are looked at to find out whether they are texts."""


@contextmanager
def opened_parquet(source: Source, seen: Seen) -> Iterator[Any]:
    """A Parquet file that can be read."""
    pyarrow, parquet = optional("pyarrow", "data"), optional("pyarrow.parquet", "data")
    is_stream = bool(source.packing) or source.path == STDIN
    with TemporaryFile() if is_stream else source.path.open("rb") as file:
        if is_stream:  # Parquet is read from its end, a stream from its beginning
            for block in blocks_of(source.path, source.packing, source.name, seen.count_bytes):
                file.write(block)
        try:
            table = parquet.ParquetFile(file)
        except (pyarrow.ArrowInvalid, OSError) as error:
            raise UserError(f"{source.name} is not Parquet or damaged ({str(error).splitlines()[0]}).") from None
        yield table


def parquet_batches(table: Any, columns: Sequence[str], source: Source, seen: Seen) -> Iterator[Any]:
    """Some rows of these columns at a time."""
    size = source.path.stat().st_size if not source.packing and source.path != STDIN else 0
    for batch in table.iter_batches(batch_size=_ROWS_AT_ONCE, columns=list(columns)):
        seen.raw_bytes += round(size * len(batch) / max(table.metadata.num_rows, 1))
        yield batch


def holds_texts(kind: Any) -> bool:
    """Whether a column of that type holds texts, perhaps as bytes."""
    types = optional("pyarrow", "data").types
    tests = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return any(test(kind) for test in tests)


def texts_of_column(
    column: Any, source: Source, encoding: str, errors: Errors, seen: Seen, before: int
) -> Iterator[str | None]:
    """The texts of one column of a batch; None where there is none.

    Args:
        column: of a type of which `holds_texts` is true.
        source: the file.
        encoding: of the bytes.
        errors: what is done about bytes that are not of it.
        seen: counts them.
        before: how many rows came before this batch.
    """
    binary = optional("pyarrow", "data").large_binary()
    for row, raw in enumerate(column.cast(binary).to_pylist(), before + 1):
        yield None if raw is None else decoded(raw, encoding, errors, seen, f"{source.name}, row {row}")


def parquet_rows(source: Source, encoding: str, errors: Errors, seen: Seen) -> Iterator[tuple[dict[str, Any], int]]:
    """Whole rows by the names of their columns, with their numbers from 1; classes by their names, if there are any."""
    with opened_parquet(source, seen) as table:
        schema, row = table.schema_arrow, 0
        names = class_names(schema)
        told: dict[str, bool] = {}
        for batch in parquet_batches(table, schema.names, source, seen):
            columns = []
            for field, column in zip(schema, batch.columns, strict=True):
                if _reads_as_texts(field, column, encoding, told):
                    columns.append(list(texts_of_column(column, source, encoding, errors, seen, row)))
                else:
                    columns.append([_named(value, names.get(field.name)) for value in column.to_pylist()])
            for values in zip(*columns, strict=True):
                row += 1
                yield dict(zip(schema.names, values, strict=True)), row


def _reads_as_texts(field: Any, column: Any, encoding: str, told: dict[str, bool]) -> bool:
    """Whether a column of a batch is read as texts. Bytes are, if the first that came can be; `told` keeps that."""
    types = optional("pyarrow", "data").types
    is_bytes = types.is_binary(field.type) or types.is_large_binary(field.type)
    if is_bytes and field.name not in told and (raws := list(filter(None, column.to_pylist()))):
        told[field.name] = are_texts(raws[:_ENOUGH_TO_JUDGE], encoding)
    return holds_texts(field.type) and told.get(field.name, True)


def class_names(schema: Any) -> dict[str, list[str]]:
    """The names of the numbered classes in each column, which the package `datasets` writes beside the columns."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        found = {column: _names_in(feature) for column, feature in features.items()}
    except (KeyError, TypeError, AttributeError, ValueError):  # none, or written by something else
        return {}
    return {column: names for column, names in found.items() if names}


def _names_in(feature: Any) -> list[str] | None:
    """Of a class, or of a list of them as tags are."""
    while not isinstance(feature, Mapping) or "names" not in feature:
        feature = feature.get("feature") if isinstance(feature, Mapping) else None
        if feature is None:
            return None
    return list(map(str, feature["names"]))


def _named(value: Any, names: list[str] | None) -> Any:
    """The number of a class as its name; -1, which stands for none, as nothing."""
    if names is None or value is None:
        return value
    if isinstance(value, list):
        return [_named(inner, names) for inner in value]
    if not isinstance(value, int) or value >= len(names):
        return value
    return names[value] if value >= 0 else None
