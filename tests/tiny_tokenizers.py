"""Tokenizers that know a few words and every letter, made in no time and without files."""

import string

from tokenizers import pre_tokenizers

from unmask.text import Tokenizer
from unmask.text.build import BERT_SPECIALS, ROBERTA_SPECIALS, byte_level_bpe, wordpiece

WORDS = ("the", "and", "of", "to", "in", "he", "was", "that", "it", "his")


def bert():
    """WordPiece over ASCII letters, with some words; Chinese is unknown to it."""
    letters = string.ascii_letters + string.digits + string.punctuation
    vocabulary = [*BERT_SPECIALS, *letters, *(f"##{letter}" for letter in letters), *WORDS]
    return Tokenizer(wordpiece(list(dict.fromkeys(vocabulary)), lowercase=False))


def roberta():
    """Byte-level BPE with a handful of merges."""
    merges = [("Ġ", "t"), ("h", "e"), ("Ġt", "he"), ("a", "n"), ("an", "d"), ("Ġ", "and"), ("i", "n"), ("Ġ", "a")]
    tokens = [*ROBERTA_SPECIALS, *sorted(pre_tokenizers.ByteLevel.alphabet()), *("".join(pair) for pair in merges)]
    return Tokenizer(byte_level_bpe({token: i for i, token in enumerate(tokens)}, merges))
