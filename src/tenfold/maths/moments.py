r"""Mergeable moments: weight, mean and scatter about the mean.

Sums of squares cancel when columns are shifted; the scatter about a chunk's own mean does not. Two
parts merge by the rule of Chan, Golub and LeVeque:

.. math:: S = S_a + S_b + \frac{n_a n_b}{n_a + n_b} \delta\delta^\top,
          \qquad \delta = \bar x_b - \bar x_a
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


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
        n, delta, share = _joint(self.n, other.n, other.mean - self.mean)
        scatter = np.add(self.scatter, other.scatter, out=writable(self.scatter))
        bridge = delta * np.sqrt(self.n * share)
        scatter += np.multiply.outer(bridge, bridge)
        return Moments(n, self.mean + share * delta, scatter, self.rows + other.rows)

    def copy(self) -> Moments:
        return self._replace(scatter=self.scatter.copy())


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
        n, delta, share = _joint(self.n, other.n, other.mean - self.mean)
        share = share[:, None]
        bridge = delta**2 * (self.n[:, None] * share)
        return ClassMoments(n, self.mean + share * delta, self.scatter + other.scatter + bridge)

    def copy(self) -> ClassMoments:
        return self

    def spread(self, places: np.ndarray, k: int) -> ClassMoments:
        """The same among k classes, of which these are the ones at `places`."""
        wide = [np.zeros((k, *part.shape[1:])) for part in self]
        for target, part in zip(wide, self, strict=True):
            target[places] = part
        return ClassMoments(*wide)


def _joint(n_a: float, n_b: float, delta: np.ndarray) -> tuple:
    """Joint weight, difference of means, and the share of it that the joint mean moves."""
    n = n_a + n_b
    return n, delta, n_b / np.where(n > 0, n, 1)


def writable(a: np.ndarray) -> np.ndarray | None:
    """An array to write over, or None where that is forbidden."""
    return a if a.flags.writeable else None


def moments(X: np.ndarray, w: np.ndarray | None = None, Y: np.ndarray | None = None) -> Moments:
    """Moments of the rows of X, or of [X Y]; products in their precision, means in float64.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 2.0], [3.0, 6.0]])
    >>> whole = moments(X)
    >>> parts = moments(X[:1]).merge(moments(X[1:]))
    >>> whole.mean.tolist(), whole.scatter.tolist() == parts.scatter.tolist()
    ([2.0, 4.0], True)
    """
    n = float(len(X)) if w is None else float(w.sum(dtype=np.float64))
    weights = np.ones(len(X), X.dtype) if w is None else w.astype(X.dtype, copy=False)
    D, centre = centred(X, Y, weights / X.dtype.type(n or 1.0))
    left = (weights @ D) / (n or 1.0)  # rounding leaves `centre` hundreds of units off
    if w is not None:
        D *= np.sqrt(weights)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):  # who needs the squares looks at them
        scatter = D.T @ D
        scatter -= np.multiply.outer(n * left, left)
    return Moments(n, centre.astype(np.float64) + left, scatter, len(X))


def centred(X: np.ndarray, Y: np.ndarray | None, shares: np.ndarray) -> tuple:
    """The rows of [X Y] less their weighted mean (nearly: to the precision of X), and that mean."""
    if Y is None:
        centre = shares @ X
        return X - centre, centre
    p = X.shape[1]
    D = np.empty((len(X), p + Y.shape[1]), X.dtype)
    centre = np.concatenate([shares @ X, shares @ Y.astype(X.dtype, copy=False)])
    np.subtract(X, centre[:p], out=D[:, :p])
    np.subtract(Y, centre[p:], out=D[:, p:], casting="same_kind")
    return D, centre


def sparse_moments(X: Any, w: np.ndarray | None, Y: np.ndarray) -> Moments:
    """Moments of [X Y] for a CSR matrix X with few enough columns for a dense square of them."""
    from scipy import sparse

    Z = sparse.hstack([X, sparse.csr_array(Y.astype(np.float64))], format="csr").astype(np.float64)
    n = float(len(Y)) if w is None else float(w.sum(dtype=np.float64))
    root = np.ones(len(Y)) if w is None else np.sqrt(w.astype(np.float64))
    Z = sparse.diags_array(root).tocsr() @ Z
    mean = (Z.T @ root) / (n or 1.0)
    scatter = (Z.T @ Z).toarray() - n * np.multiply.outer(mean, mean)
    return Moments(n, mean, scatter, len(Y))


def class_moments(rows: Any, k: int) -> ClassMoments:
    """Moments of each column within each of k classes; `rows` has X, class numbers y, weights w.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.rows import Chunk
    >>> rows = Chunk(np.array([[1.0], [3.0], [10.0]]), np.array([0, 0, 1]))
    >>> class_moments(rows, 2).mean.ravel().tolist()
    [2.0, 10.0]
    """
    from tenfold.maths.leaves import class_squares, class_sums

    weights = rows.weights()
    n, sums = class_sums(rows.X, rows.y, weights, k)
    mean = sums / np.where(n > 0, n, 1)[:, None]
    return ClassMoments(n, mean, class_squares(rows.X, rows.y, weights, mean))
