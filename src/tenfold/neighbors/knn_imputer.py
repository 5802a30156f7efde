"""Missing values filled in with those of the nearest rows."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.impute import MissingIndicator
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import (
    Interval,
    MissingValues,
    StrOptions,
    check_feature_names_in,
    is_pandas_na,
)
from tenfold.base.mixins import Transformer
from tenfold.base.one_pass import OnePass
from tenfold.engine.chunk import Chunk
from tenfold.engine.memory import check_memory
from tenfold.engine.rows import Rows
from tenfold.neighbors._row_index import RowIndex
from tenfold.neighbors._special_rows import refuse_infinity
from tenfold.neighbors._stored_rows import NeighborRows, store_rows
from tenfold.neighbors._thresholds import SPARE_DONORS


class Donors(NamedTuple):
    """What a chunk needs to fill in its missing values.

    Attributes
    ----------
    search : of the training rows
    X : (n, d) training rows
    missing : (n, d) where they lack a value
    means : (d,) means of the columns, 0 of those without values
    marker : what stands for a missing value
    n_neighbors, weights : parameters of the imputer
    """

    search: RowIndex
    X: np.ndarray
    missing: np.ndarray
    means: np.ndarray
    marker: Any
    n_neighbors: int
    weights: Any


class KNNImputer(OnePass, Transformer):
    r"""Fill in missing values with the mean of the nearest rows that have them.

    The value of column j of a row q is

    .. math:: \hat q_j = \frac{\sum_{i \in N} v_i x_{ij}}{\sum_{i \in N} v_i},

    N being the `n_neighbors` training rows nearest to q among those with a value in column j, and
    :math:`v_i` one or the inverse distance. The distance of two rows is taken over the c of d
    columns that both have,

    .. math:: \operatorname{dist}(q, x)^2 = \frac{d}{c} \sum_{j} (q_j - x_j)^2 .

    Neighbors are exact, and equally far ones are taken by row number, so that the result depends
    neither on the other queries nor on threads, files or workers. Where no row with a value has a
    column in common with q, the mean of the column is filled in. Parameters are those of
    `sklearn.impute.KNNImputer`.

    Parameters
    ----------
    missing_values : number, np.nan or pandas.NA
        What stands for a missing value.
    n_neighbors : int
        Number of neighbors; fewer where fewer rows have a value.
    weights : {"uniform", "distance"}, callable or None
        One each; inverse distances, where rows at distance zero count alone; or a function of an
        array of distances, NaN where there are fewer neighbors.
    metric : "nan_euclidean" or callable
        The distance above, or a function of two rows and the keyword `missing_values`.
    copy : bool
        Whether `transform` returns a new array; else it fills in an array of floats in place, if
        no columns are removed or added.
    add_indicator : bool
        Whether columns follow that are 1 where a value was missing, for all columns with missing
        values among the training rows.
    keep_empty_features : bool
        Whether columns without any value are kept, as zeros; else they are removed.

    Attributes
    ----------
    n_samples_fit_ : number of training rows
    indicator_ : scikit-learn's `MissingIndicator` of the added columns, or None
    statistic_ : the training rows, to which `partial_fit` adds and which `tenfold.merge` joins

    See Also
    --------
    NearestNeighbors : The search, also with ``metric="nan_euclidean"``.

    References
    ----------
    O. Troyanskaya et al. (2001), Missing value estimation methods for DNA microarrays.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import KNNImputer
    >>> X = [[1, 2, np.nan], [3, 4, 3], [np.nan, 6, 5], [8, 8, 7]]
    >>> KNNImputer(n_neighbors=2).fit_transform(X)
    array([[1. , 2. , 4. ],
           [3. , 4. , 3. ],
           [5.5, 6. , 5. ],
           [8. , 8. , 7. ]])
    """

    _has_quadratic_time = True
    _law_rows = 3000
    _parameter_constraints: dict[str, Any] = {
        "missing_values": [MissingValues()],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "weights": [StrOptions({"uniform", "distance"}), callable, None],
        "metric": [StrOptions({"nan_euclidean"}), callable],
        "copy": ["boolean"],
        "add_indicator": ["boolean"],
        "keep_empty_features": ["boolean"],
    }

    def __init__(
        self,
        *,
        missing_values: Any = np.nan,
        n_neighbors: int = 5,
        weights: Any = "uniform",
        metric: Any = "nan_euclidean",
        copy: bool = True,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
    ) -> None:
        self.missing_values = missing_values
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.metric = metric
        self.copy = copy
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features

    @property
    def _nan_ok(self) -> bool:
        return is_pandas_na(self.missing_values) or self.missing_values != self.missing_values

    def fit(self, X: Any, y: Any = None) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Store the rows.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : ignored

        Returns
        -------
        self
        """
        del y
        return super().fit(X)

    def _check_memory(self, rows: Rows) -> None:
        """Refuse to copy more rows than memory holds."""
        size = rows.n_rows * rows.n_features * (rows.dtype.itemsize + 13.0)
        check_memory(size, f"KNNImputer of {rows.n_rows:,} rows", "fit it on a sample of the rows")

    def _statistic(self, rows: Rows) -> NeighborRows:
        return NeighborRows(store_rows(rows).X)

    def _has_statistic(self, rows: Rows, /) -> bool:
        return False  # rows of cells would come in another order: ties are decided by it

    def _finalize(self, s: NeighborRows, dtype: np.dtype) -> dict[str, Any]:
        del dtype
        return {"_donors": self._make_donors(s), "n_samples_fit_": s.n_rows}

    @property
    def _marker(self) -> float:
        """What stands for a missing value in arrays."""
        return np.nan if self._nan_ok else self.missing_values

    def _make_donors(self, s: NeighborRows) -> Donors:
        refuse_infinity(s.X)
        missing = _find_missing(s.X, self._marker)
        by_name = isinstance(self.metric, str)
        rows = np.where(missing, np.nan, s.X) if by_name and not self._nan_ok else s.X
        params = {} if by_name else {"missing_values": self._marker}
        count = np.maximum((~missing).sum(axis=0), 1)
        means = np.where(missing, 0.0, s.X).sum(axis=0, dtype=np.float64) / count
        index = RowIndex(rows, self.metric, params, "brute")
        return Donors(index, s.X, missing, means, self._marker, self.n_neighbors, self.weights)

    def _check_learned(self) -> None:
        """Make the search of a loaded model anew."""
        s = self.statistic_
        if len(s.X.shape) != 2 or s.X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"statistic_.X has shape {s.X.shape} for {self.n_features_in_} columns"
            )
        if s.n_rows != self.n_samples_fit_:
            raise ValueError(f"statistic_.X has {s.n_rows} rows of {self.n_samples_fit_}")
        if not hasattr(self, "_donors"):
            self._donors = self._make_donors(s)

    @property
    def _empty(self) -> np.ndarray:
        """Columns without any value."""
        return np.asarray(self._donors.missing.all(axis=0))

    @property
    def _incomplete(self) -> np.ndarray:
        """Columns with missing values."""
        return np.asarray(self._donors.missing.any(axis=0))

    @property
    def indicator_(self) -> MissingIndicator | None:
        """The indicator of the columns that are added, or None."""
        check_is_fitted(self)
        if not self.add_indicator:
            return None
        other = 1.0 if self._marker == 0 else 0.0
        pattern = np.where(self._incomplete, self._marker, other)[None]
        return MissingIndicator(missing_values=self._marker, error_on_new=False).fit(pattern)

    def transform(self, X: Any) -> np.ndarray:
        """Fill in the missing values.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Returns
        -------
        (n, n_features_out) array
        """
        check_is_fitted(self)
        kept = np.ones(len(self._empty), bool) if self.keep_empty_features else ~self._empty
        added = self._incomplete & self.add_indicator
        filled = self._map_rows(X, fill_chunk, self._donors, kept, added)
        in_place = not self.copy and isinstance(X, np.ndarray) and X.dtype == filled.dtype
        if in_place and X.shape == filled.shape and X.flags.writeable:
            X[:] = filled
            return X
        return filled

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that `transform` gives.

        Parameters
        ----------
        input_features : array of str, optional
            Names of the columns at fit; by default those that it saw.
        """
        check_is_fitted(self)
        names: Any = check_feature_names_in(self, input_features)
        kept = names if self.keep_empty_features else names[~self._empty]
        if not self.add_indicator:
            return kept
        added = [f"missingindicator_{name}" for name in names[self._incomplete]]
        return np.append(kept, np.array(added, object))


def _find_missing(X: np.ndarray, marker: float) -> np.ndarray:
    """Where values are missing."""
    return np.isnan(X) if np.isnan(marker) else np.equal(X, marker)


def fill_chunk(chunk: Chunk, donors: Donors, kept: np.ndarray, added: np.ndarray) -> np.ndarray:
    """The rows of a chunk without missing values, and columns that say where they were."""
    refuse_infinity(chunk.X, chunk.first)
    missing, empty = _find_missing(chunk.X, donors.marker), donors.missing.all(axis=0)
    filled = np.where(empty, np.zeros((), chunk.X.dtype), chunk.X)
    open_cells = missing & ~empty
    rows = np.flatnonzero(open_cells.any(axis=1))
    if len(rows):
        Q = chunk.X[rows]
        if isinstance(donors.search.space.metric, str):
            Q = np.where(missing[rows], np.nan, Q)
        filled[rows] = _fill_rows(Q, filled[rows], open_cells[rows], donors)
    return np.hstack([filled[:, kept], missing[:, added].astype(filled.dtype)])


def _fill_rows(
    Q: np.ndarray, filled: np.ndarray, open_cells: np.ndarray, donors: Donors
) -> np.ndarray:
    """Rows whose open cells are filled in.

    One search for some more neighbors than are needed serves most columns; where too few of them
    have a value, those that have one are searched.
    """
    n, k = donors.search.n_rows, donors.n_neighbors
    found = donors.search.nearest(Q, min(2 * k + SPARE_DONORS, n))
    for column in np.flatnonzero(open_cells.any(axis=0)):
        at = np.flatnonzero(open_cells[:, column])
        lacking = donors.missing[:, column]
        wanted = min(k, int((~lacking).sum()))
        numbers = np.minimum(found.rows[at], n - 1)
        usable = ~lacking[numbers] & (found.distances[at] < np.inf)
        order = np.argsort(~usable, axis=1, kind="stable")[:, :wanted]
        distances = np.take_along_axis(np.where(usable, found.distances[at], np.inf), order, axis=1)
        numbers = np.take_along_axis(numbers, order, axis=1)
        few = np.flatnonzero(usable.sum(axis=1) < wanted)
        if len(few) and found.rows.shape[1] < n:
            codes = lacking.astype(np.int64), np.ones(len(few), np.int64)
            more = donors.search.nearest(Q[at[few]], wanted, *codes)
            distances = np.pad(distances, ((0, 0), (0, wanted - distances.shape[1])))
            numbers = np.pad(numbers, ((0, 0), (0, wanted - numbers.shape[1])))
            distances[few], numbers[few] = more.distances, np.minimum(more.rows, n - 1)
        values = donors.X[:, column][numbers]
        filled[at, column] = _mean_of_donors(
            values, distances, donors.weights, donors.means[column]
        )
    return filled


def _mean_of_donors(
    values: np.ndarray, distances: np.ndarray, weights: Any, mean: float
) -> np.ndarray:
    """Weighted means of the values of donors; the mean of the column where there are none."""
    there = distances < np.inf
    if callable(weights):
        weights = weights(np.where(there, distances, np.nan))
    if weights is None or (isinstance(weights, str) and weights == "uniform"):
        own = there.astype(np.float64)
    elif isinstance(weights, str):
        zero = distances == 0
        own = np.where(zero.any(axis=1, keepdims=True), zero, 1 / np.where(zero, 1.0, distances))
    else:
        own = np.asarray(weights, np.float64)
    own = np.where(there & ~np.isnan(own), own, 0.0)
    total, norm = np.zeros(len(values)), np.zeros(len(values))
    values = np.where(there, values, 0.0)
    for value, weight in zip(values.T, own.T, strict=True):  # in the order of neighbors
        total += weight * value
        norm += weight
    return np.where(norm == 0, mean, total / np.where(norm == 0, 1.0, norm))
