"""The numbers that a model computes with."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def precision(policy: str) -> Iterator[None]:
    """Models that are made within it have this policy of Keras for good; what is made afterwards has not."""
    import keras  # noqa: PLC0415  (after the backend is chosen)

    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)
