"""All rows in each step: the objective of a network for L-BFGS, a total over rows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from tenfold.neural.judging import ROWS_AT_ONCE
from tenfold.neural.layer import Way
from tenfold.neural.steps import Task, cuts, part_gradient
from tenfold.rows import Chunk, Rows
from tenfold.rows.mixing import Block
from tenfold.solve import Minimum, lbfgs

LEAST_GAIN = 2e-9  # share of the value: a loss with kinks (ReLU) may never have a slope of zero


def flattened(params: list[np.ndarray]) -> np.ndarray:
    """All numbers in a row."""
    return np.concatenate([p.reshape(-1) for p in params])


def shaped(flat: np.ndarray, like: list[np.ndarray]) -> list[np.ndarray]:
    """The parameters again, in the shapes and types of `like`."""
    ends = np.cumsum([0, *(p.size for p in like)])
    parts = [flat[a:b] for a, b in pairwise(ends)]
    return [part.reshape(p.shape).astype(p.dtype) for part, p in zip(parts, like, strict=True)]


def whole_gradient(
    chunk: Chunk, task: Task, params: list[np.ndarray]
) -> tuple[float, float, np.ndarray]:
    """Loss, weight and slope of a chunk, a few rows at a time."""
    block = Block(*chunk[:3], np.arange(chunk.rows), np.arange(chunk.rows))
    loss, weight, slope = 0.0, 0.0, np.zeros(sum(p.size for p in params))
    for a, b in cuts(chunk.rows, ROWS_AT_ONCE):
        part = part_gradient(task, params, block, block.order[a:b], Way(True, 0, a))
        loss, weight = loss + part.loss, weight + part.weight
        slope += flattened(part.slopes)
    return loss, weight, slope


def minimise(
    task: Task, rows: Rows, params: list[np.ndarray], alpha: float, **settings: Any
) -> tuple[list[np.ndarray], Minimum]:
    """Minimise the mean loss + alpha / (2 n) |W|^2 over all rows by L-BFGS."""
    penalised = flattened([np.full(p.shape, float(p.ndim > 1)) for p in params])

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        loss, weight, slope = rows.total(whole_gradient, task, shaped(flat, params))
        pull = alpha * penalised * flat
        return float((loss + pull @ flat / 2) / weight), (slope + pull) / weight

    precision = max(float(np.finfo(params[0].dtype).eps), LEAST_GAIN)
    found = lbfgs(objective, flattened(params).astype(float), precision=precision, **settings)
    return shaped(found.x, params), found
