"""Confidence intervals of error rates, of any metric, and of the mean over folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import DegenerateDataWarning, binomtest, bootstrap, t

_PROPORTION_METHODS = ("wilson", "exact")  # as scipy calls them; "exact" is Clopper and Pearson's
_BOOTSTRAP_METHODS = {"bca": "BCa", "percentile": "percentile"}


class ConfidenceInterval(NamedTuple):
    """A value, and where it may lie.

    Attributes
    ----------
    value : what was measured
    low, high : ends of the interval
    level : share of such intervals that contain the truth
    method : how it was found
    """

    value: float
    low: float
    high: float
    level: float
    method: str

    def __str__(self) -> str:
        return (
            f"{self.value:.4g} ({100 * self.level:g} % interval {self.low:.4g} to {self.high:.4g}, "
            f"{self.method})"
        )


def error_interval(
    wrong: int, n: int, *, level: float = 0.95, method: str = "wilson"
) -> ConfidenceInterval:
    r"""Interval of an error rate: so many wrong out of n.

    Parameters
    ----------
    wrong, n : int
        Wrong answers, and all answers, on rows that no model has seen.
    level : float
        Share of such intervals that contain the truth.
    method : {"wilson", "exact", "hoeffding"}
        Wilson's is near the level, Clopper and Pearson's exact one never below it, Hoeffding's
        :math:`\pm \sqrt{\log(2 / (1 - \text{level})) / 2n}` is the widest and holds for any cost
        between 0 and 1.

    Returns
    -------
    Interval

    Examples
    --------
    >>> print(error_interval(8, 100))
    0.08 (95 % interval 0.04109 to 0.15, wilson)
    >>> print(error_interval(0, 100, method="exact"))
    0 (95 % interval 0 to 0.03622, exact)
    """
    if not 0 <= wrong <= n or n < 1:
        raise ValueError(f"{wrong} of {n} answers cannot be wrong")
    share = wrong / n
    if method == "hoeffding":
        half = sqrt(log(2 / (1 - _validate_level(level))) / (2 * n))
        return ConfidenceInterval(
            share, max(share - half, 0.0), min(share + half, 1.0), level, method
        )
    if method not in _PROPORTION_METHODS:
        raise ValueError(f"method={method!r}: there are {[*_PROPORTION_METHODS, 'hoeffding']}")
    ends = binomtest(int(wrong), int(n)).proportion_ci(_validate_level(level), method)
    return ConfidenceInterval(share, float(ends.low), float(ends.high), level, method)


def bootstrap_interval(
    metric: Callable[..., float],
    y: Any,
    *predicted: Any,
    level: float = 0.95,
    method: str = "bca",
    draws: int = 2000,
    seed: int = 0,
) -> ConfidenceInterval:
    """Interval of any metric of predictions, by drawing rows again and again.

    The metric is computed of as many rows, drawn with replacement, `draws` times; "bca" also leaves
    each row out once, to correct bias and skewness, and so asks for the metric n times more.

    Parameters
    ----------
    metric : callable
        ``metric(y, predicted)``, such as those of `sklearn.metrics`.
    y : (n,) array
        True values or labels.
    *predicted : arrays of n rows
        What the metric takes after y.
    level : float
        Share of such intervals that contain the truth.
    method : {"bca", "percentile"}
        Bias-corrected and accelerated, or plain quantiles of the draws.
    draws : int
        How often rows are drawn.
    seed : int
        The same seed gives the same draws.

    Returns
    -------
    Interval

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.metrics import mean_absolute_error
    >>> y = np.arange(50.0)
    >>> found = bootstrap_interval(mean_absolute_error, y, y + np.tile([0.0, 2.0], 25))
    >>> found.low < found.value == 1.0 < found.high
    True
    """
    value, low, high, _ = bootstrap_metric(metric, (y, *predicted), level, method, draws, seed)
    return ConfidenceInterval(value, low, high, level, f"bootstrap, {method}")


def bootstrap_metric(
    metric: Callable[..., float], columns: Any, level: float, method: str, draws: int, seed: int
) -> tuple[float, float, float, np.ndarray]:
    """The metric of all rows, both ends of its interval, and its values for rows drawn again."""
    if method not in _BOOTSTRAP_METHODS:
        raise ValueError(f"method={method!r}: there are {list(_BOOTSTRAP_METHODS)}")
    columns = [np.asarray(column) for column in columns]
    rows = np.arange(len(columns[0]))

    def of(rows: np.ndarray) -> float:
        return float(metric(*(column[rows] for column in columns)))

    options: dict[str, Any] = {
        "n_resamples": draws,
        "method": _BOOTSTRAP_METHODS[method],
        "rng": seed,
    }
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.simplefilter("ignore", DegenerateDataWarning)  # an error below says more
        found = bootstrap(
            (rows,), of, confidence_level=_validate_level(level), vectorized=False, **options
        )
    low, high = map(float, found.confidence_interval)
    if not np.isfinite([low, high]).all():
        raise ValueError(
            "the metric is the same, or undefined, for rows drawn again: there are too few rows, "
            "or no mistakes. For an error rate use error_interval, else try method='percentile'"
        )
    return of(rows), low, high, found.bootstrap_distribution


def fold_interval(
    scores: Any, *, ratio: float | None = None, level: float = 0.95
) -> ConfidenceInterval:
    r"""Interval of the mean score over folds, whose training sets overlap.

    .. math:: \bar s \pm t_{J-1} \sqrt{(1 / J + \rho) \, \hat\sigma^2}, \quad
              \rho = n_\text{test} / n_\text{train}

    Folds share most of their training rows, so their scores are no independent draws, and the plain
    :math:`\hat\sigma / \sqrt J` is too small; the added :math:`\rho` is Nadeau and Bengio's
    correction.

    Parameters
    ----------
    scores : (folds,) or (repeats, folds) array
        Score of each fold.
    ratio : float, optional
        Test rows per training row; by default that of k folds, 1 / (k - 1).
    level : float
        Share of such intervals that contain the truth, about.

    Returns
    -------
    Interval

    Examples
    --------
    >>> print(fold_interval([0.90, 0.92, 0.88, 0.91, 0.89]))
    0.9 (95 % interval 0.8706 to 0.9294, corrected t)
    """
    mean, error, freedom = corrected_mean(scores, ratio)
    half = float(t.ppf((1 + _validate_level(level)) / 2, freedom)) * error
    return ConfidenceInterval(mean, mean - half, mean + half, level, "corrected t")


def corrected_mean(scores: Any, ratio: float | None = None) -> tuple[float, float, int]:
    """Mean over folds, its corrected standard error, and the degrees of freedom."""
    scores = np.atleast_1d(np.asarray(scores, float))
    if scores.size < 2:
        raise ValueError("one score has no spread: give the scores of at least two folds")
    if ratio is None:
        if scores.shape[-1] < 2:
            raise ValueError("these are no folds: give ratio=, test rows per training row")
        ratio = 1 / (scores.shape[-1] - 1)
    variance = scores.var(ddof=1) * (1 / scores.size + ratio)
    return float(scores.mean()), float(np.sqrt(variance)), scores.size - 1


def _validate_level(level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"level={level} must lie between 0 and 1, such as 0.95")
    return level
