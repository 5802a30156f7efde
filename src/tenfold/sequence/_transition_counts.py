"""Counts of states and of transitions between them, from sequences of any length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.context import current_engine
from tenfold.engine.rows import Rows
from tenfold.io.sequences import Ragged, SequenceSource, from_sequences
from tenfold.sequence._sequence_lengths import check_lengths
from tenfold.sequence._symbols import has_columns, sort_symbols

_PIECE_STEPS = 65_536  # of a long sequence, so that several threads or workers read it


class TransitionCounts(NamedTuple):
    """How often sequences start in each state, and how often each state follows each other.

    Attributes
    ----------
    starts : (K,) int64
    transitions : (K, K) int64; row: from, column: to
    """

    starts: np.ndarray
    transitions: np.ndarray

    def expand(self, places: np.ndarray, size: int) -> TransitionCounts:
        """The counts among more states: state k becomes places[k]."""
        starts = np.zeros(size, np.int64)
        transitions = np.zeros((size, size), np.int64)
        starts[places] = self.starts
        transitions[np.ix_(places, places)] = self.transitions
        return TransitionCounts(starts, transitions)


def count_chunk(chunk: Any, size: int) -> TransitionCounts:
    """Counts of the pieces of a chunk; a transition belongs to the piece that it starts in."""
    pieces = chunk.X
    states = pieces.values.ravel()
    first = pieces.offsets[:-1][(pieces.start == 0) & (pieces.lengths > 0)]
    before = np.ones(len(states), bool)
    before[pieces.offsets[1:][pieces.lengths > 0] - 1] = False  # last steps have no successor here
    at = np.flatnonzero(before)
    pairs = states[at] * size + states[at + 1]
    return TransitionCounts(
        np.bincount(states[first], minlength=size),
        np.bincount(pairs, minlength=size * size).reshape(size, size),
    )


class _Extremes(NamedTuple):
    """Largest and negative smallest state; missing ones do not count."""

    values: np.ndarray

    def merge(self, other: _Extremes) -> _Extremes:
        return _Extremes(np.fmax(self.values, other.values))


def _find_extremes(chunk: Any) -> _Extremes:
    values = chunk.X.values if isinstance(chunk.X, Ragged) else chunk.X
    states = values.astype(np.float64).ravel()
    return _Extremes(
        np.array([np.fmax.reduce(states, initial=0), -np.fmin.reduce(states, initial=0)])
    )


def count_transitions(rows: Rows, size: int) -> TransitionCounts:
    """Counts of all sequences."""
    source: Any = rows.source
    pieces = Rows(source.pieces(_PIECE_STEPS, 1), engine=rows.engine)
    return pieces.total(count_chunk, size)


def open_states(X: Any, lengths: Any, known: Any) -> tuple[list[Any], Rows]:
    """The states, and sequences of their numbers.

    Parameters
    ----------
    X : sequences of states: list, `Ragged`, rows of `from_sequences`, or all steps below each other
    lengths : length of each sequence in the last case, or None for one sequence
    known : states that are known, whose order they keep, or None
    """
    rows = _integer_rows(X, lengths)
    if rows is not None:
        size = len(known) if known is not None else count_states(rows)
        states = list(range(size)) if known is None else list(known)
        if states != list(range(size)):
            raise ValueError("files and rows hold numbers of states: give states=range(K)")
        return states, rows
    parts = _split(X, lengths)
    states = sort_states({s for part in parts for s in part}) if known is None else list(known)
    numbers = {state: number for number, state in enumerate(states)}
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts], dtype=np.int64)])
    try:
        values = np.fromiter((numbers[s] for part in parts for s in part), np.int64, offsets[-1])
    except KeyError as missing:
        raise ValueError(f"the state {missing.args[0]!r} is not among the known states") from None
    return states, Rows(SequenceSource(values, offsets), engine=current_engine())


def _integer_rows(X: Any, lengths: Any) -> Rows | None:
    """Sequences of whole numbers in a file or in rows, as they are."""
    if isinstance(X, Rows):
        rows = X
    elif isinstance(X, Ragged) or (isinstance(X, tuple) and len(X) == 2 and lengths is None):
        rows = from_sequences(X)
    else:
        return None
    if rows.dtype.kind != "i" or not isinstance(rows.source, SequenceSource):
        raise ValueError("the sequences must hold whole numbers, one per step: numbers of states")
    return rows


def count_states(rows: Rows) -> int:
    """One more than the largest number of a state or symbol."""
    largest, negative = rows.total(_find_extremes).values
    if negative > 0:
        raise ValueError(f"there is a state with the number {-negative:.0f}: number them from 0")
    return int(largest) + 1


def sort_states(states: Iterable[Any]) -> list[Any]:
    """States in ascending order; each is given once."""
    given = list(states)
    if any(isinstance(state, float) and np.isnan(state) for state in given):
        raise ValueError("a state is NaN: leave such steps out, or give them a name")
    refuse_repeated(given)
    return sort_symbols(given)


def refuse_repeated(states: list[Any]) -> None:
    """Raise an error if a state is named twice."""
    for state, count in Counter(states).items():
        if count > 1:
            raise ValueError(f"states: {state!r} is given {count} times: name each state once")


def _split(X: Any, lengths: Any) -> list[list[Any]]:
    """Sequences of states in lists."""
    is_table = has_columns(X)
    if is_table or not isinstance(X, Iterable):
        raise TypeError(
            f"sequences of states are a list of lists, not {type(X).__name__}"
            + ": give one column of it" * is_table
        )
    if isinstance(X, np.ndarray) and X.ndim > 2:
        raise ValueError(f"the states have shape {X.shape}: give a row for each sequence")
    if lengths is not None:
        steps = _flatten(X)
        edges = check_lengths(lengths, len(steps)).tolist()
        return [steps[a:b] for a, b in pairwise(edges)]
    parts = X.tolist() if isinstance(X, np.ndarray) else list(X)
    if not parts:
        raise ValueError("there are no sequences")
    single = [isinstance(part, str | bytes) or not isinstance(part, Iterable) for part in parts]
    if all(single):
        return [parts]  # names or numbers of states, or the letters of a text: one sequence
    if any(single):
        at = single.index(True)
        raise ValueError(
            f"entry {at} is the state {parts[at]!r}, others are sequences: give a list of "
            f"sequences, such as [{parts[at]!r}] there, or one sequence"
        )
    return [part.tolist() if isinstance(part, np.ndarray) else list(part) for part in parts]


def _flatten(X: Any) -> list[Any]:
    """States of all steps, which may stand in one column."""
    table = X if isinstance(X, np.ndarray) else np.array(list(X), object)
    if table.size != max(table.shape) or isinstance(table.flat[0] if table.size else 0, list):
        raise ValueError(
            f"the steps have shape {table.shape}: with lengths, give one state for each step, all "
            "below each other; a list of sequences needs no lengths"
        )
    steps = table.ravel().tolist()
    return [step.item() if isinstance(step, np.generic) else step for step in steps]
