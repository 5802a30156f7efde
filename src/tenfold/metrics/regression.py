"""Regression metrics: squared and absolute error, R^2, explained variance, Poisson deviance.

Of several targets each has its own value, and the mean of them is given, as in scikit-learn. R^2
comes from moments about the mean, which merge without cancelling.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy

from tenfold.engine.chunk import Chunk
from tenfold.metrics.base import MeanLoss, Metric
from tenfold.stats.moments import ClassMoments, class_moments


class SquaredError(MeanLoss):
    """Mean of (y - prediction)^2."""

    name = "neg_mean_squared_error"
    wants = "values"

    def losses(self, y: np.ndarray, predicted: np.ndarray, k: int | None, /) -> np.ndarray:
        return _residuals(y, predicted) ** 2


class RootSquaredError(SquaredError):
    """Root of the mean squared error."""

    name = "neg_root_mean_squared_error"

    def finished(self, means: np.ndarray) -> np.ndarray:
        return np.sqrt(means)


class AbsoluteError(MeanLoss):
    """Mean of |y - prediction|."""

    name = "neg_mean_absolute_error"
    wants = "values"

    def losses(self, y: np.ndarray, predicted: np.ndarray, k: int | None, /) -> np.ndarray:
        return np.abs(_residuals(y, predicted))


class PoissonDeviance(MeanLoss):
    """Mean of 2 (y log(y / m) - y + m) for counts y and predicted means m."""

    name = "neg_mean_poisson_deviance"
    wants = "values"

    def losses(self, y: np.ndarray, predicted: np.ndarray, k: int | None, /) -> np.ndarray:
        truth, mean = _as_columns(y), _as_columns(predicted)
        if (truth < 0).any() or not (mean > 0).all():
            raise ValueError("the Poisson deviance needs targets >= 0 and predictions > 0")
        return 2 * (xlogy(truth, truth / mean) - truth + mean)


class MaxErrorStatistic(NamedTuple):
    """Largest error of each target, (q,)."""

    error: np.ndarray

    def merge(self, other: MaxErrorStatistic) -> MaxErrorStatistic:
        return MaxErrorStatistic(np.maximum(self.error, other.error))


class MaxError(Metric):
    """Largest |y - prediction| among the rows that weigh anything."""

    name = "neg_max_error"
    wants = "values"

    def part(
        self, y: np.ndarray, predicted: np.ndarray, w: Any, k: int | None, /
    ) -> MaxErrorStatistic:
        errors = np.abs(_residuals(y, predicted))
        if w is not None:
            errors = errors * (np.asarray(w)[:, None] > 0)
        return MaxErrorStatistic(errors.max(axis=0, initial=0.0))

    def value(self, statistic: MaxErrorStatistic) -> float:
        return -float(statistic.error.mean())


class R2Statistic(NamedTuple):
    """Moments of targets and of residuals beside them, as of one class; number of rows."""

    moments: ClassMoments
    rows: int


class R2(Metric):
    """Share of the squares of y about its mean that is explained.

    As in scikit-learn, a constant y has 1 if it is predicted exactly and 0 if not, and a single row
    has none: NaN.
    """

    name = "r2"
    wants = "values"

    def part(self, y: np.ndarray, predicted: np.ndarray, w: Any, k: int | None, /) -> R2Statistic:
        both = np.hstack([_as_columns(y), _residuals(y, predicted)])
        rows = Chunk(both, np.zeros(len(both), np.int64), w)
        return R2Statistic(class_moments(rows, 1), len(both))

    def value(self, statistic: R2Statistic) -> float:
        if statistic.rows < 2:
            return np.nan
        n, mean, scatter = (part[0] for part in statistic.moments)
        q = len(mean) // 2
        left, total = self.left(n, mean[q:], scatter[q:]), scatter[:q]
        constant = total <= 0
        explained = 1 - left / np.where(constant, 1, total)
        return float(np.where(constant, 1.0 * (left == 0), explained).mean())

    def left(self, n: float, mean: np.ndarray, scatter: np.ndarray) -> np.ndarray:
        """Squares that are not explained, from the moments of the residuals."""
        return scatter + n * mean**2


class ExplainedVariance(R2):
    """The same with residuals about their own mean: a constant shift costs nothing."""

    name = "explained_variance"

    def left(self, n: float, mean: np.ndarray, scatter: np.ndarray) -> np.ndarray:
        return scatter


def _as_columns(values: Any) -> np.ndarray:
    """Targets as columns, (n, q), in float64."""
    values = np.asarray(values, np.float64)
    return values.reshape(len(values), -1)


def _residuals(y: Any, predicted: Any) -> np.ndarray:
    """Truth less prediction, (n, q)."""
    truth, said = _as_columns(y), _as_columns(predicted)
    if truth.shape != said.shape:
        raise ValueError(f"targets have shape {np.shape(y)}, predictions {np.shape(predicted)}")
    return truth - said


REGRESSION_METRICS: list[Metric] = [
    R2(),
    ExplainedVariance(),
    SquaredError(),
    RootSquaredError(),
    AbsoluteError(),
    MaxError(),
    PoissonDeviance(),
]
