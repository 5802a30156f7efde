"""Numbers that cannot be computed with: infinite ones, and those whose squares overflow."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.io.columnar import NumericColumn, TableError, TextColumn
from tenfold.preprocessing.column_kinds import (
    ColumnKind,
    kinds_from_profile,
    reading_overrides,
    validate_kinds,
)
from tenfold.preprocessing.column_profile import profile_table

LARGEST = 1e150  # sums of squares of larger numbers exceed float64
SMALLEST_RANGE = 1e-150  # squares of smaller differences are zero
_EXCLUDED = {"identifier", "constant"}


def infer_finite_kinds(
    records: Any, target: str | None, kinds: dict[str, str]
) -> dict[str, ColumnKind]:
    """Kinds of the columns; an infinite or too large number raises an error that locates it.

    Parameters
    ----------
    records : TableSource
        The table.
    target : str or None
        The column to be predicted, which is not checked here.
    kinds : dict, name -> kind
        Kinds of some columns, instead of inferring them.
    """
    requested = validate_kinds(kinds, records)
    with np.errstate(over="ignore", invalid="ignore"):  # such columns are refused below
        profiles = profile_table(records, reading_overrides(requested, records))
    found = kinds_from_profile(profiles, records, requested, target)
    for name, kind in found.items():
        if name == target or kind.kind != "number":
            continue
        profile: Any = profiles.columns[name]
        size = max(-profile.summary.low, profile.summary.high)
        if getattr(profile, "n_infinite", 0) or (profile.summary.n and size > LARGEST):
            _refuse_column(records, name)
    return found


def _refuse_column(records: Any, name: str) -> None:
    from tenfold.automl.target import iterate_chunks

    for chunk in iterate_chunks(records.select([name])):
        column = chunk.X[name]
        check_numbers(_to_numbers(column), name, records, chunk.first)


def _to_numbers(column: Any) -> np.ndarray:
    """The numbers of a column, where there are any; NaN elsewhere."""
    if isinstance(column, NumericColumn):
        return column.values
    if not isinstance(column, TextColumn):
        return np.full(len(column), np.nan)
    values = np.array([*map(_parse_or_nan, column.values), np.nan])
    return values[column.codes]


def _parse_or_nan(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def check_numbers(values: np.ndarray, name: str, records: Any, first: int = 0) -> None:
    """Raise an error that locates the first number that is infinite or too large.

    Parameters
    ----------
    values : (n_rows,) array
        NaN for missing values.
    name : str
        Of the column.
    records : TableSource
        Whose rows they are.
    first : int
        Index of the first row.
    """
    is_wrong = np.abs(values) > LARGEST
    if not is_wrong.any():
        return
    row = int(np.argmax(is_wrong))
    place, value = locate(records, first + row), float(values[row])
    if np.isinf(value):
        raise TableError(
            f"{place}, column {name!r}: infinite values cannot be used (nor any beyond 1.8e308). "
            "Correct it, or leave it empty"
        )
    raise TableError(
        f"{place}, column {name!r}: {value:.3g} is too large to compute with, as its square is no "
        "number. Divide the column by a constant, or leave the cell empty"
    )


def locate(records: Any, row: int) -> str:
    """The place of a row, with the name of its file."""
    where = records.where(row)
    return where if where.startswith(records.shown) else f"{records.shown}, {where}"
