"""Attention: "Attention Is All You Need" (Vaswani et al. 2017), section 3.2."""

import math
from collections.abc import Iterator
from functools import partial

from keras import ops

from unmask.backend import (
    Tensor,
    fused_attention,
    fused_attention_of_blocks,
    fused_few_ask,
    fuses_dropout,
    linear_side_by_side,
    reshape,
)
from unmask.config import ModelConfig
from unmask.model.direct import Dropout, Linear, Part
from unmask.model.unpadded import Unpadded

KeysValues = tuple[Tensor, Tensor]
"""Projected keys and values, each of shape BMHK; kept between the steps of a decoder, they are its cache."""


def allowed_to_attend(
    attend_BM: Tensor | None = None, documents_BL: Tensor | None = None, *, causal_length: int | None = None
) -> Tensor | None:
    """The one place where masks are made: a boolean tensor that broadcasts to BHLM, True = may be attended.

    Args:
        attend_BM: True where the memory holds a token, False where it is padding.
        documents_BL: a number for each token; tokens with different numbers never see each other.
        causal_length: the length of a sequence in which no token sees a later one.
    """
    masks = []
    if attend_BM is not None:
        masks.append(ops.cast(attend_BM, "bool")[:, None, None, :])
    if documents_BL is not None:
        masks.append(ops.equal(documents_BL[:, None, :, None], documents_BL[:, None, None, :]))
    if causal_length is not None:
        order_L = ops.arange(causal_length)
        masks.append((order_L[:, None] >= order_L[None, :])[None, None, :, :])
    if not masks:
        return None
    allowed = masks[0]
    for mask in masks[1:]:
        allowed = ops.logical_and(allowed, mask)
    return allowed


def scaled_dot_product_attention(
    query_BLHK: Tensor,
    key_BMHK: Tensor,
    value_BMHK: Tensor,
    allowed: Tensor | None = None,
    *,
    dropout: Dropout | None = None,
    with_weights: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """softmax(QKᵀ / √d_k) V (equation 1), and the weights α_BHLM where they are asked for.

    Unless the weights are wanted, the backend's fused kernel computes it, with dropout if it can; both ways agree, and
    a row that may attend to nothing gives zeros in both.
    """
    if not with_weights and (dropout is None or fuses_dropout(query_BLHK)):
        how = None if dropout is None else (dropout.rate, dropout.seed_generator)
        return fused_attention(query_BLHK, key_BMHK, value_BMHK, allowed, how), None

    scores_BHLM = ops.einsum("blhk,bmhk->bhlm", query_BLHK, key_BMHK) / math.sqrt(query_BLHK.shape[-1])
    weights_BHLM = masked_softmax(scores_BHLM, allowed)
    dropped_BHLM = weights_BHLM if dropout is None else dropout(weights_BHLM, training=True)
    return ops.einsum("bhlm,bmhk->blhk", dropped_BHLM, value_BMHK), weights_BHLM


def unpadded_attention(
    query_1MHK: Tensor, key_1MHK: Tensor, value_1MHK: Tensor, texts: Unpadded, *, dropout: Dropout | None = None
) -> Tensor:
    """The same for texts of several lengths in blocks, which do not see each other; gives output_1NHK, in one row."""
    if dropout is not None and fuses_dropout(query_1MHK):
        how = dropout.rate, dropout.seed_generator
        output_1MHK = fused_attention_of_blocks(query_1MHK, key_1MHK, value_1MHK, texts.blocks, how)
    else:
        attention = partial(scaled_dot_product_attention, dropout=dropout)
        output_1MHK = texts.attend(attention, query_1MHK, key_1MHK, value_1MHK)
    return texts.answered(output_1MHK)


def masked_softmax(scores_BHLM: Tensor, allowed: Tensor | None) -> Tensor:
    """Softmax over the memory, in float32; what is not allowed gets weight 0, even if that is everything."""
    scores = ops.cast(scores_BHLM, "float32")
    if allowed is None:
        return ops.cast(ops.softmax(scores, axis=-1), scores_BHLM.dtype)
    weights = ops.softmax(ops.where(allowed, scores, -1e30), axis=-1)
    return ops.cast(ops.where(allowed, weights, 0.0), scores_BHLM.dtype)


def few_ask(
    query_BLHK: Tensor,
    memory_BMD: Tensor,
    key_DHK: Tensor,
    value_DHK: Tensor,
    value_bias_HK: Tensor,
    allowed: Tensor | None,
    *,
    dropout: Dropout | None = None,
) -> Tensor:
    """The same, output_BLHK, where few queries ask a long memory X: its keys and values are never computed.

    q·(xW_K) = (qW_Kᵀ)·x, and Σ α_j (x_j W_V) = (Σ α_j x_j) W_V: the matrices are applied to the queries and to the
    sums, of which there are few. The bias of the keys adds the same to all scores of a query, which softmax forgets.
    Where the backend has it in one function, that computes it; both ways agree.
    """
    if fuses_dropout(query_BLHK):
        how = None if dropout is None else (dropout.rate, dropout.seed_generator)
        return fused_few_ask(query_BLHK, memory_BMD, key_DHK, value_DHK, value_bias_HK, allowed, how)
    scaled_BLHK = query_BLHK / math.sqrt(query_BLHK.shape[-1])
    asking_BLHD = ops.einsum("blhk,dhk->blhd", scaled_BLHK, key_DHK)
    weights_BHLM = masked_softmax(ops.einsum("blhd,bmd->bhlm", asking_BLHD, memory_BMD), allowed)
    if dropout is not None:
        weights_BHLM = dropout(weights_BHLM, training=True)
    summed_BLHD = ops.einsum("bhlm,bmd->blhd", weights_BHLM, memory_BMD)
    share_BLH1 = ops.expand_dims(ops.transpose(ops.sum(weights_BHLM, axis=-1), (0, 2, 1)), -1)
    return ops.einsum("blhd,dhk->blhk", summed_BLHD, value_DHK) + share_BLH1 * value_bias_HK


class MultiHeadAttention(Part):
    """MultiHead(Q, K, V) = Concat(head_1 … head_h) W_O (section 3.2.2): self-, causal and cross-attention."""

    def __init__(self, config: ModelConfig, seeds: Iterator[int], *, name: str) -> None:
        super().__init__(name=name)
        self.n_heads, self.d_head = config.n_heads, config.d_head
        self.query = Linear(config.d_model, config.d_model, name="query")  # W_Q of all heads, side by side
        self.key = Linear(config.d_model, config.d_model, name="key")
        self.value = Linear(config.d_model, config.d_model, name="value")
        self.out = Linear(config.d_model, config.d_model, name="out")
        self.weight_dropout = Dropout(config.attention_dropout, next(seeds), name="weight_dropout")

    def build(self) -> None:
        """Makes the variables."""
        for projection in (self.query, self.key, self.value, self.out):
            projection.build()

    def call(
        self,
        query_BLD: Tensor,
        memory_BMD: Tensor | None = None,
        allowed: Tensor | Unpadded | None = None,
        with_weights: bool = False,
        training: bool | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Attends from each query to the memory, which is the queries themselves in self-attention."""
        if memory_BMD is None:
            query, key, value = self._projected(query_BLD, (self.query, self.key, self.value), allowed)
            return self._attended(query, (key, value), allowed, with_weights=with_weights, training=training)
        if not with_weights and not isinstance(allowed, Unpadded) and self.is_for_few(ops.shape(query_BLD)[1]):
            return self._asked_by_few(query_BLD, memory_BMD, allowed, training=training), None
        keys_values = self.project(memory_BMD, allowed)
        return self.attend(query_BLD, keys_values, allowed, with_weights=with_weights, training=training)

    def is_for_few(self, n_queries: int | Tensor) -> bool:
        """Whether so many queries a text are too few to compute keys and values for; a number not known yet is not."""
        return isinstance(n_queries, int) and n_queries * 4 <= self.d_head

    def _asked_by_few(
        self, query_BLD: Tensor, memory_BMD: Tensor, allowed: Tensor | None, *, training: bool | None
    ) -> Tensor:
        by_heads = (-1, self.n_heads, self.d_head)
        parts = (ops.convert_to_tensor(x) for x in (self.key.kernel, self.value.kernel, self.value.bias))
        key_DHK, value_DHK, value_bias_1HK = (reshape(part, by_heads) for part in parts)
        query_BLHK, dropout = self._heads(self.query(query_BLD)), self._dropout(training)
        output_BLHK = few_ask(query_BLHK, memory_BMD, key_DHK, value_DHK, value_bias_1HK[0], allowed, dropout=dropout)
        return self.out(reshape(output_BLHK, ops.shape(query_BLD)))

    def _dropout(self, training: bool | None) -> Dropout | None:
        return self.weight_dropout if training and self.weight_dropout.rate > 0 else None

    def project(self, memory_BMD: Tensor, allowed: Tensor | Unpadded | None = None) -> KeysValues:
        """K = X W_K and V = X W_V, split into heads."""
        key_BMHK, value_BMHK = self._projected(memory_BMD, (self.key, self.value), allowed)
        return key_BMHK, value_BMHK

    def _projected(
        self, x_BLD: Tensor, projections: tuple[Linear, ...], allowed: Tensor | Unpadded | None
    ) -> list[Tensor]:
        """Several projections of one input, split into heads; those of a row of texts in blocks."""
        kernels, biases = [part.kernel for part in projections], [part.bias for part in projections]
        together_BLE = linear_side_by_side(x_BLD, kernels, biases)
        if isinstance(allowed, Unpadded):
            together_BLE = allowed.asked(together_BLE)
        batch, length = ops.shape(together_BLE)[:2]
        of_each = reshape(together_BLE, (batch, length, len(projections), self.n_heads, self.d_head))
        return ops.unstack(of_each, axis=2)  # whose gradients are put together at once, those of slices one by one

    def attend(
        self,
        query_BLD: Tensor,
        keys_values: KeysValues,
        allowed: Tensor | Unpadded | None,
        *,
        with_weights: bool = False,
        training: bool | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Attention over keys and values that are projected already, as they are in a cache."""
        projected_BLD = self.query(query_BLD)
        if isinstance(allowed, Unpadded):
            projected_BLD = allowed.asking(projected_BLD)
        query_BLHK = self._heads(projected_BLD)
        return self._attended(query_BLHK, keys_values, allowed, with_weights=with_weights, training=training)

    def _attended(
        self,
        query_BLHK: Tensor,
        keys_values: KeysValues,
        allowed: Tensor | Unpadded | None,
        *,
        with_weights: bool,
        training: bool | None,
    ) -> tuple[Tensor, Tensor | None]:
        dropout, weights_BHLM = self._dropout(training), None
        if isinstance(allowed, Unpadded):
            output_BLHK = unpadded_attention(query_BLHK, *keys_values, allowed, dropout=dropout)
        else:
            output_BLHK, weights_BHLM = scaled_dot_product_attention(
                query_BLHK, *keys_values, allowed, dropout=dropout, with_weights=with_weights
            )
        batch, length = ops.shape(output_BLHK)[:2]
        concatenated_BLD = reshape(output_BLHK, (batch, length, self.n_heads * self.d_head))
        return self.out(concatenated_BLD), weights_BHLM if with_weights else None

    def _heads(self, projected_BLD: Tensor) -> Tensor:
        batch, length = ops.shape(projected_BLD)[:2]
        return reshape(projected_BLD, (batch, length, self.n_heads, self.d_head))
