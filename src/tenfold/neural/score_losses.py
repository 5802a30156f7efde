"""Losses of single scores as losses of networks, and what all losses of networks share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from tenfold.maths.links import softmax

Judged = tuple[float, np.ndarray]  # the loss, summed over rows, and its slope in each number


def summed(each: np.ndarray, slope: np.ndarray, w: np.ndarray | None) -> Judged:
    """Weigh rows; sums are in float64."""
    if w is None:
        return float(each.sum(dtype=np.float64)), slope
    slope *= w.astype(slope.dtype).reshape(-1, *[1] * (slope.ndim - 1))
    return float(each.astype(np.float64) @ w), slope


def columns(y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Targets in the shape and type of the scores."""
    return y.reshape(z.shape).astype(z.dtype, copy=False)


def two_sided(p: np.ndarray) -> np.ndarray:
    """Probabilities of both classes, from those of the second alone."""
    return np.hstack([1 - p, p]) if p.shape[1] == 1 else p


class Scored(NamedTuple):
    """Any loss of `tenfold.maths.losses`, of one score per column of the target.

    Parameters
    ----------
    loss : loss of a score
        For instance `tenfold.maths.losses.Huber()`; those of signs take two classes.
    """

    loss: Any

    @property
    def labels(self) -> str:
        return "numbers" if self.loss.labels in ("numbers", "counts") else "classes"

    def units(self, targets: int) -> int:
        if self.loss.labels == "classes":
            return targets
        return targets if self.labels == "numbers" else 1

    def both(self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None) -> Judged:
        if self.loss.labels == "classes":  # class-major scores, (k, n)
            each, slope = self.loss.both(np.ascontiguousarray(z.T), y)
            return summed(each, np.ascontiguousarray(slope.T), w)
        y = columns(y, z)
        each, slope = self.loss.both(z, 2 * y - 1 if self.labels == "classes" else y)
        return summed(each.reshape(len(z), -1).sum(axis=1), slope.astype(z.dtype), w)

    def chances(self, z: np.ndarray) -> np.ndarray:
        if self.labels == "numbers":
            return np.exp(z) if self.loss.labels == "counts" else z
        return softmax(z) if self.loss.labels == "classes" else two_sided(expit(z))
