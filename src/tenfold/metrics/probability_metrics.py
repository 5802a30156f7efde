"""Metrics of probabilities: log loss, perplexity, the score of Brier."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.metrics.base import MeanLoss, Metric


class LogLoss(MeanLoss):
    """Mean of -log p(y | x), in nats; probabilities are kept off 0 and 1 by their rounding."""

    name = "neg_log_loss"
    wants = "probabilities"

    def losses(self, y: np.ndarray, predicted: np.ndarray, k: int | None, /) -> np.ndarray:
        least = np.finfo(predicted.dtype).eps
        said = np.take_along_axis(predicted, np.asarray(y)[:, None], axis=1)
        return -np.log(np.clip(said, least, 1 - least).astype(np.float64))


class Perplexity(LogLoss):
    """The exponential of the log loss: among how many equally likely classes one seems to guess."""

    name = "neg_perplexity"

    def finished(self, means: np.ndarray) -> np.ndarray:
        return np.exp(means)


class Brier(MeanLoss):
    """Mean squared distance of the probabilities from the truth; half of it for two classes."""

    name = "neg_brier_score"
    wants = "probabilities"

    def losses(self, y: np.ndarray, predicted: np.ndarray, k: int | None, /) -> np.ndarray:
        classes = np.arange(predicted.shape[1])
        apart = predicted.astype(np.float64) - (np.asarray(y)[:, None] == classes)
        half = 0.5 if len(classes) < 3 else 1.0
        return half * (apart**2).sum(axis=1, keepdims=True)


def perplexity(log_probabilities: Any, sample_weight: Any = None) -> float:
    """Exponential of minus the mean log-probability of what came: of words, of any tokens.

    A model that gives each of m equally likely words its due has perplexity m.

    Parameters
    ----------
    log_probabilities : array
        Natural logarithm of the probability of each thing that came.
    sample_weight : array, optional
        How often it came.

    Examples
    --------
    >>> import numpy as np
    >>> round(perplexity(np.log([0.25, 0.25, 0.25])), 12)
    4.0
    """
    logs = np.asarray(log_probabilities, np.float64)
    if not logs.size or np.isnan(logs).any() or (logs > 1e-9).any():
        raise ValueError("log-probabilities must be numbers, at least one and none above 0")
    return float(np.exp(-np.average(logs, weights=sample_weight)))


PROBABILITY_METRICS: list[Metric] = [LogLoss(), Perplexity(), Brier()]
