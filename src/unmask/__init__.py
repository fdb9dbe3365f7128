"""unmask: from plain text to a working text model, along Transformer → BERT → RoBERTa.

Importing this package loads no framework; the names below are imported when they are first used.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME_OF = {
    "load": "unmask.predict",
    "Predictor": "unmask.predict",
    "load_model": "unmask.checkpoint",
    "save_model": "unmask.checkpoint",
    "load_tokenizer": "unmask.text",
    "Tokenizer": "unmask.text",
    "ModelConfig": "unmask.config",
    "preset": "unmask.config",
    "UserError": "unmask.errors",
}

if TYPE_CHECKING:
    from unmask.checkpoint import load_model, save_model
    from unmask.config import ModelConfig, preset
    from unmask.errors import UserError
    from unmask.predict import Predictor, load
    from unmask.text import Tokenizer, load_tokenizer

__all__ = [
    "ModelConfig",
    "Predictor",
    "Tokenizer",
    "UserError",
    "__version__",
    "load",
    "load_model",
    "load_tokenizer",
    "preset",
    "save_model",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"unmask has no {name!r}; it has {', '.join(sorted(_HOME_OF))}")
    import importlib

    return getattr(importlib.import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
