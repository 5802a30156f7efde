"""CP decomposition of tensors: a sum of products of vectors, one for each mode."""

from __future__ import annotations

from math import prod
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import Transformer
from tenfold.decomposition._tensor_als import (
    CellProducts,
    EntryCounts,
    Factors,
    count_entries,
    filled_products,
    khatri_rao,
    normalize,
    solve_rows,
    squared_error,
    tensor_sums,
    unfolding_grams,
    update_factors,
)
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.optim.convergence import until_converged

_CHUNK_CELLS = 2**21  # of a chunk, so that threads share large slices (`CP, 200 x 200 x 200`)


class CPDecomposition(ClassNamePrefixFeaturesOutMixin, Transformer):
    r"""CP decomposition (PARAFAC) of a tensor of any order, with missing entries.

    .. math:: x_{ij \dots l} \approx \sum_{r=1}^{R} \lambda_r \, a_{ir} b_{jr} \cdots c_{lr}

    Alternating least squares, in which no step increases the error of the observed entries. Slices
    of the first mode are rows, and each iteration is one pass over them, so that they may be in a
    file; missing entries (NaN) are left out of every sum, not imputed. For order three and more the
    factors are unique under mild conditions, up to order and scale, where those of a matrix
    (order two) are defined up to any invertible matrix.

    Parameters
    ----------
    n_components : int
        Number R of products.
    shape : tuple of int, optional
        Shape of a slice, for rows that come as a table or a file; by default that of the array,
        and for a matrix (n_features,).
    non_negative : bool
        Whether all factors are non-negative.
    init : {"svd", "random"}
        First factors: singular vectors of each mode (absolute values, if non-negative), or random
        ones. Further initializations are random.
    n_init : int
        Number of initializations, of which the best is kept.
    tol : float
        Converged when an iteration decreases the squared error by at most this share of the sum of
        squares of the entries.
    max_iter : int
        Maximum number of iterations.
    random_state : int, optional
        Seed of random initializations.

    Attributes
    ----------
    factors_ : list of (d, n_components) arrays, one for each mode, with columns of length one; the
        first one has a row for each slice. The largest entry of each column is positive, except in
        the first mode, which carries the sign of the product
    weights_ : (n_components,) lambda, descending
    shape_ : shape of a slice
    reconstruction_err_ : Frobenius norm of the error of the observed entries
    explained_ratio_ : one less the squared error over the sum of squares
    n_iter_, converged_ : iterations of the best initialization, and whether they converged
    history_ : squared error ("objective") of each iteration, and "seconds"

    See Also
    --------
    PCA : Orthogonal factors of a matrix.
    ProbabilisticPCA : Matrices with missing entries and a likelihood.

    References
    ----------
    T. G. Kolda and B. W. Bader (2009), Tensor decompositions and applications.

    R. Bro and H. A. L. Kiers (2003), A new efficient method for determining the number of
    components in PARAFAC models.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import CPDecomposition
    >>> rng = np.random.default_rng(0)
    >>> A, B, C = (rng.normal(size=(d, 2)) for d in (30, 6, 5))
    >>> X = np.einsum("ir,jr,kr->ijk", A, B, C)
    >>> X[rng.random(X.shape) < 0.4] = np.nan
    >>> model = CPDecomposition(2, tol=1e-12).fit(X)
    >>> bool(np.allclose(model.reconstruct()[0], np.einsum("r,jr,kr->jk", A[0], B, C), atol=1e-3))
    True
    """

    _nan_ok = True
    _learns_nan = False
    _law_rows = 2000
    _law_params = {"n_components": 2}
    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "shape": [tuple, list, None],
        "non_negative": ["boolean"],
        "init": [StrOptions({"svd", "random"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        shape: Any = None,
        non_negative: bool = False,
        init: str = "svd",
        n_init: int = 1,
        tol: float = 1e-8,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.shape = shape
        self.non_negative = non_negative
        self.init = init
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the factors.

        Parameters
        ----------
        X : array of order 2 or more; or table, path, Dask collection, `tenfold.open(...)`
            The tensor, slices of the first mode one after the other; NaN where an entry is missing.
        y : None
            Not used; there so that pipelines can pass it.
        sample_weight : array or column name, optional
            Weight of each slice; a weight of two is the slice twice.

        Returns
        -------
        self
        """
        return super().fit(X, None, sample_weight)

    def _rows(self, X: Any, y: Any = None, w: Any = None, *, reset: bool = True) -> Rows:
        X = np.asarray(X) if isinstance(X, list | tuple) else X
        order = getattr(X, "ndim", 2)
        shape = tuple(X.shape[1:]) if order > 2 else None
        if shape is not None:
            X = np.ma.asarray(X) if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
            X = X.reshape(len(X), -1)
        rows = super()._rows(X, y, w, reset=reset)
        if reset:
            self.shape_ = self._slice_shape(shape, rows.n_features)
        elif shape is not None and shape != self.shape_:
            raise ValueError(f"the slices have the shape {shape}, those of the fit {self.shape_}")
        return rows.with_chunk_rows(max(_CHUNK_CELLS // rows.n_features, 1))

    def _slice_shape(self, given: tuple[int, ...] | None, p: int) -> tuple[int, ...]:
        asked = None if self.shape is None else tuple(int(d) for d in self.shape)
        if asked is not None and (prod(asked) != p or min(asked) < 1):
            raise ValueError(f"shape={asked} has {prod(asked)} cells, and a row {p}")
        if given is not None and asked is not None and given != asked:
            raise ValueError(f"shape={asked}, and yet the slices of X have the shape {given}")
        return given or asked or (p,)

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        counts = rows.total(count_entries)
        if not np.isfinite(counts.squares):
            raise ValueError(
                "X contains infinity or numbers whose squares overflow: divide it by a constant "
                "(NaN is a missing entry)"
            )
        if counts.observed == 0:
            raise ValueError("X has no entry at all, only NaN")
        runs = [self._run_als(rows, start, counts) for start in self._initial_factors(rows, rng)]
        factors, error, report = min(runs, key=lambda run: run[1])
        A = rows.each(factor_scores, CellProducts.of(factors), self.non_negative)
        return {**self._attributes(A, factors, error, counts, rows.dtype), **report}

    def _initial_factors(self, rows: Rows, rng: np.random.Generator) -> list[Factors]:
        shape, rank = self.shape_, self.n_components
        starts = []
        if self.init == "svd":
            grams = rows.total(unfolding_grams, shape)
            starts = [tuple(self._leading_vectors(gram, rng) for gram in grams)]
        while len(starts) < self.n_init:
            drawn = tuple(rng.normal(size=(d, rank)) for d in shape)
            starts.append(tuple(np.abs(B) for B in drawn) if self.non_negative else drawn)
        return [normalize(start) for start in starts]

    def _leading_vectors(self, gram: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Singular vectors of a mode; random columns beyond its length."""
        d, rank = len(gram), self.n_components
        V = np.linalg.eigh(gram)[1][:, ::-1][:, :rank]
        V = V * np.where(V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])] < 0, -1.0, 1.0)
        V = np.hstack([V, rng.normal(size=(d, rank - V.shape[1]))])
        return np.abs(V) if self.non_negative else V

    def _run_als(
        self, rows: Rows, start: Factors, counts: EntryCounts
    ) -> tuple[Factors, float, dict[str, Any]]:
        """Passes until the error falls no more: factors of the other modes, error, report."""
        scale = counts.squares or 1.0
        rounding = 10 * np.finfo(rows.dtype).eps * scale  # of errors, differences of squares
        state = (start, np.inf)
        loop = until_converged(state, tol=self.tol * scale, max_iter=self.max_iter)
        for factors, previous in loop:
            cells = CellProducts.of(factors, incomplete=counts.missing > 0)
            s = rows.total(tensor_sums, cells, self.non_negative)
            following = update_factors(s, factors, self.non_negative)
            error = squared_error(counts.squares, s, following)
            if previous < error <= previous + rounding:  # least squares: no step rises
                error = previous
            loop.update((normalize(following), error), objective=error, change=previous - error)
        factors, error = loop.state
        return factors, float(error), loop.report

    def _attributes(
        self, A: np.ndarray, factors: Factors, error: float, counts: EntryCounts, dtype: np.dtype
    ) -> dict[str, Any]:
        signs = [
            np.where(B[np.abs(B).argmax(axis=0), range(B.shape[1])] < 0, -1, 1) for B in factors
        ]
        lengths = np.linalg.norm(A.astype(np.float64), axis=0)
        order = np.argsort(-lengths, kind="stable")
        first = A * (np.prod(signs, axis=0) / np.where(lengths > 0, lengths, 1.0))
        signed = [first, *(B * sign for B, sign in zip(factors, signs, strict=True))]
        return {
            "factors_": [np.ascontiguousarray(B[:, order]).astype(dtype) for B in signed],
            "weights_": lengths[order].astype(dtype),
            "shape_": self.shape_,
            "reconstruction_err_": float(np.sqrt(error)),
            "explained_ratio_": float(1 - error / (counts.squares or 1.0)),
        }

    def _check_learned(self) -> None:
        """Raise an error if the factors of a file do not fit each other."""
        rank = len(self.weights_)
        shapes = [np.shape(B) for B in self.factors_[1:]]
        if shapes != [(d, rank) for d in self.shape_] or prod(self.shape_) != self.n_features_in_:
            raise ValueError(f"factors of the shapes {shapes} do not fit slices of {self.shape_}")
        if np.shape(self.factors_[0])[1:] != (rank,):
            raise ValueError(f"the first factor has the shape {np.shape(self.factors_[0])}")

    @property
    def _n_features_out(self) -> int:
        return len(self.weights_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _other_factors(self) -> Factors:
        return tuple(B.astype(np.float64) for B in self.factors_[1:])

    def transform(self, X: Any) -> np.ndarray:
        """Coefficients of each slice, (n_slices, n_components), weights included.

        Parameters
        ----------
        X : array of order 2 or more; or table, path, Dask collection, `tenfold.open(...)`
            Slices; NaN where an entry is missing.
        """
        check_is_fitted(self)
        cells = CellProducts.of(self._other_factors())
        return self._map_rows(X, factor_scores, cells, self.non_negative)

    def inverse_transform(self, X: np.ndarray) -> np.ndarray:
        """Slices with these coefficients, of the shape (n_slices, ...) of those of the fit.

        Parameters
        ----------
        X : (n_slices, n_components) array
            Coefficients, as `transform` returns them.
        """
        check_is_fitted(self)
        K = khatri_rao(tuple(self.factors_[1:]))
        return (np.asarray(X) @ K.T).reshape(len(X), *self.shape_)

    def reconstruct(self) -> np.ndarray:
        """The whole tensor from the factors, missing entries included."""
        check_is_fitted(self)
        return self.inverse_transform(self.factors_[0] * self.weights_)

    def core_consistency(self, X: Any) -> float:
        """Core consistency of the number of components, in percent (CORCONDIA).

        The core that fits the tensor best with these factors is compared with the superdiagonal one
        of the model: near 100 if the components are enough and not too many, far less (or negative)
        if there are too many. Missing entries are filled by the model.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The tensor of the fit.
        """
        check_is_fitted(self)
        factors, rank = self._other_factors(), len(self.weights_)
        with self._work_context():
            rows = self._rows(X, reset=False)
            cells = CellProducts.of(factors)
            products, gram = rows.total(filled_products, cells, self.non_negative)
        core = np.linalg.pinv(gram) @ products.T  # (R, p)
        core = core.reshape(rank, *self.shape_)
        for mode, B in enumerate(factors):
            core = np.moveaxis(np.tensordot(np.linalg.pinv(B), core, (1, mode + 1)), 0, mode + 1)
        ideal = np.zeros_like(core)
        ideal[(np.arange(rank),) * core.ndim] = 1.0
        return float(100 * (1 - ((core - ideal) ** 2).sum() / rank))


def factor_scores(chunk: Chunk, cells: CellProducts, non_negative: bool) -> np.ndarray:
    """Least-squares coefficients of each row, in the number type of the chunk."""
    return solve_rows(chunk.X, cells, non_negative).astype(chunk.X.dtype)
