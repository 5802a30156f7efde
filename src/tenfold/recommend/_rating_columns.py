"""Batches of ratings from tables, files, arrays and Dask dataframes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tenfold.engine.rows import Rows
from tenfold.io.columnar import NumericColumn, TableError
from tenfold.io.opener import is_dask
from tenfold.io.table import TableSource
from tenfold.io.table_opener import open_table
from tenfold.recommend.table_columns import find_rating_columns

if TYPE_CHECKING:
    from tenfold.recommend.ratings import RatingColumns

_BATCH = 2**20  # rows


class RatingBatch(NamedTuple):
    """Some ratings: ids as arrays or columns, values and weights or None."""

    user: Any
    item: Any
    value: np.ndarray | None
    weight: np.ndarray | None
    n: int


def read_batches(X: Any, y: Any, w: Any, names: RatingColumns) -> Iterator[RatingBatch]:
    """Batches of the ratings in X; see `open_ratings`."""
    if isinstance(X, str | os.PathLike) and str(X).endswith(".npy"):
        X = np.load(X, mmap_mode="r")
    if isinstance(X, Rows):  # of a search or a cross-validation of tenfold
        chunk = X.gather()
        yield from _array_batches(np.asarray(chunk.X), chunk.y if y is None else y, chunk.w)
    elif is_dask(X):
        from tenfold.distributed.partitions import compute_partitions

        if y is not None and not isinstance(y, str):
            raise ValueError("name the column of ratings: y is the name of a column of X")
        for frame in compute_partitions(X):
            yield from _table_batches(open_table(frame), y, w, names)
    elif isinstance(X, np.ndarray | list | tuple) and not _is_paths_or_records(X):
        array = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)  # ids keep their kind
        yield from _array_batches(array, y, w)
    else:
        yield from _table_batches(open_table(X), y, w, names)


def _is_paths_or_records(X: Any) -> bool:
    return isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], str | os.PathLike | dict)


def _array_batches(X: np.ndarray, y: Any, w: Any) -> Iterator[RatingBatch]:
    least = 2
    if X.ndim != 2 or X.shape[1] < least:
        raise ValueError(
            f"ratings in an array of shape {X.shape}: give pairs (n, 2) and y, or triples (n, 3)"
        )
    if y is None and X.shape[1] > least:
        y = X[:, least]
    y, w = _check_length(y, len(X), "y"), _check_length(w, len(X), "sample_weight")
    for start in range(0, len(X), _BATCH):
        part = slice(start, start + _BATCH)
        block = X[part]
        values = None if y is None else _numbers(y[part], start)
        weights = None if w is None else _numbers(w[part], start)
        yield RatingBatch(block[:, 0], block[:, 1], values, weights, len(block))


def _check_length(side: Any, n: int, name: str) -> Any:
    if side is None:
        return None
    side = np.asarray(side)
    if side.shape != (n,):
        raise ValueError(f"{name} has shape {side.shape}, but there are {n} pairs")
    return side


def _numbers(values: Any, first: int) -> np.ndarray:
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"rows from {first} on: ratings must be numbers") from None


def _table_batches(
    table: TableSource, y: Any, w: Any, names: RatingColumns
) -> Iterator[RatingBatch]:
    roles = _choose_columns(table, y, w, names)
    sides = [_check_length(None if isinstance(s, str) else s, table.n_rows, "y") for s in (y, w)]
    table = table.select(list(dict.fromkeys(name for name in roles.values() if name)))
    for start in range(0, table.n_rows, _BATCH):
        end = min(start + _BATCH, table.n_rows)
        cells = table.slice(start, end)
        value, weight = (
            _side(cells, roles[role], side, slice(start, end), table)
            for role, side in zip(("rating", "weight"), sides, strict=True)
        )
        yield RatingBatch(cells[roles["user"]], cells[roles["item"]], value, weight, end - start)


def _side(cells: Any, name: str | None, side: Any, rows: slice, table: TableSource) -> Any:
    if side is not None:
        return _numbers(side[rows], rows.start)
    if name is None:
        return None
    column = cells[name]
    if not isinstance(column, NumericColumn):
        raise TableError(f"{table.shown}: ratings in the column {name!r} are not numbers")
    return column.values


def _choose_columns(table: TableSource, y: Any, w: Any, names: RatingColumns) -> dict[str, Any]:
    """Columns of user, item, rating and weight: given, or by name, or by place."""
    given = {"user": names.user, "item": names.item}
    given["rating"] = y if isinstance(y, str) else names.rating
    weight = w if isinstance(w, str) else names.weight
    for name in (*given.values(), weight):
        if name is not None:
            table.assert_column(name)
    free = [n for n in table.names if n not in given.values() and n != weight]
    guess = find_rating_columns(free)
    if not all(given[role] or role in guess for role in ("user", "item")):  # then by their places
        guess = dict(zip([role for role in given if given[role] is None], free, strict=False))
    left = [n for n in free if n not in guess.values() and table.types[n] == "number"]
    if "rating" not in guess and len(left) == 1:
        guess["rating"] = left[0]
    roles: dict[str, Any] = {role: given[role] or guess.get(role) for role in given}
    if roles["user"] is None or roles["item"] is None:
        raise TableError(f"{table.shown} needs a column of users and a column of items")
    if y is not None and not isinstance(y, str):
        roles["rating"] = None
    return roles | {"weight": weight}
