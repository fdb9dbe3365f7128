"""The engine: a unit's numbers do not depend on its company, its order or its padding."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import small_tasks
from unmask import load_model
from unmask.engines import keras as engines
from unmask.engines.keras import KerasEngine
from unmask.tasks.units import Sequence, Unit

pytestmark = pytest.mark.backend

N_IDS = small_tasks.tokenizer().n_ids
HEADS = ("classify", "tag", "read", "choose")
sequences = st.integers(3, 30).flatmap(
    lambda n: st.tuples(st.lists(st.integers(5, N_IDS - 1), min_size=n, max_size=n), st.integers(0, n))
)


def unit(number, *rows):
    return Unit(number, tuple(Sequence(ids, [0] * cut + [1] * (len(ids) - cut)) for ids, cut in rows), {})


@pytest.fixture(scope="module")
def engine_of(tmp_path_factory):
    made = {}

    def engine(head):
        if head not in made:
            made[head] = KerasEngine(load_model(small_tasks.write_model(tmp_path_factory.mktemp(head), head)), 0)
        return made[head]

    return engine


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("head", HEADS)
@given(data=st.data())
def test_bucketed_is_unbucketed(engine_of, head, data, monkeypatch):
    n = st.integers(1, 3) if head == "choose" else st.just(1)
    rows = data.draw(st.lists(n.flatmap(lambda n: st.lists(sequences, min_size=n, max_size=n)), min_size=1, max_size=6))
    units = [unit(number, *each) for number, each in enumerate(rows)]
    order = data.draw(st.permutations(range(len(units))))
    engine = engine_of(head)
    alone = [engine.logits([one])[0] for one in units]
    for most in (1, 40, 4096):
        monkeypatch.setattr(engines, "_TOKENS_AT_ONCE", most)
        together = engine.logits([units[i] for i in order])
        for i, found in zip(order, together, strict=True):
            assert found.shape == alone[i].shape
            np.testing.assert_allclose(found, alone[i], atol=1e-5)


def test_shapes_are_those_of_the_units(engine_of):
    units = [unit(0, ([5, 6, 7], 3)), unit(1, ([8] * 9, 4))]
    assert [found.shape for found in engine_of("classify").logits(units)] == [(2,), (2,)]
    assert [found.shape for found in engine_of("tag").logits(units)] == [(3, 2), (9, 2)]
    assert [found.shape for found in engine_of("read").logits(units)] == [(3, 2), (9, 2)]
    both = [unit(0, ([5, 6], 2), ([7], 1), ([9] * 4, 0)), unit(1, ([5], 1), ([6], 0))]
    assert [found.shape for found in engine_of("choose").logits(both)] == [(3,), (2,)]
    assert engine_of("classify").logits([]) == []


def test_it_tells_how_many_were_computed(engine_of, monkeypatch):
    monkeypatch.setattr(engines, "_TOKENS_AT_ONCE", 12)
    told = []
    engine_of("classify").logits([unit(n, ([5] * 4, 0)) for n in range(7)], told.append)
    assert sum(told) == 7
    assert len(told) == 3


def test_embeddings_are_the_first_state_or_the_mean(engine_of):
    """Against NumPy, from the hidden states that the encoder gives."""
    engine = engine_of("classify")
    units = [unit(0, ([5, 6, 7], 3)), unit(1, ([8, 9, 10, 11, 12], 2))]
    for which, found in (("first", lambda h: h[0]), ("mean", lambda h: h.mean(0))):
        for one, vector in zip(units, engine.embeddings(units, pooling=which), strict=True):
            (sequence,) = one.sequences
            hidden, _ = engine.model.encoder(
                np.asarray([sequence.ids]), segments_BL=np.asarray([sequence.segments]), training=False
            )
            from keras import ops

            np.testing.assert_allclose(vector, found(ops.convert_to_numpy(hidden)[0]), atol=1e-5)


def test_a_model_of_choices_has_vectors_of_texts_too(engine_of):
    units = [unit(0, ([5, 6, 7], 3)), unit(1, ([8, 9], 2))]
    found = engine_of("choose").embeddings(units, pooling="mean")
    assert [vector.shape for vector in found] == [found[0].shape] * 2
    assert found[0].ndim == 1
