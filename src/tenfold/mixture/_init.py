"""Initialization of EM: centers from a sample, and the first responsibilities."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold._compiled.reductions import add_rows_by_label
from tenfold.cluster.initialization import kmeans_plusplus_init, sample_candidates
from tenfold.engine.chunk import Chunk
from tenfold.engine.merge_tree import merge
from tenfold.engine.row_random import uniforms
from tenfold.engine.rows import Rows
from tenfold.math.distances import nearest_centers, squared_distances_to_assigned
from tenfold.mixture._e_step import check_component_labels, iterate_blocks

_INIT_ROWS = 3_000  # starts look at this many rows (or 150 for each component)
_INIT_ENTRIES = 2**25  # at most: rows of a wide sparse matrix become dense
_PLUSPLUS_ROWS = 500  # of these, k-means++ looks at so many (or 20 for each component)
_KMEANS_RESTARTS = 5  # of k-means on these rows; the best is kept
_KMEANS_ITERATIONS = 30  # of k-means: EM goes on from there anyway
_KMEANS_TOL = 1e-4  # share of the mean square of the entries by which centres may still move

INIT_METHODS = ("kmeans", "k-means++", "random", "random_from_data")


class InitialCenters(NamedTuple):
    """Centres of the components, and what stands for missing entries; no centres: divide at random.

    Attributes
    ----------
    centres : (k, p) or None
    fill : (p,) means of the columns
    """

    centres: np.ndarray | None
    fill: np.ndarray


def draw_initial_centers(rows: Rows, k: int, how: str, rng: np.random.Generator) -> InitialCenters:
    """Centres from a sample of the rows, which is drawn by global row number."""
    some = min(max(_INIT_ROWS, 150 * k), max(_INIT_ENTRIES // max(rows.n_features, 1), 2 * k))
    X, w = sample_candidates(rows, some, int(rng.integers(2**31)))
    X = X if isinstance(X, np.ndarray) else X.toarray()
    X, fill = _impute_means(X.astype(np.float64), w)
    if how == "random":
        return InitialCenters(None, fill)
    if how == "random_from_data":
        return InitialCenters(
            X[np.sort(rng.choice(len(X), k, replace=len(X) < k, p=w / w.sum()))], fill
        )
    if how == "k-means++" or k == 1:
        return InitialCenters(kmeans_plusplus_init(X, w, k, rng), fill)
    tries = [_run_kmeans(X, w, _draw_distant_rows(X, w, k, rng)) for _ in range(_KMEANS_RESTARTS)]
    return InitialCenters(min(tries, key=lambda centres: _inertia(X, w, centres)), fill)


def _draw_distant_rows(
    X: np.ndarray, w: np.ndarray, k: int, rng: np.random.Generator
) -> np.ndarray:
    """Far-apart rows among some of them: k-means moves them to the middle of a group anyway."""
    some = np.sort(rng.choice(len(X), min(len(X), max(_PLUSPLUS_ROWS, 20 * k)), replace=False))
    return kmeans_plusplus_init(X[some], w[some], k, rng)


def _inertia(X: np.ndarray, w: np.ndarray, centres: np.ndarray) -> float:
    """Weighted sum of squared distances to the nearest centre."""
    return float(w @ squared_distances_to_assigned(X, nearest_centers(X, centres), centres))


def _impute_means(X: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows with the mean of its column for each missing entry, and these means."""
    if np.isinf(X).any():
        raise ValueError("Input X contains infinity. Write NaN where a value is missing.")
    there = ~np.isnan(X)
    seen = w @ there
    fill = (w @ np.where(there, X, 0.0)) / np.where(seen > 0, seen, 1.0)
    return np.where(there, X, fill), fill


def _run_kmeans(X: np.ndarray, w: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Centres after some rounds of k-means on a sample; one that loses its rows stays."""
    middle = centres.mean(axis=0)
    X, centres = X - middle, centres - middle
    still = _KMEANS_TOL * float(w @ (X * X).mean(axis=1)) / w.sum()
    for _ in range(_KMEANS_ITERATIONS):
        n, sums = np.zeros(len(centres)), np.zeros(centres.shape)
        add_rows_by_label(X, w, nearest_centers(X, centres), sums, n)
        moved = np.where(n[:, None] > 0, sums / np.where(n > 0, n, 1.0)[:, None], centres)
        change, centres = ((moved - centres) ** 2).sum(), moved
        if change <= still:
            break
    return centres + middle


class InitialAssignment(NamedTuple):
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
def initial_statistic(chunk: Chunk, components: Any, how: InitialAssignment) -> Any:
    """The statistic of rows that are given to components by a guess."""
    total = None
    for part in iterate_blocks(chunk, components.numbers):
        R = _initial_responsibilities(part, how)
        if how.labelled:
            known, own = _labeled_rows(part, how.k)
            R[:, known] = 0.0
            R[own, known] = 1.0
        R *= part.weights()
        total = merge(total, components.statistic(components.view(part.X), R))
    return total


def _initial_responsibilities(part: Chunk, how: InitialAssignment) -> np.ndarray:
    """First responsibilities, (k, n)."""
    if how.centres is None:
        R = uniforms(how.seed, part.first, part.rows, how.k).T.copy()
        return R / R.sum(axis=0)
    X = _fill_missing(part.X, how.fill)
    R = np.zeros((how.k, part.rows))
    R[nearest_centers(X, how.centres.astype(X.dtype)), np.arange(part.rows)] = 1.0
    return R


def _fill_missing(X: Any, fill: np.ndarray) -> Any:
    """Rows with the mean of its column for each missing entry."""
    return np.where(np.isnan(X), fill.astype(X.dtype), X) if isinstance(X, np.ndarray) else X


def _labeled_rows(part: Chunk, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Which rows have a known component, and which it is."""
    known = np.flatnonzero(part.y >= 0)
    return known, check_component_labels(part.y[known], k) if len(known) else known


class _LabeledSums(NamedTuple):
    """Weight and sum of the rows that are known to belong to each component."""

    n: np.ndarray
    sums: np.ndarray


def _labeled_sums(chunk: Chunk, k: int, fill: np.ndarray) -> _LabeledSums:
    """Sums of the rows of known component."""
    R = np.zeros((k, chunk.rows))
    known, own = _labeled_rows(chunk, k)
    R[own, known] = chunk.weights()[known]
    return _LabeledSums(R.sum(axis=1), R @ _fill_missing(chunk.X, fill))


def centers_at_labels(rows: Rows, centres: np.ndarray, fill: np.ndarray) -> np.ndarray:
    """Centres, those of components with known rows at their means."""
    s = rows.total(_labeled_sums, len(centres), fill)
    means = s.sums / np.where(s.n > 0, s.n, 1.0)[:, None]
    return np.asarray(np.where(s.n[:, None] > 0, means, centres))
