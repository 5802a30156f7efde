"""Parameters of linear-Gaussian state spaces, their checks, and the two steps of EM."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.merge_tree import merge
from tenfold.sequence._hmm_lanes import refuse_infinity
from tenfold.sequence._kalman_numba import filter_sequence, smooth_sequence


class StateSpaceParameters(NamedTuple):
    """Parameters of a linear-Gaussian state space."""

    A: np.ndarray
    C: np.ndarray
    Q: np.ndarray
    R: np.ndarray
    m: np.ndarray
    P: np.ndarray


class StateMoments(NamedTuple):
    """Expected sums that the M-step needs; z are states, x steps.

    Attributes
    ----------
    log_likelihood, n_sequences : numbers
    first, first_squares : of z_1 and z_1 z_1'
    before, after, lagged : of z_{t-1} z_{t-1}', z_t z_t' and z_t z_{t-1}' over t > 1
    n_transitions : number of such t
    states, products, squares : of z_t z_t', x_t z_t' and x_t x_t' over all steps
    n_steps : number of steps
    """

    log_likelihood: float
    n_sequences: float
    first: np.ndarray
    first_squares: np.ndarray
    before: np.ndarray
    after: np.ndarray
    lagged: np.ndarray
    n_transitions: float
    states: np.ndarray
    products: np.ndarray
    squares: np.ndarray
    n_steps: float


class ColumnRanges(NamedTuple):
    """Smallest and largest entry of each column; inf and -inf where all are missing."""

    low: np.ndarray
    high: np.ndarray

    def merge(self, other: ColumnRanges) -> ColumnRanges:
        """The ranges of two parts together."""
        return ColumnRanges(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def measure_columns(chunk: Chunk) -> ColumnRanges:
    """Ranges of the columns of a chunk."""
    values = np.asarray(chunk.X.values, np.float64).reshape(len(chunk.X.values), -1)
    refuse_infinity(values, chunk.X.offsets, chunk.first)
    return ColumnRanges(
        np.fmin.reduce(values, initial=np.inf), np.fmax.reduce(values, initial=-np.inf)
    )


@contextmanager
def explain_singular() -> Iterator[None]:
    """Say what a covariance without an inverse means for EM."""
    try:
        yield
    except np.linalg.LinAlgError as problem:
        raise ValueError(
            f"a covariance became singular ({problem}): there are too few steps for so many "
            "states, or columns depend on each other. Choose a smaller n_states or max_iter, leave "
            "columns out, or give covariances and leave their letters out of `learn`"
        ) from None


def check_matrix(name: str, values: np.ndarray) -> None:
    """Raise an error if a given matrix is not finite, or a covariance no covariance."""
    if not np.isfinite(values).all():
        raise ValueError(f"{name} holds NaN or infinity: give numbers")
    if not name.endswith("covariance"):
        return
    scale = np.abs(values).max(initial=0.0)
    if np.abs(values - values.T).max(initial=0.0) > 1e-6 * scale:
        raise ValueError(f"{name} is not symmetric: give a covariance matrix")
    lowest = np.linalg.eigvalsh(values).min()
    if lowest < -1e-9 * scale:
        raise ValueError(
            f"{name} has the eigenvalue {lowest:.3g}: give a covariance matrix, which has none "
            "below 0"
        )


def run_messages(X: np.ndarray, space: StateSpaceParameters, *, smoothed: bool) -> tuple[Any, ...]:
    """Means, covariances, lagged covariances and log-density of one sequence."""
    n, d = len(X), len(space.m)
    means, covariances = np.empty((n, d)), np.empty((n, d, d))
    predicted, spread = np.empty((n, d)), np.empty((n, d, d))
    cross = np.zeros((n, d, d))
    X = np.ascontiguousarray(X, np.float64)
    total = filter_sequence(X, space, means, covariances, predicted, spread)
    if smoothed:
        smooth_sequence(space.A, means, covariances, predicted, spread, cross)
    return means, covariances, cross, total


def sum_moments(chunk: Chunk, space: StateSpaceParameters) -> StateMoments:
    """The E-step: expected sums of the sequences of a chunk."""
    d, p = len(space.m), len(space.R)
    square, none = np.zeros((d, d)), np.zeros((p, p))
    sums = (np.zeros(d), square, square, square, square, 0.0, square, np.zeros((p, d)), none, 0.0)
    total = StateMoments(0.0, 0.0, *sums)
    for X in chunk.X:
        if len(X):
            total = merge(total, _sequence_moments(X, space))
    return total


def _sequence_moments(X: np.ndarray, space: StateSpaceParameters) -> StateMoments:
    means, covariances, cross, value = run_messages(X, space, smoothed=True)
    squares = covariances + means[:, :, None] * means[:, None, :]
    lagged = cross[:-1] + means[1:, :, None] * means[:-1, None, :]
    filled, extra = _fill_missing(X, space, means, covariances)
    products = filled.T @ means + extra.products
    return StateMoments(
        float(value), 1.0, means[0], squares[0], squares[:-1].sum(axis=0),
        squares[1:].sum(axis=0), lagged.sum(axis=0), float(len(X) - 1), squares.sum(axis=0),
        products, filled.T @ filled + extra.squares, float(len(X)),
    )  # fmt: skip


class _Extra(NamedTuple):
    """What the covariance of missing entries adds to the sums."""

    products: np.ndarray
    squares: np.ndarray


def _fill_missing(
    X: np.ndarray, space: StateSpaceParameters, means: np.ndarray, covariances: np.ndarray
) -> tuple[np.ndarray, _Extra]:
    """Steps with expected values of missing entries given the rest and the state."""
    d, p = len(space.m), len(space.R)
    filled = np.array(X, np.float64)
    products, squares = np.zeros((p, d)), np.zeros((p, p))
    for t in np.flatnonzero(np.isnan(X).any(axis=1)):
        gone = np.isnan(X[t])
        # x_gone = B x_seen + (C_gone - B C_seen) z + noise of covariance V
        B = np.linalg.solve(space.R[np.ix_(~gone, ~gone)], space.R[np.ix_(~gone, gone)]).T
        L = space.C[gone] - B @ space.C[~gone]
        V = space.R[np.ix_(gone, gone)] - B @ space.R[np.ix_(~gone, gone)]
        filled[t, gone] = B @ X[t, ~gone] + L @ means[t]
        products[gone] += L @ covariances[t]
        squares[np.ix_(gone, gone)] += V + L @ covariances[t] @ L.T
    return filled, _Extra(products, squares)


def maximize(space: StateSpaceParameters, s: StateMoments, learn: str) -> StateSpaceParameters:
    """The M-step; letters that `learn` leaves out stay as they are."""
    A, C, Q, R, m, P = space
    if "A" in learn and s.n_transitions:
        A = np.linalg.solve(s.before, s.lagged.T).T
    if "Q" in learn and s.n_transitions:
        cross = A @ s.lagged.T
        Q = _symmetric((s.after - cross - cross.T + A @ s.before @ A.T) / s.n_transitions)
    if "C" in learn:
        C = np.linalg.solve(s.states, s.products.T).T
    if "R" in learn:
        cross = C @ s.products.T
        R = _symmetric((s.squares - cross - cross.T + C @ s.states @ C.T) / s.n_steps)
    if "m" in learn:
        m = s.first / s.n_sequences
    if "P" in learn:
        cross = np.outer(m, s.first / s.n_sequences)
        P = _symmetric(s.first_squares / s.n_sequences - cross - cross.T + np.outer(m, m))
    return StateSpaceParameters(*map(np.ascontiguousarray, (A, C, Q, R, m, P)))


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return 0.5 * (matrix + matrix.T)
