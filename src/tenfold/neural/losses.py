r"""Losses of what the last layer gives: their sum over rows, and the slope in each number.

Most take *scores*, any real numbers, and know how scores become probabilities (`chances`); those
named after likelihoods take what a layer such as `Softmax` has made of them. Each that is a
negative log-likelihood says of what. [001, 3.1.2; 003, unit 3; 004, 4.2]
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from numba import njit
from scipy.special import expit

from tenfold.maths.links import softmax
from tenfold.maths.losses import Loss as ScoreLoss
from tenfold.neural.products import CALLED
from tenfold.neural.score_losses import Judged, Scored, columns, summed, two_sided

LEAST = 1e-7  # probabilities are kept this far from zero, or their logarithm would be infinite
HALF_LOG_2_PI = 0.9189385332046727
ZERO, ONE = np.float32(0), np.float32(1)


class Loss(Protocol):
    """What a loss must have.

    `labels` says what targets are: "classes" (numbers 0, 1, ...) or "numbers".
    """

    labels: str

    def units(self, targets: int) -> int:
        """Numbers that the last layer must give for so many classes, or columns of targets."""
        ...

    def both(self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None) -> Judged:
        """The loss, summed over rows with their weights, and its slope in z (new memory)."""
        ...

    def chances(self, z: np.ndarray) -> np.ndarray:
        """What is predicted: probabilities of all classes, (n, k), or numbers, (n, q)."""
        ...


@njit(**CALLED)
def cross_entropies(z, at, y, first, n, k, smoothing, each, each_at, slope, to):  # noqa: ANN001, ANN201
    """Cross-entropy of each row's scores, and its slope; a share `smoothing` is for all classes.

    Arrays are flat: n rows of k scores from `at` on, labels from `first` on.
    """
    share = smoothing / np.float32(k)
    size, here, there = np.uint64(k), np.uint64(at), np.uint64(to)
    for i in range(n):
        top, mean, total = z[here], ZERO, ZERO
        for j in range(size):
            top = z[here + j] if z[here + j] > top else top  # noqa: FURB136  compiles faster
        for j in range(size):
            away = z[here + j] - top
            part = math.exp(away)
            slope[there + j] = part
            total += part
            mean += away
        for j in range(size):
            slope[there + j] = slope[there + j] / total - share
        own = np.int64(y[first + i])
        slope[to + i * k + own] -= ONE - smoothing
        loss = math.log(total) - (ONE - smoothing) * (z[at + i * k + own] - top)
        each[each_at + i] = loss - share * mean
        here, there = here + size, there + size


class CrossEntropy(NamedTuple):
    r"""Softmax cross-entropy of scores, :math:`-\log \mathrm{softmax}(z)_y`: any number of classes.

    The negative log-likelihood of a categorical target.

    Parameters
    ----------
    smoothing : float
        Share of each target that is spread over all classes.
    """

    smoothing: float = 0.0
    labels = "classes"

    def units(self, targets: int) -> int:
        return targets

    def both(self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None) -> Judged:
        each, slope = np.empty(len(z), z.dtype), np.empty_like(z)
        flat, smoothing, (n, k) = z.reshape(-1), z.dtype.type(self.smoothing), z.shape
        cross_entropies(flat, 0, y, 0, n, k, smoothing, each, 0, slope.reshape(-1), 0)
        return summed(each, slope, w)

    def chances(self, z: np.ndarray) -> np.ndarray:
        return softmax(z)


class BinaryCrossEntropy(NamedTuple):
    r"""Cross-entropy of one score per yes-or-no target: :math:`\log(1 + e^z) - y z`.

    The negative log-likelihood of Bernoulli targets, of one column (two classes) or of several.
    """

    labels = "classes"

    def units(self, targets: int) -> int:
        if targets > 2:
            raise ValueError(f"binary cross-entropy with {targets} classes: take 'cross_entropy'")
        return 1

    def both(self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None) -> Judged:
        y = columns(y, z)
        each = np.logaddexp(z, 0) - y * z
        return summed(each.reshape(len(z), -1).sum(axis=1), expit(z) - y, w)

    def chances(self, z: np.ndarray) -> np.ndarray:
        return two_sided(expit(z))


class Hinge(NamedTuple):
    r"""Margins: :math:`\sum_{j \ne y} \max(0, 1 + z_j - z_y)`, or of one score for two classes."""

    labels = "classes"

    def units(self, targets: int) -> int:
        return 1 if targets <= 2 else targets

    def both(self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None) -> Judged:
        if z.shape[1] == 1:
            sign = (2 * columns(y, z) - 1).astype(z.dtype)
            short = np.maximum(1 - sign * z, 0)
            return summed(short[:, 0], np.where(short > 0, -sign, 0).astype(z.dtype), w)
        rows = np.arange(len(z))
        short = np.maximum(1 + z - z[rows, y][:, None], 0)
        short[rows, y] = 0
        slope = (short > 0).astype(z.dtype)
        slope[rows, y] = -slope.sum(axis=1)
        return summed(short.sum(axis=1), slope, w)

    def chances(self, z: np.ndarray) -> np.ndarray:
        """Scores are not probabilities; theirs is the order, which is all that `predict` needs."""
        return two_sided(expit(2 * z)) if z.shape[1] == 1 else softmax(z)


class Squared(NamedTuple):
    r""":math:`\tfrac12 \lVert z - y \rVert^2` over all columns of the target.

    The negative log-likelihood of a Gaussian of variance one, up to a constant.
    """

    labels = "numbers"

    def units(self, targets: int) -> int:
        return targets

    def both(self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None) -> Judged:
        slope = z - columns(y, z)
        each = np.einsum("ij,ij->i", *(2 * [slope.reshape(len(z), -1)])) / 2
        return summed(each, slope, w)

    def chances(self, z: np.ndarray) -> np.ndarray:
        return z


class GaussianLikelihood(NamedTuple):
    r"""Negative log-likelihood of a Gaussian whose mean m and log-variance s are both learned.

    .. math:: \tfrac12 \big[ \log 2\pi + s + (y - m)^2 e^{-s} \big]

    The last layer gives all means first, then all log-variances.
    """

    labels = "numbers"

    def units(self, targets: int) -> int:
        return 2 * targets

    def both(self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None) -> Judged:
        mean, log_variance = np.split(z, 2, axis=1)
        away = mean - columns(y, mean)
        precision = np.exp(-log_variance)
        squares = away * away * precision
        each = ((log_variance + squares) / 2 + HALF_LOG_2_PI).sum(axis=1)
        return summed(each, np.hstack([away * precision, (1 - squares) / 2]), w)

    def chances(self, z: np.ndarray) -> np.ndarray:
        return np.split(z, 2, axis=1)[0]


class Likelihood(NamedTuple):
    r"""Negative log of the probability that the last layer gives to what happened.

    For layers that end in `Softmax` (one probability per class) or in "sigmoid" (one number, the
    probability of the second class): categorical and Bernoulli likelihood.
    """

    labels = "classes"

    def units(self, targets: int) -> int:
        return targets

    def both(self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None) -> Judged:
        slope, rows = np.zeros_like(z), np.arange(len(z))
        if z.shape[1] == 1:
            sign = 2 * columns(y, z) - 1
            p = np.maximum(np.where(sign > 0, z, 1 - z), LEAST)
            return summed(-np.log(p[:, 0]), (-sign / p).astype(z.dtype), w)
        p = np.maximum(z[rows, y], LEAST)
        slope[rows, y] = -1 / p
        return summed(-np.log(p), slope, w)

    def chances(self, z: np.ndarray) -> np.ndarray:
        return two_sided(z)


LOSSES: dict[str, Any] = {
    "cross_entropy": CrossEntropy(),
    "binary_cross_entropy": BinaryCrossEntropy(),
    "hinge": Hinge(),
    "squared": Squared(),
    "gaussian": GaussianLikelihood(),
    "likelihood": Likelihood(),
}


def loss_of(name: Any) -> Any:
    """A loss from its name; losses of `tenfold.maths.losses` are taken score by score."""
    if isinstance(name, ScoreLoss):
        return Scored(name)
    if not isinstance(name, str):
        return name
    if name not in LOSSES:
        raise ValueError(
            f"there is no loss {name!r}: take one of {sorted(LOSSES)}, or an object such as "
            "tenfold.maths.losses.Huber()"
        )
    return LOSSES[name]
