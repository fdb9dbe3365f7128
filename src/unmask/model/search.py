"""Greedy and beam search: Vaswani et al. 2017, section 6.1; length penalty of Wu et al. 2016, equation 14.

The model computes log-probabilities; the search itself is NumPy and the same on every backend.
"""

from dataclasses import dataclass, field
from typing import Protocol

import keras
import numpy as np
from keras import ops

from unmask.errors import UserError
from unmask.model.transformer import Transformer


@dataclass(frozen=True)
class Hypothesis:
    """One translation: its tokens without the start token, ending with `eos_id` if it came to an end."""

    ids: list[int]
    log_probability: float
    score: float
    """log_probability divided by the length penalty; hypotheses are ordered by it."""


def length_penalty(length: int, alpha: float, offset: int) -> float:
    """((offset + length) / (offset + 1))^α: offset 5 is the paper's, offset 0 fairseq's, Marian's and HF's."""
    return float(((offset + length) / (offset + 1)) ** alpha)


class Decoding(Protocol):
    """Log-probabilities of the next token for a fixed number of rows that grow by one token a step."""

    def next(self, prefix_RL: np.ndarray) -> np.ndarray:
        """log-probabilities_RV after these prefixes, each one token longer than at the last call."""

    def reorder(self, rows_R: np.ndarray) -> None:
        """From now on row i goes on from what row rows_R[i] was."""


class CachedDecoding:
    """Computes the newest token alone; keys and values of the earlier ones are kept."""

    def __init__(self, model: Transformer, source_BM: np.ndarray, *, beams: int, max_length: int) -> None:
        self.model = model
        source_RM = np.repeat(source_BM, beams, axis=0)
        self.memory, self.attend_RM = model.reading(source_RM)
        self.cache = model.decoder.empty_cache(len(source_RM), max_length)

    def next(self, prefix_RL: np.ndarray) -> np.ndarray:
        """See Decoding."""
        position = np.asarray(prefix_RL.shape[1] - 1, np.int32)
        newest_R1 = np.ascontiguousarray(prefix_RL[:, -1:])
        logs_RV, self.cache = self.model.stepping(newest_R1, position, self.cache, self.memory, self.attend_RM)
        return ops.convert_to_numpy(logs_RV)

    def reorder(self, rows_R: np.ndarray) -> None:
        """See Decoding."""
        self.cache = keras.tree.map_structure(lambda kept: ops.take(kept, rows_R, axis=0), self.cache)


class UncachedDecoding:
    """Computes every prefix anew: slow, simple, and what the cache is tested against."""

    def __init__(self, model: Transformer, source_BM: np.ndarray, *, beams: int, max_length: int) -> None:
        self.model, self.source_RM = model, np.repeat(source_BM, beams, axis=0)
        # Always of full length, so that the backends compile once; causality hides what is not written yet.
        self.target_RL = np.full((len(self.source_RM), max_length), model.config.pad_id, np.int32)

    def next(self, prefix_RL: np.ndarray) -> np.ndarray:
        """See Decoding."""
        length = prefix_RL.shape[1]
        self.target_RL[:, :length] = prefix_RL
        logits_RLV = ops.convert_to_numpy(self.model(self.source_RM, self.target_RL, training=False))
        return ops.convert_to_numpy(ops.log_softmax(logits_RLV[:, length - 1].astype(np.float32), axis=-1))

    def reorder(self, rows_R: np.ndarray) -> None:
        """See Decoding: there is nothing to reorder, the prefixes say it all."""


def greedy_search(
    model: Transformer, source_BM: np.ndarray, *, max_length: int, use_cache: bool = True
) -> list[Hypothesis]:
    """The most probable token at each step, until `eos_id` or `max_length` tokens; one hypothesis for each source."""
    source_BM, decoding = _start(model, source_BM, beams=1, max_length=max_length, use_cache=use_cache)
    batch, config = len(source_BM), model.config
    prefix_BL = np.full((batch, 1), config.decoder_start_id, np.int32)
    log_probability, running = np.zeros(batch), np.ones(batch, bool)
    for _ in range(max_length if batch else 0):
        logs_BV = _without_padding(decoding.next(prefix_BL), config.pad_id)
        best_B = logs_BV.argmax(axis=1)
        log_probability += np.where(running, logs_BV[np.arange(batch), best_B], 0.0)
        best_B = np.where(running, best_B, config.pad_id)
        prefix_BL = np.concatenate([prefix_BL, best_B[:, None].astype(np.int32)], axis=1)
        running &= best_B != config.eos_id
        if not running.any():
            break
    return [
        Hypothesis(_until_end(row[1:], config.eos_id), float(log), float(log))
        for row, log in zip(prefix_BL, log_probability, strict=True)
    ]


def beam_search(
    model: Transformer,
    source_BM: np.ndarray,
    *,
    beams: int,
    max_length: int,
    alpha: float = 0.6,
    offset: int = 5,
    use_cache: bool = True,
) -> list[list[Hypothesis]]:
    """The `beams` best translations of each source, best first.

    Args:
        model: the Transformer.
        source_BM: source ids, padded with `pad_id`.
        beams: how many prefixes are followed; the paper has 4.
        max_length: how many tokens a translation may have.
        alpha: length penalty; 0 is none, larger favours longer translations; the paper has 0.6.
        offset: see `length_penalty`.
        use_cache: False computes every step from the start, for checking.
    """
    if not isinstance(beams, int) or not 1 <= beams <= model.config.vocab_size // 2:
        raise UserError(f"beams is {beams}; it must be at least 1 and at most half of the vocabulary.")
    if not isinstance(offset, int) or offset < 0:
        raise UserError(f"offset is {offset}; it must be 0 or more: 5 is the paper's, 0 the toolkits'.")
    source_BM, decoding = _start(model, source_BM, beams=beams, max_length=max_length, use_cache=use_cache)
    config = model.config
    sentences = [_Beams(beams, alpha, offset, config.eos_id) for _ in source_BM]
    prefix_RL = np.full((len(source_BM) * beams, 1), config.decoder_start_id, np.int32)
    for _ in range(max_length if sentences else 0):
        logs_RV = _without_padding(decoding.next(prefix_RL), config.pad_id)
        rows, tokens = [], []
        for i, sentence in enumerate(sentences):
            own = slice(i * beams, (i + 1) * beams)
            from_beam, token = sentence.advance(logs_RV[own], prefix_RL[own])
            rows.append(from_beam + i * beams)
            tokens.append(token)
        rows_R = np.concatenate(rows).astype(np.int32)
        prefix_RL = np.concatenate([prefix_RL[rows_R], np.concatenate(tokens)[:, None].astype(np.int32)], axis=1)
        if all(sentence.done for sentence in sentences):
            break
        decoding.reorder(rows_R)
    return [sentence.best(prefix_RL[i * beams : (i + 1) * beams]) for i, sentence in enumerate(sentences)]


@dataclass
class _Beams:
    """The live prefixes and the finished hypotheses of one sentence."""

    beams: int
    alpha: float
    offset: int
    eos_id: int | None
    finished: list[Hypothesis] = field(default_factory=list)
    done: bool = False

    def __post_init__(self) -> None:
        # All rows start equal: all but the first are put out of the race, or the beams would be copies.
        self.live = np.where(np.arange(self.beams) == 0, 0.0, -np.inf)

    def advance(self, logs_KV: np.ndarray, prefix_KL: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Takes one step; returns for each new beam the beam that it continues and its new token."""
        if self.done:
            return np.arange(self.beams), np.zeros(self.beams, np.int32)
        totals = (self.live[:, None] + logs_KV).ravel()
        # Twice as many candidates as beams: even if every beam could end, as many go on.
        top = np.argpartition(-totals, 2 * self.beams - 1)[: 2 * self.beams]
        top = top[np.argsort(-totals[top], kind="stable")]
        from_beam, token = np.divmod(top, logs_KV.shape[1])
        ends = token == self.eos_id
        for rank in np.flatnonzero(ends[: self.beams]):
            self._finish([*prefix_KL[from_beam[rank], 1:].tolist(), int(token[rank])], float(totals[top[rank]]))
        on = np.flatnonzero(~ends)[: self.beams]
        self.live = totals[top[on]]
        self.done = self._cannot_improve(prefix_KL.shape[1])
        return from_beam[on], token[on]

    def _finish(self, ids: list[int], log_probability: float) -> None:
        if np.isfinite(log_probability):
            score = log_probability / length_penalty(len(ids), self.alpha, self.offset)
            self.finished.append(Hypothesis(ids, log_probability, score))
            self.finished.sort(key=lambda hypothesis: -hypothesis.score)
            del self.finished[self.beams :]

    def _cannot_improve(self, length: int) -> bool:
        attainable = self.live.max() / length_penalty(length, self.alpha, self.offset)
        return len(self.finished) == self.beams and self.finished[-1].score >= attainable

    def best(self, prefix_KL: np.ndarray) -> list[Hypothesis]:
        """What is finished and, if the search ran out of length, what was still alive."""
        if not self.done:
            for row, log_probability in zip(prefix_KL, self.live, strict=True):
                self._finish(row[1:].tolist(), float(log_probability))
        return self.finished


def _start(
    model: Transformer, source_BM: np.ndarray, *, beams: int, max_length: int, use_cache: bool
) -> tuple[np.ndarray, Decoding]:
    config = model.config
    if config.family != "transformer":
        raise UserError(f"{config.family} has no decoder, so it cannot write; search needs a Transformer.")
    if config.decoder_start_id is None:
        raise UserError("The configuration names no decoder_start_id, so a translation cannot begin; set it.")
    if not isinstance(max_length, int) or not 1 <= max_length <= config.max_positions:
        raise UserError(f"max_length is {max_length}; this model writes 1 to {config.max_positions} tokens.")
    source_BM = np.asarray(model.checked(source_BM))
    # Keras casts weights inside a model's own call alone, which a cached step goes past.
    mixed = model.compute_dtype != model.variable_dtype
    kind = CachedDecoding if use_cache and not mixed else UncachedDecoding
    return source_BM, kind(model, source_BM, beams=beams, max_length=max_length)


def _without_padding(logs_RV: np.ndarray, pad_id: int) -> np.ndarray:
    logs_RV = logs_RV.copy()
    logs_RV[:, pad_id] = -np.inf
    return logs_RV


def _until_end(ids: np.ndarray, eos_id: int | None) -> list[int]:
    ends = np.flatnonzero(ids == eos_id)
    return ids[: ends[0] + 1].tolist() if len(ends) else ids.tolist()
