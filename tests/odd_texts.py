"""Texts that tokenizers stumble over, and tokenizers of the three kinds to try them on."""

import fill_tokenizers
import tiny_tokenizers
from hypothesis import strategies as st

TOKENIZERS = {
    "byte-level BPE": tiny_tokenizers.roberta(),
    "WordPiece": tiny_tokenizers.bert(),
    "Unigram": fill_tokenizers.xlm_roberta(),
}

ODD = ["the ", "he ", "北京", "é", "e\u0301", "👨‍👩‍👧", "\u200b", "\x00", "\u3000", " ", "\n", "ﬁ", "İ", "</s>", "[SEP]", "19.7%)."]
TEXTS = st.one_of(st.text(max_size=40), st.lists(st.sampled_from(ODD), max_size=12).map("".join))
