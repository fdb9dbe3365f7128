"""BERT (Devlin et al. 2018) and its descendants: an encoder with a head.

RoBERTa, XLM-R, CamemBERT, DistilBERT and MiniLM are configurations of it: they differ in vocabulary, positions,
segments and the form of the classification head, never in the encoder's layers.
"""

from typing import Any

import keras
import numpy as np
from keras import ops
from keras.src.backend import AutocastScope

from unmask.backend import Tensor
from unmask.config import ModelConfig
from unmask.errors import UserError
from unmask.model.checks import as_array, check_tokens
from unmask.model.encoder import Encoder
from unmask.model.heads import Head, make_head
from unmask.model.initialize import Weights, drawn, filled_with, seeds_from


class Bert(keras.Model):
    """An encoder and one head. Call it with NumPy arrays or the backend's tensors; see `call`.

    Args:
        config: what to build; `config.family` must not be "transformer".
        head: one of `unmask.model.heads.HEADS`.
        seed: of the initial weights and of dropout.
        weights: where the values come from; drawn at random if not given.
    """

    def __init__(
        self, config: ModelConfig, head: str = "encoder", *, seed: int, weights: Weights | None = None
    ) -> None:
        if config.family == "transformer":
            raise UserError("A transformer has a decoder; build it with unmask.model.Transformer.")
        super().__init__(name="bert")
        seeds = seeds_from(seed)
        self.config, self.head_name = config, head
        self.encoder = Encoder(config, seeds)
        self.head = make_head(head, config, seeds)
        with filled_with(weights or drawn(config, seed), self):
            self.build()

    def build(self) -> None:
        """Makes the variables."""
        self.encoder.build()
        if self.head is not None:
            self.head.build()

    def __call__(
        self,
        ids_BL: Tensor,
        segments_BL: Tensor | None = None,
        attend_BL: Tensor | None = None,
        documents_BL: Tensor | None = None,
        predict_BP: Tensor | None = None,
        wanted_BL: Tensor | None = None,
        training: bool | None = None,
    ) -> Any:
        """Checks what came, then computes; see `call`."""
        ids, segments = as_array(ids_BL, "Token ids"), as_array(segments_BL, "Segments")
        attend, documents = as_array(attend_BL, "Attend"), as_array(documents_BL, "Documents")
        predict, wanted = as_array(predict_BP, "Positions to predict"), as_array(wanted_BL, "Wanted")
        choices = self.head_name == "choose"
        masks = {"attend": attend, "documents": documents, "wanted": wanted}
        check_tokens(self.config, ids, choices=choices, segments=segments, predict=predict, **masks)
        if choices and documents is not None:
            raise UserError("The choices of a question are not packed; leave documents_BL out.")
        inputs = {"attend_BL": attend, "documents_BL": documents, "predict_BP": predict, "wanted_BL": wanted}
        return super().__call__(ids, segments, **inputs, training=training)

    def unchecked(self, *args: Any, **kwargs: Any) -> Any:
        """`call`, for loops whose arguments are right, and are tensors.

        Checks, Keras' and ours, take half a millisecond; a tiny model computes thirty short texts in six.
        """
        if self.compute_dtype == self.variable_dtype:
            return self.call(*args, **kwargs)
        with AutocastScope(self.compute_dtype):
            return self.call(*args, **kwargs)

    def call(
        self,
        ids_BL: Tensor,
        segments_BL: Tensor | None = None,
        attend_BL: Tensor | None = None,
        documents_BL: Tensor | None = None,
        predict_BP: Tensor | None = None,
        wanted_BL: Tensor | None = None,
        training: bool | None = None,
    ) -> Any:
        """What the head makes of the encoder's hidden states.

        Args:
            ids_BL: token ids; for the head `choose` ids_BNL, the N choices of each example.
            segments_BL: 0 for the first text of a pair, 1 for the second; all 0 if not given.
            attend_BL: True for tokens, False for padding; if not given, whatever is not `pad_id`.
            documents_BL: documents packed into one row stay apart and each starts at its first position.
            predict_BP: the masked language model is evaluated at these positions only.
            wanted_BL: True for the tokens to tag; the logits of others mean nothing, and may not be computed.
            training: whether dropout is on.

        Returns:
            `encoder` hidden_BLD · `pooler` (hidden_BLD, pooled_BD) · `mlm` logits_BPV · `nsp` logits_B2 ·
            `mlm+nsp` both · `classify` logits_BC · `tag` logits_BLC · `read` (start_BL, end_BL) · `choose` logits_BN
        """
        choices = ops.shape(ids_BL)[:2] if self.head_name == "choose" else None
        if choices is not None:
            ids_BL, segments_BL, attend_BL = map(_flat, (ids_BL, segments_BL, attend_BL))
        masked = self.head_name in ("mlm", "mlm+nsp")
        hidden_BLD, _ = self.encoder.call(  # as its parts are called, see direct.py
            ids_BL,
            segments_BL=segments_BL,
            attend_BL=attend_BL,
            documents_BL=documents_BL,
            only_BP=self._wanted(predict_BP, ids_BL),
            wanted_BL=wanted_BL if self.head_name == "tag" else None,
            training=training,
        )
        if self.head is None:
            return hidden_BLD
        if masked:
            return self._masked_lm(self.head, hidden_BLD, several=predict_BP is not None)
        logits = self.head(hidden_BLD, training=training) if _has_dropout(self.head_name) else self.head(hidden_BLD)
        return logits if choices is None else ops.reshape(logits, choices)

    def _wanted(self, predict_BP: Tensor | None, ids_BL: Tensor) -> Tensor | None:
        """The positions that the head looks at, None for all: those to predict, the first one for a whole text."""
        if self.head_name in ("classify", "choose", "nsp"):
            return ops.zeros_like(ids_BL[:, :1])
        if predict_BP is None or self.head_name != "mlm+nsp":
            return predict_BP if self.head_name == "mlm" else None
        return ops.concatenate([ops.zeros_like(predict_BP[:, :1]), predict_BP], axis=1)

    def _masked_lm(self, head: Head, hidden_BLD: Tensor, *, several: bool) -> Any:
        tokens_VD = self.encoder.embeddings.tokens.embeddings
        if self.head_name == "mlm":
            return head(hidden_BLD, tokens_VD=tokens_VD)
        at = hidden_BLD[:, 1:] if several else hidden_BLD
        return head(at, tokens_VD=tokens_VD, first_BD=hidden_BLD[:, 0])

    def attention_weights(
        self, ids_BL: Tensor, segments_BL: Tensor | None = None, attend_BL: Tensor | None = None
    ) -> np.ndarray:
        """Every layer's and head's weights α: an array of shape (layers, B, H, L, L); each row sums to 1."""
        ids, segments = as_array(ids_BL, "Token ids"), as_array(segments_BL, "Segments")
        attend = as_array(attend_BL, "Attend")
        check_tokens(self.config, ids, segments=segments, attend=attend)
        _, weights = self.encoder(ids, segments_BL=segments, attend_BL=attend, with_weights=True, training=False)
        return np.stack([ops.convert_to_numpy(weights_BHLL) for weights_BHLL in weights])


def _has_dropout(head: str) -> bool:
    return head in ("classify", "tag", "read", "choose")


def _flat(x_BNL: Tensor | None) -> Tensor | None:
    return None if x_BNL is None else ops.reshape(x_BNL, (-1, ops.shape(x_BNL)[-1]))
