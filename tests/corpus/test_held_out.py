"""What is held out depends on the texts and the seed, and never on their order."""

import numpy as np
import pytest

from unmask.corpus.duplicates import digest_of
from unmask.corpus.held_out import HeldOut, key_of
from unmask.corpus.ledger import Ledger
from unmask.data.shards import HELDOUT, TRAIN, Document
from unmask.errors import UserError


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger", np.uint16)


def document(number):
    return Document(np.array([number], np.uint16), np.array([3], np.uint8))


def split(ledger, numbers, held_out, seed=0):
    chooser, found = HeldOut(held_out, ledger), {TRAIN: [], HELDOUT: []}
    for ordinal, number in enumerate(numbers):
        for name, placed in chooser.place(key_of(digest_of(str(number)), seed), ordinal, document(number)):
            found[name].append(int(placed.ids[0]))
    for name, placed in chooser.rest(len(numbers)):
        found[name].append(int(placed.ids[0]))
    assert sorted(found[TRAIN] + found[HELDOUT]) == sorted(numbers)
    return found


@pytest.mark.parametrize("held_out", [0.05, 0.3, 7, 1, 1e-9, 0])
def test_the_same_in_any_order(tmp_path, held_out):
    numbers = list(range(300))
    sets = []
    for turn in range(3):
        np.random.default_rng(turn).shuffle(numbers)
        sets.append(set(split(Ledger(tmp_path / f"{turn}", np.uint16), numbers, held_out)[HELDOUT]))
    assert sets[0] == sets[1] == sets[2]
    wanted = {0.05: range(5, 30), 0.3: range(65, 120), 7: [7], 1: [1], 1e-9: [1], 0: [0]}[held_out]
    assert len(sets[0]) in wanted


def test_another_seed_another_choice(tmp_path):
    one, two = (set(split(Ledger(tmp_path / str(s), np.uint16), range(300), 0.1, seed=s)[HELDOUT]) for s in (1, 2))
    assert one != two


def test_two_documents_give_one_and_one_document_none(tmp_path):
    assert len(split(Ledger(tmp_path / "a", np.uint16), [1, 2], 0.01)[HELDOUT]) == 1
    assert split(Ledger(tmp_path / "b", np.uint16), [1], 0.01) == {TRAIN: [1], HELDOUT: []}


def test_goes_on_from_the_ledger(tmp_path):
    """Interrupted after any document, the choice is that of a run in one piece."""
    for held_out in (0.01, 4):
        whole = split(Ledger(tmp_path / f"whole{held_out}", np.uint16), range(60), held_out)
        found = {TRAIN: [], HELDOUT: []}
        path = tmp_path / f"parts{held_out}"
        for number in range(60):
            ledger = Ledger(path, np.uint16)
            for name, placed in HeldOut(held_out, ledger).place(
                key_of(digest_of(str(number)), 0), number, document(number)
            ):
                found[name].append(int(placed.ids[0]))
            ledger.commit()
            ledger.close()
        for name, placed in HeldOut(held_out, Ledger(path, np.uint16)).rest(60):
            found[name].append(int(placed.ids[0]))
        assert found == whole


def test_all_of_them_are_too_many(ledger):
    with pytest.raises(UserError, match="--held-out 5 would hold out all 5 documents"):
        split(ledger, range(5), 5)


@pytest.mark.parametrize("held_out", [-0.1, 1.5])
def test_what_is_no_share_and_no_number(ledger, held_out):
    with pytest.raises(UserError, match="must be a share below 1, or a number of documents"):
        HeldOut(held_out, ledger)
