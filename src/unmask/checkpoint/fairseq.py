"""fairseq's RoBERTa checkpoints (Liu et al. 2019), `model.pt` with `dict.txt`, as Hugging Face folders.

fairseq has named its modules in two ways. The older has `decoder.sentence_encoder`, one combined `in_proj_weight`
for query, key and value, and `emb_layer_norm`; the newer has `encoder.sentence_encoder`, `q_proj`, `k_proj`,
`v_proj` and `layernorm_embedding`. Both are read, also mixed, as the checkpoints of the time in between are.
"""

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unmask import backend
from unmask.checkpoint import config_json, names
from unmask.checkpoint.fit import fit, shown
from unmask.checkpoint.imported import Imported, read_lines, refuse_occupied, shapes_of, write_folder
from unmask.config import ModelConfig, preset
from unmask.errors import UserError
from unmask.files import read_json
from unmask.text import Tokenizer
from unmask.text.build import byte_level_bpe, read_merges

_MODULES = {
    "sentence_encoder.embed_tokens": "encoder/embeddings/tokens",
    "sentence_encoder.embed_positions": "encoder/embeddings/positions",
    "sentence_encoder.emb_layer_norm": "encoder/embeddings/norm",
    "sentence_encoder.layernorm_embedding": "encoder/embeddings/norm",
    "sentence_encoder.layer_norm": "encoder/norm",
    "sentence_encoder.layers.#.self_attn.q_proj": "encoder/layer_#/attention/query",
    "sentence_encoder.layers.#.self_attn.k_proj": "encoder/layer_#/attention/key",
    "sentence_encoder.layers.#.self_attn.v_proj": "encoder/layer_#/attention/value",
    "sentence_encoder.layers.#.self_attn.out_proj": "encoder/layer_#/attention/out",
    "sentence_encoder.layers.#.self_attn_layer_norm": "encoder/layer_#/around_attention/norm",
    "sentence_encoder.layers.#.fc1": "encoder/layer_#/feed_forward/inner",
    "sentence_encoder.layers.#.fc2": "encoder/layer_#/feed_forward/outer",
    "sentence_encoder.layers.#.final_layer_norm": "encoder/layer_#/around_feed_forward/norm",
    "lm_head": "head/masked_lm",
    "lm_head.dense": "head/masked_lm/dense",
    "lm_head.layer_norm": "head/masked_lm/norm",
}
_CLASSIFIER = {"dense": "head/pooler/dense", "out_proj": "head/dense"}
_BOOKKEEPING = re.compile(r"(^|\.)(version|_float_tensor)$")
_ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_accurate": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "relu": "relu",
    "swish": "silu",
}
_FIRST_TOKENS = ("<s>", "<pad>", "</s>", "<unk>")
_END_OF_TEXT = "<|endoftext|>"


def import_fairseq(source: Path, destination: Path, *, bpe: Path | None = None, head: str | None = None) -> Imported:
    """Writes the checkpoint at `source` as a Hugging Face folder.

    Args:
        source: a folder with model.pt and dict.txt, or a .pt file with dict.txt beside it.
        destination: a new or an empty folder.
        bpe: the folder of GPT-2's encoder.json and vocab.bpe, if they are not beside the checkpoint.
        head: a classification head of the checkpoint to import in place of the masked-LM head.
    """
    refuse_occupied(destination)
    file = _model_file(source)
    tokens = _dictionary(file.parent / "dict.txt")
    tokenizer, notes = _tokenizer(tokens, file.parent, bpe)
    checkpoint = _read(file)
    kind, chosen, more = _head(checkpoint, head)
    config = _config(checkpoint, kind, chosen)
    if len(tokens) != config.vocab_size:
        raise UserError(
            f"{file.parent / 'dict.txt'} makes {len(tokens)} tokens with the special ones, but {file.name} has "
            f"embeddings for {config.vocab_size}; they do not belong together."
        )
    tensors = _tensors(checkpoint, config, kind, chosen)
    fit(config, kind, shapes_of(tensors)).refuse_if_unfit(file, with_head=True)
    if tokenizer is not None:
        tokenizer.settings["model_max_length"] = config.max_positions
    write_folder(destination, config_json.to_json(config, kind), tensors, tokenizer)
    return Imported(config, kind, (*notes, *more))


def _model_file(source: Path) -> Path:
    file = source / "model.pt" if source.is_dir() else source
    if file.is_file():
        return file
    if not source.is_dir():
        raise UserError(f"There is no {source}; name a folder with model.pt and dict.txt in it, or a .pt file.")
    others = sorted(path.name for path in source.glob("*.pt"))
    hint = f"name the file itself, such as {source / others[0]}" if others else "name the folder that does, or a .pt"
    raise UserError(f"{source} holds no model.pt; {hint}.")


# --- the checkpoint -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Checkpoint:
    """A model.pt in our words: modules by our paths, each path ending in `weight` or `bias`."""

    file: Path
    options: Mapping[str, Any]
    weights: dict[str, np.ndarray] = field(default_factory=dict)
    classifiers: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)

    def size(self, path: str, axis: int) -> int:
        """One side of a matrix that tells a size of the model."""
        if path not in self.weights or self.weights[path].ndim != 2:
            theirs = next(name for name, ours in _MODULES.items() if path.startswith(ours.replace("#", "0") + "/"))
            raise UserError(f"{self.file} has no matrix {theirs.replace('#', '0')}.weight, so it is no RoBERTa.")
        return self.weights[path].shape[axis]


def _read(file: Path) -> _Checkpoint:
    content = backend.read_torch_file(file)
    state = content.get("model")
    if not isinstance(state, Mapping):
        raise UserError(f"{file} has no 'model' in it, so it is no checkpoint of fairseq's.")
    checkpoint = _Checkpoint(file, _options(content, file))
    unknown = []
    for name, array in backend.torch_arrays(state, file).items():
        if not _BOOKKEEPING.search(name) and not _place(checkpoint, name, array.astype(np.float32, copy=False)):
            unknown.append(name)
    if unknown:
        raise UserError(f"{file} has tensors that RoBERTa does not have: {shown(unknown)}; it is another model.")
    return checkpoint


def _options(content: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """The training options: `args` before fairseq 0.10, `cfg` since."""
    found = content.get("args")
    if found is None and isinstance(content.get("cfg"), Mapping):
        found = content["cfg"].get("model")
    if isinstance(found, argparse.Namespace):
        return vars(found)
    if not isinstance(found, Mapping):
        raise UserError(f"{file} has neither 'args' nor 'cfg' with a 'model' in it, where fairseq says what it built.")
    return dict(found)


def _place(checkpoint: _Checkpoint, name: str, array: np.ndarray) -> bool:
    """Puts a tensor under our name for it; False if there is none."""
    if found := re.fullmatch(r"classification_heads\.(.+)\.(dense|out_proj)\.(weight|bias)", name):
        head, module, leaf = found.groups()
        checkpoint.classifiers.setdefault(head, {})[f"{_CLASSIFIER[module]}/{leaf}"] = array
        return True
    name = re.sub(r"^(encoder|decoder)\.", "", name)
    if found := re.fullmatch(r"sentence_encoder\.layers\.(\d+)\.self_attn\.in_proj_(weight|bias)", name):
        # One matrix for all three, query on top. array_split never fails; a wrong height shows in the shapes.
        for part, rows in zip(("query", "key", "value"), np.array_split(np.atleast_1d(array), 3), strict=True):
            checkpoint.weights[f"encoder/layer_{found[1]}/attention/{part}/{found[2]}"] = rows
        return True
    module, _, leaf = name.rpartition(".")
    ours = _MODULES.get(re.sub(r"\.\d+\.", ".#.", module))
    if ours is None or leaf not in ("weight", "bias"):
        return False
    number = re.search(r"\.(\d+)\.", module)
    checkpoint.weights[f"{ours.replace('#', number[1]) if number else ours}/{leaf}"] = array
    return True


# --- the head and the configuration ---------------------------------------------------------------


def _head(checkpoint: _Checkpoint, wanted: str | None) -> tuple[str, str | None, list[str]]:
    """Our name of the head, the checkpoint's name of its classification head if it is one, and what to say."""
    there = sorted(checkpoint.classifiers)
    if wanted is not None:
        if wanted not in there:
            have = f"it has {', '.join(there)}" if there else "it has none; leave out --head"
            raise UserError(f"{checkpoint.file} has no classification head {wanted!r}; {have}.")
        return "classify", wanted, []
    if "head/masked_lm/dense/weight" in checkpoint.weights:
        others = f"The checkpoint also classifies ({', '.join(there)}); --head NAME imports such a head instead."
        return "mlm", None, [others] if there else []
    if len(there) > 1:
        raise UserError(f"{checkpoint.file} has no masked-LM head but {', '.join(there)}; choose one with --head.")
    if there:
        return "classify", there[0], [f"There is no masked-LM head; the classification head {there[0]} is imported."]
    return "encoder", None, ["There is no head in the checkpoint; the encoder alone is imported."]


def _config(checkpoint: _Checkpoint, head: str, classifier: str | None) -> ModelConfig:
    """Sizes from the tensors; heads, dropout and activation from the training options."""
    options, size = checkpoint.options, checkpoint.size
    n_heads = options.get("encoder_attention_heads")
    if n_heads is None:
        raise UserError(f"{checkpoint.file} does not say encoder_attention_heads, which its tensors do not show.")
    layers = {int(found[1]) for path in checkpoint.weights if (found := re.search(r"/layer_(\d+)/", path))}
    sizes = {
        "vocab_size": size("encoder/embeddings/tokens/weight", 0),
        "d_model": size("encoder/embeddings/tokens/weight", 1),
        "max_positions": size("encoder/embeddings/positions/weight", 0) - 2,
        "d_ff": size("encoder/layer_0/feed_forward/inner/weight", 0),
        "n_layers": len(layers),  # if one is left out, its tensors will be missed
    }
    return preset(
        "roberta",
        "base",
        **sizes,
        n_heads=n_heads,
        dropout=options.get("dropout", 0.1),
        attention_dropout=options.get("attention_dropout", 0.1),
        activation=_activation(checkpoint, head),
        # Only a pre-norm encoder ends with a LayerNorm of its own.
        norm="pre" if "encoder/norm/weight" in checkpoint.weights else "post",
        **({} if classifier is None else _classes(checkpoint, classifier)),
    )


def _activation(checkpoint: _Checkpoint, head: str) -> str:
    name = checkpoint.options.get("activation_fn", "gelu")
    if name not in _ACTIVATIONS:
        raise UserError(f"{checkpoint.file} has activation_fn {name!r}; unmask has {', '.join(_ACTIVATIONS)}.")
    if head == "mlm" and _ACTIVATIONS[name] != "gelu":
        raise UserError(
            f"{checkpoint.file} has activation_fn {name!r}, but Hugging Face's RoBERTa has gelu in its masked-LM head "
            "whatever the encoder has, and would compute something else; import a classification head with --head."
        )
    return _ACTIVATIONS[name]


def _classes(checkpoint: _Checkpoint, classifier: str) -> dict[str, Any]:
    """The outputs of a classification head; the names of its classes are not in the checkpoint."""
    tanh = checkpoint.options.get("pooler_activation_fn", "tanh")
    if tanh != "tanh":
        raise UserError(f"{checkpoint.file} has pooler_activation_fn {tanh!r}; Hugging Face's RoBERTa has tanh only.")
    bias = checkpoint.classifiers[classifier].get("head/dense/bias")
    if bias is None or bias.ndim != 1:
        raise UserError(f"{checkpoint.file}: the head {classifier} has no out_proj.bias that tells its classes.")
    return {
        "classes": tuple(f"LABEL_{i}" for i in range(len(bias))),
        "problem": "regression" if len(bias) == 1 else "single_label_classification",
        "classifier_dropout": checkpoint.options.get("pooler_dropout"),
    }


def _tensors(checkpoint: _Checkpoint, config: ModelConfig, head: str, classifier: str | None) -> dict[str, np.ndarray]:
    """The weights under Hugging Face's names."""
    weights = dict(checkpoint.weights)
    output = weights.pop("head/masked_lm/weight", None)
    if classifier is not None:
        weights = {path: array for path, array in weights.items() if not path.startswith("head/")}
        weights |= checkpoint.classifiers[classifier]
    elif output is not None and not np.array_equal(output, weights["encoder/embeddings/tokens/weight"]):
        raise UserError(
            f"{checkpoint.file}: lm_head.weight differs from the token embeddings (untie_weights_roberta), "
            "but unmask and Hugging Face's RoBERTa have one matrix for both."
        )
    # fairseq's RoBERTa has no segments; Hugging Face adds one to every token, which must change nothing.
    weights["encoder/embeddings/segments/weight"] = np.zeros((1, config.d_model), np.float32)
    return {_their_name(path, config, head): np.ascontiguousarray(array) for path, array in sorted(weights.items())}


def _their_name(path: str, config: ModelConfig, head: str) -> str:
    module, _, leaf = path.rpartition("/")
    return names.place_of(f"model/{module}/{'kernel' if leaf == 'weight' else leaf}", config, head).name


# --- the vocabulary -------------------------------------------------------------------------------


def _dictionary(path: Path) -> list[str]:
    """The tokens in the order of fairseq's ids: four special ones, dict.txt's lines, and the mask."""
    if not path.is_file():
        raise UserError(f"There is no {path}, which tells the order of the vocabulary; copy it beside the checkpoint.")
    tokens = list(_FIRST_TOKENS)
    for number, line in enumerate(read_lines(path), start=1):
        token, _, count = line.removesuffix(" #fairseq:overwrite").rpartition(" ")
        if not token or not count.isdecimal():
            raise UserError(f"Line {number} of {path} is {line!r}; it must be a token and a count, such as '262 1000'.")
        tokens.append(token)
    return tokens if "<mask>" in tokens else [*tokens, "<mask>"]


def _tokenizer(tokens: Sequence[str], beside: Path, bpe: Path | None) -> tuple[Tokenizer | None, list[str]]:
    """The tokenizer, or None and one sentence on why there is none."""
    folder = bpe or beside
    missing = [name for name in ("encoder.json", "vocab.bpe") if not (folder / name).is_file()]
    if not missing:
        return _gpt2_tokenizer(tokens, folder), []
    if bpe is not None or len(missing) == 1:
        raise UserError(
            f"{folder} has no {' and no '.join(missing)}; GPT-2's BPE needs both encoder.json and vocab.bpe."
        )
    if (beside / "sentencepiece.bpe.model").is_file():
        return None, ["The tokenizer is not imported: only GPT-2's BPE is, and sentencepiece.bpe.model is XLM-R's."]
    return None, [f"No tokenizer is imported, since {beside} has no encoder.json and vocab.bpe; name them with --bpe."]


def _gpt2_tokenizer(tokens: Sequence[str], folder: Path) -> Tokenizer:
    gpt2_ids = read_json(folder / "encoder.json")
    token_of = {str(number): token for token, number in gpt2_ids.items()}
    ids: dict[str, int] = {}
    for i, token in enumerate(_bpe_token(token, token_of, folder) for token in tokens):
        if ids.setdefault(token, i) != i:
            raise UserError(f"dict.txt gives two ids to {token!r}; each token must have one.")
    lost = [token for token in gpt2_ids if token not in ids and token != _END_OF_TEXT]
    if lost:
        # What fairseq would call <unk>, a byte-level BPE would spell in smaller pieces.
        raise UserError(
            f"dict.txt lacks {len(lost)} tokens of {folder / 'encoder.json'}, such as {lost[0]!r}; "
            "take the files that belong together, or import without encoder.json and vocab.bpe."
        )
    merges = read_merges("\n".join(read_lines(folder / "vocab.bpe")))
    strange = next((pair for pair in merges if not {*pair, "".join(pair)} <= ids.keys()), None)
    if strange is not None:
        raise UserError(
            f"vocab.bpe merges {' and '.join(strange)}, which encoder.json does not have; take both from one place."
        )
    return Tokenizer(byte_level_bpe(ids, merges))


def _bpe_token(token: str, token_of: Mapping[str, str], folder: Path) -> str:
    """The BPE's token for a line of dict.txt; fillers such as madeupword0001 and special tokens stay as they are."""
    if token.startswith(("<", "madeupword")):
        return token
    if token not in token_of:
        raise UserError(f"dict.txt has {token!r}, which is no number of a token in {folder / 'encoder.json'}.")
    return token_of[token]
