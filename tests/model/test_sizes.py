"""The papers' parameter counts."""

from functools import partial

import numpy as np
import pytest

from unmask import preset
from unmask.config import SIZES
from unmask.model import Bert, Transformer

pytestmark = pytest.mark.backend


def zeros(variables):
    return {v.path: partial(np.zeros, tuple(v.shape), np.float32) for v in variables}


def count(family, size, head=None):
    config = preset(family, size)
    kind = Transformer if family == "transformer" else partial(Bert, head=head)
    model = kind(config, seed=0, weights=zeros)
    return sum(int(np.prod(v.shape)) for v in model.trainable_variables)


@pytest.mark.parametrize(
    ("family", "size", "head", "expected"),
    [
        ("bert", "tiny", "pooler", 4_385_920),  # Turc et al. 2019: 4.4 M
        ("bert", "mini", "pooler", 11_170_560),  # 11.3 M
        ("bert", "small", "pooler", 28_763_648),  # 29.1 M
        ("bert", "base", "pooler", 109_482_240),  # Devlin et al. 2018: 110 M
        ("bert", "large", "pooler", 335_141_888),  # 340 M
        ("roberta", "base", "mlm", 124_697_433),  # Liu et al. 2019: 125 M
        ("roberta", "large", "mlm", 355_412_057),  # 355 M
        ("transformer", "base", None, 63_082_496),  # Vaswani et al. 2017: 65 M
        ("transformer", "large", None, 214_245_376),  # the paper's "big": 213 M
    ],
)
def test_parameter_counts(family, size, head, expected):
    assert count(family, size, head) == expected


@pytest.mark.parametrize("family", ["bert", "roberta", "transformer"])
def test_sizes_grow(family):
    widths = [preset(family, size).d_model * preset(family, size).n_layers for size in SIZES]
    assert widths == sorted(widths)
