"""Words and how often they occur, counted in bounded memory: what does not fit is sampled by a hash of each line.

A line's hash says up to which level of thinning it stays, so the sample is the same for any order of the texts. When
the words cost more than the ceiling allows, the level rises and a quarter of the lines is forgotten; nothing is read
twice.
"""

import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

# As Unicode and Rust have it; Python's \s also takes \x1c to \x1f.
_SPACE = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_CHUNKS = re.compile(f" ?[^{_SPACE}]+|[{_SPACE}]+(?![^{_SPACE}])|[{_SPACE}]+")

_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_HAN_APART = re.compile(
    f" ?[^{_SPACE}{_HAN}]+| ?[{_HAN}]|[{_SPACE}]+(?![^{_SPACE}])|[{_SPACE}]+",
)

# A place inside a text where words end whatever stands before and after it.
_LINE = re.compile(f"(?<=[^{_SPACE}]\n)(?=[^{_SPACE}])")
_LONGEST_LINE = 100_000

_DIGIT = 48
"""Bits for the count of one level: no text has 2⁴⁸ words."""

_BATCH_CHARACTERS = 2_000_000
_SHOWN_TEXTS = 200
_SHOWN_CHARACTERS = 5_000


def _thresholds() -> list[int]:
    """Ascending; a text whose hash is below 2⁶⁴ × 0.75ⁿ stays up to level n."""
    found = [1 << 64]
    while found[-1] > 1:
        found.append(found[-1] * 3 // 4)
    return found[::-1]


_THRESHOLDS = _thresholds()


def chunks(text: str, *, han_apart: bool = False) -> list[str]:
    """A text in parts between which no pre-tokenizer of ours ever looks: words with the space before them, and spaces.

    With `han_apart` each Chinese character is a part, which is so for BERT's; most parts are then met again and again.

    >>> chunks("I am  here")
    ['I', ' am', ' ', ' here']
    """
    return (_HAN_APART if han_apart else _CHUNKS).findall(text)


def lines(text: str) -> Iterator[str]:
    """A text in parts that are sampled one by one: its lines, with the line end where the next one begins at once."""
    start = 0
    for end in [*(found.start() for found in _LINE.finditer(text)), len(text)]:
        while end - start > _LONGEST_LINE:
            cut = text.rfind(" ", start + 1, start + _LONGEST_LINE)
            cut = cut if cut > start else start + _LONGEST_LINE
            yield text[start:cut]
            start = cut
        if end > start:
            yield text[start:end]
        start = end


def whole_unicode(text: str) -> str:
    """The text with halves of surrogate pairs, which are no Unicode, replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


@dataclass
class WordCounts:
    """Counts words of the lines of texts that fit under a ceiling.

    Args:
        split: the words of one chunk of text, as the tokenizer's pre-tokenizer makes them.
        cost: the bytes of memory that training needs for one distinct word.
        ceiling: the bytes of memory for all of them.
        opening: what the tokenizer puts before a text.
        han_apart: whether each Chinese character is a word.
    """

    split: Callable[[str], Iterable[str]]
    cost: Callable[[str], int]
    ceiling: int
    opening: str = ""
    han_apart: bool = False
    level: int = 0
    n_texts: int = 0
    n_bytes: int = 0
    kept_bytes: dict[int, int] = field(default_factory=dict)
    """Bytes of the lines of each level."""
    _packed: dict[str, int] = field(default_factory=dict)
    """For each word its counts at each level from the present one on, as digits of one number."""
    _used: int = 0
    _shown: list[tuple[int, str]] = field(default_factory=list)

    def add(self, texts: Iterable[str]) -> Iterator[int]:
        """Counts the words of these texts; gives the bytes read after each batch."""
        batch: list[str] = []
        size = 0
        for text in texts:
            self.n_texts += 1
            for line in lines(self.opening + text if text else text):
                batch.append(line)
                size += len(line)
                if size >= _BATCH_CHARACTERS:
                    yield self._add_batch(batch)
                    batch, size = [], 0
        yield self._add_batch(batch)

    def counts(self) -> dict[str, int]:
        """Each word of the sample and its count, words in order."""
        mask = (1 << _DIGIT) - 1
        return {word: _sum_of_digits(self._packed[word], mask) for word in sorted(self._packed)}

    def thin(self) -> None:
        """Forgets a quarter of the lines that are left."""
        self.level += 1
        self._packed = {word: number >> _DIGIT for word, number in self._packed.items() if number >> _DIGIT}
        self._used = sum(map(self.cost, self._packed))

    def forget_words(self) -> None:
        """Gives the memory of the words back."""
        self._packed = {}

    @property
    def share(self) -> float:
        """The share of the bytes read that is in the sample."""
        kept = sum(size for level, size in self.kept_bytes.items() if level >= self.level)
        return kept / self.n_bytes if self.n_bytes else 1.0

    @property
    def n_words(self) -> int:
        """Distinct words in the sample."""
        return len(self._packed)

    def shown(self) -> list[str]:
        """Some lines to look at, the same ones whatever their order."""
        return [text for _, text in self._shown]

    def _add_batch(self, texts: list[str]) -> int:
        groups: dict[int, list[str]] = {}
        size = 0
        for given in texts:
            text = whole_unicode(given)
            encoded = text.encode()
            size += len(encoded)
            hashed = int.from_bytes(hashlib.blake2b(encoded, digest_size=8).digest(), "big")
            level = len(_THRESHOLDS) - 1 - bisect_right(_THRESHOLDS, hashed)
            self._show(hashed, text)
            self.kept_bytes[level] = self.kept_bytes.get(level, 0) + len(encoded)
            if level >= self.level:
                groups.setdefault(level, []).extend(chunks(text, han_apart=self.han_apart))
        self.n_bytes += size
        self._count(groups)
        while self._used > self.ceiling and self._packed:
            self.thin()
        return size

    def _count(self, groups: dict[int, list[str]]) -> None:
        packed_chunks: dict[str, int] = {}
        for level, found in groups.items():
            shift = _DIGIT * (level - self.level)
            for chunk, n in Counter(found).items():
                packed_chunks[chunk] = packed_chunks.get(chunk, 0) + (n << shift)
        packed, split = self._packed, self.split
        for chunk, number in packed_chunks.items():
            for word in split(chunk):
                before = packed.get(word)
                if before is None:
                    packed[word] = number
                    self._used += self.cost(word)
                else:
                    packed[word] = before + number

    def _show(self, hashed: int, text: str) -> None:
        # Every text has its place by its hash, so that the first few hundred do not depend on the order of reading.
        if not text.strip() or (len(self._shown) >= _SHOWN_TEXTS and hashed >= self._shown[-1][0]):
            return
        entry = (hashed, text[:_SHOWN_CHARACTERS])
        if entry not in self._shown:
            self._shown = sorted([*self._shown, entry])[:_SHOWN_TEXTS]


def _sum_of_digits(number: int, mask: int) -> int:
    total = 0
    while number:
        total += number & mask
        number >>= _DIGIT
    return total
