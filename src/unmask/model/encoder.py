"""The encoder stack: Vaswani et al. 2017, section 3.1; with BERT's embeddings, it is BERT's and RoBERTa's."""

from collections.abc import Iterator

import keras
from keras import ops

from unmask.backend import Tensor, on_host
from unmask.config import ModelConfig
from unmask.model.attention import allowed_to_attend
from unmask.model.direct import LayerNorm, recomputed
from unmask.model.embeddings import Embeddings
from unmask.model.layers import EncoderLayer
from unmask.model.unpadded import Unpadded, unpadded


class Encoder(keras.layers.Layer):
    """Embeddings and N identical layers; a pre-norm stack ends with one more LayerNorm."""

    def __init__(
        self,
        config: ModelConfig,
        seeds: Iterator[int],
        *,
        embeddings: Embeddings | None = None,
        name: str = "encoder",
    ) -> None:
        super().__init__(name=name)
        self.config = config
        self.embeddings = Embeddings(config, seeds) if embeddings is None else embeddings
        self.stack = [EncoderLayer(config, seeds, name=f"layer_{i}") for i in range(config.n_layers)]
        self.norm = LayerNorm(config.d_model, config.norm_eps, name="norm") if config.norm == "pre" else None
        self.checkpointing = False
        """Whether training computes the layers' activations again in the backward pass: less memory, more time."""

    def build(self) -> None:
        """Makes the variables; shared embeddings are built by their owner."""
        if not self.embeddings.built:
            self.embeddings.build()
        for layer in self.stack:
            layer.build()
        if self.norm is not None:
            self.norm.build()

    def call(
        self,
        ids_BL: Tensor,
        segments_BL: Tensor | None = None,
        attend_BL: Tensor | None = None,
        documents_BL: Tensor | None = None,
        only_BP: Tensor | None = None,
        wanted_BL: Tensor | None = None,
        with_weights: bool = False,
        training: bool | None = None,
    ) -> tuple[Tensor, list[Tensor]]:
        """Hidden states of the last layer, and each layer's attention weights where asked for.

        What stands at padding means nothing; it is 0 where padding is not computed.

        Args:
            ids_BL: token ids.
            segments_BL: 0 for the first text of a pair, 1 for the second; all 0 if not given.
            attend_BL: True for tokens, False for padding; if not given, whatever is not `pad_id`.
            documents_BL: documents packed into one row stay apart and each starts at its first position.
            only_BP: the positions whose hidden states are wanted; the last layer computes no others.
            wanted_BL: True for tokens whose hidden states are wanted; those of others mean nothing, as at padding.
            with_weights: whether the attention weights are wanted.
            training: whether dropout is on.
        """
        attend_BL = ops.not_equal(ids_BL, self.config.pad_id) if attend_BL is None else attend_BL
        seen = on_host(attend_BL)
        if seen is not None and seen.all():  # a batch without padding needs no mask
            attend_BL = None
        positions_BL = self.embeddings.positions_of(ids_BL, documents_BL)
        in_a_row = None
        if documents_BL is None and not with_weights:
            in_a_row = unpadded(attend_BL, only_BP, wanted_BL, width=self.config.d_model)
        if in_a_row is not None:
            ids_BL, positions_BL = in_a_row.row_of(ids_BL), in_a_row.row_of(positions_BL)
            segments_BL = None if segments_BL is None else in_a_row.row_of(segments_BL)
        allowed = in_a_row or allowed_to_attend(attend_BL, documents_BL)
        hidden_BLD = self.embeddings(ids_BL, segments_BL, positions_BL, training=training)
        return self._through_the_stack(hidden_BLD, allowed, only_BP, with_weights, training)

    def _through_the_stack(
        self,
        hidden_BLD: Tensor,
        allowed: Tensor | Unpadded | None,
        only_BP: Tensor | None,
        with_weights: bool,
        training: bool | None,
    ) -> tuple[Tensor, list[Tensor]]:
        weights, last = [], self.stack[-1]
        for layer in self.stack:
            if layer is last and isinstance(allowed, Unpadded) and allowed.wanted is not None:
                if only_BP is None or not layer.attention.is_for_few(only_BP.shape[1]):
                    only_BP = ops.convert_to_tensor(allowed.wanted.places_N[None])
                else:  # they ask rectangles: padding costs little then
                    hidden_BLD, allowed = allowed.padded(hidden_BLD), allowed_to_attend(allowed.attend_BL)
            run = recomputed(layer, layer.dropouts) if self.checkpointing and training else layer
            hidden_BLD, weights_BHLL = run(
                hidden_BLD,
                allowed=allowed,
                only_BP=only_BP if layer is last else None,
                with_weights=with_weights,
                training=training,
            )
            weights.append(weights_BHLL)
        if self.norm is not None:
            hidden_BLD = self.norm(hidden_BLD)
        if isinstance(allowed, Unpadded):
            hidden_BLD = allowed.padded(hidden_BLD) if only_BP is None else allowed.wanted_again(hidden_BLD)
        return hidden_BLD, weights if with_weights else []
