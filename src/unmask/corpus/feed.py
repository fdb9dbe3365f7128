"""The feed of a corpus build: documents read, normalized, without exact duplicates, in batches.

Where a batch ends depends on the documents since its beginning alone, so a build that goes on makes the same batches.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from unmask.corpus.documents import RawDocument, Reading, read_source
from unmask.corpus.duplicates import ExactDuplicates, digest_of
from unmask.corpus.normalize import Form, normalize
from unmask.corpus.tokenizing import Batch
from unmask.data.decode import Seen
from unmask.data.source import Source

BATCH_CHARACTERS = 1 << 19
BATCH_DOCUMENTS = 1 << 12

_C1 = re.compile("[\x80-\x84\x86-\x9f]+")  # control characters that come from a wrong encoding only

START = {"source": 0, "documents": 0, "ordinal": 0, "raw": 0}


class Feed:
    """Batches of documents, from a position on.

    Args:
        sources: the files.
        reading: how they are read.
        form: how they are normalized.
        exact: knows which documents came before; None keeps duplicates.
        position: where reading goes on: `START`, or that of the last batch that was saved.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        reading: Reading,
        form: Form,
        exact: ExactDuplicates | None,
        position: dict[str, int],
    ) -> None:
        self._sources, self._reading, self._form, self._exact = sources, reading, form, exact
        self._position = dict(position)
        self._seen = Seen()
        self._invalid_before = 0

    def batches(self) -> Iterator[Batch]:
        """Each batch, the last one perhaps without documents."""
        batch, size = self._empty_batch(), 0
        for document in self._documents():
            size += len(document.text)
            self._add(document, batch)
            if size >= BATCH_CHARACTERS or batch.counts["read"] >= BATCH_DOCUMENTS:
                yield self._closed(batch)
                batch, size = self._empty_batch(), 0
        yield self._closed(batch)

    def _documents(self) -> Iterator[RawDocument]:
        position = self._position
        first = position["source"]
        for number, source in enumerate(self._sources[first:], first):
            documents = read_source(source, self._reading, self._seen)
            if number == first:
                for _ in islice(documents, position["documents"]):
                    pass
                self._invalid_before = self._seen.invalid
            else:
                position["source"], position["documents"] = number, 0
            before = sum(other.path.stat().st_size for other in self._sources[:number])
            read_before = self._seen.raw_bytes if number != first else 0
            for document in documents:
                position["documents"] += 1
                position["raw"] = before + self._seen.raw_bytes - read_before
                yield document

    def _add(self, document: RawDocument, batch: Batch) -> None:
        ordinal, self._position["ordinal"] = self._position["ordinal"], self._position["ordinal"] + 1
        batch.counts["read"] += 1
        if not document.text.isascii():
            batch.counts["mojibake"] += sum(1 for _ in _C1.finditer(document.text))
        text = normalize(document.text, self._form)
        if not text or text.isspace():
            batch.counts["empty"] += 1
            return
        digest = digest_of(text)
        if self._exact is not None and not self._exact.is_new(digest, ordinal):
            batch.counts["exact_duplicates"] += 1
            return
        batch.texts.append(text)
        batch.ordinals.append(ordinal)
        batch.digests.append(digest)
        batch.places.append((document.source, document.place))

    @staticmethod
    def _empty_batch() -> Batch:
        counts = dict.fromkeys(("read", "exact_duplicates", "empty", "invalid", "mojibake"), 0)
        return Batch([], [], [], [], counts, {})

    def _closed(self, batch: Batch) -> Batch:
        batch.counts["invalid"] = self._seen.invalid - self._invalid_before
        self._invalid_before = self._seen.invalid
        batch.position = dict(self._position)
        return batch
