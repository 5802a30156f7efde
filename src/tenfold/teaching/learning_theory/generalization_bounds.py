r"""Generalization bounds of Hoeffding and of Vapnik and Chervonenkis, and measured gaps.

With probability at least :math:`1 - \delta` over the draw of n training rows, expected and
empirical error differ by no more than these bounds. They decrease as :math:`1 / \sqrt n` and are
often loose.

References: W. Hoeffding (1963), Probability inequalities for sums of bounded random variables;
V. Vapnik, A. Chervonenkis (1971), On the uniform convergence of relative frequencies of events to
their probabilities; T. Cover (1965), Geometrical and statistical properties of systems of linear
inequalities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, log, sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp
from sklearn.base import clone

_MAX_ROWS = 10**15


def hoeffding_bound(n: int, hypotheses: int = 1, delta: float = 0.05) -> float:
    r"""Bound of the gap of all of finitely many hypotheses, by Hoeffding's inequality.

    .. math:: \sqrt{\log(2 |H| / \delta) / (2 n)}

    Parameters
    ----------
    n : int
        Training rows.
    hypotheses : int
        Number of hypotheses, :math:`|H|`; 1 for a model that is fixed beforehand.
    delta : float
        Probability that the bound fails.

    Examples
    --------
    >>> round(hoeffding_bound(1000), 4), round(hoeffding_bound(1000, 100), 4)
    (0.0429, 0.0644)
    """
    _validate(n, delta)
    if hypotheses < 1:
        raise ValueError(f"hypotheses={hypotheses} must be at least 1")
    return sqrt((log(2 / delta) + log(hypotheses)) / (2 * n))


def hoeffding_sample_size(gap: float, hypotheses: int = 1, delta: float = 0.05) -> int:
    """Number of rows for which `hoeffding_bound` is at most `gap`.

    Parameters
    ----------
    gap : float
        Largest gap.
    hypotheses, delta
        As in `hoeffding_bound`.

    Examples
    --------
    >>> hoeffding_sample_size(0.05), hoeffding_sample_size(0.05, 100)
    (738, 1659)
    """
    return max(1, ceil((hoeffding_bound(1, hypotheses, delta) / gap) ** 2))


def sauer_growth(n: int, vc: int) -> float:
    r"""Log of Sauer's bound :math:`\sum_{i=0}^{d} \binom ni` on the labellings of n points.

    Parameters
    ----------
    n : int
        Number of points.
    vc : int
        Vapnik-Chervonenkis dimension d of the class.
    """
    return float(np.asarray(logsumexp(_log_choose(n, np.arange(min(vc, n) + 1)))))


def linear_growth(n: int, vc: int) -> float:
    r"""Log of the labellings :math:`2 \sum_{i=0}^{d-1} \binom{n-1}i` that hyperplanes can give.

    Cover's count, exact for n points in general position. In p columns hyperplanes have d = p + 1
    with an intercept, and d = p through the origin.

    Parameters
    ----------
    n : int
        Number of points.
    vc : int
        Vapnik-Chervonenkis dimension d.

    Examples
    --------
    Of the 16 labellings of four points of the plane, lines can give 14: all but the two XORs.

    >>> import numpy as np
    >>> round(np.exp(linear_growth(4, 3)))
    14
    """
    return log(2) + float(np.asarray(logsumexp(_log_choose(n - 1, np.arange(min(vc, n))))))


def vc_bound(
    n: int,
    vc: int,
    delta: float = 0.05,
    *,
    growth: Callable[[int, int], float] = sauer_growth,
) -> float:
    r"""Bound of the gap of all hypotheses of a class of finite Vapnik-Chervonenkis dimension.

    .. math:: \sqrt{\frac8n \log \frac{4 \, m(2n)}{\delta}}

    with the growth function m. Above 1 it is vacuous.

    Parameters
    ----------
    n : int
        Training rows.
    vc : int
        Vapnik-Chervonenkis dimension; p + 1 for linear classifiers of p columns.
    delta : float
        Probability that the bound fails.
    growth : callable
        Log of the growth function: `sauer_growth` holds for every class, `linear_growth` is exact
        for linear classifiers.

    Examples
    --------
    >>> round(vc_bound(100_000, 3), 4), round(vc_bound(100_000, 3, growth=linear_growth), 4)
    (0.056, 0.048)
    """
    _validate(n, delta)
    return sqrt(8 / n * (log(4 / delta) + growth(2 * n, vc)))


def vc_sample_size(
    gap: float,
    vc: int,
    delta: float = 0.05,
    *,
    growth: Callable[[int, int], float] = sauer_growth,
) -> int:
    """Number of rows for which `vc_bound` is at most `gap`.

    Parameters
    ----------
    gap : float
        Largest gap.
    vc, delta, growth
        As in `vc_bound`.

    Examples
    --------
    >>> n = vc_sample_size(0.1, 3)
    >>> vc_bound(n, 3) <= 0.1 < vc_bound(n - 1, 3)
    True
    """
    if gap <= 0:
        raise ValueError(f"gap={gap} must be positive")
    low, high = 0, 1
    while vc_bound(high, vc, delta, growth=growth) > gap:
        low, high = high, 2 * high
        if high > _MAX_ROWS:
            raise ValueError(f"gap={gap} needs more than {_MAX_ROWS:.0e} rows")
    while high - low > 1:
        middle = (low + high) // 2
        is_too_few = vc_bound(middle, vc, delta, growth=growth) > gap
        low, high = (middle, high) if is_too_few else (low, middle)
    return high


class GeneralizationGaps(NamedTuple):
    """Training and expected errors of fits to many training sets.

    Attributes
    ----------
    sizes : (n_sizes,) numbers of training rows
    empirical : (n_sizes, n_repeats) error on the training rows
    expected : (n_sizes, n_repeats) error on a large new set
    """

    sizes: np.ndarray
    empirical: np.ndarray
    expected: np.ndarray

    @property
    def gaps(self) -> np.ndarray:
        """Absolute difference of expected and empirical error, (n_sizes, n_repeats)."""
        return np.abs(self.expected - self.empirical)

    def quantile(self, delta: float = 0.05) -> np.ndarray:
        """The gap that is exceeded with probability delta, to compare with a bound, (n_sizes,)."""
        return np.quantile(self.gaps, 1 - delta, axis=1)

    @property
    def power(self) -> float:
        """Slope of log mean gap against log n: -1/2 for a decrease as 1 / sqrt(n)."""
        return float(np.polyfit(np.log(self.sizes), np.log(self.gaps.mean(axis=1)), 1)[0])


def measure_generalization_gap(
    model: Any,
    generator: Callable[[int, np.random.Generator], tuple[Any, np.ndarray]],
    sizes: Sequence[int],
    *,
    repeats: int = 50,
    fresh: int = 20_000,
    seed: int = 0,
) -> GeneralizationGaps:
    """Measure expected and empirical error of a classifier for growing training sets.

    Parameters
    ----------
    model : classifier
        Cloned for every training set.
    generator : callable
        ``generator(n, rng)`` gives new X and y.
    sizes : sequence of int
        Numbers of training rows.
    repeats : int
        Training sets of each size.
    fresh : int
        Rows of the set that expected errors are measured on.
    seed : int
        The same seed gives the same training sets.

    Returns
    -------
    GeneralizationGaps
    """
    X_new, y_new = generator(fresh, np.random.default_rng([seed, 1]))
    errors = np.empty((2, len(sizes), repeats))
    for i, n in enumerate(sizes):
        for repeat in range(repeats):
            X, y = generator(n, np.random.default_rng([seed, 2, n, repeat]))
            unfitted: Any = clone(model)
            fitted = unfitted.fit(X, y)
            for which, (rows, labels) in enumerate([(X, y), (X_new, y_new)]):
                errors[which, i, repeat] = np.mean(fitted.predict(rows) != labels)
    return GeneralizationGaps(np.asarray(sizes), *errors)


def _log_choose(n: int, k: np.ndarray) -> np.ndarray:
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


def _validate(n: int, delta: float) -> None:
    if n < 1 or not 0 < delta < 1:
        raise ValueError(f"n={n} must be positive, and delta={delta} lie between 0 and 1")
