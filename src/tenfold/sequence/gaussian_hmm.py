"""Hidden Markov model of Gaussian steps."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.estimator import store_arguments
from tenfold.mixture._covariance_types import (
    COVARIANCE_TYPES,
    covariance_shape,
    n_covariance_parameters,
)
from tenfold.sequence._hmm_base import HMM_CONSTRAINTS, BaseHMM
from tenfold.sequence._hmm_emissions import GaussianEmission, GaussianPrior

_NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
GAUSSIAN_CONSTRAINTS: dict[str, Any] = {
    **HMM_CONSTRAINTS,
    "covariance_type": [StrOptions(set(COVARIANCE_TYPES))],
    "min_covar": [_NOT_NEGATIVE],
    "means_prior": ["array-like", Real],
    "means_weight": ["array-like", _NOT_NEGATIVE],
    "covars_prior": ["array-like", Real],
    "covars_weight": ["array-like", Real],
}
_SET = "Set variances, or matrices, of which all eigenvalues are above 0"
COLLAPSED = (
    "The steps of a state do not vary in some direction: choose a larger covars_prior, fewer "
    "states, or leave columns out that are constant or depend on others"
)


class GaussianHMM(BaseHMM):
    r"""Hidden Markov model of Gaussian steps.

    .. math:: p(x_t \mid s_t = k) = \mathcal N(x_t; \mu_k, \Sigma_k)

    Missing entries (NaN) are left out of the density and filled in expectation by EM; a step
    without any entry tells nothing about its state.

    Parameters
    ----------
    n_components : int
        Number of hidden states, K.
    covariance_type : {"spherical", "diag", "full", "tied"}
        Shape of the covariances.
    min_covar : float
        Added to the variances of the first covariances.
    startprob_prior, transmat_prior : float or array
        Parameters of Dirichlet priors of starts and rows of transitions; 1 is maximum likelihood.
    means_prior, means_weight : float or array
        Mean of the normal prior of the means, and the number of steps that it is worth.
    covars_prior, covars_weight : float
        Scale and degrees of freedom of the inverse-gamma (diagonal types) or inverse-Wishart prior
        of the covariances. The scale is that of a multiple of the identity.
    algorithm, random_state, n_iter, tol, verbose
        As of `CategoricalHMM`.
    params, init_params : str
        Which parameters to update, and which to initialize: "s" starts, "t" transitions, "m" means,
        "c" covariances. What is not initialized must be set before `fit`.
    implementation, training, transitions, sticky, n_init
        As of `CategoricalHMM`.

    Attributes
    ----------
    startprob_ : (K,) array
    transmat_ : (K, K) array
        Row: from, column: to.
    means_ : (K, p) array
    covars_ : array
        (K, p, p) matrices, whatever the type, as in hmmlearn; may be set in the shape of the type.
    log_likelihood_ : float
    n_iter_, converged_, history_
        Iterations, whether the stopping rule held, and minus the objective by iteration.

    See Also
    --------
    CategoricalHMM, GMMHMM, HMM, GaussianMixture

    Notes
    -----
    hmmlearn adds a scalar `covars_prior` to all entries of full covariances; here it is added to
    their diagonals.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import GaussianHMM
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (50, 1)), rng.normal(8, 1, (50, 1))])
    >>> model = GaussianHMM(2, random_state=0).fit(X)
    >>> sorted(model.means_.round(1).ravel().tolist())
    [0.1, 8.0]
    """

    means_: np.ndarray
    _emission_letters = "mc"
    _parameter_constraints: dict[str, Any] = GAUSSIAN_CONSTRAINTS
    _learned_shapes = {"startprob_": "m", "transmat_": "m m", "means_": "m p"}

    def __init__(
        self,
        n_components: int = 1,
        covariance_type: str = "diag",
        min_covar: float = 1e-3,
        startprob_prior: Any = 1.0,
        transmat_prior: Any = 1.0,
        means_prior: Any = 0.0,
        means_weight: Any = 0.0,
        covars_prior: Any = 1e-2,
        covars_weight: Any = 1.0,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 10,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "stmc",
        init_params: str = "stmc",
        implementation: str = "log",
        *,
        training: str = "em",
        transitions: Any = "free",
        sticky: float = 0.0,
        n_init: int = 1,
    ) -> None:
        store_arguments(self, locals())

    @property
    def covars_(self) -> np.ndarray:
        """Covariance matrices of the states, (K, p, p)."""
        return expand_covariances(self._covars, self.covariance_type, *np.shape(self.means_))

    @covars_.setter
    def covars_(self, covars: Any) -> None:
        self._covars = np.array(covars, np.float64)

    def _prior(self) -> GaussianPrior:
        return GaussianPrior(
            self.means_prior, self.means_weight, self.covars_prior, self.covars_weight
        )

    def _initial_emission(
        self, steps: np.ndarray, labels: np.ndarray, centers: np.ndarray, rng: np.random.Generator
    ) -> GaussianEmission:
        K, p = self.n_components, steps.shape[1]
        means = centers if "m" in self.init_params else self._given("means_", "m")
        means = np.asarray(means, np.float64)
        if means.shape != (K, p):
            raise ValueError(f"means_ must have shape {(K, p)}, not {means.shape}")
        if "c" in self.init_params:
            covariances = pooled_covariances(steps, self.covariance_type, K, self.min_covar)
        else:
            self._given("_covars", "c")
            covariances = self._checked_covariances(K, p)
        return GaussianEmission(self.covariance_type, means, covariances)

    def _update_emission(self, emission: GaussianEmission, statistic: Any) -> GaussianEmission:
        updated = emission.update(statistic, self._prior())
        if "c" in self.params:
            check_positive(updated.covariances, emission.kind, COLLAPSED)
        return GaussianEmission(
            emission.kind,
            updated.means if "m" in self.params else emission.means,
            updated.covariances if "c" in self.params else emission.covariances,
        )

    def _emission_attributes(self, emission: GaussianEmission) -> dict[str, Any]:
        return {"means_": emission.means, "_covars": emission.covariances}

    def _emission(self) -> GaussianEmission:
        means = np.asarray(self.means_, np.float64)
        covariances = self._checked_covariances(*means.shape)
        return GaussianEmission(self.covariance_type, means, covariances)

    def _checked_covariances(self, K: int, p: int) -> np.ndarray:
        covariances = shape_covariances(self._covars, self.covariance_type, K, p)
        check_positive(covariances, self.covariance_type)
        return covariances

    def _emission_log_prior(self, emission: GaussianEmission) -> float:
        return self._prior().log_density(emission.kind, emission.means, emission.covariances)

    def _draw(self, state: int, n: int, rng: np.random.Generator) -> np.ndarray:
        mean = np.asarray(self.means_, float)[state]
        factor = np.linalg.cholesky(self.covars_[state])
        return mean + rng.normal(size=(n, len(mean))) @ factor.T

    def _emission_means(self) -> Any:
        return self.means_

    def _n_emission_parameters(self) -> int:
        K, p = np.shape(self.means_)
        return K * p + n_covariance_parameters(self.covariance_type, K, p)


def pooled_covariances(steps: np.ndarray, kind: str, K: int, floor: float) -> np.ndarray:
    """The covariance of all steps, for each state, with a floor added to the variances."""
    p = steps.shape[1]
    complete = steps[~np.isnan(steps).any(axis=1)]
    if len(complete) > p:
        matrix = np.atleast_2d(np.cov(complete.T))
    else:
        seen = np.nanvar(steps, axis=0) if len(steps) else np.ones(p)
        matrix = np.diag(np.where(np.isfinite(seen), seen, 1.0))
    matrix = matrix + max(floor, 1e-12) * np.eye(p)
    return shape_covariances(np.tile(matrix, (K, 1, 1)), kind, K, p)


def shape_covariances(covars: np.ndarray, kind: str, K: int, p: int) -> np.ndarray:
    """Covariances in the shape of their type, from that shape or from (K, p, p) matrices."""
    shape = covariance_shape(kind, K, p)
    if covars.shape == shape and not (kind == "full" and covars.ndim != 3):
        return covars
    if covars.shape == (K, p, p):
        diagonals = np.diagonal(covars, axis1=1, axis2=2)
        return {
            "tied": covars.mean(axis=0),
            "diag": diagonals.copy(),
            "spherical": diagonals.mean(axis=1),
        }[kind]
    if covars.size == K and kind == "spherical":  # hmmlearn's shapes: (K, 1), (K, 1, 1)
        return covars.reshape(K)
    raise ValueError(f"covars_ of type {kind!r} must have shape {shape}, not {covars.shape}")


def check_positive(covars: np.ndarray, kind: str, cure: str = _SET) -> None:
    """Raise an error if variances are not positive, or covariance matrices not positive definite.

    Parameters
    ----------
    covars : (..., p, p) matrices, (..., p) variances, or (...) variances of "spherical"
    kind : their type
    cure : what to do about it
    """
    width = {"full": 2, "tied": 2, "diag": 1, "spherical": 0}[kind]
    places = covars.shape[: covars.ndim - width]
    parts = covars.reshape(-1, *covars.shape[len(places) :])
    if width == 2:
        good = [_is_positive_definite(matrix) for matrix in parts]
    elif parts.size and parts.min() > 0 and parts.max() < np.inf:
        return
    else:
        good = [bool(((part > 0) & np.isfinite(part)).all()) for part in parts]
    if not all(good):
        at = good.index(False)
        place = [int(i) for i in np.unravel_index(at, places)] if places else ""
        what = "no symmetric and positive definite matrix" if width == 2 else "not above 0"
        raise ValueError(f"covars_{place} is {what}: {parts[at].tolist()}. {cure}")


def _is_positive_definite(matrix: np.ndarray) -> bool:
    scale = np.abs(matrix).max()
    if not np.isfinite(matrix).all() or np.abs(matrix - matrix.T).max() > 1e-6 * scale:
        return False
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def expand_covariances(covars: np.ndarray, kind: str, K: int, p: int) -> np.ndarray:
    """Covariances of any type as (K, p, p) matrices."""
    shaped = shape_covariances(covars, kind, K, p)
    if kind == "full":
        return shaped
    if kind == "tied":
        return np.tile(shaped, (K, 1, 1))
    variances = shaped if kind == "diag" else np.repeat(shaped[:, None], p, axis=1)
    return variances[:, :, None] * np.eye(p)
