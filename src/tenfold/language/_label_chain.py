"""Chains of labels: log-likelihood, gradient, marginals and best paths from scores of the steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.sequence._hmm_numba import filter_states, find_best_paths, scale_rows, smooth_states


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
    B = add_ends(scores, offsets, chain)
    alpha, beta = np.empty_like(B), np.empty_like(B)
    shift, scale = np.empty(len(B)), np.empty(len(B))
    largest = chain.transition.max()
    A = np.exp(chain.transition - largest)
    scale_rows(B, shift)
    if filter_states(B, offsets, np.ones(len(A)), A, alpha, scale) >= 0:
        raise FloatingPointError(
            "scores of labels differ by more than floating-point numbers can hold: raise alpha, or "
            "standardize the columns"
        )
    steps = np.log(scale) + shift
    normalizers = np.add.reduceat(steps, offsets[:-1]) + largest * (np.diff(offsets) - 1)
    smooth_states(B, offsets, np.ascontiguousarray(A.T), alpha, scale, beta)
    pairs = A * (alpha[:-1].T @ B[1:])  # messages at first steps are zero
    return ChainPosterior(normalizers, alpha * beta, pairs)


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
    log_B = add_ends(scores, offsets, chain)
    labels, found = np.empty(len(log_B), np.int64), np.empty(len(offsets) - 1)
    find_best_paths(log_B, offsets, np.zeros(log_B.shape[1]), chain.transition, labels, found)
    return labels, found
