"""Training rows that stay in a file or on a cluster: a search is a fold, queries its state."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tenfold.callbacks.row_digest import RowDigests
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.neighbors._brute_force import NOBODY, NeighborLists
from tenfold.neighbors._heap_numba import JIT
from tenfold.neighbors._list_room import ListRoom
from tenfold.neighbors._metric_space import MetricSpace
from tenfold.neighbors._row_index import RowIndex


class FileReference(NamedTuple):
    """A file that holds the training rows of a model.

    Attributes
    ----------
    path : where it is
    target, weight : names of its columns, or None
    digest : of all rows, targets and weights
    files : size, times and digest of each file
    """

    path: str
    target: str | None
    weight: str | None
    digest: str
    files: dict[str, list]

    @classmethod
    def of(cls, path: Any, target: Any, weight: Any, rows: Rows) -> FileReference:
        """The reference to rows that were opened from a path."""
        digests = RowDigests()
        found = digests.of(rows.source, rows.engine)
        return cls(str(Path(path).resolve()), target, weight, found, digests.files)

    def open(self) -> Rows:
        """The rows, if they are those of the fit."""
        from tenfold.io.opener import open as open_rows

        try:
            rows = open_rows(self.path, target=self.target, weight=self.weight)
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"{self.path}: the model refers to this file, which is not there: put it back, or "
                "fit again"
            ) from error
        digests = RowDigests(self.files)
        if digests.of(rows.source, rows.engine) != self.digest:
            raise ValueError(
                f"{self.path}: the training rows of the model have changed since the fit: fit "
                "again, or keep a copy with save(..., copy_rows=True)"
            )
        return rows


class NearestFound(NamedTuple):
    """The k nearest of some rows for each query; two merge to those of both.

    Attributes
    ----------
    distances, rows : (m, k) numbers by which rows are ordered, and row numbers
    y : (m, k, n_outputs) targets, or None
    w : (m, k) weights, or None
    """

    distances: np.ndarray
    rows: np.ndarray
    y: np.ndarray | None = None
    w: np.ndarray | None = None
    narrow = True  # targets keep their types

    def merge(self, other: NearestFound) -> NearestFound:
        """The k nearest of both."""
        m, k = self.rows.shape
        order = np.empty((m, k), np.int64)
        merge_order(self.distances, self.rows, other.distances, other.rows, order)
        y = w = None
        if self.y is not None and other.y is not None:
            both = np.concatenate([self.y, other.y], axis=1)
            y = np.take_along_axis(both, order[:, :, None], axis=1)
        if self.w is not None and other.w is not None:
            w = np.take_along_axis(np.hstack([self.w, other.w]), order, axis=1)
        distances = np.hstack([self.distances, other.distances])
        rows = np.hstack([self.rows, other.rows])
        distances, rows = (np.take_along_axis(part, order, axis=1) for part in (distances, rows))
        return NearestFound(distances, rows, y, w)


@JIT
def merge_order(a: Any, a_row: Any, b: Any, b_row: Any, order: Any) -> None:
    """Places of the k least of two ascending lists, counted through both.

    Parameters
    ----------
    a, a_row, b, b_row : (m, k) distances and row numbers
    order : (m, k) places, a result
    """
    k = a.shape[1]
    for i in range(a.shape[0]):
        p, q = 0, 0
        for e in range(k):
            first = a[i, p] < b[i, q] or (a[i, p] == b[i, q] and a_row[i, p] <= b_row[i, q])
            order[i, e] = p if first else k + q
            p, q = (p + 1, q) if first else (p, q + 1)


def nearest_in_chunk(
    chunk: Chunk, Q: np.ndarray, k: int, metric: Any, params: dict, limit: np.ndarray | None = None
) -> NearestFound:
    """The k nearest rows of a chunk for each query, as far as they are within the limits."""
    index = RowIndex(chunk.X, metric, params, "brute", weight=chunk.w)
    found = index.nearest(Q, min(k, max(index.n_rows, 1)), reduced=True, limit=limit)
    m, have = found.rows.shape
    distances, rows = np.full((m, k), np.inf), np.full((m, k), NOBODY)
    distances[:, :have] = found.distances / index.space.factor**2
    rows[:, :have] = np.where(found.rows < NOBODY, found.rows + chunk.first, NOBODY)
    places = np.where(found.rows < NOBODY, found.rows, 0)
    y = w = None
    if chunk.y is not None:
        targets = np.asarray(chunk.y).reshape(chunk.rows, -1)
        y = np.zeros((m, k, targets.shape[1]), targets.dtype)
        y[:, :have] = targets[places]
    if chunk.w is not None:
        w = np.zeros((m, k))
        w[:, :have] = np.where(found.rows < NOBODY, chunk.w[places], 0.0)
    return NearestFound(distances, rows, y, w)


def search_rows(rows: Rows, Q: np.ndarray, k: int, metric: Any, params: dict) -> NearestFound:
    """The k nearest of all rows for each query, in one pass over the rows.

    Parameters
    ----------
    rows : Rows
        The training rows, wherever they lie.
    Q : (m, d) array
        Queries.
    k : int
        Number of neighbors.
    metric, params : str or callable, and dict
        The metric.
    """
    _require_variances(metric, params)
    first = rows.take(np.arange(min(rows.n_rows, max(rows.source.grid, k))))
    limit = nearest_in_chunk(first, Q, k, metric, params).distances[:, -1]
    found = rows.total(nearest_in_chunk, Q, k, metric, params, limit)
    space = MetricSpace(metric, params, Q)
    space.factor = 1.0
    return found._replace(distances=space.distance(found.distances))


def _require_variances(metric: Any, params: dict) -> None:
    """Refuse a metric that would have to learn from all rows first."""
    lacks = {"seuclidean": ("V",), "mahalanobis": ("V", "VI")}.get(metric, ())
    if lacks and all(params.get(name) is None for name in lacks):
        raise ValueError(
            f"metric={metric!r} of rows in a file needs metric_params with {lacks[0]!r}"
        )


class RadiusFound(NamedTuple):
    """The rows within a radius of each query among some rows; two merge to those of both.

    Attributes
    ----------
    lists : distances and row numbers
    radius, room : the radius, and the memory that the lists may fill
    y : (t, n_outputs) targets of all entries of the lists, or None
    w : (t,) their weights, or None
    """

    lists: NeighborLists
    radius: float
    room: ListRoom
    y: np.ndarray | None = None
    w: np.ndarray | None = None
    narrow = True  # targets keep their types

    def merge(self, other: RadiusFound) -> RadiusFound:
        """The rows of both, those of `other` last."""
        parts = self.lists, other.lists
        self.room.require(sum(len(part.rows) for part in parts), self.radius)
        sizes = [np.diff(part.starts) for part in parts]
        query = np.concatenate([np.repeat(np.arange(len(size)), size) for size in sizes])
        order = np.argsort(query, kind="stable")
        lists = NeighborLists(
            np.append(0, np.cumsum(sizes[0] + sizes[1])),
            np.concatenate([part.distances for part in parts])[order],
            np.concatenate([part.rows for part in parts])[order],
        )
        y = w = None
        if self.y is not None and other.y is not None:
            y = np.concatenate([self.y, other.y])[order]
        if self.w is not None and other.w is not None:
            w = np.concatenate([self.w, other.w])[order]
        return RadiusFound(lists, self.radius, self.room, y, w)


def radius_of_chunk(
    chunk: Chunk, Q: np.ndarray, radius: float, metric: Any, params: dict, room: ListRoom
) -> RadiusFound:
    """The rows of a chunk within a radius of each query."""
    search = RowIndex(chunk.X, metric, params, "brute", weight=chunk.w)
    lists = search.within(Q, radius)
    room.require(len(lists.rows), radius)
    y = w = None
    if chunk.y is not None:
        y = np.asarray(chunk.y).reshape(chunk.rows, -1)[lists.rows]
    if chunk.w is not None:
        w = np.asarray(chunk.w, np.float64)[lists.rows]
    return RadiusFound(lists._replace(rows=lists.rows + chunk.first), radius, room, y, w)


def search_radius_of_rows(
    rows: Rows, Q: np.ndarray, radius: float, metric: Any, params: dict, room: ListRoom
) -> RadiusFound:
    """All rows within a radius of each query, in one pass over the rows.

    Parameters
    ----------
    rows : Rows
        The training rows, wherever they lie.
    Q : (m, d) array
        Queries.
    radius : float
        Largest distance.
    metric, params : str or callable, and dict
        The metric.
    room : ListRoom
        Memory that the lists may fill.
    """
    _require_variances(metric, params)
    return rows.total(radius_of_chunk, Q, radius, metric, params, room)
