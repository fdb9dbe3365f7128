"""Which files of a dataset on Hugging Face's hub are a config and a split: by its card, else by their names."""

import glob
import posixpath
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any, NamedTuple, NoReturn

from unmask.data.source import KINDS, Source, ending_of, is_known, source_of
from unmask.errors import UserError
from unmask.sources import card_on_hub, from_hub, listed_on_hub

SPLITS = {"train", "validation", "valid", "dev", "test"}


def sources_of_dataset(text: str, endings: Collection[str], say: Callable[[str], None] | None) -> list[Source]:
    """The files of one split of a dataset on the hub: Parquet if there is any, else JSON lines, CSV, text."""
    name, *parts = text.removeprefix("hf:").split(":")
    parts = [part for part in parts if part and part != "default"]
    if len(parts) > 2:
        raise UserError(f"{text} has too many parts; write hf:owner/name:config:split.")
    names = listed_on_hub(name, kind="dataset")
    known = [file for file in sorted(map(PurePosixPath, names)) if is_known(file, endings)]
    configs = list(_configs_of(card_on_hub(name, names)))
    files = _of_card(name, known, parts, configs) if configs else _of_one_folder(name, _of_split(known, parts), parts)
    if not files:
        raise UserError(f"{text} has no file that can be read; look at its files on the hub, or name another split.")
    if say is not None:
        say(f"{text}: {len(files)} files, {files[0]}{' …' if len(files) > 1 else ''}.")
    # By their patterns, so that a shard that was never fetched is missed when the hub cannot be reached.
    wanted = {re.sub(r"-\d{5}-of-", "-?????-of-", glob.escape(str(file))) for file in files}
    folder = from_hub(name, kind="dataset", wanted=sorted(wanted))
    return [source_of(folder / file, f"hf:{name.partition('@')[0]}/{file}") for file in files]


class _Config(NamedTuple):
    """One of the tables of a dataset: a language, a task, a version."""

    name: str
    is_default: bool
    patterns: dict[str, list[str]]
    """Of the files of each split; of '' where the card leaves it to their names of which split they are."""


def _configs_of(card: dict[str, Any]) -> Iterator[_Config]:
    """What a dataset's card says under `configs:`."""
    told = [config for config in card.get("configs") or [] if isinstance(config, dict)]
    for config in told:
        name, patterns = str(config.get("config_name")), dict[str, list[str]]()
        entries = config.get("data_files") or "**"
        for entry in entries if isinstance(entries, list) else [entries]:
            split, paths = (entry.get("split", ""), entry.get("path")) if isinstance(entry, dict) else ("", entry)
            for path in paths if isinstance(paths, list) else [paths]:
                pattern = posixpath.normpath(posixpath.join(config.get("data_dir") or "", str(path)))
                patterns.setdefault(str(split), []).append(pattern)
        yield _Config(name, len(told) == 1 or name == "default" or config.get("default") is True, patterns)


def _of_card(
    name: str, files: list[PurePosixPath], parts: list[str], configs: Sequence[_Config]
) -> list[PurePosixPath]:
    """The files of a config and a split as the card has them; where it names no such split, their names tell."""
    fitting = [config for config in configs if config.name in parts] or [it for it in configs if it.is_default]
    if not fitting:
        _refuse_several(name, [config.name for config in configs], parts)
    chosen = fitting[0]
    rest = [part for part in parts if part != chosen.name]
    if patterns := chosen.patterns.get(":".join(rest) or "train"):
        return _best_kind([file for file in files if _fits(file, patterns)])
    patterns = [pattern for patterns in chosen.patterns.values() for pattern in patterns]
    return _of_split([file for file in files if _fits(file, patterns)], rest)


def _fits(file: PurePosixPath, patterns: Sequence[str]) -> bool:
    """Whether one of the patterns is of a file: `*` for anything in one name, `**` for folders too, or none."""
    for pattern in patterns:
        is_as_deep = "**" in pattern or pattern.count("/") == str(file).count("/")
        if is_as_deep and any(fnmatchcase(str(file), either) for either in (pattern, pattern.replace("**/", ""))):
            return True
    return False


def _of_split(files: list[PurePosixPath], parts: list[str]) -> list[PurePosixPath]:
    """The files with these parts in their names, whole if there are any; without a split those of train, or of none."""
    for part in parts:
        exact = [file for file in files if part in (*file.parts[:-1], _folder_of(file), _stem(file))]
        files = exact or [file for file in files if part in words_of_path(_path_without_ending(file))]
    if not any(part in SPLITS or part == _stem(file) for part in parts for file in files):
        splits = {file: _splits_in(file, parts) for file in files}
        files = [file for file in files if "train" in splits[file]] or [file for file in files if not splits[file]]
    return _best_kind(files)


def _of_one_folder(name: str, files: list[PurePosixPath], parts: list[str]) -> list[PurePosixPath]:
    """The files of a config, where no card tells configs from folders; those at the top come first."""
    folders = dict.fromkeys(map(_folder_of, files))
    if "" in folders:
        return [file for file in files if not _folder_of(file)]
    if len(folders) > 1:
        _refuse_several(name, list(folders), parts)
    return files


def _refuse_several(name: str, configs: Sequence[str], parts: Sequence[str]) -> NoReturn:
    """Several configs are different data, or the same in different forms: they are never read as one."""
    splits = [part for part in parts if words_of_path(part) & SPLITS]
    more = f" and {len(configs) - 20} more" if len(configs) > 20 else ""
    raise UserError(
        f"hf:{name} has several configs: {', '.join(configs[:20])}{more}; "
        f"name one, as in {':'.join(('hf:' + name, configs[0], *splits))}."
    )


def _best_kind(files: list[PurePosixPath]) -> list[PurePosixPath]:
    """Those of the kind that keeps most of what a table holds; a dataset may have the same rows in several."""
    kinds = [KINDS.get(ending_of(file)[0], "text") for file in files]
    best = next((kind for kind in ("parquet", "jsonl", "csv", "tsv") if kind in kinds), "text")
    return [file for file, kind in zip(files, kinds, strict=True) if kind == best]


def _path_without_ending(file: PurePosixPath) -> str:
    ending, packing = ending_of(file)
    return str(file)[: -len(f"{ending}.{packing}" if packing else ending) or None]


def _stem(file: PurePosixPath) -> str:
    """`data/train_r1-00000-of-00002.parquet` → train_r1, also with a hash of its content behind the number."""
    name = PurePosixPath(_path_without_ending(file)).name
    return re.sub(r"-\d+(?:-of-\d+(?:-[0-9a-f]{16})?)?$", "", name)


def words_of_path(text: str) -> set[str]:
    """The words in the path of a file: `data/train-00000-of-00002` → data, train, of; `train.fr` → train, fr."""
    return set(re.split(r"[^A-Za-z]+", text)) - {""}


def _splits_in(file: PurePosixPath, parts: Sequence[str]) -> set[str]:
    """The splits in the name of a file, leaving out the folders that the user named."""
    return words_of_path("/".join(piece for piece in (*file.parts[:-1], _stem(file)) if piece not in parts)) & SPLITS


def _folder_of(file: PurePosixPath) -> str:
    """The folder of a file's config, which holds its splits: `en/train/0.parquet`, `en/train-0.parquet` → en."""
    pieces = (*file.parts[:-1], _stem(file))
    depth = max((depth for depth, piece in enumerate(pieces) if words_of_path(piece) & SPLITS), default=0)
    return "/".join(pieces[:depth])
