"""Gaussian priors of coefficients, given by precision or covariance, and the ridge penalties they stand for.

A prior is kept as w = mean + T v with v ~ N(0, 1/scale): in v every prior is isotropic.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class CoefficientPrior(NamedTuple):
    """N(mean, T T' / scale).

    Attributes
    ----------
    mean : (p,) array
    root : (p, p) array T, or None for the identity
    scale : float
    """

    mean: np.ndarray
    root: np.ndarray | None
    scale: float

    def coordinates(self, W: np.ndarray) -> np.ndarray:
        """Rows mean + T v of coefficients from rows v."""
        return self.mean + (W if self.root is None else W @ self.root.T)

    def precision(self) -> Any:
        """What scikit-learn calls lambda: a number, or a (p, p) matrix."""
        if self.root is None:
            return self.scale
        return self.scale * np.linalg.pinv(self.root @ self.root.T, hermitian=True)


def gaussian_prior(mean: Any, precision: Any, covariance: Any, p: int) -> CoefficientPrior:
    """The prior of p coefficients from what the user gave.

    Parameters
    ----------
    mean : float or (p,) array
        Mean of the prior.
    precision : float, (p,) or (p, p) array
        Its precision: one for all, one each, or a full matrix. Not read if there is a covariance.
    covariance : float, (p,) or (p, p) array, or None
        Its covariance, which may be singular: some combinations are then known.
    p : int
        Number of coefficients.

    Returns
    -------
    Prior

    Examples
    --------
    >>> prior = gaussian_prior(0.0, [4.0, 1.0], None, 2)
    >>> prior.root.tolist(), prior.mean.tolist()
    ([[0.5, 0.0], [0.0, 1.0]], [0.0, 0.0])
    """
    centre = np.broadcast_to(np.asarray(mean, np.float64), (p,))
    name = "prior_precision" if covariance is None else "prior_covariance"
    given = np.asarray(precision if covariance is None else covariance, np.float64)
    if given.shape not in {(), (p,), (p, p)}:
        raise ValueError(f"{name} must be a number, ({p},) or ({p}, {p}), not {given.shape}")
    if given.ndim < 2:
        _check_definite(given > 0 if covariance is None else given >= 0, name)
        if given.ndim == 0 and given > 0:
            return CoefficientPrior(centre, None, float(given if covariance is None else 1 / given))
        each = np.broadcast_to(given, (p,))
        return CoefficientPrior(
            centre, np.diag(each**-0.5 if covariance is None else each**0.5), 1.0
        )
    if not np.allclose(given, given.T, rtol=1e-6, atol=1e-6 * np.abs(given).max()):
        raise ValueError(f"{name} is not symmetric")
    values, V = np.linalg.eigh(given)
    values = np.where(np.abs(values) < p * np.finfo(float).eps * values[-1], 0.0, values)
    _check_definite(values > 0 if covariance is None else values >= 0, name)
    return CoefficientPrior(centre, V * (values**-0.5 if covariance is None else values**0.5), 1.0)


def _check_definite(fine: np.ndarray, name: str) -> None:
    if not np.all(fine):
        what = "positive definite" if name == "prior_precision" else "positive semi-definite"
        raise ValueError(f"{name} must be {what}; for a nearly flat prior give a small precision")


def ridge_penalty(
    prior_precision: float, noise: float = 1.0, *, convention: str = "sum", n: float = 1.0
) -> float:
    r"""Penalty of ridge regression whose solution is the mode of the posterior.

    With :math:`y = Xw + \varepsilon`, noise of standard deviation :math:`\sigma` and a prior
    precision :math:`\tau^{-2}`, minus the log-posterior is
    :math:`\frac1{2\sigma^2}\lVert y - Xw\rVert^2 + \frac1{2\tau^2}\lVert w\rVert^2`. Which number
    is called lambda depends on how the loss is written:

    ============  ===================================================  ==========================
    convention    loss                                                 lambda
    ============  ===================================================  ==========================
    "sum"         :math:`\lVert r\rVert^2 + \lambda\lVert w\rVert^2`   :math:`\sigma^2 / \tau^2`
    "half"        half of both                                         :math:`\sigma^2 / \tau^2`
    "mean"        :math:`\lVert r\rVert^2/n+\lambda\lVert w\rVert^2`   :math:`\sigma^2/(n\tau^2)`
    "half mean"   half of both                                         :math:`\sigma^2/(n\tau^2)`
    "likelihood"  :math:`-\log p(y|w) + \lambda\lVert w\rVert^2`       :math:`1/(2\tau^2)`
    ============  ===================================================  ==========================

    `Ridge` here and in scikit-learn uses "sum". [000, 2.3; 001, 1.2.4; 002, 3.4.2; 004, 2.7]

    Parameters
    ----------
    prior_precision : float
        Precision of each coefficient, 1 / variance.
    noise : float
        Standard deviation of the noise.
    convention : {"sum", "half", "mean", "half mean", "likelihood"}
        How the loss is written.
    n : float
        Number of rows; only means depend on it.

    Returns
    -------
    float

    Examples
    --------
    >>> ridge_penalty(4.0, noise=0.5), ridge_penalty(4.0, noise=0.5, convention="mean", n=10)
    (1.0, 0.1)
    >>> ridge_penalty(4.0, convention="likelihood")
    2.0
    """
    lambdas = {
        "sum": noise**2 * prior_precision,
        "half": noise**2 * prior_precision,
        "mean": noise**2 * prior_precision / n,
        "half mean": noise**2 * prior_precision / n,
        "likelihood": prior_precision / 2,
    }
    if convention not in lambdas:
        raise ValueError(f"convention={convention!r} is none of {list(lambdas)}")
    return lambdas[convention]
