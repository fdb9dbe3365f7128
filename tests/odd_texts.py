"""Texts that tokenizers stumble over, and tokenizers of the three kinds to try them on."""

from hypothesis import strategies as st
from tokenizers import pre_tokenizers

import fill_tokenizers
import tiny_tokenizers
from unmask import Tokenizer
from unmask.text.build import ROBERTA_SPECIALS, byte_level_bpe

TOKENIZERS = {
    "byte-level BPE": tiny_tokenizers.roberta(),
    "WordPiece": tiny_tokenizers.bert(),
    "Unigram": fill_tokenizers.xlm_roberta(),
}

_TOKENS = [*ROBERTA_SPECIALS, *sorted(pre_tokenizers.ByteLevel.alphabet())]
BYTES = Tokenizer(byte_level_bpe({token: i for i, token in enumerate(_TOKENS)}, []))
"""A token for each byte, so that every character has its own."""

ODD = [
    "the ",
    "he ",
    "北京",
    "é",
    "e\u0301",
    "👨‍👩‍👧",
    "\u200b",
    "\x00",
    "\u3000",
    " ",
    "\n",
    "ﬁ",
    "İ",
    "</s>",
    "[SEP]",
    "19.7%).",
]
TEXTS = st.one_of(st.text(max_size=40), st.lists(st.sampled_from(ODD), max_size=12).map("".join))
