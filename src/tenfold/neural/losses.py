"""Losses of the network's output: their sum over rows and the gradient in each number."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from numba import njit
from scipy.special import expit

from tenfold._compiled.gemm import ENTRY_OPTIONS
from tenfold.math.links import softmax
from tenfold.math.losses import Loss as ScoreLoss

LossAndGradient = tuple[
    float, np.ndarray
]  # the loss, summed over rows, and its slope in each number


def _weighted_sum(each: np.ndarray, slope: np.ndarray, w: np.ndarray | None) -> LossAndGradient:
    """Weigh rows; sums are in float64."""
    if w is None:
        return float(each.sum(dtype=np.float64)), slope
    slope *= w.astype(slope.dtype).reshape(-1, *[1] * (slope.ndim - 1))
    return float(each.astype(np.float64) @ w), slope


def _match_shape(y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Targets in the shape and type of the scores."""
    return y.reshape(z.shape).astype(z.dtype, copy=False)


def _both_classes(p: np.ndarray) -> np.ndarray:
    """Probabilities of both classes, from those of the second alone."""
    return np.hstack([1 - p, p]) if p.shape[1] == 1 else p


class PointwiseLoss(NamedTuple):
    """Any loss of `tenfold.math.losses`, of one score per column of the target.

    Parameters
    ----------
    loss : loss of a score
        For instance `tenfold.math.losses.HuberLoss()`; those of signs take two classes.
    """

    loss: Any

    @property
    def labels(self) -> str:
        return "numbers" if self.loss.labels in ("numbers", "counts") else "classes"

    def units(self, targets: int) -> int:
        if self.loss.labels == "classes":
            return targets
        return targets if self.labels == "numbers" else 1

    def value_and_gradient(
        self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None
    ) -> LossAndGradient:
        if self.loss.labels == "classes":  # class-major scores, (k, n)
            each, slope = self.loss.value_and_gradient(np.ascontiguousarray(z.T), y)
            return _weighted_sum(each, np.ascontiguousarray(slope.T), w)
        y = _match_shape(y, z)
        each, slope = self.loss.value_and_gradient(z, 2 * y - 1 if self.labels == "classes" else y)
        return _weighted_sum(each.reshape(len(z), -1).sum(axis=1), slope.astype(z.dtype), w)

    def inverse_link(self, z: np.ndarray) -> np.ndarray:
        if self.labels == "numbers":
            return np.exp(z) if self.loss.labels == "counts" else z
        return softmax(z) if self.loss.labels == "classes" else _both_classes(expit(z))


_MIN_PROBABILITY = (
    1e-7  # probabilities are kept this far from zero, or their logarithm would be infinite
)
_HALF_LOG_2_PI = 0.9189385332046727
_ZERO, _ONE = np.float32(0), np.float32(1)


class NetworkLoss(Protocol):
    """What a loss must have.

    `labels` says what targets are: "classes" (numbers 0, 1, ...) or "numbers".
    """

    labels: str

    def units(self, targets: int) -> int:
        """Numbers that the last layer must give for so many classes, or columns of targets."""
        ...

    def value_and_gradient(
        self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None
    ) -> LossAndGradient:
        """The loss, summed over rows with their weights, and its slope in z (new memory)."""
        ...

    def inverse_link(self, z: np.ndarray) -> np.ndarray:
        """What is predicted: probabilities of all classes, (n, k), or numbers, (n, q)."""
        ...


@njit(**ENTRY_OPTIONS)
def softmax_cross_entropy(z, at, y, first, n, k, smoothing, each, each_at, slope, to):  # noqa: ANN001, ANN201
    """Cross-entropy of each row's scores, and its slope; a share `smoothing` is for all classes.

    Arrays are flat: n rows of k scores from `at` on, labels from `first` on.
    """
    share = smoothing / np.float32(k)
    size, here, there = np.uint64(k), np.uint64(at), np.uint64(to)
    for i in range(n):
        top, mean, total = z[here], _ZERO, _ZERO
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
        slope[to + i * k + own] -= _ONE - smoothing
        loss = math.log(total) - (_ONE - smoothing) * (z[at + i * k + own] - top)
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

    def value_and_gradient(
        self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None
    ) -> LossAndGradient:
        each, slope = np.empty(len(z), z.dtype), np.empty_like(z)
        flat, smoothing, (n, k) = z.reshape(-1), z.dtype.type(self.smoothing), z.shape
        softmax_cross_entropy(flat, 0, y, 0, n, k, smoothing, each, 0, slope.reshape(-1), 0)
        return _weighted_sum(each, slope, w)

    def inverse_link(self, z: np.ndarray) -> np.ndarray:
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

    def value_and_gradient(
        self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None
    ) -> LossAndGradient:
        y = _match_shape(y, z)
        each = np.logaddexp(z, 0) - y * z
        return _weighted_sum(each.reshape(len(z), -1).sum(axis=1), expit(z) - y, w)

    def inverse_link(self, z: np.ndarray) -> np.ndarray:
        return _both_classes(expit(z))


class MulticlassHinge(NamedTuple):
    r"""Margins: :math:`\sum_{j \ne y} \max(0, 1 + z_j - z_y)`, or of one score for two classes."""

    labels = "classes"

    def units(self, targets: int) -> int:
        return 1 if targets <= 2 else targets

    def value_and_gradient(
        self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None
    ) -> LossAndGradient:
        if z.shape[1] == 1:
            sign = (2 * _match_shape(y, z) - 1).astype(z.dtype)
            short = np.maximum(1 - sign * z, 0)
            return _weighted_sum(short[:, 0], np.where(short > 0, -sign, 0).astype(z.dtype), w)
        rows = np.arange(len(z))
        short = np.maximum(1 + z - z[rows, y][:, None], 0)
        short[rows, y] = 0
        slope = (short > 0).astype(z.dtype)
        slope[rows, y] = -slope.sum(axis=1)
        return _weighted_sum(short.sum(axis=1), slope, w)

    def inverse_link(self, z: np.ndarray) -> np.ndarray:
        """Scores are not probabilities; theirs is the order, which is all that `predict` needs."""
        return _both_classes(expit(2 * z)) if z.shape[1] == 1 else softmax(z)


class HalfSquaredError(NamedTuple):
    r""":math:`\tfrac12 \lVert z - y \rVert^2` over all columns of the target.

    The negative log-likelihood of a Gaussian of variance one, up to a constant.
    """

    labels = "numbers"

    def units(self, targets: int) -> int:
        return targets

    def value_and_gradient(
        self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None
    ) -> LossAndGradient:
        slope = z - _match_shape(y, z)
        each = np.einsum("ij,ij->i", *(2 * [slope.reshape(len(z), -1)])) / 2
        return _weighted_sum(each, slope, w)

    def inverse_link(self, z: np.ndarray) -> np.ndarray:
        return z


class GaussianLikelihood(NamedTuple):
    r"""Negative log-likelihood of a Gaussian whose mean m and log-variance s are both learned.

    .. math:: \tfrac12 \big[ \log 2\pi + s + (y - m)^2 e^{-s} \big]

    The last layer gives all means first, then all log-variances.
    """

    labels = "numbers"

    def units(self, targets: int) -> int:
        return 2 * targets

    def value_and_gradient(
        self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None
    ) -> LossAndGradient:
        mean, log_variance = np.split(z, 2, axis=1)
        away = mean - _match_shape(y, mean)
        precision = np.exp(-log_variance)
        squares = away * away * precision
        each = ((log_variance + squares) / 2 + _HALF_LOG_2_PI).sum(axis=1)
        return _weighted_sum(each, np.hstack([away * precision, (1 - squares) / 2]), w)

    def inverse_link(self, z: np.ndarray) -> np.ndarray:
        return np.split(z, 2, axis=1)[0]


class Likelihood(NamedTuple):
    r"""Negative log of the probability that the last layer gives to what happened.

    For layers that end in `Softmax` (one probability per class) or in "sigmoid" (one number, the
    probability of the second class): categorical and Bernoulli likelihood.
    """

    labels = "classes"

    def units(self, targets: int) -> int:
        return targets

    def value_and_gradient(
        self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None
    ) -> LossAndGradient:
        slope, rows = np.zeros_like(z), np.arange(len(z))
        if z.shape[1] == 1:
            sign = 2 * _match_shape(y, z) - 1
            p = np.maximum(np.where(sign > 0, z, 1 - z), _MIN_PROBABILITY)
            return _weighted_sum(-np.log(p[:, 0]), (-sign / p).astype(z.dtype), w)
        p = np.maximum(z[rows, y], _MIN_PROBABILITY)
        slope[rows, y] = -1 / p
        return _weighted_sum(-np.log(p), slope, w)

    def inverse_link(self, z: np.ndarray) -> np.ndarray:
        return _both_classes(z)


LOSSES: dict[str, Any] = {
    "cross_entropy": CrossEntropy(),
    "binary_cross_entropy": BinaryCrossEntropy(),
    "hinge": MulticlassHinge(),
    "squared": HalfSquaredError(),
    "gaussian": GaussianLikelihood(),
    "likelihood": Likelihood(),
}


def as_loss(name: Any) -> Any:
    """A loss from its name; losses of `tenfold.math.losses` are taken score by score."""
    if isinstance(name, ScoreLoss):
        return PointwiseLoss(name)
    if not isinstance(name, str):
        return name
    if name not in LOSSES:
        raise ValueError(
            f"there is no loss {name!r}: take one of {sorted(LOSSES)}, or an object such as "
            "tenfold.maths.losses.Huber()"
        )
    return LOSSES[name]
