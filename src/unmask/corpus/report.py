"""What a corpus build saw: figures, the longest documents, scripts, and warnings of what ruins training."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np

from unmask.corpus.scripts import NAMES
from unmask.corpus.tokenizing import Batch, Tokenized

_LONGEST = 10
_MOST_LINES, _FEWER_LINES = 4096, 2048
_SHOWN_LINES = 5

MANY_EQUAL_LINES = 1000
MANY_UNKNOWN = 0.01
FEW_TOKENS = 1_000_000


@dataclass
class Tally:
    """Sums that grow with each batch; as JSON it survives an interruption."""

    read: int = 0
    exact_duplicates: int = 0
    near_duplicates: int = 0
    empty: int = 0
    invalid: int = 0
    documents: int = 0
    sums: dict[str, int] = field(default_factory=dict)
    replaced: int = 0
    mojibake: int = 0
    scripts: list[int] = field(default_factory=lambda: [0] * len(NAMES))
    lines: dict[str, int] = field(default_factory=dict)
    longest: list[tuple[int, str, str]] = field(default_factory=list)

    @classmethod
    def restored(cls, saved: dict[str, Any] | None) -> Self:
        """From what `saved` gave."""
        return cls(**(saved or {}))

    def saved(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    def add(self, batch: Batch, tokenized: Tokenized, kept: Sequence[int]) -> None:
        """One batch, of whose documents these were kept."""
        for name, count in batch.counts.items():
            setattr(self, name, getattr(self, name) + count)
        self.documents += len(kept)
        chosen = np.array(kept, np.int64)
        for name, figures in tokenized.figures.items():
            self.sums[name] = self.sums.get(name, 0) + int(figures[chosen].sum())
        self.replaced += tokenized.replaced
        self.mojibake += tokenized.mojibake
        self.scripts = (np.array(self.scripts) + tokenized.scripts).tolist()
        self._add_lines(tokenized.lines)
        self._add_longest(batch, tokenized.figures["tokens"], chosen)

    def _add_lines(self, lines: dict[str, int]) -> None:
        """Repeated lines, in a table of limited size: what is seldom is forgotten, so a count may be too low."""
        for line, count in lines.items():
            self.lines[line] = self.lines.get(line, 0) + count
        if len(self.lines) > _MOST_LINES:
            self.lines = dict(sorted(self.lines.items(), key=lambda item: (-item[1], item[0]))[:_FEWER_LINES])

    def _add_longest(self, batch: Batch, tokens: np.ndarray, chosen: np.ndarray) -> None:
        least = self.longest[-1][0] if len(self.longest) == _LONGEST else 0
        longer = [i for i in chosen[np.argsort(-tokens[chosen], kind="stable")[:_LONGEST]] if tokens[i] > least]
        entries = [*self.longest, *((int(tokens[i]), *batch.places[i]) for i in longer)]
        self.longest = sorted(entries, key=lambda entry: -entry[0])[:_LONGEST]

    def report(self, *, held_out: tuple[int, int]) -> dict[str, Any]:
        """All figures, with warnings; `held_out` are documents and tokens of that part."""
        tokens, size = self.sums.get("tokens", 0), self.sums.get("bytes", 0)
        letters = sum(self.scripts[1:])
        shares = {name: n / letters for name, n in zip(NAMES[1:], self.scripts[1:], strict=True) if n}
        figures = {
            "documents": self.documents,
            "sentences": self.sums.get("sentences", 0),
            "words": self.sums.get("words", 0),
            "tokens": tokens,
            "characters": self.sums.get("characters", 0),
            "bytes": size,
            "bytes_per_token": round(size / max(tokens, 1), 3),
            "documents_read": self.read,
            "exact_duplicates": self.exact_duplicates,
            "near_duplicates": self.near_duplicates,
            "empty": self.empty,
            "held_out": dict(zip(("documents", "tokens"), held_out, strict=True)),
            "invalid": self.invalid,
            "replacement_characters": self.replaced,
            "mojibake": self.mojibake,
            "unknown_tokens": self.sums.get("unknown", 0),
            "scripts": {name: round(share, 5) for name, share in sorted(shares.items(), key=lambda item: -item[1])},
            "longest": [{"tokens": n, "source": source, "place": place} for n, source, place in self.longest],
            "equal_lines": [{"line": line, "count": count} for line, count in self._equal_lines()],
        }
        return {**figures, "warnings": warnings_of(figures)}

    def _equal_lines(self) -> list[tuple[str, int]]:
        most = sorted(self.lines.items(), key=lambda item: (-item[1], item[0]))
        return [entry for entry in most if entry[1] >= MANY_EQUAL_LINES][:_SHOWN_LINES]


def warnings_of(figures: dict[str, Any]) -> list[str]:
    """What ruins training, one sentence each."""
    tokens, documents = max(figures["tokens"], 1), figures["documents"]
    warnings = [
        f"The line {entry['line'][:60]!r} occurs {entry['count']:,} times or more; remove it if it is no text."
        for entry in figures["equal_lines"]
    ]
    if figures["empty"]:
        warnings.append(f"{figures['empty']:,} of {figures['documents_read']:,} documents are empty and were left out.")
    if figures["invalid"]:
        warnings.append(
            f"{figures['invalid']:,} places were not of the encoding and were replaced; "
            "is the text in another one? See --encoding."
        )
    elif figures["replacement_characters"]:
        warnings.append(
            f"{figures['replacement_characters']:,} replacement characters (U+FFFD) are in the text: "
            "it was damaged before it came here."
        )
    if figures["mojibake"]:
        warnings.append(
            f"{figures['mojibake']:,} places such as 'â€™' are in the text: it was read in a wrong encoding before."
        )
    if figures["unknown_tokens"] > MANY_UNKNOWN * tokens:
        share = figures["unknown_tokens"] / tokens
        warnings.append(f"{share:.1%} of the tokens are unknown to the tokenizer; train one on this text.")
    if figures["tokens"] < FEW_TOKENS:
        warnings.append(
            f"{figures['tokens']:,} tokens in {documents:,} documents are few: a model learns a language "
            f"from {FEW_TOKENS:,} or more, or goes on from one that was trained before."
        )
    return warnings
