"""Joint distribution functions of multinomial and Dirichlet rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betainc, gammaln, xlogy

_MAX_INTEGRATED_SHARES = 3  # with more, draws replace nested integrals
_DRAWS = 2**16


def multinomial_cdf(X: np.ndarray, trials: int, p: np.ndarray) -> np.ndarray:
    r"""P(all counts <= x) for each row x, (n_rows,).

    The counts are independent Poisson variables of rate trials * p_j, given that their sum is
    `trials`: the probability is a convolution of Poisson probabilities up to each x_j.

    Examples
    --------
    >>> multinomial_cdf(np.array([[2.0, 1.0], [1.0, 0.0]]), 2, np.array([0.5, 0.5])).tolist()
    [0.75, 0.0]
    """
    k = np.arange(trials + 1)
    pmf = np.exp(xlogy(k, trials * p[:, None]) - trials * p[:, None] - gammaln(k + 1))
    log_total = xlogy(trials, trials) - trials - gammaln(trials + 1)
    values = []
    for x in X:
        sums = np.eye(1, trials + 1)[0]
        for entry, probabilities in zip(x, pmf, strict=True):
            sums = np.convolve(sums, np.where(k <= entry, probabilities, 0.0))[: trials + 1]
        values.append(sums[trials] / np.exp(log_total))
    return np.minimum(np.array(values), 1.0)


def dirichlet_cdf(X: np.ndarray, a: np.ndarray) -> np.ndarray:
    """P(all shares <= x) for each row x, (n_rows,)."""
    if len(a) <= _MAX_INTEGRATED_SHARES:
        return np.array([_bounded_shares(x, a) for x in np.clip(X, 0, 1)])
    draws = np.random.default_rng(0).dirichlet(a, _DRAWS)
    return np.array([(draws <= x).all(axis=1).mean() for x in X])


def _bounded_shares(x: np.ndarray, a: np.ndarray) -> float:
    """P(all shares <= x): the first share is integrated out, the others share what is left."""
    from scipy.integrate import quad
    from scipy.stats import beta

    if x.sum() <= 1:
        return 0.0
    if len(a) == 1:
        return 1.0
    if len(a) == 2:
        low, high = betainc(a[0], a[1], [max(1 - x[1], 0.0), x[0]])
        return float(max(high - low, 0.0))
    first = beta(a[0], a[1:].sum())

    def rest(q: float) -> float:  # given the quantile q of the first share
        left = 1 - first.ppf(q)
        return _bounded_shares(np.minimum(x[1:] / max(left, 1e-300), 1.0), a[1:])

    low = max(1 - x[1:].sum(), 0.0)  # smaller first shares leave too much for the others
    ends = first.cdf([low, x[0]])
    kinks = [q for q in first.cdf(1 - x[1:]) if ends[0] < q < ends[1]]
    tol: dict[str, Any] = {"epsabs": 1e-9, "epsrel": 1e-8}
    return float(quad(rest, ends[0], ends[1], points=kinks or None, limit=100, **tol)[0])
