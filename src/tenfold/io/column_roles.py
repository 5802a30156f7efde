"""Which columns are the target, the weights and X."""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.source import ColumnPositions
from tenfold.engine.validation import format_names


class ColumnRoles(NamedTuple):
    """Target and weight are columns of the data, or values from elsewhere."""

    target: Any = None
    weight: Any = None
    columns: Any = None

    def choice(self, names: Sequence, shown: str) -> ColumnPositions:
        """Positions among `names`: the names of a table, or range(width) for an array."""
        positions = _name_positions(names, shown)
        y = _find_column(self.target, positions, shown) if is_column(self.target, names) else None
        w = _find_column(self.weight, positions, shown) if is_column(self.weight, names) else None
        if isinstance(w, list):
            raise TypeError(f"weight={self.weight!r}: give one column")
        selected = names if self.columns is None else _as_list(self.columns)
        X = [_find_column(name, positions, shown) for name in selected]
        used = {w, *(y if isinstance(y, list) else [y])}
        X = [j for j in X if j not in used]
        if not X or len(set(X)) < len(X):
            problem = "a column is named twice" if X else "no column is left for X"
            raise ValueError(f"{shown}: {problem}. Choose other columns: columns=[...].")
        return ColumnPositions(X, y, w)

    def are_columns(self, names: Sequence) -> bool:
        """Whether target and weights, where there are any, are columns of the data."""
        return all(v is None or is_column(v, names) for v in (self.target, self.weight))

    def external_values(self, names: Sequence, n_rows: int) -> tuple[Any, Any]:
        """Target and weights that are no columns of the data, or None."""
        y, w = (
            None
            if value is None or is_column(value, names)
            else _external_values(value, n_rows, role)
            for value, role in ((self.target, "target"), (self.weight, "weight"))
        )
        return y, w


def is_column(value: Any, names: Sequence) -> bool:
    """Whether a target or weight names columns of the data (a list of names: several)."""
    if isinstance(value, str):
        return value in names or not value.endswith(".npy")
    if isinstance(value, list | tuple):  # the columns of an array have no names: these are labels
        words = all(isinstance(name, str) for name in value)
        return len(value) > 0 and words and not isinstance(names, range)
    return isinstance(value, Integral)


def _external_values(value: Any, n_rows: int, role: str) -> Any:
    if isinstance(value, str | os.PathLike):
        from tenfold.io.npy import open_npy

        value = open_npy(value)
    else:
        value = np.asarray(value)
    if len(value.shape) not in {1, 2} or value.shape[0] != n_rows:
        raise ValueError(f"the {role} has shape {value.shape}, the data have {n_rows} rows")
    return value


def _name_positions(names: Sequence, shown: str) -> dict[Any, int]:
    positions = {name: j for j, name in enumerate(names)}
    if len(positions) < len(names):
        twice = next(name for j, name in enumerate(names) if positions[name] != j)
        raise ValueError(f"{shown} has two columns {twice!r}: rename one of them")
    return positions


def _as_list(columns: Any) -> list:
    if isinstance(columns, str):
        raise TypeError(f"columns={columns!r}: give a list of columns")
    return list(columns)


def _find_column(name: Any, positions: dict[Any, int], shown: str) -> Any:
    if isinstance(name, list | tuple):
        return [_find_column(one, positions, shown) for one in name]
    if name in positions:
        return positions[name]
    if isinstance(name, Integral) and 0 in positions and int(name) + len(positions) in positions:
        return positions[int(name) + len(positions)]  # counted from the end
    raise ValueError(f"{shown} has no column {name!r}. {_hint(name, list(positions))}")


def _hint(name: Any, names: list) -> str:
    if isinstance(name, str) and not isinstance(names[0], str):
        return f"Its columns have numbers, 0 to {len(names) - 1}."
    close = get_close_matches(str(name), map(str, names), 1)
    return f"Did you mean {close[0]!r}?" if close else f"It has {format_names(names)}."
