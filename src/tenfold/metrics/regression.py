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

    def transform_mean(self, means: np.ndarray) -> np.ndarray:
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
        target, mean = _as_columns(y), _as_columns(predicted)
        if (target < 0).any() or not (mean > 0).all():
            raise ValueError("the Poisson deviance needs targets >= 0 and predictions > 0")
        return 2 * (xlogy(target, target / mean) - target + mean)


class MaxErrorStatistic(NamedTuple):
    """Largest absolute error of each target, (n_targets,)."""

    error: np.ndarray

    def merge(self, other: MaxErrorStatistic) -> MaxErrorStatistic:
        return MaxErrorStatistic(np.maximum(self.error, other.error))


class MaxError(Metric):
    """Largest |y - prediction| among the rows of positive weight."""

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
    """Moments of the columns [targets, residuals], as of one class, and the number of rows."""

    moments: ClassMoments
    rows: int


class R2(Metric):
    """Coefficient of determination.

    As in scikit-learn, it is 1 for a constant y that is predicted exactly, else 0, and NaN for a
    single row.
    """

    name = "r2"
    wants = "values"

    def part(self, y: np.ndarray, predicted: np.ndarray, w: Any, k: int | None, /) -> R2Statistic:
        columns = np.hstack([_as_columns(y), _residuals(y, predicted)])
        rows = Chunk(columns, np.zeros(len(columns), np.int64), w)
        return R2Statistic(class_moments(rows, 1), len(columns))

    def value(self, statistic: R2Statistic) -> float:
        if statistic.rows < 2:
            return np.nan
        n, mean, scatter = (part[0] for part in statistic.moments)
        q = len(mean) // 2
        residual, total = self.residual_squares(n, mean[q:], scatter[q:]), scatter[:q]
        constant = total <= 0
        explained = 1 - residual / np.where(constant, 1, total)
        return float(np.where(constant, 1.0 * (residual == 0), explained).mean())

    def residual_squares(self, n: float, mean: np.ndarray, scatter: np.ndarray) -> np.ndarray:
        """Residual sum of squares, from the moments of the residuals."""
        return scatter + n * mean**2


class ExplainedVariance(R2):
    """R^2 with residuals about their own mean: a constant bias costs nothing."""

    name = "explained_variance"

    def residual_squares(self, n: float, mean: np.ndarray, scatter: np.ndarray) -> np.ndarray:
        return scatter


def _as_columns(values: Any) -> np.ndarray:
    """Targets as columns, (n_rows, n_targets), in float64."""
    values = np.asarray(values, np.float64)
    return values.reshape(len(values), -1)


def _residuals(y: Any, predicted: Any) -> np.ndarray:
    """Target minus prediction, (n_rows, n_targets)."""
    target, prediction = _as_columns(y), _as_columns(predicted)
    if target.shape != prediction.shape:
        raise ValueError(f"targets have shape {np.shape(y)}, predictions {np.shape(predicted)}")
    return target - prediction


REGRESSION_METRICS: list[Metric] = [
    R2(),
    ExplainedVariance(),
    SquaredError(),
    RootSquaredError(),
    AbsoluteError(),
    MaxError(),
    PoissonDeviance(),
]
