"""Passes of hidden Markov models over chunks of sequences."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.io.sequences import Ragged
from tenfold.sequence._hmm_emissions import Emission
from tenfold.sequence._hmm_numba import (
    draw_path,
    filter_states,
    find_best_paths,
    find_k_best_paths,
    scale_rows,
    smooth_pairs,
    smooth_states,
    smooth_with_lag,
)


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


class ExpectedCounts(NamedTuple):
    """What the M-step needs.

    Attributes
    ----------
    log_likelihood : of the sequences, weighted
    weight : of the sequences
    starts : (K,) expected first states
    transitions : (K, K) expected transitions
    emissions : statistic of the emissions
    """

    log_likelihood: float
    weight: float
    starts: np.ndarray
    transitions: np.ndarray
    emissions: Any


def _observed_densities(chunk: Chunk, model: HiddenChain) -> np.ndarray:
    """Log-densities of the steps; a step with a known state has no other."""
    log_B = model.emission.log_densities(chunk.X.values)
    if isinstance(chunk.y, Ragged):
        known = check_labels(chunk.y.values.ravel(), log_B.shape[1])
        steps = np.flatnonzero(known >= 0)
        states = known[steps]
        kept = log_B[steps, states]
        log_B = np.array(log_B)
        log_B[steps] = -np.inf
        log_B[steps, states] = kept
    return np.ascontiguousarray(log_B)


def check_labels(labels: np.ndarray, K: int) -> np.ndarray:
    """Known states as whole numbers below K; what is negative is unknown."""
    known = labels.astype(np.int64)
    if len(known) and known.max() >= K:
        raise ValueError(
            f"the state {known.max()} is given, but there are {K} states, 0 to {K - 1}; -1 is "
            "unknown"
        )
    return known


class _Filtered(NamedTuple):
    B: np.ndarray
    alpha: np.ndarray
    scale: np.ndarray
    log_likelihoods: np.ndarray  # of each sequence


def _filter(chunk: Chunk, model: HiddenChain) -> _Filtered:
    """Filtered probabilities, and the log-likelihood of each sequence."""
    B = _observed_densities(chunk, model)
    alpha, shift, scale = np.empty_like(B), np.empty(len(B)), np.empty(len(B))
    scale_rows(B, shift)
    offsets = chunk.X.offsets
    impossible = filter_states(B, offsets, model.start, model.transition, alpha, scale)
    if impossible >= 0:
        raise ImpossibleSequenceError(chunk.first + impossible)
    total = np.append(np.log(scale) + shift, 0.0)
    sums = np.add.reduceat(total, offsets[:-1]) if len(offsets) > 1 else total[:0]
    sums[np.diff(offsets) == 0] = 0.0
    return _Filtered(B, alpha, scale, sums)


class ImpossibleSequenceError(ValueError):
    """A sequence that the model cannot produce."""

    def __init__(self, sequence: int) -> None:
        super().__init__(
            f"sequence {sequence} has probability zero: transitions or emissions with probability "
            "zero forbid it. Allow them (startprob_, transmat_, priors above 1), or leave it out"
        )
        self.sequence = sequence

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.sequence,)


def _smooth(chunk: Chunk, model: HiddenChain, found: _Filtered) -> np.ndarray:
    """Smoothed probabilities; the densities of `found` become messages (see `smooth_states`)."""
    beta = np.empty_like(found.alpha)
    A_transposed = np.ascontiguousarray(model.transition.T)
    smooth_states(found.B, chunk.X.offsets, A_transposed, found.alpha, found.scale, beta)
    return np.multiply(beta, found.alpha, out=beta)


def count_expected(chunk: Chunk, model: HiddenChain) -> ExpectedCounts:
    """The E-step of Baum-Welch."""
    found, offsets = _filter(chunk, model), chunk.X.offsets
    gamma = _smooth(chunk, model, found)
    if chunk.w is None:
        weight = np.ones(len(chunk.X))
    else:
        weight = chunk.w.astype(np.float64)
        steps = np.repeat(weight, np.diff(offsets))[:, None]
        gamma *= steps
        found.alpha[:] *= steps
    pairs = found.alpha[:-1].T @ found.B[1:]
    return ExpectedCounts(
        float(weight @ found.log_likelihoods),
        float(weight.sum()),
        gamma[offsets[:-1][np.diff(offsets) > 0]].sum(axis=0),
        pairs * model.transition,
        model.emission.statistic(chunk.X.values, gamma),
    )


def count_best_path(chunk: Chunk, model: HiddenChain) -> ExpectedCounts:
    """The same counts along the most probable path of each sequence: Viterbi training."""
    states, scores = _best_paths(chunk, model)
    K, offsets = len(model.start), chunk.X.offsets
    weight = np.ones(len(chunk.X)) if chunk.w is None else chunk.w.astype(np.float64)
    steps = np.repeat(weight, np.diff(offsets))
    if not np.isfinite(scores).all():
        raise ImpossibleSequenceError(chunk.first + int(np.argmin(scores)))
    gamma = np.zeros((len(states), K))
    gamma[np.arange(len(states)), states] = steps
    before = np.ones(len(states), bool)
    before[offsets[1:][np.diff(offsets) > 0] - 1] = False
    at = np.flatnonzero(before)
    pairs = np.bincount(states[at] * K + states[at + 1], steps[at], minlength=K * K)
    first = offsets[:-1][np.diff(offsets) > 0]
    return ExpectedCounts(
        float(weight @ scores),
        float(weight.sum()),
        np.bincount(states[first], steps[first], minlength=K),
        pairs.reshape(K, K),
        model.emission.statistic(chunk.X.values, gamma),
    )


def _best_paths(chunk: Chunk, model: HiddenChain) -> tuple[np.ndarray, np.ndarray]:
    log_B = _observed_densities(chunk, model)
    states, scores = np.empty(len(log_B), np.int64), np.empty(len(chunk.X))
    with np.errstate(divide="ignore"):
        log_start, log_A = np.log(model.start), np.log(model.transition)
    find_best_paths(log_B, chunk.X.offsets, log_start, log_A, states, scores)
    return states, scores


def score_sequences(chunk: Chunk, model: HiddenChain) -> np.ndarray:
    """Log-likelihood of each sequence; -inf if it is impossible."""
    try:
        return _filter(chunk, model).log_likelihoods
    except ImpossibleSequenceError:
        return np.array([_score_one(chunk.X[[row]], model) for row in range(len(chunk.X))])


def _score_one(sequence: Ragged, model: HiddenChain) -> float:
    try:
        return float(_filter(Chunk(sequence, None, None, 0), model).log_likelihoods[0])
    except ImpossibleSequenceError:
        return -np.inf


class Paths(NamedTuple):
    """Most probable paths of the sequences of a chunk; parts join in order."""

    states: np.ndarray
    scores: np.ndarray

    def merge(self, other: Paths) -> Paths:
        """The paths of both."""
        return Paths(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


def decode_chunk(chunk: Chunk, model: HiddenChain) -> Paths:
    """Viterbi paths."""
    return Paths(*_best_paths(chunk, model))


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
    log_B, offsets = _observed_densities(chunk, model), chunk.X.offsets
    with np.errstate(divide="ignore"):
        log_start, log_A = np.log(model.start), np.log(model.transition)
    scores = np.full((len(chunk.X), n_paths), -np.inf)
    states = np.full((len(log_B), n_paths), -1, np.int64)
    for row in range(len(chunk.X)):
        low, high = offsets[row], offsets[row + 1]
        if low == high:
            scores[row, 0] = 0.0  # the empty path
            continue
        paths, found = find_k_best_paths(log_B[low:high], log_start, log_A, n_paths)
        scores[row, : len(found)] = found
        states[low:high, : len(found)] = paths.T
    return PathLists(scores, states)


class StepTable(NamedTuple):
    """A table with a row for each step; parts join in order."""

    values: np.ndarray
    narrow = True

    def merge(self, other: StepTable) -> StepTable:
        """The steps of both."""
        return StepTable(np.concatenate([self.values, other.values]))


def filter_chunk(chunk: Chunk, model: HiddenChain) -> StepTable:
    """Probability of each state given the steps so far."""
    return StepTable(_filter(chunk, model).alpha)


def smooth_chunk(chunk: Chunk, model: HiddenChain) -> StepTable:
    """Probability of each state given all steps of its sequence."""
    return StepTable(_smooth(chunk, model, _filter(chunk, model)))


def lag_chunk(chunk: Chunk, model: HiddenChain, lag: int) -> StepTable:
    """Probability of each state given the steps up to `lag` later ones."""
    found = _filter(chunk, model)
    gamma = np.empty_like(found.alpha)
    smooth_with_lag(found.B, chunk.X.offsets, model.transition, found.alpha, lag, gamma)
    return StepTable(gamma)


def pair_chunk(chunk: Chunk, model: HiddenChain) -> StepTable:
    """Probability of each pair of states of a step and the next one; zero after last steps."""
    found = _filter(chunk, model)
    n, K = found.alpha.shape
    gamma, xi = np.empty((n, K)), np.zeros((n, K, K))
    smooth_pairs(found.B, chunk.X.offsets, model.transition, found.alpha, found.scale, gamma, xi)
    return StepTable(xi)


def draw_paths(chunk: Chunk, model: HiddenChain, seed: int, n_draws: int) -> StepTable:
    """Paths drawn from the posterior, (n_steps, n_draws)."""
    found, offsets = _filter(chunk, model), chunk.X.offsets
    paths = np.empty((n_draws, len(found.alpha)), np.int64)
    for row in range(len(chunk.X)):
        low, high = offsets[row], offsets[row + 1]
        rng = np.random.Generator(np.random.Philox(key=[seed, chunk.first + row]))
        for draw in range(n_draws):
            draws = rng.random(high - low)
            draw_path(found.alpha[low:high], model.transition, draws, paths[draw, low:high])
    return StepTable(np.ascontiguousarray(paths.T))
