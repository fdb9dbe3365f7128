"""Where words and sentences begin among the tokens of a text, for whole-word masking and for blocks of sentences.

Whole words: BERT's later release; for Chinese: Cui et al. 2019, Pre-Training with Whole Word Masking for Chinese BERT.
"""

import importlib
import importlib.util
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import cast

import numpy as np
import tokenizers

from unmask.errors import UserError
from unmask.text.sentences import HAN, HAN_RANGES, find_starts
from unmask.text.tokenizer import Tokenizer

WORD, SENTENCE = 1, 2
"""Bits of `begins`: a word, a sentence begins with this token. A text's first token begins both."""

Segmenter = Callable[[str], list[str]]
"""Cuts Chinese text into words, none of its characters lost or changed: "我爱北京" → ["我", "爱", "北京"]."""

_HAN_RUN = re.compile(f"[{HAN}]+")
_IS_HAN = np.zeros(HAN_RANGES[-1][1] + 2, bool)
for _first, _last in HAN_RANGES:
    _IS_HAN[_first : _last + 1] = True
_IS_SPACE = np.zeros_like(_IS_HAN)
_IS_SPACE[[*range(9, 14), 0x20, 0xA0, 0x3000]] = True
_CUT = {"rjieba": "rjieba:cut", "jieba": "jieba:lcut"}
_INSTALL = {"rjieba": "run: pip install 'unmask[chinese]'", "jieba": "run: pip install jieba"}
_CHOICES = "choose auto, rjieba, jieba, none or module:function"


def load_segmenter(name: str) -> Segmenter | None:
    """The function that cuts Chinese text into words.

    Args:
        name: `rjieba`, `jieba`, any `module:function`, `none` (every Chinese character is a word), or `auto`
            (rjieba if it is installed, else none).
    """
    if name == "none":
        return None
    if name == "auto":
        return load_segmenter("rjieba") if has_rjieba() else None
    module_name, _, function_name = _CUT.get(name, name).partition(":")
    if not (module_name and function_name):
        raise UserError(f"The segmenter {name!r} names no function; {_CHOICES}.")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # noqa: BLE001  (a module of one's own may raise anything)
        remedy = _INSTALL.get(name, f"install it, or {_CHOICES}")
        raise UserError(f"The segmenter {name!r} cannot be imported ({error}); {remedy}.") from None
    function = getattr(module, function_name, None)
    if not callable(function):
        raise UserError(f"{module_name} has no function {function_name!r}; {_CHOICES}.")
    return cast(Segmenter, function)


def has_rjieba() -> bool:
    """Whether the segmenter of `unmask[chinese]` is installed."""
    return importlib.util.find_spec("rjieba") is not None


def has_han(text: str) -> bool:
    """Whether a text holds Chinese characters."""
    return not text.isascii() and _HAN_RUN.search(text) is not None


class BoundaryFinder:
    """Finds the tokens that begin a word or a sentence.

    A word is what the tokenizer's own pre-tokenizer keeps together: for byte-level BPE a run of letters, of digits or
    of other marks with the space before it; for BERT's WordPiece a run between spaces, each mark apart; for Unigram
    what stands between spaces. Chinese characters are different: each run of them is cut by the segmenter, for any
    tokenizer; without one, each is a word. A token that holds more than one word counts for its first.

    The kanji of Japanese are cut as Chinese is. Kana stays as the pre-tokenizer has it, a run between kanji or marks
    being one word, and so does Thai, a run between spaces (which byte-level BPE also cuts at vowel signs, since they
    are no letters). Where that is too coarse, bring text with spaces.

    Args:
        tokenizer: the tokenizer that made the encodings.
        segmenter: cuts Chinese text into words; see `load_segmenter`.
    """

    def __init__(self, tokenizer: Tokenizer, segmenter: Segmenter | None) -> None:
        self.tokenizer = tokenizer
        self.segmenter = segmenter

    def begins(self, texts: Sequence[str], encodings: Sequence[tokenizers.Encoding]) -> list[np.ndarray]:
        """For each text and each of its tokens the bits WORD and SENTENCE.

        Args:
            texts: what was encoded.
            encodings: their encodings without special tokens.
        """
        lengths = np.array([len(encoding) for encoding in encodings], np.int64)
        ends = np.cumsum(lengths)
        words = np.fromiter(chain.from_iterable(encoding.word_ids for encoding in encodings), np.int64, lengths.sum())
        begins = (np.diff(words, prepend=-1) != 0).astype(np.uint8)
        chinese = [i for i, text in enumerate(texts) if has_han(text)]
        if chinese:
            tokens = np.concatenate([np.arange(ends[i] - lengths[i], ends[i]) for i in chinese])
            begins[tokens] = self._among_chinese(
                [texts[i] for i in chinese], [encodings[i] for i in chinese], begins[tokens] > 0
            )
        begins[(ends - lengths)[lengths > 0]] = WORD | SENTENCE
        parts = np.split(begins, ends[:-1]) if len(ends) else []
        for text, encoding, part in zip(texts, encodings, parts, strict=True):
            if starts := find_starts(text)[1:]:
                part[_tokens_at(text, encoding, part, starts)] = WORD | SENTENCE
        return parts

    def _among_chinese(
        self, texts: Sequence[str], encodings: Sequence[tokenizers.Encoding], other_word: np.ndarray
    ) -> np.ndarray:
        """Whether each token begins a word, in texts with Chinese characters, all tokens in a row.

        Two neighbours are of one word if their first characters are: of one Chinese word, whatever the pre-tokenizer
        says, or both of no Chinese word and of one word of the pre-tokenizer. Spaces before it are passed over.
        """
        text = "\n".join(texts)
        codes = np.minimum(np.frombuffer(f"{text}\n".encode("utf-32-le"), np.uint32), len(_IS_HAN) - 1)
        offsets = np.fromiter(chain.from_iterable(chain.from_iterable(e.offsets for e in encodings)), np.int64)
        place = np.cumsum([0, *(len(text) + 1 for text in texts[:-1])])  # of each text among the joined ones
        starts, ends = offsets.reshape(-1, 2).T + np.repeat(place, [len(encoding) for encoding in encodings])
        first = _next_non_space(codes)[starts]
        number = self._chinese_words(text, codes)[first]
        is_han = (number > 0) & (first < ends)
        both_han = is_han & np.append(False, is_han[:-1])
        return (np.diff(number, prepend=-1) != 0) | (other_word & ~both_han)

    def _chinese_words(self, text: str, codes: np.ndarray) -> np.ndarray:
        """For each character the number of its Chinese word from 1; 0 for others."""
        numbers = _IS_HAN[codes].astype(np.int64)
        if self.segmenter is None:
            return np.cumsum(numbers) * numbers
        sizes = [len(word) for run in _HAN_RUN.findall(text) for word in _cut(run, self.segmenter)]
        numbers[numbers > 0] = np.repeat(np.arange(1, len(sizes) + 1), sizes)
        return numbers


def _cut(run: str, segmenter: Segmenter) -> list[str]:
    """The words of a run of Chinese characters; a segmenter may be anybody's function, so what it does is looked at."""
    try:
        given = segmenter(run)
        words = given if isinstance(given, list) or not isinstance(given, Iterable) else list(given)
    except Exception as error:
        raise _told(segmenter, f"fails at {run[:20]!r} with {type(error).__name__} ({error})") from error
    try:
        size = None if isinstance(given, str) else len("".join(words))
    except TypeError:
        size = None
    if size is None:
        raise _told(segmenter, f"gives {repr(given)[:40]} for {run[:20]!r}, which is no list of texts")
    if size != len(run):
        raise _told(segmenter, f"loses or adds characters at {run[:20]!r}")
    return words


def _told(segmenter: Segmenter, did: str) -> UserError:
    name, module = getattr(segmenter, "__qualname__", repr(segmenter)), getattr(segmenter, "__module__", None)
    return UserError(f"The segmenter {f'{module}:{name}' if module else name} {did}; mend it, or take another.")


def _next_non_space(codes: np.ndarray) -> np.ndarray:
    """For each character the first place from there on that is no space, or the last place."""
    places = np.where(_IS_SPACE[codes], len(codes) - 1, np.arange(len(codes)))
    return np.minimum.accumulate(places[::-1])[::-1]


def _tokens_at(text: str, encoding: tokenizers.Encoding, begins: np.ndarray, starts: list[int]) -> list[int]:
    """For each start, the token that holds its character, or else the first one after it; with a space token before.

    Offsets grow, hence bisection. All offsets at once would be slower: the Rust library makes a tuple for each.
    """
    span = cast("Callable[[int], tuple[int, int]]", encoding.token_to_chars)
    tokens, token = [], 0
    for start in starts:
        token = bisect_right(range(len(encoding)), start, lo=token, key=lambda i: span(i)[1])
        if token == len(encoding):
            break
        at = token
        while not begins[at] and not text[slice(*span(at - 1))].strip():
            at -= 1  # "▁", "北" are one word, which begins with its space
        tokens.append(at)
    return tokens
