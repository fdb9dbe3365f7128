"""Rows of TensorFlow Datasets: a dataset is made on this disk by the real package, and read."""

import json
import os
import subprocess
import sys

import pytest

from unmask.data.readers import read_records
from unmask.errors import UserError

MAKE = """
import sys

import numpy as np
import tensorflow_datasets as tfds

features = tfds.features.FeaturesDict(
    {
        "text": tfds.features.Text(),
        "label": tfds.features.ClassLabel(names=["neg", "pos"]),
        "tokens": tfds.features.Sequence(tfds.features.Text()),
        "tags": tfds.features.Sequence(tfds.features.ClassLabel(names=["O", "B-PER"])),
        "answers": tfds.features.Sequence({"text": tfds.features.Text(), "answer_start": np.int32}),
        "score": np.float32,
    }
)
answers = {"text": ["é"], "answer_start": [3]}
first = {"text": "café", "label": "pos", "tokens": ["Ada", "ran"], "tags": ["B-PER", "O"], "answers": answers}
second = {"text": "注意力", "label": -1, "tokens": [], "tags": [], "answers": {"text": [], "answer_start": []}}
tfds.dataset_builders.store_as_tfds_dataset(
    name="our_rows",
    version="1.0.0",
    features=features,
    split_datasets={"train": [(0, {**first, "score": 1.5})], "test": [(0, {**second, "score": 0.0})]},
    data_dir=sys.argv[1],
)
"""
READ = """
import json
import sys

from unmask.data.readers import read_records

records = read_records(sys.argv[1])
print(json.dumps([records.names, [[record.place, record.values] for record in records]]))
"""


def python(script, *arguments, **environment):
    """In a process of its own, since TensorFlow stays in the one that imports it."""
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if not os.environ.get("CI"):
        pytest.importorskip("tensorflow_datasets")
    folder = str(tmp_path_factory.mktemp("tfds"))
    made = python(MAKE, folder)
    assert not made.returncode, made.stderr
    return folder


def read(source, folder):
    ran = python(READ, source, TFDS_DATA_DIR=folder)
    assert not ran.returncode, ran.stderr
    return json.loads(ran.stdout)


def test_classes_have_their_names(folder):
    names, [[place, values]] = read("tfds:our_rows", folder)
    assert place == "tfds:our_rows, row 1"
    assert set(names) == {"text", "label", "tokens", "tags", "answers", "score"}
    assert values == {
        "text": "café",
        "label": "pos",
        "tokens": ["Ada", "ran"],
        "tags": ["B-PER", "O"],
        "answers": {"text": ["é"], "answer_start": [3]},
        "score": 1.5,
    }


def test_another_split_and_a_secret_label(folder):
    _, [[place, values]] = read("tfds:our_rows:test", folder)
    assert place == "tfds:our_rows:test, row 1"
    assert (values["text"], values["label"], values["tags"]) == ("注意力", None, [])


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("tfds:missing", "tfds:missing cannot be loaded (Dataset missing not found.)"),
        ("tfds:our_rows:half", "tfds:our_rows:half cannot be loaded (Unknown split 'half'"),
    ],
)
def test_what_is_not_there(folder, source, said):
    ran = python(READ, source, TFDS_DATA_DIR=folder)
    assert ran.returncode
    assert said in ran.stderr


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    with pytest.raises(UserError, match="run: pip install tensorflow-datasets"):
        read_records("tfds:imdb_reviews")
