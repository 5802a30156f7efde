"""Steps of hidden Markov models in the lanes of a chunk, and best paths along them.

A chunk holds whole sequences, or steps of sequences that go on in other chunks; a `StepGrid` then
says where sequences begin and what the neighboring chunks tell.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold._compiled.lanes import LANES
from tenfold.engine.chunk import Chunk
from tenfold.io.sequences import Ragged
from tenfold.sequence._hmm_emissions import Emission
from tenfold.sequence._hmm_numba import follow_best, trace_best
from tenfold.sequence._lanes import LaneLayout


class HiddenChain(NamedTuple):
    """Parameters of a hidden Markov model.

    Attributes
    ----------
    start : (K,) distribution of the first state
    transition : (K, K), row: from, column: to
    emission : densities of the steps of each state
    """

    start: np.ndarray
    transition: np.ndarray
    emission: Emission


class StepGrid(NamedTuple):
    """Where sequences begin among rows that are steps, and what lies beyond the edges of pieces.

    A chunk of `rows` steps has `pieces` lanes; pieces are numbered through all chunks.

    Attributes
    ----------
    offsets : (n_sequences + 1,) first step of each sequence
    weights : (n_sequences,) weights of the sequences, or None
    rows, pieces : steps and pieces of a full chunk
    before : (n_pieces, K) logarithms of filtered probabilities of the step before each piece, or
        the state of that step
    after : (n_pieces, K) logarithms of the backward message of the last step of each piece, or
        the state of that step
    """

    offsets: np.ndarray
    weights: np.ndarray | None
    rows: int
    pieces: int
    before: np.ndarray | None = None
    after: np.ndarray | None = None

    @classmethod
    def of(cls, offsets: np.ndarray, weights: np.ndarray | None, rows: int) -> StepGrid:
        """The grid of chunks of so many rows."""
        return cls(offsets, weights, rows, -(-rows // -(-rows // LANES)))

    def begins(self, first: int, end: int) -> np.ndarray:
        """The steps among first:end at which a sequence begins, counted from `first`."""
        low, high = np.searchsorted(self.offsets, [first, end])
        return np.unique(self.offsets[low:high]) - first

    def sequences(self, first: int, end: int) -> np.ndarray:
        """Number of the sequence of each step among first:end."""
        return np.searchsorted(self.offsets, np.arange(first, end), "right") - 1

    def edges(self, chunk: Chunk) -> tuple[np.ndarray | None, np.ndarray | None]:
        """What lies before and after the pieces of a chunk."""
        at = chunk.first // self.rows * self.pieces
        return tuple(  # pyright: ignore[reportReturnType] - two of them
            None if side is None else side[at : at + self.pieces]
            for side in (self.before, self.after)
        )


class LaneSteps(NamedTuple):
    """The steps of a chunk in lanes.

    Attributes
    ----------
    layout : where each step stands
    offsets : (n + 1,) edges of the sequences that lie in the chunk, or of parts of them
    first : number of the first of these sequences
    view : the steps as the emission sees them
    log_B : (K, n_columns) log-densities
    weights : (n_steps,) or None
    """

    layout: LaneLayout
    offsets: np.ndarray
    first: int
    view: Any
    log_B: np.ndarray  # noqa: N815 - densities have this letter
    weights: np.ndarray | None

    def by_sequence(self, terms: np.ndarray) -> np.ndarray:
        """Sums of terms of the steps over each sequence of the chunk."""
        lengths = np.diff(self.offsets)
        sums = np.add.reduceat(np.append(terms, 0.0), self.offsets[:-1])
        return np.where(lengths > 0, sums, 0.0)

    def find_sequence(self, step: int) -> int:
        """Number of the sequence of a step."""
        return self.first + int(np.searchsorted(self.offsets, step, "right")) - 1


def lay_out(chunk: Chunk, model: HiddenChain, grid: StepGrid | None) -> LaneSteps:
    """Steps and their log-densities in lanes; a step with a known state has no other."""
    if grid is None:
        values, offsets, first = chunk.X.values, chunk.X.offsets, chunk.first
        layout = LaneLayout.of_sequences(offsets)
        weights = None if chunk.w is None else np.repeat(chunk.w, np.diff(offsets))
        known = chunk.y.values if isinstance(chunk.y, Ragged) else None
    else:
        values, n = chunk.X, chunk.rows
        begins = grid.begins(chunk.first, chunk.first + n)
        layout = LaneLayout.of_pieces(n, begins)
        offsets = np.unique(np.concatenate([[0], begins, [n]]))
        numbers = grid.sequences(chunk.first, chunk.first + n)
        first = int(numbers[0])
        weights = None if grid.weights is None else grid.weights[numbers]
        known = chunk.y
    lanes = np.take(values, layout.order, axis=0).astype(np.float64, copy=False)
    if not np.isfinite(lanes.sum()):  # NaN is a missing entry
        refuse_infinity(values, offsets, first)
    view = model.emission.prepare(lanes)
    log_B = np.ascontiguousarray(model.emission.log_densities(view))
    if known is not None:
        _keep_known(log_B, layout, check_labels(known.ravel(), len(log_B)))
    return LaneSteps(layout, offsets, first, view, log_B, weights)


def refuse_infinity(values: np.ndarray, offsets: np.ndarray, first: int) -> None:
    """Raise an error if steps hold infinity; `first` is the number of the first sequence."""
    infinite = np.isinf(values).reshape(len(values), -1).any(axis=1)
    if not infinite.any():
        return
    step = int(np.flatnonzero(infinite)[0])
    sequence = first + int(np.searchsorted(offsets, step, "right")) - 1
    raise ValueError(f"sequence {sequence} contains infinity. Write NaN where a value is missing.")


def _keep_known(log_B: np.ndarray, layout: LaneLayout, known: np.ndarray) -> None:
    steps = np.flatnonzero(known >= 0)
    columns, states = layout.places[steps], known[steps]
    kept = log_B[states, columns]
    log_B[:, columns] = -np.inf
    log_B[states, columns] = kept


def read_labels(labels: np.ndarray) -> np.ndarray:
    """Known states as whole numbers; NaN, which is unknown, becomes -1."""
    cure = "give the numbers of known states, from 0 on, and -1 where a state is unknown"
    if labels.dtype.kind not in "fiub":
        raise ValueError(f"labels hold {labels.tolist()[:3]}: {cure}")
    if labels.dtype.kind == "f":
        labels = np.where(np.isnan(labels), -1, labels)
        wrong = labels[labels != np.floor(labels)]
        if len(wrong):
            raise ValueError(f"labels hold {wrong[0]}: {cure}")
    return labels.astype(np.int64)


def check_labels(labels: np.ndarray, K: int) -> np.ndarray:
    """Known states as whole numbers below K; what is negative, or NaN, is unknown."""
    known = read_labels(labels)
    if len(known) and known.max() >= K:
        raise ValueError(
            f"the state {known.max()} is given, but there are {K} states, 0 to {K - 1}; -1 is "
            "unknown"
        )
    return known


class BestPath(NamedTuple):
    """The most probable path of a chunk.

    Attributes
    ----------
    steps : the chunk in lanes
    states : (n_steps,)
    terms : (n_steps,) log-probability of each step and its state given the state before
    before : state before the first step, where a sequence goes on
    """

    steps: LaneSteps
    states: np.ndarray
    terms: np.ndarray
    before: int


def decode_chunk(chunk: Chunk, model: HiddenChain, grid: StepGrid | None) -> BestPath:
    """Viterbi paths of the steps of a chunk."""
    steps = lay_out(chunk, model, grid)
    K, n = steps.log_B.shape
    layout, (log_start, log_A) = steps.layout, log_chain(model)
    before, ends = np.zeros((K, LANES)), np.full(LANES, -1)
    known, after = (None, None) if grid is None else grid.edges(chunk)
    if known is not None and after is not None:
        before[:, : len(known)] = np.where(np.arange(K)[:, None] == known, 0.0, -np.inf)
        ends[: len(after)] = after
    own = steps.log_B.copy()
    values, columns = steps.log_B.reshape(-1), np.zeros(n, np.int64)
    follow_best(
        values, layout.codes, log_start, log_A.ravel(), before.reshape(-1), 0, n, joined=False
    )
    trace_best(values, layout.codes, log_A.ravel(), K, ends, columns)
    states = columns[layout.places]
    first = 0 if known is None else int(known[0])
    terms = own[states, layout.places] + log_A[np.append(first, states[:-1]), states]
    begins = steps.offsets[:-1][np.diff(steps.offsets) > 0]
    begins = begins[layout.codes[layout.places[begins]] != 0]
    terms[begins] = own[states[begins], layout.places[begins]] + log_start[states[begins]]
    return BestPath(steps, states, terms, first)


def log_chain(model: HiddenChain) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of starts and transitions."""
    with np.errstate(divide="ignore"):
        return np.log(model.start), np.log(model.transition)
