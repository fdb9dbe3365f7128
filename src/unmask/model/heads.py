"""Heads: what stands on an encoder. BERT (Devlin et al. 2018), sections 3.1 and 4; RoBERTa (Liu et al. 2019).

The names are those of the tasks: `mlm` masked language model, `nsp` next-sentence prediction, `classify` a text,
`tag` its tokens, `read` an answer from it, `choose` among several; `pooler` and `encoder` are no task's.
"""

from collections.abc import Iterator

from keras import ops

from unmask.backend import Tensor, linear
from unmask.config import ModelConfig
from unmask.errors import UserError
from unmask.model.direct import Dropout, LayerNorm, Linear, Part


class Pooler(Part):
    """tanh(W h_[CLS] + b): BERT's summary of a text (DistilBERT has ReLU in its place)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(name="pooler")
        self.relu = config.family == "distilbert"
        self.dense = Linear(config.d_model, config.d_model, name="dense")

    def build(self) -> None:
        """Makes the variables."""
        self.dense.build()

    def call(self, first_BD: Tensor) -> Tensor:
        """Applied to the hidden state of the first token."""
        pooled_BD = self.dense(first_BD)
        return ops.relu(pooled_BD) if self.relu else ops.tanh(pooled_BD)


class Head(Part):
    """What all heads share: built from the configuration alone, fed with the encoder's last hidden states."""

    without_own_dropout: tuple[str, ...] = ()
    """Families in which Hugging Face gives this head the encoder's dropout, whatever `classifier_dropout` says."""

    def __init__(self, config: ModelConfig, seeds: Iterator[int]) -> None:
        super().__init__(name="head")
        self.config = config
        own = None if config.family in self.without_own_dropout else config.classifier_dropout
        rate = config.dropout if own is None else own
        self.dropout = Dropout(rate, next(seeds), name="dropout")

    def build(self) -> None:
        """Makes the variables of every part."""
        for part in (getattr(self, name, None) for name in ("pooler", "masked_lm", "next_sentence", "dense")):
            if part is not None:
                part.build()


class PoolerHead(Head):
    """Hidden states and the pooled first token: what `BertModel` gives."""

    def __init__(self, config: ModelConfig, seeds: Iterator[int]) -> None:
        super().__init__(config, seeds)
        self.pooler = Pooler(config)

    def call(self, hidden_BLD: Tensor) -> tuple[Tensor, Tensor]:
        """(hidden_BLD, pooled_BD)."""
        return hidden_BLD, self.pooler(hidden_BLD[:, 0])


class MaskedLM(Part):
    """Logits over the vocabulary: a linear map, GELU and LayerNorm, then the token embeddings as output weights."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(name="masked_lm")
        self.config = config
        # RoBERTa's head has GELU whatever its layers have; fairseq and Hugging Face agree in that.
        self.activation = "gelu" if config.positions_after_pad else config.activation
        self.dense = Linear(config.d_model, config.d_model, name="dense")
        self.norm = LayerNorm(config.d_model, config.norm_eps, name="norm")

    def build(self) -> None:
        """Makes the variables; the output weights are the embeddings' own."""
        self.dense.build()
        self.norm.build()
        self.bias = self.add_weight(shape=(self.config.vocab_size,), initializer="zeros", name="bias")

    def call(self, hidden_BPD: Tensor, tokens_VD: Tensor) -> Tensor:
        """logits_BPV."""
        transformed = self.norm(self.dense(hidden_BPD, self.activation))
        return linear(transformed, ops.transpose(tokens_VD), self.bias)


class MaskedLMHead(Head):
    """The masked language model alone, as RoBERTa is pretrained."""

    def __init__(self, config: ModelConfig, seeds: Iterator[int]) -> None:
        super().__init__(config, seeds)
        self.masked_lm = MaskedLM(config)

    def call(self, hidden_BPD: Tensor, tokens_VD: Tensor) -> Tensor:
        """Logits over the vocabulary."""
        return self.masked_lm(hidden_BPD, tokens_VD)


class NextSentenceHead(Head):
    """Does the second text follow the first? logits_B2: it follows, it does not."""

    def __init__(self, config: ModelConfig, seeds: Iterator[int]) -> None:
        super().__init__(config, seeds)
        self.pooler = Pooler(config)
        self.next_sentence = Linear(config.d_model, 2, name="next_sentence")

    def call(self, hidden_BLD: Tensor) -> Tensor:
        """logits_B2."""
        return self.next_sentence(self.pooler(hidden_BLD[:, 0]))


class PretrainingHead(Head):
    """Masked language model and next-sentence prediction together, as BERT is pretrained."""

    def __init__(self, config: ModelConfig, seeds: Iterator[int]) -> None:
        super().__init__(config, seeds)
        self.masked_lm = MaskedLM(config)
        self.pooler = Pooler(config)
        self.next_sentence = Linear(config.d_model, 2, name="next_sentence")

    def call(self, hidden_BPD: Tensor, tokens_VD: Tensor, first_BD: Tensor) -> tuple[Tensor, Tensor]:
        """(logits over the vocabulary, logits_B2 of the next sentence)."""
        return self.masked_lm(hidden_BPD, tokens_VD), self.next_sentence(self.pooler(first_BD))


class ClassificationHead(Head):
    """A class for a text. BERT: pooler, dropout, linear. RoBERTa's form has one more dropout, in front."""

    def __init__(self, config: ModelConfig, seeds: Iterator[int]) -> None:
        super().__init__(config, seeds)
        self.drops_first = config.family in ("roberta", "xlm-roberta", "camembert")
        self.pooler = Pooler(config)
        self.dense = Linear(config.d_model, config.n_classes, name="dense")

    def call(self, hidden_BLD: Tensor, training: bool | None = None) -> Tensor:
        """logits_BC."""
        first_BD = hidden_BLD[:, 0]
        if self.drops_first:
            first_BD = self.dropout(first_BD, training=training)
        return self.dense(self.dropout(self.pooler(first_BD), training=training))


class TaggingHead(Head):
    """A class for every token."""

    without_own_dropout = ("distilbert",)

    def __init__(self, config: ModelConfig, seeds: Iterator[int]) -> None:
        super().__init__(config, seeds)
        self.dense = Linear(config.d_model, config.n_classes, name="dense")

    def call(self, hidden_BLD: Tensor, training: bool | None = None) -> Tensor:
        """logits_BLC."""
        return self.dense(self.dropout(hidden_BLD, training=training))


class AnswerSpanHead(Head):
    """Where an answer starts and where it ends (BERT, section 4.2)."""

    without_own_dropout = ("distilbert",)

    def __init__(self, config: ModelConfig, seeds: Iterator[int]) -> None:
        super().__init__(config, seeds)
        self.drops = config.family == "distilbert"
        self.dense = Linear(config.d_model, 2, name="dense")

    def call(self, hidden_BLD: Tensor, training: bool | None = None) -> tuple[Tensor, Tensor]:
        """(start logits_BL, end logits_BL)."""
        if self.drops:
            hidden_BLD = self.dropout(hidden_BLD, training=training)
        logits_BL2 = self.dense(hidden_BLD)
        return logits_BL2[..., 0], logits_BL2[..., 1]


class MultipleChoiceHead(Head):
    """One score for each choice (BERT, section 4.4); the rows are the choices of all examples, one after another."""

    without_own_dropout = ("roberta", "xlm-roberta", "camembert")

    def __init__(self, config: ModelConfig, seeds: Iterator[int]) -> None:
        super().__init__(config, seeds)
        self.pooler = Pooler(config)
        self.dense = Linear(config.d_model, 1, name="dense")

    def call(self, hidden_BLD: Tensor, training: bool | None = None) -> Tensor:
        """logits_B of as many choices as there are rows."""
        return self.dense(self.dropout(self.pooler(hidden_BLD[:, 0]), training=training))[:, 0]


HEADS: dict[str, type[Head] | None] = {
    "encoder": None,
    "pooler": PoolerHead,
    "mlm": MaskedLMHead,
    "nsp": NextSentenceHead,
    "mlm+nsp": PretrainingHead,
    "classify": ClassificationHead,
    "tag": TaggingHead,
    "read": AnswerSpanHead,
    "choose": MultipleChoiceHead,
}


def make_head(name: str, config: ModelConfig, seeds: Iterator[int]) -> Head | None:
    """The head of that name for this configuration; None for a bare encoder."""
    if name not in HEADS:
        raise UserError(f"There is no head {name!r}; there are {', '.join(HEADS)}.")
    kind = HEADS[name]
    return None if kind is None else kind(config, seeds)
