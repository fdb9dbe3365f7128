"""Building a corpus: files → documents → ids → shards with a manifest. It can be killed at any moment and goes on."""

import errno
import hashlib
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from unmask.corpus.documents import Reading, read_source
from unmask.corpus.duplicates import ExactDuplicates, NearDuplicates
from unmask.corpus.feed import BATCH_CHARACTERS, START, Feed
from unmask.corpus.held_out import HeldOut, check_held_out, key_of
from unmask.corpus.inputs import Stopped, fingerprints, hash_of_stdin, outside, refuse_if_different, spool, stamp
from unmask.corpus.ledger import Ledger
from unmask.corpus.normalize import Form, check_form
from unmask.corpus.report import Tally
from unmask.corpus.shard_writer import ShardWriter
from unmask.corpus.tokenizing import Batch, Recipe, Tokenized, WorkerError, tokenized
from unmask.data.decode import Say, Seen
from unmask.data.shards import HELDOUT, TRAIN, Corpus, Document, id_type, manifest_of
from unmask.data.source import Kind, Source
from unmask.data.where import find_sources
from unmask.errors import UserError
from unmask.files import expanded, only_run_in, write_json
from unmask.progress import Progress
from unmask.text import Tokenizer
from unmask.text.words import has_rjieba, load_segmenter

__all__ = ["CorpusOptions", "Stopped", "build_corpus"]

_NEEDED = ("pad_token", "mask_token", "cls_token", "sep_token")
_STATE = ".build"


@dataclass(frozen=True, kw_only=True)
class CorpusOptions:
    """What makes one corpus another, besides its sources and the tokenizer."""

    kind: Kind | None = None
    """What all files are; None: what the endings of their names say."""
    text: str | None = None
    """The field or column of the text in JSON lines, CSV, TSV and Parquet; None: guessed."""
    encoding: str = "utf-8"
    encoding_errors: Literal["replace", "refuse"] = "replace"
    quotes: bool = True
    """Whether CSV and TSV quote fields that hold line ends or separators."""
    normalize: Form = "nfc"
    keep_duplicates: bool = False
    near_duplicates: float | None = None
    """The likeness from which on a document is left out, such as 0.8; None looks for exact duplicates only."""
    held_out: float = 0.01
    """A share below 1, or a number of documents."""
    seed: int = 0
    """Chooses what is held out."""
    shard_tokens: int = 1 << 24
    segmenter: str = "auto"
    """Cuts Chinese into words; see `unmask.text.words.load_segmenter`."""

    def __post_init__(self) -> None:
        self.reading()
        check_form(self.normalize)
        check_held_out(self.held_out)
        if self.shard_tokens < 1:
            raise UserError(f"A shard needs room for 1 token or more, not {self.shard_tokens}.")
        if not -(2**63) <= self.seed < 2**63:
            raise UserError(f"The seed {self.seed} does not fit into 64 bits.")
        if self.near_duplicates is not None:
            if not 0 < self.near_duplicates < 1:
                raise UserError(f"--near-duplicates is {self.near_duplicates}; it must lie between 0 and 1.")
            if self.keep_duplicates:
                raise UserError("--keep-duplicates and --near-duplicates contradict each other; choose one.")

    def reading(self) -> Reading:
        """How files are read."""
        return Reading(**{field.name: getattr(self, field.name) for field in fields(Reading)})


def build_corpus(
    sources: Sequence[str | PathLike[str]],
    tokenizer: Tokenizer,
    folder: str | PathLike[str],
    options: CorpusOptions | None = None,
    *,
    workers: int | None = None,
    save_every: float = 30.0,
    stop: Callable[[], bool] = lambda: False,
    say: Say | None = None,
) -> Corpus:
    """Builds a corpus, or goes on building it, or finds that it is finished.

    With several workers, a script that calls this must do so under `if __name__ == "__main__":`.

    Args:
        sources: files, folders, globs, `-` for standard input, or `hf:owner/name[:config][:split]`.
        tokenizer: makes the ids; a copy of it comes into the folder.
        folder: a new or empty one, or that of a build that was interrupted.
        options: what makes this corpus another than others.
        workers: processes that tokenize; None: one a core. The corpus is the same for any number.
        save_every: seconds after which progress is saved; so much work is lost at most if the process is killed.
        stop: is asked after each batch; if True, progress is saved and `Stopped` raised.
        say: is told of guesses, and that a build goes on or is finished.
    """
    options = options or CorpusOptions()
    workers = _cores() if workers is None else workers
    if workers < 1:
        raise UserError(f"{workers} workers can do no work; ask for 1 or more.")
    folder, say = expanded(folder), say or (lambda _: None)
    _check_tokenizer(tokenizer)
    found = outside(folder, find_sources(sources, spool=folder / _STATE / "stdin", say=say), say)
    with only_run_in(folder), _told_if_full(folder):
        identity: dict[str, Any] = {"options": _settled(options), "tokenizer": _hash_of(tokenizer)}
        if (folder / "manifest.json").is_file():
            return _finished(folder, found, identity, stop, say)
        with closing(Ledger(folder / _STATE / "ledger.sqlite", id_type(tokenizer.n_ids))) as ledger:
            identity["sources"] = _known_sources(ledger, folder, found, identity, options, stop, say)
            build = _Build(folder, ledger, tokenizer, found, identity, options)
            build.run(workers, save_every, stop)
        shutil.rmtree(folder / _STATE)
    return Corpus(folder)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check_tokenizer(tokenizer: Tokenizer) -> None:
    missing = []
    for role in _NEEDED:
        token = tokenizer.settings.get(role)
        token = token.get("content") if isinstance(token, dict) else token
        if token is None or tokenizer.rust.token_to_id(token) is None:
            missing.append(role)
    if missing:
        raise UserError(
            f"The tokenizer has no {', '.join(missing)}, without which nothing can be pretrained; "
            "train one with unmask tokenizer train, or name them in tokenizer_config.json."
        )


def _settled(options: CorpusOptions) -> dict[str, Any]:
    """The options with nothing left that another machine would settle otherwise."""
    segmenter = options.segmenter
    if segmenter == "auto":
        segmenter = "rjieba" if has_rjieba() else "none"
    load_segmenter(segmenter)  # refused now, if there is none
    return {**asdict(options), "segmenter": segmenter}


def _hash_of(tokenizer: Tokenizer) -> str:
    """SHA-256 of its tokenizer.json."""
    return hashlib.sha256(tokenizer.rust.to_str(pretty=True).encode()).hexdigest()


@contextmanager
def _told_if_full(folder: Path) -> Iterator[None]:
    """A full disk, as one sentence."""
    try:
        yield
    except (OSError, sqlite3.OperationalError) as error:
        number = getattr(error, "errno", None)
        if isinstance(error, sqlite3.OperationalError) and not (folder / _STATE).is_dir():
            raise UserError(f"{folder} was removed while it was being built; run the same command again.") from None
        told = ("disk is full", "disk I/O error", "free space", "requested and")  # SQLite, NumPy
        said = any(words in str(error) for words in told)
        if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) or (number is None and said):
            raise UserError(
                f"The disk of {folder} is full; make room and run the same command again: it goes on where it was."
            ) from None
        raise


def _finished(
    folder: Path, found: Sequence[Source], identity: dict[str, Any], stop: Callable[[], bool], say: Say
) -> Corpus:
    corpus = Corpus(folder)
    files = [source for source in found if source.name != "-"]
    seen = iter(fingerprints(files, {}, stop))
    sources = [hash_of_stdin(stop) if source.name == "-" else next(seen) for source in found]
    before = {
        "options": corpus.manifest["options"],
        "tokenizer": corpus.manifest["tokenizer_hash"],
        "sources": corpus.manifest["sources"],
    }
    refuse_if_different(folder, before, {**identity, "sources": sources})
    shutil.rmtree(folder / _STATE, ignore_errors=True)  # killed after the last file but one
    say(f"{folder} is finished already, from the same files with the same options.")
    return corpus


def _known_sources(
    ledger: Ledger,
    folder: Path,
    found: Sequence[Source],
    identity: dict[str, Any],
    options: CorpusOptions,
    stop: Callable[[], bool],
    say: Say,
) -> list[dict[str, Any]]:
    """Fingerprints of the files, which are looked into; if a build goes on, they must be what they were."""
    before = ledger.read("identity")
    for source in found:
        if source.name == "-":
            _spooled(source, stop, say)
    sources = fingerprints(found, ledger.read("stamps") or {}, stop)
    if before is not None:
        refuse_if_different(folder, before, {**identity, "sources": sources})
        say(f"Going on in {folder}.")
    else:
        _refuse_other_files(folder)
        ledger.write("identity", {**identity, "sources": sources})
    try:
        _look_into(found, options, say)
    except UserError:
        if before is None:
            _forget(folder, ledger)
        raise
    ledger.write("stamps", {stamp(source): known for source, known in zip(found, sources, strict=True)})
    ledger.commit()
    return sources


def _refuse_other_files(folder: Path) -> None:
    others = [path.name for path in folder.iterdir() if path.name not in (_STATE, ".lock")]
    if others:
        raise UserError(f"{folder} holds other files ({others[0]}); choose a new or an empty folder for --out.")


def _look_into(found: Sequence[Source], options: CorpusOptions, say: Say) -> None:
    """Refuses at once what would be refused after hours, or would cost what a build has done so far."""
    seen = Seen()
    for source in found:
        next(read_source(source, options.reading(), seen, say), None)


def _spooled(source: Source, stop: Callable[[], bool], say: Say) -> None:
    if source.path.is_file():
        say("Standard input was copied when the build began; that copy is used.")
    else:
        spool(source.path, stop)


def _forget(folder: Path, ledger: Ledger) -> None:
    """Leaves the folder as if nothing had been begun: other options, mended files and other input are welcome now."""
    ledger.connection.rollback()
    for name in (_STATE, TRAIN, HELDOUT):
        shutil.rmtree(folder / name, ignore_errors=True)


class _Build:
    """One build at work."""

    def __init__(
        self,
        folder: Path,
        ledger: Ledger,
        tokenizer: Tokenizer,
        sources: Sequence[Source],
        identity: dict[str, Any],
        options: CorpusOptions,
    ) -> None:
        self._folder, self._ledger, self._tokenizer = folder, ledger, tokenizer
        self._sources, self._identity, self._options = sources, identity, options
        self._near = None
        if options.near_duplicates is not None:
            self._near = NearDuplicates(ledger.connection, options.near_duplicates)
        self._held_out = HeldOut(options.held_out, ledger)
        self._writers = {
            split: ShardWriter(folder, split, ledger, tokenizer.n_ids, options.shard_tokens)
            for split in (TRAIN, HELDOUT)
        }
        self._tally = Tally.restored(ledger.read("tally"))
        self._position = ledger.read("position") or dict(START)

    def run(self, workers: int, save_every: float, stop: Callable[[], bool]) -> None:
        """Reads to the end and writes the manifest."""
        try:
            self._read(workers, save_every, stop)
            self._finish()
        except WorkerError:
            raise
        except UserError:  # files or options must change first, so what is done so far is of no use
            _forget(self._folder, self._ledger)
            raise

    def _read(self, workers: int, save_every: float, stop: Callable[[], bool]) -> None:
        exact = None if self._options.keep_duplicates else ExactDuplicates(self._ledger.connection)
        feed = Feed(self._sources, self._options.reading(), self._options.normalize, exact, self._position)
        recipe = Recipe(
            self._tokenizer.rust.to_str(),
            self._tokenizer.settings,
            self._identity["options"]["segmenter"],
            with_signatures=self._near is not None,
        )
        megabytes = sum(source["bytes"] for source in self._identity["sources"]) / 1e6
        room, saved = 2 * workers * BATCH_CHARACTERS, time.monotonic()
        work = tokenized(feed.batches(), recipe, workers, room)
        with closing(work), Progress("corpus", megabytes, "MB", done=self._position["raw"] / 1e6) as progress:  # type: ignore[type-var]
            for batch, made in work:
                is_new_shard = self._add(batch, made)
                progress.advance(batch.position["raw"] / 1e6 - progress.done, tokens=f"{self._tally.sums['tokens']:,}")
                is_stopped = stop()
                if is_new_shard or is_stopped or time.monotonic() - saved >= save_every:
                    self._save()
                    saved = time.monotonic()
                if is_stopped:
                    raise Stopped

    def _add(self, batch: Batch, made: Tokenized) -> bool:
        """A batch, in order; whether a shard was written."""
        shards = sum(len(writer.shards) for writer in self._writers.values())
        kept, begin = [], 0
        for i, (ordinal, end) in enumerate(zip(batch.ordinals, made.ends.tolist(), strict=True)):
            document = Document(made.ids[begin:end], made.begins[begin:end])
            begin = end
            if not len(document.ids):
                batch.counts["empty"] += 1
            elif self._near and made.signatures and not self._near.is_new(made.signatures[i], ordinal):
                self._tally.near_duplicates += 1
            else:
                kept.append(i)
                key = key_of(batch.digests[i], self._options.seed)
                for split, placed in self._held_out.place(key, ordinal, document):
                    self._writers[split].add(placed)
        for writer in self._writers.values():
            writer.settle()
        self._tally.add(batch, made, kept)
        self._position = batch.position
        return sum(len(writer.shards) for writer in self._writers.values()) > shards

    def _save(self) -> None:
        for writer in self._writers.values():
            writer.save()
        self._ledger.write("tally", self._tally.saved())
        self._ledger.write("position", self._position)
        self._ledger.commit()

    def _finish(self) -> None:
        self._check_unchanged()
        if self._tally.documents == 0:
            raise UserError("There is no text in these files, so there is no corpus to build.")
        for split, document in self._held_out.rest(self._tally.documents):
            self._writers[split].add(document)
        for writer in self._writers.values():
            writer.flush()
        if not self._writers[TRAIN].shards:
            raise UserError(f"--held-out {self._options.held_out} holds out every document; choose a smaller share.")
        self._tokenizer.save(self._folder)
        manifest = manifest_of(
            [*self._writers[TRAIN].shards, *self._writers[HELDOUT].shards],
            n_ids=self._tokenizer.n_ids,
            tokenizer_hash=self._identity["tokenizer"],
            sources=self._identity["sources"],
            options=self._identity["options"],
            report=self._tally.report(held_out=self._writers[HELDOUT].total()),
        )
        write_json(self._folder / "manifest.json", manifest)

    def _check_unchanged(self) -> None:
        stamps = self._ledger.read("stamps")
        for source in self._sources:
            if stamp(source) not in stamps:
                raise UserError(f"{source.name} changed while it was read; run the same command again.")
