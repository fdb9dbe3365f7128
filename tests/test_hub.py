"""Models and datasets of the hub, fetched by Hugging Face's own client from a hub on this machine."""

import os
import subprocess
import sys

import pyarrow
import pyarrow.parquet
import pytest

from local_hub import REVISION, LocalHub

RESOLVE = """
import sys

from unmask import UserError
from unmask.sources import resolve

try:
    folder = resolve(sys.argv[1])
    print(*sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()))
except UserError as error:
    print(error)
"""
READ = """
import sys

from unmask import UserError
from unmask.data.readers import read_records

try:
    for record in read_records(sys.argv[1]):
        print(record.place, record.values["text"])
except UserError as error:
    print(error)
"""
DOCUMENTS = """
import sys

from unmask.corpus.documents import read_documents

for document in read_documents([sys.argv[1]]):
    print(document.source, document.text)
"""


@pytest.fixture
def hub(tmp_path):
    texts = {
        "models/owner/model/config.json": "{}",
        "models/owner/model/vocab.txt": "a",
        "models/owner/model/pytorch_model.bin": "pickled",
        "datasets/owner/data/en/train.csv": "text,label\nan English text,1\n",
        "datasets/owner/data/en/test.csv": "text,label\nheld back,1\n",
        "datasets/owner/data/zh/train.csv": "text,label\n一段中文,1\n",
        "datasets/owner/data/train.fr.jsonl": '{"text": "un texte", "label": 1}\n',
        "datasets/owner/data/data.py": "raise SystemExit('a script of the dataset was run')",
    }
    for name, text in texts.items():
        path = tmp_path / "hub" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    with LocalHub(tmp_path / "hub") as hub:
        yield hub


def ask(script, source, hub, home, **environment):
    """What is said in a process of its own, since the client reads its settings when it is imported."""
    settings = {"HF_ENDPOINT": hub.address, "HF_HOME": str(home), "HF_HUB_OFFLINE": "0", **environment}
    command = [sys.executable, "-c", script, source]
    ran = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", env=os.environ | settings, check=False
    )
    assert not ran.returncode, ran.stderr
    return ran.stdout.splitlines()


def test_a_model_without_its_pickled_weights(hub, tmp_path):
    assert ask(RESOLVE, "hf:owner/model", hub, tmp_path) == ["config.json vocab.txt"]
    assert set(hub.fetched) == {"config.json", "vocab.txt"}


def test_what_was_fetched_is_there_offline(hub, tmp_path):
    ask(RESOLVE, f"hf:owner/model@{REVISION}", hub, tmp_path)
    before = list(hub.fetched)
    assert ask(RESOLVE, f"hf:owner/model@{REVISION}", hub, tmp_path, HF_HUB_OFFLINE="1") == ["config.json vocab.txt"]
    assert hub.fetched == before


@pytest.mark.parametrize(
    ("source", "rows", "fetched"),
    [
        ("hf:owner/data:en", ["en/train.csv, line 2 an English text"], {"en/train.csv"}),
        ("hf:owner/data:en:test", ["en/test.csv, line 2 held back"], {"en/test.csv"}),
        ("hf:owner/data:en:default", ["en/train.csv, line 2 an English text"], {"en/train.csv"}),
        ("hf:owner/data@main:zh", ["zh/train.csv, line 2 一段中文"], {"zh/train.csv"}),
        ("hf:owner/data:fr:train", ["train.fr.jsonl, line 1 un texte"], {"train.fr.jsonl"}),
        ("hf:owner/data::test", ["en/test.csv, line 2 held back"], {"en/test.csv"}),
    ],
)
def test_a_dataset(hub, tmp_path, source, rows, fetched):
    assert ask(READ, source, hub, tmp_path) == [f"hf:owner/data/{row}" for row in rows]
    assert set(hub.fetched) == fetched


def test_the_shards_of_a_split(hub, tmp_path):
    folder = hub.repository("datasets", "owner/shards")
    folder.mkdir()
    pieces = {"train-00000-of-00002": "one", "train-00001-of-00002": "two", "validation-00000-of-00001": "three"}
    for name, text in pieces.items():
        pyarrow.parquet.write_table(pyarrow.table({"text": [text]}), folder / f"{name}.parquet")
    (folder / "train.jsonl").write_text('{"text": "the same as lines"}')
    rows = ask(READ, "hf:owner/shards", hub, tmp_path)
    assert [row.rpartition(" ")[2] for row in rows] == ["one", "two"]
    assert ask(DOCUMENTS, "hf:owner/shards", hub, tmp_path) == [
        "hf:owner/shards/train-00000-of-00002.parquet one",
        "hf:owner/shards/train-00001-of-00002.parquet two",
    ]


CARD = """---
configs:
- config_name: split
  data_files:
  - split: train
    path: split/train-*
  default: true
- config_name: unsplit
  data_files: unsplit/*
---
"""


@pytest.mark.parametrize(("card", "expected"), [(CARD, ["split"]), ("---\n: [\n---\n", []), ("No head.", [])])
def test_the_default_config_is_what_the_card_says(hub, tmp_path, card, expected):
    folder = hub.repository("datasets", "owner/configs")
    for name in ("split/train-0.csv", "split/test-0.csv", "unsplit/train-0.csv"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("text,label\nx,1\n")
    (folder / "README.md").write_text(card)
    said = ask(READ, "hf:owner/configs", hub, tmp_path)
    if expected:
        assert said == ["hf:owner/configs/split/train-0.csv, line 2 x"]
        assert set(hub.fetched) == {"README.md", "split/train-0.csv"}
    else:
        assert said == ["hf:owner/configs has several configs: split, unsplit; name one, as in hf:owner/configs:split."]
        assert set(hub.fetched) == {"README.md"}


@pytest.mark.parametrize("unreachable", [{"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "http://127.0.0.1:9"}])
def test_a_dataset_that_was_fetched_is_there_offline(hub, tmp_path, unreachable):
    rows = ask(READ, "hf:owner/data:en", hub, tmp_path)
    assert ask(READ, "hf:owner/data:en", hub, tmp_path, **unreachable) == rows
    [said] = ask(READ, "hf:owner/data:zh", hub, tmp_path, **unreachable)
    assert "hf:owner/data:zh has no file that can be read" in said


def test_half_of_a_split_is_not_read_offline(hub, tmp_path):
    folder = hub.repository("datasets", "owner/shards")
    folder.mkdir()
    for name in ("train-00000-of-00002.csv", "train-00001-of-00002.csv"):
        (folder / name).write_text(f"text,label\n{name},1\n")
    assert len(ask(READ, "hf:owner/shards", hub, tmp_path)) == 2
    next((tmp_path / "hub").glob("datasets--*/snapshots/*/train-00001-of-00002.csv")).unlink()
    [said] = ask(READ, "hf:owner/shards", hub, tmp_path, HF_HUB_OFFLINE="1")
    assert "hf:owner/shards is not in the local cache and the hub cannot be reached (IncompleteSnapshotError)" in said


@pytest.mark.parametrize(
    ("script", "source", "said"),
    [
        (RESOLVE, "hf:owner/none", "Hugging Face's hub has no public model 'owner/none'; check the name"),
        (READ, "hf:owner/none", "Hugging Face's hub has no public dataset 'owner/none'; check the name"),
        (RESOLVE, "hf:owner/model@v9", "The model owner/model on the hub has no revision 'v9'; leave @v9 out."),
        (READ, "hf:owner/data@v9:en", "The dataset owner/data on the hub has no revision 'v9'; leave @v9 out."),
        (READ, "hf:owner/data:de", "hf:owner/data:de has no file that can be read; look at its files on the hub"),
        (READ, "hf:owner/data:en:train:x", "has too many parts; write hf:owner/name:config:split."),
        (READ, "hf:a b", "hf:a b is no name on the hub; write hf:owner/name, such as hf:stanfordnlp/imdb."),
    ],
)
def test_what_is_not_there(hub, tmp_path, script, source, said):
    [sentence] = ask(script, source, hub, tmp_path)
    assert said in sentence
