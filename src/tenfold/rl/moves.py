"""Tables of moves: columns of states, actions, rewards and next states from files and memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tenfold.io.columnar import TextColumn
from tenfold.io.table_opener import open_table

_BATCH = 1 << 20  # rows that are decoded at a time


class LoggedMoves(NamedTuple):
    """Moves of a table.

    Attributes
    ----------
    seen, after : (n_moves,) or (n_moves, n_columns) arrays
        Observations before and after a move: numbers or texts, or rows of numbers.
    action : (n_moves,) array
        Numbers of actions in the list of their names.
    actions : list
        Names of the actions, sorted.
    reward : (n_moves,) array
    ended : (n_moves,) bool array
        Whether the episode terminated with the move; a cut is no end.
    is_last : (n_moves,) bool array
        Whether the episode terminated or was cut with the move.
    """

    seen: np.ndarray
    action: np.ndarray
    actions: list
    reward: np.ndarray
    after: np.ndarray
    ended: np.ndarray
    is_last: np.ndarray

    def next_actions(self) -> tuple[np.ndarray, np.ndarray]:
        """The actions that came next, and of which moves they are known or not needed.

        A move is followed by that of the next row if this begins where it ended.
        """
        same = self.after[:-1] == self.seen[1:]
        follows = np.zeros(len(self.action), bool)
        follows[:-1] = ~self.is_last[:-1] & (same if same.ndim == 1 else same.all(axis=1))
        return np.append(self.action[1:], 0), follows | self.ended


class Demonstrations(NamedTuple):
    """What an expert saw and did, row by row.

    Attributes
    ----------
    seen, action : (n_moves,) or (n_moves, n_columns) arrays
    is_first : (n_moves,) bool array
        Whether an episode begins with the row.
    """

    seen: np.ndarray
    action: np.ndarray
    is_first: np.ndarray


def is_move_table(world: Any) -> bool:
    """Whether this is a table of moves: a path of a file, a data frame, a dict of columns."""
    if isinstance(world, os.PathLike | dict):
        return True
    if isinstance(world, str):
        return Path(world).suffix != "" or Path(world).exists()
    return hasattr(world, "columns") or hasattr(world, "column_names")


def read_moves(table: Any) -> LoggedMoves:
    """Moves of a table or a file, checked.

    Columns: `action`, `reward`; `state` and `next_state`, or `state_0`, `state_1`, ... and
    `next_state_0`, ... for observations of several numbers; if there, `terminated` and `truncated`.
    """
    source = open_table(table)
    states, after = (_numbered_columns(source.names, n) for n in ("state", "next_state"))
    if [f"next_{name}" for name in states] != after:
        raise ValueError(
            f"{source.shown} has the columns {', '.join(states)} of states, but {', '.join(after)} "
            "of next states"
        )
    cells = open_moves(source, [*states, "action", "reward", *after], ["terminated", "truncated"])
    (action,), actions = column_codes([cells["action"]])
    ended, cut = (_flags(cells, name, len(action)) for name in ("terminated", "truncated"))
    reward = as_numbers(cells["reward"], "reward")
    seen, later = _join_columns(cells, states), _join_columns(cells, after)
    if (seen.dtype == object) != (later.dtype == object):
        raise ValueError(
            "of the columns 'state' and 'next_state' one holds words and the other numbers"
        )
    return LoggedMoves(seen, action, actions, reward, later, ended, ended | cut)


def read_demonstrations(table: Any) -> Demonstrations:
    """What an expert saw and did, from a table or a file.

    Columns: `state` or `state_0`, ..., `action` or `action_0`, ...; if there, `episode`, or
    `terminated` and `truncated`, tell where episodes begin.
    """
    source = open_table(table)
    states, actions = (_numbered_columns(source.names, n) for n in ("state", "action"))
    cells = open_moves(source, [*states, *actions], ["episode", "terminated", "truncated"])
    seen, action = _join_columns(cells, states), _join_columns(cells, actions)
    is_first = np.zeros(len(seen), bool)
    is_first[0] = True
    for name in ("terminated", "truncated"):
        is_first[1:] |= _flags(cells, name, len(seen))[:-1]
    if "episode" in cells:
        is_first[1:] |= cells["episode"][1:] != cells["episode"][:-1]
    return Demonstrations(seen, action, is_first)


def _flags(cells: dict[str, np.ndarray], name: str, n: int) -> np.ndarray:
    """A column of booleans; all false if it is not there."""
    return as_booleans(cells[name], name) if name in cells else np.zeros(n, bool)


def _numbered_columns(names: Any, stem: str) -> list[str]:
    """The column of this name, or those with its name and a number from 0 on."""
    if stem in names:
        return [stem]
    start = f"{stem}_"
    parts = [n for n in names if n.startswith(start) and n.removeprefix(start).isdigit()]
    numbered = [f"{stem}_{i}" for i in range(len(parts))]
    if not parts or set(parts) != set(numbered):
        found = f"; found {', '.join(sorted(parts))}" if parts else ""
        raise ValueError(
            f"there is no column {stem!r}: a table of moves has it, or {stem}_0, {stem}_1, ... for "
            f"several numbers{found}"
        )
    return numbered


def _join_columns(cells: dict[str, np.ndarray], names: list[str]) -> np.ndarray:
    """One column as it is, whole numbers as such; numbered ones as rows of numbers."""
    if names[0] in ("state", "next_state", "action"):
        values = cells[names[0]]
        is_whole = values.dtype.kind == "f" and bool((values == np.floor(values)).all())
        return values.astype(np.int64) if is_whole and np.abs(values).max() < 2**53 else values
    return np.stack([as_numbers(cells[name], name) for name in names], axis=1)


def open_moves(table: Any, required: list[str], optional: list[str]) -> dict[str, np.ndarray]:
    """Columns of a table as arrays: numbers, or words as objects."""
    source = open_table(table)
    for name in required:
        source.assert_column(name)
    names = required + [name for name in optional if name in source.names]
    chosen = source.select(names)
    parts: list[dict[str, np.ndarray]] = []
    for first in range(0, len(source), _BATCH):
        cells = chosen.slice(first, min(first + _BATCH, len(source)))
        parts.append({name: _plain_array(cells[name]) for name in names})
        for name in names:
            missing = _missing(parts[-1][name])
            if missing.any():
                place = source.where(first + int(np.flatnonzero(missing)[0]))
                raise ValueError(f"{place}: column {name!r} has no value")
    if not parts:
        raise ValueError(f"{source.shown} has no rows: nothing to learn from")
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def move_columns(cells: Any, columns: tuple[str, ...], first: int) -> list[np.ndarray]:
    """Columns of a batch of a table as arrays; a column that is not there is False."""
    arrays = []
    for name in columns:
        values = _plain_array(cells[name]) if name in cells.names else np.zeros(len(cells), bool)
        if (missing := _missing(values)).any():
            row = first + int(np.flatnonzero(missing)[0])
            raise ValueError(f"row {row}: column {name!r} has no value")
        arrays.append(values)
    return arrays


def as_numbers(values: np.ndarray, name: str, first: int = 0) -> np.ndarray:
    """Values of a column of moves, from a row on, as finite float64."""
    if values.dtype == object:
        raise ValueError(f"column {name!r} holds words such as {values[0]!r}: expected numbers")
    numbers = values.astype(np.float64)
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise ValueError(f"row {first + row}: column {name!r} is {numbers[row]}, not finite")
    return numbers


def as_booleans(values: np.ndarray, name: str, first: int = 0) -> np.ndarray:
    """Values of a column of moves, from a row on, as booleans: true, yes, 1 or false, no, 0."""
    known = {"true": 1.0, "yes": 1.0, "1": 1.0, "false": 0.0, "no": 0.0, "0": 0.0}
    found = values
    if values.dtype == object:
        found = np.array([known.get(str(value).lower(), np.nan) for value in values])
    strange = ~np.isin(found, (0, 1))
    if strange.any():
        row = int(np.flatnonzero(strange)[0])
        raise ValueError(
            f"row {first + row}: column {name!r} is {values[row]}: expected true, false"
        )
    return found.astype(bool)


def _plain_array(column: Any) -> np.ndarray:
    if isinstance(column, TextColumn):
        return np.array(column.plain(), dtype=object)
    return np.asarray(column.values)


def _missing(values: np.ndarray) -> np.ndarray:
    if values.dtype == object:
        return np.array([value is None for value in values])
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)


def column_codes(columns: list[np.ndarray]) -> tuple[list[np.ndarray], list]:
    """Numbers of the values of some columns in the sorted list of all their values, and this list.

    Whole numbers that were read as floats are whole numbers again.
    """
    together = np.concatenate(columns)
    values, codes = np.unique(together, return_inverse=True)
    names = values.tolist()
    if values.dtype.kind == "f" and (values == np.floor(values)).all():
        names = [int(value) for value in names]
    return np.split(codes.ravel(), np.cumsum([len(c) for c in columns])[:-1]), names
