"""Factor analysis: a few latent factors, and noise of its own variance in each column."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.decomposition._eigensolvers import fix_signs
from tenfold.decomposition._latent_base import LatentGaussianModel
from tenfold.decomposition._latent_gaussian import (
    LatentGaussian,
    imputed_moments,
    observe_columns,
    posterior_means,
    run_em,
)
from tenfold.decomposition.rotations import OBLIQUE, ORTHOGONAL, rotate_loadings
from tenfold.engine.rows import Rows
from tenfold.engine.second_moments import second_moments
from tenfold.optim.convergence import until_converged
from tenfold.optim.quasi_newton import lbfgs
from tenfold.stats.moments import Moments

_MAX_FULL_EIGH_COLUMNS = 30  # columns up to which all eigenvectors take no longer
_MAX_LOG = 300.0  # of a noise variance
_HEYWOOD_SHARE = 1e-6  # of the variance of a column: less noise is none
_SMALLEST = 1e-12  # added to the deviations of the noise, as in scikit-learn


class FactorAnalysis(LatentGaussianModel):
    r"""Factor analysis by maximum likelihood.

    .. math:: x = \mu + L^\top z + \varepsilon, \qquad z \sim N(0, I), \qquad
              \varepsilon \sim N(0, \operatorname{diag}(\psi))

    Each row is a linear function of a few factors z plus noise, whose variance differs from column
    to column; with one variance for all columns it is `ProbabilisticPCA`. Complete rows enter
    through their second moments alone: one pass, then iterations on a (n_features, n_features)
    matrix, so that parts merge, and rows may be in a file of any length. Rows with missing entries
    (NaN) take a pass for each iteration of EM. Parameters and attributes are those of
    `sklearn.decomposition.FactorAnalysis`.

    Parameters
    ----------
    n_components : int or None
        Number of factors; None for as many as columns.
    tol : float
        Converged when an iteration gains less log-likelihood (of all rows).
    copy : bool
        X is never overwritten, whatever is given here.
    max_iter : int
        Maximum number of iterations.
    noise_variance_init : (n_features,) array, optional
        First noise variances; ones by default.
    svd_method : {"lapack", "randomized"}
        Ignored: the eigenvectors of the scaled covariance are exact.
    iterated_power : int
        Ignored, as `svd_method` is.
    rotation : {"varimax", "quartimax", "promax", "oblimin"} or None
        How factors are turned towards simple structure. "promax" and "oblimin" are oblique: the
        factors are correlated then, with covariance `factor_covariance_`.
    random_state : int, optional
        Ignored: nothing is random.
    scores : {"regression", "bartlett"}
        What `transform` returns: the posterior mean of the factors, or the factors of largest
        likelihood (unbiased, with more variance).
    solver : {"em", "lbfgs"}
        How the noise variances of complete rows are found: by the alternation of scikit-learn,
        which crawls near the end and stops by `tol`; or by L-BFGS on the likelihood with the best
        loadings for each noise, which is at the maximum after few iterations: no derivative by the
        log of a noise variance exceeds `tol` then.
    min_noise_ratio : float
        Lower bound of each noise variance, as a share of the variance of its column. Noise that
        vanishes (a Heywood case) says that a factor has become a column; 0.005 is usual against it.

    Attributes
    ----------
    components_ : (n_components, n_features) loadings L, of the rotated factors
    noise_variance_ : (n_features,) psi
    mean_ : (n_features,) mu
    factor_covariance_ : (n_components, n_components) covariance of the factors; the identity unless
        the rotation is oblique
    rotation_matrix_ : (n_components, n_components) whose columns are the rotated factors in terms
        of the unrotated ones
    communalities_ : (n_features,) share of each column's variance that the factors explain
    heywood_ : (n_features,) whether the noise variance is at its lower bound, or below a millionth
        of the variance of the column
    loglike_ : log-likelihood before each iteration
    n_iter_, converged_, history_ : iterations, whether they converged, minus the log-likelihood
    statistic_ : the moments of the rows; None if entries are missing

    See Also
    --------
    ProbabilisticPCA : One noise variance for all columns.
    PCA : Directions of largest variance.

    References
    ----------
    D. Barber (2012), Bayesian Reasoning and Machine Learning, algorithm 21.1.

    D. Rubin and D. Thayer (1982), EM algorithms for ML factor analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import FactorAnalysis
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(2000, 1))
    >>> X = z @ np.array([[1.0, 2.0, -1.0, 0.5]]) + rng.normal(size=(2000, 4)) * [1, 0.5, 2, 1]
    >>> FactorAnalysis(1, solver="lbfgs").fit(X).noise_variance_.round(1).tolist()
    [1.0, 0.3, 4.1, 1.0]
    """

    _column_matrices = 3
    _law_params = {"n_components": 2, "max_iter": 5000}
    _law_rows = 1200
    _learned_shapes = {
        "components_": "m p",
        "noise_variance_": "p",
        "mean_": "p",
        "factor_covariance_": "m m",
    }
    _parameter_constraints = {
        "n_components": [Interval(Integral, 0, None, closed="left"), None],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "copy": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "noise_variance_init": ["array-like", None],
        "svd_method": [StrOptions({"randomized", "lapack"})],
        "iterated_power": [Interval(Integral, 0, None, closed="left")],
        "rotation": [StrOptions({*ORTHOGONAL, *OBLIQUE}), None],
        "random_state": ["random_state"],
        "scores": [StrOptions({"regression", "bartlett"})],
        "solver": [StrOptions({"em", "lbfgs"})],
        "min_noise_ratio": [Interval(Real, 0.0, 1.0, closed="left")],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        tol: float = 1e-2,
        copy: bool = True,
        max_iter: int = 1000,
        noise_variance_init: Any = None,
        svd_method: str = "randomized",
        iterated_power: int = 3,
        rotation: str | None = None,
        random_state: Any = 0,
        scores: str = "regression",
        solver: str = "em",
        min_noise_ratio: float = 0.0,
    ) -> None:
        self.n_components = n_components
        self.tol = tol
        self.copy = copy
        self.max_iter = max_iter
        self.noise_variance_init = noise_variance_init
        self.svd_method = svd_method
        self.iterated_power = iterated_power
        self.rotation = rotation
        self.random_state = random_state
        self.scores = scores
        self.solver = solver
        self.min_noise_ratio = min_noise_ratio

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        s = second_moments(rows)
        if np.isfinite(s.mean).all() and np.isfinite(s.scatter).all():
            return self._from_statistic(s, rows.dtype)
        return self._fit_incomplete(rows)

    def _finalize(self, s: Moments, dtype: np.dtype) -> dict[str, Any]:
        C = s.scatter / s.n
        k = self._count_factors(len(C))
        start = self._initial_noise(len(C))
        floor = np.maximum(self.min_noise_ratio * C.diagonal(), _SMALLEST)
        search = _run_em if self.solver == "em" else _run_lbfgs
        W, noise, report = search(C, start, floor, k, s.n, self.tol, self.max_iter)
        return self._attributes(LatentGaussian(s.mean, W.T, noise), floor, report, dtype)

    def _fit_incomplete(self, rows: Rows) -> dict[str, Any]:
        """EM with a pass for each iteration, from the moments of rows imputed by column means."""
        mean, variance = observe_columns(rows, type(self).__name__)
        k = self._count_factors(len(mean))
        floor = np.maximum(self.min_noise_ratio * variance, _SMALLEST)
        if self.noise_variance_init is None:
            start = np.maximum(0.5 * variance, floor)
        else:
            start = self._initial_noise(len(mean))
        s = rows.total(imputed_moments, mean)
        W, _ = factor_step(s.scatter / s.n, start, k)
        initial = LatentGaussian(mean, W.T, start)
        update = FactorNoise(floor)
        g, _, report = run_em(rows, initial, mean, update, self.tol / s.n, self.max_iter)
        report["history_"]["objective"] *= s.n
        learned = self._attributes(turn_to_principal(g), floor, report, rows.dtype)
        return {**learned, "statistic_": None, "dtype_": rows.dtype}

    def _count_factors(self, p: int) -> int:
        k = p if self.n_components is None else int(self.n_components)
        if k > p:
            raise ValueError(f"n_components={k} must be at most the number of columns, {p}")
        return k

    def _initial_noise(self, p: int) -> np.ndarray:
        if self.noise_variance_init is None:
            return np.ones(p)
        start = np.asarray(self.noise_variance_init, np.float64)
        if start.shape != (p,):
            raise ValueError(
                f"noise_variance_init has {len(start)} entries, which does not match the number of "
                f"columns, {p}"
            )
        if not (start > 0).all():
            raise ValueError("noise_variance_init must be positive")
        return start

    def _attributes(
        self, g: LatentGaussian, floor: np.ndarray, report: dict[str, Any], dtype: np.dtype
    ) -> dict[str, Any]:
        k = g.loadings.shape[1]
        L, T, covariance = fix_signs(g.loadings.T).T, np.eye(k), np.eye(k)
        if self.rotation is not None and k > 0:
            L, T, covariance = rotate_loadings(L, self.rotation)
        explained = np.einsum("pk,kl,pl->p", L, covariance, L)
        return {
            "components_": L.T.astype(dtype),
            "noise_variance_": g.noise.astype(dtype),
            "mean_": g.mean.astype(dtype),
            "factor_covariance_": covariance.astype(dtype),
            "rotation_matrix_": T.astype(dtype),
            "communalities_": (explained / (explained + g.noise)).astype(dtype),
            "heywood_": g.noise
            <= np.maximum(1.001 * floor, _HEYWOOD_SHARE * (explained + g.noise)),
            "loglike_": [-float(value) for value in report["history_"]["objective"]],
            **report,
        }

    def _stuck_cure(self) -> str:
        return (
            "The noise of some columns may vanish (heywood_): take min_noise_ratio=0.005, fewer "
            "factors, or loosen tol."
        )

    def _convergence_words(self) -> str:
        return (
            "FactorAnalysis did not converge. You might want to increase the number of iterations."
        )

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def _model(self) -> tuple[LatentGaussian, np.ndarray]:
        """The model with uncorrelated factors, and the matrix from these to the learned ones."""
        root = np.linalg.cholesky(self.factor_covariance_.astype(np.float64))
        W = self.components_.T.astype(np.float64) @ root
        noise = np.maximum(self.noise_variance_.astype(np.float64), _SMALLEST)
        return LatentGaussian(self.mean_.astype(np.float64), W, noise), root.T

    def transform(self, X: Any) -> np.ndarray:
        """Factor scores of each row, (n_rows, n_components).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows; NaN where an entry is missing.
        """
        check_is_fitted(self)
        g, turn = self._model()
        prior = 1.0 if self.scores == "regression" else 0.0
        return self._map_rows(X, posterior_means, g, turn, prior)

    def inverse_transform(self, X: np.ndarray) -> np.ndarray:
        """Rows without noise of these factor scores, (n_rows, n_features).

        Parameters
        ----------
        X : (n_rows, n_components) array
            Scores, as `transform` returns them.
        """
        check_is_fitted(self)
        return np.asarray(X) @ self.components_ + self.mean_

    def get_covariance(self) -> np.ndarray:
        """Covariance of the model, (n_features, n_features)."""
        check_is_fitted(self)
        L = self.components_
        covariance = L.T @ self.factor_covariance_ @ L
        covariance.flat[:: len(covariance) + 1] += self.noise_variance_
        return covariance


class FactorNoise(NamedTuple):
    """Noise variance of each column from its squared residuals, not below a floor."""

    floor: np.ndarray

    def __call__(self, squares: np.ndarray, n: np.ndarray) -> np.ndarray:
        return np.maximum(squares / n, self.floor)


def factor_step(C: np.ndarray, noise: np.ndarray, k: int) -> tuple[np.ndarray, float]:
    """Best loadings (k, p) for given noise variances, and their mean log-likelihood.

    The eigenvectors of the covariance scaled by the noise, of which those with eigenvalues s above
    1 count: W = sqrt(s - 1) V' sqrt(noise).
    """
    p = len(C)
    deviation = np.sqrt(noise) + _SMALLEST
    scaled = C / np.multiply.outer(deviation, deviation)
    if 0 < k < p / 2 and p > _MAX_FULL_EIGH_COLUMNS:
        from scipy.linalg import eigh

        s, V = eigh(scaled, subset_by_index=[p - k, p - 1], check_finite=False)
    else:
        s, V = np.linalg.eigh(scaled)
    s, V = s[::-1][:k], V[:, ::-1][:, :k]
    rest = scaled.trace() - s.sum()
    W = np.sqrt(np.maximum(s - 1, 0.0))[:, None] * V.T * deviation
    fitted = np.log(np.maximum(s, 1.0)).sum() + np.minimum(s, 1.0).sum()
    logs = np.log(noise).sum() + p * np.log(2 * np.pi)
    return W, float(-0.5 * (fitted + rest + logs))


def turn_to_principal(g: LatentGaussian) -> LatentGaussian:
    """The same model with factors whose scaled loadings are orthogonal, the largest first."""
    deviation = np.sqrt(g.noise)[:, None]
    U, s, _ = np.linalg.svd(g.loadings / deviation, full_matrices=False)
    return g._replace(loadings=U * s * deviation)


def _run_em(
    C: np.ndarray, start: np.ndarray, floor: np.ndarray, k: int, n: float, tol: float, max_iter: int
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Best loadings for the noise, then the noise that they leave, in turn."""
    loop = until_converged((start, np.zeros((k, len(C))), -np.inf), tol=tol, max_iter=max_iter)
    for noise, _, previous in loop:
        W, mean = factor_step(C, noise, k)
        gain = n * mean - previous
        if gain > tol:  # else these are the last loadings, of this noise
            noise = np.maximum(C.diagonal() - (W * W).sum(axis=0), floor)
        loop.update((noise, W, n * mean), objective=-n * mean, change=gain)
    noise, W, _ = loop.state
    return W, noise, loop.report


def _run_lbfgs(
    C: np.ndarray, start: np.ndarray, floor: np.ndarray, k: int, n: float, tol: float, max_iter: int
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """L-BFGS in the logs of what the noise variances exceed their floor by.

    At the best loadings the derivative by a noise variance is (model - C)_jj / (2 noise^2).
    """

    def mean_loss(logs: np.ndarray) -> tuple[float, np.ndarray]:
        excess = np.exp(np.clip(logs, -_MAX_LOG, _MAX_LOG))
        noise = floor + excess
        W, mean = factor_step(C, noise, k)
        slope = 0.5 * ((W * W).sum(axis=0) + noise - C.diagonal()) / noise**2
        return -mean, slope * excess

    varying = np.maximum(C.diagonal(), 2 * floor)
    logs = np.log(np.clip(start, 2 * floor, varying) - floor)
    found = lbfgs(mean_loss, logs, tol=tol / n, max_iter=max_iter)
    noise = floor + np.exp(np.clip(found.x, -_MAX_LOG, _MAX_LOG))
    found.report["history_"]["objective"] *= n
    return factor_step(C, noise, k)[0], noise, found.report
