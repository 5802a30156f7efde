"""Sequences for hidden Markov models: arrays, lists and files, whole or cut into pieces.

Short sequences are rows of a `SequenceSource`. Where one is longer than `LONG_STEPS`, steps are the
rows: any source of rows will do then, a chunk holds as many steps as it would of other rows, and a
`StepGrid` says where sequences begin. The choice depends on the lengths alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from tenfold.engine.arrays import ArraySource
from tenfold.engine.chunk import Chunk
from tenfold.engine.context import current_engine
from tenfold.engine.file_matrix import FileMatrix
from tenfold.engine.memory import check_memory
from tenfold.engine.rows import Rows
from tenfold.engine.source import Source, concatenate_chunks
from tenfold.engine.spool import MatrixFileSource, spool_source
from tenfold.io.opener import is_rows_like
from tenfold.io.opener import open as open_rows
from tenfold.io.sequences import Ragged, SequenceSource, from_sequences
from tenfold.sequence._hmm_lanes import StepGrid, read_labels
from tenfold.sequence._lanes import LANES
from tenfold.sequence._sequence_lengths import check_lengths

LONG_STEPS = 4096  # a sequence with more steps is cut into pieces
_CHUNK_STEPS = 8192  # of the whole sequences that one thread or worker takes at a time
_SAMPLE_STEPS = 20_000  # for initial values
_WINDOW_STEPS = 1000  # neighboring steps of a sample of long sequences


class SequenceData(NamedTuple):
    """Sequences that are open.

    Attributes
    ----------
    rows : the sequences, or their steps
    grid : None if the rows are sequences
    """

    rows: Rows
    grid: StepGrid | None

    @property
    def offsets(self) -> np.ndarray:
        """First step of each sequence, and the number of steps."""
        source: Any = self.rows.source
        return source.offsets if self.grid is None else self.grid.offsets

    @property
    def n_steps(self) -> int:
        """Steps of all sequences together."""
        return int(self.offsets[-1])

    def whole(self, bytes_per_step: float, work: str) -> SequenceData:
        """The same with each sequence in one piece, for what needs all of it at once."""
        if self.grid is None:
            return self
        longest = float(np.diff(self.offsets).max())
        check_memory(
            longest * bytes_per_step, f"{work} of a sequence of {longest:,.0f} steps", "cut it"
        )
        chunk = self.rows.gather()
        y = None if chunk.y is None else Ragged(chunk.y, self.offsets)
        source = SequenceSource(chunk.X, self.offsets, y, self.grid.weights)
        return SequenceData(Rows(source.with_chunk_rows(1), engine=self.rows.engine), None)

    def sample(self, seed: int) -> Chunk:
        """Some whole sequences, or stretches of long ones, as one chunk in memory."""
        if self.grid is None:
            mean = max(self.n_steps / max(self.rows.n_rows, 1), 1.0)
            drawn = self.rows.sample(max(int(_SAMPLE_STEPS / mean), 1), seed)
            values = np.asarray(drawn.X.values, np.float64)
            return Chunk(Ragged(values, drawn.X.offsets), drawn.y, None, 0)
        windows = -(-self.n_steps // _WINDOW_STEPS)
        size = min(windows, _SAMPLE_STEPS // _WINDOW_STEPS)
        drawn = np.sort(np.random.default_rng(seed).choice(windows, size, replace=False))
        steps = (drawn[:, None] * _WINDOW_STEPS + np.arange(_WINDOW_STEPS)).ravel()
        steps = steps[steps < self.n_steps]
        chunk = self.rows.take(steps)
        begins = np.isin(steps, self.offsets) | (np.diff(steps, prepend=-2) != 1)
        offsets = np.append(np.flatnonzero(begins), len(steps))
        y = None if chunk.y is None else Ragged(chunk.y, offsets)
        return Chunk(Ragged(np.asarray(chunk.X, np.float64), offsets), y, None, 0)


def open_data(X: Any, lengths: Any, labels: Any = None, weight: Any = None) -> SequenceData:
    """Sequences in any form, cut into pieces if one is long."""
    if _is_step_file(X):
        return _from_steps(X, lengths, labels, weight)
    rows = open_sequences(X, lengths, labels, weight)
    source: Any = rows.source
    _check_weight(source.w, rows.n_rows)
    if rows.n_rows and np.diff(source.offsets).max() > LONG_STEPS:
        steps = Rows(_as_steps(source), engine=rows.engine, allow_nan=True)
        return SequenceData(steps, StepGrid.of(source.offsets, source.w, steps.source.grid))
    return _group_sequences(rows)


def _group_sequences(rows: Rows) -> SequenceData:
    """Whole sequences in chunks of about equal steps, some for each lane."""
    source: Any = rows.source
    mean = max(int(source.offsets[-1]) // max(rows.n_rows, 1), 1)
    per_chunk = max(_CHUNK_STEPS // mean // LANES * LANES, LANES)
    finer = rows.with_chunk_rows(per_chunk)
    finer.allow_nan = True
    return SequenceData(finer, None)


def _is_step_file(X: Any) -> bool:
    """Whether rows of X are steps that lie in files, in a table or on a cluster."""
    if isinstance(X, Rows):
        return not hasattr(X.source, "offsets")
    if isinstance(X, np.ndarray | tuple | Ragged):
        return False
    if isinstance(X, list):
        return bool(X) and isinstance(X[0], str) and is_rows_like(X)
    return hasattr(X, "columns") or is_rows_like(X)


def _from_steps(X: Any, lengths: Any, labels: Any, weight: Any) -> SequenceData:
    """Steps in files, in a table or on a cluster."""
    if isinstance(X, Rows) and labels is not None:
        raise ValueError("these rows are open: give the labels as target when opening")
    known = None if labels is None else _join_labels(labels)
    rows = X if isinstance(X, Rows) else open_rows(X, target=known)
    offsets = check_lengths(lengths, rows.n_rows)
    weight = _check_weight(weight, len(offsets) - 1)
    if np.diff(offsets).max(initial=0) > LONG_STEPS:
        rows.allow_nan = True
        return SequenceData(rows, StepGrid.of(offsets, weight, rows.source.grid))
    source = spool_source(rows.source) if rows.source.streams else rows.source
    y = None
    if source.has_target:
        y = Ragged(np.concatenate([c.y for c in _read_all(source)]), offsets)
    sequences = SequenceSource(_SlicedSource(source), offsets, y, weight)
    sequences.names = rows.names
    return _group_sequences(Rows(sequences, engine=rows.engine))


def _read_all(source: Source) -> Any:
    return (chunk for run in source.runs() for chunk in source.chunks(run))


class _SlicedSource:
    """The rows of a source as an array whose slices are read when asked for."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.shape, self.dtype = (source.n_rows, source.n_features), source.dtype

    def __getitem__(self, rows: slice) -> np.ndarray:
        first, end, _ = rows.indices(self.shape[0])
        if first >= end:
            return np.empty((0, self.shape[1]), self.dtype)
        grid = self.source.grid
        numbers = range(first // grid, (end - 1) // grid + 1)
        whole = concatenate_chunks(list(self.source.chunks(numbers))).X
        return whole[first - numbers.start * grid : end - numbers.start * grid]


def _as_steps(source: SequenceSource) -> Source:
    """The steps of sequences as rows."""
    values, y = source.values, None if source.y is None else source.y.values
    width = source.n_features
    if isinstance(values, FileMatrix):
        flat = FileMatrix(
            values.disk, values.raw, (values.shape[0], width), values.offset, fortran=values.fortran
        )
        return MatrixFileSource(flat, y=y)
    if isinstance(values, np.ndarray):
        return ArraySource(values.reshape(len(values), width), y)
    return values.source


def open_sequences(X: Any, lengths: Any, labels: Any, weight: Any) -> Rows:
    """Sequences in any form, with labels of steps and weights of sequences."""
    if isinstance(X, Rows):
        if not (lengths is None and labels is None and weight is None):
            raise ValueError(
                "these sequences are open: give lengths, labels (target) and weights when opening"
            )
        return X
    if isinstance(X, Ragged) or (isinstance(X, tuple) and len(X) == 2):
        if lengths is not None:
            raise ValueError("these sequences have lengths of their own: leave out lengths")
        return _from_sequences(X, labels, weight)
    if isinstance(X, list) and not X:
        raise ValueError("there are no sequences: give at least one, with steps")
    if isinstance(X, list) and lengths is None and np.ndim(X[0]) > 0:
        return _list_sequences(X, labels, weight)
    return _array_sequences(X, lengths, labels, weight)


def _list_sequences(X: list[Any], labels: Any, weight: Any) -> Rows:
    """A sequence in each entry."""
    if is_table_of_lists(X):
        raise ValueError(
            f"a list of {len(X)} lists of {len(X[0])} numbers may be {len(X)} steps of a sequence "
            f"or {len(X)} sequences of {len(X[0])} steps: give np.array(X) for one sequence, "
            "[np.array(part) for part in X] for many"
        )
    parts = [_as_steps_array(part, number) for number, part in enumerate(X)]
    same_width = all(np.shape(part)[1:] == np.shape(parts[0])[1:] for part in parts)
    one_step_each = {len(part) for part in parts} == {1} and len(X[0]) == 1 and len(parts) > 1
    if same_width and one_step_each:
        # A list of rows of one column, as hmmlearn takes it, is one sequence.
        return _array_sequences(np.concatenate(parts), None, labels, weight)
    return _from_sequences(parts, labels, weight)


def is_table_of_lists(X: Any) -> bool:
    """Whether X holds lists of as many numbers each, more than one: rows, or sequences."""
    if not isinstance(X, list) or not X or not all(isinstance(part, list | tuple) for part in X):
        return False
    width = len(X[0])
    flat = all(len(part) == width and not any(map(np.ndim, part)) for part in X)
    return flat and width > 1


def _as_steps_array(part: Any, number: int) -> np.ndarray:
    """The steps of a sequence, a row for each."""
    try:
        steps = np.atleast_1d(np.asarray(part, np.float64))
    except (ValueError, TypeError) as problem:
        raise ValueError(
            f"sequence {number} does not hold numbers, a row for each step: {problem}"
        ) from None
    return steps.reshape(-1, 1) if steps.ndim == 1 else steps


def _from_sequences(X: Any, labels: Any, weight: Any) -> Rows:
    """Sequences that know their lengths."""
    source: Any = from_sequences(X).source
    return _with_sides(source.values, source.offsets, labels, weight)


def _with_sides(values: Any, offsets: np.ndarray, labels: Any, weight: Any) -> Rows:
    known = None if labels is None else _align_labels(labels, offsets)
    checked = _check_weight(weight, len(offsets) - 1)
    return Rows(SequenceSource(values, offsets, known, checked), engine=current_engine())


def _array_sequences(X: Any, lengths: Any, labels: Any, weight: Any) -> Rows:
    """Steps below each other."""
    values = np.asanyarray(X)
    if values.dtype.kind not in "fiub":
        cure = (
            "densify them with .toarray()" if issparse(X) else "give numbers, a row for each step"
        )
        kind = "sparse" if issparse(X) else values.dtype
        raise ValueError(f"the steps are {kind}: {cure}")
    if values.ndim == 1:
        raise ValueError(
            f"Expected 2D array, got 1D array of {len(values)} numbers: reshape(-1, 1) makes one "
            "sequence of one column of it; a list of arrays is a list of sequences"
        )
    return _with_sides(values, check_lengths(lengths, len(values)), labels, weight)


def _align_labels(labels: Any, offsets: np.ndarray) -> Ragged:
    """Known states of the steps of each sequence; labels are one list, or one for each sequence."""
    known = _join_labels(labels)
    if len(known) != offsets[-1]:
        raise ValueError(f"{len(known)} labels for {offsets[-1]} steps: give one for each")
    lengths = [len(part) for part in labels if np.ndim(part) > 0]
    wrong = np.flatnonzero(np.diff(offsets) != lengths) if len(lengths) == len(offsets) - 1 else []
    if len(wrong):
        at = int(wrong[0])
        raise ValueError(
            f"labels: {lengths[at]} for the {np.diff(offsets)[at]} steps of sequence {at}: give "
            "one for each"
        )
    return Ragged(known, offsets)


def _join_labels(labels: Any) -> np.ndarray:
    """Known states of all steps, -1 where there is none."""
    return read_labels(np.concatenate([np.atleast_1d(part) for part in labels]))


def _check_weight(weight: Any, n_sequences: int) -> np.ndarray | None:
    if weight is None:
        return None
    cure = "give finite numbers of at least 0, one for each sequence, not all of them 0"
    try:
        checked = np.asarray(weight, np.float64)
    except (ValueError, TypeError):
        raise ValueError(f"sample_weight={weight!r}: {cure}") from None
    if checked.shape != (n_sequences,):
        raise ValueError(
            f"sample_weight has shape {checked.shape} for {n_sequences} sequences: {cure}"
        )
    wrong = np.flatnonzero(~(np.isfinite(checked) & (checked >= 0)))
    if len(wrong):
        at = int(wrong[0])
        raise ValueError(f"sample_weight of sequence {at} is {checked[at]}: {cure}")
    if not checked.any():
        raise ValueError(f"sample_weight: all weights are 0; {cure}")
    return checked
