"""config.json ↔ ModelConfig: the only place where Hugging Face's words for a model's shape are spoken."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from unmask.config import ModelConfig
from unmask.errors import UserError

FAMILY_OF = {
    "bert": "bert",
    "roberta": "roberta",
    "roberta-prelayernorm": "roberta",
    "xlm-roberta": "xlm-roberta",
    "camembert": "camembert",
    "distilbert": "distilbert",
    "marian": "transformer",
}
_CLASS_PREFIXES = {
    "bert": "Bert",
    "roberta": "Roberta",
    "roberta-prelayernorm": "RobertaPreLayerNorm",
    "xlm-roberta": "XLMRoberta",
    "camembert": "Camembert",
    "distilbert": "DistilBert",
}
_CLASS_SUFFIXES = {
    "encoder": "Model",
    "pooler": "Model",
    "mlm": "ForMaskedLM",
    "nsp": "ForNextSentencePrediction",
    "mlm+nsp": "ForPreTraining",
    "classify": "ForSequenceClassification",
    "tag": "ForTokenClassification",
    "read": "ForQuestionAnswering",
    "choose": "ForMultipleChoice",
}
_ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
_ACTIVATION_NAMES = {"gelu": "gelu", "gelu_tanh": "gelu_new", "relu": "relu", "silu": "silu"}

_BERT_WORDS = {
    "vocab_size": "vocab_size",
    "num_hidden_layers": "n_layers",
    "num_attention_heads": "n_heads",
    "hidden_size": "d_model",
    "intermediate_size": "d_ff",
    "type_vocab_size": "n_segments",
    "pad_token_id": "pad_id",
    "bos_token_id": "bos_id",
    "eos_token_id": "eos_id",
    "hidden_dropout_prob": "dropout",
    "attention_probs_dropout_prob": "attention_dropout",
    "classifier_dropout": "classifier_dropout",
    "layer_norm_eps": "norm_eps",
    "initializer_range": "initializer_range",
}
_DISTILBERT_WORDS = {
    "vocab_size": "vocab_size",
    "n_layers": "n_layers",
    "n_heads": "n_heads",
    "dim": "d_model",
    "hidden_dim": "d_ff",
    "pad_token_id": "pad_id",
    "dropout": "dropout",
    "attention_dropout": "attention_dropout",
    "seq_classif_dropout": "classifier_dropout",
    "initializer_range": "initializer_range",
}
_MARIAN_WORDS = {
    "vocab_size": "vocab_size",
    "encoder_layers": "n_layers",
    "decoder_layers": "n_decoder_layers",
    "encoder_attention_heads": "n_heads",
    "d_model": "d_model",
    "encoder_ffn_dim": "d_ff",
    "max_position_embeddings": "max_positions",
    "pad_token_id": "pad_id",
    "bos_token_id": "bos_id",
    "eos_token_id": "eos_id",
    "decoder_start_token_id": "decoder_start_id",
    "dropout": "dropout",
    "attention_dropout": "attention_dropout",
    "activation_dropout": "activation_dropout",
    "scale_embedding": "embedding_scale",
    "init_std": "initializer_range",
}

# What Hugging Face takes where config.json is silent.
_BERT_DEFAULTS = {
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "layer_norm_eps": 1e-12,
    "initializer_range": 0.02,
    "type_vocab_size": 2,
}
_DISTILBERT_DEFAULTS = {
    "dropout": 0.1,
    "attention_dropout": 0.1,
    "seq_classif_dropout": 0.2,
    "initializer_range": 0.02,
    "pad_token_id": 0,
    "max_position_embeddings": 512,
}
_MARIAN_DEFAULTS = {
    "dropout": 0.1,
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
    "scale_embedding": False,
    "init_std": 0.02,
    "max_position_embeddings": 1024,
}
_NOT_KEPT = {"architectures", "model_type", "transformers_version", "torch_dtype", "dtype", "_name_or_path"}
_LABELS = {"id2label", "label2id", "num_labels", "problem_type", "max_position_embeddings"}


def from_json(raw: Mapping[str, Any]) -> ModelConfig:
    """The configuration that a config.json describes."""
    model_type = _model_type(raw)
    family = FAMILY_OF[model_type]
    _refuse_variants(raw)
    words, defaults, fixed = _dialect(model_type, raw)
    silent = dict(_required(words))
    fields = {}
    for theirs, ours in words.items():
        value = raw.get(theirs, defaults.get(theirs))
        if value is None and theirs in silent:
            raise UserError(f"config.json has no {theirs!r}, without which a {model_type} model cannot be built.")
        fields[ours] = value
    fields |= fixed | {
        "activation": _activation(raw.get("hidden_act", raw.get("activation_function", raw.get("activation", "gelu")))),
        "classes": _classes(raw),
        "problem": raw.get("problem_type"),
    }
    known = {
        *words,
        *_NOT_KEPT,
        *_LABELS,
        "hidden_act",
        "activation",
        "activation_function",
        "position_layout",
    }
    known |= {"decoder_attention_heads", "decoder_ffn_dim", "decoder_vocab_size"}
    extra = {name: value for name, value in raw.items() if name not in known}
    return ModelConfig(family=family, extra=extra, **fields)


def _model_type(raw: Mapping[str, Any]) -> str:
    model_type = raw.get("model_type")
    if model_type is None:
        found = [t for t, prefix in _CLASS_PREFIXES.items() if _architecture(raw).startswith(prefix)]
        model_type = max(found, key=len, default=None)
    if model_type is None:
        raise UserError(f"config.json does not say its model_type; unmask reads {', '.join(FAMILY_OF)}.")
    if not isinstance(model_type, str) or model_type not in FAMILY_OF:
        raise UserError(f"config.json says model_type {model_type!r}; unmask reads {', '.join(FAMILY_OF)}.")
    return model_type


def _architecture(raw: Mapping[str, Any]) -> str:
    listed = raw.get("architectures")
    return str(listed[0]) if isinstance(listed, list) and listed else ""


def _refuse_variants(raw: Mapping[str, Any]) -> None:
    """What would load without complaint and compute something else."""
    refused = {
        "position_embedding_type": lambda v: v not in (None, "absolute"),
        "is_decoder": bool,
        "add_cross_attention": bool,
        "normalize_before": bool,
        "normalize_embedding": bool,
        "add_final_layer_norm": bool,
        "share_encoder_decoder_embeddings": lambda v: v is False,
        "tie_word_embeddings": lambda v: v is False,
    }
    for name, is_refused in refused.items():
        if name in raw and is_refused(raw[name]):
            raise UserError(f"config.json says {name} = {raw[name]!r}, a variant that unmask does not have.")
    for encoder, decoder in (
        ("encoder_attention_heads", "decoder_attention_heads"),
        ("encoder_ffn_dim", "decoder_ffn_dim"),
    ):
        if raw.get(encoder) != raw.get(decoder):
            raise UserError(
                f"config.json says {encoder} {raw.get(encoder)} and {decoder} {raw.get(decoder)}; "
                "unmask has encoders and decoders of the same width only."
            )


def _dialect(model_type: str, raw: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Any], dict[str, Any]]:
    """Words, defaults and what is the same for every model of a type."""
    if model_type == "marian":
        layout = "sinusoidal" if raw.get("position_layout") == "interleaved" else "sinusoidal_halves"
        return (
            _MARIAN_WORDS,
            _MARIAN_DEFAULTS,
            _constants(positions=layout, n_segments=0, norm_eps=1e-5, embedding_norm=False),
        )
    if model_type == "distilbert":
        limit = raw.get("max_position_embeddings", 512)
        fixed = _constants(n_segments=0, norm_eps=1e-12, embedding_scale=False, max_positions=limit)
        return _DISTILBERT_WORDS, _DISTILBERT_DEFAULTS, fixed
    after_pad = model_type != "bert"
    pad_id = raw.get("pad_token_id", 1 if after_pad else 0)
    rows = raw.get("max_position_embeddings", 512)
    if not isinstance(rows, int) or not isinstance(pad_id, int):
        raise UserError(f"max_position_embeddings {rows!r} and pad_token_id {pad_id!r} must be whole numbers.")
    if after_pad and rows <= pad_id + 1:
        raise UserError(
            f"{rows} positions leave none behind the padding index {pad_id}; max_position_embeddings must be larger."
        )
    fixed = _constants(
        embedding_scale=False,
        positions_after_pad=after_pad,
        max_positions=rows - pad_id - 1 if after_pad else rows,
        norm="pre" if model_type == "roberta-prelayernorm" else "post",
    )
    return _BERT_WORDS, _BERT_DEFAULTS | {"pad_token_id": pad_id}, fixed


def _constants(**own: Any) -> dict[str, Any]:
    return {
        "norm": "post",
        "positions": "learned",
        "positions_after_pad": False,
        "embedding_norm": True,
        **own,
    }


def _required(words: Mapping[str, str]) -> dict[str, str]:
    optional = {"bos_id", "eos_id", "decoder_start_id", "classifier_dropout", "n_segments"}
    return {theirs: ours for theirs, ours in words.items() if ours not in optional}


def _activation(name: Any) -> str:
    if not isinstance(name, str) or name not in _ACTIVATIONS:
        raise UserError(f"config.json has the activation {name!r}; unmask has {', '.join(_ACTIVATIONS)}.")
    return _ACTIVATIONS[name]


_MOST_LABELS = 1_000_000


def _classes(raw: Mapping[str, Any]) -> tuple[str, ...]:
    names = raw.get("id2label")
    if isinstance(names, dict) and names:
        try:
            return tuple(str(names[str(i)]) for i in range(len(names)))
        except KeyError:
            raise UserError("id2label in config.json must map 0, 1, 2 … to the names of the labels.") from None
    count = raw.get("num_labels")
    if isinstance(count, int) and count > _MOST_LABELS:
        raise UserError(f"num_labels is {count}; more than {_MOST_LABELS:,} is surely a mistake.")
    return tuple(f"LABEL_{i}" for i in range(count)) if isinstance(count, int) else ()


def to_json(config: ModelConfig, head: str) -> dict[str, Any]:
    """The config.json of a model with this head."""
    model_type = model_type_of(config)
    if model_type == "marian":
        raw: dict[str, Any] = {"architectures": ["MarianMTModel"]}
        words = _MARIAN_WORDS
    else:
        refuse_foreign_head(config, head)
        raw = {"architectures": [_CLASS_PREFIXES[model_type] + _CLASS_SUFFIXES[head]]}
        words = _DISTILBERT_WORDS if model_type == "distilbert" else _BERT_WORDS
    raw |= {"model_type": model_type} | {theirs: getattr(config, ours) for theirs, ours in words.items()}
    raw["max_position_embeddings"] = config.max_positions + config.first_position
    activation = {"distilbert": "activation", "marian": "activation_function"}.get(model_type, "hidden_act")
    raw[activation] = _ACTIVATION_NAMES[config.activation]
    if config.classes:
        raw["id2label"] = {str(i): name for i, name in enumerate(config.classes)}
        raw["label2id"] = {name: i for i, name in enumerate(config.classes)}
    if config.problem:
        raw["problem_type"] = config.problem
    if model_type == "marian":
        raw |= _marian_extras(config)
    if model_type == "distilbert" and config.classifier_dropout is None:
        config = config.replace(classifier_dropout=config.dropout)
        raw["seq_classif_dropout"] = config.dropout
    _refuse_what_is_lost(config, from_json(raw), model_type)
    return {**config.extra, **raw, "dtype": "float32", "tie_word_embeddings": True}


def _refuse_what_is_lost(config: ModelConfig, read: ModelConfig, model_type: str) -> None:
    """A folder that would be read as another model is not written."""
    compared = [f.name for f in dataclasses.fields(config) if f.compare]
    lost = [name for name in compared if getattr(config, name) != getattr(read, name)]
    if lost:
        values = ", ".join(f"{name} = {getattr(config, name)!r}" for name in lost)
        raise UserError(f"Hugging Face's {model_type} cannot have {values}, so this model has no folder of its kind.")


def _marian_extras(config: ModelConfig) -> dict[str, Any]:
    layout = "interleaved" if config.positions == "sinusoidal" else "halves"
    return {
        "decoder_attention_heads": config.n_heads,
        "decoder_ffn_dim": config.d_ff,
        "decoder_vocab_size": config.vocab_size,
        "position_layout": layout,
        "is_encoder_decoder": True,
        "forced_eos_token_id": config.eos_id,
        "share_encoder_decoder_embeddings": True,
    }


def model_type_of(config: ModelConfig) -> str:
    """Hugging Face's name for the family, or one sentence on why it has none."""
    if config.family == "transformer":
        if config.norm == "pre" or config.positions == "learned" or config.norm_eps != 1e-5 or config.embedding_norm:
            raise UserError(
                "Hugging Face's Transformer (marian) is post-norm with sinusoidal positions and norm_eps 1e-5; "
                "a model that differs cannot be saved as one."
            )
        return "marian"
    if config.norm == "pre":
        if config.family != "roberta":
            raise UserError(
                f"Hugging Face has no pre-norm {config.family}; a pre-norm model must be of the family roberta."
            )
        return "roberta-prelayernorm"
    return config.family


def refuse_foreign_head(config: ModelConfig, head: str) -> None:
    """A head that no folder of this family has is refused."""
    heads = ("translate",) if config.family == "transformer" else tuple(_CLASS_SUFFIXES)
    if head not in heads:
        raise UserError(f"{config.family} has no head {head!r}; it has {', '.join(heads)}.")
    if head in ("nsp", "mlm+nsp") and config.family != "bert":
        raise UserError(
            f"Hugging Face has no {config.family} model with next-sentence prediction; take the head 'mlm'."
        )
    if head == "pooler" and config.family == "distilbert":
        raise UserError("DistilBERT has no pooler; take the head 'encoder'.")


def head_of(raw: Mapping[str, Any], tensor_names: set[str]) -> str:
    """The head that a folder holds, by its architecture or else by its tensors."""
    if raw.get("model_type") == "marian":
        return "translate"
    for head, suffix in _CLASS_SUFFIXES.items():
        if suffix != "Model" and _architecture(raw).endswith(suffix):
            return head
    return "pooler" if any("pooler.dense" in name for name in tensor_names) else "encoder"
