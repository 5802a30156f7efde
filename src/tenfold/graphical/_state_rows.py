"""Tables of discrete variables as rows that fold: arrays, tables, files, Dask collections."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from tenfold.callbacks.monitor import monitor_fit
from tenfold.engine.arrays import ArraySource
from tenfold.engine.blas_threads import one_blas_thread
from tenfold.engine.chunk import Chunk
from tenfold.engine.context import current_engine
from tenfold.engine.interrupts import unwrap_interrupts
from tenfold.engine.rows import Rows
from tenfold.graphical._state_codes_numba import (
    MAX_WHOLE,
    UNKNOWN,
    count_families,
    mark_whole_numbers,
    number_states,
)
from tenfold.graphical._table_columns import (
    encode_column,
    find_states,
    plain_numbers,
    read_columns,
    sort_states,
)
from tenfold.io.columnar import ColumnBatch
from tenfold.io.opener import is_rows_like
from tenfold.io.opener import open as open_rows
from tenfold.io.table import EncodedSource, TableSource
from tenfold.io.table_opener import TableOptions, read_table

_MAX_STATES = 2**15 - 1
_MANY_NUMBERS = 30  # of different values, beyond which fractional ones look measured

States = dict[str, tuple[Any, ...]]


@contextmanager
def work_context(model: Any) -> Iterator[None]:
    """Context of a fit or of many queries: progress, checkpoints, one BLAS thread, Ctrl-C."""
    monitor = monitor_fit(type(model).__name__, model.get_params)
    with monitor, one_blas_thread(), unwrap_interrupts():
        yield


class StateRows(NamedTuple):
    """Rows, and how their numbers spell the states of variables.

    Attributes
    ----------
    rows : Rows
    names : variables
    states : variable -> its states, in order
    coder : arguments of `number_states` after the rows
    """

    rows: Rows
    names: list[str]
    states: States
    coder: tuple[np.ndarray, ...]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.n_rows

    def encode(self, chunk: Chunk) -> np.ndarray:
        """Numbers of states, (variables, rows of the chunk)."""
        return encode_chunk(chunk, self.names, self.coder)

    def count_states(self, families: list[tuple[str, ...]]) -> list[np.ndarray]:
        """Counts (or weights) of the states of some sets of variables, in one pass.

        Parameters
        ----------
        families : list of tuples of variables
            A row counts where all of a family is known.
        """
        layout = FamilyLayout.of(families, self.names, self.states)
        total = self.rows.total(_count_chunk, self.names, self.coder, layout)
        if not self.rows.source.has_weight:
            total = np.rint(total).astype(np.int64)
        return layout.split(total)


class FamilyLayout(NamedTuple):
    """Where the cells of families of variables lie in one array."""

    members: np.ndarray
    member_start: np.ndarray
    strides: np.ndarray
    cell_start: np.ndarray
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, families: list[tuple[str, ...]], names: list[str], states: States) -> FamilyLayout:
        """The layout of families, each with an axis for each of its variables."""
        number = {name: at for at, name in enumerate(names)}
        shapes = tuple(tuple(len(states[v]) for v in family) for family in families)
        members = [number[v] for family in families for v in family]
        strides = [s for shape in shapes for s in strides_of(shape)]
        ends = np.cumsum([0, *(len(family) for family in families)])
        cells = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)])
        a, b, c, d = (np.array(part, np.int64) for part in (members, ends, strides, cells))
        return cls(a, b, c, d, shapes)

    def split(self, cells: np.ndarray) -> list[np.ndarray]:
        """The table of each family."""
        parts = np.split(cells, self.cell_start[1:-1])
        return [part.reshape(shape) for part, shape in zip(parts, self.shapes, strict=True)]


def strides_of(shape: tuple[int, ...]) -> list[int]:
    """Steps of the axes in a flat table, the last axis one by one."""
    steps, step = [], 1
    for size in reversed(shape):
        steps.append(step)
        step *= size
    return steps[::-1]


def encode_chunk(chunk: Chunk, names: list[str], coder: tuple[np.ndarray, ...]) -> np.ndarray:
    """Numbers of states, (variables, rows); an unknown value is an error that names its place."""
    found = number_states(chunk.X, *coder)
    if found.size and found.min() == UNKNOWN:
        v, i = np.argwhere(found == UNKNOWN)[0]
        columns, _, _, values, _, start = coder
        known = list(plain_numbers(values[start[v] : start[v + 1]]))
        value = float(chunk.X[i, columns[v]])
        shown = int(value) if value.is_integer() else value
        raise ValueError(
            f"row {chunk.first + i}: {names[v]} is {shown!r}, which is none of its states "
            f"{known[:8]}"
        )
    return found


def _count_chunk(
    chunk: Chunk, names: list[str], coder: tuple[np.ndarray, ...], layout: FamilyLayout
) -> np.ndarray:
    found = encode_chunk(chunk, names, coder)
    return count_families(found, chunk.weights().astype(np.float64), *layout[:4])


def open_states(
    X: Any,
    names: list[str] | None,
    *,
    states: Mapping[str, Any] | None = None,
    sample_weight: Any = None,
    absent: bool = False,
) -> StateRows:
    """A table of discrete variables as rows.

    Parameters
    ----------
    X : array, data frame, dict of columns, list of dicts, path, Dask collection or Rows
        The rows; None or NaN is missing.
    names : list of str or None
        The variables; by default all columns. Columns of arrays are in this order.
    states : dict, optional
        States of some variables; the others have those that occur.
    sample_weight : array, optional
        Weight of each row.
    absent : bool
        Whether columns may be absent: then all their values are missing. Their states are given.
    """
    given = {name: tuple(values) for name, values in (states or {}).items()}
    if _is_table_file(X) or isinstance(X, TableSource | ColumnBatch):
        return _from_table(X, names, given, absent=absent)
    if is_rows_like(X) or _is_number_array(X):
        return _from_numbers(X, names, given, sample_weight, absent=absent)
    columns = read_columns(X, names)
    names = list(columns) if names is None else names
    check_columns(names, list(columns), given, absent=absent)
    known = {n: given[n] if n in given else find_states(columns[n]) for n in names}
    check_states(known)
    coded = np.full((len(next(iter(columns.values()))), len(names)), np.nan, np.float32)
    for at, name in enumerate(names):
        if name in columns:
            coded[:, at] = encode_column(name, columns[name], known[name])
    source = ArraySource(coded, w=check_weight(sample_weight, len(coded)))
    rows = Rows(source, engine=current_engine(), allow_nan=True)
    return StateRows(rows, names, known, _identity_coder(names, known))


def _is_table_file(X: Any) -> bool:
    first = X[0] if isinstance(X, list | tuple) and X else X
    return isinstance(first, str | os.PathLike) and not str(first).endswith(".npy")


def _is_number_array(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iuf" and X.size > 0


def check_weight(weight: Any, n: int) -> np.ndarray | None:
    """Weights of n rows as an array; what cannot be weights is an error."""
    if weight is None:
        return None
    array = np.asarray(weight, np.float64)
    if array.shape != (n,) or not (np.isfinite(array).all() and (array >= 0).all()):
        raise ValueError(
            f"sample_weight of shape {array.shape} for {n} rows: give each row a weight, not "
            "negative and finite"
        )
    if not array.any():
        raise ValueError("sample_weight is zero for all rows: nothing to learn from")
    return array


def check_columns(names: list[str], found: list[str], given: States, *, absent: bool) -> None:
    """Raise an error if a variable has neither a column nor given states."""
    for name in names:
        if name not in found and not (absent and name in given):
            raise ValueError(
                f"there is no column for the variable {name!r}; the table has {found[:10]}"
            )


def check_states(states: States) -> None:
    """Raise an error if a variable has no states, or so many that it is no discrete one."""
    for name, values in states.items():
        if not values:
            raise ValueError(f"{name!r} has no value at all: give `states`, or leave it out")
        if any(isinstance(value, float) and not np.isfinite(value) for value in values):
            raise ValueError(f"{name!r} holds infinite numbers: write NaN where a value is missing")
        if len(set(values)) < len(values):
            raise ValueError(f"the states of {name!r} repeat: {list(values)[:8]}")
        if len(values) > _MAX_STATES:
            raise ValueError(
                f"{name!r} has {len(values):,} different values, at most {_MAX_STATES:,} are "
                "states: cut numbers into intervals (sklearn's KBinsDiscretizer), leave "
                "identifiers out"
            )
    _warn_measured(states)


def _warn_measured(states: States) -> None:
    """Say that columns look like measurements, of which each would be a state."""
    measured = [
        name
        for name, values in states.items()
        if len(values) > _MANY_NUMBERS
        and any(isinstance(v, float) and not v.is_integer() for v in values)
    ]
    if measured:
        also = f" ({len(measured) - 1} more like it)" if len(measured) > 1 else ""
        warnings.warn(
            f"{measured[0]!r} has {len(states[measured[0]]):,} different numbers{also}, and each "
            "is a state of its own: cut them into intervals (sklearn's KBinsDiscretizer), or learn "
            "linear dependencies (LinearGaussianBayesianNetwork, PC with partial correlations)",
            UserWarning,
            stacklevel=2,
        )


def _from_numbers(
    X: Any, names: list[str] | None, given: States, weight: Any, *, absent: bool
) -> StateRows:
    """Rows of numbers, wherever they lie."""
    if isinstance(X, np.ndarray):
        X = X.astype(np.float64) if X.dtype == np.float16 else X
        rows = Rows(ArraySource(X, w=check_weight(weight, len(X))), engine=current_engine())
    else:
        rows = open_rows(X, weight=weight)
    rows = Rows(rows.source, engine=rows.engine, allow_nan=True)
    found = list(rows.names) if rows.names else None
    if found is None:
        if names is not None and len(names) != rows.n_features:
            raise ValueError(
                f"an array of shape ({rows.n_rows}, {rows.n_features}) for {len(names)} "
                f"variables: give a column for each of {names[:8]}, in this order, or a table "
                "with names"
            )
        found = names or [f"x{j}" for j in range(rows.n_features)]
    names = found if names is None else names
    check_columns(names, found, given, absent=absent)
    columns = np.array([found.index(n) if n in found else -1 for n in names], np.int64)
    sought = [n for n in names if n not in given]
    known = dict(given)
    if sought:
        values = rows.total(distinct_values, np.array([found.index(n) for n in sought]))
        known |= {n: plain_numbers(v) for n, v in zip(sought, values.columns, strict=True)}
    known = {n: known[n] for n in names}
    check_states(known)
    return StateRows(rows, names, known, make_coder(columns, names, known))


class DistinctValues(NamedTuple):
    """The different values of some columns; two of them merge by union."""

    columns: tuple[np.ndarray, ...]

    def merge(self, other: DistinctValues) -> DistinctValues:
        pairs = zip(self.columns, other.columns, strict=True)
        joint = tuple(a if np.array_equal(a, b) else np.union1d(a, b) for a, b in pairs)
        if any(len(column) > 4 * _MAX_STATES for column in joint):
            raise ValueError(
                f"a column has more than {_MAX_STATES:,} different values: cut numbers into "
                "intervals (sklearn's KBinsDiscretizer), leave identifiers out"
            )
        return DistinctValues(joint)


def distinct_values(chunk: Chunk, columns: np.ndarray) -> DistinctValues:
    """The different values of some columns of a chunk."""
    X = np.ascontiguousarray(chunk.X[:, columns])
    seen, others = mark_whole_numbers(X, chunk.weights().astype(np.float64))
    found = []
    for j in range(len(columns)):
        values = np.flatnonzero(seen[j]).astype(np.float64)
        if others[j]:
            column = X[chunk.weights() > 0, j].astype(np.float64)
            values = np.unique(column[~np.isnan(column)])
        found.append(values)
    return DistinctValues(tuple(found))


def make_coder(columns: np.ndarray, names: list[str], states: States) -> tuple[np.ndarray, ...]:
    """Tables by which `number_states` finds the states of numbers."""
    lookups, values, codes = [], [], []
    for name in names:
        try:
            numbers = np.array([float(state) for state in states[name]])
        except (TypeError, ValueError):
            numbers = np.empty(0)  # states that are no numbers: nothing matches
        whole = len(numbers) and bool(
            ((numbers >= 0) & (numbers < MAX_WHOLE) & (numbers == np.floor(numbers))).all()
        )
        lookup = np.full(int(numbers.max()) + 1 if whole else 0, UNKNOWN, np.int16)
        if whole:
            lookup[numbers.astype(np.int64)] = np.arange(len(numbers))
        order = np.argsort(numbers, kind="stable")
        lookups.append(lookup)
        values.append(numbers[order])
        codes.append(order.astype(np.int16))
    return (
        columns,
        np.concatenate([*lookups, np.empty(0, np.int16)]),
        np.cumsum([0, *map(len, lookups)]).astype(np.int64),
        np.concatenate([*values, np.empty(0)]),
        np.concatenate([*codes, np.empty(0, np.int16)]),
        np.cumsum([0, *map(len, values)]).astype(np.int64),
    )


def _identity_coder(names: list[str], states: States) -> tuple[np.ndarray, ...]:
    numbered = {name: tuple(range(len(states[name]))) for name in names}
    return make_coder(np.arange(len(names)), names, numbered)


def _from_table(X: Any, names: list[str] | None, given: States, *, absent: bool) -> StateRows:
    """A table in files, or one that was read: encoded chunk by chunk."""
    table = X if isinstance(X, TableSource) else read_table(X, TableOptions())
    names = list(table.names) if names is None else names
    check_columns(names, list(table.names), given, absent=absent)
    present = [n for n in names if n in table.types]
    table = table.select(present)
    known = given | _find_table_states(table, [n for n in present if n not in given])
    known = {n: known[n] for n in names}
    check_states(known)
    source = EncodedSource(
        table, StateEncoder(names, known), names, dtype=np.dtype(np.float32), sparse=False
    )
    rows = Rows(source, engine=current_engine(), allow_nan=True)
    return StateRows(rows, names, known, _identity_coder(names, known))


def _find_table_states(table: TableSource, names: list[str]) -> States:
    found: dict[str, set[Any]] = {name: set() for name in names}
    for first in range(0, table.n_rows, table.grid):
        batch = table.slice(first, min(first + table.grid, table.n_rows))
        for name in names:
            found[name].update(_distinct_cells(batch, name))
            if len(found[name]) > 4 * _MAX_STATES:
                check_states({name: tuple(found[name])})
    return {name: sort_states(values) for name, values in found.items()}


def _distinct_cells(batch: ColumnBatch, name: str) -> set[Any]:
    column = batch[name]
    if hasattr(column, "codes"):
        used = np.unique(column.codes)
        return {column.values[code] for code in used[used >= 0].tolist()}
    rows = np.unique(column.values[~column.missing()], return_index=True)[1]
    kept = np.flatnonzero(~column.missing())[rows]
    return set(batch.select([name])[kept].to_columns()[name])


class StateEncoder(NamedTuple):
    """Rows of a table as numbers of states; NaN where a value is missing."""

    names: list[str]
    states: States

    def __call__(self, cells: ColumnBatch, first: int) -> np.ndarray:
        coded = np.full((len(cells), len(self.names)), np.nan, np.float32)
        for at, name in enumerate(self.names):
            if name in cells.columns:
                coded[:, at] = self._encode(cells, name, first)
        return coded

    def _encode(self, cells: ColumnBatch, name: str, first: int) -> np.ndarray:
        column = cells[name]
        if hasattr(column, "codes"):
            texts = np.array([*column.values, None], dtype=object)
            used = np.unique(column.codes)
            each = np.full(len(texts), np.nan, np.float32)
            numbers = {state: n for n, state in enumerate(self.states[name])}
            for code in used[used >= 0].tolist():
                each[code] = numbers.get(texts[code], -1)
            codes = each[column.codes]
            if not (codes < 0).any():
                return codes
        plain = cells.select([name]).to_columns()[name]
        return encode_column(name, plain, self.states[name], first)
