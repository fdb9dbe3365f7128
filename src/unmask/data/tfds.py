"""Rows of TensorFlow Datasets, where that package is installed."""

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

from unmask.errors import UserError


def tfds_rows(name: str) -> Iterator[dict[str, Any]]:
    """The rows of `tfds:name[/config][:split]`, classes by their names; without a split, those of train."""
    dataset, _, split = name.removeprefix("tfds:").partition(":")
    try:
        tfds: Any = importlib.import_module("tensorflow_datasets")
    except ImportError:
        raise UserError(
            f"{name} needs the package tensorflow-datasets; run: pip install tensorflow-datasets."
        ) from None
    try:
        rows, info = tfds.load(dataset, split=split or "train", with_info=True)
    except Exception as error:  # noqa: BLE001  (the package raises whatever its builders raise)
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(f"{name} cannot be loaded ({said}); write tfds:name[/config][:split].") from None
    for row in tfds.as_numpy(rows):
        yield _plain(row, info.features)


def _plain(value: Any, feature: Any) -> Any:
    """NumPy's values as Python's; the number of a class as its name."""
    if isinstance(value, Mapping):  # the feature is a dictionary too, or a sequence of one, and both know their keys
        return {key: _plain(inner, feature[key]) for key, inner in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list):
        return [_plain(inner, feature) for inner in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    names = getattr(feature, "names", None)
    if names and isinstance(value, int):
        return names[value] if 0 <= value < len(names) else None  # -1 stands where a label is kept secret
    return value
