"""Filling masks: the masked language model (Devlin et al. 2018, section 3.1) asked for the tokens that it expects."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.errors import UserError
from unmask.text import Tokenizer

_MARKS = ("<mask>", "[MASK]")


@dataclass(frozen=True)
class Candidate:
    """One token that may stand where a mask stood."""

    token: str
    """As the vocabulary has it: `Ġcapital`, `##ing`."""
    id: int
    text: str
    """As a reader sees it, with the space that the token brings along: ` capital`, `ing`."""
    probability: float
    filled: str
    """The text with it in the mask's place, other masks left as they are."""


@dataclass(frozen=True)
class FilledMask:
    """What a model expects in the place of one mask, the likeliest first."""

    candidates: tuple[Candidate, ...]


@dataclass(frozen=True)
class FilledText:
    """A text and what a model expects in the place of each of its masks, each predicted as if it were alone."""

    text: str
    masks: tuple[FilledMask, ...]
    filled: str
    """The text with the likeliest token in the place of every mask."""


@dataclass(frozen=True)
class Row:
    """Token ids to read at once, and where in them the masks stand that are to be predicted."""

    ids: list[int]
    positions: list[int]


@dataclass(frozen=True)
class MaskedText:
    """A text cut at its masks, and its token ids."""

    text: str
    pieces: list[str]
    """What stands before, between and after the masks."""
    marks: list[str]
    """The masks as they were written."""
    rows: list[Row]
    """One row with all masks; if the text is longer than the model reads, for each mask a window around it."""
    n_tokens: int


def read_masks(texts: Sequence[str], tokenizer: Tokenizer, max_length: int) -> list[MaskedText]:
    """Finds the masks of each text, written as `<mask>`, `[MASK]` or in the tokenizer's own way, and encodes it."""
    own = str(tokenizer.rust.id_to_token(tokenizer.mask_id))
    pattern = re.compile("|".join(re.escape(mark) for mark in sorted({own, *_MARKS})))
    tokenizer.encode_many(texts[:0])  # a list of texts, or a sentence that says what came
    marks = [pattern.findall(text) if isinstance(text, str) else [own] for text in texts]
    for number, (text, found) in enumerate(zip(texts, marks, strict=True)):
        if not found:
            where = f"Text {number + 1} of {len(texts)}" if len(texts) > 1 else "The text"
            raise UserError(f"{where} has no mask: {_shortened(text)!r}; write <mask> where a word is to be found.")
    with_own = [pattern.sub(lambda _: own, text) if isinstance(text, str) else text for text in texts]
    masked = []
    for text, found, encoding in zip(texts, marks, tokenizer.encode_many(with_own), strict=True):
        positions = [place for place, token in enumerate(encoding.ids) if token == tokenizer.mask_id]
        if len(positions) != len(found):
            raise UserError(
                f"This tokenizer reads {len(found)} times {own} as {len(positions)} masks; "
                "its tokenizer.json must have it among the special tokens."
            )
        frame = [number is None for number in encoding.texts]
        rows = windows(encoding.ids, positions, frame, max_length)
        masked.append(MaskedText(text, pattern.split(text), found, rows, len(encoding.ids)))
    return masked


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"


def windows(ids: list[int], positions: list[int], frame: list[bool], max_length: int) -> list[Row]:
    """The whole text, if a model can read it; else for each mask as many tokens around it as can be read.

    Args:
        ids: the text's token ids with the special tokens around them.
        positions: where the masks are.
        frame: True for the special tokens around the text, which each window keeps.
        max_length: how many tokens the model reads.
    """
    if len(ids) <= max_length:
        return [Row(ids, positions)]
    before = frame.index(False)
    after = frame[::-1].index(False)
    room = max_length - before - after
    if room < 1:
        raise UserError(
            f"This model reads {max_length} tokens, too few for a mask and {before + after} special tokens."
        )
    body = ids[before : len(ids) - after]
    rows = []
    for position in positions:
        start = min(max(0, position - before - room // 2), len(body) - room)
        window = [*ids[:before], *body[start : start + room], *ids[len(ids) - after :]]
        rows.append(Row(window, [position - start]))
    return rows


def filled(masked: MaskedText, ids_MK: np.ndarray, probabilities_MK: np.ndarray, tokenizer: Tokenizer) -> FilledText:
    """The answer for one text.

    Args:
        masked: the text.
        ids_MK: for each of its M masks the K likeliest tokens.
        probabilities_MK: and their probabilities.
        tokenizer: the model's.
    """
    masks = []
    for number, (ids, probabilities) in enumerate(zip(ids_MK.tolist(), probabilities_MK.tolist(), strict=True)):
        candidates = []
        for token_id, probability in zip(ids, probabilities, strict=True):
            text = _with_tokens(masked, {number: token_id}, tokenizer)
            token = tokenizer.rust.id_to_token(token_id) or ""
            candidates.append(Candidate(token, token_id, token_text(tokenizer, token_id), probability, text))
        masks.append(FilledMask(tuple(candidates)))
    best = {number: mask.candidates[0].id for number, mask in enumerate(masks)}
    return FilledText(masked.text, tuple(masks), _with_tokens(masked, best, tokenizer))


def token_text(tokenizer: Tokenizer, token_id: int) -> str:
    """The text of one token, with the space that it brings along."""
    token = str(tokenizer.rust.id_to_token(token_id) or "")
    kind = type(tokenizer.rust.model).__name__
    if kind == "WordPiece":
        return token.removeprefix("##")
    return token.replace("▁", " ") if kind == "Unigram" else tokenizer.decode([token_id], keep_special=True)


def _with_tokens(masked: MaskedText, token_ids: dict[int, int], tokenizer: Tokenizer) -> str:
    """The text with these tokens in the place of some of its masks."""
    text = masked.pieces[0]
    for number, (mark, piece) in enumerate(zip(masked.marks, masked.pieces[1:], strict=True)):
        text = put(text, token_ids[number], tokenizer) if number in token_ids else text + mark
        text += piece
    return text


def put(left: str, token_id: int, tokenizer: Tokenizer) -> str:
    """A token after the text to the left of its mask, spaced as the tokenizer means it.

    RoBERTa's mask takes the space before it along, so `the <mask>` and ` capital` are `the capital`, while `the <mask>`
    and `m` are `them`. WordPiece's tokens know no spaces: they stand as the mask stood, but `##m` goes on with a word.
    """
    text = token_text(tokenizer, token_id)
    if type(tokenizer.rust.model).__name__ == "WordPiece":
        goes_on = str(tokenizer.rust.id_to_token(token_id)).startswith("##")
        return left.rstrip(" ") + text if goes_on else left + text
    if text.startswith(" "):
        return left + text.lstrip(" ") if not left or left[-1].isspace() else left + text
    takes_space = tokenizer.rust.get_added_tokens_decoder()[tokenizer.mask_id].lstrip
    return left.rstrip(" ") + text if takes_space else left + text
