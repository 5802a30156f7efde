"""Chains of labels: log-likelihood, gradient, marginals and best paths from scores of the steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold._compiled.lanes import LANES
from tenfold.sequence._hmm_numba import (
    filter_lanes,
    follow_best,
    scale_columns,
    smooth_lanes,
    trace_best,
)
from tenfold.sequence._lanes import LaneLayout


class LabelChain(NamedTuple):
    """Scores of pairs of neighboring labels, and of the first and last label of a sequence."""

    transition: np.ndarray  # (k, k), row: from, column: to
    start: np.ndarray  # (k,)
    end: np.ndarray  # (k,)


class ChainPosterior(NamedTuple):
    """What the forward and backward messages give.

    Attributes
    ----------
    log_normalizers : (n_sequences,) logarithm of the sum over all paths of exp(score)
    marginals : (n_steps, k) probabilities of the labels of each step
    pairs : (k, k) expected numbers of transitions, over all sequences
    """

    log_normalizers: np.ndarray
    marginals: np.ndarray
    pairs: np.ndarray


def add_ends(scores: np.ndarray, offsets: np.ndarray, chain: LabelChain) -> np.ndarray:
    """Scores of the steps with those of first and last labels added; sequences are not empty."""
    scores = scores.copy()
    scores[offsets[:-1]] += chain.start
    scores[offsets[1:] - 1] += chain.end
    return scores


def infer_labels(scores: np.ndarray, offsets: np.ndarray, chain: LabelChain) -> ChainPosterior:
    """Forward and backward messages; they are those of a hidden Markov model, not normalized."""
    layout = LaneLayout.of_sequences(offsets)
    B = _spread(add_ends(scores, offsets, chain), layout)
    K, n = B.shape
    alpha, gamma = np.empty((K, n)), np.empty((K, n))
    shift, scale, ones = np.empty(n), np.empty(n), np.ones(K * LANES)
    largest = chain.transition.max()
    A = np.exp(chain.transition - largest)
    scale_columns(B, shift)
    flat = B.reshape(-1), layout.codes
    filter_lanes(*flat, np.ones(K), A.ravel(), ones, alpha.reshape(-1), scale, 0, n, 0.0)
    if not (scale > 0).all():
        raise FloatingPointError(
            "scores of labels differ by more than floating-point numbers can hold: raise alpha, or "
            "standardize the columns"
        )
    steps = np.take(np.log(scale) + shift, layout.places)
    normalizers = np.add.reduceat(steps, offsets[:-1]) + largest * (np.diff(offsets) - 1)
    smooth_lanes(
        *flat, A.T.ravel(), alpha.reshape(-1), scale, ones, np.empty_like(ones), gamma.reshape(-1)
    )
    pairs = A * (alpha[:, :-LANES] @ B[:, LANES:].T)  # messages at first steps are zero
    return ChainPosterior(normalizers, np.ascontiguousarray(layout.collect(gamma)), pairs)


def _spread(scores: np.ndarray, layout: LaneLayout) -> np.ndarray:
    """Scores of steps, (n, k), as a table of lanes."""
    return np.ascontiguousarray(np.take(scores, layout.order, axis=0).T)


def score_paths(
    scores: np.ndarray, offsets: np.ndarray, chain: LabelChain, labels: np.ndarray
) -> np.ndarray:
    """The score of the path of labels of each sequence."""
    log_B = add_ends(scores, offsets, chain)
    steps = log_B[np.arange(len(labels)), labels]
    inside = np.ones(len(labels), bool)
    inside[offsets[:-1]] = False
    at = np.flatnonzero(inside)
    steps[at] += chain.transition[labels[at - 1], labels[at]]
    return np.add.reduceat(steps, offsets[:-1])


def count_labels(
    offsets: np.ndarray, labels: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Transitions, first labels and last labels of sequences, counted."""
    inside = np.ones(len(labels), bool)
    inside[offsets[:-1]] = False
    at = np.flatnonzero(inside)
    pairs = np.bincount(labels[at - 1] * k + labels[at], minlength=k * k).reshape(k, k)
    first = np.bincount(labels[offsets[:-1]], minlength=k)
    last = np.bincount(labels[offsets[1:] - 1], minlength=k)
    return pairs.astype(float), first.astype(float), last.astype(float)


def find_best_labels(
    scores: np.ndarray, offsets: np.ndarray, chain: LabelChain
) -> tuple[np.ndarray, np.ndarray]:
    """The labels with the largest score (Viterbi), and the score of each sequence."""
    layout = LaneLayout.of_sequences(offsets)
    values = _spread(add_ends(scores, offsets, chain), layout)
    (K, n), log_A = values.shape, np.ascontiguousarray(chain.transition).ravel()
    columns, free = np.zeros(n, np.int64), np.full(LANES, -1)
    flat = values.reshape(-1), layout.codes
    follow_best(*flat, np.zeros(K), log_A, np.zeros(K * LANES), 0, n, joined=False)
    trace_best(*flat, log_A, K, free, columns)
    labels = columns[layout.places]
    last = offsets[1:] - 1
    return labels, values[labels[last], layout.places[last]]
