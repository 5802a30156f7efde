"""Confidence intervals of error rates, of any metric, and of the mean over folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import DegenerateDataWarning, binomtest, bootstrap, t

_PROPORTION_METHODS = ("wilson", "exact")  # SciPy's names; "exact" is Clopper-Pearson
_BOOTSTRAP_METHODS = {"bca": "BCa", "percentile": "percentile"}


class ConfidenceInterval(NamedTuple):
    """A value with its confidence interval.

    Attributes
    ----------
    value : the point estimate
    low, high : confidence limits
    level : confidence level
    method : name of the method
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
    r"""Confidence interval of an error rate: `wrong` errors in n predictions.

    Parameters
    ----------
    wrong, n : int
        Number of errors, and of predictions, on rows not used for training.
    level : float
        Confidence level.
    method : {"wilson", "exact", "hoeffding"}
        The coverage of Wilson's is near the level, that of the exact one (Clopper-Pearson) never
        below it; Hoeffding's :math:`\pm \sqrt{\log(2 / (1 - \text{level})) / 2n}` is the widest and
        holds for any loss between 0 and 1.

    Returns
    -------
    ConfidenceInterval

    Examples
    --------
    >>> print(error_interval(8, 100))
    0.08 (95 % interval 0.04109 to 0.15, wilson)
    >>> print(error_interval(0, 100, method="exact"))
    0 (95 % interval 0 to 0.03622, exact)
    """
    if not 0 <= wrong <= n or n < 1:
        raise ValueError(f"{wrong} of {n} answers cannot be wrong")
    rate = wrong / n
    if method == "hoeffding":
        margin = sqrt(log(2 / (1 - _validate_level(level))) / (2 * n))
        return ConfidenceInterval(
            rate, max(rate - margin, 0.0), min(rate + margin, 1.0), level, method
        )
    if method not in _PROPORTION_METHODS:
        raise ValueError(f"method={method!r}: there are {[*_PROPORTION_METHODS, 'hoeffding']}")
    limits = binomtest(int(wrong), int(n)).proportion_ci(_validate_level(level), method)
    return ConfidenceInterval(rate, float(limits.low), float(limits.high), level, method)


def bootstrap_interval(
    metric: Callable[..., float],
    y: Any,
    *predicted: Any,
    level: float = 0.95,
    method: str = "bca",
    draws: int = 2000,
    seed: int = 0,
) -> ConfidenceInterval:
    """Bootstrap confidence interval of any metric of predictions.

    The metric is computed on `draws` resamples of the rows; "bca" also leaves each row out once, to
    correct bias and skewness, which takes n more evaluations.

    Parameters
    ----------
    metric : callable
        ``metric(y, predicted)``, such as those of `sklearn.metrics`.
    y : array of shape (n_rows,)
        True values or labels.
    *predicted : arrays of n_rows rows
        Further arguments of the metric.
    level : float
        Confidence level.
    method : {"bca", "percentile"}
        Bias-corrected and accelerated, or quantiles of the resampled values.
    draws : int
        Number of resamples.
    seed : int
        Seed of the resamples.

    Returns
    -------
    ConfidenceInterval

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.metrics import mean_absolute_error
    >>> y = np.arange(50.0)
    >>> interval = bootstrap_interval(mean_absolute_error, y, y + np.tile([0.0, 2.0], 25))
    >>> interval.low < interval.value == 1.0 < interval.high
    True
    """
    value, low, high, _ = bootstrap_metric(metric, (y, *predicted), level, method, draws, seed)
    return ConfidenceInterval(value, low, high, level, f"bootstrap, {method}")


def bootstrap_metric(
    metric: Callable[..., float], columns: Any, level: float, method: str, draws: int, seed: int
) -> tuple[float, float, float, np.ndarray]:
    """The metric of all rows, its confidence limits, and its bootstrap distribution."""
    if method not in _BOOTSTRAP_METHODS:
        raise ValueError(f"method={method!r}: there are {list(_BOOTSTRAP_METHODS)}")
    columns = [np.asarray(column) for column in columns]
    rows = np.arange(len(columns[0]))

    def evaluate(rows: np.ndarray) -> float:
        return float(metric(*(column[rows] for column in columns)))

    options: dict[str, Any] = {
        "n_resamples": draws,
        "method": _BOOTSTRAP_METHODS[method],
        "rng": seed,
    }
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.simplefilter("ignore", DegenerateDataWarning)  # the error below is more specific
        result = bootstrap(
            (rows,), evaluate, confidence_level=_validate_level(level), vectorized=False, **options
        )
    low, high = map(float, result.confidence_interval)
    if not np.isfinite([low, high]).all():
        raise ValueError(
            "the metric is constant, or undefined, on the resamples: there are too few rows, or "
            "no errors. For an error rate use error_interval, else try method='percentile'"
        )
    return evaluate(rows), low, high, result.bootstrap_distribution


def fold_interval(
    scores: Any, *, ratio: float | None = None, level: float = 0.95
) -> ConfidenceInterval:
    r"""Confidence interval of the mean score over folds with overlapping training sets.

    .. math:: \bar s \pm t_{J-1} \sqrt{(1 / J + \rho) \, \hat\sigma^2}, \quad
              \rho = n_\text{test} / n_\text{train}

    Folds share most of their training rows, so their scores are dependent and the standard error
    :math:`\hat\sigma / \sqrt J` is too small; :math:`\rho` corrects it.

    References
    ----------
    C. Nadeau and Y. Bengio (2003), "Inference for the generalization error", Machine Learning 52.

    Parameters
    ----------
    scores : (folds,) or (repeats, folds) array
        Score of each fold.
    ratio : float, optional
        Test rows per training row; by default that of k folds, 1 / (k - 1).
    level : float
        Confidence level (approximate).

    Returns
    -------
    ConfidenceInterval

    Examples
    --------
    >>> print(fold_interval([0.90, 0.92, 0.88, 0.91, 0.89]))
    0.9 (95 % interval 0.8706 to 0.9294, corrected t)
    """
    mean, error, freedom = corrected_mean(scores, ratio)
    margin = float(t.ppf((1 + _validate_level(level)) / 2, freedom)) * error
    return ConfidenceInterval(mean, mean - margin, mean + margin, level, "corrected t")


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
