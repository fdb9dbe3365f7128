"""Sections of a reading's page: exact match and F1 by kind of question and length of context; the worst answers."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.report.evaluation import Section, Table, WorstError
from unmask.report.marks import Mark
from unmask.tasks.metrics.answers import answer_scores

# Where several begin at the same place the first that fits is taken: 什么时候 is a when, not a what.
_QUESTION_WORDS = {
    "why / 为什么": r"\bwhy\b|为什么|为何|为啥|缘何|為什麼|為何|緣何|什么原因|什麼原因",
    "when / 何时": r"\bwhen\b|(?:什么|什麼)(?:时候|時候|时间|時間)|何[时時年]|哪一?[年天日]|[几幾][年月日号號]",
    "where / 哪里": r"\bwhere\b|什么地方|什麼地方|哪[里裡裏儿兒]|何[处處地]",
    "who / 谁": r"\bwho(?:m|se)?\b|谁|誰|何人|哪位|什么人|什麼人|哪个人|哪個人",
    "how many / 多少": r"\bhow (?:many|much|old|long|far|often|large|tall|high)\b|多[少大长長久远遠高]|[几幾](?!乎)",
    "how / 如何": r"\bhow\b|怎么|怎麼|怎样|怎樣|如何",
    "which / 哪个": r"\bwhich\b|哪",
    "what / 什么": r"\bwhat\b|什么|什麼|甚麼|啥|何",
}
_ANY_QUESTION_WORD = re.compile("|".join(f"({pattern})" for pattern in _QUESTION_WORDS.values()), re.IGNORECASE)
_OTHER = "other"


@dataclass(frozen=True)
class ReadAnswer:
    """A question, its gold answers, and what the model answered."""

    place: str
    question: str
    context: str
    answers: Sequence[str]
    """The gold answers; none if the question cannot be answered."""
    starts: Sequence[int | None]
    """Where in the context each gold answer begins; None for one that is not in it."""
    predicted: str
    """Empty if the model says that there is no answer."""
    predicted_start: int | None = None
    """Where in the context the predicted answer begins."""
    probability: float | None = None
    """How sure the model is."""


def question_word(question: str) -> str:
    """The kind of a question by the first question word in it.

    >>> question_word("In which year did she die?"), question_word("他是什么时候出生的？")
    ('which / 哪个', 'when / 何时')
    """
    found = _ANY_QUESTION_WORD.search(question)
    return _OTHER if found is None else list(_QUESTION_WORDS)[(found.lastindex or 1) - 1]


def reading_sections(answers: Sequence[ReadAnswer], *, chinese: bool) -> list[Section]:
    """The sections for extractive reading comprehension; `chinese` says by which rules answers are compared."""
    if not answers:
        return []
    scores_N2 = _scores(answers, chinese=chinese)
    impossible_N = np.array([not answer.answers for answer in answers])
    word_N = np.array([question_word(answer.question) for answer in answers])
    lengths_N = np.array([len(answer.context) for answer in answers])
    sections: list[Section] = []
    if impossible_N.any():
        kinds = {"Answerable": ~impossible_N, "Unanswerable": impossible_N}
        sections += [_table("By kind", "Questions", kinds, scores_N2), _no_answers(answers)]
    words = {word: word_N == word for word in sorted(set(word_N.tolist()), key=lambda word: -(word_N == word).sum())}
    sections.append(_table("By question word", "Question word", words, scores_N2))
    return [*sections, _table("By length of context", "Characters", _by_length(lengths_N), scores_N2)]


def _scores(answers: Sequence[ReadAnswer], *, chinese: bool) -> np.ndarray:
    """Exact match and F1 of each answer, in per cent."""
    predictions, gold = [answer.predicted for answer in answers], [list(answer.answers) for answer in answers]
    return 100 * answer_scores(predictions, gold, chinese=chinese)


def _table(title: str, what: str, groups: dict[str, np.ndarray], scores_N2: np.ndarray) -> Table:
    rows = [(name, int(in_N.sum()), *scores_N2[in_N].mean(0).tolist()) for name, in_N in groups.items() if in_N.any()]
    return Table(title, [what, "Examples", "Exact match (%)", "F1 (%)"], rows)


def _no_answers(answers: Sequence[ReadAnswer]) -> Table:
    counts = np.zeros((2, 2), int)
    for answer in answers:
        counts[int(not answer.answers), int(not answer.predicted)] += 1
    rows = [(name, *row) for name, row in zip(("Answerable", "Unanswerable"), counts.tolist(), strict=True)]
    return Table("Answered or not", ["Questions", "An answer was given", "None was given"], rows)


def _by_length(lengths_N: np.ndarray) -> dict[str, np.ndarray]:
    """Up to four groups of about the same number of questions, from short contexts to long ones."""
    bounds = np.unique(np.quantile(lengths_N, [0.25, 0.5, 0.75], method="higher"))
    group_N = np.searchsorted(bounds, lengths_N)
    groups = {}
    for number in np.unique(group_N):
        inside = lengths_N[group_N == number]
        groups[f"{inside.min():,} to {inside.max():,}"] = group_N == number
    return groups


def reading_errors(answers: Sequence[ReadAnswer], *, chinese: bool) -> list[WorstError]:
    """Every answer that is not exactly right, that with the least F1 first; of equals the one that was surer."""
    errors = []
    for answer, (exact, f1) in zip(answers, _scores(answers, chinese=chinese).tolist(), strict=True):
        if exact < 100:
            sure = "" if answer.probability is None else f" ({answer.probability:.3f})"
            gold = " / ".join(dict.fromkeys(answer.answers)) or "(no answer)"
            predicted = (answer.predicted or "(no answer)") + sure
            marks = list(_marks(answer))
            error = WorstError(answer.place, answer.context, gold, predicted, f1, marks, answer.question)
            errors.append((f1, -(answer.probability or 0.0), error))
    return [error for _, _, error in sorted(errors, key=lambda item: item[:2])]


def _marks(answer: ReadAnswer) -> Iterable[Mark]:
    """The gold answers, those that overlap as one, and the predicted answer."""
    starts = zip(answer.starts, answer.answers, strict=True)
    places = [(start, start + len(text)) for start, text in starts if start is not None]
    gold: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if gold and start < gold[-1][1]:
            gold[-1] = (gold[-1][0], max(end, gold[-1][1]))
        else:
            gold.append((start, end))
    yield from (Mark(*place, "gold", "gold") for place in gold)
    if answer.predicted and answer.predicted_start is not None:
        yield Mark(answer.predicted_start, answer.predicted_start + len(answer.predicted), "predicted", "predicted")
