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
    """What a test says of two models; printed, it is a sentence.

    Attributes
    ----------
    difference : score of the first less that of the second
    p_value : how often a difference at least as large is seen if both are equally good
    statistic : what the test computes
    test : its name
    interval : Interval of the difference, None if the test knows none
    """

    difference: float
    p_value: float
    statistic: float
    test: str
    interval: ConfidenceInterval | None = None

    def sentence(self, first: str = "the first", second: str = "the second") -> str:
        """The result in plain words.

        Parameters
        ----------
        first, second : str
            What to call the models.
        """
        luck = f"of equally good models, {100 * self.p_value:.2g} % would differ as much"
        if self.difference == 0:
            return f"{first} and {second} score the same ({self.test})"
        better, worse = (first, second) if self.difference > 0 else (second, first)
        verdict = f"{better} is better than {worse} by {abs(self.difference):.3g}"
        return f"{verdict}{self._between()}; {luck} ({self.test})"

    def _between(self) -> str:
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

    The plain paired t test takes folds for independent and finds differences where there are none.

    Parameters
    ----------
    first, second : (folds,) or (repeats, folds) arrays
        Scores of both models, greater is better, fold by fold.
    ratio : float, optional
        Test rows per training row; by default that of k folds, 1 / (k - 1).
    level : float
        Of the interval of the difference.

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
    half = float(t.ppf((1 + level) / 2, freedom)) * error
    p = float(2 * t.sf(abs(mean / error), freedom))
    ends = ConfidenceInterval(mean, mean - half, mean + half, level, name)
    return Comparison(mean, p, mean / error, name, ends)


def mcnemar_test(y: Any, first: Any, second: Any, *, level: float = 0.95) -> Comparison:
    """Compare two classifiers on the same test rows, by those that only one of them gets right.

    Under equal accuracy the rows that one gets right and the other wrong fall either way like a
    fair coin; the test is exact (binomial). The interval, Clopper and Pearson's, takes the number
    of such rows as given.

    Parameters
    ----------
    y, first, second : (n,) arrays
        True labels, and those that the two models predict.
    level : float
        Of the interval of the difference of accuracies.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> y = [1] * 20
    >>> found = mcnemar_test(y, [1] * 19 + [0], [1] * 12 + [0] * 7 + [1])
    >>> found.difference, round(found.p_value, 4)
    (0.3, 0.0703)
    """
    y, first, second = map(np.asarray, (y, first, second))
    wins = int(((first == y) & (second != y)).sum())
    losses = int(((first != y) & (second == y)).sum())
    name = "McNemar's exact test"
    apart, n = wins + losses, len(y)
    if apart == 0:
        return Comparison(0.0, 1.0, 0.0, name)
    share = error_interval(wins, apart, level=level, method="exact")
    low, high = ((2 * end - 1) * apart / n for end in (share.low, share.high))
    difference = (wins - losses) / n
    ends = ConfidenceInterval(difference, low, high, level, name)
    return Comparison(difference, float(binomtest(wins, apart).pvalue), float(wins), name, ends)


def wilcoxon_test(first: Any, second: Any) -> Comparison:
    """Compare scores on several data sets by the ranks of their differences (Wilcoxon).

    Meant for one score per data set: folds of one data set are not independent.

    Parameters
    ----------
    first, second : (m,) arrays
        Scores of both models, greater is better, set by set.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> found = wilcoxon_test([0.9, 0.8, 0.7, 0.95, 0.6], [0.8, 0.75, 0.68, 0.8, 0.59])
    >>> found.p_value
    0.0625
    """
    d = _differences(first, second)
    name = "Wilcoxon signed-rank test"
    if not d.any():
        return Comparison(0.0, 1.0, 0.0, name)
    found: Any = wilcoxon(d.ravel())
    return Comparison(float(d.mean()), float(found.pvalue), float(found.statistic), name)


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
    """Compare two models on the same test rows by any metric, drawing rows again and again.

    Parameters
    ----------
    metric : callable
        ``metric(y, predicted)``, greater is better.
    y, first, second : arrays of n rows
        True values, and what the two models predict.
    level : float
        Of the interval of the difference.
    method : {"percentile", "bca"}
        As in `bootstrap_interval`.
    draws : int
        How often rows are drawn.
    seed : int
        The same seed gives the same draws.

    Returns
    -------
    Comparison
        Its p-value is twice the share of draws on the other side of zero, and at least 2 / draws.
    """

    def gap(y: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
        return metric(y, a) - metric(y, b)

    d, low, high, drawn = bootstrap_metric(gap, (y, first, second), level, method, draws, seed)
    p = 2 * max(min(np.mean(drawn <= 0), np.mean(drawn >= 0)), 1 / draws)
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
    """Compare two models by five times two folds (Dietterich's 5x2 t test).

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
        Of the five halvings, which are the same for both models.

    Returns
    -------
    Comparison
    """
    halving = StratifiedKFold if is_classifier(first) else KFold
    cuts = [halving(2, shuffle=True, random_state=seed + i) for i in range(5)]
    a, b = (
        np.array([cross_val_score(model, X, y, scoring=scoring, cv=cut) for cut in cuts])
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
        Score of the first model less that of the second, for both halves of five halvings.

    Returns
    -------
    Comparison
    """
    d = np.asarray(differences, float)
    if d.shape != (5, 2):
        raise ValueError(f"5 halvings have differences of shape (5, 2), not {d.shape}")
    spread = np.sqrt(2 * d.var(axis=1).mean())
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = float(np.nan_to_num(d[0, 0] / spread, posinf=np.inf, neginf=-np.inf))
    p = float(2 * t.sf(abs(statistic), 5))
    return Comparison(float(d.mean()), p, statistic, "5x2 cross-validated t test")
