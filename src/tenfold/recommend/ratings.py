"""Ratings (user, item, value): read from tables, files, arrays and matrices, sorted both ways."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.context import current_engine
from tenfold.engine.rows import Rows
from tenfold.recommend._entries import (
    EntriesSource,
    SortedEntries,
    Triples,
    merge_equal_pairs,
    sort_entries,
    transpose_entries,
)
from tenfold.recommend._id_codes import IdCodes
from tenfold.recommend._rating_columns import RatingBatch, read_batches
from tenfold.recommend._thresholds import ROWS_PER_CHUNK

_MAX_RATING = 1e100  # squares of larger numbers may be out of range


class Ratings:
    """Ratings of items by users, sorted by user and by item.

    Equal pairs are merged: into their mean, which counts as often as they occur, or into their sum.
    What is larger than 64 MB for a column lies in temporary files.

    Parameters
    ----------
    users, items : ndarray
        Ids in ascending order; rows and columns have the same numbers.
    by_user : SortedEntries
        The entries.

    Attributes
    ----------
    users, items : ndarray
        The ids.
    by_user, by_item : SortedEntries
        The entries by rows and by columns of the matrix.

    Examples
    --------
    >>> from tenfold.recommend import open_ratings
    >>> table = {"who": ["ann", "bob", "ann"], "film": ["Ran", "Ran", "Alien"], "stars": [5, 4, 1]}
    >>> ratings = open_ratings(table)
    >>> ratings, ratings.users.tolist(), ratings.items.tolist()
    (Ratings(3 of 2 users and 2 items), ['ann', 'bob'], ['Alien', 'Ran'])
    >>> ratings.to_matrix().tolist()
    [[1.0, 5.0], [nan, 4.0]]
    """

    def __init__(
        self,
        users: np.ndarray,
        items: np.ndarray,
        by_user: SortedEntries,
    ) -> None:
        self.users, self.items, self.by_user = users, items, by_user

    def __len__(self) -> int:
        return len(self.by_user.indices)

    def __repr__(self) -> str:
        return f"Ratings({len(self):,} of {len(self.users):,} users and {len(self.items):,} items)"

    @property
    def shape(self) -> tuple[int, int]:
        """Users and items."""
        return len(self.users), len(self.items)

    @cached_property
    def by_item(self) -> SortedEntries:
        """The entries by items, users ascending."""
        return transpose_entries(self.by_user, len(self.items))

    @classmethod
    def from_matrix(cls, Y: Any, *, duplicates: str = "mean") -> Ratings:
        """Ratings of a matrix (users, items): NaN, or what a sparse one does not store, is missing.

        Parameters
        ----------
        Y : array or sparse matrix of shape (n_users, n_items)
            Users and items get their numbers as ids.
        duplicates : {"mean", "sum"}, default="mean"
            What becomes of entries that a sparse matrix stores twice.
        """
        if hasattr(Y, "tocoo"):
            coordinates = Y.tocoo()
            user, item, value = coordinates.row, coordinates.col, coordinates.data
        else:
            Y = np.asarray(Y, np.float64)
            if Y.ndim != 2:
                raise ValueError(f"a matrix of ratings has two dimensions, not {Y.ndim}")
            user, item = np.nonzero(~np.isnan(Y))
            value = Y[user, item]
        if not len(value):
            raise ValueError("no ratings: the matrix has no entry that is stored, or not NaN")
        _check_values(np.asarray(value, np.float64), 0)
        triples = Triples(weighted=False)
        triples.append(user=user, item=item, value=np.asarray(value, np.float64))
        entries = sort_entries(triples, *Y.shape)
        entries = merge_equal_pairs(entries, duplicates)
        return cls(np.arange(Y.shape[0]), np.arange(Y.shape[1]), entries)

    def to_matrix(self) -> np.ndarray:
        """The matrix (users, items) with NaN where there is no rating."""
        Y = np.full(self.shape, np.nan)
        rows = np.repeat(np.arange(len(self.users)), self.by_user.counts)
        Y[rows, self.by_user.indices] = self.by_user.values
        return Y

    def user_rows(self, per_chunk: int = ROWS_PER_CHUNK) -> Rows:
        """Users as rows that fold: entries of the matrix, and their weights beside them."""
        return _open_entries(self.by_user, len(self.items), per_chunk)

    def item_rows(self, per_chunk: int = ROWS_PER_CHUNK) -> Rows:
        """Items as rows that fold."""
        return _open_entries(self.by_item, len(self.users), per_chunk)


class RatingColumns(NamedTuple):
    """Names of the columns of a table of ratings; None is found by its name or its place."""

    user: str | None = None
    item: str | None = None
    rating: str | None = None
    time: str | None = None
    weight: str | None = None


def open_ratings(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    duplicates: str = "mean",
) -> Ratings:
    """Read ratings from a table, a file, arrays or a matrix.

    Parameters
    ----------
    X : table, path, Dask dataframe, array, sparse matrix or Ratings
        A table or file (CSV, Parquet, Arrow, JSON lines, Excel, also larger than memory) with
        columns for user, item and rating; an array of pairs (n, 2) or triples (n, 3); a sparse
        matrix (users, items), or a dense one of more than four columns with NaN for what is
        missing. Ids are whole numbers or words.
    y : array or column name, optional
        Ratings of the pairs; without them and without a column of ratings each pair counts 1.
    sample_weight : array or column name, optional
        Weight of each rating; a weight of two is the rating twice.
    user, item, rating : str, optional
        Names of columns. By default "user", "customer", ..., "item", "film", ... and "rating",
        "stars", ..., else the first three columns.
    duplicates : {"mean", "sum"}, default="mean"
        What becomes of several ratings of one item by the same user.

    Returns
    -------
    Ratings

    Examples
    --------
    >>> open_ratings([["ann", "Ran"], ["bob", "Ran"]], [5, 3])
    Ratings(2 of 2 users and 1 items)
    """
    if isinstance(X, Ratings):
        return X
    if duplicates not in {"mean", "sum"}:
        raise ValueError(f"duplicates={duplicates!r}: choose 'mean' or 'sum'")
    if hasattr(X, "tocoo") or _is_dense_matrix(X, y):
        return Ratings.from_matrix(X, duplicates=duplicates)
    names = RatingColumns(user, item, rating)
    return _collect(read_batches(X, y, sample_weight, names), duplicates)


def _is_dense_matrix(X: Any, y: Any) -> bool:
    return y is None and isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] > 4


def _collect(batches: Iterator[RatingBatch], duplicates: str) -> Ratings:
    users, items = IdCodes("user"), IdCodes("item")
    triples, first = None, 0
    for batch in batches:
        if triples is None:
            triples = Triples(weighted=batch.weight is not None)
        value = np.ones(batch.n) if batch.value is None else np.asarray(batch.value, np.float64)
        _check_values(value, first)
        kept = _weighted_rows(batch, first)
        weight = None if batch.weight is None else np.asarray(batch.weight, np.float64)[kept]
        triples.append(
            user=users.encode(batch.user, first, kept),
            item=items.encode(batch.item, first, kept),
            value=value[kept],
            **({} if weight is None else {"weight": weight}),
        )
        first += batch.n
    if triples is None or triples.n == 0:
        raise ValueError("no ratings: the table has no rows, or all of them weigh nothing")
    user_ids, item_ids = (
        _renumber(triples, *codes) for codes in (("user", users), ("item", items))
    )
    entries = merge_equal_pairs(sort_entries(triples, len(user_ids), len(item_ids)), duplicates)
    return Ratings(user_ids, item_ids, entries)


def _weighted_rows(batch: RatingBatch, first: int) -> Any:
    """Rows that weigh something: a rating of weight zero is no rating."""
    if batch.weight is None:
        return slice(None)
    weight = np.asarray(batch.weight, np.float64)
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"row {first + row}: the weight {weight[row]} is negative or not finite")
    return weight > 0


def _renumber(triples: Triples, name: str, codes: IdCodes) -> np.ndarray:
    """Ids in ascending order; codes in the order of arrival become their ranks."""
    ids, rank = codes.sorted_ids()
    column = triples.column(name)
    step = 2**22
    for start in range(0, len(column), step):
        column[start : start + step] = rank[column[start : start + step]]
    return ids


def _check_values(value: np.ndarray, first: int) -> None:
    bad = ~(np.abs(value) < _MAX_RATING)  # also NaN
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"row {first + row}: the rating is {value[row]}; leave out rows without a rating, and "
            "take units in which ratings are no larger than 1e100"
        )


def _open_entries(entries: SortedEntries, n_columns: int, per_chunk: int) -> Rows:
    rows = Rows(EntriesSource(entries, n_columns), engine=current_engine())
    return rows.with_chunk_rows(per_chunk)
