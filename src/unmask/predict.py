"""Predictor: a tokenizer and a model that answer questions about texts.

Each task has three steps: texts become rows of token ids, the model computes, its numbers become answers. The first and
the last live in `tasks` and know no framework; here is the middle.
"""

import logging
import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from unmask import backend as backends
from unmask import sources
from unmask.backend import Tensor
from unmask.errors import UserError
from unmask.tasks.fill import FilledText, Row, filled, read_masks
from unmask.text import Tokenizer, load_tokenizer

if TYPE_CHECKING:
    from unmask.model import Bert, Transformer

log = logging.getLogger("unmask")

_TOKENS_AT_ONCE = 8192
_PREDICTIONS_AT_ONCE = 256
"""Each is a row of numbers as long as the vocabulary."""


def load(source: str | os.PathLike[str], backend: str | None = None) -> "Predictor":
    """Loads a model with its tokenizer and head, ready to predict.

    Args:
        source: a folder, `hf:owner/name` or `py:package/path`.
        backend: torch, jax or tensorflow; the first call in a process decides.
    """
    from unmask.checkpoint.folder import check_vocabulary, load_model, read_config  # noqa: PLC0415

    folder = sources.resolve(source)
    config, _ = read_config(folder)
    tokenizer = load_tokenizer(folder)
    check_vocabulary(tokenizer, config)
    return Predictor(tokenizer, load_model(folder, backend=backend), name=os.fspath(source))


class Predictor:
    """A tokenizer and a model with a head.

    Args:
        tokenizer: the model's own.
        model: a model with the head that the question needs.
        name: what messages call it.
    """

    def __init__(self, tokenizer: Tokenizer, model: "Bert | Transformer", *, name: str = "This model") -> None:
        self.tokenizer, self.model, self.name = tokenizer, model, name
        self._likeliest = lru_cache(maxsize=8)(self._compile_likeliest)

    def __repr__(self) -> str:
        return f"Predictor({self.name!r}, head {self.model.head_name!r})"

    def fill(self, text: str, *, top_k: int = 5) -> FilledText:
        """The likeliest tokens for each mask, and the text filled in.

        Each mask is predicted as if it were alone, the others staying masks: two masks beside each other need not get
        tokens that go together. In a text longer than the model reads, each mask is predicted from the tokens around
        it, as many as the model reads, which is logged.

        Args:
            text: a mask in it is written `<mask>` or `[MASK]`, whichever the model has.
            top_k: how many candidates for each mask.

        >>> load("my-roberta").fill("Paris is the <mask> of France.").filled  # doctest: +SKIP
        'Paris is the capital of France.'
        """
        if not isinstance(text, str):
            raise UserError(f"fill takes one text, but a {type(text).__name__} came; for several take fill_many.")
        return self.fill_many([text], top_k=top_k)[0]

    def fill_many(self, texts: Sequence[str], *, top_k: int = 5) -> list[FilledText]:
        """What `fill` gives for each text, computed together."""
        self._need_head("fills no masks", "mlm", "mlm+nsp")
        if isinstance(top_k, bool) or not isinstance(top_k, int) or not 1 <= top_k <= self.tokenizer.n_ids:
            raise UserError(f"top_k is {top_k}; it must lie between 1 and the {self.tokenizer.n_ids} tokens there are.")
        limit = self.model.config.max_positions
        masked = read_masks(texts, self.tokenizer, limit)
        for number, text in enumerate(masked, start=1):
            if text.n_tokens > limit:
                log.warning(
                    "Text %d has %d tokens, but this model reads %d; each mask is predicted from the %d around it.",
                    *(number, text.n_tokens, limit, limit),
                )
        ids_MK, probabilities_MK = self._at_masks([row for text in masked for row in text.rows], top_k)
        ends = np.cumsum([0, *(len(text.marks) for text in masked)])
        return [
            filled(text, ids_MK[start:end], probabilities_MK[start:end], self.tokenizer)
            for text, start, end in zip(masked, ends, ends[1:], strict=False)
        ]

    def _need_head(self, what_not: str, *heads: str) -> None:
        """A head that the folder lacks would be new and answer at random."""
        if self.model.head_name not in heads:
            raise UserError(
                f"{self.name} has the head {self.model.head_name}, which {what_not}; "
                f"take a model with the head {' or '.join(heads)}."
            )
        report = getattr(self.model, "report", None)
        if report is not None and report.new:
            raise UserError(f"{self.name} lacks weights of its head {self.model.head_name}; train it before use.")

    def _at_masks(self, rows: Sequence[Row], top_k: int) -> tuple[np.ndarray, np.ndarray]:
        """(ids_MK, probabilities_MK) of the likeliest tokens for all masks of all rows, in order."""
        from keras import ops  # noqa: PLC0415  (imports Keras)

        ends = np.cumsum([0, *(len(row.positions) for row in rows)])
        ids_MK, probabilities_MK = np.zeros((ends[-1], top_k), np.int64), np.zeros((ends[-1], top_k))
        for chosen in batches(rows):
            inputs = arrays([rows[i] for i in chosen], self.tokenizer.pad_id, self.model.config.max_positions)
            answer = self._likeliest(top_k)(*inputs)
            probabilities_BPK, ids_BPK = (ops.convert_to_numpy(part) for part in answer)
            for row, i in enumerate(chosen):
                n_masks = len(rows[i].positions)
                ids_MK[ends[i] : ends[i + 1]] = ids_BPK[row, :n_masks]
                probabilities_MK[ends[i] : ends[i + 1]] = probabilities_BPK[row, :n_masks]
        return ids_MK, probabilities_MK

    def _compile_likeliest(self, top_k: int) -> Any:
        from keras import ops  # noqa: PLC0415  (imports Keras)

        def likeliest(ids_BL: Tensor, attend_BL: Tensor, predict_BP: Tensor) -> tuple[Tensor, Tensor]:
            model: Any = self.model
            logits = model(ids_BL, attend_BL=attend_BL, predict_BP=predict_BP, training=False)
            logits_BPV = logits[0] if self.model.head_name == "mlm+nsp" else logits
            probabilities_BPV = ops.softmax(ops.cast(logits_BPV, "float32"), axis=-1)
            # A model may have more embeddings than there are tokens.
            values_BPK, ids_BPK = ops.top_k(probabilities_BPV[..., : self.tokenizer.n_ids], top_k)
            return values_BPK, ids_BPK

        return backends.compiled(self.model, likeliest)


def batches(rows: Sequence[Row]) -> Iterator[list[int]]:
    """The numbers of rows to compute together: of like length, since padding is waste, and not too many."""
    chosen: list[int] = []
    for i in sorted(range(len(rows)), key=lambda i: len(rows[i].ids)):
        n_masks = max(len(rows[j].positions) for j in [*chosen, i])
        too_long = (len(chosen) + 1) * len(rows[i].ids) > _TOKENS_AT_ONCE
        if chosen and (too_long or (len(chosen) + 1) * n_masks > _PREDICTIONS_AT_ONCE):
            yield chosen
            chosen = []
        chosen.append(i)
    if chosen:
        yield chosen


def arrays(rows: Sequence[Row], pad_id: int, limit: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(ids_BL, attend_BL, predict_BP) of these rows; some more of each axis where each new shape would be compiled."""
    size, length, n_masks = len(rows), max(len(row.ids) for row in rows), max(len(row.positions) for row in rows)
    if backends.current() != "torch":
        size, n_masks = (1 << (n - 1).bit_length() for n in (size, n_masks))
        length = min(limit, -(-length // 32) * 32)
    ids_BL = np.full((size, length), pad_id, np.int32)
    attend_BL = np.zeros((size, length), bool)
    predict_BP = np.zeros((size, n_masks), np.int32)
    for b, row in enumerate(rows):
        ids_BL[b, : len(row.ids)] = row.ids
        attend_BL[b, : len(row.ids)] = True
        predict_BP[b, : len(row.positions)] = row.positions
    return ids_BL, attend_BL, predict_BP
