"""Encoder layer and decoder layer: Vaswani et al. 2017, sections 3.1 and 3.3.

Post-norm, LayerNorm(x + Sublayer(x)), is the paper's, BERT's and RoBERTa's. Pre-norm, x + Sublayer(LayerNorm(x)),
is the later variant that trains deep stacks more easily (Xiong et al. 2020).
"""

from collections.abc import Iterator

from keras import ops

from unmask.backend import Tensor, at_positions
from unmask.config import ModelConfig
from unmask.model.attention import KeysValues, MultiHeadAttention
from unmask.model.direct import Dropout, LayerNorm, Linear, Part
from unmask.model.unpadded import Unpadded


class FeedForward(Part):
    """FFN(x) = f(x W_1 + b_1) W_2 + b_2, applied to each position alike."""

    def __init__(self, config: ModelConfig, seeds: Iterator[int]) -> None:
        super().__init__(name="feed_forward")
        self.activation = config.activation
        self.inner = Linear(config.d_model, config.d_ff, name="inner")
        self.dropout = Dropout(config.activation_dropout, next(seeds), name="dropout")
        self.outer = Linear(config.d_ff, config.d_model, name="outer")

    def build(self) -> None:
        """Makes the variables."""
        self.inner.build()
        self.outer.build()

    def call(self, hidden_BLD: Tensor, training: bool | None = None) -> Tensor:
        """Applies it."""
        inner_BLF = self.inner(hidden_BLD, self.activation)
        return self.outer(self.dropout(inner_BLF, training=training))


class Sublayer(Part):
    """The residual connection, dropout and LayerNorm around a sub-layer, post-norm or pre-norm."""

    def __init__(self, config: ModelConfig, seeds: Iterator[int], *, name: str) -> None:
        super().__init__(name=name)
        self.pre = config.norm == "pre"
        self.norm = LayerNorm(config.d_model, config.norm_eps, name="norm")
        self.dropout = Dropout(config.dropout, next(seeds), name="dropout")

    def build(self) -> None:
        """Makes the variables."""
        self.norm.build()

    def before(self, x_BLD: Tensor) -> Tensor:
        """What the sub-layer reads."""
        return self.norm(x_BLD) if self.pre else x_BLD

    def after(self, x_BLD: Tensor, result_BLD: Tensor, training: bool | None) -> Tensor:
        """What goes on, given what came in and what the sub-layer made of it."""
        summed_BLD = x_BLD + self.dropout(result_BLD, training=training)
        return summed_BLD if self.pre else self.norm(summed_BLD)


class EncoderLayer(Part):
    """Self-attention, then the feed-forward network."""

    def __init__(self, config: ModelConfig, seeds: Iterator[int], *, name: str) -> None:
        super().__init__(name=name)
        self.attention = MultiHeadAttention(config, seeds, name="attention")
        self.around_attention = Sublayer(config, seeds, name="around_attention")
        self.feed_forward = FeedForward(config, seeds)
        self.around_feed_forward = Sublayer(config, seeds, name="around_feed_forward")

    def build(self) -> None:
        """Makes the variables."""
        for part in (self.attention, self.around_attention, self.feed_forward, self.around_feed_forward):
            part.build()

    @property
    def dropouts(self) -> list[Dropout]:
        """Every dropout in it, in the order of computation."""
        around = [self.around_attention.dropout, self.feed_forward.dropout, self.around_feed_forward.dropout]
        return [self.attention.weight_dropout, *around]

    def call(
        self,
        hidden_BLD: Tensor,
        allowed: Tensor | Unpadded | None = None,
        only_BP: Tensor | None = None,
        with_weights: bool = False,
        training: bool | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """The hidden states of the next layer, and the attention weights where asked for.

        Args:
            hidden_BLD: the hidden states of the layer before.
            allowed: which tokens may be attended.
            only_BP: the positions that are wanted; the others are attended to, but not computed.
            with_weights: whether the attention weights are wanted.
            training: whether dropout is on.
        """
        x, read_BLD = hidden_BLD, self.around_attention.before(hidden_BLD)
        query_BLD, memory_BMD = read_BLD, None
        if only_BP is not None:
            x, memory_BMD = at_positions(x, only_BP), read_BLD
            query_BLD = x if read_BLD is hidden_BLD else at_positions(read_BLD, only_BP)
            allowed = take_queries(allowed, only_BP)
        attended, weights_BHLL = self.attention(
            query_BLD, memory_BMD, allowed=allowed, with_weights=with_weights, training=training
        )
        x = self.around_attention.after(x, attended, training)
        fed = self.feed_forward(self.around_feed_forward.before(x), training=training)
        return self.around_feed_forward.after(x, fed, training), weights_BHLL


def take_queries(allowed: Tensor | Unpadded | None, positions_BP: Tensor) -> Tensor | Unpadded | None:
    """The mask of the queries at the given positions; one that is the same for all queries stays as it is."""
    if isinstance(allowed, Unpadded):
        return allowed.asked_by_wanted()
    if allowed is None or allowed.shape[2] == 1:
        return allowed
    return ops.take_along_axis(allowed, positions_BP[:, None, :, None], axis=2)


class DecoderLayer(Part):
    """Causal self-attention, attention to the encoder's output, then the feed-forward network."""

    def __init__(self, config: ModelConfig, seeds: Iterator[int], *, name: str) -> None:
        super().__init__(name=name)
        self.attention = MultiHeadAttention(config, seeds, name="attention")
        self.around_attention = Sublayer(config, seeds, name="around_attention")
        self.cross_attention = MultiHeadAttention(config, seeds, name="cross_attention")
        self.around_cross_attention = Sublayer(config, seeds, name="around_cross_attention")
        self.feed_forward = FeedForward(config, seeds)
        self.around_feed_forward = Sublayer(config, seeds, name="around_feed_forward")

    def build(self) -> None:
        """Makes the variables."""
        for part in (
            self.attention,
            self.around_attention,
            self.cross_attention,
            self.around_cross_attention,
        ):
            part.build()
        self.feed_forward.build()
        self.around_feed_forward.build()

    def call(
        self,
        hidden_BLD: Tensor,
        memory: KeysValues,
        allowed: Tensor,
        allowed_memory: Tensor | None,
        past: KeysValues | None = None,
        position: Tensor | None = None,
        with_weights: bool = False,
        training: bool | None = None,
    ) -> tuple[Tensor, KeysValues, tuple[Tensor | None, Tensor | None]]:
        """One layer over a whole sequence, or, with `past`, over the token at `position` alone.

        Args:
            hidden_BLD: the hidden states so far.
            memory: the encoder's output, projected by this layer's cross-attention.
            allowed: which tokens of the target may be attended.
            allowed_memory: which tokens of the source may be attended.
            past: keys and values of a fixed length, filled before `position`.
            position: where the new token's keys and values go.
            with_weights: whether the attention weights are wanted.
            training: whether dropout is on.

        Returns:
            the hidden states, the keys and values of self-attention, and its and cross-attention's weights.
        """
        x = hidden_BLD
        read = self.around_attention.before(x)
        keys_values = self.attention.project(read)
        if past is not None:
            keys_values = _written(past, keys_values, position)
        attended, weights = self.attention.attend(
            read, keys_values, allowed, with_weights=with_weights, training=training
        )
        x = self.around_attention.after(x, attended, training)
        crossed, cross_weights = self.cross_attention.attend(
            self.around_cross_attention.before(x),
            memory,
            allowed_memory,
            with_weights=with_weights,
            training=training,
        )
        x = self.around_cross_attention.after(x, crossed, training)
        fed = self.feed_forward(self.around_feed_forward.before(x), training=training)
        return self.around_feed_forward.after(x, fed, training), keys_values, (weights, cross_weights)


def _written(past: KeysValues, new: KeysValues, position: Tensor) -> KeysValues:
    """`past` with the new keys and values at `position`."""
    start = (0, position, 0, 0)
    return ops.slice_update(past[0], start, new[0]), ops.slice_update(past[1], start, new[1])
