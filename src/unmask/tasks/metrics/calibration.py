"""Calibration (Guo et al. 2017): is what is said with 80 % right in 80 % of the cases, and a temperature to mend it."""

from typing import NamedTuple

import numpy as np

from unmask.errors import UserError

BINS = 15
"""As Guo et al. have it (section 4)."""
TEMPERATURES = (0.01, 100.0)
"""Beyond these a model is all but certain of everything, or of nothing."""
_SIGNIFICANT = 3.84
"""Of a chi-squared with one degree of freedom, 5 % are above."""
_FEWEST = 5
"""With fewer of a kind, a chi-squared is no approximation."""
_FARTHEST = 1e6  # logits further below the highest count as this far: a probability of 0 either way, and finite


class ReliabilityBin(NamedTuple):
    """The predictions of about the same confidence."""

    confidence: float
    """Their mean confidence; the bin's middle if there are none."""
    accuracy: float
    """The share of them that is right; 0 if there are none."""
    count: int  # type: ignore[assignment]  # a tuple's own method of that name is of no use here


class Confidences:
    """How sure each prediction is, and whether it is right, in bins of equal width, closed above.

    Args:
        gold_N: the classes' numbers.
        probabilities_NC: of each class.
        bins: how many.
    """

    def __init__(self, gold_N: np.ndarray, probabilities_NC: np.ndarray, bins: int) -> None:
        if bins < 1:
            raise UserError(f"{bins} bins hold no predictions; take {BINS}.")
        self._n_bins = bins
        self._confidence_N = probabilities_NC.max(1).astype(float)
        self._right_N = (probabilities_NC.argmax(1) == gold_N).astype(float)
        edges = np.arange(bins + 1) / bins  # linspace has 0.6000000000000001 for 3/5, and 0.6 is to be at the edge
        self._bin_N = np.clip(np.searchsorted(edges, self._confidence_N) - 1, 0, bins - 1)

    def sums(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each bin the sum of confidences, the number of right predictions and the number of all."""
        bin_N, size = self._bin_N[indices], self._n_bins
        confidence = np.bincount(bin_N, self._confidence_N[indices], size)
        return confidence, np.bincount(bin_N, self._right_N[indices], size), np.bincount(bin_N, minlength=size)

    def error(self, indices: np.ndarray) -> float:
        """The expected calibration error of these examples."""
        confidence, right, _ = self.sums(indices)
        return float(np.abs(confidence - right).sum() / len(indices))


def expected_calibration_error(gold_N: np.ndarray, probabilities_NC: np.ndarray, bins: int = BINS) -> float:
    """The mean distance of confidence and accuracy over the bins, each weighted with its predictions (equation 3)."""
    _some(gold_N, probabilities_NC)
    return Confidences(gold_N, np.asarray(probabilities_NC), bins).error(np.arange(len(gold_N)))


def reliability(gold_N: np.ndarray, probabilities_NC: np.ndarray, bins: int = BINS) -> list[ReliabilityBin]:
    """Every bin from the least confidence to the most, for a reliability diagram (figure 1)."""
    _some(gold_N, probabilities_NC)
    sums = Confidences(gold_N, np.asarray(probabilities_NC), bins).sums(np.arange(len(gold_N)))
    found = []
    for number, (confidence, right, count) in enumerate(zip(*(of.tolist() for of in sums), strict=True)):
        empty = ReliabilityBin((number + 0.5) / bins, 0.0, 0)
        found.append(ReliabilityBin(confidence / count, right / count, count) if count else empty)
    return found


def fit_temperature(logits_NC: np.ndarray, gold_N: np.ndarray) -> float:
    """The temperature T for which softmax(logits / T) gives gold the greatest likelihood (section 4.2).

    The likelihood has one maximum in 1/T, found by bisection of its slope. There is none to find if no example tells
    against being surer (all have their gold class highest) or if all logits are equal: then it is 1, which changes
    nothing. It is kept within `TEMPERATURES`.
    """
    _some(gold_N, logits_NC)
    logits_NC = np.asarray(logits_NC, float)
    if np.isnan(logits_NC).any() or (logits_NC == np.inf).any():
        raise UserError("A temperature cannot be fitted to logits that are not numbers or infinite.")
    below_NC = np.maximum(logits_NC - logits_NC.max(1, keepdims=True), -_FARTHEST)
    gold_below_N = below_NC[np.arange(len(below_NC)), np.asarray(gold_N)]
    if not gold_below_N.any():
        return 1.0
    low, high = (-np.log(bound) for bound in reversed(TEMPERATURES))
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if _slope(below_NC, gold_below_N, np.exp(middle)) > 0 else (middle, high)
    return float(np.exp(-(low + high) / 2))


def cautious_temperature(logits_NC: np.ndarray, gold_N: np.ndarray) -> float:
    """Of all temperatures that these examples do not speak against, the one nearest to 1.

    Those are the 95 % that a likelihood-ratio test does not reject. The most likely one is a gamble where examples are
    few and have been looked at before, to choose the epoch: it made a model sure of what it hardly knew. Of many
    examples it is all but the same. It is 1 where right or wrong answers are too few for the test.
    """
    best = np.log(fit_temperature(logits_NC, gold_N))
    right = int((np.asarray(logits_NC).argmax(-1) == gold_N).sum())
    least = _log_likelihood(logits_NC, gold_N, best) - _SIGNIFICANT / 2
    if min(right, len(gold_N) - right) < _FEWEST or _log_likelihood(logits_NC, gold_N, 0.0) >= least:
        return 1.0
    near, far = best, 0.0
    for _ in range(60):
        middle = (near + far) / 2
        near, far = (middle, far) if _log_likelihood(logits_NC, gold_N, middle) >= least else (near, middle)
    return float(np.exp(near))


def _log_likelihood(logits_NC: np.ndarray, gold_N: np.ndarray, log_temperature: float) -> float:
    scaled_NC = np.asarray(logits_NC, float) / np.exp(log_temperature)
    below_NC = np.maximum(scaled_NC - scaled_NC.max(1, keepdims=True), -_FARTHEST)
    gold_below_N = below_NC[np.arange(len(below_NC)), np.asarray(gold_N)]
    return float((gold_below_N - np.log(np.exp(below_NC).sum(1))).sum())


def _slope(below_NC: np.ndarray, gold_below_N: np.ndarray, inverse_temperature: float) -> float:
    """The derivative of the mean negative log likelihood by the inverse temperature, which rises with it."""
    weights_NC = np.exp(below_NC * inverse_temperature)
    expected_N = (weights_NC * below_NC).sum(1) / weights_NC.sum(1)
    return float((expected_N - gold_below_N).mean())


def _some(gold_N: np.ndarray, numbers_NC: np.ndarray) -> None:
    if len(gold_N) != len(numbers_NC):
        raise UserError(f"There are {len(gold_N)} gold labels for {len(numbers_NC)} predictions; give one for each.")
    if not len(gold_N):
        raise UserError("There are no examples to calibrate with; at least one is needed.")
