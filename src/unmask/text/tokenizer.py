"""Tokenizer: text → ids with character offsets, single texts and pairs, and back."""

import json
import os
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers

from unmask import sources
from unmask.errors import UserError
from unmask.files import write_json, write_whole
from unmask.text.build import byte_level_bpe, read_merges, wordpiece

_CLASSES = {"WordPiece": "BertTokenizer", "BPE": "RobertaTokenizer", "Unigram": "XLMRobertaTokenizer"}
_ROLES = {
    "pad_token": ("<pad>", "[PAD]"),
    "unk_token": ("<unk>", "[UNK]"),
    "mask_token": ("<mask>", "[MASK]"),
    "cls_token": ("<s>", "[CLS]"),
    "sep_token": ("</s>", "[SEP]"),
}


@dataclass(frozen=True)
class Encoding:
    """One encoded text or pair of texts."""

    ids: list[int]
    segments: list[int]
    tokens: list[str]
    offsets: list[tuple[int, int]]
    """For each token, where it stands in its text, in characters; (0, 0) for special tokens."""
    words: list[int | None]
    """For each token, the number of its word in its text; None for special tokens."""
    texts: list[int | None]
    """For each token, 0 or 1: which text of a pair it comes from; None for special tokens."""


@dataclass(frozen=True)
class Batch:
    """Encoded texts as arrays, padded to the longest."""

    ids_BL: np.ndarray
    segments_BL: np.ndarray
    attend_BL: np.ndarray


class Tokenizer:
    """A Rust tokenizer with the names of its special tokens.

    Args:
        rust: the tokenizer of the `tokenizers` library.
        settings: the content of tokenizer_config.json.
    """

    def __init__(self, rust: tokenizers.Tokenizer, settings: dict[str, Any] | None = None) -> None:
        self.rust = rust
        # A folder may carry the padding and cutting of some earlier program; here both are said at each call.
        self.rust.no_padding()
        self.rust.no_truncation()
        kind = type(rust.model).__name__
        self.settings = {"tokenizer_class": _CLASSES.get(kind, "PreTrainedTokenizerFast"), **(settings or {})}
        for role, candidates in _ROLES.items():
            found = next((token for token in candidates if rust.token_to_id(token) is not None), None)
            if found is not None and not self.settings.get(role):
                self.settings[role] = found
        self.n_ids = max(rust.get_vocab(with_added_tokens=True).values(), default=-1) + 1

    def __repr__(self) -> str:
        return f"Tokenizer({type(self.rust.model).__name__}, {self.n_ids} ids)"

    def _id_of(self, role: str) -> int | None:
        token = self.settings.get(role)
        token = token.get("content") if isinstance(token, dict) else token
        return None if token is None else self.rust.token_to_id(token)

    @property
    def pad_id(self) -> int:
        """The id of padding."""
        return self._needed("pad_token")

    @property
    def mask_id(self) -> int:
        """The id of the mask."""
        return self._needed("mask_token")

    @property
    def special_ids(self) -> list[int]:
        """The ids that stand for no text: padding, mask, separators and the like."""
        added = self.rust.get_added_tokens_decoder()
        roles = (self._id_of(role) for role in _ROLES)
        return sorted({id_ for id_, token in added.items() if token.special} | {r for r in roles if r is not None})

    def _needed(self, role: str) -> int:
        found = self._id_of(role)
        if found is None:
            raise UserError(f"This tokenizer has no {role}; add it to tokenizer_config.json.")
        return found

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        """One text, or a pair, with the special tokens that the model expects around them."""
        return self.encode_many([text], None if pair is None else [pair])[0]

    def encode_many(
        self, texts: Sequence[str], pairs: Sequence[str] | None = None, *, special: bool = True
    ) -> list[Encoding]:
        """Many texts at once, on all cores; with `special` false, without the special tokens around them."""
        for what, given in (("Texts", texts), ("Second texts", [] if pairs is None else pairs)):
            if isinstance(given, str) or not isinstance(given, Collection):
                raise UserError(f"{what} must be a list of texts, but a {type(given).__name__} came.")
        if pairs is not None and len(pairs) != len(texts):
            raise UserError(f"{len(texts)} texts came with {len(pairs)} second texts; each needs one.")
        inputs = list(texts) if pairs is None else list(zip(texts, pairs, strict=True))
        try:
            return [_encoding(encoded) for encoded in self.rust.encode_batch(inputs, add_special_tokens=special)]
        except TypeError:
            raise UserError(_what_is_no_text([*texts, *(pairs or [])])) from None

    def batch(
        self, texts: Sequence[str], pairs: Sequence[str] | None = None, *, max_length: int | None = None
    ) -> Batch:
        """Arrays for a model. A text of more than `max_length` tokens is an error, never cut without a word."""
        encoded = self.encode_many(texts, pairs)
        lengths = [len(encoding.ids) for encoding in encoded]
        longest = max(lengths, default=0)
        if max_length is not None and longest > max_length:
            raise UserError(
                f"Text {lengths.index(longest) + 1} of {len(texts)} has {longest} tokens, but this model reads "
                f"{max_length}; shorten it or split it into windows."
            )
        ids_BL = np.full((len(encoded), longest), self.pad_id, np.int32)
        segments_BL = np.zeros((len(encoded), longest), np.int32)
        for row, encoding in enumerate(encoded):
            ids_BL[row, : lengths[row]] = encoding.ids
            segments_BL[row, : lengths[row]] = encoding.segments
        attend_BL = np.arange(longest)[None, :] < np.array(lengths, int).reshape(-1, 1)
        return Batch(ids_BL, segments_BL, attend_BL)

    def decode(self, ids: Iterable[int], *, keep_special: bool = False) -> str:
        """The text of these ids."""
        ids = [int(i) for i in ids]
        if min(ids, default=0) < 0:
            raise UserError(f"Token id {min(ids)} is below 0.")
        return str(self.rust.decode(ids, skip_special_tokens=not keep_special))

    def save(self, folder: str | os.PathLike[str], *, max_length: int | None = None) -> None:
        """Writes tokenizer.json, tokenizer_config.json and the vocabulary files that older programs read.

        Args:
            folder: where to.
            max_length: tokens that the model beside it reads; `transformers` cuts there, where it is told to cut.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        settings = dict(self.settings)
        if max_length is not None:
            settings["model_max_length"] = min(max_length, settings.get("model_max_length") or max_length)
        write_whole(folder / "tokenizer.json", self.rust.to_str(pretty=True))
        write_json(folder / "tokenizer_config.json", settings)
        if type(self.rust.model).__name__ in ("WordPiece", "BPE"):
            _save_vocabulary(self.rust.model, folder)


def _save_vocabulary(model: Any, folder: Path) -> None:
    """The Rust library raises a bare Exception, "… (os error 28)", where Python has an OSError, as for a full disk."""
    try:
        model.save(str(folder))
    except Exception as error:
        number = re.search(r"\(os error (\d+)\)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(folder)) from None


def _what_is_no_text(texts: Sequence[Any]) -> str:
    for text in texts:
        if not isinstance(text, str):
            return f"A text must be a string, but {text!r} is a {type(text).__name__}."
    return "A text holds half of a surrogate pair, which is no Unicode; decode it with errors='replace' first."


def _encoding(encoded: tokenizers.Encoding) -> Encoding:
    return Encoding(
        encoded.ids, encoded.type_ids, encoded.tokens, encoded.offsets, encoded.word_ids, encoded.sequence_ids
    )


def load_tokenizer(source: str | os.PathLike[str]) -> Tokenizer:
    """Loads the tokenizer of a model folder, `hf:owner/name` or `py:package/path`."""
    folder = sources.resolve(source)
    settings = _settings(folder)
    if not has_tokenizer(folder):
        raise UserError(f"{folder} has no tokenizer that unmask reads: {_why_none(folder)}")
    try:
        return Tokenizer(_read(folder, settings), settings)
    except UserError:
        raise
    except Exception as error:  # noqa: BLE001  (the Rust library raises bare Exceptions)
        raise UserError(f"The tokenizer of {folder} is damaged or of an unknown format ({error}).") from None


def _read(folder: Path, settings: dict[str, Any]) -> tokenizers.Tokenizer:
    if (folder / "tokenizer.json").is_file():
        return tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    if (folder / "vocab.txt").is_file():
        vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
        return wordpiece(vocabulary, lowercase=bool(settings.get("do_lower_case", True)))
    ids = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    return byte_level_bpe(ids, read_merges((folder / "merges.txt").read_text(encoding="utf-8")))


def has_tokenizer(folder: Path) -> bool:
    """Whether a folder holds a tokenizer that `load_tokenizer` reads."""
    there = {path.name for path in folder.iterdir()}
    return bool({"tokenizer.json", "vocab.txt"} & there) or {"vocab.json", "merges.txt"} <= there


def _why_none(folder: Path) -> str:
    if (folder / "source.spm").is_file():
        return "source.spm is Marian's SentencePiece; make the ids with transformers' MarianTokenizer."
    if pieces := sorted(folder.glob("*.model")):
        return (
            f"{pieces[0].name} is SentencePiece; write a tokenizer.json once with "
            "transformers.AutoTokenizer.from_pretrained(…).save_pretrained(…)."
        )
    return "neither tokenizer.json, nor vocab.txt, nor vocab.json with merges.txt."


def _settings(folder: Path) -> dict[str, Any]:
    path = folder / "tokenizer_config.json"
    if not path.is_file():
        return {}
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path} is not valid JSON ({error}).") from None
    return dict(settings) if isinstance(settings, dict) else {}
