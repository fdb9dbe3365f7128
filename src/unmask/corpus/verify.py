"""Verifying a corpus: every file against its hash in the manifest."""

from unmask.data.shards import Corpus
from unmask.errors import UserError
from unmask.files import file_hash


def verify_corpus(corpus: Corpus) -> int:
    """Compares all files with the manifest and tells how many there are; the first that differs is refused."""
    expected = {"tokenizer.json": corpus.manifest["tokenizer_hash"]}
    for shard in corpus.manifest["shards"]:
        for ending, hashed in shard["hashes"].items():
            expected[f"{shard['split']}/{shard['name']}.{ending}.npy"] = hashed
    for name, hashed in expected.items():
        path = corpus.folder / name
        if not path.is_file():
            raise UserError(f"{path} is missing; build the corpus again.")
        if file_hash(path) != hashed:
            raise UserError(f"{path} is not what the build wrote: it was changed or damaged; build the corpus again.")
    return len(expected)
