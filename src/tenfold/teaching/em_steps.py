"""E-step and M-step of Gaussian mixtures on arrays, and the terms of the evidence lower bound.

`GaussianMixture` does the same in one pass over data of any size. `tenfold.inference.em` iterates
these two steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr, rel_entr

from tenfold.mixture._e_step import soft_assignment
from tenfold.mixture._gaussian import GaussianFamily, GaussianParameters


def log_joint(X: Any, mixture: GaussianParameters, covariance_type: str = "full") -> np.ndarray:
    """Log of weight times density of each component for each row, (n_samples, n_components).

    Parameters
    ----------
    X : (n_samples, n_features) array
        Rows; NaN is a missing entry.
    mixture : Gaussians
        Weights, means and covariances.
    covariance_type : {"full", "tied", "diag", "spherical"}
        Covariance type.
    """
    components = GaussianFamily(covariance_type).components(mixture)
    return components.log_joint(components.prepare(np.asarray(X, np.float64))).T.copy()


def e_step(
    X: Any, mixture: GaussianParameters, covariance_type: str = "full"
) -> tuple[np.ndarray, np.ndarray]:
    """Responsibilities (n_samples, n_components), and the log-likelihood of each row.

    Parameters
    ----------
    X : (n_samples, n_features) array
        Rows; NaN is a missing entry.
    mixture : Gaussians
        Weights, means and covariances.
    covariance_type : {"full", "tied", "diag", "spherical"}
        Covariance type.

    Examples
    --------
    >>> from tenfold.mixture import GaussianParameters
    >>> two = GaussianParameters(np.array([0.5, 0.5]), np.array([[0.0], [5.0]]), np.ones(2))
    >>> R, log_likelihood = e_step([[0.0], [1.0], [4.0], [5.0]], two, "spherical")
    >>> R[:, 0].round(6).tolist(), log_likelihood.sum().round(6)
    ([0.999996, 0.999447, 0.000553, 4e-06], np.float64(-7.44723))
    """
    R, log_likelihood = soft_assignment(log_joint(X, mixture, covariance_type).T.copy())
    return R.T.copy(), log_likelihood


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
    """Maximum-likelihood components for given responsibilities.

    Parameters
    ----------
    X : (n_samples, n_features) array
        Rows; NaN is a missing entry.
    R : (n_samples, n_components) array
        Responsibilities.
    mixture : Gaussians, optional
        The components before; those without rows stay as they were.
    covariance_type : {"full", "tied", "diag", "spherical"}
        Covariance type.
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
    components = family.components(mixture)
    statistic = components.statistic(components.prepare(X), np.ascontiguousarray(R.T))
    return family.m_step(mixture, statistic)


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
    """The evidence lower bound for any responsibilities Q, and its distance to the likelihood.

    Parameters
    ----------
    X : (n_samples, n_features) array
        Rows.
    Q : (n_samples, n_components) array
        A distribution over the components for each row.
    mixture : Gaussians
        Weights, means and covariances.
    covariance_type : {"full", "tied", "diag", "spherical"}
        Covariance type.
    """
    joint = log_joint(X, mixture, covariance_type)
    R, _ = e_step(X, mixture, covariance_type)
    expected = float(np.where(Q > 0, Q * joint, 0.0).sum())
    return ELBOTerms(expected, float(entr(Q).sum()), float(rel_entr(Q, R).sum()))
