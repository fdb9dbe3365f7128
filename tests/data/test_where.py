"""Files, folders, globs and datasets are found in an order that does not depend on the disk."""

import os

import pytest

from unmask.data import kinds
from unmask.data.source import KINDS, RECORD_ENDINGS
from unmask.data.where import find_sources, optional, source_hash
from unmask.errors import UserError


@pytest.fixture
def tree(tmp_path):
    for name in ("b.txt", "a.jsonl.gz", "deep/er/c.csv.zst", "deep/d.tsv", "e.parquet", "notes.md", ".hidden.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


def names(tree, *sources):
    return [str(source.path.relative_to(tree)) for source in find_sources(sources)]


def test_a_folder_gives_what_can_be_read_sorted(tree):
    assert names(tree, tree) == ["a.jsonl.gz", "b.txt", "deep/d.tsv", "deep/er/c.csv.zst", "e.parquet"]


def test_kinds_and_packings(tree):
    found = {source.path.name: (source.kind, source.packing) for source in find_sources([tree, tree / "notes.md"])}
    assert found == {
        "a.jsonl.gz": ("jsonl", "gz"),
        "b.txt": ("text", ""),
        "d.tsv": ("tsv", ""),
        "c.csv.zst": ("csv", "zst"),
        "e.parquet": ("parquet", ""),
        "notes.md": ("text", ""),  # named by the user, so it is read
    }


def test_what_stands_beside_data_is_none(tmp_path):
    about = ("README.txt", "readme-en.txt.gz", "LICENSE.txt", "dataset_info.json", "dataset_infos.json", "state.json")
    for name in (*about, "dataset_dict.json", "config.json", "licensed.txt", "train.json"):
        (tmp_path / name).touch()
    assert names(tmp_path, tmp_path) == ["licensed.txt", "train.json"]
    assert names(tmp_path, tmp_path / "README.txt") == ["README.txt"]  # named by the user, so it is read


def test_what_is_taken_from_a_folder_for_a_task(tmp_path):
    for name in ("train.conll", "test.bio.gz", "table.tab"):
        (tmp_path / name).touch()
    found = find_sources([tmp_path], endings=RECORD_ENDINGS)
    assert [source.path.name for source in found] == ["table.tab", "test.bio.gz", "train.conll"]
    assert source_hash(str(tmp_path))
    with pytest.raises(UserError, match="holds no file that can be read"):
        find_sources([tmp_path])
    assert set(RECORD_ENDINGS) == {*KINDS, *kinds.ENDINGS}


def test_a_folder_of_several_splits_is_told(tmp_path):
    for name in ("train.csv", "test.csv"):
        (tmp_path / name).touch()
    told = []
    find_sources([tmp_path], say=told.append)
    assert told == [f"{tmp_path} is read as a whole: test.csv, train.csv; name one file to train on it alone."]
    (tmp_path / "test.csv").unlink()
    find_sources([tmp_path], say=told.append)
    assert len(told) == 1


def test_globs_are_expanded_also_in_depth(tree):
    assert names(tree, f"{tree}/**/*.csv.zst", f"{tree}/*.txt") == ["deep/er/c.csv.zst", "b.txt"]


def test_each_file_once(tree):
    assert names(tree, tree / "b.txt", f"{tree}/*.txt", tree).count("b.txt") == 1
    assert names(tree, tree / "b.txt", tree / "deep" / ".." / "b.txt") == ["b.txt"]


def test_a_name_that_looks_like_a_glob(tmp_path):
    (tmp_path / "a[1].txt").touch()
    assert names(tmp_path, tmp_path / "a[1].txt") == ["a[1].txt"]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("missing.txt", "There is no file .*missing.txt"),
        ("*.nothing", r"No file matches .*\*.nothing"),
        ("~no-such-user/train.csv", r"There is no home folder ~no-such-user; write ~/no-such-user/train.csv for"),
        ("empty", r"The folder .*empty holds no file that can be read: .txt"),
    ],
)
def test_what_is_not_there(tree, source, said):
    (tree / "empty").mkdir()
    with pytest.raises(UserError, match=said):
        find_sources([source if source.startswith("~") else str(tree / source)])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are POSIX")
def test_a_pipe_that_would_be_read_twice(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="is no file that can be read twice; pipe it into standard input"):
        find_sources([tmp_path / "pipe"])


def test_no_source_and_no_list():
    with pytest.raises(UserError, match="No file was given"):
        find_sources([])
    with pytest.raises(UserError, match="must be a list"):
        find_sources("a.txt")
    with pytest.raises(UserError, match="The name of a file is empty; is it a variable of the shell that is not set"):
        find_sources([""])


def test_a_missing_package():
    with pytest.raises(UserError, match=r"needs the package no_such_thing; run: pip install 'unmask\[data\]'"):
        optional("no_such_thing.inside", "data")


def test_standard_input_is_never_the_same_again():
    """Rows of another stream must not be taken for those that were read before."""
    assert source_hash("-") != source_hash("-")


def test_what_files_hold_tells_them_apart(tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(name)
    sources = [str(tmp_path), str(tmp_path / "*.txt"), str(tmp_path / "a.txt")]
    first = [source_hash(source) for source in sources]
    assert first[0] == first[1] != first[2]
    (tmp_path / "b.txt").write_text("other")
    assert [source_hash(source) == before for source, before in zip(sources, first, strict=True)] == [
        False,
        False,
        True,
    ]
    assert source_hash("hf:owner/name") == "hf:owner/name"
