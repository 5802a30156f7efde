"""Metrics: how rows are transformed before the search, and how its numbers become distances.

Many metrics are the Euclidean one after a change of the rows: standardized and Mahalanobis
distances after a linear map, cosine and correlation distances after division by the length. All
others are computed pair by pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tenfold.neighbors._row_maps_numba import (
    make_unit_rows,
    make_unit_sparse_rows,
    map_linearly,
)
from tenfold.neighbors._special_rows import canonical

_SYNONYMS = {
    "l1": "manhattan",
    "cityblock": "manhattan",
    "l2": "euclidean",
    "infinity": "chebyshev",
    "p": "minkowski",
}
_KINDS = {
    "euclidean": "squares",
    "sqeuclidean": "squares",
    "seuclidean": "squares",
    "mahalanobis": "squares",
    "cosine": "squares",
    "correlation": "squares",
    "manhattan": "absolutes",
    "chebyshev": "maximum",
    "nan_euclidean": "missing",
    "precomputed": "precomputed",
}
_OBJECT_PARAMS = {
    "minkowski": ("p", "w"),
    "seuclidean": (None, "V"),
    "mahalanobis": (None, None, "VI"),
}
_SAFE_EXPONENT = 200  # squares of numbers within 2^-200 and 2^200 neither vanish nor overflow


def effective_metric(metric: Any, p: float | None, params: dict | None) -> tuple[Any, dict]:
    """The metric and its parameters, Minkowski metrics by the names of their special cases.

    Parameters
    ----------
    metric : str or callable
    p : float or None
        Power of the Minkowski metric, unless `params` has one.
    params : dict or None
        Further parameters of the metric.
    """
    params = dict(params or {})
    if metric != "minkowski":
        return metric, params
    p, w = params.pop("p", 2 if p is None else p), params.pop("w", None)
    if w is not None and not (np.asarray(w, np.float64) >= 0).all():
        raise ValueError(f"w={w!r}: weights of columns cannot be negative or NaN")
    names = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}
    if w is None and p in names:
        return names[p], params
    return metric, {**params, "p": p, "w": w}


def read_metric_object(metric: Any, params: dict) -> tuple[Any, dict]:
    """The name or function of a metric object of scikit-learn, and its parameters.

    Other metrics are returned as they are, objects of classes that are not scikit-learn's as well,
    and Bray and Curtis's, which divides by |a| + |b| there and by |a + b| by its name.

    Parameters
    ----------
    metric : str, callable or DistanceMetric
    params : dict
        Parameters of a metric that is no object.
    """
    kind = type(metric)
    if not kind.__module__.startswith("sklearn."):
        return metric, params
    from sklearn.metrics import DistanceMetric  # which imports much

    if not isinstance(metric, DistanceMetric):
        return metric, params
    name = kind.__name__.removesuffix("64").removesuffix("32").removesuffix("Distance").lower()
    if name == "braycurtis":
        return metric, params
    state = metric.__getstate__()  # power, vector, matrix; of a function also itself and arguments
    if name == "pyfunc":
        return state[3], dict(state[4])
    names = _OBJECT_PARAMS.get(name, ())
    values = {key: value for key, value in zip(names, state, strict=False) if key is not None}
    return name, {key: value for key, value in values.items() if np.size(value)}


class MetricSpace:
    """A metric over some training rows.

    Parameters
    ----------
    metric : str, callable or DistanceMetric
        Name as in scikit-learn, a function of two rows, or an object of scikit-learn.
    params : dict
        Its parameters.
    X : (n, d) array or CSR matrix
        The training rows; variances and covariances that `params` lacks are theirs.

    Attributes
    ----------
    kind : "squares", "absolutes", "maximum", "missing", "precomputed" or "pairs"
        What is added up over the columns of transformed rows.
    """

    def __init__(self, metric: Any, params: dict, X: Any) -> None:
        metric, params = read_metric_object(metric, params)
        self.metric = _SYNONYMS.get(metric, metric) if isinstance(metric, str) else metric
        self.params = params
        if self.metric == "minkowski":
            self.metric, self.params = effective_metric("minkowski", None, params)
        self.kind = _KINDS.get(self.metric, "pairs") if isinstance(self.metric, str) else "pairs"
        self.map: Any = None
        self.factor = 1.0
        if self.metric == "seuclidean":
            self.map = 1 / np.sqrt(_variances(params, X))
        elif self.metric == "mahalanobis":
            self.map, self.params = _whitening(params, X)
            self.kind = "pairs" if self.map is None else "squares"
        if self.kind == "squares":
            self.factor = _safe_factor(self.transform(X))

    def transform(self, X: Any, *, queries: bool = False) -> Any:
        """Rows between which the search measures, float64 unless they are left as they are."""
        if self.kind != "squares":
            return X
        if self.metric == "seuclidean":
            X = np.asarray(X, np.float64) * self.map
        elif self.metric == "mahalanobis":
            X = _map_linearly(X, self.map)
        elif self.metric in ("cosine", "correlation"):
            X = _unit_rows(X, queries=queries, centered=self.metric == "correlation")
        return X if self.factor == 1 else X.astype(np.float64) * self.factor

    def distance(self, reduced: Any) -> Any:
        """Distances, from the numbers of the search."""
        if self.kind == "missing":
            return np.sqrt(reduced)
        if self.kind != "squares":
            return reduced
        if self.metric in ("cosine", "correlation"):
            return reduced / 2
        if self.metric == "sqeuclidean":
            return reduced / self.factor**2
        return np.sqrt(reduced) / self.factor

    def reduce_radius(self, radius: float) -> float:
        """The largest number of the search whose distance is at most the radius."""
        if self.kind not in ("squares", "missing"):
            return radius
        if self.metric in ("cosine", "correlation"):
            return 2 * radius
        if self.metric == "sqeuclidean":
            return radius * self.factor**2
        reduced = np.float64(radius * self.factor) ** 2
        while self.distance(np.nextafter(reduced, np.inf)) <= radius < np.inf:
            reduced = np.nextafter(reduced, np.inf)
        while self.distance(reduced) > radius:
            reduced = np.nextafter(reduced, 0.0)
        return float(reduced)


def _variances(params: dict, X: Any) -> np.ndarray:
    V = params.get("V")
    return np.asarray(X.var(axis=0, dtype=np.float64, ddof=1) if V is None else V, np.float64)


def _whitening(params: dict, X: Any) -> tuple[Any, dict]:
    """A matrix L with L L' = V^-1: distances of rows times L are Mahalanobis distances.

    None if the inverse covariance that is given is not positive definite.
    """
    if params.get("VI") is not None:
        inverse = np.asarray(params["VI"], np.float64)
        if not np.array_equal(inverse, inverse.T) or np.linalg.eigvalsh(inverse)[0] <= 0:
            return None, {"VI": inverse}
        return np.linalg.cholesky(inverse), params
    V = params.get("V")
    V = np.cov(np.asarray(X, np.float64).T) if V is None else np.asarray(V, np.float64)
    factor = np.linalg.cholesky(np.atleast_2d(V))
    return np.linalg.solve(factor, np.eye(len(factor))).T, params


def _map_linearly(X: Any, M: np.ndarray) -> np.ndarray:
    out = np.empty((len(X), M.shape[1]))
    map_linearly(np.ascontiguousarray(X), np.ascontiguousarray(M), out)
    return out


def _unit_rows(X: Any, *, queries: bool, centered: bool = False) -> Any:
    """Rows divided by their lengths, so that half the squared distance is the cosine distance.

    A row of zeros has the cosine distance 1 from every row: two further columns see to that.
    """
    d = X.shape[1]
    zero_column = d + int(queries)
    if not sparse.issparse(X):
        unit = np.zeros((len(X), d + 2))
        unit[:, :d] = X
        make_unit_rows(unit, centered, zero_column)
        return unit
    X = canonical(X.astype(np.float64))
    empty = np.empty(X.shape[0], bool)
    make_unit_sparse_rows(X.data, X.indptr, empty)
    rows = np.flatnonzero(empty)
    places = rows, np.full(len(rows), int(queries))
    ones = sparse.csr_array((np.ones(len(rows)), places), shape=(X.shape[0], 2))
    return canonical(sparse.hstack([X, ones], format="csr"))


def _safe_factor(X: Any) -> float:
    """A power of two by which rows are multiplied, where their squares would be out of range.

    Squares of float32 never are: they are added up in float64.
    """
    if X.dtype == np.float32:
        return 1.0
    values = X.data if sparse.issparse(X) else X
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    exponent = int(np.frexp(largest)[1]) if largest > 0 else 0
    return 1.0 if abs(exponent) <= _SAFE_EXPONENT else 2.0**-exponent
