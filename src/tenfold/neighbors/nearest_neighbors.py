"""The search for neighbors as a model of its own."""

from __future__ import annotations

from typing import Any, Self

from tenfold.base.docstrings import inherit_descriptions
from tenfold.neighbors._base import (
    K_CONSTRAINT,
    KEEP_CONSTRAINT,
    NEIGHBOR_CONSTRAINTS,
    RADIUS_CONSTRAINT,
)
from tenfold.neighbors._searches import KNeighborsSearch, RadiusSearch


@inherit_descriptions
class NearestNeighbors(KNeighborsSearch, RadiusSearch):
    r"""Find the nearest training rows of queries, exactly.

    The neighbors of a query q are the k rows of smallest distance, ordered by
    :math:`(\operatorname{dist}(x_i, q), i)`: of rows at the same distance the one with the smaller
    number comes first. Distances are computed in float64 from the differences of the columns, so
    they depend on the two rows alone: neither the algorithm nor the number of threads, the other
    queries or the place of the rows changes a bit of the result. Parameters are those of
    `sklearn.neighbors.NearestNeighbors`.

    Parameters
    ----------
    n_neighbors : int
        Number of neighbors of `kneighbors`.
    radius : float
        Largest distance of `radius_neighbors`.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}
        How to search; the result is the same. "auto" takes a kd-tree for few columns and else
        products in float32, whose error is bounded, and float64 for what these leave open.
        "ball_tree" is a vantage-point tree, for every metric that obeys the triangle inequality.
    metric : str, callable or DistanceMetric
        Any metric of SciPy or scikit-learn, by name or as an object, "precomputed", or a function
        of two rows, which is compiled if numba can do so and there are many rows. "nan_euclidean"
        takes rows with NaN.

    See Also
    --------
    KNeighborsClassifier : The vote of the neighbors.
    KNeighborsTransformer : The graph of neighbors as a step of a pipeline.

    References
    ----------
    J. L. Bentley (1975), Multidimensional binary search trees used for associative searching.

    P. N. Yianilos (1993), Data structures and algorithms for nearest neighbor search in general
    metric spaces.

    Examples
    --------
    >>> from tenfold import NearestNeighbors
    >>> model = NearestNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0]])
    >>> distances, rows = model.kneighbors([[2.0]])
    >>> rows.tolist(), distances.tolist()
    ([[1, 2]], [[1.0, 1.0]])
    """

    _parameter_constraints = {
        **K_CONSTRAINT,
        **RADIUS_CONSTRAINT,
        **NEIGHBOR_CONSTRAINTS,
        **KEEP_CONSTRAINT,
    }

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        radius: float = 1.0,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict | None = None,
        n_jobs: int | None = None,
        keep_rows: str = "auto",
    ) -> None:
        super().__init__(algorithm, leaf_size, p, metric, metric_params, n_jobs)
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.keep_rows = keep_rows

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Store the rows for searches.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for metric="precomputed" their distances from each other.
        y : ignored
        groups : array, optional
            Group of each row: searches with `groups=` leave out rows of the group of the query.

        Returns
        -------
        self
        """
        del y
        return self._fit_with_groups(X, None, None, groups)
