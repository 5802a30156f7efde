"""What a pass of EM says about a chunk, whatever the components are.

Components are an object with `numbers`, how many they hold for a row, and three methods; rows are
columns in what they give, so that the numbers of a component lie side by side::

    view(X)             rows as the other two want them
    scores(view)        (k, n) log of weight times density
    statistic(view, R)  what rows say that belong to the components by R (k, n); parts of it merge
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.merge_tree import merge

_MIN_LOG_RESPONSIBILITY = (
    -600.0
)  # log of the smallest share: numbers below 1e-308 slow down every product
_BLOCK_ENTRIES = 2**17  # at once: they stay in a core's second-level cache


class _EStepResult(NamedTuple):
    """Log-likelihood and weight of rows, and the statistic of the components."""

    value: float
    weight: float
    statistic: Any


def iterate_blocks(chunk: Chunk, numbers: int) -> Iterator[Chunk]:
    """A chunk in parts of a few rows, for each of which so many numbers are held."""
    size = max(_BLOCK_ENTRIES // numbers, 256)
    for a in range(0, chunk.rows, size):
        parts = (None if part is None else part[a : a + size] for part in chunk[:3])
        yield Chunk(*parts, first=chunk.first + a)


def e_step(chunk: Chunk, components: Any, hard: bool, labelled: bool) -> _EStepResult:
    """Both halves of a round for a chunk: who belongs where, and what that says."""
    value, total = 0.0, None
    for part in iterate_blocks(chunk, components.numbers):
        view = components.view(part.X)
        R, heights = _assign_rows(components.scores(view), part.y if labelled else None, hard)
        if part.w is not None:
            R *= part.w
            heights = np.where(part.w > 0, part.w * heights, 0.0)
        value += float(heights.sum())
        total = merge(total, components.statistic(view, R))
    return _EStepResult(value, chunk.weight, total)


def _assign_rows(
    scores: np.ndarray, labels: np.ndarray | None, hard: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Responsibilities (k, n) and the log-likelihood of each row; scores are written over.

    Rows whose label is known (not negative) belong to it.
    """
    known = np.empty(0, np.int64) if labels is None else np.flatnonzero(labels >= 0)
    if labels is None or not len(known):
        return _hard_assignment(scores) if hard else soft_assignment(scores)
    own = check_component_labels(labels[known], len(scores))
    kept = scores[own, known]
    R, heights = _hard_assignment(scores) if hard else soft_assignment(scores)
    R[:, known] = 0.0
    R[own, known] = 1.0
    heights[known] = kept
    return R, heights


def check_component_labels(labels: np.ndarray, k: int) -> np.ndarray:
    """Labels as numbers of components."""
    numbers = labels.astype(np.int64)
    if (numbers != labels).any() or numbers.max() >= k:
        bad = labels[(numbers != labels) | (numbers >= k)][0]
        raise ValueError(
            f"label {bad} is none of the {k} components 0, ..., {k - 1} (-1 where it is unknown)"
        )
    return numbers


def soft_assignment(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Softmax over the components and its normaliser, in place.

    Examples
    --------
    >>> R, height = soft_assignment(np.log([[0.1], [0.3]]))
    >>> R.ravel().round(4).tolist(), total_log_likelihood.round(4).tolist()
    ([0.25, 0.75], [-0.9163])
    """
    top = scores.max(axis=0)
    lost = ~np.isfinite(top)  # no component can make such a row
    if lost.any():
        scores[:, lost] = 0.0
        top[lost] = 0.0
    scores -= top
    np.maximum(scores, _MIN_LOG_RESPONSIBILITY, out=scores)
    np.exp(scores, out=scores)
    total = scores.sum(axis=0)
    scores /= total
    height = np.log(total, out=total)
    height += top
    height[lost] = -np.inf
    return scores, height


def _hard_assignment(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each row to its best component, the first on a tie, and the score there; in place."""
    best, top = scores.argmax(axis=0), scores.max(axis=0)
    scores[:] = 0.0
    scores[best, np.arange(len(best))] = 1.0
    return scores, top


def _iterate_scores(chunk: Chunk, components: Any) -> Iterator[np.ndarray]:
    """Scores of a few rows after the other, (k, n)."""
    return (
        components.scores(components.view(part.X))
        for part in iterate_blocks(chunk, components.numbers)
    )


def log_likelihoods(chunk: Chunk, components: Any) -> np.ndarray:
    """Log-likelihood of each row."""
    parts = [soft_assignment(scores)[1] for scores in _iterate_scores(chunk, components)]
    return np.concatenate(parts).astype(chunk.X.dtype)


def membership_probabilities(chunk: Chunk, components: Any) -> np.ndarray:
    """Probability of each component for each row, (n, k)."""
    parts = [soft_assignment(scores)[0].T for scores in _iterate_scores(chunk, components)]
    return np.ascontiguousarray(np.concatenate(parts), chunk.X.dtype)


def most_probable_component(chunk: Chunk, components: Any) -> np.ndarray:
    """The most probable component of each row, the first on a tie."""
    return np.concatenate([scores.argmax(axis=0) for scores in _iterate_scores(chunk, components)])


class _LogLikelihood(NamedTuple):
    """Log-likelihood and weight of rows."""

    value: float
    weight: float


def total_log_likelihood(chunk: Chunk, components: Any) -> _LogLikelihood:
    """Log-likelihood of a chunk."""
    w = chunk.weights().astype(np.float64)
    values = [soft_assignment(scores)[1] for scores in _iterate_scores(chunk, components)]
    return _LogLikelihood(float(w @ np.concatenate(values)), chunk.weight)
