"""Files of tensors: safetensors, whole or in shards, read one tensor at a time and written atomically."""

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from unmask import backend
from unmask.errors import UserError
from unmask.files import sync

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
TOKENIZER_FILES = ("vocab.txt", "vocab.json", "merges.txt", "special_tokens_map.json", "added_tokens.json")
_FLOATS = ("F64", "F32", "F16", "BF16")


class TensorFiles:
    """The tensors of a model folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shapes: dict[str, tuple[int, ...]] = {}
        self._file_of: dict[str, Path] = {}
        self._type_of: dict[str, str] = {}
        for path in _files(folder):
            with _opened(path) as file:
                for name in file.keys():  # noqa: SIM118  (not a mapping)
                    header = file.get_slice(name)
                    self.shapes[name] = tuple(header.get_shape())
                    self._file_of[name], self._type_of[name] = path, header.get_dtype()

    def refuse_other_than_floats(self, wanted: Iterable[str]) -> None:
        """Weights are floating point; quantized files are not read."""
        for name in wanted:
            if self._type_of[name] not in _FLOATS:
                raise UserError(f"{name} in {self._file_of[name]} is {self._type_of[name]}, not floating point.")

    def read(self, name: str) -> np.ndarray:
        """One tensor as float32."""
        return backend.read_safetensor(self._file_of[name], name)

    def stored_bytes(self) -> int:
        """The size of all files together."""
        return sum(path.stat().st_size for path in set(self._file_of.values()))

    def types(self) -> list[str]:
        """The number formats in the files, such as F32 or BF16."""
        return sorted(set(self._type_of.values()))


def _files(folder: Path) -> list[Path]:
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    if (folder / INDEX).is_file():
        try:
            shards = sorted(set(json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"].values()))
            if any(Path(shard).name != shard for shard in shards):
                raise ValueError("a shard lies beside its index, nowhere else")
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            raise UserError(f"{folder / INDEX} is damaged: it must map the name of each tensor to a file.") from None
        missing = [shard for shard in shards if not (folder / shard).is_file()]
        if missing:
            few = ", ".join(missing[:3])
            raise UserError(f"{folder} lacks {len(missing)} of its {len(shards)} shards: {few}; copy them there.")
        return [folder / shard for shard in shards]
    pickled = sorted(path.name for path in folder.glob("*.bin"))
    if pickled:
        raise UserError(
            f"{folder} holds its weights as {pickled[0]}, a pickle; "
            f"convert it with: unmask import torch {folder} NEW-FOLDER"
        )
    raise UserError(
        f"{folder} has no {WEIGHTS}, so it holds no weights that unmask reads; if the model comes as pytorch_model.bin "
        "only, which is never fetched, download that and run: unmask import torch FOLDER NEW-FOLDER"
    )


@contextmanager
def _opened(path: Path) -> Iterator["safe_open"]:
    try:
        with safe_open(path, "numpy") as file:
            yield file
    except SafetensorError as error:
        raise UserError(f"{path} is truncated or no safetensors file ({error}); copy or download it again.") from None


def write_tensors(tensors: Mapping[str, np.ndarray], folder: Path, *, max_bytes: int) -> None:
    """Writes the tensors into one file, or into shards of at most `max_bytes` with an index."""
    try:
        _write(tensors, folder, _split(tensors, max_bytes))
    except SafetensorError as error:
        raise UserError(f"{folder.parent}: the weights cannot be written ({error}); is the disk full?") from None


def _write(tensors: Mapping[str, np.ndarray], folder: Path, shards: list[list[str]]) -> None:
    if len(shards) == 1:
        _save(dict(tensors), folder / WEIGHTS)
        return
    where: dict[str, str] = {}
    for number, names in enumerate(shards, start=1):
        file = f"model-{number:05d}-of-{len(shards):05d}.safetensors"
        _save({name: tensors[name] for name in names}, folder / file)
        where |= dict.fromkeys(names, file)
    total = sum(tensor.nbytes for tensor in tensors.values())
    index = {"metadata": {"total_size": total}, "weight_map": where}
    (folder / INDEX).write_text(json.dumps(index, indent=2), encoding="utf-8")


def _save(tensors: dict[str, np.ndarray], path: Path) -> None:
    """One file, with the permissions of any new one: safetensors would let nobody but its owner read it."""
    path.touch()
    mode = path.stat().st_mode
    save_file(tensors, path, metadata={"format": "pt"})
    path.chmod(mode)


def _split(tensors: Mapping[str, np.ndarray], max_bytes: int) -> list[list[str]]:
    shards: list[list[str]] = [[]]
    size = 0
    for name, tensor in tensors.items():
        if shards[-1] and size + tensor.nbytes > max_bytes:
            shards.append([])
            size = 0
        shards[-1].append(name)
        size += tensor.nbytes
    return shards


@contextmanager
def published_together(folder: Path) -> Iterator[Path]:
    """A scratch folder whose files move into `folder` when the block ends well; config.json is the last.

    A folder without config.json does not load, so whoever is killed in between leaves nothing that looks whole.
    Other files of `folder` stay, but for parts of a model that was there before.
    """
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file, so no model can be written there; name another folder.")
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    scratch = folder / ".saving"
    shutil.rmtree(scratch, ignore_errors=True)  # left by one who was killed
    scratch.mkdir()
    try:
        yield scratch
        _publish(scratch, folder)
    finally:
        for left in scratch.glob("*"):
            left.unlink()
        scratch.rmdir()
        if is_new and not any(folder.iterdir()):  # nothing came of it
            folder.rmdir()


def _publish(scratch: Path, folder: Path) -> None:
    new = sorted(scratch.iterdir(), key=lambda path: path.name == "config.json")
    for path in new:
        sync(path)
    (folder / "config.json").unlink(missing_ok=True)
    for old in _outdated(folder, {path.name for path in new}):
        old.unlink(missing_ok=True)
    for path in new:
        path.replace(folder / path.name)
    sync(folder)


def _outdated(folder: Path, new: set[str]) -> list[Path]:
    """Files of an earlier model or tokenizer that would be mistaken for parts of the new one."""
    old = [*folder.glob("model*.safetensors"), folder / INDEX]
    if "tokenizer.json" in new:
        old += [folder / name for name in TOKENIZER_FILES]
    return [path for path in old if path.name not in new]
