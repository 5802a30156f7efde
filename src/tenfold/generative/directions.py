"""Directions that tell classes apart, and the discriminants of each class, from moments.

"White" directions, as columns, give coordinates whose covariance within classes is the unit matrix.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from tenfold.generative.bayes_rule import log
from tenfold.generative.covariances import axes, pointed
from tenfold.maths.links import log_sigmoid
from tenfold.rows import Chunk

LEAST_TOL = 1e-7  # squares of smaller singular values are rounding


class Solution(NamedTuple):
    """Discriminants of each class, and directions that tell classes apart."""

    coef: np.ndarray  # (k, p)
    intercept: np.ndarray  # (k,)
    more: dict[str, np.ndarray]


def n_directions(asked: int | None, k: int, p: int) -> int:
    """Number of directions that tell k classes of p columns apart: all, or as many as asked for."""
    most = min(k - 1, p)
    if asked is not None and asked > most:
        raise ValueError(
            f"n_components cannot be larger than min(n_features, n_classes - 1): {asked} > {most}."
        )
    return most if asked is None else asked


def white_by_moments(covariance: np.ndarray, tol: float) -> np.ndarray:
    """White directions from the covariance within classes, without those that do not vary."""
    deviation = _not_zero(np.sqrt(np.diag(covariance)))
    variances, V = axes(covariance / np.multiply.outer(deviation, deviation))
    S = np.sqrt(variances)
    kept = max(tol, LEAST_TOL) < S
    return V[:, kept] / S[kept] / deviation[:, None]


def white_by_rows(D: np.ndarray, tol: float) -> np.ndarray:
    """The same from rows D less the means of their classes, with D'D their covariance."""
    deviation = _not_zero(np.sqrt((D**2).sum(axis=0)))
    _, S, Vt = np.linalg.svd(D / deviation, full_matrices=False)
    kept = max(tol, LEAST_TOL) < S
    return Vt[kept].T / S[kept] / deviation[:, None]


def _not_zero(deviation: np.ndarray) -> np.ndarray:
    return np.where(deviation == 0, 1.0, deviation)


def by_svd(s: Any, priors: np.ndarray, white: np.ndarray, tol: float, most: int) -> Solution:
    """From white directions: those that the means of the classes span."""
    center = priors @ s.mean
    between = np.sqrt(s.n.sum() * priors / max(len(priors) - 1, 1))[:, None]
    _, S, Vt = np.linalg.svd(between * ((s.mean - center) @ white), full_matrices=False)
    scalings = pointed(white @ Vt[tol * S.max(initial=0.0) < S].T)
    ratio = S**2 / max((S**2).sum(), np.finfo(np.float64).tiny)
    inner = (s.mean - center) @ scalings
    coef = inner @ scalings.T
    intercept = -0.5 * (inner**2).sum(axis=1) + log(priors) - coef @ center
    more = {"scalings_": scalings, "xbar_": center, "explained_variance_ratio_": ratio[:most]}
    return Solution(coef, intercept, more)


def by_least_squares(means: np.ndarray, priors: np.ndarray, covariance: np.ndarray) -> Solution:
    """Discriminants that solve covariance w = mean; the shortest if there are several."""
    coef = np.linalg.lstsq(covariance, means.T, rcond=None)[0].T
    return Solution(coef, _intercept(means, coef, priors), {"covariance_": covariance})


def by_eigen(
    means: np.ndarray, priors: np.ndarray, covariance: np.ndarray, total: np.ndarray, most: int
) -> Solution:
    """Directions with the largest ratio of variance between classes to variance within."""
    try:
        ratios, V = eigh(total - covariance, covariance)
    except np.linalg.LinAlgError as problem:
        raise np.linalg.LinAlgError(
            "the covariance within classes is singular: use solver='svd', or set shrinkage"
        ) from problem
    ratios, V = ratios[::-1], pointed(V[:, ::-1])
    coef = means @ V @ V.T
    shares = ratios / (ratios.sum() or 1.0)  # 0 while only one class has rows
    rank = min(len(means) - 1, len(V))
    more = {"covariance_": covariance, "scalings_": V[:, :rank]}
    more["explained_variance_ratio_"] = np.sort(shares)[::-1][:most]
    return Solution(coef, _intercept(means, coef, priors), more)


def _intercept(means: np.ndarray, coef: np.ndarray, priors: np.ndarray) -> np.ndarray:
    return -0.5 * (means * coef).sum(axis=1) + log(priors)


def linear_scores(chunk: Chunk, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Scores (n, m)."""
    return chunk.X @ W.T + b


def discriminants(chunk: Chunk, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Scores of each class, (n, k); of two classes their log-probabilities."""
    Z = linear_scores(chunk, W, b)
    return np.hstack([log_sigmoid(-Z), log_sigmoid(Z)]) if len(W) == 1 else Z


def along(chunk: Chunk, directions: np.ndarray, center: np.ndarray) -> np.ndarray:
    """Coordinates of rows along directions, (n, m)."""
    return (chunk.X - center) @ directions
