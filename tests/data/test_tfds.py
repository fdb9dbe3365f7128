"""Rows of TensorFlow Datasets, through a package that looks like it; the real one is not needed for the tests."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from unmask.data.readers import read_records
from unmask.errors import UserError


@pytest.fixture
def package(monkeypatch):
    asked = []

    def load(name, *, split, with_info):
        asked.append((name, split))
        if name == "missing":
            raise KeyError("Dataset missing not found.")
        rows = [{"text": b"caf\xc3\xa9", "label": np.int64(1), "words": np.array([b"a", b"b"], object)}]
        info = SimpleNamespace(features={"label": SimpleNamespace(names=["neg", "pos"]), "text": None})
        return rows, info

    monkeypatch.setitem(sys.modules, "tensorflow_datasets", SimpleNamespace(load=load, as_numpy=lambda rows: rows))
    return asked


def test_rows(package):
    records = read_records("tfds:imdb_reviews")
    [record] = records
    assert record.values == {"text": "café", "label": "pos", "words": ["a", "b"]}
    assert record.place == "tfds:imdb_reviews, row 1"
    assert records.names == ["text", "label", "words"]
    read_records("tfds:glue/cola:validation")
    assert package[0] == ("imdb_reviews", "train")
    assert package[-1] == ("glue/cola", "validation")


def test_no_such_dataset(package):
    with pytest.raises(UserError, match=r"tfds:missing cannot be loaded \('Dataset missing not found.'\)"):
        read_records("tfds:missing")


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    with pytest.raises(UserError, match="run: pip install tensorflow-datasets"):
        read_records("tfds:imdb_reviews")
