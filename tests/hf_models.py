"""Tiny models of `transformers`, every parameter perturbed, to compare ours with."""

import numpy as np
import torch
import transformers

VOCAB, PAD = 60, {"bert": 0, "distilbert": 0}

_SHAPE = {
    "vocab_size": VOCAB,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 24,
}
_DISTIL = {"vocab_size": VOCAB, "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32, "max_position_embeddings": 24}

FAMILIES = {
    "bert": ("Bert", _SHAPE | {"type_vocab_size": 2, "pad_token_id": 0}),
    "roberta": ("Roberta", _SHAPE | {"type_vocab_size": 1, "pad_token_id": 1, "layer_norm_eps": 1e-5}),
    "roberta-prelayernorm": ("RobertaPreLayerNorm", _SHAPE | {"type_vocab_size": 2, "pad_token_id": 1}),
    "xlm-roberta": ("XLMRoberta", _SHAPE | {"type_vocab_size": 1, "pad_token_id": 1}),
    "camembert": ("Camembert", _SHAPE | {"type_vocab_size": 1, "pad_token_id": 1}),
    "distilbert": ("DistilBert", _DISTIL | {"pad_token_id": 0}),
}
SUFFIXES = {
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


def cases():
    """Every (family, head) that Hugging Face has."""
    for family in FAMILIES:
        for head in SUFFIXES:
            if head in ("nsp", "mlm+nsp") and family != "bert":
                continue
            if head == "pooler" and family == "distilbert":
                continue
            yield family, head


def perturb(model, seed=0, noise=0.1):
    """Moves every parameter and buffer of floats away from its initial value, so that no mix-up goes unseen."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for tensor in [*model.parameters(), *(b for b in model.buffers() if b.is_floating_point())]:
            tensor.add_(torch.randn(tensor.shape, generator=generator) * noise)
    return model.eval()


def make(family, head, **changes):
    """A perturbed model of `transformers`."""
    prefix, settings = FAMILIES[family]
    config = getattr(transformers, f"{prefix}Config")(
        **{**settings, "num_labels": 2 if head == "read" else 3, **changes}
    )
    kind = getattr(transformers, prefix + SUFFIXES[head])
    extra = {"add_pooling_layer": head == "pooler"} if SUFFIXES[head] == "Model" and family != "distilbert" else {}
    torch.manual_seed(0)
    return perturb(kind(config, **extra))


def make_marian(noise=0.1, **changes):
    """A perturbed Transformer of `transformers`."""
    settings = {
        "vocab_size": VOCAB,
        "d_model": 16,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 32,
        "decoder_ffn_dim": 32,
        "max_position_embeddings": 24,
        "pad_token_id": VOCAB - 1,
        "decoder_start_token_id": VOCAB - 1,
        "eos_token_id": 0,
        "bos_token_id": None,
        "forced_eos_token_id": None,
        "activation_function": "swish",
        "scale_embedding": True,
    }
    torch.manual_seed(0)
    model = transformers.MarianMTModel(transformers.MarianConfig(**{**settings, **changes}))
    positions = [p.clone() for n, p in model.named_parameters() if "embed_positions" in n]
    perturb(model, noise=noise)
    with torch.no_grad():  # the sinusoids are no parameters, and are not saved
        for (_, tensor), kept in zip(
            [(n, p) for n, p in model.named_parameters() if "embed_positions" in n], positions, strict=True
        ):
            tensor.copy_(kept)
    return model


def texts(pad_id, *, batch=3, length=9, seed=1, choices=None):
    """Random ids with padding behind, segments, and which tokens count; (B, L) or (B, choices, L)."""
    generator = np.random.default_rng(seed)
    rows = batch * (choices or 1)
    ids = generator.integers(5, VOCAB - 2, (rows, length))
    attend = np.arange(length)[None, :] < generator.integers(length // 2, length + 1, rows)[:, None]
    attend[0] = True
    ids[~attend] = pad_id
    segments = (np.arange(length)[None, :] >= length // 2).astype(np.int64) * attend
    shape = (batch, choices, length) if choices else (batch, length)
    return ids.reshape(shape), segments.reshape(shape), attend.reshape(shape)


def outputs(model, head, ids, segments, attend):
    """What a model of `transformers` gives, as a tuple in our order."""
    inputs = {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(attend).long()}
    if getattr(model.config, "type_vocab_size", 0) > 1:
        inputs["token_type_ids"] = torch.tensor(segments)
    result = model(**inputs)
    names = {
        "encoder": ("last_hidden_state",),
        "pooler": ("last_hidden_state", "pooler_output"),
        "mlm+nsp": ("prediction_logits", "seq_relationship_logits"),
        "read": ("start_logits", "end_logits"),
    }.get(head, ("logits",))
    return tuple(result[name] for name in names)
