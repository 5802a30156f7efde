"""Statistics of second order that merge: moments about the mean, Gram matrices, triangular factors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold._compiled.gram import MAX_GRAM_COLUMNS, augmented_gram
from tenfold._compiled.reductions import class_squared_deviations, class_sums, thin_matmul
from tenfold.stats.decorators import propagates_nan

MIN_RECIPROCAL_CONDITION = {
    4: 1e-4,
    8: 1e-9,
}  # reciprocal condition below which moments of this many bytes mislead


class TriangularFactor(NamedTuple):
    """R with R'R = Z'WZ for rows Z seen so far; two merge as the QR of one above the other."""

    R: np.ndarray

    @classmethod
    def of(cls, Z: np.ndarray, w: np.ndarray | None) -> TriangularFactor:
        """The factor of weighted rows, in float64.

        Examples
        --------
        >>> import numpy as np
        >>> Z = np.array([[3.0, 1.0], [4.0, 2.0], [0.0, 2.0]])
        >>> parts = TriangularFactor.of(Z[:2], None).merge(TriangularFactor.of(Z[2:], None))
        >>> np.allclose(parts.R.T @ parts.R, Z.T @ Z)
        True
        """
        Z = Z.astype(np.float64, copy=False)
        return cls(np.asarray(np.linalg.qr(Z if w is None else Z * np.sqrt(w)[:, None], mode="r")))

    def merge(self, other: TriangularFactor) -> TriangularFactor:
        return TriangularFactor(np.asarray(np.linalg.qr(np.vstack([self.R, other.R]), mode="r")))


_MAX_THIN_ROWS = 4  # lines up to which our own loop beats BLAS on several threads


class Moments(NamedTuple):
    """First and second moments of rows.

    Attributes
    ----------
    n : total weight
    mean : (d,) weighted mean
    scatter : (d, d) weighted sum of outer products of the rows about their mean
    rows : number of rows
    """

    n: float
    mean: np.ndarray
    scatter: np.ndarray
    rows: int

    def merge(self, other: Moments) -> Moments:
        n, delta, share = _combine_weights(self.n, other.n, other.mean - self.mean)
        bridge = delta * np.sqrt(self.n * share)
        scatter = self.scatter + other.scatter + np.multiply.outer(bridge, bridge)
        return Moments(n, self.mean + share * delta, scatter, self.rows + other.rows)


class ClassMoments(NamedTuple):
    """Moments of each column within each of k classes.

    Attributes
    ----------
    n : (k,) weight of each class
    mean : (k, d) means
    scatter : (k, d) weighted sums of squares about the means
    """

    n: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray

    def merge(self, other: ClassMoments) -> ClassMoments:
        n, delta, share = _combine_weights(self.n, other.n, other.mean - self.mean)
        share = share[:, None]
        bridge = delta**2 * (self.n[:, None] * share)
        return ClassMoments(n, self.mean + share * delta, self.scatter + other.scatter + bridge)

    def expand_to_classes(self, places: np.ndarray, k: int) -> ClassMoments:
        """The same among k classes, of which these are the ones at `places`."""
        wide = [np.zeros((k, *part.shape[1:])) for part in self]
        for target, part in zip(wide, self, strict=True):
            target[places] = part
        return ClassMoments(*wide)


def _combine_weights(n_a: Any, n_b: Any, delta: np.ndarray) -> tuple:
    """Joint weight, difference of means, and the share of it that the joint mean moves."""
    n = n_a + n_b
    return n, delta, n_b / np.where(n > 0, n, 1)


class GramStatistic(NamedTuple):
    """Sums of rows x and targets y about an origin: what a chunk says, added up entry by entry.

    Attributes
    ----------
    n : total weight
    products : (m, m) weighted sum of z z', z = [x y 1]
    rows : number of rows
    """

    n: float
    products: np.ndarray
    rows: int

    @property
    def shift(self) -> np.ndarray:
        """Mean of [x y] less the origin."""
        return self.products[-1, :-1] / self.n

    def moments(self, origin: np.ndarray) -> Moments:
        """Moments of [x y] about their mean."""
        scatter = self.products[:-1, :-1] - self.n * np.multiply.outer(self.shift, self.shift)
        return Moments(self.n, origin + self.shift, scatter, self.rows)


def gram_statistic(
    X: Any, Y: np.ndarray, w: np.ndarray | None, origin: np.ndarray | None
) -> GramStatistic:
    """Sums of the rows of X (dense or CSR) and Y about an origin; None is zero.

    Examples
    --------
    >>> import numpy as np
    >>> X, Y = np.array([[1.0], [3.0]]), np.array([[2.0], [6.0]])
    >>> s = gram_statistic(X, Y, None, np.array([1.0, 2.0])).moments(np.array([1.0, 2.0]))
    >>> s.mean.tolist(), s.scatter.tolist()
    ([2.0, 4.0], [[2.0, 4.0], [4.0, 8.0]])
    """
    rows = X.shape[0]
    n = float(rows) if w is None else float(w.sum(dtype=np.float64))
    if can_use_simd_gram(X, Y):
        return GramStatistic(n, augmented_gram(X, Y, w, origin, rows), rows)
    return GramStatistic(n, _blas_products(X, Y, w, origin), rows)


def can_use_simd_gram(X: Any, Y: np.ndarray) -> bool:
    """Whether `augmented_gram` is the fastest way: dense rows of not too many columns."""
    return isinstance(X, np.ndarray) and X.shape[1] + Y.shape[1] < MAX_GRAM_COLUMNS


def _blas_products(
    X: Any, Y: np.ndarray, w: np.ndarray | None, origin: np.ndarray | None
) -> np.ndarray:
    """The same products by BLAS, or of sparse rows."""
    p = X.shape[1]
    if not isinstance(X, np.ndarray):
        X = X.astype(np.float64)  # nothing is subtracted from sparse rows: keep all digits
    elif origin is not None:
        X, Y = X - origin[:p], Y - origin[p:]
    root = np.ones(X.shape[0], X.dtype)
    if w is not None:
        root = np.sqrt(w).astype(X.dtype)
        X, Y = scale_rows(X, root), Y * root[:, None]
    sides = np.vstack([Y.T.astype(X.dtype, copy=False), root])
    thin = multiply_thin(sides, X)  # reads X into the cache for the product to come
    xx = X.T @ X
    xx = xx if isinstance(xx, np.ndarray) else xx.toarray()
    return np.block([[xx, thin.T], [thin, multiply_thin(sides, sides.T.copy())]])


def multiply_thin(lines: np.ndarray, X: Any) -> np.ndarray:
    """A few lines (q, n) times X, dense or CSR."""
    if not isinstance(X, np.ndarray):
        return (X.T @ lines.T).T
    return thin_matmul(lines, X) if len(lines) <= _MAX_THIN_ROWS else lines @ X


def scale_rows(X: Any, factors: np.ndarray) -> Any:
    """Rows of X, dense or CSR, times a factor each."""
    if isinstance(X, np.ndarray):
        return X * factors[:, None]
    from scipy.sparse import diags_array

    return (diags_array(factors) @ X).tocsr()


@propagates_nan
def class_moments(rows: Any, k: int) -> ClassMoments:
    """Moments of each column within each of k classes; `rows` has X, class numbers y, weights w.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.engine import Chunk
    >>> rows = Chunk(np.array([[1.0], [3.0], [10.0]]), np.array([0, 0, 1]))
    >>> class_moments(rows, 2).mean.ravel().tolist()
    [2.0, 10.0]
    """
    weights = rows.weights().astype(np.float64)
    n, sums = class_sums(rows.X, rows.y, weights, k)
    mean = sums / np.where(n > 0, n, 1)[:, None]
    return ClassMoments(n, mean, class_squared_deviations(rows.X, rows.y, weights, mean))
