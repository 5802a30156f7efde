"""Filtered and smoothed probabilities of the lanes of a chunk.

Scaled messages are quick. Where a share of the probability of a sequence would underflow and not be
found again, that sequence (or piece of a long one) gets its messages in logarithms. `find_lost` is
the one place that chooses.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold._compiled.lanes import LANES
from tenfold.engine.chunk import Chunk
from tenfold.math.links import log_sum_exp
from tenfold.sequence._hmm_lanes import HiddenChain, LaneSteps, StepGrid, lay_out, log_chain
from tenfold.sequence._hmm_log_numba import count_pairs_in_logs, filter_logs, smooth_logs
from tenfold.sequence._hmm_numba import filter_lanes, scale_columns, smooth_lanes
from tenfold.sequence._lanes import BEGINS, PAD

FLOOR = 1e-290  # more than underflow takes away from the joint probability of a state and a step
_LOST_SHARE = 1e-10  # of the probability of a sequence that may be lost
_SAFE_TRANSITION = 1e-100  # a state that underflows is found again through transitions like this
SAFE_SCALE = 1e-150  # of a step, if all transitions are safe


class LogStretch(NamedTuple):
    """Messages of consecutive steps in logarithms: a sequence, or a piece of a long one.

    Attributes
    ----------
    number, low, high : which of the stretches of a chunk, and its steps
    begins : (n,) whether a sequence begins
    log_B, log_alpha : (n, K) log-densities and logarithms of filtered probabilities
    log_scale : (n,) log-density of each step given those before it
    log_before, log_after : (K,) messages at the edges
    """

    number: int
    low: int
    high: int
    begins: np.ndarray
    log_B: np.ndarray  # noqa: N815 - densities have this letter
    log_alpha: np.ndarray
    log_scale: np.ndarray
    log_before: np.ndarray
    log_after: np.ndarray

    def messages(self, log_A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Logarithms of smoothed probabilities, and of what leads to them from the step before."""
        log_beta = np.empty_like(self.log_B)
        smooth_logs(self.log_B, self.begins, log_A, self.log_scale, self.log_after, log_beta)
        log_beta -= log_sum_exp(self.log_alpha + log_beta)[:, None]  # zero but for rounding
        return self.log_alpha + log_beta, self.log_B + log_beta - self.log_scale[:, None]

    def pair_probabilities(self, log_A: np.ndarray) -> np.ndarray:
        """Probability of each pair of states of a step and the next, (n - 1, K, K)."""
        message = self.messages(log_A)[1]
        return np.exp(self.log_alpha[:-1, :, None] + log_A + message[1:, None, :])


class Filtered(NamedTuple):
    """Filtered probabilities of a chunk.

    Attributes
    ----------
    steps : the chunk in lanes; its log-densities have become densities
    B, alpha : (K, n_columns) densities, and filtered probabilities
    scale : (n_columns,)
    terms : (n_steps,) log-density of each step given those before it; not finite if impossible
    before, after : (K, 8) messages at the edges of the lanes
    stretches : those that are in logarithms; `terms` and `alpha` have them, `B` and `scale` do not
    """

    steps: LaneSteps
    B: np.ndarray
    alpha: np.ndarray
    scale: np.ndarray
    terms: np.ndarray
    before: np.ndarray
    after: np.ndarray
    stretches: tuple[LogStretch, ...] = ()

    def check_possible(self) -> Filtered:
        """Raise an error if a sequence is impossible."""
        if not np.isfinite(self.terms.sum()):
            bad = np.flatnonzero(~np.isfinite(self.terms))
            if len(bad):
                raise ImpossibleSequenceError(self.steps.find_sequence(bad[0]))
        return self


class SmoothedStates(NamedTuple):
    """Smoothed probabilities of a chunk.

    Attributes
    ----------
    found : the filtered ones; its densities have become messages, zero in `stretches`
    gamma : (K, n_columns)
    """

    found: Filtered
    gamma: np.ndarray

    def count_pairs(self, transition: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Expected transitions, (K, K); the messages become weighted."""
        found, layout = self.found, self.found.steps.layout
        if weights is not None:
            messages = found.B
            messages *= np.take(weights, layout.order)
        pairs = found.alpha[:, :-LANES] @ found.B[:, LANES:].T
        pairs += found.before @ found.B[:, :LANES].T
        pairs *= transition
        if not found.stretches:
            return pairs
        with np.errstate(divide="ignore"):
            log_A = np.log(transition)
        for stretch in found.stretches:
            _, low, high, begins, *_ = stretch
            message = stretch.messages(log_A)[1]
            weight = np.ones(high - low) if weights is None else weights[low:high]
            flat = stretch.log_alpha, begins, log_A, stretch.log_before, message, weight
            count_pairs_in_logs(*flat, pairs)
        return pairs


class ImpossibleSequenceError(ValueError):
    """A sequence that the model cannot produce."""

    def __init__(self, sequence: int) -> None:
        super().__init__(
            f"sequence {sequence} has probability zero: starts, transitions or emissions with "
            "probability zero forbid it. Allow them (startprob_, transmat_, priors above 1), widen "
            "the variances, or leave the sequence out"
        )
        self.sequence = sequence

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.sequence,)


def filter_chunk(chunk: Chunk, model: HiddenChain, grid: StepGrid | None) -> Filtered:
    """Filtered probabilities of the steps of a chunk."""
    steps = lay_out(chunk, model, grid)
    K, n = steps.log_B.shape
    log_before, log_after = (None, None) if grid is None else grid.edges(chunk)
    before, after = _fill_lanes(log_before, 1 / K, K), _fill_lanes(log_after, 1.0, K)
    B, shift = steps.log_B, np.empty(n)
    scale_columns(B, shift)
    alpha, scale = _filter_lanes(steps, model, before, 0.0)
    with np.errstate(divide="ignore"):
        terms = np.take(np.log(scale) + shift, steps.layout.places)
    found = Filtered(steps, B, alpha, scale, terms, before, after)
    return filter_in_logs(found, find_lost(found, model, grid), chunk, model, grid)


def _filter_lanes(
    steps: LaneSteps, model: HiddenChain, before: np.ndarray, floor: float
) -> tuple[np.ndarray, np.ndarray]:
    """Filtered probabilities and scales, or upper bounds of the scales."""
    B, codes = steps.log_B.reshape(-1), steps.layout.codes
    alpha, scale = np.empty(steps.log_B.shape), np.empty(len(codes))
    first, flat = before.reshape(-1), alpha.reshape(-1)
    A, n = model.transition.ravel(), len(codes)
    filter_lanes(B, codes, model.start, A, first, flat, scale, 0, n, floor)
    return alpha, scale


def _fill_lanes(logs: np.ndarray | None, usual: float, K: int) -> np.ndarray:
    """Vectors of the lanes, (K, 8), from logarithms of those of the pieces of a chunk."""
    lanes = np.full((K, LANES), usual)
    if logs is not None:
        with np.errstate(over="ignore"):
            lanes[:, : len(logs)] = np.exp(logs.T)
    return lanes


def has_safe_transitions(transition: np.ndarray) -> bool:
    """Whether a state whose probability underflows is found again in the next step."""
    return bool(transition.min() > _SAFE_TRANSITION)


def _stretch_bounds(steps: LaneSteps, grid: StepGrid | None) -> np.ndarray:
    """Edges of what can have messages in logarithms: sequences, or pieces of long ones."""
    return steps.offsets if grid is None else steps.layout.edges


def find_lost(found: Filtered, model: HiddenChain, grid: StepGrid | None) -> np.ndarray:
    """Numbers of the stretches of which scaled messages lose a share of the probability.

    If transitions are safe, only a step whose scale nearly vanishes loses anything. Else the
    scales are compared with upper bounds, which come from probabilities that stay above a floor.
    """
    bounds, places = _stretch_bounds(found.steps, grid), found.steps.layout.places
    if has_safe_transitions(model.transition):
        if found.scale.min(initial=1.0) > SAFE_SCALE:
            return np.empty(0, np.int64)
        return _find_stretches(bounds, ~(np.take(found.scale, places) > SAFE_SCALE))
    alpha, scale = _filter_lanes(found.steps, model, np.maximum(found.before, FLOOR), FLOOR)
    with np.errstate(all="ignore"):
        above = np.take(np.log(scale / found.scale), places)
        bad = ~np.isfinite(above)
        excess = np.cumsum(np.append(0.0, np.where(bad, 0.0, above)))
        base = excess[bounds[:-1]]
        most = np.maximum.reduceat(np.append(excess[1:], 0.0), bounds[:-1]) - base
        if grid is not None:
            ends = [(table[:, -LANES:] * found.after).sum(axis=0) for table in (alpha, found.alpha)]
            most = np.maximum(most, excess[bounds[1:]] - base + np.log(ends[0] / ends[1]))
        lost = ~(most <= _LOST_SHARE) & (np.diff(bounds) > 0)
    return np.union1d(np.flatnonzero(lost), _find_stretches(bounds, bad))


def _find_stretches(bounds: np.ndarray, bad: np.ndarray) -> np.ndarray:
    """Numbers of the stretches with a bad step."""
    return np.unique(np.searchsorted(bounds, np.flatnonzero(bad), "right") - 1)


def filter_in_logs(
    found: Filtered, numbers: np.ndarray, chunk: Chunk, model: HiddenChain, grid: StepGrid | None
) -> Filtered:
    """The same with messages of these stretches in logarithms."""
    if len(numbers) == 0:
        return found
    places, K = found.steps.layout.places, len(model.start)
    log_start, log_A = log_chain(model)
    found.alpha[:, found.steps.layout.codes == PAD] = 0.0  # these repeat steps before them
    log_B = np.ascontiguousarray(found.steps.layout.collect(lay_out(chunk, model, grid).log_B))
    begins = found.steps.layout.codes[places] == BEGINS
    edges = (None, None) if grid is None else grid.edges(chunk)
    log_before, log_after = (np.zeros((LANES, K)) if e is None else e for e in edges)
    bounds, terms, stretches = _stretch_bounds(found.steps, grid), found.terms.copy(), []
    for number in numbers:
        low, high = int(bounds[number]), int(bounds[number + 1])
        lane = number if grid is not None else 0
        own, first = np.ascontiguousarray(log_B[low:high]), begins[low:high]
        log_alpha, log_scale = np.empty_like(own), np.empty(high - low)
        filter_logs(own, first, log_start, log_A, log_before[lane], log_alpha, log_scale)
        found.alpha[:, places[low:high]] = np.exp(log_alpha).T
        terms[low:high] = log_scale
        edge = log_before[lane], log_after[lane]
        stretches.append(
            LogStretch(int(number), low, high, first, own, log_alpha, log_scale, *edge)
        )
    return found._replace(terms=terms, stretches=(*found.stretches, *stretches))


def smooth_chunk(
    chunk: Chunk, model: HiddenChain, grid: StepGrid | None, found: Filtered
) -> SmoothedStates:
    """Smoothed probabilities; the densities of `found` become messages."""
    K, n = found.alpha.shape
    gamma = np.empty((K, n))
    A_transposed, beta = model.transition.T.ravel(), np.empty(K * LANES)
    flat = found.B.reshape(-1), found.steps.layout.codes, A_transposed, found.alpha.reshape(-1)
    smooth_lanes(*flat, found.scale, found.after.reshape(-1), beta, gamma.reshape(-1))
    if not has_safe_transitions(model.transition):
        numbers = _find_overflow(found, gamma, grid)
        found = filter_in_logs(found, numbers, chunk, model, grid)
    if found.stretches:
        _smooth_stretches(found, model, gamma)
    return SmoothedStates(found, gamma)


def _smooth_stretches(found: Filtered, model: HiddenChain, gamma: np.ndarray) -> None:
    """Smoothed probabilities of the stretches in logarithms; their messages become zero."""
    log_A = log_chain(model)[1]
    for stretch in found.stretches:
        columns = found.steps.layout.places[stretch.low : stretch.high]
        gamma[:, columns] = np.exp(stretch.messages(log_A)[0]).T
        messages = found.B
        messages[:, columns] = 0.0


def _find_overflow(found: Filtered, gamma: np.ndarray, grid: StepGrid | None) -> np.ndarray:
    """Numbers of further stretches, whose backward messages are too large for their states."""
    steps = found.steps
    with np.errstate(all="ignore"):
        sums = np.take(gamma.sum(axis=0) + found.B.sum(axis=0), steps.layout.places)
    numbers = _find_stretches(_stretch_bounds(steps, grid), ~np.isfinite(sums))
    return np.setdiff1d(numbers, [stretch.number for stretch in found.stretches])
