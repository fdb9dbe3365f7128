"""Tokenizers of a few dozen tokens whose words make sentences to fill: WordPiece, byte-level BPE, Unigram."""

import tokenizers
from tokenizers import AddedToken, decoders, models, pre_tokenizers, processors

from unmask import Tokenizer
from unmask.text.build import BERT_SPECIALS, ROBERTA_SPECIALS, byte_level_bpe, wordpiece


def bert():
    """WordPiece, lower-cased, with some Chinese characters."""
    words = ["paris", "is", "the", "capital", "of", "france", ".", ",", "a", "##ing", "##s", "walk", "city"]
    return Tokenizer(wordpiece([*BERT_SPECIALS, *words, *"北京是中国的首都"], lowercase=True))


def roberta():
    """Byte-level BPE: letters and a few words, each with its space and without."""
    vocabulary, merges = [*ROBERTA_SPECIALS[:4], *"abcdefghilmnoprstwyPF.,", "Ġ"], []
    for word in ("Ġis", "Ġthe", "Ġof", "Ġcity", "is", "he"):
        for end in range(1, len(word)):
            if word[: end + 1] not in vocabulary:
                merges.append((word[:end], word[end]))
                vocabulary.append(word[: end + 1])
    return Tokenizer(byte_level_bpe({token: i for i, token in enumerate([*vocabulary, "<mask>"])}, merges))


def xlm_roberta():
    """Unigram with `▁` before a word."""
    words = ["▁", "▁Paris", "▁is", "▁the", "▁city", "s", ".", "北", "京", "▁北京", "的", *"abcdefghiop"]
    pieces = [(token, 0.0) for token in ROBERTA_SPECIALS[:4]] + [(word, -float(i + 1)) for i, word in enumerate(words)]
    rust = tokenizers.Tokenizer(models.Unigram(pieces, unk_id=3))
    rust.pre_tokenizer = pre_tokenizers.Metaspace()
    rust.decoder = decoders.Metaspace()
    rust.add_special_tokens([*ROBERTA_SPECIALS[:4], AddedToken("<mask>", special=True, lstrip=True)])
    rust.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)], pair="<s> $A </s> </s> $B </s>"
    )
    return Tokenizer(rust)
