"""Passes of hidden Markov models over chunks of sequences, or of steps (`StepGrid`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.atomic import atomic_path
from tenfold.engine.chunk import Chunk
from tenfold.sequence._hmm_data import SequenceData
from tenfold.sequence._hmm_lanes import (
    HiddenChain,
    StepGrid,
    check_labels,
    decode_chunk,
    lay_out,
    log_chain,
)
from tenfold.sequence._hmm_log_numba import draw_path_from_logs, smooth_logs_with_lag
from tenfold.sequence._hmm_paths_numba import draw_path, find_k_best_paths, smooth_with_lag
from tenfold.sequence._hmm_smoother import (
    Filtered,
    ImpossibleSequenceError,
    filter_chunk,
    smooth_chunk,
)


class ExpectedCounts(NamedTuple):
    """What the M-step needs.

    Attributes
    ----------
    log_likelihood : of the sequences, weighted
    starts : (K,) expected first states
    transitions : (K, K) expected transitions
    emissions : statistic of the emissions
    """

    log_likelihood: float
    starts: np.ndarray
    transitions: np.ndarray
    emissions: Any


def count_expected(chunk: Chunk, model: HiddenChain, grid: StepGrid | None) -> ExpectedCounts:
    """The E-step of Baum-Welch."""
    found, gamma = smoothed = smooth_chunk(
        chunk, model, grid, filter_chunk(chunk, model, grid).check_possible()
    )
    steps, layout, weights = found.steps, found.steps.layout, None
    likelihood = float(found.terms.sum())
    if steps.weights is not None:
        weights = np.asarray(steps.weights, np.float64)
        likelihood = float(weights @ found.terms)
        gamma *= np.take(weights, layout.order)
    return ExpectedCounts(
        likelihood,
        gamma[:, layout.begins].sum(axis=1),
        smoothed.count_pairs(model.transition, weights),
        model.emission.statistic(found.steps.view, gamma),
    )


class SequenceLikelihood(NamedTuple):
    """Log-likelihood of sequences, weighted."""

    value: float


def measure_likelihood(
    chunk: Chunk, model: HiddenChain, grid: StepGrid | None
) -> SequenceLikelihood:
    """Log-likelihood of the sequences of a chunk."""
    found = filter_chunk(chunk, model, grid).check_possible()
    if found.steps.weights is None:
        return SequenceLikelihood(float(found.terms.sum()))
    return SequenceLikelihood(float(np.asarray(found.steps.weights, np.float64) @ found.terms))


def count_best_path(chunk: Chunk, model: HiddenChain, grid: StepGrid | None) -> ExpectedCounts:
    """The same counts along the most probable path of each sequence: Viterbi training."""
    steps, states, terms, before = decode_chunk(chunk, model, grid)
    if not np.isfinite(terms).all():
        raise ImpossibleSequenceError(steps.find_sequence(int(np.argmin(terms))))
    K, layout = len(model.start), steps.layout
    weights = np.ones(len(states)) if steps.weights is None else steps.weights.astype(np.float64)
    gamma = np.zeros((K, len(layout.codes)))
    gamma[states, layout.places] = weights
    begins = layout.codes[layout.places] == 1
    pair = np.append(before, states[:-1]) * K + states
    later = ~begins
    pairs = np.bincount(pair[later], weights[later], minlength=K * K)
    return ExpectedCounts(
        float(weights @ terms),
        np.bincount(states[begins], weights[begins], minlength=K),
        pairs.reshape(K, K),
        model.emission.statistic(steps.view, gamma),
    )


class SequenceSums(NamedTuple):
    """A number for each of some consecutive sequences; parts of a sequence add up."""

    first: int
    sums: np.ndarray

    def merge(self, other: SequenceSums) -> SequenceSums:
        """The sequences of both."""
        size = max(self.first + len(self.sums), other.first + len(other.sums)) - self.first
        total = np.zeros(size)
        total[: len(self.sums)] = self.sums
        at = other.first - self.first
        total[at : at + len(other.sums)] += other.sums
        return SequenceSums(self.first, total)


def score_sequences(chunk: Chunk, model: HiddenChain, grid: StepGrid | None) -> SequenceSums:
    """Log-likelihood of each sequence; -inf if it is impossible."""
    found = filter_chunk(chunk, model, grid)
    sums = found.steps.by_sequence(found.terms)
    sums = np.where(np.isnan(sums), -np.inf, sums)
    if grid is None:
        return SequenceSums(chunk.first, sums)
    numbers = grid.sequences(chunk.first, chunk.first + chunk.rows)
    own = numbers[found.steps.offsets[:-1]] - numbers[0]
    placed = np.zeros(own[-1] + 1)
    placed[own] = sums  # empty sequences lie between
    return SequenceSums(int(numbers[0]), placed)


class StepTable(NamedTuple):
    """A table with a row for each step; parts join in order."""

    values: np.ndarray
    narrow = True

    def merge(self, other: StepTable) -> StepTable:
        """The steps of both."""
        return StepTable(np.concatenate([self.values, other.values]))


@dataclass(frozen=True)
class JoinSteps:
    """A function that gives a row for each step, as one of chunks of sequences."""

    function: Callable[..., np.ndarray]

    def __call__(self, chunk: Chunk, *state: Any) -> StepTable:
        return StepTable(self.function(chunk, *state))


def filter_steps(chunk: Chunk, model: HiddenChain, grid: StepGrid | None) -> np.ndarray:
    """Probability of each state given the steps so far."""
    found = filter_chunk(chunk, model, grid).check_possible()
    return np.ascontiguousarray(found.steps.layout.collect(found.alpha))


def smooth_steps(chunk: Chunk, model: HiddenChain, grid: StepGrid | None) -> np.ndarray:
    """Probability of each state given all steps of its sequence."""
    found = filter_chunk(chunk, model, grid).check_possible()
    found, gamma = smooth_chunk(chunk, model, grid, found)
    return np.ascontiguousarray(found.steps.layout.collect(gamma))


def choose_states(chunk: Chunk, model: HiddenChain, grid: StepGrid | None) -> np.ndarray:
    """The most probable state of each step given all steps of its sequence."""
    return smooth_steps(chunk, model, grid).argmax(axis=1)


def decode_steps(chunk: Chunk, model: HiddenChain, grid: StepGrid | None) -> np.ndarray:
    """States of the most probable path."""
    return decode_chunk(chunk, model, grid).states


def density_steps(chunk: Chunk, model: HiddenChain, grid: StepGrid | None) -> np.ndarray:
    """Log-density of each step in its known state; all are known."""
    steps = lay_out(chunk, model, grid)
    return steps.log_B.max(axis=0)[steps.layout.places]


def filter_last_steps(chunk: Chunk, model: HiddenChain, grid: StepGrid | None) -> StepTable:
    """Filtered probabilities of the last steps of the sequences that end in a chunk."""
    found = filter_chunk(chunk, model, grid).check_possible()
    steps = found.steps
    ends = steps.offsets[1:][np.diff(steps.offsets) > 0] - 1
    if grid is not None:
        whole = np.isin(chunk.first + ends + 1, grid.offsets)
        ends = ends[whole]
    return StepTable(found.alpha[:, steps.layout.places[ends]].T.copy())


class Paths(NamedTuple):
    """Most probable paths of the sequences of a chunk; parts join in order."""

    states: np.ndarray
    scores: np.ndarray

    def merge(self, other: Paths) -> Paths:
        """The paths of both."""
        return Paths(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


def find_paths(chunk: Chunk, model: HiddenChain) -> Paths:
    """Viterbi paths, and the log-probability of each."""
    path = decode_chunk(chunk, model, None)
    return Paths(path.states, path.steps.by_sequence(path.terms))


class PathLists(NamedTuple):
    """Several paths of each sequence; parts join in order.

    Attributes
    ----------
    scores : (n_sequences, n_paths) log-probabilities, -inf where there are fewer paths
    states : (n_steps, n_paths), -1 where there are fewer paths
    """

    scores: np.ndarray
    states: np.ndarray

    def merge(self, other: PathLists) -> PathLists:
        """The paths of both."""
        return PathLists(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


def list_best_paths(chunk: Chunk, model: HiddenChain, n_paths: int) -> PathLists:
    """The most probable paths of each sequence."""
    steps = lay_out(chunk, model, None)
    log_B = np.ascontiguousarray(steps.layout.collect(steps.log_B))
    log_start, log_A = log_chain(model)
    scores = np.full((len(chunk.X), n_paths), -np.inf)
    states = np.full((len(log_B), n_paths), -1, np.int64)
    for row, (low, high) in enumerate(zip(steps.offsets, steps.offsets[1:], strict=False)):
        if low == high:
            scores[row, 0] = 0.0  # the empty path
            continue
        paths, found = find_k_best_paths(log_B[low:high], log_start, log_A, n_paths)
        scores[row, : len(found)] = found
        states[low:high, : len(found)] = paths.T
    return PathLists(scores, states)


class _Collected(NamedTuple):
    """Densities and filtered probabilities with a row for each step."""

    found: Filtered
    B: np.ndarray
    alpha: np.ndarray


def _collect(chunk: Chunk, model: HiddenChain) -> _Collected:
    found = filter_chunk(chunk, model, None).check_possible()
    collect = found.steps.layout.collect
    tables = (np.ascontiguousarray(collect(table)) for table in (found.B, found.alpha))
    return _Collected(found, *tables)


def lag_chunk(chunk: Chunk, model: HiddenChain, lag: int) -> StepTable:
    """Probability of each state given the steps up to `lag` later ones."""
    found, B, alpha = _collect(chunk, model)
    gamma = np.empty_like(alpha)
    log_A = log_chain(model)[1]
    logs = {stretch.number: stretch for stretch in found.stretches}
    for row in range(len(chunk.X)):
        own = slice(*chunk.X.offsets[row : row + 2])
        if row in logs:
            smooth_logs_with_lag(logs[row].log_B, log_A, logs[row].log_alpha, lag, gamma[own])
        else:
            smooth_with_lag(B[own], model.transition, alpha[own], lag, gamma[own])
    return StepTable(gamma)


def pair_chunk(chunk: Chunk, model: HiddenChain) -> StepTable:
    """Probability of each pair of states of a step and the next one; zero after last steps."""
    found = filter_chunk(chunk, model, None).check_possible()
    found, _ = smooth_chunk(chunk, model, None, found)
    alpha, messages = (found.steps.layout.collect(table) for table in (found.alpha, found.B))
    n, K = alpha.shape
    pairs = np.zeros((n, K, K))
    pairs[:-1] = alpha[:-1, :, None] * model.transition * messages[1:, None, :]
    log_A = log_chain(model)[1]
    for stretch in found.stretches:
        pairs[stretch.low : stretch.high - 1] = stretch.pair_probabilities(log_A)
    return StepTable(pairs)


def draw_paths(chunk: Chunk, model: HiddenChain, seed: int, n_draws: int) -> StepTable:
    """Paths drawn from the posterior, (n_steps, n_draws)."""
    found, _, alpha = _collect(chunk, model)
    offsets, log_A = chunk.X.offsets, log_chain(model)[1]
    logs = {stretch.number: stretch.log_alpha for stretch in found.stretches}
    paths = np.empty((n_draws, len(alpha)), np.int64)
    for row in range(len(chunk.X)):
        low, high = offsets[row], offsets[row + 1]
        rng = np.random.Generator(np.random.Philox(key=[seed, chunk.first + row]))
        for draw in range(n_draws):
            draws, path = rng.random(high - low), paths[draw, low:high]
            if row in logs:
                draw_path_from_logs(logs[row], log_A, draws, path)
            else:
                draw_path(alpha[low:high], model.transition, draws, path)
    return StepTable(np.ascontiguousarray(paths.T))


def join_steps(data: SequenceData, f: Any, model: HiddenChain, into: str | Path | None) -> Any:
    """Outputs of the steps of whole sequences below each other, in memory or in a file."""
    values = data.rows.total(JoinSteps(f), model, None).values
    return values if into is None else save_steps(values, into)


def save_steps(values: np.ndarray, into: str | Path) -> np.ndarray:
    """Outputs of steps in a `.npy` file, mapped from there."""
    with atomic_path(Path(into)) as temporary, temporary.open("wb") as file:
        np.save(file, values)
    return np.load(into, mmap_mode="r")


__all__ = ["HiddenChain", "check_labels"]
