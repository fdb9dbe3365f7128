"""Tokenizers from their parts: WordPiece as BERT's, byte-level BPE as RoBERTa's."""

from collections.abc import Mapping, Sequence

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from unmask.errors import UserError

BERT_SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
ROBERTA_SPECIALS = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")


def wordpiece(vocabulary: Sequence[str], *, lowercase: bool) -> Tokenizer:
    """BERT's tokenizer from the lines of its vocab.txt: accents stripped if lower-cased, Chinese characters split."""
    ids = {token: i for i, token in enumerate(vocabulary)}
    missing = [token for token in BERT_SPECIALS if token not in ids]
    if missing:
        raise UserError(f"The vocabulary lacks {', '.join(missing)}, without which BERT's WordPiece cannot work.")
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
    )
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=True)
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in BERT_SPECIALS])
    return tokenizer


def byte_level_bpe(ids: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> Tokenizer:
    """RoBERTa's tokenizer from its vocabulary (token → id) and its merges, most frequent first."""
    missing = [token for token in ROBERTA_SPECIALS if token not in ids]
    if missing:
        raise UserError(f"The vocabulary lacks {', '.join(missing)}, without which RoBERTa's BPE cannot work.")
    model = models.BPE(dict(ids), list(merges), continuing_subword_prefix="", end_of_word_suffix="", fuse_unk=False)
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", ids["</s>"]), ("<s>", ids["<s>"]), trim_offsets=True, add_prefix_space=False
    )
    tokenizer.decoder = decoders.ByteLevel()
    # <mask> takes the space before it along: "a <mask>" is the word after "a", space and all.
    tokenizer.add_special_tokens(
        [AddedToken(token, special=True, lstrip=token == "<mask>", normalized=True) for token in ROBERTA_SPECIALS]
    )
    return tokenizer


def read_merges(text: str) -> list[tuple[str, str]]:
    """The pairs of a merges.txt or vocab.bpe, whose first line may tell its version."""
    lines = [line for line in text.split("\n") if line and not line.startswith("#version")]
    pairs = [tuple(line.split(" ")) for line in lines]
    bad = next((i for i, pair in enumerate(pairs) if len(pair) != 2), None)
    if bad is not None:
        raise UserError(f"Merge {bad + 1} is {lines[bad]!r}; it must be two tokens parted by a space.")
    return [(left, right) for left, right in pairs]
