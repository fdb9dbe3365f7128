"""The inputs of a build: their fingerprints, and what differs from those of another build."""

import hashlib
import os
from pathlib import Path

import pytest

from unmask.corpus.inputs import Stopped, fingerprints, outside, refuse_if_different, stamp
from unmask.data.where import find_sources
from unmask.errors import UserError


@pytest.fixture
def sources(tmp_path):
    for name in "abc":
        (tmp_path / f"{name}.txt").write_text(name)
    return find_sources([tmp_path])


def test_files_of_the_folder_to_write_are_left_out_aloud(sources, tmp_path, monkeypatch):
    said = []
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    above = find_sources(["../a.txt"])  # its absolute path has out in it, but it lies elsewhere
    assert outside(Path(), above, said.append) == above
    assert said == []
    assert outside(tmp_path / "other", sources, said.append) == sources
    for name in ("d.txt", "e.txt"):
        (tmp_path / "out" / name).write_text(name)
    assert outside(Path(), [*above, *find_sources(["."])], said.append) == above
    assert said == ["Left out, for lying in the folder to write, .: d.txt and 1 more."]
    with pytest.raises(UserError, match=r"All files to read lie in \., which is to be written; choose another --out"):
        outside(Path(), find_sources(["../out/d.txt"]), said.append)
    stdin = find_sources(["-"], spool=tmp_path / "out" / "stdin")
    assert outside(Path(), stdin, said.append) == stdin


def test_fingerprints_in_order(sources):
    found = fingerprints(sources, {}, lambda: False)
    assert [entry["sha256"] for entry in found] == [hashlib.sha256(name.encode()).hexdigest() for name in "abc"]
    assert [entry["bytes"] for entry in found] == [1, 1, 1]


def test_what_is_known_is_not_read_again(sources):
    known = {stamp(source): {"name": source.name, "bytes": 0, "sha256": "known"} for source in sources}
    status = sources[1].path.stat()
    os.utime(sources[1].path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    found = [entry["sha256"] for entry in fingerprints(sources, known, lambda: False)]
    assert found == ["known", hashlib.sha256(b"b").hexdigest(), "known"]


def test_a_wish_to_stop(sources):
    with pytest.raises(Stopped):
        fingerprints(sources, {}, lambda: True)


def identity(**more):
    sources = [{"name": name, "bytes": 1, "sha256": name} for name in ("x", "y")]
    return {"options": {"seed": 0, "near_duplicates": None}, "tokenizer": "t", "sources": sources, **more}


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ({"options": {"seed": 0, "near_duplicates": 0.8}}, "--near-duplicates was None, is 0.8 now"),
        ({"tokenizer": "u"}, "the tokenizer is another one"),
        ({"sources": [{"name": "x", "bytes": 1, "sha256": "x"}]}, "it had 2 input files, 1 come now"),
        ({"sources": [{"name": n, "bytes": 2, "sha256": n} for n in "xy"]}, "x has changed since"),
        ({"sources": [{"name": n, "bytes": 1, "sha256": n} for n in "xz"]}, "z comes in place of y"),
    ],
)
def test_what_differs_is_said(tmp_path, now, said):
    with pytest.raises(UserError, match=f"of another command: {said}"):
        refuse_if_different(tmp_path, identity(), identity(**now))


def test_a_tokenizer_is_made_without_one(tmp_path):
    before, now = ({"options": {"vocab_size": n}, "sources": []} for n in (300, 400))
    refuse_if_different(tmp_path, before, before, "tokenizer")
    with pytest.raises(UserError, match="holds the tokenizer of another command: --vocab-size was 300, is 400 now"):
        refuse_if_different(tmp_path, before, now, "tokenizer")


def test_the_same_files_under_other_names_are_the_same(tmp_path):
    sources = [{"name": f"./{name}", "bytes": 1, "sha256": name} for name in ("x", "y")]
    refuse_if_different(tmp_path, identity(), identity(sources=sources))
