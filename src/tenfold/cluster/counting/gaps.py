"""The gap statistic: how much cheaper clusters are than those of rows without any."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from tenfold.cluster.counting.knees import cost_of, fitted
from tenfold.rows.opening import open as open_rows


class Gaps(NamedTuple):
    """The gap statistic of each number of clusters.

    Attributes
    ----------
    ks : (m,) numbers of clusters
    gap : (m,) how far the log cost lies below that of rows without clusters
    error : (m,) its standard error, that of the simulation included
    best : the least k whose gap is not below that of the next k less its error
    """

    ks: np.ndarray
    gap: np.ndarray
    error: np.ndarray
    best: int


def gap_statistic(
    model: Any, X: Any, ks: Any, *, references: int = 10, sample: int = 5000, seed: int = 0
) -> Gaps:
    r"""Tibshirani's gap statistic for each number of clusters.

    .. math:: \mathrm{gap}(k) = \frac{1}{B} \sum_b \log W_k^{(b)} - \log W_k

    W is the cost of the clustering; the B references are rows drawn uniformly from the box about
    the data along its principal axes. The best k is the least one with
    :math:`\mathrm{gap}(k) \ge \mathrm{gap}(k + 1) - s_{k + 1}`: unlike the others it may be 1.
    It stops too early where one cluster more hardly helps but several do, as in the corners of a
    square: look at the whole curve.

    Parameters
    ----------
    model : clusterer
        A model with the parameter `n_clusters`.
    X : array, table, path, Dask collection or `tenfold.open(...)`
        The rows.
    ks : sequence of int
        Numbers of clusters, which should follow each other.
    references : int
        Number of tables without clusters.
    sample : int
        Rows to draw, if there are more.
    seed : int
        Of the references and the sample.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from tenfold import KMeans
    >>> X, _ = make_blobs(150, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> gap_statistic(KMeans(n_init=3, random_state=0), X, range(1, 6)).best
    3
    """
    ks = np.asarray(list(ks))
    rng = np.random.default_rng(seed)
    drawn = np.asarray(open_rows(X).sample(sample, seed).X, np.float64)
    mine = log_costs(model, drawn, ks)
    tables = [log_costs(model, box_like(drawn, rng), ks) for _ in range(references)]
    gap = np.mean(tables, axis=0) - mine
    error = np.std(tables, axis=0) * np.sqrt(1 + 1 / references)
    holds = np.append(gap[:-1] >= gap[1:] - error[1:], True)
    return Gaps(ks, gap, error, int(ks[holds.argmax()]))


def log_costs(model: Any, X: np.ndarray, ks: np.ndarray) -> np.ndarray:
    """Log of the cost of the clusterings with each number of clusters."""
    least = np.finfo(np.float64).tiny  # a cost of zero has no logarithm
    return np.log([max(cost_of(fitted(clone(model), X, k), X), least) for k in ks])


def box_like(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """As many rows without clusters: uniform in the box about X along its principal axes."""
    mean = X.mean(axis=0)
    axes = np.linalg.svd(X - mean, full_matrices=False)[2]
    turned = (X - mean) @ axes.T
    drawn = rng.uniform(turned.min(axis=0), turned.max(axis=0), size=turned.shape)
    return drawn @ axes + mean
