r"""Statistics of second order that merge: moments, Gram matrices, triangular factors.

Sums of squares cancel when columns are shifted; the scatter about a chunk's own mean does not. Two
parts merge by the rule of Chan, Golub and LeVeque:

.. math:: S = S_a + S_b + \frac{n_a n_b}{n_a + n_b} \delta\delta^\top,
          \qquad \delta = \bar x_b - \bar x_a

Moments square the condition number of the data; the factor R of a QR decomposition keeps it.

References
----------
T. Chan, G. Golub and R. LeVeque (1983), Algorithms for computing the sample variance.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold._compiled.gram import MAX_GRAM_COLUMNS, augmented_gram
from tenfold._compiled.reductions import class_squared_deviations, class_sums, thin_matmul
from tenfold.stats.decorators import propagates_nan

# by bytes of a number: reciprocal condition below which moments lose the smallest directions
MIN_RECIPROCAL_CONDITION = {4: 1e-4, 8: 1e-9}

# rows up to which a compiled loop beats BLAS on several threads; no sweep is recorded
_MAX_THIN_ROWS = 4


class TriangularFactor(NamedTuple):
    """R with R'R = Z'WZ for weighted rows Z; two factors merge by the QR of both, stacked."""

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


class Moments(NamedTuple):
    """First and second moments of rows.

    Attributes
    ----------
    n : total weight
    mean : (n_features,) weighted mean
    scatter : (n_features, n_features) weighted sum of outer products of rows about the mean
    rows : number of rows
    """

    n: float
    mean: np.ndarray
    scatter: np.ndarray
    rows: int

    def merge(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):  # moments of rows with missing entries
            return other.merge_after(self)
        n, delta, share = _combine_weights(self.n, other.n, other.mean - self.mean)
        root = delta * np.sqrt(self.n * share)
        scatter = self.scatter + other.scatter + np.multiply.outer(root, root)
        return Moments(n, self.mean + share * delta, scatter, self.rows + other.rows)


class ClassMoments(NamedTuple):
    """Moments of each column within each of k classes.

    Attributes
    ----------
    n : (n_classes,) weight of each class
    mean : (n_classes, n_features) means
    scatter : (n_classes, n_features) weighted sums of squares about the means
    """

    n: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray

    def merge(self, other: ClassMoments) -> ClassMoments:
        if not isinstance(other, ClassMoments):  # moments of rows with missing entries
            return other.merge_after(self)
        n, delta, share = _combine_weights(self.n, other.n, other.mean - self.mean)
        share = share[:, None]
        between = delta**2 * (self.n[:, None] * share)
        return ClassMoments(n, self.mean + share * delta, self.scatter + other.scatter + between)

    def expand_to_classes(self, indices: np.ndarray, k: int) -> ClassMoments:
        """The same for k classes, of which these are the ones at `indices`."""
        expanded = [np.zeros((k, *part.shape[1:])) for part in self]
        for target, part in zip(expanded, self, strict=True):
            target[indices] = part
        return ClassMoments(*expanded)


def _combine_weights(n_a: Any, n_b: Any, delta: np.ndarray) -> tuple:
    """Joint weight, difference of means, and the share of the second part."""
    n = n_a + n_b
    return n, delta, n_b / np.where(n > 0, n, 1)


class GramStatistic(NamedTuple):
    """Gram matrix of rows z = [x y 1] about an origin; parts merge by addition.

    Attributes
    ----------
    n : total weight
    products : weighted sum of z z'
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
    """Gram matrix of the rows of X (dense or CSR) and Y about an origin; None is zero.

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
    """Whether the compiled kernel is faster than BLAS: dense rows of few columns."""
    return isinstance(X, np.ndarray) and X.shape[1] + Y.shape[1] < MAX_GRAM_COLUMNS


def _blas_products(
    X: Any, Y: np.ndarray, w: np.ndarray | None, origin: np.ndarray | None
) -> np.ndarray:
    """The Gram matrix by BLAS, or of sparse rows."""
    p = X.shape[1]
    if not isinstance(X, np.ndarray):
        X = X.astype(np.float64)  # sparse rows are not centered: keep all digits
    elif origin is not None:
        X, Y = X - origin[:p], Y - origin[p:]
    root = np.ones(X.shape[0], X.dtype)
    if w is not None:
        root = np.sqrt(w).astype(X.dtype)
        X, Y = scale_rows(X, root), Y * root[:, None]
    border = np.vstack([Y.T.astype(X.dtype, copy=False), root])
    thin = multiply_thin(border, X)  # reads X into the cache for the next product
    xx = X.T @ X
    xx = xx if isinstance(xx, np.ndarray) else xx.toarray()
    return np.block([[xx, thin.T], [thin, multiply_thin(border, border.T.copy())]])


def multiply_thin(A: np.ndarray, X: Any) -> np.ndarray:
    """A X of a matrix with few rows, (q, n_rows), and X, dense or CSR."""
    if not isinstance(X, np.ndarray):
        return (X.T @ A.T).T
    return thin_matmul(A, X) if len(A) <= _MAX_THIN_ROWS else A @ X


def scale_rows(X: Any, factors: np.ndarray) -> Any:
    """Each row of X, dense or CSR, times a factor."""
    if isinstance(X, np.ndarray):
        return X * factors[:, None]
    from scipy.sparse import diags_array

    return (diags_array(factors) @ X).tocsr()


@propagates_nan
def class_moments(rows: Any, k: int) -> ClassMoments:
    """Moments of each column within each of k classes; `rows` is a chunk with class indices y.

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
