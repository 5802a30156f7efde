"""Independent component analysis: FastICA, Picard and extended infomax."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, Options, StrOptions
from tenfold.base.mixins import Transformer
from tenfold.decomposition._eigensolvers import axes_from_moments, axes_from_qr, axes_from_rows
from tenfold.decomposition._ica_algorithms import (
    ContrastObjective,
    Projections,
    orthonormalize,
    run_deflation,
    run_infomax,
    run_parallel,
    run_quasi_newton,
)
from tenfold.decomposition._ica_contrasts import CONTRASTS, ICAContrast
from tenfold.decomposition.pca import project_rows
from tenfold.decomposition.truncated_svd import multiply_rows
from tenfold.engine.arrays import ArraySource
from tenfold.engine.rows import Rows
from tenfold.engine.second_moments import second_moments
from tenfold.stats.moments import MIN_RECIPROCAL_CONDITION

_MAX_KEPT_BYTES = 2**28  # whitened rows that are kept in memory
_MIN_WIDTH_RATIO = 1.5  # columns to components from which keeping them saves time


class FastICA(ClassNamePrefixFeaturesOutMixin, Transformer):
    r"""Independent component analysis.

    .. math:: x = A s + \mu, \quad s_1, \dots, s_k \text{ independent}, \qquad
              s = g(x) = U (x - \mu)

    Rows are mixtures of sources that are independent, not just uncorrelated. Inference is a formula
    with an unmixing matrix U of its own (`components_`), found among the whitenings of the rows as
    the one whose outputs are farthest from normal. Whitening comes from the second moments of one
    pass; every iteration is a pass over rows, which may be in a file. Parameters and
    attributes are those of `sklearn.decomposition.FastICA`.

    Parameters
    ----------
    n_components : int or None
        Number of components; None for all.
    algorithm : {"parallel", "deflation", "picard", "infomax"}
        FastICA of all components at once, or of one after the other; "picard" is a quasi-Newton
        method with a line search for the same contrast, which converges where FastICA does not;
        "infomax" maximizes the likelihood of the extended infomax model by the same method, and
        lets the estimated components be slightly correlated; it begins where "picard" ends.
    whiten : {"unit-variance", "arbitrary-variance"} or False
        Whether rows are whitened first, and how components are scaled; False for rows that are
        white already.
    fun : {"logcosh", "exp", "cube"} or callable
        Contrast. A function y -> (g(y), mean of g'(y) over rows) gets (n_components, n_rows) arrays
        of some rows at a time ((n_rows,) for "deflation"); not for "picard" and "infomax".
    fun_args : dict, optional
        Arguments of `fun`; {"alpha": between 1 and 2} for "logcosh".
    max_iter : int
        Maximum number of iterations.
    tol : float
        FastICA has converged when no component turns by more: largest 1 less the absolute cosine.
        The others, when no entry of the relative gradient is larger.
    w_init : (n_components, n_components) array, optional
        First unmixing matrix of whitened rows; random by default.
    whiten_solver : {"svd", "eigh"}
        "eigh" whitens by the covariance, one pass; "svd" takes a second one where that loses the
        directions of smallest variance.
    random_state : int, optional
        Seed of the first unmixing matrix; the same as scikit-learn's for a whole number.

    Attributes
    ----------
    components_ : (n_components, n_features) unmixing matrix U
    mixing_ : (n_features, n_components) its pseudo-inverse, A
    mean_ : (n_features,) of the rows; only if they are whitened
    whitening_ : (n_components, n_features) K, with components = W K; only if rows are whitened
    unmixing_ : (n_components, n_components) W, of whitened rows
    n_iter_, converged_ : iterations (of the slowest component), whether they converged
    history_ : "objective" of each iteration: of "picard" and "infomax" what they minimize (minus
        the contrast, minus the mean log-likelihood), of FastICA the change that `tol` stops; and
        "seconds"

    See Also
    --------
    PCA : Uncorrelated components of largest variance.
    FactorAnalysis : Normal factors with noise.

    References
    ----------
    A. Hyvärinen and E. Oja (2000), Independent component analysis: algorithms and applications.

    P. Ablin, J.-F. Cardoso and A. Gramfort (2018), Faster independent component analysis by
    preconditioning with Hessian approximations.

    Examples
    --------
    Two sources, mixed and found again up to sign and order:

    >>> import numpy as np
    >>> from tenfold import FastICA
    >>> rng = np.random.default_rng(0)
    >>> S = np.column_stack([rng.laplace(size=2000), rng.uniform(-1, 1, size=2000)])
    >>> found = FastICA(random_state=0).fit_transform(S @ np.array([[1.0, 2.0], [0.5, -1.0]]))
    >>> np.abs(np.corrcoef(S.T, found.T)[:2, 2:]).max(axis=1).round(2).tolist()
    [1.0, 1.0]
    """

    _sparse_ok = False
    _scale_matters = False  # rows are whitened
    _law_params = {"algorithm": "picard", "n_components": 2}
    _law_rows = 3000
    _learned_shapes = {"components_": "m p", "mixing_": "p m", "mean_": "p"}
    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "algorithm": [StrOptions({"parallel", "deflation", "picard", "infomax"})],
        "whiten": [StrOptions({"arbitrary-variance", "unit-variance"}), Options(bool, {False})],
        "fun": [StrOptions(set(CONTRASTS)), callable],
        "fun_args": [dict, None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "w_init": ["array-like", None],
        "whiten_solver": [StrOptions({"eigh", "svd"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        algorithm: str = "parallel",
        whiten: Any = "unit-variance",
        fun: Any = "logcosh",
        fun_args: dict | None = None,
        max_iter: int = 200,
        tol: float = 1e-4,
        w_init: Any = None,
        whiten_solver: str = "svd",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.algorithm = algorithm
        self.whiten = whiten
        self.fun = fun
        self.fun_args = fun_args
        self.max_iter = max_iter
        self.tol = tol
        self.w_init = w_init
        self.whiten_solver = whiten_solver
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the unmixing matrix.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : None
            Not used; there so that pipelines can pass it.
        sample_weight : array or column name, optional
            Weight of each row; a weight of two is the row twice.

        Returns
        -------
        self
        """
        return super().fit(X, None, sample_weight)

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        contrast = self._contrast(rows)
        whitening = self._whiten(rows)
        z = self._projections(rows, whitening)
        start = self._initial_unmixing(len(z.second_moment), rng)
        W, report = self._unmix(z, start, contrast)
        learned = dict(report)
        if whitening is None:
            components = W
        else:
            if self.whiten == "unit-variance":
                W = W / np.sqrt(np.einsum("ij,ij->i", W, W))[:, None]
            else:
                W = W / np.sqrt(whitening.n)
            components = W @ whitening.matrix
            scale = np.sqrt(whitening.n)
            learned["mean_"] = whitening.mean.astype(rows.dtype)
            learned["whitening_"] = (whitening.matrix / scale).astype(rows.dtype)
            W = W * scale
        return {
            **learned,
            "components_": components.astype(rows.dtype),
            "mixing_": np.linalg.pinv(components).astype(rows.dtype),
            "unmixing_": W.astype(rows.dtype),
        }

    def _contrast(self, rows: Rows) -> ICAContrast:
        arguments = {} if self.fun_args is None else self.fun_args
        alpha = arguments.get("alpha", 1.0)
        if self.fun == "logcosh" and not 1 <= alpha <= 2:
            raise ValueError("alpha must be in [1,2]")
        if isinstance(self.fun, str):
            if self.algorithm == "infomax" and (self.fun != "logcosh" or alpha != 1):
                raise ValueError(
                    "algorithm='infomax' has fun='logcosh' with alpha=1; other contrasts: 'picard'"
                )
            return ICAContrast(self.fun, float(alpha))
        if self.algorithm in ("picard", "infomax"):
            raise ValueError(
                f"algorithm={self.algorithm!r} needs the contrast, not just its derivatives: "
                f"choose fun from {CONTRASTS}, or algorithm='parallel'"
            )
        if rows.source.has_weight:
            raise ValueError("a function for `fun` takes no weights: choose fun='logcosh'")
        return ICAContrast("function", 1.0, self.fun, arguments)

    def _whiten(self, rows: Rows) -> Whitening | None:
        n, p = rows.n_rows, rows.n_features
        k = self.n_components
        if not self.whiten:
            if k is not None:
                warnings.warn("Ignoring n_components with whiten=False.", stacklevel=5)
            return None
        most = min(n, p)
        if k is not None and k > most:
            warnings.warn(
                f"n_components is too large: it will be set to {most}", UserWarning, stacklevel=5
            )
        return whiten_rows(rows, most if k is None else min(int(k), most), self.whiten_solver)

    def _projections(self, rows: Rows, whitening: Whitening | None) -> Projections:
        if whitening is None:
            return Projections(rows, None, None, self._second_moment(rows))
        k, p = whitening.matrix.shape
        bytes_kept = rows.n_rows * k * rows.dtype.itemsize
        mean = whitening.mean.astype(rows.dtype)
        same = np.eye(k)
        wide = p >= _MIN_WIDTH_RATIO * k
        if rows.source.has_weight or not wide or bytes_kept > _MAX_KEPT_BYTES:
            return Projections(rows, mean, whitening.matrix, same)
        Z = rows.each(project_rows, whitening.matrix.T.astype(rows.dtype), mean)
        return Projections(Rows(ArraySource(Z)), None, None, same)

    def _second_moment(self, rows: Rows) -> np.ndarray:
        if self.algorithm != "infomax":  # the others take white rows for granted
            return np.eye(rows.n_features)
        s = second_moments(rows)
        return s.scatter / s.n + np.multiply.outer(s.mean, s.mean)

    def _initial_unmixing(self, k: int, rng: np.random.Generator) -> np.ndarray:
        if self.w_init is None:
            if isinstance(self.random_state, Integral):
                return np.random.RandomState(int(self.random_state)).normal(size=(k, k))
            return rng.normal(size=(k, k))
        start = np.asarray(self.w_init, np.float64)
        if start.shape != (k, k):
            raise ValueError(f"w_init has invalid shape -- should be ({k}, {k})")
        return start

    def _unmix(
        self, z: Projections, start: np.ndarray, contrast: ICAContrast
    ) -> tuple[np.ndarray, dict[str, Any]]:
        if self.algorithm == "parallel":
            return run_parallel(z, start, contrast, self.tol, self.max_iter)
        if self.algorithm == "deflation":
            return run_deflation(z, start, contrast, self.tol, self.max_iter)
        start = orthonormalize(start)
        if self.algorithm == "infomax":
            return run_infomax(z, start, contrast, self.tol, self.max_iter)
        objective = ContrastObjective(contrast, contrast.gaussian_mean())
        return run_quasi_newton(z, start, objective, self.tol, self.max_iter)

    def _convergence_words(self) -> str:
        cure = "" if self.algorithm in ("picard", "infomax") else " Try algorithm='picard'."
        return (
            "FastICA did not converge. Consider increasing tolerance or the maximum number of "
            f"iterations.{cure}"
        )

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def transform(self, X: Any, copy: bool = True) -> np.ndarray:
        """Sources of each row, (n_rows, n_components).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        copy : bool
            X is never overwritten, whatever is given here.
        """
        check_is_fitted(self)
        U = np.ascontiguousarray(self.components_.T)
        if not self.whiten:
            return self._map_rows(X, multiply_rows, U)
        return self._map_rows(X, project_rows, U, self.mean_)

    def inverse_transform(self, X: np.ndarray, copy: bool = True) -> np.ndarray:
        """Rows with these sources, (n_rows, n_features).

        Parameters
        ----------
        X : (n_rows, n_components) array
            Sources, as `transform` returns them.
        copy : bool
            X is never overwritten, whatever is given here.
        """
        check_is_fitted(self)
        rows = np.asarray(X) @ self.mixing_.T
        return rows + self.mean_ if self.whiten else rows


class Whitening(NamedTuple):
    """z = matrix (x - mean) has the covariance I (over n); matrix is (k, p)."""

    n: float
    mean: np.ndarray
    matrix: np.ndarray


def whiten_rows(rows: Rows, k: int, solver: str) -> Whitening:
    """The whitening of rows by their k principal axes, with the signs of scikit-learn."""
    if rows.n_rows < rows.n_features:
        axes = axes_from_rows(rows)
    else:
        s = second_moments(rows)
        axes = axes_from_moments(s, k)
        smallest = MIN_RECIPROCAL_CONDITION[rows.dtype.itemsize]
        if not axes.variances[k - 1] > smallest * axes.variances[0]:
            if solver == "eigh":
                warnings.warn(
                    "There are some small singular values, using whiten_solver = 'svd' might lead "
                    "to more accurate solutions.",
                    stacklevel=6,
                )
            elif np.isfinite(s.scatter).all():
                axes = axes_from_qr(rows, s)
    variances = axes.variances[:k] * max(axes.n - 1, 1) / axes.n
    floor = np.finfo(rows.dtype).eps ** 2 * max(variances.max(initial=0.0), np.finfo(float).tiny)
    directions = axes.directions[:k]
    signs = np.where(directions[:, 0] < 0, -1.0, 1.0)
    deviations = np.sqrt(np.maximum(variances, max(floor, np.finfo(float).tiny)))
    return Whitening(axes.n, axes.mean, (signs / deviations)[:, None] * directions)


def fastica(
    X: Any,
    n_components: int | None = None,
    *,
    algorithm: str = "parallel",
    whiten: Any = "unit-variance",
    fun: Any = "logcosh",
    fun_args: dict | None = None,
    max_iter: int = 200,
    tol: float = 1e-4,
    w_init: Any = None,
    whiten_solver: str = "svd",
    random_state: Any = None,
    return_X_mean: bool = False,
    compute_sources: bool = True,
    return_n_iter: bool = False,
) -> tuple:
    """Independent components as arrays; see `FastICA`.

    Parameters
    ----------
    X : array, table, path, Dask collection or `tenfold.open(...)`
        The rows.
    n_components, algorithm, whiten, fun, fun_args : as in `FastICA`
    max_iter, tol, w_init, whiten_solver, random_state : as in `FastICA`
    return_X_mean, compute_sources, return_n_iter : bool
        What is returned beside the matrices.

    Returns
    -------
    K : (n_components, n_features) whitening, None without it
    W : (n_components, n_components) unmixing of whitened rows: the sources are W K (x - mean)
    S : (n_rows, n_components) sources, None if they are not asked for
    mean : (n_features,) of the rows, if it is asked for
    n_iter : int, if it is asked for

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).laplace(size=(500, 2)) @ np.array([[1.0, 2.0], [0.5, -1.0]])
    >>> K, W, S = fastica(X, random_state=0)
    >>> np.allclose((X - X.mean(axis=0)) @ (W @ K).T, S)
    True
    """
    model = FastICA(
        n_components,
        algorithm=algorithm,
        whiten=whiten,
        fun=fun,
        fun_args=fun_args,
        max_iter=max_iter,
        tol=tol,
        w_init=w_init,
        whiten_solver=whiten_solver,
        random_state=random_state,
    ).fit(X)
    K = model.whitening_ if whiten else None
    found = (K, model.unmixing_, model.transform(X) if compute_sources else None)
    if return_X_mean:
        found = (*found, model.mean_ if whiten else None)
    return (*found, model.n_iter_) if return_n_iter else found
