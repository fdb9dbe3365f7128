"""A bag of words with logistic regression: what a model of texts must beat."""

import csv
from pathlib import Path

from unmask.errors import UserError


def bag_of_words(train: Path, test: Path, *, characters: bool) -> float:
    """The accuracy on the test file of TF-IDF weights and logistic regression, by scikit-learn.

    Args:
        train: a CSV file with the columns text and label.
        test: another one.
        characters: whether single characters and pairs of them are counted in place of words, as in Chinese.
    """
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415  (only here)
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
        from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    except ImportError:
        raise UserError("The baseline needs scikit-learn; run pip install scikit-learn") from None
    kind = {"analyzer": "char", "ngram_range": (1, 2)} if characters else {"ngram_range": (1, 2)}
    model = make_pipeline(TfidfVectorizer(sublinear_tf=True, min_df=2, **kind), LogisticRegression(max_iter=1000, C=10))
    model.fit(*_columns(train))
    return float(model.score(*_columns(test)))


def _columns(path: Path) -> tuple[list[str], list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = [(row["text"], row["label"]) for row in csv.DictReader(file)]
    return [text for text, _ in rows], [label for _, label in rows]
