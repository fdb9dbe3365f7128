"""Figures of reading comprehension by the official rules: SQuAD 2.0's for English, CMRC 2018's for Chinese.

SQuAD (Rajpurkar et al. 2016, 2018): without case, punctuation and articles, an answer is right as a whole (exact match)
or in the share of its words (F1), whichever of the gold answers it fits best. Version 2.0 differs from 1.1 only where
nothing is left of an answer: then F1 is 1 or 0 as the exact match is.

CMRC (Cui et al. 2019): without case and punctuation; F1 is that of the longest run of segments that both have, a
segment being a Chinese character or a word of anything else.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from unmask.errors import UserError
from unmask.tasks.metrics.bootstrap import Statistic, of_all

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")

# What CMRC's script takes out: not all punctuation. Its list has the two characters …… as one, which fits none.
_NO_CHINESE_PUNCTUATION = str.maketrans("", "", "-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』")
_HAN_OR_OTHER = re.compile(r"[\u4e00-\u9fa5]|[^\u4e00-\u9fa5]+")


def normalized(text: str) -> str:
    """An English answer without case, punctuation, articles and needless spaces: `The “U.S.” ` → `“us”`."""
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def exact_match(prediction: str, answers: Sequence[str]) -> float:
    """1 if the prediction is one of the answers, else 0; no answers mean that none should be given."""
    return float(normalized(prediction) in _english_gold(answers))


def f1(prediction: str, answers: Sequence[str]) -> float:
    """The best F1 of the prediction's words and an answer's; no answers mean that none should be given."""
    words = normalized(prediction).split()
    return max(_overlap(words, answer.split()) for answer in _english_gold(answers))


def _english_gold(answers: Sequence[str]) -> list[str]:
    return [answer for answer in map(normalized, answers) if answer] or [""]


def _overlap(words: list[str], answer: list[str]) -> float:
    if not words or not answer:
        return float(words == answer)
    return _f1((Counter(words) & Counter(answer)).total(), len(words), len(answer))


def _f1(common: int, predicted: int, gold: int) -> float:
    if not common:
        return 0.0
    precision, recall = common / predicted, common / gold
    return 2 * precision * recall / (precision + recall)


def without_chinese_punctuation(text: str) -> str:
    """A Chinese answer without case and the punctuation that CMRC leaves out."""
    return text.lower().strip().translate(_NO_CHINESE_PUNCTUATION)


def chinese_exact_match(prediction: str, answers: Sequence[str]) -> float:
    """1 if the prediction is one of the answers, else 0; no answers mean that none should be given."""
    return float(without_chinese_punctuation(prediction) in map(without_chinese_punctuation, answers or [""]))


def chinese_f1(prediction: str, answers: Sequence[str]) -> float:
    """The best F1 of the longest run of segments common to the prediction and an answer.

    As in CMRC's script an answer of punctuation alone has 0, whatever is predicted. CMRC has no questions without
    answers; here no answers mean that none should be given, and F1 is the exact match.
    """
    if not answers:
        return chinese_exact_match(prediction, answers)
    ours = segments(prediction)
    return max(_run_f1(ours, segments(answer)) for answer in answers)


def segments(text: str) -> list[str]:
    """Chinese characters one by one and words of anything else: `在Windows 95上` → `在 windows 95 上`."""
    found: list[str] = []
    for piece in _HAN_OR_OTHER.findall(without_chinese_punctuation(text)):
        found.extend(piece if "\u4e00" <= piece[0] <= "\u9fa5" else _treebank_words(piece))
    return found


def _run_f1(ours: list[str], theirs: list[str]) -> float:
    return _f1(longest_common_run(ours, theirs), len(ours), len(theirs))


def longest_common_run(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest part that both have without a gap."""
    longest, ends = 0, [0] * (len(other) + 1)
    for item in one:
        # Going backwards, ends[j] is still the last row's: the run that ends with one's last item and other[j - 1].
        for j in range(len(other), 0, -1):
            ends[j] = ends[j - 1] + 1 if other[j - 1] == item else 0
        longest = max(longest, *ends)
    return longest


# The Penn Treebank's way of parting words, which CMRC's script takes from NLTK: as much of it as lower-case text
# without CMRC's punctuation can meet.
_TREEBANK = (
    (re.compile(r"^\"|(?<=[ (\[{<])(?:\"|'')"), " `` "),
    (re.compile(r"(?<!\w)'(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)"), "' "),
    (re.compile(r"(?<=[^.])\.(?=[\])}>\"'» ]*$)"), " . "),
    (re.compile(r",(?!\d)"), " , "),
    (re.compile(r"\.{2,}|[;@#$%&?!()\[\]{}<>«»‘„‒–—―]"), r" \g<0> "),
    (re.compile(r"\"|''"), " '' "),
    (re.compile(r"(?<=[^'\s])('[smd]?|'ll|'re|'ve|n't)(?=\s|$)"), r" \1 "),
    (re.compile(r"\b(can(?=not\b)|gim(?=me\b)|gon(?=na\b)|got(?=ta\b)|lem(?=me\b)|wan(?=na(?!\S)))"), r"\1 "),
)


def _treebank_words(text: str) -> list[str]:
    for pattern, parted in _TREEBANK:
        text = pattern.sub(parted, text)
    return text.split()


def answer_scores(predictions: Sequence[str], answers: Sequence[Sequence[str]], *, chinese: bool) -> np.ndarray:
    """For each question the exact match and the F1 of its prediction, between 0 and 1."""
    if len(predictions) != len(answers):
        raise UserError(f"There are {len(predictions)} predictions for {len(answers)} questions; give one for each.")
    rules: tuple[Callable[[str, Sequence[str]], float], ...]
    rules = (chinese_exact_match, chinese_f1) if chinese else (exact_match, f1)
    scores = [[rule(*pair) for rule in rules] for pair in zip(predictions, answers, strict=True)]
    return np.array(scores, float).reshape(-1, 2)


def answer_metrics(predictions: Sequence[str], answers: Sequence[Sequence[str]], *, chinese: bool) -> dict[str, float]:
    """`exact_match` and `f1` in per cent; where some questions have no answer also those of the two kinds apart.

    These are `has_answer_exact_match` and `has_answer_f1` of the questions with an answer, if there are any, and
    `no_answer_accuracy`, the share of the others to which none was given.

    Args:
        predictions: for each question the answer found, empty if none was.
        answers: for each question those that count as right; none if it cannot be answered.
        chinese: take CMRC's rules, else SQuAD's.
    """
    return of_all(len(predictions), answer_statistic(predictions, answers, chinese=chinese))


def answer_statistic(predictions: Sequence[str], answers: Sequence[Sequence[str]], *, chinese: bool) -> Statistic:
    """`answer_metrics` of any of these questions."""
    scores_N2 = 100 * answer_scores(predictions, answers, chinese=chinese)
    impossible_N = np.array([not gold for gold in answers], bool)

    def statistic(indices: np.ndarray) -> dict[str, float]:
        scores, impossible = scores_N2[indices], impossible_N[indices]
        found = _named(scores, "")
        if not impossible_N.any():
            return found
        if not impossible.all():
            found |= _named(scores[~impossible], "has_answer_")
        return found | ({"no_answer_accuracy": float(scores[impossible, 0].mean())} if impossible.any() else {})

    return statistic


def _named(scores_N2: np.ndarray, prefix: str) -> dict[str, float]:
    exact, overlap = scores_N2.mean(0).tolist()
    return {f"{prefix}exact_match": exact, f"{prefix}f1": overlap}


def best_null_threshold(scores_N: np.ndarray, f1_of_best_N: np.ndarray, impossible_N: np.ndarray) -> float:
    """The threshold of the greatest mean F1: a question whose score is above it gets no answer.

    It lies midway between two scores, or 1 beyond the outermost; of several as good it is the nearest to 0, the
    threshold of a model that needs none.

    Args:
        scores_N: for each question the score of no answer minus that of the best answer.
        f1_of_best_N: the F1 of the best answer, as if it were given.
        impossible_N: true if no answer is right.
    """
    scores_N, impossible_N = np.asarray(scores_N, float), np.asarray(impossible_N, bool)
    if not scores_N.size:
        return 0.0
    if not np.isfinite(scores_N).all():
        raise UserError("A threshold cannot be found for scores that are not finite numbers.")
    distinct, places = np.unique(scores_N, return_inverse=True)
    # What it earns to answer a question rather than not, summed from the lowest score.
    earns_N = np.where(impossible_N, -1.0, np.asarray(f1_of_best_N, float))
    earned = np.concatenate([[0.0], np.bincount(places.reshape(-1), earns_N).cumsum()])
    middles = distinct[:-1] + (distinct[1:] - distinct[:-1]) / 2
    middles = np.where(middles < distinct[1:], middles, distinct[:-1])
    thresholds = np.concatenate([[distinct[0] - 1], middles, [distinct[-1] + 1]])
    best = thresholds[earned >= earned.max() - 1e-9 * len(scores_N)]
    return float(best[np.abs(best).argmin()])
