"""Figures of predictions by other people's code, or a second reading of the rules: none of it is shared with unmask."""

import re
import string
from collections import Counter

import numpy as np
from scipy.stats import pearsonr
from sklearn.metrics import accuracy_score, matthews_corrcoef


def accuracy(gold, predicted):
    return {"accuracy": 100 * float(accuracy_score(gold, predicted))}


def matthews(gold, predicted):
    return {"MCC": 100 * float(matthews_corrcoef(gold, predicted))}


def pearson(gold, predicted):
    return {"Pearson": 100 * float(pearsonr(gold, predicted).statistic)}


def entity_f1(gold, predicted):
    """Of all entities of all sentences; an I that continues nothing begins one, as conlleval and seqeval have it."""
    there, found = (
        {(number, *entity) for number, tags in enumerate(side) for entity in _entities(tags)}
        for side in (gold, predicted)
    )
    return {"entity F1": 200 * len(there & found) / max(1, len(there) + len(found))}


def _entities(tags):
    label, start = None, 0
    for place, tag in enumerate([*tags, "O"]):
        letter, _, kind = tag.partition("-")
        if label is not None and (letter != "I" or kind != label):
            yield start, place, label
            label = None
        if label is None and letter != "O":
            label, start = kind, place


def squad(gold, predicted):
    """Exact match and F1 over words, the best over the right answers (Rajpurkar et al. 2016, section 6.1)."""
    exact = [max(_words(text) == _words(answer) for answer in answers) for answers, text in _pairs(gold, predicted)]
    overlap = [
        max(_overlap(_words(text), _words(answer)) for answer in answers) for answers, text in _pairs(gold, predicted)
    ]
    return {"F1": 100 * float(np.mean(overlap)), "EM": 100 * float(np.mean(exact))}


def _pairs(gold, predicted):
    return list(zip(gold, predicted, strict=True))


def _words(text):
    kept = "".join(character for character in text.lower() if character not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", kept).split()


def _overlap(words, right):
    common = sum((Counter(words) & Counter(right)).values())
    return 2 * common / (len(words) + len(right)) if common else 0.0
