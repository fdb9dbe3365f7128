"""A changed file of a corpus is found."""

import pytest

import tiny_tokenizers
from unmask.corpus.build import build_corpus
from unmask.corpus.verify import verify_corpus
from unmask.errors import UserError


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "a.txt").write_text("one\n\ntwo\n\nthree")
    return build_corpus([tmp_path / "a.txt"], tiny_tokenizers.bert(), tmp_path / "out", workers=1)


def test_all_is_well(corpus):
    assert verify_corpus(corpus) == 7


@pytest.mark.parametrize("name", ["train/00000.ids.npy", "heldout/00000.begins.npy", "tokenizer.json"])
def test_a_byte_changed_or_a_file_gone(corpus, name):
    path = corpus.folder / name
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(UserError, match=f"{name} is not what the build wrote"):
        verify_corpus(corpus)
    path.unlink()
    with pytest.raises(UserError, match=f"{name} is missing"):
        verify_corpus(corpus)
