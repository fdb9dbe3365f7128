"""Equal documents are found by their hash, similar ones by MinHash; both survive the end of a process."""

import sqlite3

import numpy as np
import pytest

from unmask.corpus.duplicates import PERMUTATIONS, ExactDuplicates, NearDuplicates, Signer, digest_of
from unmask.errors import UserError


@pytest.fixture
def connection():
    return sqlite3.connect(":memory:")


def test_the_first_of_equal_documents_is_new(connection):
    exact = ExactDuplicates(connection)
    answers = [exact.is_new(digest_of(text), i) for i, text in enumerate(["a", "b", "a", "c", "b", "a"])]
    assert answers == [True, True, False, True, False, False]


def test_asking_again_gives_the_same_answer(connection):
    """A build that goes on asks again about documents that were on their way when it was killed."""
    exact = ExactDuplicates(connection)
    texts = ["a", "b", "a", "c"]
    for _ in range(2):
        assert [exact.is_new(digest_of(text), i) for i, text in enumerate(texts)] == [True, True, False, True]


def test_digests_are_on_disk(tmp_path):
    with sqlite3.connect(tmp_path / "d") as connection:
        assert ExactDuplicates(connection).is_new(digest_of("a"), 0)
    with sqlite3.connect(tmp_path / "d") as connection:
        assert not ExactDuplicates(connection).is_new(digest_of("a"), 1)


def changed(ids, share, rng):
    """A copy with this share of its tokens replaced, all at its end, so the similarity of shingles is known."""
    copy = ids.copy()
    n = round(share * len(ids))
    if n:
        copy[-n:] = rng.integers(30_000, 60_000, n)
    return copy


def jaccard(a, b):
    sets = [{tuple(ids[i : i + 5]) for i in range(len(ids) - 4)} for ids in (a, b)]
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def test_signatures_estimate_the_similarity_of_shingles():
    rng = np.random.default_rng(0)
    signer, errors = Signer(), []
    for share in np.linspace(0, 0.6, 40):
        a = rng.integers(0, 30_000, 400)
        b = changed(a, share, rng)
        errors.append(np.mean(signer.signature(a) == signer.signature(b)) - jaccard(a.tolist(), b.tolist()))
    # The standard error of one estimate is at most √(¼ / 128) = 0.044, that of their mean 0.007.
    assert abs(np.mean(errors)) < 0.02
    assert np.max(np.abs(errors)) < 0.15


def test_a_signature_does_not_depend_on_how_much_is_hashed_at_a_time(monkeypatch):
    ids = np.arange(10_000) % 3_777
    whole = Signer().signature(ids)
    monkeypatch.setattr("unmask.corpus.duplicates._CHUNK", 100)
    assert (Signer().signature(ids) == whole).all()
    assert whole.shape == (PERMUTATIONS,)


def test_short_documents_have_signatures():
    signer = Signer()
    for n in range(1, 6):
        ids = np.arange(n)
        assert (signer.signature(ids) == signer.signature(ids.astype(np.uint16))).all()
        assert (signer.signature(ids) != signer.signature(ids + 1)).any()


@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.9])
def test_similar_documents_are_found_and_others_are_not(connection, threshold):
    rng = np.random.default_rng(1)
    signer, near = Signer(), NearDuplicates(connection, threshold)
    originals = [rng.integers(0, 30_000, 500) for _ in range(50)]
    assert all(near.is_new(signer.signature(ids), i) for i, ids in enumerate(originals))
    alike = [changed(ids, 0.02, rng) for ids in originals]  # similarity 0.96
    assert sum(near.is_new(signer.signature(ids), 100 + i) for i, ids in enumerate(alike)) <= 1
    unlike = [changed(ids, 0.7, rng) for ids in originals]  # similarity 0.18
    assert all(near.is_new(signer.signature(ids), 200 + i) for i, ids in enumerate(unlike))


def test_a_similarity_that_is_no_share(connection):
    with pytest.raises(UserError, match=r"between 0 and 1, such as 0.8, not 80"):
        NearDuplicates(connection, 80)
