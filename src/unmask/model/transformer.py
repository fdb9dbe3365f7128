"""The Transformer: Vaswani et al. 2017. Encoder, decoder, and one embedding matrix for source, target and output."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import keras
import numpy as np
from keras import ops

from unmask import backend
from unmask.backend import Tensor, linear
from unmask.config import ModelConfig
from unmask.errors import UserError
from unmask.model.attention import KeysValues
from unmask.model.checks import as_array, check_tokens
from unmask.model.decoder import Decoder
from unmask.model.embeddings import Embeddings
from unmask.model.encoder import Encoder
from unmask.model.initialize import Weights, drawn, filled_with, seeds_from


class Transformer(keras.Model):
    """The encoder–decoder. Call it with source and target ids for the logits of the token after each target token.

    Args:
        config: what to build; `config.family` must be "transformer".
        seed: of the initial weights and of dropout.
        weights: where the values come from; drawn at random if not given.
    """

    head_name = "translate"

    def __init__(self, config: ModelConfig, *, seed: int, weights: Weights | None = None) -> None:
        if config.family != "transformer":
            raise UserError(f"{config.family} has no decoder; build it with unmask.model.Bert.")
        super().__init__(name="transformer")
        seeds = seeds_from(seed)
        self.config = config
        self.embeddings = Embeddings(config, seeds)
        self.encoder = Encoder(config, seeds, embeddings=self.embeddings)
        self.decoder = Decoder(config, seeds, embeddings=self.embeddings)
        with filled_with(weights or drawn(config, seed), self):
            self.build()

    def build(self) -> None:
        """Makes the variables."""
        self.embeddings.build()
        self.encoder.build()
        self.decoder.build()
        shape = (self.config.vocab_size,)
        self.logits_bias = self.add_weight(shape=shape, initializer="zeros", trainable=False, name="logits_bias")

    def __call__(
        self,
        source_BM: Tensor,
        target_BL: Tensor,
        attend_source_BM: Tensor | None = None,
        attend_target_BL: Tensor | None = None,
        training: bool | None = None,
    ) -> Any:
        """Checks what came, then computes; see `call`."""
        source, target = self.checked(source_BM, attend_source_BM), self.checked(target_BL, attend_target_BL)
        if source.shape[0] != target.shape[0]:
            raise UserError(f"{source.shape[0]} sources came with {target.shape[0]} targets; each needs one.")
        return super().__call__(
            source,
            target,
            attend_source_BM=as_array(attend_source_BM, "Attend"),
            attend_target_BL=as_array(attend_target_BL, "Attend"),
            training=training,
        )

    def checked(self, ids_BL: Tensor, attend_BL: Tensor | None = None) -> Tensor:
        """Token ids as an array, if the model has rows for all of them."""
        ids = as_array(ids_BL, "Token ids")
        check_tokens(self.config, ids, attend=as_array(attend_BL, "Attend"))
        return ids

    def call(
        self,
        source_BM: Tensor,
        target_BL: Tensor,
        attend_source_BM: Tensor | None = None,
        attend_target_BL: Tensor | None = None,
        training: bool | None = None,
    ) -> Tensor:
        """logits_BLV: at each target position, of the token that comes next.

        Args:
            source_BM: source ids.
            target_BL: target ids, beginning with `decoder_start_id`.
            attend_source_BM: True for tokens, False for padding; if not given, whatever is not `pad_id`.
            attend_target_BL: the same for the target; if not given, everything, as causality hides later padding.
            training: whether dropout is on.
        """
        attend_source_BM = self.attend_source(source_BM) if attend_source_BM is None else attend_source_BM
        memory_BMD, _ = self.encoder(source_BM, attend_BL=attend_source_BM, training=training)
        hidden_BLD, _ = self.decoder(
            target_BL,
            memory_BMD,
            attend_BL=attend_target_BL,
            attend_memory_BM=attend_source_BM,
            training=training,
        )
        return self.logits(hidden_BLD)

    def attend_source(self, source_BM: Tensor) -> Tensor:
        """True for tokens, False for padding."""
        return ops.not_equal(source_BM, self.config.pad_id)

    def logits(self, hidden_BLD: Tensor) -> Tensor:
        """The output layer, whose weights are the token embeddings (section 3.4)."""
        return linear(hidden_BLD, ops.transpose(self.embeddings.tokens.embeddings), self.logits_bias)

    def attention_weights(self, source_BM: Tensor, target_BL: Tensor) -> dict[str, np.ndarray]:
        """Weights of every layer and head: encoder (N, B, H, M, M), decoder (N, B, H, L, L), cross (N, B, H, L, M)."""
        source_BM, target_BL = self.checked(source_BM), self.checked(target_BL)
        attend_BM = self.attend_source(ops.convert_to_tensor(source_BM))
        memory_BMD, encoder = self.encoder(source_BM, attend_BL=attend_BM, with_weights=True)
        _, decoder = self.decoder(target_BL, memory_BMD, attend_memory_BM=attend_BM, with_weights=True)
        own, cross = zip(*decoder, strict=True)
        parts = {"encoder": encoder, "decoder": own, "cross": cross}
        return {name: np.stack([ops.convert_to_numpy(w) for w in weights]) for name, weights in parts.items()}

    @cached_property
    def reading(self) -> Callable[..., tuple[list[KeysValues], Tensor]]:
        """Compiled: source_BM → the decoder's view of it, and which tokens of it count."""

        def read(source_BM: Tensor) -> tuple[list[KeysValues], Tensor]:
            attend_BM = self.attend_source(source_BM)
            memory_BMD, _ = self.encoder(source_BM, attend_BL=attend_BM, training=False)
            return self.decoder.project_memory(memory_BMD), attend_BM

        return backend.compiled(self, read)

    @cached_property
    def stepping(self) -> Callable[..., tuple[Tensor, list[KeysValues]]]:
        """Compiled: ids_B1, position, cache, memory, attend_BM → log-probabilities_BV of the next token, cache."""

        def step(
            ids_B1: Tensor,
            position: Tensor,
            cache: list[KeysValues],
            memory: list[KeysValues],
            attend_BM: Tensor,
        ) -> tuple[Tensor, list[KeysValues]]:
            hidden_B1D, cache = self.decoder.step(ids_B1, position, cache, memory, attend_BM)
            return ops.log_softmax(ops.cast(self.logits(hidden_B1D)[:, 0], "float32"), axis=-1), cache

        return backend.compiled(self, step)
