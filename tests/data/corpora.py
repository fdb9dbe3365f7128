"""Small corpora for tests: random documents in the shards' own format."""

import numpy as np

from unmask.data.shards import SENTENCE, TRAIN, WORD, Corpus, Document, manifest_of, write_shard
from unmask.files import write_json


def random_documents(generator, n_documents, n_ids=200, longest=120):
    """Every token of a corpus is another one as far as ids reach, so that lost and repeated ones are seen."""
    for _ in range(n_documents):
        length = int(generator.integers(1, longest))
        begins = np.where(
            generator.random(length) < 0.15, SENTENCE | WORD, np.where(generator.random(length) < 0.7, WORD, 0)
        )
        begins[0] = SENTENCE | WORD
        yield Document(generator.integers(5, n_ids, length), begins)


def write_corpus(folder, *, seed=0, shards=2, documents=40, heldout=6, n_ids=200, longest=120):
    """A corpus folder without a tokenizer."""
    generator = np.random.default_rng(seed)
    entries = [
        write_shard(folder, split, f"{number:05d}", list(random_documents(generator, count, n_ids, longest)), n_ids)
        for split, count, n in ((TRAIN, documents, shards), ("heldout", heldout, 1))
        for number in range(n)
    ]
    write_json(folder / "manifest.json", manifest_of(entries, n_ids=n_ids, tokenizer_hash="none"))
    return Corpus(folder)
