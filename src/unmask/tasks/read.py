"""Reading comprehension: where in a text the answer to a question begins and ends (Devlin et al. 2018, 4.2 and 4.3).

A long text is read in windows, each with the question before it. A span's score is the sum of its first token's start
and its last token's end, the better of the windows that hold it; the score of no answer is that of the first token, the
least of all windows.
"""

import logging
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Listed
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from unmask.data.readers import Record
from unmask.errors import UserError
from unmask.tasks.metrics.answers import answer_scores, answer_statistic, best_null_threshold
from unmask.tasks.metrics.bootstrap import Statistic
from unmask.tasks.questions import Question, count_letters, mostly_chinese, read_question
from unmask.tasks.remarks import Remark
from unmask.tasks.spans import Span, cover, outermost, solid
from unmask.tasks.task import Task
from unmask.tasks.units import Unit, Window
from unmask.tasks.windows import Frame, cut, frame_of
from unmask.text import Encoding, Tokenizer

log = logging.getLogger("unmask")

_STRIDE = 128
_LONGEST, _LONGEST_CHINESE = 30, 50
_MOST = 0.995
"""Of the training answers so many are no longer than what is looked for."""
_N_BEST = 20


class Candidate(NamedTuple):
    """A span of the context that may be the answer."""

    text: str
    start: int
    """Its first character in the context."""
    end: int
    probability: float


@dataclass(frozen=True)
class ReadAnswer:
    """The answer to a question; the empty text if the model holds that there is none."""

    text: str
    start: int
    """Its first character in the context."""
    end: int
    probability: float
    """Among all spans, and no answer where that is possible, by their scores."""
    score_diff: float
    """The score of no answer minus that of the best span; above the threshold there is no answer."""
    n_best: tuple[Candidate, ...]
    """The likeliest spans, whether or not one of them is the answer."""


@dataclass(frozen=True)
class ReadUnit(Unit):
    """A question with a window over its context."""

    at: int
    """Where the window's tokens begin among the ids."""
    window: Span
    """First token of the context in the window, and end."""
    offsets_N2: np.ndarray
    """Of all tokens of the context, without white space; shared by its windows."""


class Read(Task[Question, ReadAnswer]):
    """Extractive reading comprehension.

    Settings: `impossible`, whether a question may have no answer; `null_threshold`, how much better the score of no
    answer must be than that of the best span; `max_answer_tokens` (None: as long as those of the first units that are
    made with answers; absent: as the language of a question has it); `n_best`; `chinese`, whether answers are measured
    by CMRC's rules (None: if most letters of the answers are Chinese).
    """

    name: ClassVar[str] = "read"
    head: ClassVar[str] = "read"
    metric: ClassVar[str] = "f1"

    def __init__(self, classes: tuple[str, ...] = (), settings: Mapping[str, Any] | None = None) -> None:
        defaults = {"impossible": False, "null_threshold": 0.0, "n_best": _N_BEST, "chinese": None}
        super().__init__(classes, {**defaults, **(settings or {})})
        for name in ("max_answer_tokens", "n_best"):
            if (most := self.settings.get(name)) is not None and most < 1:
                raise UserError(f"{name} is {most}; it must be 1 at least.")

    @classmethod
    def learn(cls, records: Iterable[Record], columns: Mapping[str, str], **options: Any) -> "Read":
        """The task as these records ask it: in Chinese or not, with questions that have no answer or without.

        Args:
            records: of the training data.
            columns: `question`, `context`, `answers`, and maybe `id`.
            options: `max_answer_tokens`, `n_best`, `chinese` instead of the defaults.
        """
        counts, n_impossible = [], 0
        for record in records:
            question, _ = read_question(record, columns, labelled=True)
            counts.append(count_letters(question))
            n_impossible += question.impossible
        if n_impossible == len(counts):
            raise UserError(f"None of the {len(counts)} training questions has an answer; read needs some that have.")
        chinese = mostly_chinese(counts)
        learned = {"impossible": n_impossible > 0, "chinese": chinese, "max_answer_tokens": None}
        return cls((), learned | {name: value for name, value in options.items() if value is not None})

    def examples(self, records: Iterable[Record], columns: Mapping[str, str], *, labelled: bool) -> list[Question]:
        """Records as questions; answers that do not stand where the data say are looked for, and counted."""
        questions, moved, lost = [], [], []
        n_answers = 0
        for record in records:
            question, n_moved = read_question(record, columns, labelled=labelled)
            questions.append(question)
            n_answers += len(question.answers)
            moved += [question.place] * n_moved
            lost += [question.place] * (bool(question.answers) and question.span is None)
        told = []
        if moved:
            told.append(
                f"{len(moved)} of {n_answers} answers were found at another offset than said (first: {moved[0]})"
            )
        if lost:
            told.append(
                f"{len(lost)} of {len(questions)} questions have answers that are not in their context (first: "
                f"{lost[0]}), where alone the model can look for them"
            )
        if told:
            log.warning("%s.", "; ".join(told))
        return questions

    def units(self, examples: Listed[Question], tokenizer: Tokenizer, window: Window) -> list[Unit]:
        """Each question with windows over its context, which share 128 tokens, or a third of a short window.

        The targets are the first and the last token of the answer, or 0 and 0 in a window that does not hold it whole.
        There are none for a question whose answer is not known or not in the context: leave such units out of training.
        A question of more than half a window is cut, so that the context has room.
        """
        frame = frame_of(tokenizer, 2)
        asked = _encoded(tokenizer, [example.question for example in examples])
        contexts = _encoded(tokenizer, [example.context for example in examples])
        offsets = {text: solid(text, encoding.offsets) for text, encoding in contexts.items()}
        longest = _longest_question(window, frame)
        units: list[Unit] = []
        lost: list[str] = []
        lengths: list[int] = []
        for number, example in enumerate(examples):
            texts = asked[example.question].ids[:longest], contexts[example.context].ids
            tokens = None if example.span is None else cover(offsets[example.context], *example.span)
            made = _windows(number, example, frame, window, texts, offsets[example.context], tokens)
            lengths += [] if tokens is None else [tokens[1] - tokens[0] + 1]
            lost += [example.place] * (example.span is not None and not made[0].targets)
            units += made
        if lengths and self.settings.get("max_answer_tokens", _LONGEST) is None:
            self.settings["max_answer_tokens"] = max(_LONGEST, int(np.quantile(lengths, _MOST, method="higher")))
        cut_at = [example.place for example in examples if len(asked[example.question].ids) > longest]
        blank = [example.place for example in examples if not (example.question.strip() and example.context.strip())]
        for kind, places, what in (
            ("cut", cut_at, f"questions have more than {longest} tokens and are cut there"),
            ("lost", lost, "answers fit into no window; a longer stride helps"),
            ("empty", blank, "questions are empty or have an empty context, and what is answered means nothing"),
        ):
            which = f"first: {places[0]}" if places else ""
            window.tell(Remark(kind=kind, n=len(places), of=len(examples), what=what, which=which))
        return units

    def answers(self, examples: Listed[Question], units: Listed[Unit], outputs: Listed[np.ndarray]) -> list[ReadAnswer]:
        """For each question the best span of its context, and the next best."""
        of_example: list[list[tuple[ReadUnit, np.ndarray]]] = [[] for _ in examples]
        for unit, logits_L2 in zip(units, outputs, strict=True):
            if not isinstance(unit, ReadUnit):
                raise TypeError("answers takes the units that `units` made.")
            of_example[unit.example].append((unit, np.asarray(logits_L2)))
        return [self._answer(example, windows) for example, windows in zip(examples, of_example, strict=True)]

    def _answer(self, example: Question, windows: list[tuple[ReadUnit, np.ndarray]]) -> ReadAnswer:
        scores_ND, null = span_scores(windows, self._longest(example))
        if not np.isfinite(scores_ND).any():
            return ReadAnswer("", 0, 0, 1.0, 0.0, ())
        best = float(scores_ND.max())
        top = max(best, null) if self.settings["impossible"] else best
        total = float(np.exp(scores_ND - top, dtype=np.float64).sum())
        total += float(np.exp(null - top)) if self.settings["impossible"] else 0.0
        offsets_N2 = windows[0][0].offsets_N2
        n_best = []
        for first, last, score in best_spans(scores_ND, self.settings["n_best"]):
            start, end = int(offsets_N2[first, 0]), int(offsets_N2[last, 1])
            n_best.append(Candidate(example.context[start:end], start, end, float(np.exp(score - top)) / total))
        if self.settings["impossible"] and null - best > self.settings["null_threshold"]:
            return ReadAnswer("", 0, 0, float(np.exp(null - top)) / total, null - best, tuple(n_best))
        return ReadAnswer(*n_best[0], null - best, tuple(n_best))

    def _longest(self, example: Question) -> int:
        """How many tokens an answer may have; in Chinese a character is one."""
        by_language = _LONGEST_CHINESE if self.in_chinese([example]) else _LONGEST
        return int(self.settings.get("max_answer_tokens") or by_language)

    def decide(self, examples: Listed[Question], units: Listed[Unit], outputs: Listed[np.ndarray]) -> None:
        """Sets the threshold of no answer to the one with the best F1 on these questions."""
        if not self.settings["impossible"]:
            return
        known = [number for number, example in enumerate(examples) if example.impossible or example.answers]
        answers = self.answers(examples, units, outputs)
        spans = [answers[number].n_best[0].text if answers[number].n_best else "" for number in known]
        gold = [examples[number].answers for number in known]
        f1_N = answer_scores(spans, gold, chinese=self.in_chinese(examples))[:, 1]
        scores_N = np.array([answers[number].score_diff for number in known])
        impossible_N = np.array([examples[number].impossible for number in known])
        self.settings["null_threshold"] = best_null_threshold(scores_N, f1_N, impossible_N)

    def tune(self, examples: Listed[Question], units: Listed[Unit], outputs: Listed[np.ndarray]) -> None:
        """Decides, and tells of a model that has learnt nothing but to be silent."""
        self.decide(examples, units, outputs)
        answers = self.answers(examples, units, outputs)
        if any(example.answers for example in examples) and not any(answer.text for answer in answers):
            log.warning(
                "None of the %d held-out questions is answered, though some have an answer: the model has learnt too "
                "little; give it more --epochs, a smaller --batch-size or more examples.",
                len(examples),
            )

    def statistic(self, examples: Listed[Question], answers: Listed[ReadAnswer]) -> Statistic:
        """`exact_match` and `f1` in per cent by SQuAD's rules, in Chinese by CMRC's; see `answer_metrics`."""
        gold = [example.answers for example in examples]
        return answer_statistic([answer.text for answer in answers], gold, chinese=self.in_chinese(examples))

    def in_chinese(self, examples: Listed[Question]) -> bool:
        """Whether answers are measured by CMRC's rules: as was learnt, or as these examples look."""
        if self.settings["chinese"] is not None:
            return bool(self.settings["chinese"])
        return mostly_chinese(count_letters(example) for example in examples)


def _encoded(tokenizer: Tokenizer, texts: list[str]) -> dict[str, Encoding]:
    """The encoding of each different text, without special tokens."""
    different = list(dict.fromkeys(texts))
    return dict(zip(different, tokenizer.encode_many(different, special=False), strict=True))


def _longest_question(window: Window, frame: Frame) -> int:
    """How many tokens of a question are read: half a window at most, and more than a stride is left for the context."""
    room = window.length - frame.size
    longest = min(room // 2, room - (window.stride or 0) - 1)
    if longest < 1:
        raise UserError(
            f"A window of {window.length} tokens with a stride of {window.stride or 0} has no room for a question, "
            f"its context and {frame.size} special tokens; take a longer one."
        )
    return longest


def _windows(
    number: int,
    example: Question,
    frame: Frame,
    window: Window,
    texts: tuple[list[int], list[int]],
    offsets_N2: np.ndarray,
    answer: Span | None,
) -> list[ReadUnit]:
    """The units of one question; without targets if the answer, first and last token, is in none of them."""
    question, context = texts
    room = window.length - frame.size - len(question)
    overlap = min(_STRIDE, window.length // 3, room // 2) if window.stride is None else window.stride
    windows, at = cut(len(context), room, overlap), frame.start_of(question)
    held = [answer is not None and start <= answer[0] and answer[1] < end for start, end in windows]
    units = []
    for (start, end), holds in zip(windows, held, strict=True):
        targets: dict[str, int] = {"start": 0, "end": 0} if any(held) or example.impossible else {}
        if answer is not None and holds:
            targets = {"start": answer[0] - start + at, "end": answer[1] - start + at}
        sequence = frame.around(question, context[start:end])
        units.append(ReadUnit(number, (sequence,), targets, at, (start, end), offsets_N2))
    return units


def span_scores(windows: list[tuple[ReadUnit, np.ndarray]], longest: int) -> tuple[np.ndarray, float]:
    """The scores of all spans of a context, and that of no answer.

    Args:
        windows: over the context, each with its logits_L2.
        longest: how many tokens a span may have.

    Returns:
        scores_ND: for each token as the first and each number of tokens after it; -inf where there is no such span.
        The score of no answer, inf without windows.
    """
    n = len(windows[0][0].offsets_N2) if windows else 0
    scores_ND = np.full((n, min(longest, n)), -np.inf, np.float32)
    null = np.inf
    for unit, logits_L2 in windows:
        start, end = unit.window
        logits_W2 = logits_L2[unit.at : unit.at + end - start].astype(np.float32)
        null = min(null, float(logits_L2[0, 0]) + float(logits_L2[0, 1]))
        band_WD = _band(logits_W2[:, 1], scores_ND.shape[1]) + logits_W2[:, :1]
        np.maximum(scores_ND[start:end], band_WD, out=scores_ND[start:end])
    if scores_ND.size:
        begins_N, finishes_N = outermost(windows[0][0].offsets_N2)
        scores_ND[~begins_N] = -np.inf
        scores_ND[_band(finishes_N.astype(np.float32), scores_ND.shape[1]) < 1] = -np.inf
    return scores_ND, null


def _band(values_N: np.ndarray, width: int) -> np.ndarray:
    """For each place the values from there on; -inf beyond the last."""
    padded = np.concatenate([values_N, np.full(max(0, width - 1), -np.inf, values_N.dtype)])
    return sliding_window_view(padded, width) if width else np.zeros((len(values_N), 0), values_N.dtype)


def best_spans(scores_ND: np.ndarray, n_best: int) -> list[tuple[int, int, float]]:
    """The best spans: first token, last token, score; of two as good the earlier and shorter."""
    flat = scores_ND.reshape(-1)
    n_best = min(n_best, len(flat))
    least = np.partition(flat, len(flat) - n_best)[len(flat) - n_best]
    candidates = np.flatnonzero((flat >= least) & np.isfinite(flat))
    chosen = candidates[np.argsort(-flat[candidates], kind="stable")][:n_best]
    firsts, more = np.divmod(chosen, scores_ND.shape[1])
    return [(int(i), int(i + d), float(flat[place])) for i, d, place in zip(firsts, more, chosen, strict=True)]
