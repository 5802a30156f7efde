"""Initialization of EM: centers from a sample, and the first responsibilities."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.cluster._lloyd import AssignmentSums, lloyd, nearest_sums
from tenfold.cluster.initialization import kmeans_plusplus_init, sample_candidates
from tenfold.engine.chunk import Chunk
from tenfold.engine.merge_tree import merge
from tenfold.engine.row_random import uniforms
from tenfold.engine.rows import Rows
from tenfold.math.distances import nearest_centers, squared_distances_to_assigned
from tenfold.math.linalg import to_dense
from tenfold.mixture import _thresholds
from tenfold.mixture._e_step import check_component_labels, iterate_blocks
from tenfold.mixture._protocols import Components

_KMEANS_TOL = (
    1e-4  # squared move of all centers at which k-means stops, as a share of the mean square
)

INIT_METHODS = ("kmeans", "k-means++", "random", "random_from_data")


class InitialCenters(NamedTuple):
    """Centers of the components, and values that replace missing entries.

    Attributes
    ----------
    centers : (n_components, n_features); None for random responsibilities
    fill : (n_features,) means of the columns
    """

    centers: np.ndarray | None
    fill: np.ndarray


def draw_initial_centers(
    rows: Rows, k: int, method: str, rng: np.random.Generator
) -> InitialCenters:
    """Centers from a sample of the rows, which is drawn by global row number."""
    size = max(_thresholds.INIT_ROWS, _thresholds.INIT_ROWS_PER_COMPONENT * k)
    most = max(_thresholds.INIT_ENTRIES // max(rows.n_features, 1), 2 * k)
    X, w = sample_candidates(rows, min(size, most), int(rng.integers(2**31)))
    X, fill = _impute_means(to_dense(X).astype(np.float64), w)
    if method == "random":
        return InitialCenters(None, fill)
    if method == "random_from_data":
        drawn = rng.choice(len(X), k, replace=len(X) < k, p=w / w.sum())
        return InitialCenters(X[np.sort(drawn)], fill)
    if method == "k-means++" or k == 1:
        return InitialCenters(kmeans_plusplus_init(X, w, k, rng), fill)
    runs = [
        _run_kmeans(X, w, _draw_distant_rows(X, w, k, rng))
        for _ in range(_thresholds.KMEANS_RESTARTS)
    ]
    return InitialCenters(min(runs, key=lambda centers: _inertia(X, w, centers)), fill)


def _draw_distant_rows(
    X: np.ndarray, w: np.ndarray, k: int, rng: np.random.Generator
) -> np.ndarray:
    """k-means++ on part of the sample: the iterations of k-means make up for the rest."""
    size = max(_thresholds.PLUSPLUS_ROWS, _thresholds.PLUSPLUS_ROWS_PER_COMPONENT * k)
    drawn = np.sort(rng.choice(len(X), min(len(X), size), replace=False))
    return kmeans_plusplus_init(X[drawn], w[drawn], k, rng)


def _inertia(X: np.ndarray, w: np.ndarray, centers: np.ndarray) -> float:
    """Weighted sum of squared distances to the nearest center."""
    return float(w @ squared_distances_to_assigned(X, nearest_centers(X, centers), centers))


def _impute_means(X: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows with the mean of its column for each missing entry, and these means."""
    if np.isinf(X).any():
        raise ValueError("Input X contains infinity. Write NaN where a value is missing.")
    observed = ~np.isnan(X)
    weight = w @ observed
    fill = (w @ np.where(observed, X, 0.0)) / np.where(weight > 0, weight, 1.0)
    return np.where(observed, X, fill), fill


def _run_kmeans(X: np.ndarray, w: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Centers after k-means on a sample; an empty cluster keeps its center."""
    origin = centers.mean(axis=0)
    sample = Chunk(X - origin, None, w)

    def assign(centers: np.ndarray) -> tuple[AssignmentSums, float]:
        weight, sums, cost = nearest_sums(sample, centers)
        return AssignmentSums(weight, sums), cost

    tol = _KMEANS_TOL * float(w @ (sample.X * sample.X).mean(axis=1)) / w.sum()
    iterations = _thresholds.KMEANS_ITERATIONS
    return lloyd(assign, centers - origin, tol=tol, max_iter=iterations).state + origin


class InitialAssignment(NamedTuple):
    """How the first responsibilities come about.

    Attributes
    ----------
    centers : (n_components, n_features), each row goes to the nearest; None: at random
    fill : (n_features,) replaces missing entries when distances are measured
    n_components, seed : number of components, and seed of the random responsibilities
    labeled : whether the target holds known components
    """

    centers: np.ndarray | None
    fill: np.ndarray
    n_components: int
    seed: int
    labeled: bool


@np.errstate(over="ignore", invalid="ignore")  # bad values show in the first components
def initial_statistic(chunk: Chunk, components: Components, init: InitialAssignment) -> Any:
    """The statistic of a chunk with the first responsibilities."""
    statistic = None
    for block in iterate_blocks(chunk, components.values_per_row):
        R = _initial_responsibilities(block, init)
        if init.labeled:
            labeled, component = _labeled_rows(block, init.n_components)
            R[:, labeled] = 0.0
            R[component, labeled] = 1.0
        R *= block.weights()
        statistic = merge(statistic, components.statistic(components.prepare(block.X), R))
    return statistic


def _initial_responsibilities(block: Chunk, init: InitialAssignment) -> np.ndarray:
    """First responsibilities, (n_components, n_rows)."""
    k = init.n_components
    if init.centers is None:
        R = uniforms(init.seed, block.first, block.rows, k).T.copy()
        return R / R.sum(axis=0)
    X = _fill_missing(block.X, init.fill)
    R = np.zeros((k, block.rows))
    R[nearest_centers(X, init.centers.astype(X.dtype)), np.arange(block.rows)] = 1.0
    return R


def _fill_missing(X: Any, fill: np.ndarray) -> Any:
    """Rows with the mean of its column for each missing entry."""
    return np.where(np.isnan(X), fill.astype(X.dtype), X) if isinstance(X, np.ndarray) else X


def _labeled_rows(block: Chunk, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows with a known component, and this component."""
    labeled = np.flatnonzero(block.y >= 0)
    return labeled, check_component_labels(block.y[labeled], k) if len(labeled) else labeled


class _LabeledSums(NamedTuple):
    """Weight and sum of the rows with each known component."""

    n: np.ndarray
    sums: np.ndarray


def _labeled_sums(chunk: Chunk, k: int, fill: np.ndarray) -> _LabeledSums:
    """Weight and sum of the rows of a chunk with each known component."""
    R = np.zeros((k, chunk.rows))
    labeled, component = _labeled_rows(chunk, k)
    R[component, labeled] = chunk.weights()[labeled]
    return _LabeledSums(R.sum(axis=1), R @ _fill_missing(chunk.X, fill))


def centers_at_labels(rows: Rows, centers: np.ndarray, fill: np.ndarray) -> np.ndarray:
    """Centers, moved to the mean of the labeled rows for components that have any."""
    s = rows.total(_labeled_sums, len(centers), fill)
    means = s.sums / np.where(s.n > 0, s.n, 1.0)[:, None]
    return np.asarray(np.where(s.n[:, None] > 0, means, centers))
