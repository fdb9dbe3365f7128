"""Where words and sentences begin among the tokens of a text, for whole-word masking and for blocks of sentences.

Whole words: BERT's later release; for Chinese: Cui et al. 2019, Pre-Training with Whole Word Masking for Chinese BERT.
"""

import importlib
import importlib.util
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import chain
from typing import cast

import numpy as np
import tokenizers

from unmask.errors import UserError
from unmask.text.sentences import HAN, find_starts
from unmask.text.tokenizer import Tokenizer

WORD, SENTENCE = 1, 2
"""Bits of `begins`: a word, a sentence begins with this token. A text's first token begins both."""

Segmenter = Callable[[str], list[str]]
"""Cuts Chinese text into words, none of its characters lost or changed: "我爱北京" → ["我", "爱", "北京"]."""

_HAN_RUN = re.compile(f"[{HAN}]+")
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
    except ImportError as error:
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
        words = np.array([*chain.from_iterable(encoding.word_ids for encoding in encodings)], np.int64)
        begins = (np.diff(words, prepend=-1) != 0).astype(np.uint8)
        begins[(ends - lengths)[lengths > 0]] = WORD | SENTENCE
        parts = np.split(begins, ends[:-1]) if len(ends) else []
        for text, encoding, part in zip(texts, encodings, parts, strict=True):
            if part.size == 0:
                continue
            if has_han(text):
                part[1:] = self._begins_with_han(text, encoding)[1:]
            part[_tokens_at(text, encoding, part, find_starts(text)[1:])] = WORD | SENTENCE
        return parts

    def _begins_with_han(self, text: str, encoding: tokenizers.Encoding) -> np.ndarray:
        """WORD for each token that begins a word, in a text with Chinese characters.

        Two neighbours are of one word if their first characters are: of one Chinese word, whatever the pre-tokenizer
        says, or both of no Chinese word and of one word of the pre-tokenizer. Spaces before it are passed over.
        """
        chinese = self._chinese_words(text)
        offsets = np.array(encoding.offsets, np.int64)
        first = _next_non_space(text)[offsets[:, 0]]
        number = chinese[first]
        is_han = (number > 0) & (first < offsets[:, 1])
        other_word = np.diff(np.array(encoding.word_ids, np.int64), prepend=-1) != 0
        is_han_too = is_han & np.append(False, is_han[:-1])
        return (np.diff(number, prepend=-1) != 0) | (other_word & ~is_han_too)

    def _chinese_words(self, text: str) -> np.ndarray:
        """For each character, and one after the last, the number of its Chinese word from 1; 0 for others."""
        numbers = np.zeros(len(text) + 1, np.int64)
        runs = [match.span() for match in _HAN_RUN.finditer(text)]
        count = 0
        for start, end in runs:
            if self.segmenter is None:
                sizes = np.ones(end - start, np.int64)
            else:
                sizes = np.array([len(word) for word in self.segmenter(text[start:end])], np.int64)
                if sizes.sum() != end - start:
                    raise UserError(
                        f"The segmenter loses or adds characters at {text[start:end][:20]!r}; take another."
                    )
            numbers[start:end] = count + np.repeat(np.arange(1, len(sizes) + 1), sizes)
            count += len(sizes)
        return numbers


def _next_non_space(text: str) -> np.ndarray:
    """For each character, and one after the last, the first place from there on that is no space."""
    places = np.arange(len(text) + 1)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    is_space = np.append((codes == 32) | (codes == 0x3000) | ((codes >= 9) & (codes <= 13)), False)
    return np.minimum.accumulate(np.where(is_space, len(text), places)[::-1])[::-1]


def _tokens_at(text: str, encoding: tokenizers.Encoding, begins: np.ndarray, starts: list[int]) -> list[int]:
    """For each start, the token that holds its character, or else the first one after it; with a space token before.

    Offsets grow, hence bisection. All offsets at once would be slower: the Rust library makes a tuple for each.
    """
    span = cast(Callable[[int], tuple[int, int]], encoding.token_to_chars)
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
