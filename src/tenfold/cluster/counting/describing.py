"""What clusters are like: the columns that set them apart, and how two clusterings agree."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.maths.class_moments import joint_means
from tenfold.maths.leaves import class_squares, class_sums
from tenfold.rows import Chunk
from tenfold.rows.opening import open as open_rows


class Profile(NamedTuple):
    """How clusters differ, column by column.

    Attributes
    ----------
    labels : (k,) the clusters
    sizes : (k,) their rows
    means : (k, p) their means
    offsets : (k, p) mean of the cluster less mean of all rows, in standard deviations of all rows
    explained : (p,) share of the column's variance that lies between clusters: 1 sets them apart
    names : (p,) names of the columns
    """

    labels: np.ndarray
    sizes: np.ndarray
    means: np.ndarray
    offsets: np.ndarray
    explained: np.ndarray
    names: list[str]

    def ranked(self) -> list[tuple[str, float]]:
        """Columns with the share of variance that clusters explain, the best first."""
        order = np.argsort(-self.explained, kind="stable")
        return [(self.names[d], float(self.explained[d])) for d in order]

    def of(self, label: Any) -> list[tuple[str, float]]:
        """Columns with the offset of one cluster, the farthest first."""
        row = self.offsets[int((self.labels == label).argmax())]
        return [(self.names[d], float(row[d])) for d in np.argsort(-np.abs(row), kind="stable")]


class Spreads(NamedTuple):
    """Weight, mean and squares about the mean of each cluster."""

    n: np.ndarray  # (k,)
    mean: np.ndarray  # (k, p)
    squares: np.ndarray  # (k, p)

    def merge(self, other: Spreads) -> Spreads:
        n, mean, root = joint_means(self, other)
        return Spreads(n, mean, self.squares + other.squares + root**2)


def spreads(chunk: Chunk, labels: np.ndarray, k: int) -> Spreads:
    """Moments of the clusters of a chunk."""
    own, w = labels[chunk.first : chunk.first + chunk.rows], chunk.weights()
    n, sums = class_sums(chunk.X, own, w, k)
    mean = sums / np.where(n > 0, n, 1)[:, None]
    return Spreads(n, mean, class_squares(chunk.X, own, w, mean))


def profile(X: Any, labels: Any, names: Any = None) -> Profile:
    r"""Which columns set clusters apart: one pass over the rows.

    .. math:: \mathrm{explained}_d = 1 - \frac{\text{squares about the means of the clusters}}
                                              {\text{squares about the mean of all rows}}

    [004, 6.1]

    Parameters
    ----------
    X : array, table, path, Dask collection or `tenfold.open(...)`
        The rows.
    labels : (n,) array
        The cluster of each row.
    names : sequence of str, optional
        Names of the columns; those of a table or file by default.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [9.0, 1.0], [10.0, 0.0]])
    >>> found = profile(X, [0, 0, 1, 1], ["height", "colour"])
    >>> [(name, round(share, 3)) for name, share in found.ranked()]
    [('height', 0.988), ('colour', 0.0)]
    """
    rows = open_rows(X)
    kinds, numbers = np.unique(np.asarray(labels), return_inverse=True)
    if len(numbers) != rows.n_rows:
        raise ValueError(f"{len(numbers)} labels were given for {rows.n_rows} rows")
    s = rows.total(spreads, numbers, len(kinds))
    mean = (s.n @ s.mean) / s.n.sum()
    within = s.squares.sum(axis=0)
    total = within + s.n @ (s.mean - mean) ** 2
    varies = total > 0
    scale = np.sqrt(np.where(varies, total, 1) / s.n.sum())
    explained = np.where(varies, 1 - within / np.where(varies, total, 1), 0.0)
    named = names if names is not None else rows.names or [f"x{d}" for d in range(rows.n_features)]
    return Profile(kinds, s.n, s.mean, (s.mean - mean) / scale, explained, list(named))


class Agreement(NamedTuple):
    """How far two clusterings agree, whatever their labels are called.

    Attributes
    ----------
    rand : share of the pairs of rows on which they agree
    adjusted_rand : the same, 0 for chance and 1 for equality
    mutual_information : adjusted likewise
    """

    rand: float
    adjusted_rand: float
    mutual_information: float


def compare(a: Any, b: Any) -> Agreement:
    """How far two clusterings of the same rows agree.

    Parameters
    ----------
    a, b : (n,) arrays
        The labels of each.

    Examples
    --------
    >>> compare([0, 0, 1, 1], ["x", "x", "y", "y"])
    Agreement(rand=1.0, adjusted_rand=1.0, mutual_information=1.0)
    """
    from sklearn import metrics

    return Agreement(
        float(metrics.rand_score(a, b)),
        float(metrics.adjusted_rand_score(a, b)),
        float(metrics.adjusted_mutual_info_score(a, b)),
    )
