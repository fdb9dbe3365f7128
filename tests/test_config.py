"""ModelConfig and presets: what is impossible is refused in one sentence."""

import dataclasses

import pytest

from unmask import ModelConfig, UserError, preset
from unmask.config import SIZES


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_heads": 5}, "5 heads do not divide a width of 128; .* such as 4"),
        ({"d_model": 0}, "d_model is 0; it must be a whole number of at least 1"),
        ({"vocab_size": -3}, "vocab_size is -3"),
        ({"n_layers": 2.5}, "n_layers is 2.5"),
        ({"n_layers": True}, "n_layers is True"),
        ({"n_layers": "12"}, "n_layers is '12'"),
        ({"dropout": 1.0}, "dropout is 1.0; it must be at least 0 and less than 1"),
        ({"dropout": None, "attention_dropout": "x"}, "attention_dropout is 'x'"),
        ({"norm_eps": 0.0}, "norm_eps is 0.0; it must be a positive number"),
        ({"norm_eps": float("nan")}, "norm_eps is nan"),
        ({"pad_id": 30522}, "pad_id is 30522, outside the vocabulary of 30522 tokens"),
        ({"activation": "swiglu"}, "activation is 'swiglu'; it may be gelu, gelu_tanh, relu, silu"),
        ({"positions": "rotary"}, "positions is 'rotary'"),
        ({"family": "gpt2"}, "family is 'gpt2'; it may be bert"),
        ({"problem": "ranking"}, "problem is 'ranking'"),
        ({"family": "transformer"}, "A transformer needs a decoder"),
        ({"positions": "sinusoidal", "d_model": 3, "n_heads": 3}, "need an even d_model"),
    ],
)
def test_impossible_configurations(changes, message):
    fields = dataclasses.asdict(preset("bert", "tiny")) | changes
    with pytest.raises(UserError, match=message):
        ModelConfig(**fields)


def test_a_configuration_cannot_be_changed_but_replaced():
    config = preset("roberta", "mini")
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.n_layers = 3
    assert config.replace(n_layers=3).n_layers == 3
    with pytest.raises(UserError, match="3 heads do not divide"):
        config.replace(n_heads=3)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("family", ["bert", "roberta", "transformer"])
def test_presets_are_valid(family, size):
    config = preset(family, size)
    assert config.d_head in (64, 128)


def test_roberta_reads_512_tokens_and_starts_at_row_2():
    config = preset("roberta", "base")
    assert config.max_positions == 512
    assert config.first_position == 2


def test_presets_refuse_unknown_names():
    with pytest.raises(UserError, match="presets for bert, roberta, transformer"):
        preset("gpt", "tiny")
    with pytest.raises(UserError, match="sizes tiny, mini, small, base, large, not 'huge'"):
        preset("bert", "huge")
    with pytest.raises(UserError, match="no 'n_layer'; did you mean 'n_layers'"):
        preset("bert", "tiny", n_layer=3)
