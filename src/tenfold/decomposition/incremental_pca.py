"""Principal component analysis of rows that come in batches, exactly."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np

from tenfold.base._sklearn import Interval
from tenfold.decomposition._eigensolvers import axes_from_factor
from tenfold.decomposition.pca import PCA
from tenfold.engine.chunk import Chunk, chunk_rows
from tenfold.engine.rows import Rows
from tenfold.math.linalg import to_dense


class CenteredFactor(NamedTuple):
    """Weight and mean of rows, and F with F'F = their scatter about the mean.

    F is the centered rows themselves as long as there are no more of them than columns, then their
    triangular factor. Two parts merge exactly: the factor of both, and of the difference of means.

    Attributes
    ----------
    n : total weight
    mean : (n_features,) weighted mean
    factor : (at most n_features, n_features) F
    rows : number of rows
    """

    n: float
    mean: np.ndarray
    factor: np.ndarray
    rows: int

    @classmethod
    def of(cls, X: np.ndarray, w: np.ndarray | None) -> CenteredFactor:
        """The factor of weighted rows, in float64.

        Examples
        --------
        >>> import numpy as np
        >>> X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 9.0]])
        >>> whole = CenteredFactor.of(X[:1], None).merge(CenteredFactor.of(X[1:], None))
        >>> np.allclose(whole.factor.T @ whole.factor, np.cov(X.T) * 2)
        True
        """
        X = X.astype(np.float64, copy=False)
        weights = np.ones(len(X)) if w is None else w.astype(np.float64)
        n = float(weights.sum())
        mean = (weights @ (X - X[0])) / (n or 1.0) + X[0]
        D = (X - mean) * np.sqrt(weights)[:, None]
        return cls(n, mean, _triangular(D), len(X))

    def merge(self, other: CenteredFactor) -> CenteredFactor:
        n = self.n + other.n
        delta, share = other.mean - self.mean, other.n / (n or 1.0)
        between = delta * np.sqrt(self.n * share)
        factor = _triangular(np.vstack([self.factor, other.factor, between]))
        return CenteredFactor(n, self.mean + share * delta, factor, self.rows + other.rows)


def _triangular(F: np.ndarray) -> np.ndarray:
    """A matrix of no more rows than columns with the same F'F; no diagonal entry is negative."""
    if len(F) <= F.shape[1]:
        return F
    R = np.asarray(np.linalg.qr(F, mode="r"))
    return np.where(R.diagonal() < 0, -1.0, 1.0)[:, None] * R


def centered_factor(chunk: Chunk) -> CenteredFactor:
    """The factor of a chunk; sparse rows become dense a few at a time."""
    size = chunk.rows if isinstance(chunk.X, np.ndarray) else _dense_rows(chunk)
    parts = [
        CenteredFactor.of(
            to_dense(chunk.X[first : first + size]),
            None if chunk.w is None else chunk.w[first : first + size],
        )
        for first in range(0, chunk.rows, size)
    ]
    total = parts[0]
    for part in parts[1:]:
        total = total.merge(part)
    return total


def _dense_rows(chunk: Chunk) -> int:
    return chunk_rows(chunk.X.shape[1], np.dtype(np.float64))


class IncrementalPCA(PCA):
    r"""Principal component analysis of rows that come in batches.

    .. math:: \bar X = Q F, \qquad F^\top F = \sum_i (x_i - \mu)(x_i - \mu)^\top

    A fold keeps the triangular factor F of the centered rows, whose singular vectors are the
    components. Nothing is discarded between batches, so that `partial_fit` in batches of any size
    gives the components of `PCA` to rounding, and the smallest of them as accurately as the
    singular value decomposition of all rows. scikit-learn's model of this name keeps only
    `n_components` directions from batch to batch, and is an approximation. Parameters and
    attributes are those of `sklearn.decomposition.IncrementalPCA`.

    Parameters
    ----------
    n_components : int or None
        Number of components; None for all, as many as rows seen so far or columns.
    whiten : bool
        Whether transformed columns have variance one.
    copy : bool
        X is never overwritten, whatever is given here.
    batch_size : int, optional
        Ignored: rows are read in chunks, and their size does not change the result.

    Attributes
    ----------
    components_ : (n_components, n_features) orthonormal directions; the largest entry of each is
        positive
    explained_variance_, explained_variance_ratio_ : (n_components,) variance along each, and its
        share of the total
    singular_values_ : (n_components,) of the centered rows
    mean_, var_ : (n_features,) mean and variance (over n) of the columns
    noise_variance_ : mean variance along the other directions
    n_components_, n_samples_seen_, batch_size_ : numbers of components and rows, and the batch size
    statistic_ : the factor of the rows so far

    See Also
    --------
    PCA : From second moments, which is faster; it has `partial_fit` too.
    TruncatedSVD : Without centering, for sparse rows.

    References
    ----------
    D. Ross, J. Lim, R.-S. Lin and M.-H. Yang (2008), Incremental learning for robust visual
    tracking.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import PCA, IncrementalPCA
    >>> X, _ = load_iris(return_X_y=True)
    >>> model = IncrementalPCA(n_components=2)
    >>> for batch in np.array_split(X, 7):
    ...     model = model.partial_fit(batch)
    >>> np.allclose(model.components_, PCA(2).fit(X).components_)
    True
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "whiten": ["boolean"],
        "copy": ["boolean"],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
    }
    svd_solver = "full"

    def __init__(
        self,
        n_components: int | None = None,
        *,
        whiten: bool = False,
        copy: bool = True,
        batch_size: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self.copy = copy
        self.batch_size = batch_size

    def partial_fit(  # pyright: ignore[reportIncompatibleMethodOverride] - scikit-learn's order
        self, X: Any, y: Any = None, check_input: bool = True, sample_weight: Any = None
    ) -> Self:
        """Learn from more rows, as if they had been part of the rows so far.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The further rows.
        y : None
            Not used; there so that pipelines can pass it.
        check_input : bool
            Not used: rows are checked while they are read.
        sample_weight : array or column name, optional
            Weights of the rows.

        Returns
        -------
        self
        """
        return super().partial_fit(X, None, sample_weight)

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        return self._from_statistic(self._statistic(rows), rows.dtype)

    def _statistic(self, rows: Rows) -> Any:
        return rows.total(centered_factor)

    def _statistic_suffices(
        self, s: Any, n_rows: int, dtype: np.dtype, settings: list[dict]
    ) -> bool:
        return True

    def _finalize(self, s: Any, dtype: np.dtype) -> dict[str, Any]:
        self._check_n_components(s.rows, len(s.mean))
        axes = axes_from_factor(s.factor, s.n, s.mean)
        learned = self._attributes(axes, s.rows, dtype)
        variances = np.einsum("ij,ij->j", s.factor, s.factor) / (s.n or 1.0)
        batch_size = 5 * len(s.mean) if self.batch_size is None else self.batch_size
        return {
            **learned,
            "var_": variances.astype(dtype),
            "n_samples_seen_": learned.pop("n_samples_"),
            "batch_size_": batch_size,
        }

    def _check_n_components(self, n: int, p: int) -> None:
        k = self.n_components
        if k is not None and k > p:
            raise ValueError(
                f"n_components={k} invalid for n_features={p}, need more rows than columns for "
                f"IncrementalPCA processing: take n_components={p} or less"
            )
        if k is not None and k > n:
            raise ValueError(
                f"n_components={k} must be less or equal to the batch number of samples {n} for "
                "the first partial_fit call: give more rows, or take fewer components"
            )
