"""Gaussian priors of coefficients and the ridge penalties that they are equivalent to.

A prior is stored as w = mean + T v with v ~ N(0, 1/scale): in v every prior is isotropic.
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
        """Prior precision: a number, or a (n_features, n_features) matrix."""
        if self.root is None:
            return self.scale
        return self.scale * np.linalg.pinv(self.root @ self.root.T, hermitian=True)


def gaussian_prior(mean: Any, precision: Any, covariance: Any, p: int) -> CoefficientPrior:
    """Validate and factor the prior of p coefficients.

    Parameters
    ----------
    mean : float or (p,) array
        Mean of the prior.
    precision : float, (p,) or (p, p) array
        Its precision: one for all, one each, or a full matrix. Not read if there is a covariance.
    covariance : float, (p,) or (p, p) array, or None
        Its covariance. It may be singular: some linear combinations are then fixed.
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
    center = np.broadcast_to(np.asarray(mean, np.float64), (p,))
    name = "prior_precision" if covariance is None else "prior_covariance"
    matrix = np.asarray(precision if covariance is None else covariance, np.float64)
    if matrix.shape not in {(), (p,), (p, p)}:
        raise ValueError(f"{name} must be a number, ({p},) or ({p}, {p}), not {matrix.shape}")
    if matrix.ndim < 2:
        _check_definite(matrix > 0 if covariance is None else matrix >= 0, name)
        if matrix.ndim == 0 and matrix > 0:
            return CoefficientPrior(
                center, None, float(matrix if covariance is None else 1 / matrix)
            )
        diagonal = np.broadcast_to(matrix, (p,))
        return CoefficientPrior(
            center, np.diag(diagonal**-0.5 if covariance is None else diagonal**0.5), 1.0
        )
    if not np.allclose(matrix, matrix.T, rtol=1e-6, atol=1e-6 * np.abs(matrix).max()):
        raise ValueError(f"{name} is not symmetric")
    values, V = np.linalg.eigh(matrix)
    values = np.where(np.abs(values) < p * np.finfo(float).eps * values[-1], 0.0, values)
    _check_definite(values > 0 if covariance is None else values >= 0, name)
    return CoefficientPrior(center, V * (values**-0.5 if covariance is None else values**0.5), 1.0)


def _check_definite(valid: np.ndarray, name: str) -> None:
    if not np.all(valid):
        requirement = "positive definite" if name == "prior_precision" else "positive semi-definite"
        raise ValueError(
            f"{name} must be {requirement}; for a nearly flat prior give a small precision"
        )


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

    `Ridge` here and in scikit-learn uses "sum".

    Parameters
    ----------
    prior_precision : float
        Prior precision of each coefficient, 1 / variance.
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

    See Also
    --------
    BayesianLinearRegression, Ridge
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
