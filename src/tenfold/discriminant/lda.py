"""Linear discriminant analysis: Gaussian classes with one covariance, in one pass."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.special import softmax
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import HasMethods, Interval, StrOptions
from tenfold.base.bayes_rule import BayesRuleClassifier, check_no_infinity, safe_log
from tenfold.discriminant._covariance import (
    can_share_moments,
    check_covariance_parameters,
    compute_class_moments,
    fill_in_moments,
    fit_class_covariances,
    fix_column_signs,
    gather_for_estimator,
    normalize_priors,
    principal_axes,
    score_incomplete_rows,
    shrunk_class_covariances,
    shrunk_total_covariance,
)
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.math.links import log_sigmoid
from tenfold.stats.class_moments import ClassScatters, class_residuals
from tenfold.stats.incomplete_scatters import IncompleteScatters
from tenfold.stats.missing_values import group_by_missing_columns, marginal_log_densities

_MIN_TOL = 1e-7  # squares of smaller singular values are rounding


class _DiscriminantSolution(NamedTuple):
    """Linear discriminants of the classes, and further learned attributes."""

    coef: np.ndarray  # (k, p)
    intercept: np.ndarray  # (k,)
    attributes: dict[str, np.ndarray]


def _check_n_components(n_components: int | None, k: int, p: int) -> int:
    """Number of discriminant directions of k classes and p features; by default all."""
    most = min(k - 1, p)
    if n_components is not None and n_components > most:
        raise ValueError(
            "n_components cannot be larger than min(n_features, n_classes - 1): "
            f"{n_components} > {most}."
        )
    return most if n_components is None else n_components


def _whiten_from_moments(covariance: np.ndarray, tol: float) -> np.ndarray:
    """Whitening directions, as columns: the covariance within classes becomes the identity.

    Directions without variance are dropped.
    """
    deviation = _replace_zeros(np.sqrt(np.diag(covariance)))
    variances, V = principal_axes(covariance / np.multiply.outer(deviation, deviation))
    S = np.sqrt(variances)
    nonzero = max(tol, _MIN_TOL) < S
    return V[:, nonzero] / S[nonzero] / deviation[:, None]


def _whiten_from_rows(D: np.ndarray, tol: float) -> np.ndarray:
    """Whitening directions from rows D less the means of their classes; D'D is the covariance."""
    deviation = _replace_zeros(np.sqrt((D**2).sum(axis=0)))
    _, S, Vt = np.linalg.svd(D / deviation, full_matrices=False)
    nonzero = max(tol, _MIN_TOL) < S
    return Vt[nonzero].T / S[nonzero] / deviation[:, None]


def _replace_zeros(deviation: np.ndarray) -> np.ndarray:
    return np.where(deviation == 0, 1.0, deviation)


def _solve_svd(
    s: Any, priors: np.ndarray, white: np.ndarray, tol: float, most: int
) -> _DiscriminantSolution:
    """Discriminants in the span of the class means, in whitened coordinates."""
    center = priors @ s.mean
    between = np.sqrt(s.n.sum() * priors / max(len(priors) - 1, 1))[:, None]
    _, S, Vt = np.linalg.svd(between * ((s.mean - center) @ white), full_matrices=False)
    scalings = fix_column_signs(white @ Vt[tol * S.max(initial=0.0) < S].T)
    ratio = S**2 / max((S**2).sum(), np.finfo(np.float64).tiny)
    projected = (s.mean - center) @ scalings
    coef = projected @ scalings.T
    intercept = -0.5 * (projected**2).sum(axis=1) + safe_log(priors) - coef @ center
    attributes = {
        "scalings_": scalings,
        "xbar_": center,
        "explained_variance_ratio_": ratio[:most],
    }
    return _DiscriminantSolution(coef, intercept, attributes)


def _solve_lsqr(
    means: np.ndarray, priors: np.ndarray, covariance: np.ndarray
) -> _DiscriminantSolution:
    """Discriminants that solve covariance w = mean; the solution of least norm."""
    coef = np.linalg.lstsq(covariance, means.T, rcond=None)[0].T
    return _DiscriminantSolution(coef, _intercept(means, coef, priors), {"covariance_": covariance})


def _solve_eigen(
    means: np.ndarray, priors: np.ndarray, covariance: np.ndarray, total: np.ndarray, most: int
) -> _DiscriminantSolution:
    """Directions of the largest ratio of between-class to within-class variance."""
    try:
        ratios, V = eigh(total - covariance, covariance)
    except np.linalg.LinAlgError as error:
        raise np.linalg.LinAlgError(
            "the covariance within classes is singular: use solver='svd', or set shrinkage"
        ) from error
    ratios, V = ratios[::-1], fix_column_signs(V[:, ::-1])
    coef = means @ V @ V.T
    explained = ratios / (ratios.sum() or 1.0)  # the sum is 0 while only one class has rows
    rank = min(len(means) - 1, len(V))
    attributes = {"covariance_": covariance, "scalings_": V[:, :rank]}
    attributes["explained_variance_ratio_"] = np.sort(explained)[::-1][:most]
    return _DiscriminantSolution(coef, _intercept(means, coef, priors), attributes)


def _intercept(means: np.ndarray, coef: np.ndarray, priors: np.ndarray) -> np.ndarray:
    return -0.5 * (means * coef).sum(axis=1) + safe_log(priors)


class _Marginal(NamedTuple):
    """What the density of the observed entries of a row takes; None if the model has not kept it.

    Attributes
    ----------
    log_priors, means : (k,) and (k, p)
    covariance : (1, p, p), within classes
    min_deviation : directions of less variance are dropped, as in the fit
    """

    log_priors: np.ndarray
    means: np.ndarray
    covariance: np.ndarray
    min_deviation: float


def _linear_scores(
    chunk: Chunk, W: np.ndarray, b: np.ndarray, marginal: _Marginal | None
) -> np.ndarray:
    """Scores (n, m); of rows with missing entries by the density of the others."""
    with np.errstate(invalid="ignore"):
        Z = chunk.X @ W.T + b
    if np.isfinite(Z).all():
        return Z
    check_no_infinity(chunk)
    marginal = _require_marginal(marginal)
    scores = np.full((chunk.rows, len(marginal.means)), np.nan)
    score_incomplete_rows(chunk, scores, *marginal)
    if len(W) == 1:
        scores = scores[:, 1:] - scores[:, :1]
    return np.where(np.isnan(Z), scores, Z).astype(Z.dtype)


def _discriminant_log_joint(
    chunk: Chunk, W: np.ndarray, b: np.ndarray, marginal: _Marginal | None
) -> np.ndarray:
    """Scores of each class, (n, k); for two classes their log-probabilities."""
    Z = _linear_scores(chunk, W, b, marginal)
    return np.hstack([log_sigmoid(-Z), log_sigmoid(Z)]) if len(W) == 1 else Z


def _project_chunk(
    chunk: Chunk, directions: np.ndarray, center: np.ndarray, marginal: _Marginal | None
) -> np.ndarray:
    """Projections of rows on directions, (n, m); expected ones where entries are missing."""
    Z = (chunk.X - center) @ directions
    if np.isfinite(Z).all():
        return Z
    check_no_infinity(chunk)
    marginal = _require_marginal(marginal)
    rows = np.flatnonzero(np.isnan(chunk.X).any(axis=1))
    filled = _fill_in_rows(np.take(chunk.X, rows, axis=0).astype(np.float64), marginal)
    Z[rows] = (filled - center) @ directions
    return Z


def _fill_in_rows(X: np.ndarray, marginal: _Marginal) -> np.ndarray:
    """Rows with the mean of each missing entry given the observed ones, over all classes."""
    means, [C] = marginal.means, marginal.covariance
    scores = marginal.log_priors + marginal_log_densities(
        X, means, marginal.covariance, marginal.min_deviation
    )
    P = softmax(scores, axis=1)
    filled = X.copy()
    for rows, m, o in group_by_missing_columns(X):
        slopes = C[np.ix_(m, o)] @ np.linalg.pinv(C[np.ix_(o, o)], hermitian=True)
        offsets = P[rows] @ (means[:, m] - means[:, o] @ slopes.T)
        filled[np.ix_(rows, m)] = X[np.ix_(rows, o)] @ slopes.T + offsets
    return filled


def _require_marginal(marginal: _Marginal | None) -> _Marginal:
    if marginal is None:
        raise ValueError(
            "Input X contains NaN, and this LinearDiscriminantAnalysis was fitted to fewer rows "
            "than columns without a covariance, which rows with missing entries need: set "
            "store_covariance=True"
        )
    return marginal


class LinearDiscriminantAnalysis(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, BayesRuleClassifier
):
    r"""Linear discriminant analysis: Gaussian classes with one common covariance.

    .. math:: p(x \mid c) = \mathcal N(x; \mu_c, \Sigma), \qquad
              \log p(y = c \mid x) = x^\top \Sigma^{-1} \mu_c
              - \tfrac12 \mu_c^\top \Sigma^{-1} \mu_c + \log \pi_c + \text{const}

    Decision boundaries are hyperplanes; for two classes the posterior is a logistic function of a
    linear score. One pass over the data: class means and the scatter within classes; with
    ``shrinkage="auto"`` also sums of fourth order, so that even the intensity of Ledoit and Wolf is
    learned from one pass and merges; a `covariance_estimator` needs all rows in memory. NaN is a
    missing entry, as in `GaussianClassifier`: the fit maximizes the likelihood of the observed
    entries, by EM on a statistic that merges, and a row is classified by its observed entries;
    `transform` gives the expected projection. ``shrinkage="auto"`` and a `covariance_estimator`
    need complete rows. Parameters and attributes are those of
    `sklearn.discriminant_analysis.LinearDiscriminantAnalysis`.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}
        "svd" drops directions in which nothing varies; "lsqr" solves for the discriminants alone;
        "eigen" solves the generalized eigenproblem. The last two can shrink.
    shrinkage : "auto" or float, optional
        Intensity of shrinkage of the class covariances towards a multiple of the identity.
    priors : (n_classes,) array, optional
        Prior probabilities of the classes; by default their relative weights.
    n_components : int, optional
        Columns of `transform`; by default, and at most, min(n_classes - 1, n_features).
    store_covariance : bool
        Whether "svd" keeps `covariance_` too.
    tol : float
        Singular values of the standardized rows below it count as zero (solver "svd").
    covariance_estimator : estimator with `fit` and `covariance_`, optional
        Estimates the covariance of each class, instead of `shrinkage` (not for "svd"), such as
        those of `sklearn.covariance`. It is cloned, takes no weights, and needs rows in memory.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    coef_, intercept_ : (n_classes, n_features) and (n_classes,); for two classes (1, n_features)
        and (1,), of the second class
    means_, priors_ : (n_classes, n_features) and (n_classes,)
    covariance_ : (n_features, n_features), within classes
    scalings_ : (n_features, rank) discriminant directions ("svd", "eigen")
    explained_variance_ratio_ : fraction of the between-class variance along each of them
    xbar_ : (n_features,) mean of all rows ("svd")
    statistic_ : class moments of the training rows; None with a `covariance_estimator`, and if
        "svd" had more features than rows, which it then decomposes directly

    See Also
    --------
    QuadraticDiscriminantAnalysis : A covariance for each class.
    GaussianClassifier : A choice of covariance structures.

    References
    ----------
    R. A. Fisher (1936), The use of multiple measurements in taxonomic problems.

    O. Ledoit and M. Wolf (2004), A well-conditioned estimator for large-dimensional covariance
    matrices.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis(n_components=1).fit(X, y)
    >>> round(model.score(X, y), 3), model.transform(X).shape
    (0.98, (150, 1))
    """

    _nan_ok = True
    _min_classes = 2
    _statistic_depends_on = ("solver", "priors", "store_covariance")
    _parameter_constraints: dict[str, Any] = {
        "solver": [StrOptions({"svd", "lsqr", "eigen"})],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both"), None],
        "priors": ["array-like", None],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "store_covariance": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "covariance_estimator": [HasMethods("fit"), None],
    }

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        n_components: int | None = None,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        n, k = rows.n_rows, len(self.classes_)
        if n <= k:
            text = "The number of samples must be more than the number of classes"
            raise ValueError(f"{text}: {n} rows and {k} classes.")
        if self.covariance_estimator is not None:
            chunk, with_total = gather_for_estimator(self, rows), self.solver == "eigen"
            s = fit_class_covariances(chunk, k, self.covariance_estimator, with_total=with_total)
            return self._from_statistic(s, rows.dtype) | {"statistic_": None}
        wide = n < rows.n_features and self.shrinkage is None
        if self.solver == "svd" and wide and not self.store_covariance:
            chunk = rows.gather()
            if not np.isnan(chunk.X).any():
                kept = {"statistic_": None, "_completed": None, "dtype_": rows.dtype}
                return {**self._from_rows(chunk), **kept}
        return super()._fit(rows, rng)

    @property
    def _needs_class_covariances(self) -> bool:
        """Whether given priors weight the covariances of the classes."""
        used = self.solver != "svd" or self.store_covariance
        return used and self.priors is not None

    def _statistic(self, rows: Rows) -> Any:
        auto = self.shrinkage == "auto"
        return compute_class_moments(
            rows, len(self.classes_), by_class=self._needs_class_covariances, fourth=auto
        )

    def _statistic_suffices(
        self, statistic: Any, n_rows: int, dtype: np.dtype, settings: list[dict]
    ) -> bool:
        return can_share_moments(self, settings) and super()._statistic_suffices(
            statistic, n_rows, dtype, settings
        )

    def _finalize(self, s: Any, dtype: np.dtype) -> dict[str, Any]:
        check_covariance_parameters(self, s)
        incomplete = isinstance(s, IncompleteScatters)
        s = fill_in_moments(self, s)
        priors = normalize_priors(self.priors, s.n)
        most = _check_n_components(self.n_components, *s.mean.shape)
        if self.solver == "svd":
            white = _whiten_from_moments(s.within() / s.n.sum(), self.tol)
            solution = _solve_svd(s, priors, white, self.tol, most)
        elif self.solver == "lsqr":
            solution = _solve_lsqr(s.mean, priors, self._covariance(s, priors))
        else:
            total = shrunk_total_covariance(s, self.shrinkage)
            solution = _solve_eigen(s.mean, priors, self._covariance(s, priors), total, most)
        if self.solver == "svd" and self.store_covariance:
            solution.attributes["covariance_"] = self._covariance(s, priors)
        learned = self._attributes(solution, s.mean, priors, dtype)
        return learned | {"_completed": s if incomplete else None}

    def _from_rows(self, chunk: Chunk) -> dict[str, Any]:
        """The svd solver on the rows themselves, if there are fewer of them than features."""
        check_no_infinity(chunk)
        n, mean, D, counts = class_residuals(chunk, len(self.classes_))
        D = D * np.sqrt(chunk.weights().astype(np.float64) / n.sum())[:, None]
        s = ClassScatters(n, mean, np.empty((0, 0, 0)), counts)
        priors = normalize_priors(self.priors, n)
        most = _check_n_components(self.n_components, *mean.shape)
        solution = _solve_svd(s, priors, _whiten_from_rows(D, self.tol), self.tol, most)
        return self._attributes(solution, mean, priors, chunk.X.dtype)

    def _covariance(self, s: Any, priors: np.ndarray) -> np.ndarray:
        """Covariance within classes: the mean over the classes, weighted by the priors."""
        C = shrunk_class_covariances(s, self.shrinkage)
        return C[0] if len(C) < len(priors) else np.tensordot(priors, C, 1)

    def _attributes(
        self,
        solution: _DiscriminantSolution,
        means: np.ndarray,
        priors: np.ndarray,
        dtype: np.dtype,
    ) -> dict[str, Any]:
        coef, intercept = solution.coef, solution.intercept
        if len(coef) == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        learned = {"coef_": coef, "intercept_": intercept, "means_": means, "priors_": priors}
        return {
            name: value.astype(dtype) for name, value in (learned | solution.attributes).items()
        }

    def _scorer(self) -> tuple:
        return _discriminant_log_joint, self.coef_, self.intercept_, self._marginal()

    def _marginal(self) -> _Marginal | None:
        """Priors, means and covariance for rows with missing entries."""
        C = self._own_covariance()
        if C is None:
            return None
        log_priors = safe_log(self.priors_.astype(np.float64))
        least = max(self.tol, _MIN_TOL) if self.solver == "svd" else _MIN_TOL
        return _Marginal(log_priors, self.means_.astype(np.float64), C[None], least)

    def _own_covariance(self) -> np.ndarray | None:
        """The covariance within classes of which the discriminants are made, (p, p)."""
        if self.solver != "svd":
            return self.covariance_.astype(np.float64)
        s = self._moments()
        return None if s is None else s.within() / s.n.sum()

    def _moments(self) -> Any:
        """Class moments of the training rows, filled in where entries were missing, or None."""
        completed = getattr(self, "_completed", None)
        return getattr(self, "statistic_", None) if completed is None else completed

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of each row, (n_samples, n_classes); for two classes the log-odds, (n_samples,).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        Z = self._map_rows(X, _linear_scores, self.coef_, self.intercept_, self._marginal())
        return Z[:, 0] if len(self.coef_) == 1 else Z

    @property
    def _n_features_out(self) -> int:
        return self._directions().shape[1]

    def _directions(self) -> np.ndarray:
        if self.solver == "lsqr":
            message = "transform not implemented for 'lsqr' solver (use 'svd' or 'eigen')."
            raise NotImplementedError(message)
        check_is_fitted(self)
        return self.scalings_[:, : _check_n_components(self.n_components, *self.means_.shape)]

    def transform(self, X: Any) -> np.ndarray:
        """Projections of each row on the discriminant directions.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Returns
        -------
        (n_samples, n_components) array; fewer columns if the class means span less
        """
        directions = self._directions()
        center = self.xbar_ if self.solver == "svd" else np.zeros_like(self.means_[0])
        return self._map_rows(X, _project_chunk, directions, center, self._marginal())

    def _class_probabilities(self) -> np.ndarray:
        return self.priors_

    def _draw(self, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if (s := self._moments()) is not None:
            C = self._covariance(s, self.priors_.astype(np.float64))
        elif self.covariance_estimator is not None:
            C = self.covariance_.astype(np.float64)
        else:
            raise ValueError("fewer rows than features have no covariance: use partial_fit")
        variances, V = principal_axes(C)
        deviations = rng.normal(size=(len(y), len(variances))) * np.sqrt(variances)
        return self.means_[y] + deviations @ V.T
