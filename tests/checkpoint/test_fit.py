"""The shapes that a folder must hold are those of the model that is built."""

import pytest

import hf_models
from unmask import preset
from unmask.checkpoint.fit import expected_shapes, fit, shown, times
from unmask.checkpoint.folder import stored_tensors, stored_variables
from unmask.checkpoint.names import place_of
from unmask.model import Bert, Transformer

pytestmark = pytest.mark.backend


def models():
    small = {"vocab_size": 30, "d_model": 8, "n_heads": 2, "d_ff": 12, "max_positions": 10}
    for family, head in hf_models.cases():
        if family in ("bert", "roberta"):
            yield Bert(preset(family, "tiny", **small, classes=("a", "b", "c")), head, seed=0)
    yield Bert(preset("roberta", "tiny", **small, norm="pre"), "mlm", seed=0)
    yield Transformer(preset("transformer", "tiny", **small), seed=0)


def test_expected_shapes_are_the_models_own():
    for model in models():
        expected = expected_shapes(model.config, model.head_name)
        stored = {name: tensor.shape for name, tensor in stored_tensors(model).items()}
        paths = {variable.path.partition("/")[2] for variable in stored_variables(model.variables)}
        assert paths == set(expected)
        for path, shape in expected.items():
            assert stored[place_of(f"model/{path}", model.config, model.head_name).name] == shape
        found = fit(model.config, model.head_name, stored)
        assert (found.missing, found.new, found.misshapen) == ([], [], [])
        assert set(found.unused) <= {"the sinusoids, which are computed"}


def test_for_messages():
    assert times((2, 3)) == "2 × 3"
    assert times(()) == "a single number"
    assert shown(["a", "b", "c"], 2) == "a, b and 1 more"
