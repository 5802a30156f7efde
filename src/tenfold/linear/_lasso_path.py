"""The penalties of a path of elastic nets, and the solutions along it."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np

from tenfold.linear._lasso_gram import GramMatrix
from tenfold.linear._lasso_working_set import (
    L1L2Penalty,
    LassoSettings,
    LassoSolution,
    initial_solution,
    lasso_objective,
    minimize_lasso,
)

_MIN_ALPHA = np.finfo(np.float64).resolution  # what a path has where every coefficient is zero


def alpha_sequence(
    xy: np.ndarray, l1_ratio: float, alphas: Any, eps: float, *, positive: bool
) -> np.ndarray:
    """The penalties of a path, descending; xy (p, q) has the products of columns and targets."""
    if not isinstance(alphas, Integral):
        return np.sort(np.asarray(alphas, np.float64))[::-1]
    if l1_ratio == 0:
        raise ValueError(
            "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a grid "
            "by providing your estimator with the appropriate `alphas=` argument."
        )
    size = xy[:, 0] if positive else np.linalg.norm(xy, axis=1)
    largest = max(float(size.max()), 0.0) / l1_ratio
    if largest <= _MIN_ALPHA:
        return np.full(int(alphas), _MIN_ALPHA)
    return np.geomspace(largest, largest * eps, int(alphas))


def follow_path(
    gram: GramMatrix, penalties: list[L1L2Penalty], w: np.ndarray, settings: LassoSettings
) -> Iterator[LassoSolution]:
    """The solution of each penalty, started from the last or an extrapolation of the last two."""
    last, before, past = initial_solution(gram, 0, w), None, []
    for penalty in penalties:
        start = last
        if before is not None:
            start = _choose_start(gram, penalty, last, _extrapolate(penalty, past, last, before))
        before, last = (last if past else None), minimize_lasso(gram, 0, penalty, start, settings)
        past = [*past[-1:], penalty]
        yield last._replace(correlation=last.correlation[:0])  # not needed, and perhaps long


def _extrapolate(
    penalty: L1L2Penalty, past: list[L1L2Penalty], last: LassoSolution, before: LassoSolution
) -> LassoSolution:
    """Linear extrapolation of the last two solutions: the path is piecewise linear."""
    weight = [p.l1 + p.l2 for p in (*past, penalty)]
    share = (weight[1] - weight[2]) / (weight[0] - weight[1]) if weight[0] > weight[1] else 0.0
    pairs = zip(last[:2], before[:2], strict=True)
    w, correlation = (new + share * (new - old) for new, old in pairs)
    return last._replace(w=w, correlation=correlation)


def _choose_start(
    gram: GramMatrix, penalty: L1L2Penalty, last: LassoSolution, extrapolated: LassoSolution
) -> LassoSolution:
    """The initial point with the lower objective; never one with a forbidden sign."""
    if penalty.positive and extrapolated.w.min() < 0:
        return last
    points = last, extrapolated
    values = [lasso_objective(gram.xy[:, 0], penalty, s.w, s.correlation) for s in points]
    return extrapolated if values[1] < values[0] else last
