"""The decoder stack: Vaswani et al. 2017, section 3.1, for whole sequences and one token at a time."""

from collections.abc import Iterator

import keras
from keras import ops

from unmask.backend import Tensor
from unmask.config import ModelConfig
from unmask.model.attention import KeysValues, allowed_to_attend
from unmask.model.direct import LayerNorm
from unmask.model.embeddings import Embeddings
from unmask.model.layers import DecoderLayer


class Decoder(keras.layers.Layer):
    """N layers of causal self-attention, attention to the encoder's output, and feed-forward."""

    def __init__(
        self, config: ModelConfig, seeds: Iterator[int], *, embeddings: Embeddings, name: str = "decoder"
    ) -> None:
        super().__init__(name=name)
        self.config = config
        self.embeddings = embeddings
        self.stack = [DecoderLayer(config, seeds, name=f"layer_{i}") for i in range(config.n_decoder_layers)]
        self.norm = LayerNorm(config.d_model, config.norm_eps, name="norm") if config.norm == "pre" else None

    def build(self) -> None:
        """Makes the variables; the embeddings belong to the Transformer."""
        for layer in self.stack:
            layer.build()
        if self.norm is not None:
            self.norm.build()

    def call(
        self,
        ids_BL: Tensor,
        memory_BMD: Tensor,
        attend_BL: Tensor | None = None,
        attend_memory_BM: Tensor | None = None,
        with_weights: bool = False,
        training: bool | None = None,
    ) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
        """Hidden states at every position at once, as in training, and the weights where asked for."""
        allowed = allowed_to_attend(attend_BL, causal_length=ops.shape(ids_BL)[1])
        allowed_memory = allowed_to_attend(attend_memory_BM)
        hidden_BLD = self.embeddings(ids_BL, training=training)
        weights = []
        for layer in self.stack:
            hidden_BLD, _, layer_weights = layer(
                hidden_BLD,
                layer.cross_attention.project(memory_BMD),
                allowed,
                allowed_memory,
                with_weights=with_weights,
                training=training,
            )
            weights.append(layer_weights)
        return self._finished(hidden_BLD), weights if with_weights else []

    def project_memory(self, memory_BMD: Tensor) -> list[KeysValues]:
        """Each layer's keys and values of the encoder's output, computed once for all steps."""
        return [layer.cross_attention.project(memory_BMD) for layer in self.stack]

    def empty_cache(self, batch: int, length: int) -> list[KeysValues]:
        """Room for the keys and values of `length` tokens; its shape stays the same, so a step compiles once."""
        shape = (batch, length, self.config.n_heads, self.config.d_head)
        return [(ops.zeros(shape, self.compute_dtype), ops.zeros(shape, self.compute_dtype)) for _ in self.stack]

    def step(
        self,
        ids_B1: Tensor,
        position: Tensor,
        cache: list[KeysValues],
        memory: list[KeysValues],
        attend_memory_BM: Tensor,
    ) -> tuple[Tensor, list[KeysValues]]:
        """The hidden state of the token at `position`, given the cache of those before it; and the cache with it."""
        so_far_M = ops.arange(ops.shape(cache[0][0])[1]) <= position
        allowed = so_far_M[None, None, None, :]
        allowed_memory = allowed_to_attend(attend_memory_BM)
        hidden_B1D = self.embeddings(ids_B1, positions_BL=self.embeddings.positions_of(ids_B1, start=position))
        updated = []
        for layer, past, keys_values in zip(self.stack, cache, memory, strict=True):
            hidden_B1D, filled, _ = layer(
                hidden_B1D, keys_values, allowed, allowed_memory, past=past, position=position
            )
            updated.append(filled)
        return self._finished(hidden_B1D), updated

    def _finished(self, hidden_BLD: Tensor) -> Tensor:
        return hidden_BLD if self.norm is None else self.norm(hidden_BLD)
