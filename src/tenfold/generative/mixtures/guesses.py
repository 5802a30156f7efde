"""To whom rows belong before there are components."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.generative.mixtures.rounds import blocks, checked_labels
from tenfold.maths.distances import nearest_centres
from tenfold.rows import Chunk, Rows, merge, uniforms


class Guess(NamedTuple):
    """How rows are given to components.

    Attributes
    ----------
    centres : (k, p), each row goes to the nearest; None: rows are divided at random
    fill : (p,) what stands for missing entries when distances are measured
    k, seed : number of components, and of the draws
    labelled : whether the target holds known components
    """

    centres: np.ndarray | None
    fill: np.ndarray
    k: int
    seed: int
    labelled: bool


@np.errstate(over="ignore", invalid="ignore")  # the first components say whether a number is bad
def guess(chunk: Chunk, components: Any, how: Guess) -> Any:
    """The statistic of rows that are given to components by a guess."""
    total = None
    for part in blocks(chunk, components.numbers):
        R = guessed(part, how)
        if how.labelled:
            known, own = known_rows(part, how.k)
            R[:, known] = 0.0
            R[own, known] = 1.0
        R *= part.weights()
        total = merge(total, components.statistic(components.view(part.X), R))
    return total


def guessed(part: Chunk, how: Guess) -> np.ndarray:
    """First responsibilities, (k, n)."""
    if how.centres is None:
        R = uniforms(how.seed, part.first, part.rows, how.k).T.copy()
        return R / R.sum(axis=0)
    X = without_gaps(part.X, how.fill)
    R = np.zeros((how.k, part.rows))
    R[nearest_centres(X, how.centres.astype(X.dtype)), np.arange(part.rows)] = 1.0
    return R


def without_gaps(X: Any, fill: np.ndarray) -> Any:
    """Rows with the mean of its column for each missing entry."""
    return np.where(np.isnan(X), fill.astype(X.dtype), X) if isinstance(X, np.ndarray) else X


def known_rows(part: Chunk, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Which rows have a known component, and which it is."""
    known = np.flatnonzero(part.y >= 0)
    return known, checked_labels(part.y[known], k) if len(known) else known


class Known(NamedTuple):
    """Weight and sum of the rows that are known to belong to each component."""

    n: np.ndarray
    sums: np.ndarray


def known_sums(chunk: Chunk, k: int, fill: np.ndarray) -> Known:
    """Sums of the rows of known component."""
    R = np.zeros((k, chunk.rows))
    known, own = known_rows(chunk, k)
    R[own, known] = chunk.weights()[known]
    return Known(R.sum(axis=1), R @ without_gaps(chunk.X, fill))


def at_labels(rows: Rows, centres: np.ndarray, fill: np.ndarray) -> np.ndarray:
    """Centres, those of components with known rows at their means."""
    s = rows.total(known_sums, len(centres), fill)
    means = s.sums / np.where(s.n > 0, s.n, 1.0)[:, None]
    return np.asarray(np.where(s.n[:, None] > 0, means, centres))
