"""Completion of a matrix with missing entries by a penalty on its nuclear norm."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold._compiled.row_systems import (
    add_column_systems,
    observed_entries,
    solve_packed_systems,
    solve_row_systems,
)
from tenfold.base._sklearn import Interval
from tenfold.base.mixins import Transformer
from tenfold.engine.chunk import Chunk
from tenfold.engine.row_random import normals
from tenfold.engine.rows import Rows
from tenfold.optim.convergence import until_converged
from tenfold.recommend._half_steps import relative_decrease

_MAX_DEFAULT_RANK = 50
_NAMED_COLUMNS = 5  # in a warning
_ZERO_SINGULAR_VALUE = 1e-4  # as a share of the largest


class SoftImpute(Transformer):
    r"""Fill the gaps of a matrix by a matrix of low rank.

    .. math::
        \min_M \tfrac12 \sum_{(i,j) \text{ observed}} (x_{ij} - m_j - M_{ij})^2 + \lambda \|M\|_*

    where the nuclear norm :math:`\|M\|_*` is the sum of the singular values: the convex relative of
    the rank, as the L1 norm is of the number of coefficients. With :math:`M = A B^\top` the penalty
    is the least of :math:`\tfrac12(\|A\|^2 + \|B\|^2)`, and alternating ridge regressions of rows
    and columns decrease the cost. One pass over the rows is one iteration: a row's :math:`a_i` is
    computed, adds to the equations of its columns, and is forgotten. So the rows may lie in a file
    larger than memory or on a cluster, and new rows are filled in the same way.

    Parameters
    ----------
    regularization : float, default=1.0
        Strength :math:`\lambda` of the penalty: singular values below it become zero.
    max_rank : int, default=None
        Most columns of A and B; by default the number of columns of X, at most 50. The solution is
        that of the nuclear norm if its rank stays below.
    center : bool, default=True
        Whether :math:`m_j` is the mean of the observed entries of a column, which is not
        penalized; otherwise 0.
    max_iter : int, default=300
        Most iterations.
    tol : float, default=1e-5
        Converged when an iteration lowers the cost by at most this share of the cost of M = 0.
    n_jobs : int, default=None
        Threads; all by default.
    random_state : int, RandomState or None, default=0
        Seed of the first B.
    verbose : int, default=0
        Show progress.

    Attributes
    ----------
    components_ : ndarray of shape (rank, n_features)
        Right singular vectors of M, by descending singular values, their largest entry positive.
    singular_values_ : ndarray of shape (rank,)
        Singular values of M that are not zero.
    mean_ : ndarray of shape (n_features,)
        Means of the columns, or zeros.
    objective_ : float
        The cost at the end.
    n_iter_, converged_, history_ : int, bool, dict
        Iterations, whether the stopping rule was met, cost and seconds after each iteration.

    See Also
    --------
    ALS : ratings of users and items, where most entries are missing.

    References
    ----------
    R. Mazumder, T. Hastie and R. Tibshirani (2010), Spectral regularization algorithms for learning
    large incomplete matrices.
    T. Hastie, R. Mazumder, J. Lee and R. Zadeh (2015), Matrix completion and low-rank SVD via fast
    alternating least squares.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import SoftImpute
    >>> X = np.outer([1.0, 2, 3, 4, 5], [1.0, -1, 2])
    >>> X[1, 2] = np.nan  # it was 4
    >>> model = SoftImpute(0.01, max_rank=1, center=False, tol=1e-8).fit(X)
    >>> model.transform(X)[1].round(1).tolist()
    [2.0, -2.0, 4.0]
    """

    _nan_ok = True
    _learns_nan = False
    _chunk_rows = 1024  # a linear system for each row
    _float64_learned = ("components_", "singular_values_", "mean_")
    _learned_shapes = {"components_": "m p", "singular_values_": "m", "mean_": "p"}
    _law_params: dict[str, Any] = {"max_rank": 2, "tol": 1e-2}
    _law_rows = 3_000
    _parameter_constraints: dict[str, Any] = {
        "regularization": [Interval(Real, 0, None, closed="neither")],
        "max_rank": [None, Interval(Integral, 1, None, closed="left")],
        "center": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        regularization: float = 1.0,
        *,
        max_rank: int | None = None,
        center: bool = True,
        max_iter: int = 300,
        tol: float = 1e-5,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.regularization = regularization
        self.max_rank = max_rank
        self.center = center
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        n, total, squares = rows.total(_observed_sums)
        if not n.any():
            raise ValueError("SoftImpute: all entries of X are missing")
        wrong = ~np.isfinite(squares)
        if wrong.any():
            name = self.get_feature_names_out()[int(wrong.argmax())]
            raise ValueError(
                f"Input X contains infinity or a value too large to square, in column {name!r}: "
                "SoftImpute needs finite numbers (NaN is a missing entry); divide the column by a "
                "constant"
            )
        self._warn_of_empty_columns(n)
        mean = np.divide(total, n, out=np.zeros(len(n)), where=n > 0) if self.center else 0.0 * n
        k = min(self.max_rank or _MAX_DEFAULT_RANK, rows.n_features)
        B = normals(int(rng.integers(2**31)), 0, rows.n_features, k)
        lam = float(self.regularization)
        scale = 0.5 * float((squares - 2 * mean * total + n * mean**2).sum())
        loop = until_converged(B, tol=self.tol, max_iter=self.max_iter)
        for B in loop:
            s = rows.total(_column_systems, B, mean, lam)
            cost = s.cost + 0.5 * lam * (B**2).sum()
            better = solve_packed_systems(s.squares, s.moments, ridge=lam)
            change = relative_decrease(loop.objectives, cost, scale)
            values, vectors = _singular_vectors(better, s.gram)
            loop.update(vectors * np.sqrt(values), objective=cost, change=change)
        values, components = _principal_part(loop.state)
        return {
            "components_": components,
            "singular_values_": values,
            "mean_": mean,
            "objective_": float(loop.objectives[-1]),
            **loop.report,
        }

    def _warn_of_empty_columns(self, n: np.ndarray) -> None:
        """Name the columns about which the rows say nothing."""
        empty = np.flatnonzero(n == 0)
        if len(empty):
            names = ", ".join(map(repr, self.get_feature_names_out()[empty[:_NAMED_COLUMNS]]))
            more = f" and {len(empty) - _NAMED_COLUMNS} more" if len(empty) > _NAMED_COLUMNS else ""
            warnings.warn(
                f"SoftImpute: the columns {names}{more} have no entry at all, only NaN. Nothing is "
                "known of them, and they are filled with 0: leave them out",
                UserWarning,
                stacklevel=4,
            )

    def transform(self, X: Any) -> np.ndarray:
        """Fill the missing entries of rows.

        A row without any entry gets the means of the columns (0 with center=False). A column that
        had no entry in the fit, of which the fit warns, gets 0.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            Rows, of the fit or new ones; NaN is missing.

        Returns
        -------
        ndarray of shape (n, n_features)
            The rows with their gaps filled; what is there stays as it is.
        """
        check_is_fitted(self)
        return self._map_rows(X, _fill_gaps, *self._state(), True)

    def reconstruct(self, X: Any) -> np.ndarray:
        """The matrix of low rank at all entries, observed ones too.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            Rows; NaN is missing.
        """
        check_is_fitted(self)
        return self._map_rows(X, _fill_gaps, *self._state(), False)

    def _state(self) -> tuple[np.ndarray, np.ndarray, float]:
        B = self.components_.T * np.sqrt(self.singular_values_)
        return np.ascontiguousarray(B), self.mean_, float(self.regularization)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns, which are those of X.

        Parameters
        ----------
        input_features : list of str, optional
            Names to use if the fit saw none.
        """
        check_is_fitted(self, "n_features_in_")
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = input_features or [f"x{j}" for j in range(self.n_features_in_)]
        return np.asarray(names, dtype=object)


class ColumnSystems(NamedTuple):
    """Equations of the columns, Gram matrix of the rows' vectors, and the cost of the rows."""

    squares: np.ndarray
    moments: np.ndarray
    gram: np.ndarray
    cost: float


def _observed_sums(chunk: Chunk) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weight, sum and sum of squares of the observed entries of each column."""
    seen, w = ~np.isnan(chunk.X), chunk.weights().astype(np.float64)
    values = np.where(seen, chunk.X, 0).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # infinity is reported at the end
        return w @ seen, w @ values, w @ values**2


def _column_systems(chunk: Chunk, B: np.ndarray, mean: np.ndarray, lam: float) -> ColumnSystems:
    p, k = B.shape
    a, entries, target = _solve_rows(chunk.X, B, mean, lam)
    indptr, indices, _ = entries
    w = chunk.weights().astype(np.float64)
    counts = np.diff(indptr)
    weight = None if chunk.w is None else np.repeat(w, counts)
    squares, moments = np.zeros((p, k * (k + 1) // 2)), np.zeros((p, k))
    moment = target if weight is None else target * weight
    add_column_systems(indptr, indices, weight, moment, a, None, squares, moments)
    rows = np.repeat(np.arange(len(a)), counts)
    errors = target - (a[rows] * B[indices]).sum(axis=1)
    each = 0.5 * np.bincount(rows, errors**2, minlength=len(a)) + 0.5 * lam * (a**2).sum(axis=1)
    return ColumnSystems(squares, moments, (a.T * w) @ a, float(w @ each))


def _solve_rows(
    X: np.ndarray, B: np.ndarray, mean: np.ndarray, lam: float
) -> tuple[np.ndarray, tuple[np.ndarray, ...], np.ndarray]:
    indptr, indices, values = observed_entries(X)
    target = values - mean[indices]
    a = solve_row_systems(indptr, indices, None, target, B, ridge=lam).x
    return a, (indptr, indices, values), target


def _fill_gaps(
    chunk: Chunk, B: np.ndarray, mean: np.ndarray, lam: float, only_gaps: bool
) -> np.ndarray:
    a = _solve_rows(chunk.X, B, mean, lam)[0]
    filled = (a @ B.T + mean).astype(chunk.X.dtype)
    return np.where(np.isnan(chunk.X), filled, chunk.X) if only_gaps else filled


def _singular_vectors(B: np.ndarray, gram: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Singular values and right vectors of M = A B' from B and A'A.

    M = (U S^1/2) (V S^1/2)' has the least penalty of all products that are M, so that an iteration
    goes on from there: plain alternation would balance the two sides only slowly.
    """
    Q, R = np.linalg.qr(B)
    squares, W = np.linalg.eigh(R @ gram @ R.T)
    return np.sqrt(np.maximum(squares[::-1], 0.0)), np.ascontiguousarray(Q @ W[:, ::-1])


def _principal_part(B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Singular values that are not zero, and their vectors as rows, from B = V S^1/2."""
    values = (B**2).sum(axis=0)
    kept = values > _ZERO_SINGULAR_VALUE * max(values[0], np.finfo(float).tiny)
    values, components = values[kept], (B[:, kept] / np.sqrt(values[kept])).T
    places = np.abs(components).argmax(axis=1)
    components *= np.sign(components[np.arange(len(components)), places])[:, None]
    return values, np.ascontiguousarray(components)
