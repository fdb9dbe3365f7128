"""Predictor: a tokenizer, a model and a task that answer questions about texts.

Each task has three steps: texts become rows of token ids, the model computes, its numbers become answers. The first and
the last live in `tasks` and know no framework; here is the middle.
"""

import logging
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from unmask import backend as backends
from unmask import sources
from unmask.backend import Tensor
from unmask.data.columns import choose_columns
from unmask.data.readers import Record, Records
from unmask.data.roles import NO_COLUMN
from unmask.engines.keras import KerasEngine, shape_of
from unmask.errors import UserError
from unmask.files import read_json
from unmask.tasks import task_of
from unmask.tasks.choose import Chosen
from unmask.tasks.classify import Classified, MultiClassified
from unmask.tasks.fill import FilledText, Row, filled, read_masks
from unmask.tasks.read import ReadAnswer
from unmask.tasks.regress import Measured
from unmask.tasks.remarks import Tell, tell
from unmask.tasks.tag import TagAnswer
from unmask.tasks.task import Task, as_trained
from unmask.tasks.texts import TextExample, sequences_of
from unmask.tasks.units import Sequence as Tokens
from unmask.tasks.units import Unit, Window
from unmask.text import Tokenizer, load_tokenizer

if TYPE_CHECKING:
    from unmask.model import Bert, Transformer

log = logging.getLogger("unmask")

TASK_FILE = "task.json"
"""What a task must remember beside its labels: a scheme of tags, thresholds, how long texts were read."""

_TOKENS_AT_ONCE = 8192
_PREDICTIONS_AT_ONCE = 256
"""Each is a row of numbers as long as the vocabulary."""
_USUAL_LENGTH = 512

Answer = TypeVar("Answer")


def load(source: str | os.PathLike[str], backend: str | None = None) -> "Predictor":
    """Loads a model with its tokenizer and head, ready to predict.

    Args:
        source: a folder, `hf:owner/name` or `py:package/path`.
        backend: torch, jax or tensorflow; the first call in a process decides.
    """
    from unmask.checkpoint.folder import check_vocabulary, load_model, read_config  # noqa: PLC0415

    folder = sources.resolve(source)
    if not (folder / "config.json").is_file() and any((folder / name).exists() for name in ("run.json", "seeds")):
        raise UserError(f"{source} holds a run that has not ended; run its command again, which goes on to the end.")
    config, _ = read_config(folder)
    tokenizer = load_tokenizer(folder)
    check_vocabulary(tokenizer, config)
    settings = read_json(folder / TASK_FILE) if (folder / TASK_FILE).is_file() else {}
    settings |= {"pooling": _pooling(folder)}
    return Predictor(tokenizer, load_model(folder, backend=backend), settings, name=os.fspath(source))


def _pooling(folder: Path) -> str:
    """How a folder of sentence-transformers says that a text's vector is made; else the mean."""
    path = folder / "1_Pooling" / "config.json"
    return "first" if path.is_file() and read_json(path).get("pooling_mode_cls_token") else "mean"


class Predictor:
    """A tokenizer and a model with a head.

    Args:
        tokenizer: the model's own.
        model: a model with the head that the question needs.
        settings: what the model's folder says of its task.
        name: what messages call it.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        model: "Bert | Transformer",
        settings: Mapping[str, Any] | None = None,
        *,
        name: str = "This model",
    ) -> None:
        self.tokenizer, self.model, self.settings, self.name = tokenizer, model, dict(settings or {}), name
        config = model.config
        self.task = task_of(model.head_name, config.classes, config.problem, self.settings)
        self._likeliest = lru_cache(maxsize=8)(self._compile_likeliest)

    def __repr__(self) -> str:
        return f"Predictor({self.name!r}, head {self.model.head_name!r})"

    @cached_property
    def engine(self) -> KerasEngine:
        """What computes."""
        model: Any = self.model
        return KerasEngine(model, self.tokenizer.pad_id)

    # --- tasks -----------------------------------------------------------------------------------

    @overload
    def classify(self, texts: str, pairs: str | None = ..., **options: Any) -> Classified | MultiClassified: ...
    @overload
    def classify(
        self, texts: Sequence[str], pairs: Sequence[str] | None = ..., **options: Any
    ) -> list[Classified] | list[MultiClassified]: ...
    def classify(self, texts: Any, pairs: Any = None, **options: Any) -> Any:
        """The label of a text, or of each text of a list; with a model of several labels, all that are likely.

        Args:
            texts: one text, or a list of them.
            pairs: for a model of pairs, the second text or texts.
            options: `max_length`, the tokens that are read of a text; `stride`: what is longer is read in windows that
                share so many tokens.

        >>> load("my-model").classify("A joy to watch.").label  # doctest: +SKIP
        'positive'
        """
        return self._of_texts("classify", texts, pairs, options)

    @overload
    def regress(self, texts: str, pairs: str | None = ..., **options: Any) -> Measured: ...
    @overload
    def regress(self, texts: Sequence[str], pairs: Sequence[str] | None = ..., **options: Any) -> list[Measured]: ...
    def regress(self, texts: Any, pairs: Any = None, **options: Any) -> Any:
        """The number of a text or a pair; arguments as of `classify`."""
        return self._of_texts("regress", texts, pairs, options)

    @overload
    def tag(self, texts: str, **options: Any) -> TagAnswer: ...
    @overload
    def tag(self, texts: Sequence[str], **options: Any) -> list[TagAnswer]: ...
    def tag(self, texts: Any, **options: Any) -> Any:
        """The entities of a text, or of each text of a list, with their places; long texts are read in windows."""
        return self._of_texts("tag", texts, None, options)

    def answer(self, *, question: str, context: str, **options: Any) -> ReadAnswer:
        """The answer to a question from a context of any length, which is read in windows."""
        for what, text in (("question", question), ("context", context)):
            if not isinstance(text, str):
                raise UserError(
                    f"answer takes one question and one context, each a text, but the {what} is a "
                    f"{type(text).__name__}; for several call it in a loop, or take unmask predict --input."
                )
        values = {"id": "", "question": question, "context": context}
        columns = {name: name for name in values}
        return self.predict([Record(values, "The question")], columns, task="read", **options)[0]

    def choose(self, choices: Sequence[str], *, context: str = "", question: str = "", **options: Any) -> Chosen:
        """Which of the choices fits the question and the context."""
        _check_texts("Choices", choices)
        values = {"context": context, "question": question, "choices": list(choices)}
        columns = {name: name for name in values}
        return self.predict([Record(values, "The question")], columns, task="choose", **options)[0]

    def embed(self, texts: str | Sequence[str], *, pooling: str | None = None) -> np.ndarray:
        """A vector for a text, or one for each of several.

        It is the mean of the tokens' hidden states, or the first token's (`pooling="first"`); a folder of
        sentence-transformers says which of the two. Texts that are too long are cut, which is logged.
        """
        pooling = pooling or self.settings.get("pooling", "mean")
        if pooling not in ("mean", "first"):
            raise UserError(f"pooling is {pooling!r}; it may be 'mean' or 'first'.")
        if isinstance(texts, str):
            return np.asarray(self.embed([texts], pooling=pooling)[0])
        _check_texts("Texts", texts)
        examples = [TextExample(text, None, None, f"text {n}") for n, text in enumerate(texts, start=1)]
        window = Window(min(self.model.config.max_positions, _USUAL_LENGTH))
        sequences = sequences_of(examples, self.tokenizer, window, remedy="embed parts of them, and average")
        units = [Unit(n, (s[0],), {}) for n, s in enumerate(sequences)]
        vectors = self.engine.embeddings(units, pooling=pooling)
        return np.stack(vectors) if vectors else np.zeros((0, self.model.config.d_model), np.float32)

    def _of_texts(self, task: str, texts: Any, pairs: Any, options: Mapping[str, Any]) -> Any:
        single = isinstance(texts, str)
        if single:
            texts, pairs = [texts], None if pairs is None else [pairs]
        _check_texts("Texts", texts)
        if pairs is not None:
            _check_texts("Second texts", pairs)
        if pairs is not None and len(pairs) != len(texts):
            raise UserError(f"{len(texts)} texts came with {len(pairs)} second texts; each needs one.")
        rows = [{"text": text} for text in texts] if pairs is None else _both(texts, pairs)
        records = [Record(row, f"text {number}") for number, row in enumerate(rows, start=1)]
        columns = {"text": "text"} if pairs is None else {"text": "text", "pair": "pair"}
        self.task_for(task)  # another task's model is refused before anything is told of its texts
        self._tell_of_pairs(columns)
        answers = self.predict(records, columns, task=task, **options)
        return answers[0] if single else answers

    def predict(
        self,
        records: Sequence[Record],
        columns: Mapping[str, str],
        *,
        task: str | None = None,
        max_length: int | None = None,
        stride: int | None = None,
        done: Callable[[int], None] | None = None,
        tell: Tell = tell,
    ) -> list[Any]:
        """The answers to records, as a file gives them, in their order.

        Args:
            records: what is asked.
            columns: for each role of the task the column that has it.
            task: the task that the caller expects; another one's model is refused.
            max_length: the tokens that are read of a text at once; as in training if not given.
            stride: what is longer is read in windows that share so many tokens; as in training if not given.
            done: is told how many more rows were computed.
            tell: hears what is remarkable about the records, such as how many are cut; they are warnings if not given.
        """
        mine = self.task_for(task)
        examples = mine.examples(records, columns, labelled=False)
        units = mine.units(examples, self.tokenizer, self.window(max_length, stride, tell))
        return mine.answers(examples, units, self.engine.logits(units, done))

    def _tell_of_pairs(self, columns: Mapping[str, str]) -> None:
        """A model that learnt from single texts makes nothing of pairs, nor one of pairs of single texts."""
        trained, kinds = self.settings.get("columns"), ("single texts", "pairs of texts")
        if trained and ("pair" in trained) != ("pair" in columns):
            learnt, given = (kinds["pair" in roles] for roles in (trained, columns))
            log.warning("%s learnt from %s, but is given %s.", self.name, learnt, given)

    def task_for(self, name: str | None) -> Task[Any, Any]:
        """The model's task, if it is the one that is asked for and was trained."""
        if self.task is None or (name is not None and self.task.name != name):
            can = "no task" if self.task is None else self.task.name
            asked = f"not {name}" if name is not None else "nothing to predict"
            raise UserError(f"{self.name} was trained for {can}, {asked}; fine-tune a model for it first.")
        self._need_head(f"cannot {self.task.name}", self.task.head)
        return self.task

    def columns(self, records: Records, said: Mapping[str, str | None], *, labelled: bool) -> dict[str, str]:
        """For each role of the task the column: as was said, as in training, or guessed."""
        task = self.task_for(None)
        trained = as_trained(self.settings.get("columns", {}), records.may_be_said)
        if said.get("spans") is not None:  # in place of the tags that the training data had
            trained = {role: column for role, column in trained.items() if role not in ("tokens", "tags")}
        if task.head == "classify" and "pair" not in self.settings.get("columns", {"pair": ""}):
            trained["pair"] = NO_COLUMN  # a model of single texts guesses no second one
        wanted = {**trained, **{role: column for role, column in said.items() if column is not None}}
        chosen = choose_columns(task.name, records.names, records.sample, wanted, say=log.info, labelled=labelled)
        self._tell_of_pairs(chosen)
        return chosen

    def window(self, max_length: int | None, stride: int | None, tell: Tell = tell) -> Window:
        """How long texts are read: as was said, or as in training."""
        limit = self.model.config.max_positions
        usual = int(self.settings.get("length") or min(limit, _USUAL_LENGTH))
        length = usual if max_length is None else max_length
        task = self.task_for(None)
        learnt = self.settings.get("stride") if task.windowed else None
        return task.window(length, learnt if stride is None else stride, limit=limit, tell=tell)

    # --- filling masks ---------------------------------------------------------------------------

    def fill(self, text: str, *, top_k: int = 5) -> FilledText:
        """The likeliest tokens for each mask, and the text filled in.

        Each mask is predicted as if it were alone, the others staying masks: two masks beside each other need not get
        tokens that go together. In a text longer than the model reads, each mask is predicted from the tokens around
        it, as many as the model reads, which is logged.

        Args:
            text: a mask in it is written `<mask>` or `[MASK]`, whichever the model has.
            top_k: how many candidates for each mask.

        >>> load("my-roberta").fill("Paris is the <mask> of France.").filled  # doctest: +SKIP
        'Paris is the capital of France.'
        """
        if not isinstance(text, str):
            raise UserError(f"fill takes one text, but a {type(text).__name__} came; for several take fill_many.")
        return self.fill_many([text], top_k=top_k)[0]

    def fill_many(self, texts: Sequence[str], *, top_k: int = 5) -> list[FilledText]:
        """What `fill` gives for each text, computed together."""
        self._need_head("fills no masks", "mlm", "mlm+nsp")
        if isinstance(top_k, bool) or not isinstance(top_k, int) or not 1 <= top_k <= self.tokenizer.n_ids:
            raise UserError(f"top_k is {top_k}; it must lie between 1 and the {self.tokenizer.n_ids} tokens there are.")
        limit = self.model.config.max_positions
        masked = read_masks(texts, self.tokenizer, limit)
        for number, text in enumerate(masked, start=1):
            if text.n_tokens > limit:
                log.warning(
                    "Text %d has %d tokens, but this model reads %d; each mask is predicted from the %d around it.",
                    *(number, text.n_tokens, limit, limit),
                )
        ids_MK, probabilities_MK = self._at_masks([row for text in masked for row in text.rows], top_k)
        ends = np.cumsum([0, *(len(text.marks) for text in masked)])
        return [
            filled(text, ids_MK[start:end], probabilities_MK[start:end], self.tokenizer)
            for text, start, end in zip(masked, ends, ends[1:], strict=False)
        ]

    def _need_head(self, what_not: str, *heads: str) -> None:
        """A head that the folder lacks would be new and answer at random."""
        if self.model.head_name not in heads:
            raise UserError(
                f"{self.name} has the head {self.model.head_name}, which {what_not}; "
                f"take a model with the head {' or '.join(heads)}."
            )
        report = getattr(self.model, "report", None)
        if report is not None and report.new:
            raise UserError(f"{self.name} lacks weights of its head {self.model.head_name}; train it before use.")

    def _at_masks(self, rows: Sequence[Row], top_k: int) -> tuple[np.ndarray, np.ndarray]:
        """(ids_MK, probabilities_MK) of the likeliest tokens for all masks of all rows, in order."""
        from keras import ops  # noqa: PLC0415  (imports Keras)

        ends = np.cumsum([0, *(len(row.positions) for row in rows)])
        ids_MK, probabilities_MK = np.zeros((ends[-1], top_k), np.int64), np.zeros((ends[-1], top_k))
        for chosen in batches(rows):
            inputs = arrays([rows[i] for i in chosen], self.model, self.tokenizer.pad_id)
            answer = self._likeliest(top_k)(*inputs)
            probabilities_BPK, ids_BPK = (ops.convert_to_numpy(part) for part in answer)
            for row, i in enumerate(chosen):
                n_masks = len(rows[i].positions)
                ids_MK[ends[i] : ends[i + 1]] = ids_BPK[row, :n_masks]
                probabilities_MK[ends[i] : ends[i + 1]] = probabilities_BPK[row, :n_masks]
        return ids_MK, probabilities_MK

    def _compile_likeliest(self, top_k: int) -> Any:
        from keras import ops  # noqa: PLC0415  (imports Keras)

        def likeliest(ids_BL: Tensor, attend_BL: Tensor, predict_BP: Tensor) -> tuple[Tensor, Tensor]:
            model: Any = self.model
            logits = model(ids_BL, attend_BL=attend_BL, predict_BP=predict_BP, training=False)
            logits_BPV = logits[0] if self.model.head_name == "mlm+nsp" else logits
            probabilities_BPV = ops.softmax(ops.cast(logits_BPV, "float32"), axis=-1)
            # A model may have more embeddings than there are tokens.
            values_BPK, ids_BPK = ops.top_k(probabilities_BPV[..., : self.tokenizer.n_ids], top_k)
            return values_BPK, ids_BPK

        return backends.compiled(self.model, likeliest)


def batches(rows: Sequence[Row]) -> Iterator[list[int]]:
    """The numbers of rows to compute together: of like length, since padding is waste, and not too many."""
    chosen: list[int] = []
    for i in sorted(range(len(rows)), key=lambda i: len(rows[i].ids)):
        n_masks = max(len(rows[j].positions) for j in [*chosen, i])
        too_long = (len(chosen) + 1) * len(rows[i].ids) > _TOKENS_AT_ONCE
        if chosen and (too_long or (len(chosen) + 1) * n_masks > _PREDICTIONS_AT_ONCE):
            yield chosen
            chosen = []
        chosen.append(i)
    if chosen:
        yield chosen


def arrays(rows: Sequence[Row], model: Any, pad_id: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(ids_BL, attend_BL, predict_BP) of these rows; some more of each axis where each new shape would be compiled."""
    shape, n_masks = shape_of(model, pad_id), max(len(row.positions) for row in rows)
    found = shape.arrays([Unit(n, (Tokens(row.ids, [0] * len(row.ids)),), {}) for n, row in enumerate(rows)])
    if shape.fixed:
        n_masks = 1 << (n_masks - 1).bit_length()
    predict_BP = np.zeros((len(found["ids_BL"]), n_masks), np.int32)
    for b, row in enumerate(rows):
        predict_BP[b, : len(row.positions)] = row.positions
    return found["ids_BL"], found["attend_BL"], predict_BP


def _check_texts(what: str, texts: Any) -> None:
    if isinstance(texts, str | bytes | Mapping | set | frozenset) or not isinstance(texts, Collection):
        raise UserError(f"{what} must be a list of texts, but a {type(texts).__name__} came.")
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise UserError(f"{what} must be a list of texts, but number {number} is a {type(text).__name__}.")


def _both(texts: Sequence[str], pairs: Sequence[str]) -> list[dict[str, str]]:
    return [{"text": text, "pair": pair} for text, pair in zip(texts, pairs, strict=True)]
