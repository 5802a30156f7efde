"""One batch of mini-batch k-means, and what is kept from batch to batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tenfold.cluster.lloyd import labelled
from tenfold.maths.leaves import add_rows
from tenfold.rows import Chunk, Rows


class Drift(NamedTuple):
    """Where the centres are, and how it has gone."""

    centres: np.ndarray  # (k, p) float64
    weight: np.ndarray  # (k,) of the rows that each centre has met
    smooth: float  # running mean of the cost of a row; NaN before the first
    least: float  # the least that it was
    idle: int  # batches since
    unmoved: float  # weight of rows since rare centres were looked at
    steps: int


def batches(rows: Rows, size: int, seed: int) -> Iterator[Chunk]:
    """Every row once, in random batches that the seed alone decides."""
    for block in rows.blocks(seed):
        for start in range(0, len(block.order), size):
            order = block.order[start : start + size]
            yield Chunk(block.X[order], None, None if block.w is None else block.w[order])


def step(batch: Chunk, drift: Drift, ratio: float, rng: np.random.Generator) -> tuple[Drift, float]:
    """The centres after a batch, and the cost of a row of it before."""
    known = drift.centres.astype(batch.X.dtype)
    labels, squares = labelled(batch, known, None)
    w = batch.weights().astype(np.float64)
    met, sums = np.zeros(len(known)), np.zeros(known.shape)
    X = batch.X if isinstance(batch.X, np.ndarray) else batch.X.toarray()
    add_rows(X, w, labels, sums, met)
    weight = drift.weight + met
    share = np.where(weight > 0, weight, 1.0)[:, None]
    centres = drift.centres + (sums - met[:, None] * drift.centres) / share
    unmoved = drift.unmoved + batch.rows
    moved = drift._replace(centres=centres, weight=weight, steps=drift.steps + 1, unmoved=unmoved)
    if (weight == 0).any() or unmoved >= 10 * len(weight):
        moved = relieved(moved, X, w, ratio, rng)
    return moved, float(w @ squares) / max(w.sum(), np.finfo(float).tiny)


def followed(drift: Drift, cost: float, share: float) -> Drift:
    """The running mean of the cost, and since when it is at its least."""
    smooth = cost if np.isnan(drift.smooth) else (1 - share) * drift.smooth + share * cost
    better = smooth < drift.least
    idle = 0 if better else drift.idle + 1
    return drift._replace(smooth=smooth, least=min(smooth, drift.least), idle=idle)


def relieved(
    drift: Drift, X: np.ndarray, w: np.ndarray, ratio: float, rng: np.random.Generator
) -> Drift:
    """Move centres that met few rows to rows of the batch, half the batch at most."""
    rare = drift.weight < ratio * drift.weight.max()
    seen = np.flatnonzero(w > 0)
    most = len(seen) // 2
    if rare.sum() > most:
        rare[np.argsort(drift.weight, kind="stable")[most:]] = False
    if not rare.any():
        return drift._replace(unmoved=0.0)
    rows = rng.choice(seen, int(rare.sum()), replace=False, p=w[seen] / w[seen].sum())
    centres, weight = drift.centres.copy(), drift.weight.copy()
    centres[rare] = X[np.sort(rows)]
    weight[rare] = weight[~rare].min() if (~rare).any() else 0.0
    return drift._replace(centres=centres, weight=weight, unmoved=0.0)
