"""The ledger keeps what was committed, and nothing else."""

import numpy as np
import pytest

from unmask.corpus.ledger import Ledger
from unmask.data.shards import Document, Documents
from unmask.errors import UserError


def documents(*lengths):
    return Documents.of([Document(np.arange(n, dtype=np.uint32), np.full(n, 3, np.uint8)) for n in lengths])


def lengths(ledger, split="train"):
    return [length for part in ledger.waiting(split) for length in part.lengths.tolist()]


def test_what_was_not_committed_is_forgotten(tmp_path):
    ledger = Ledger(tmp_path / "deep" / "l", np.uint32)
    ledger.write("fact", {"a": [1, "ü"]})
    ledger.add_waiting("train", documents(3, 1, 4))
    ledger.add_waiting("train", documents(1, 5))
    ledger.add_waiting("heldout", documents(9))
    ledger.commit()
    ledger.write("fact", "another")
    ledger.clear_waiting("train")
    ledger.close()
    again = Ledger(tmp_path / "deep" / "l", np.uint32)
    assert again.read("fact") == {"a": [1, "ü"]}
    assert again.read("no such fact") is None
    assert lengths(again) == [3, 1, 4, 1, 5]
    assert again.waiting("train")[0].ids.tolist() == [0, 1, 2, 0, 0, 1, 2, 3]
    assert lengths(again, "heldout") == [9]
    again.clear_waiting("train")
    assert lengths(again) == []


def test_candidates(tmp_path):
    ledger = Ledger(tmp_path / "l", np.uint16)
    for ordinal, n in enumerate((2, 3)):
        ledger.add_candidate(2**63 - 1 - ordinal, ordinal, Document(np.arange(n), np.full(n, 3, np.uint8)))
    assert ledger.candidates() == [(2**63 - 1, 0), (2**63 - 2, 1)]
    taken = ledger.take_candidate(1)
    assert taken.ids.tolist() == [0, 1, 2]
    assert taken.begins.tolist() == [3, 3, 3]
    assert ledger.candidates() == [(2**63 - 1, 0)]


def test_a_file_that_is_no_ledger(tmp_path):
    (tmp_path / "l").write_bytes(b"something else entirely" * 1000)
    with pytest.raises(UserError, match="l is damaged"):
        Ledger(tmp_path / "l", np.uint16)
