"""The E-step on chunks: responsibilities, log-likelihoods and sufficient statistics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.merge_tree import merge
from tenfold.mixture._protocols import Components
from tenfold.mixture._thresholds import BLOCK_ENTRIES, MIN_BLOCK_ROWS, MIN_LOG_RESPONSIBILITY


class EStepResult(NamedTuple):
    """Log-likelihood and weight of rows, and the statistic of the components."""

    log_likelihood: float
    weight: float
    statistic: Any


def iterate_blocks(chunk: Chunk, values_per_row: int) -> Iterator[Chunk]:
    """A chunk in blocks of rows that fit the cache, given the values that each row takes."""
    size = max(BLOCK_ENTRIES // values_per_row, MIN_BLOCK_ROWS)
    for start in range(0, chunk.rows, size):
        parts = (None if part is None else part[start : start + size] for part in chunk[:3])
        yield Chunk(*parts, first=chunk.first + start)


def e_step(chunk: Chunk, components: Components, hard: bool, labeled: bool) -> EStepResult:
    """Responsibilities of a chunk, and the statistic that the M-step needs of them."""
    total, statistic = 0.0, None
    for block in iterate_blocks(chunk, components.values_per_row):
        view = components.prepare(block.X)
        labels = block.y if labeled else None
        R, log_likelihood = _assign_rows(components.log_joint(view), labels, hard)
        if block.w is not None:
            R *= block.w
            log_likelihood = np.where(block.w > 0, block.w * log_likelihood, 0.0)
        total += float(log_likelihood.sum())
        statistic = merge(statistic, components.statistic(view, R))
    return EStepResult(total, chunk.weight, statistic)


def _assign_rows(
    log_joint: np.ndarray, labels: np.ndarray | None, hard: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Responsibilities (k, n) and the log-likelihood of each row; `log_joint` is overwritten.

    A row with a known label (not negative) belongs to that component.
    """
    assign = _hard_assignment if hard else soft_assignment
    labeled = np.empty(0, np.int64) if labels is None else np.flatnonzero(labels >= 0)
    if labels is None or not len(labeled):
        return assign(log_joint)
    component = check_component_labels(labels[labeled], len(log_joint))
    labeled_log_joint = log_joint[component, labeled]
    R, log_likelihood = assign(log_joint)
    R[:, labeled] = 0.0
    R[component, labeled] = 1.0
    log_likelihood[labeled] = labeled_log_joint
    return R, log_likelihood


def check_component_labels(labels: np.ndarray, k: int) -> np.ndarray:
    """Labels as integers from 0 to k - 1; an error if they are not."""
    integers = labels.astype(np.int64)
    if (integers != labels).any() or integers.max() >= k:
        bad = labels[(integers != labels) | (integers >= k)][0]
        raise ValueError(
            f"label {bad} is none of the {k} components 0, ..., {k - 1} (-1 where it is unknown)"
        )
    return integers


def soft_assignment(log_joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Softmax over the components and the log of its normalizer, in place.

    Examples
    --------
    >>> R, log_likelihood = soft_assignment(np.log([[0.1], [0.3]]))
    >>> R.ravel().round(4).tolist(), log_likelihood.round(4).tolist()
    ([0.25, 0.75], [-0.9163])
    """
    top = log_joint.max(axis=0)
    impossible = ~np.isfinite(top)  # rows of density zero in every component
    if impossible.any():
        log_joint[:, impossible] = 0.0
        top[impossible] = 0.0
    log_joint -= top
    np.maximum(log_joint, MIN_LOG_RESPONSIBILITY, out=log_joint)
    R = np.exp(log_joint, out=log_joint)
    normalizer = R.sum(axis=0)
    R /= normalizer
    log_likelihood = np.log(normalizer, out=normalizer)
    log_likelihood += top
    log_likelihood[impossible] = -np.inf
    return R, log_likelihood


def _hard_assignment(log_joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each row to its best component, the first on a tie, and `log_joint` there; in place."""
    best, top = log_joint.argmax(axis=0), log_joint.max(axis=0)
    log_joint[:] = 0.0
    log_joint[best, np.arange(len(best))] = 1.0
    return log_joint, top


def _iterate_log_joint(chunk: Chunk, components: Components) -> Iterator[np.ndarray]:
    """`log_joint` of one block of rows after the other, (k, n)."""
    return (
        components.log_joint(components.prepare(block.X))
        for block in iterate_blocks(chunk, components.values_per_row)
    )


def log_likelihoods(chunk: Chunk, components: Components) -> np.ndarray:
    """Log-likelihood of each row."""
    blocks = [soft_assignment(scores)[1] for scores in _iterate_log_joint(chunk, components)]
    return np.concatenate(blocks).astype(chunk.X.dtype)


def membership_probabilities(chunk: Chunk, components: Components) -> np.ndarray:
    """Probability of each component for each row, (n, k)."""
    blocks = [soft_assignment(scores)[0].T for scores in _iterate_log_joint(chunk, components)]
    return np.ascontiguousarray(np.concatenate(blocks), chunk.X.dtype)


def most_probable_component(chunk: Chunk, components: Components) -> np.ndarray:
    """The most probable component of each row, the first on a tie."""
    blocks = [scores.argmax(axis=0) for scores in _iterate_log_joint(chunk, components)]
    return np.concatenate(blocks)


class LogLikelihood(NamedTuple):
    """Log-likelihood and weight of rows."""

    value: float
    weight: float


def total_log_likelihood(chunk: Chunk, components: Components) -> LogLikelihood:
    """Log-likelihood of a chunk."""
    w = chunk.weights().astype(np.float64)
    blocks = [soft_assignment(scores)[1] for scores in _iterate_log_joint(chunk, components)]
    return LogLikelihood(float(w @ np.concatenate(blocks)), chunk.weight)
