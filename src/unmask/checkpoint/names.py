"""Our variables ↔ Hugging Face's tensors: one table of modules for each family, read in both directions.

A linear map's kernel is stored transposed there; everything else is stored as it is.
"""

import re
from dataclasses import dataclass

from unmask.config import ModelConfig

ROBERTAS = ("roberta", "xlm-roberta", "camembert")

_LEAVES = {"kernel": "weight", "bias": "bias", "gamma": "weight", "beta": "bias", "embeddings": "weight"}

_BERT_EMBEDDINGS = {
    "encoder/embeddings/tokens": "{base}embeddings.word_embeddings",
    "encoder/embeddings/segments": "{base}embeddings.token_type_embeddings",
    "encoder/embeddings/positions": "{base}embeddings.position_embeddings",
    "encoder/embeddings/norm": "{base}embeddings.LayerNorm",
}
_BERT_LAYERS = {
    "encoder/layer_#/attention/query": "{base}encoder.layer.#.attention.self.query",
    "encoder/layer_#/attention/key": "{base}encoder.layer.#.attention.self.key",
    "encoder/layer_#/attention/value": "{base}encoder.layer.#.attention.self.value",
    "encoder/layer_#/attention/out": "{base}encoder.layer.#.attention.output.dense",
    "encoder/layer_#/feed_forward/inner": "{base}encoder.layer.#.intermediate.dense",
    "encoder/layer_#/feed_forward/outer": "{base}encoder.layer.#.output.dense",
}
_POST_NORM = {
    "encoder/layer_#/around_attention/norm": "{base}encoder.layer.#.attention.output.LayerNorm",
    "encoder/layer_#/around_feed_forward/norm": "{base}encoder.layer.#.output.LayerNorm",
}
_PRE_NORM = {
    "encoder/layer_#/around_attention/norm": "{base}encoder.layer.#.attention.LayerNorm",
    "encoder/layer_#/around_feed_forward/norm": "{base}encoder.layer.#.intermediate.LayerNorm",
    "encoder/norm": "{base}LayerNorm",
}
_BERT_HEADS = {
    "head/pooler/dense": "{base}pooler.dense",
    "head/masked_lm": "cls.predictions",
    "head/masked_lm/dense": "cls.predictions.transform.dense",
    "head/masked_lm/norm": "cls.predictions.transform.LayerNorm",
    "head/next_sentence": "cls.seq_relationship",
    "head/dense": "classifier",
}
_ROBERTA_HEADS = {
    "head/pooler/dense": "{base}pooler.dense",
    "head/masked_lm": "lm_head",
    "head/masked_lm/dense": "lm_head.dense",
    "head/masked_lm/norm": "lm_head.layer_norm",
    "head/dense": "classifier",
}
_ROBERTA_CLASSIFY = {"head/pooler/dense": "classifier.dense", "head/dense": "classifier.out_proj"}
_READ = {"head/dense": "qa_outputs"}
_DISTILBERT = {
    **_BERT_EMBEDDINGS,
    "encoder/layer_#/attention/query": "{base}transformer.layer.#.attention.q_lin",
    "encoder/layer_#/attention/key": "{base}transformer.layer.#.attention.k_lin",
    "encoder/layer_#/attention/value": "{base}transformer.layer.#.attention.v_lin",
    "encoder/layer_#/attention/out": "{base}transformer.layer.#.attention.out_lin",
    "encoder/layer_#/around_attention/norm": "{base}transformer.layer.#.sa_layer_norm",
    "encoder/layer_#/feed_forward/inner": "{base}transformer.layer.#.ffn.lin1",
    "encoder/layer_#/feed_forward/outer": "{base}transformer.layer.#.ffn.lin2",
    "encoder/layer_#/around_feed_forward/norm": "{base}transformer.layer.#.output_layer_norm",
    "head/pooler/dense": "pre_classifier",
    "head/masked_lm": "vocab_projector",
    "head/masked_lm/dense": "vocab_transform",
    "head/masked_lm/norm": "vocab_layer_norm",
    "head/dense": "classifier",
}
_MARIAN_PARTS = {
    "attention/query": "self_attn.q_proj",
    "attention/key": "self_attn.k_proj",
    "attention/value": "self_attn.v_proj",
    "attention/out": "self_attn.out_proj",
    "around_attention/norm": "self_attn_layer_norm",
    "cross_attention/query": "encoder_attn.q_proj",
    "cross_attention/key": "encoder_attn.k_proj",
    "cross_attention/value": "encoder_attn.v_proj",
    "cross_attention/out": "encoder_attn.out_proj",
    "around_cross_attention/norm": "encoder_attn_layer_norm",
    "feed_forward/inner": "fc1",
    "feed_forward/outer": "fc2",
    "around_feed_forward/norm": "final_layer_norm",
}
_MARIAN = {"embeddings/tokens": "{base}shared"} | {
    f"{side}/layer_#/{ours}": "{base}" + f"{side}.layers.#.{theirs}"
    for side in ("encoder", "decoder")
    for ours, theirs in _MARIAN_PARTS.items()
}

BASES = {
    "bert": "bert.",
    "roberta": "roberta.",
    "xlm-roberta": "roberta.",
    "camembert": "roberta.",
    "distilbert": "distilbert.",
    "transformer": "model.",
}
"""What stands before the encoder's names in a model that has a head."""


@dataclass(frozen=True)
class Place:
    """Where a variable is kept: the tensor's name, other names it may bear in older files, and its form."""

    name: str
    older_names: tuple[str, ...]
    transposed: bool

    def found_among(self, names: set[str]) -> str | None:
        """The name under which a file holds it."""
        return next((name for name in (self.name, *self.older_names) if name in names), None)


def base_of(config: ModelConfig) -> str:
    """The prefix of the encoder's tensors."""
    return "roberta_prelayernorm." if config.norm == "pre" else BASES[config.family]


def modules(config: ModelConfig, head: str) -> dict[str, str]:
    """Our modules → theirs, for one family and head; `#` stands for the number of a layer."""
    if config.family == "transformer":
        return _MARIAN
    if config.family == "distilbert":
        return _DISTILBERT | (_READ if head == "read" else {})
    table = _BERT_EMBEDDINGS | _BERT_LAYERS | (_PRE_NORM if config.norm == "pre" else _POST_NORM)
    table |= _BERT_HEADS if config.family == "bert" else _ROBERTA_HEADS
    if head == "read":
        table |= _READ
    if head == "classify" and config.family in ROBERTAS:
        table |= _ROBERTA_CLASSIFY
    return table


def place_of(path: str, config: ModelConfig, head: str) -> Place:
    """Where the variable with this path, such as `bert/encoder/layer_3/attention/query/kernel`, is kept."""
    module, _, leaf = path.partition("/")[2].rpartition("/")
    base = base_of(config)
    if not module:  # the Transformer's own: the bias of its logits, which Marian calls final
        return Place("final_logits_bias", (), transposed=False)
    number = re.search(r"layer_(\d+)", module)
    theirs = modules(config, head)[re.sub(r"layer_\d+", "layer_#", module)]
    if number:
        theirs = theirs.replace("#", number[1])
    name = f"{theirs.format(base=base)}.{_LEAVES[leaf]}"
    # `BertModel` and its kin, an encoder without a task, are stored without the prefix.
    bare = head in ("encoder", "pooler")
    names = [name.removeprefix(base), name] if bare else [name, name.removeprefix(base)]
    names += _older(names, leaf)
    if module == "embeddings/tokens":
        names.append("model.encoder.embed_tokens.weight")
    return Place(names[0], tuple(dict.fromkeys(names[1:])), transposed=leaf == "kernel")


def _older(names: list[str], leaf: str) -> list[str]:
    if leaf in ("gamma", "beta"):  # TensorFlow's words for LayerNorm's, still found in the first BERT files
        return [re.sub(r"\.(weight|bias)$", f".{leaf}", name) for name in names]
    if leaf == "bias" and names[0] in ("cls.predictions.bias", "lm_head.bias"):
        return [names[0].replace(".bias", ".decoder.bias")]
    return []


ZERO_IF_MISSING = ("final_logits_bias",)
"""Not every Marian file holds it; where it is missing, it is 0."""

_CONSTANT = "a constant that newer files leave out"
_SINUSOIDS = "the sinusoids, which are computed"
_TIED_WEIGHT = "a copy of the token embeddings"
_TIED_BIAS = "a copy of the masked-LM bias"
NO_PARAMETERS = (_CONSTANT, _SINUSOIDS, _TIED_WEIGHT, _TIED_BIAS)

_UNUSED = (
    (r"position_ids$", _CONSTANT),
    (r"embed_positions\.weight$", _SINUSOIDS),
    (r"(predictions\.decoder|lm_head\.decoder|vocab_projector|lm_head|embed_tokens)\.weight$", _TIED_WEIGHT),
    (r"(predictions\.decoder|lm_head\.decoder)\.bias$", _TIED_BIAS),
    (r"^(cls\.predictions|lm_head|vocab_)", "masked-LM head"),
    (r"^cls\.seq_relationship", "next-sentence head"),
    (r"pooler\.", "pooler"),
    (r"^(pre_)?classifier\.", "classification head"),
    (r"^qa_outputs\.", "answer-span head"),
    (r"^final_logits_bias$", "bias of the logits"),
)


def meaning_of(name: str) -> str | None:
    """What a tensor is that a model did not ask for; None if it is unknown."""
    return next((meaning for pattern, meaning in _UNUSED if re.search(pattern, name)), None)
