"""E-step and M-step of Gaussian mixtures on arrays, and the terms of the evidence lower bound.

`GaussianMixture` does the same in one pass over data of any size. With `tenfold.inference.em` these two
make a mixture fit of one's own. [000, 4.2.1; 002, 8.4; 003, 16.5 and project 4; 004, 9.3]
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr, rel_entr

from tenfold.mixture._e_step import soft_assignment
from tenfold.mixture._gaussian import GaussianFamily, GaussianParameters


def log_joint(X: Any, mixture: GaussianParameters, covariance_type: str = "full") -> np.ndarray:
    """Log of weight times density of each component for each row, (n, k).

    Parameters
    ----------
    X : (n, p) array
        Rows; NaN is a missing entry.
    mixture : Gaussians
        Weights, means and covariances.
    covariance_type : {"full", "tied", "diag", "spherical"}
        Shape of the covariances.
    """
    parts = GaussianFamily(covariance_type).components(mixture)
    return parts.scores(parts.view(np.asarray(X, np.float64))).T.copy()


def e_step(
    X: Any, mixture: GaussianParameters, covariance_type: str = "full"
) -> tuple[np.ndarray, np.ndarray]:
    """To whom rows belong: responsibilities (n, k), and the log-likelihood of each row (n,).

    Parameters
    ----------
    X : (n, p) array
        Rows; NaN is a missing entry.
    mixture : Gaussians
        Weights, means and covariances.
    covariance_type : {"full", "tied", "diag", "spherical"}
        Shape of the covariances.

    Examples
    --------
    >>> from tenfold.mixture._gaussian import GaussianParameters
    >>> two = GaussianParameters(np.array([0.5, 0.5]), np.array([[0.0], [5.0]]), np.ones(2))
    >>> R, heights = e_step([[0.0], [1.0], [4.0], [5.0]], two, "spherical")
    >>> R[:, 0].round(6).tolist(), heights.sum().round(6)
    ([0.999996, 0.999447, 0.000553, 4e-06], np.float64(-7.44723))
    """
    R, heights = soft_assignment(log_joint(X, mixture, covariance_type).T.copy())
    return R.T.copy(), heights


def m_step(
    X: Any,
    R: np.ndarray,
    mixture: GaussianParameters | None = None,
    covariance_type: str = "full",
    *,
    reg_covar: float = 0.0,
    min_variance: float = 0.0,
    min_seen: float = 0.0,
) -> GaussianParameters:
    """The most likely components of rows that belong to them by R.

    Parameters
    ----------
    X : (n, p) array
        Rows; NaN is a missing entry.
    R : (n, k) array
        Responsibilities.
    mixture : Gaussians, optional
        The components before; what nobody has seen stays as it was.
    covariance_type : {"full", "tied", "diag", "spherical"}
        Shape of the covariances.
    reg_covar, min_variance, min_seen : float
        As in `GaussianMixture`.

    Examples
    --------
    >>> m_step([[1.0], [3.0], [10.0]], np.array([[1, 0], [1, 0], [0, 1]])).means.ravel().tolist()
    [2.0, 10.0]
    """
    X, R = np.asarray(X, np.float64), np.asarray(R, np.float64)
    family = GaussianFamily(covariance_type, reg_covar, min_variance, min_seen)
    if mixture is None:
        mixture = family.initial_state(np.tile(np.nanmean(X, axis=0), (R.shape[1], 1)))
    parts = family.components(mixture)
    return family.m_step(mixture, parts.statistic(parts.view(X), np.ascontiguousarray(R.T)))


class ELBOTerms(NamedTuple):
    """The terms of log p(x) = expected + entropy + divergence, summed over the rows.

    Attributes
    ----------
    expected : sum_z q(z) log p(x, z), the expected complete-data log-likelihood
    entropy : H(q)
    divergence : KL(q || p(z | x)), never negative, zero after the E-step
    """

    expected: float
    entropy: float
    divergence: float


def elbo_terms(
    X: Any, Q: np.ndarray, mixture: GaussianParameters, covariance_type: str = "full"
) -> ELBOTerms:
    """The exact bound of the log-likelihood for any responsibilities Q (n, k).

    Parameters
    ----------
    X : (n, p) array
        Rows.
    Q : (n, k) array
        A distribution over the components for each row.
    mixture : Gaussians
        Weights, means and covariances.
    covariance_type : {"full", "tied", "diag", "spherical"}
        Shape of the covariances.
    """
    joint = log_joint(X, mixture, covariance_type)
    R, _ = e_step(X, mixture, covariance_type)
    expected = float(np.where(Q > 0, Q * joint, 0.0).sum())
    return ELBOTerms(expected, float(entr(Q).sum()), float(rel_entr(Q, R).sum()))
