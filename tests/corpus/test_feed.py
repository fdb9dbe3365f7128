"""The feed drops what is empty or was seen before, and goes on in the middle of a file with the same batches."""

import sqlite3

import pytest

from unmask.corpus import feed as module
from unmask.corpus.documents import Reading
from unmask.corpus.duplicates import ExactDuplicates
from unmask.corpus.feed import START, Feed
from unmask.data.where import find_sources


@pytest.fixture
def files(tmp_path):
    (tmp_path / "a.txt").write_bytes("\n\n".join(f"document {i % 40}" for i in range(50)).encode() + b"\n\nb\xffd")
    (tmp_path / "b.jsonl").write_text('{"text": ""}\n{"text": "last \\u0080 one"}\n{"text": "\\u200b"}\n')
    return find_sources([tmp_path])


def batches(files, connection, position=START):
    return list(Feed(files, Reading(), "nfc", ExactDuplicates(connection), position).batches())


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    monkeypatch.setattr(module, "BATCH_CHARACTERS", 100)


def test_what_is_left_out(files):
    found = batches(files, sqlite3.connect(":memory:"))
    assert [text for batch in found for text in batch.texts] == [
        *(f"document {i}" for i in range(40)),
        "b\ufffdd",
        "last one",
    ]
    counts = {name: sum(batch.counts[name] for batch in found) for name in found[0].counts}
    assert counts == {"read": 54, "exact_duplicates": 10, "empty": 2, "invalid": 1, "mojibake": 1}
    assert [ordinal for batch in found for ordinal in batch.ordinals] == [*range(40), 50, 52]
    assert found[-1].position["raw"] == sum(source.path.stat().st_size for source in files)


def test_from_any_batch_on_the_same_batches_follow(files, tmp_path):
    connection = sqlite3.connect(tmp_path / "seen")
    whole = batches(files, connection)
    assert len(whole) > 5
    for i, batch in enumerate(whole[:-1]):
        assert batches(files, connection, batch.position) == whole[i + 1 :]
    (empty,) = batches(files, connection, whole[-1].position)
    assert not any(empty.counts.values())
    assert empty.position == whole[-1].position
