"""What all neighbor models share: the stored rows, the metric, and both searches."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import DistanceMetric
from sklearn.neighbors import VALID_METRICS, BallTree
from sklearn.neighbors import KDTree as SklearnKDTree
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.one_pass import OnePass
from tenfold.engine.arrays import ArraySource, SparseSource
from tenfold.engine.chunk import Chunk
from tenfold.engine.context import current_engine
from tenfold.engine.memory import available_memory, check_memory
from tenfold.engine.rows import Rows
from tenfold.engine.thread_pool import n_threads
from tenfold.math.linalg import to_dense
from tenfold.neighbors._file_rows import FileReference, NearestFound, search_rows
from tenfold.neighbors._given_distances import check_distances
from tenfold.neighbors._metric_space import effective_metric
from tenfold.neighbors._row_index import RowIndex
from tenfold.neighbors._stored_rows import NeighborRows, store_rows
from tenfold.neighbors._thresholds import (
    MAX_MEMORY_SHARE,
    MAX_QUERIES_PER_CHUNK,
    MIN_QUERIES_PER_CHUNK,
    NEIGHBORS_PER_BLOCK,
    QUERIES_PER_TILE,
)
from tenfold.neighbors._votes import NeighborSearch, check_neighbors_memory, require_neighbors

_SPARSE_METRICS = {"cityblock", "cosine", "euclidean", "l1", "l2", "manhattan", "precomputed"}
_METRICS = {name for names in VALID_METRICS.values() for name in names} | {"jensenshannon"}
NEIGHBOR_CONSTRAINTS: dict[str, Any] = {
    "algorithm": [StrOptions({"auto", "ball_tree", "kd_tree", "brute"})],
    "leaf_size": [Interval(Integral, 1, None, closed="left")],
    "p": [Interval(Real, 0, None, closed="right"), None],
    "metric": [StrOptions(_METRICS), callable, DistanceMetric],
    "metric_params": [dict, None],
    "n_jobs": [Integral, None],
}
K_CONSTRAINT: dict[str, Any] = {
    "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
}
KEEP_CONSTRAINT: dict[str, Any] = {"keep_rows": [StrOptions({"auto", "memory", "file"})]}
RADIUS_CONSTRAINT: dict[str, Any] = {"radius": [Interval(Real, 0, None, closed="both"), None]}


class NeighborsModel(OnePass):
    """Training rows that are searched.

    Parameters
    ----------
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}
        How to search; the result is the same.
    leaf_size : int
        Most rows of a leaf of a tree.
    p : float
        Power of the Minkowski metric.
    metric : str, callable or DistanceMetric
        As in `NearestNeighbors`.
    metric_params : dict, optional
        Further parameters of the metric.
    n_jobs : int, optional
        Number of threads; by default all.
    keep_rows : {"auto", "memory", "file"}
        Where the training rows of a file or a cluster are: copied into the model, or left there,
        so that a search is a pass over them; "auto" leaves those that would take more than a
        quarter of the free memory. A model that refers to a file raises an error if it changes.

    Attributes
    ----------
    n_samples_fit_ : number of training rows
    effective_metric_, effective_metric_params_ : the metric, "minkowski" by the name of its case
    statistic_ : the training rows, to which `partial_fit` adds and which `tenfold.merge` joins
    """

    _has_quadratic_time = True
    _law_rows = 3000

    def __init__(
        self,
        algorithm: str,
        leaf_size: int,
        p: float,
        metric: Any,
        metric_params: dict | None,
        n_jobs: int | None,
    ) -> None:
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    @property
    def _nan_ok(self) -> bool:
        return self.metric == "nan_euclidean"

    @property
    def _sparse_ok(self) -> bool:
        return True

    @property
    def _learns_from_rows(self) -> bool:
        return self.metric != "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.positive_only = tags.input_tags.pairwise
        return tags

    def _training_rows(self, X: Any, y: Any, w: Any) -> Rows:
        rows = super()._training_rows(self._unwrap_rows(X), y, w)
        rows.derived["arguments"] = X, y, w
        return rows

    def _unwrap_rows(self, X: Any) -> Any:
        """Rows of a fit, also those of a fitted search or tree, after the check of the metric."""
        self._check_metric()
        if isinstance(X, NeighborsModel):
            check_is_fitted(X)
            X = X.statistic_.X
        elif isinstance(X, BallTree | SklearnKDTree):
            X = np.asarray(X.data)
        if self.metric == "precomputed":
            X = check_distances(X)
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    "Precomputed matrix must be square. Input is a {}x{} matrix.".format(*X.shape)
                )
        return X

    def partial_fit(self, X: Any, y: Any = None, *args: Any, **keywords: Any) -> Self:
        """Add rows to the training rows; the result is the fit to all of them.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The further rows.
        y : array or column name, optional
            Their targets.
        *args, **keywords
            `sample_weight`; of classifiers `classes`, all labels that will ever come, at the first
            call.

        Returns
        -------
        self
        """
        self._validate_params()
        self._check_metric()
        if self.metric == "precomputed":
            raise ValueError("rows cannot be added to a matrix of distances: use fit")
        return super().partial_fit(X, y, *args, **keywords)

    def _check_metric(self) -> None:
        """Refuse a metric that the algorithm is not for, in scikit-learn's words."""
        metric, algorithm = self.metric, self.algorithm
        if not isinstance(metric, str):
            if algorithm == "kd_tree" and callable(metric):
                raise ValueError(
                    f"kd_tree does not support callable metric '{metric}'Function call overhead "
                    "will resultin very poor performance."
                )
        elif algorithm != "auto" and metric not in _valid_metrics(algorithm):
            raise ValueError(
                f"Metric '{metric}' not valid. Use sorted(sklearn.neighbors.VALID_METRICS"
                f"['{algorithm}']) to get valid options. Metric can also be a callable function."
            )
        if self.metric_params is not None and "p" in self.metric_params and self.p is not None:
            warnings.warn(
                "Parameter p is found in metric_params. The corresponding parameter from __init__ "
                "is ignored.",
                SyntaxWarning,
                stacklevel=4,
            )
        name, params = effective_metric(metric, self.p, self.metric_params)
        if name != "minkowski":
            return
        if params["p"] < 1:
            if algorithm in ("kd_tree", "ball_tree"):
                raise ValueError(
                    f'algorithm="{algorithm}" does not support 0 < p < 1 for the Minkowski metric. '
                    'To resolve this problem either set p >= 1 or algorithm="brute".'
                )
            warnings.warn(
                "Mind that for 0 < p < 1, Minkowski metrics are not distance metrics. Continuing "
                "the execution with `algorithm='brute'`.",
                stacklevel=4,
            )
        if algorithm == "kd_tree" and params.get("w") is not None:
            raise ValueError(
                "algorithm='kd_tree' is not valid for metric='minkowski' with a weight parameter "
                "'w': try algorithm='ball_tree' or algorithm='brute' instead."
            )

    def _check_memory(self, rows: Rows) -> None:
        """Refuse to copy more rows than memory holds."""
        if rows.sparse or self._leaves_rows(rows):
            return
        check_memory(
            1.6 * rows.n_rows * rows.n_features * (rows.dtype.itemsize + 4),
            f"{type(self).__name__} of {rows.n_rows:,} rows and {rows.n_features:,} columns",
            "keep the rows in a file (.npy or Parquet) and fit on its path, take a sample of the "
            "rows, or reduce the columns (PCA)",
        )

    def _leaves_rows(self, rows: Rows) -> bool:
        """Whether the training rows stay where they are, in a file or on a cluster."""
        choice = getattr(self, "keep_rows", "memory")
        if choice == "memory" or isinstance(rows.source, ArraySource | SparseSource):
            return False
        size = 1.6 * rows.n_rows * rows.n_features * (rows.dtype.itemsize + 4)
        return choice == "file" or size > MAX_MEMORY_SHARE * available_memory()

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        if not self._leaves_rows(rows):
            self.__dict__.pop("reference_", None)
            self.__dict__.pop("_source_rows", None)
            return super()._fit(rows, rng)
        metric, params = effective_metric(self.metric, self.p, self.metric_params)
        X, y, w = rows.derived.get("arguments", (None, None, None))
        is_file = isinstance(X, str | Path) and rows.engine is None
        reference = FileReference.of(X, y, w, rows) if is_file else None
        return {
            "_index": None,
            "_source_rows": None if is_file else rows,
            "dtype_": rows.dtype,
            "effective_metric_": metric,
            "effective_metric_params_": params,
            "n_samples_fit_": rows.n_rows,
            "reference_": reference,
            "statistic_": None,
        }

    @property
    def _is_elsewhere(self) -> bool:
        """Whether the training rows are not in memory."""
        return getattr(self, "statistic_", None) is None

    def _open_elsewhere(self, X: Any, groups: Any = None) -> tuple[Rows, np.ndarray]:
        """Training rows that are not in memory, and queries, which are."""
        if X is None or groups is not None:
            raise ValueError(
                "rows in a file are not left out one by one or by groups: give X, and fit with "
                "keep_rows='memory' for groups"
            )
        rows = self.reference_.open() if self.reference_ is not None else self._source_rows
        if hasattr(self, "classes_"):
            rows = rows.with_classes(self.classes_)
        rows.allow_nan = self._nan_ok
        with self._work_context():
            return rows, to_dense(self._rows(X, reset=False).gather().X)

    def _search_elsewhere(self, X: Any, k: int, groups: Any = None) -> NearestFound:
        """The k nearest rows of queries, where the training rows are not in memory."""
        rows, Q = self._open_elsewhere(X, groups)
        with self._work_context():
            check_neighbors_memory(len(Q), k)
            metric, params = self.effective_metric_, self.effective_metric_params_
            found = search_rows(rows, Q, k, metric, params)
        require_neighbors(found.rows, 0)
        return found

    def save(self, path: str | Path, *, copy_rows: bool = True) -> None:
        """Write the model to one file that `tenfold.load` reads; loading executes no code.

        Parameters
        ----------
        path : path
            File to write; it is replaced only when the new one is complete.
        copy_rows : bool
            Whether training rows that stay in a file are copied into the model's. Else only their
            path and digest are saved, and the model raises an error if the rows have changed.
        """
        model = self
        if self._is_elsewhere and hasattr(self, "reference_"):
            if copy_rows:
                rows = self.reference_.open() if self.reference_ is not None else self._source_rows
                copy: Any = clone(self)
                model = copy.set_params(keep_rows="memory").fit(rows)
            elif self.reference_ is None:
                raise TypeError("rows on a cluster have no path to save: use copy_rows=True")
        super(NeighborsModel, model).save(path)

    def _statistic(self, rows: Rows) -> NeighborRows:
        return store_rows(rows)

    def _has_statistic(self, rows: Rows, /) -> bool:
        return False  # rows of cells would come in another order: ties are decided by it

    def _finalize(self, s: NeighborRows, dtype: np.dtype) -> dict[str, Any]:
        metric, params = effective_metric(self.metric, self.p, self.metric_params)
        if sparse.issparse(s.X) and isinstance(metric, str) and metric not in _SPARSE_METRICS:
            raise ValueError(
                f"Metric '{metric}' not valid for sparse input. Use sorted(sklearn.neighbors."
                "VALID_METRICS_SPARSE['brute']) to get valid options. Metric can also be a "
                "callable function."
            )
        if sparse.issparse(s.X) and self.algorithm not in ("auto", "brute"):
            warnings.warn("cannot use tree with sparse input: using brute force", stacklevel=5)
        return {
            "_index": self._make_index(s),
            "effective_metric_": metric,
            "effective_metric_params_": params,
            "n_samples_fit_": s.n_rows,
        }

    def _make_index(self, s: NeighborRows) -> RowIndex:
        metric, params = effective_metric(self.metric, self.p, self.metric_params)
        return RowIndex(s.X, metric, params, self.algorithm, self.leaf_size, s.w)

    def _check_learned(self) -> None:
        """Make the index of a loaded model anew."""
        s = getattr(self, "statistic_", None)
        if s is None:
            return
        if len(s.X.shape) != 2 or s.X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"statistic_.X has shape {s.X.shape} for {self.n_features_in_} columns"
            )
        if s.n_rows != self.n_samples_fit_:
            raise ValueError(f"statistic_.X has {s.n_rows} rows of {self.n_samples_fit_}")
        for name, part in (("y", s.y), ("w", s.w), ("groups", s.groups)):
            if part is not None and len(part) != s.n_rows:
                raise ValueError(f"statistic_.{name} has {len(part)} entries for {s.n_rows} rows")
        if not hasattr(self, "_index"):
            self._index = self._make_index(s)

    @property
    def _fit_X(self) -> Any:  # noqa: N802  scikit-learn's name
        return self.statistic_.X

    @property
    def _fit_method(self) -> str:
        return self._index.algorithm

    # queries

    def _query_rows(self, X: Any, k: int = 0) -> Rows:
        """Queries as rows, in chunks for k neighbors each; None stands for the training rows."""
        if X is None or self.metric == "precomputed":
            X = self.statistic_.X if X is None else check_distances(X)
            if self.metric == "precomputed" and X.shape[1] != self.n_samples_fit_:
                raise ValueError(
                    f"X has {X.shape[1]} columns, but there are {self.n_samples_fit_} training "
                    "rows: a query is the row of its distances from them"
                )
            source = SparseSource(X) if sparse.issparse(X) else ArraySource(X)
            rows = Rows(source, engine=current_engine(), allow_nan=self._nan_ok)
        else:
            rows = self._rows(X, reset=False)
        size = min(
            max(_queries_of_chunk(rows.n_rows), MIN_QUERIES_PER_CHUNK), MAX_QUERIES_PER_CHUNK
        )
        return rows.with_chunk_rows(min(size, max(NEIGHBORS_PER_BLOCK // max(k, 1), 1)))

    def _left_out(self, X: Any, groups: Any) -> dict[str, Any]:
        """Codes of rows and queries: rows of the code of a query are not its neighbors."""
        if groups is None:
            if X is not None:
                return {}
            own = np.arange(self.n_samples_fit_)
            return {"row_codes": own, "query_codes": own}
        if self.statistic_.groups is None:
            raise ValueError(
                "groups= of queries needs groups of the training rows: fit(..., groups=)"
            )
        known, codes = np.unique(self.statistic_.groups, return_inverse=True)
        asked = np.asarray(groups)
        places = np.minimum(np.searchsorted(known, asked), len(known) - 1)
        queries = np.where(known[places] == asked, places, -1)
        return {"row_codes": codes.astype(np.int64), "query_codes": queries.astype(np.int64)}

    def _map_queries(self, X: Any, f: Any, search: NeighborSearch, *state: Any) -> np.ndarray:
        """`f(chunk, search, *state)` of all queries, below each other."""
        with self._work_context():
            return self._query_rows(X, search.k).each(f, search, *state)

    def _fit_with_groups(self, X: Any, y: Any, w: Any, groups: Any) -> Self:
        """Fit, and keep the groups with the rows."""
        super().fit(X, y, w)
        if groups is not None:
            labels = np.asarray(groups)
            if labels.shape != (self.n_samples_fit_,):
                raise ValueError(
                    f"groups has shape {labels.shape}, but there are {self.n_samples_fit_} rows"
                )
            self.statistic_ = self.statistic_._replace(groups=labels)
        return self


class UnsupervisedNeighbors(NeighborsModel):
    """Training rows without targets."""

    def fit(self, X: Any, y: Any = None) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Learn from rows.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for metric="precomputed" their distances from each other.
        y : ignored

        Returns
        -------
        self
        """
        del y
        return self._fit_with_groups(X, None, None, None)


def _queries_of_chunk(n: int) -> int:
    """Whole tiles in a quarter of the share of a thread; of few queries equally many per thread."""
    threads = n_threads()
    quarter = -(-n // (4 * threads))
    if quarter >= QUERIES_PER_TILE:
        return quarter - quarter % QUERIES_PER_TILE
    tiles = max(-(-n // (threads * QUERIES_PER_TILE)), 1)
    return -(-n // (threads * tiles))


def _valid_metrics(algorithm: str) -> set[str]:
    """Metrics of an algorithm: scikit-learn's, and for brute force all of SciPy's."""
    return {*VALID_METRICS[algorithm], *(("jensenshannon",) if algorithm == "brute" else ())}


def nearest_of_chunk(chunk: Chunk, search: NeighborSearch) -> np.ndarray:
    """A record of distances and row numbers of the neighbors of each query."""
    found = search.nearest(chunk.X, chunk.first)
    m, k = found.rows.shape
    shape = (k,)
    out = np.empty(m, [("distance", np.float64, shape), ("row", np.int64, shape)])
    out["distance"], out["row"] = found.distances, found.rows
    return out
