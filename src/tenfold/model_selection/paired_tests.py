"""Paired tests: which of two models is better on the same rows or folds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest, t, wilcoxon
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

from tenfold.model_selection.confidence_intervals import (
    ConfidenceInterval,
    bootstrap_metric,
    corrected_mean,
    error_interval,
)


@dataclass(frozen=True)
class Comparison:
    """Result of a test of two models; prints as a sentence.

    Attributes
    ----------
    difference : score of the first minus that of the second
    p_value : probability of a difference at least as large if both are equally good
    statistic : the test statistic
    test : name of the test
    interval : ConfidenceInterval of the difference, None if the test has none
    """

    difference: float
    p_value: float
    statistic: float
    test: str
    interval: ConfidenceInterval | None = None

    def sentence(self, first: str = "the first", second: str = "the second") -> str:
        """The result as a sentence.

        Parameters
        ----------
        first, second : str
            Names of the models.
        """
        chance = f"of equally good models, {100 * self.p_value:.2g} % would differ as much"
        if self.difference == 0:
            return f"{first} and {second} score the same ({self.test})"
        better, worse = (first, second) if self.difference > 0 else (second, first)
        verdict = f"{better} is better than {worse} by {abs(self.difference):.3g}"
        return f"{verdict}{self._format_interval()}; {chance} ({self.test})"

    def _format_interval(self) -> str:
        if self.interval is None:
            return ""
        low, high = sorted(np.sign(self.difference) * np.array(self.interval[1:3]))
        return f" ({100 * self.interval.level:g} % interval {low:.3g} to {high:.3g})"

    def __str__(self) -> str:
        return self.sentence()


def corrected_t_test(
    first: Any, second: Any, *, ratio: float | None = None, level: float = 0.95
) -> Comparison:
    r"""Compare scores on the same folds, with the variance corrected for overlapping training sets.

    .. math:: t = \bar d \big/ \sqrt{(1 / J + n_\text{test} / n_\text{train}) \, \hat\sigma_d^2}

    The uncorrected paired t test treats folds as independent and rejects too often.

    References
    ----------
    C. Nadeau and Y. Bengio (2003), "Inference for the generalization error", Machine Learning 52.

    Parameters
    ----------
    first, second : (folds,) or (repeats, folds) arrays
        Scores of both models, greater is better, per fold.
    ratio : float, optional
        Test rows per training row; by default that of k folds, 1 / (k - 1).
    level : float
        Confidence level of the interval of the difference.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> print(corrected_t_test([0.92, 0.95, 0.93, 0.96], [0.90, 0.92, 0.92, 0.92]))
    the first is better than the second by 0.025 (95 % interval -0.00638 to 0.0564); of equally good
    models, 8.5 % would differ as much (corrected resampled t test)
    """
    d = _differences(first, second)
    mean, error, freedom = corrected_mean(d, ratio)
    name = "corrected resampled t test"
    if error == 0:
        return Comparison(mean, float(mean == 0), np.copysign(np.inf, mean) if mean else 0.0, name)
    margin = float(t.ppf((1 + level) / 2, freedom)) * error
    p = float(2 * t.sf(abs(mean / error), freedom))
    interval = ConfidenceInterval(mean, mean - margin, mean + margin, level, name)
    return Comparison(mean, p, mean / error, name, interval)


def mcnemar_test(y: Any, first: Any, second: Any, *, level: float = 0.95) -> Comparison:
    """Compare two classifiers on the same test rows by McNemar's exact test.

    Under equal accuracy, the rows that only one classifier predicts correctly are split between
    them like a fair coin (binomial). The Clopper-Pearson interval is conditional on the number of
    such rows.

    Parameters
    ----------
    y, first, second : (n,) arrays
        True labels, and the predictions of the two models.
    level : float
        Confidence level of the interval of the difference of accuracies.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> y = [1] * 20
    >>> result = mcnemar_test(y, [1] * 19 + [0], [1] * 12 + [0] * 7 + [1])
    >>> result.difference, round(result.p_value, 4)
    (0.3, 0.0703)
    """
    y, first, second = map(np.asarray, (y, first, second))
    wins = int(((first == y) & (second != y)).sum())
    losses = int(((first != y) & (second == y)).sum())
    name = "McNemar's exact test"
    n_discordant, n = wins + losses, len(y)
    if n_discordant == 0:
        return Comparison(0.0, 1.0, 0.0, name)
    share = error_interval(wins, n_discordant, level=level, method="exact")
    low, high = ((2 * end - 1) * n_discordant / n for end in (share.low, share.high))
    difference = (wins - losses) / n
    interval = ConfidenceInterval(difference, low, high, level, name)
    return Comparison(
        difference, float(binomtest(wins, n_discordant).pvalue), float(wins), name, interval
    )


def wilcoxon_test(first: Any, second: Any) -> Comparison:
    """Compare scores on several data sets by Wilcoxon's signed-rank test.

    Meant for one score per data set: folds of one data set are not independent.

    Parameters
    ----------
    first, second : (m,) arrays
        Scores of both models, greater is better, per data set.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> result = wilcoxon_test([0.9, 0.8, 0.7, 0.95, 0.6], [0.8, 0.75, 0.68, 0.8, 0.59])
    >>> result.p_value
    0.0625
    """
    d = _differences(first, second)
    name = "Wilcoxon signed-rank test"
    if not d.any():
        return Comparison(0.0, 1.0, 0.0, name)
    result: Any = wilcoxon(d.ravel())
    return Comparison(float(d.mean()), float(result.pvalue), float(result.statistic), name)


def bootstrap_difference(
    metric: Callable[..., float],
    y: Any,
    first: Any,
    second: Any,
    *,
    level: float = 0.95,
    method: str = "percentile",
    draws: int = 2000,
    seed: int = 0,
) -> Comparison:
    """Compare two models on the same test rows by the bootstrap of any metric.

    Parameters
    ----------
    metric : callable
        ``metric(y, predicted)``, greater is better.
    y, first, second : arrays of n rows
        True values, and the predictions of the two models.
    level : float
        Confidence level of the interval of the difference.
    method : {"percentile", "bca"}
        As in `bootstrap_interval`.
    draws : int
        Number of resamples.
    seed : int
        Seed of the resamples.

    Returns
    -------
    Comparison
        Its p-value is twice the share of resamples on the other side of zero, at least 2 / draws.
    """

    def metric_difference(y: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
        return metric(y, a) - metric(y, b)

    d, low, high, resampled = bootstrap_metric(
        metric_difference, (y, first, second), level, method, draws, seed
    )
    p = 2 * max(min(np.mean(resampled <= 0), np.mean(resampled >= 0)), 1 / draws)
    name = "bootstrap of the difference"
    return Comparison(
        d, float(min(p, 1.0)), d, name, ConfidenceInterval(d, low, high, level, method)
    )


def _differences(first: Any, second: Any) -> np.ndarray:
    a, b = np.asarray(first, float), np.asarray(second, float)
    if a.shape != b.shape:
        raise ValueError(f"scores must belong in pairs, but have shapes {a.shape} and {b.shape}")
    return a - b


def five_by_two_test(
    first: Any, second: Any, X: Any, y: Any, *, scoring: Any = None, seed: int = 0
) -> Comparison:
    """Compare two models by five repetitions of two-fold cross-validation (5x2 t test).

    References
    ----------
    T. G. Dietterich (1998), "Approximate statistical tests for comparing supervised classification
    learning algorithms", Neural Computation 10.

    Parameters
    ----------
    first, second : models
        Cloned for each fold.
    X : array, sparse matrix or table
        The rows.
    y : array
        Their target.
    scoring : str or callable, optional
        As in scikit-learn; the models' own `score` by default.
    seed : int
        Seed of the five splits, which are the same for both models.

    Returns
    -------
    Comparison
    """
    splitter = StratifiedKFold if is_classifier(first) else KFold
    splits = [splitter(2, shuffle=True, random_state=seed + i) for i in range(5)]
    a, b = (
        np.array([cross_val_score(model, X, y, scoring=scoring, cv=split) for split in splits])
        for model in (first, second)
    )
    return five_by_two_from_differences(a - b)


def five_by_two_from_differences(differences: Any) -> Comparison:
    r"""Dietterich's 5x2 t test of the differences of scores, (5, 2).

    .. math:: t = d_{11} \Big/ \sqrt{\tfrac15 \sum_{i=1}^5 s_i^2}, \quad
              s_i^2 = (d_{i1} - \bar d_i)^2 + (d_{i2} - \bar d_i)^2

    with five degrees of freedom.

    Parameters
    ----------
    differences : (5, 2) array
        Score of the first model minus that of the second, for both folds of five splits.

    Returns
    -------
    Comparison
    """
    d = np.asarray(differences, float)
    if d.shape != (5, 2):
        raise ValueError(
            f"five splits into two folds have differences of shape (5, 2), not {d.shape}"
        )
    scale = np.sqrt(2 * d.var(axis=1).mean())
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = float(np.nan_to_num(d[0, 0] / scale, posinf=np.inf, neginf=-np.inf))
    p = float(2 * t.sf(abs(statistic), 5))
    return Comparison(float(d.mean()), p, statistic, "5x2 cross-validated t test")
