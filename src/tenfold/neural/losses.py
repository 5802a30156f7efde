"""Losses of a network's output: their sum over rows, and the gradient in the output.

Most take *scores*, any real numbers, and define how scores become probabilities (`inverse_link`);
`Likelihood` takes the probabilities of a layer such as `Softmax`. The single-score losses of
`tenfold.math.losses` define squared, logistic and hinge loss; `PointwiseLoss` adapts any of them,
and the forms here, which keep the type of the scores and allow several columns or classes, are
tested against them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from numba import njit
from scipy.special import expit

from tenfold._compiled.gemm import ENTRY_OPTIONS
from tenfold.math.links import softmax
from tenfold.math.losses import HingeLoss, LogisticLoss
from tenfold.math.losses import Loss as ScoreLoss

LossAndGradient = tuple[float, np.ndarray]  # loss summed over rows, gradient in the output

_MIN_PROBABILITY = 1e-7  # lower bound of probabilities in logarithms
_HALF_LOG_2_PI = 0.9189385332046727
_ZERO, _ONE = np.float32(0), np.float32(1)


def _weighted_sum(
    losses: np.ndarray, gradient: np.ndarray, w: np.ndarray | None
) -> LossAndGradient:
    """Loss summed over rows in float64, and gradient, with weights of rows."""
    if w is None:
        return float(losses.sum(dtype=np.float64)), gradient
    gradient *= w.astype(gradient.dtype).reshape(-1, *[1] * (gradient.ndim - 1))
    return float(losses.astype(np.float64) @ w), gradient


def _match_shape(y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Targets in the shape and type of the scores."""
    return y.reshape(z.shape).astype(z.dtype, copy=False)


def _both_classes(p: np.ndarray) -> np.ndarray:
    """Probabilities of both classes, from those of the second alone."""
    return np.hstack([1 - p, p]) if p.shape[1] == 1 else p


class PointwiseLoss(NamedTuple):
    """Any loss of `tenfold.math.losses`, of one score per target column.

    Parameters
    ----------
    loss : Loss
        For instance `tenfold.math.losses.HuberLoss()`; losses of signs take two classes.
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
            losses, gradient = self.loss.value_and_gradient(np.ascontiguousarray(z.T), y)
            return _weighted_sum(losses, np.ascontiguousarray(gradient.T), w)
        y = _match_shape(y, z)
        y = 2 * y - 1 if self.labels == "classes" else y
        losses, gradient = self.loss.value_and_gradient(z, y)
        row_losses = losses.reshape(len(z), -1).sum(axis=1)
        return _weighted_sum(row_losses, gradient.astype(z.dtype), w)

    def inverse_link(self, z: np.ndarray) -> np.ndarray:
        if self.labels == "numbers":
            return np.exp(z) if self.loss.labels == "counts" else z
        return softmax(z) if self.loss.labels == "classes" else _both_classes(expit(z))


class NetworkLoss(Protocol):
    """What a loss must have.

    `labels` is the kind of targets: "classes" (0, 1, ...) or "numbers".
    """

    labels: str

    def units(self, targets: int) -> int:
        """Units of the last layer for a number of classes, or of target columns."""
        ...

    def value_and_gradient(
        self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None
    ) -> LossAndGradient:
        """The weighted sum of the loss over rows, and its gradient in z, in a new array."""
        ...

    def inverse_link(self, z: np.ndarray) -> np.ndarray:
        """Predictions: probabilities (n_rows, n_classes), or values (n_rows, n_targets)."""
        ...


@njit(**ENTRY_OPTIONS)
def softmax_cross_entropy(z, z_at, y, first, n, k, smoothing, losses, losses_at, gradient, to_at):  # noqa: ANN001, ANN201
    """Cross-entropy of each row, and its gradient in the scores, with label smoothing.

    Arrays are flat: n rows of k scores from `z_at` on, labels from `first` on; losses are written
    from `losses_at`, gradients from `to_at` on.
    """
    share = smoothing / np.float32(k)
    size, row, to = np.uint64(k), np.uint64(z_at), np.uint64(to_at)
    for i in range(n):
        top, mean, total = z[row], _ZERO, _ZERO
        for j in range(size):
            top = z[row + j] if z[row + j] > top else top  # noqa: FURB136  compiles faster
        for j in range(size):
            shifted = z[row + j] - top
            exponential = math.exp(shifted)
            gradient[to + j] = exponential
            total += exponential
            mean += shifted
        for j in range(size):
            gradient[to + j] = gradient[to + j] / total - share
        label = np.int64(y[first + i])
        gradient[to_at + i * k + label] -= _ONE - smoothing
        loss = math.log(total) - (_ONE - smoothing) * (z[z_at + i * k + label] - top)
        losses[losses_at + i] = loss - share * mean
        row, to = row + size, to + size


class CrossEntropy(NamedTuple):
    r"""Softmax cross-entropy of scores, :math:`-\log \mathrm{softmax}(z)_y`: any number of classes.

    The negative log-likelihood of a categorical target.

    Parameters
    ----------
    smoothing : float
        Label smoothing: fraction of each target that is spread over all classes.
    """

    smoothing: float = 0.0
    labels = "classes"

    def units(self, targets: int) -> int:
        return targets

    def value_and_gradient(
        self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None
    ) -> LossAndGradient:
        losses, gradient = np.empty(len(z), z.dtype), np.empty_like(z)
        flat, smoothing, (n, k) = z.reshape(-1), z.dtype.type(self.smoothing), z.shape
        softmax_cross_entropy(flat, 0, y, 0, n, k, smoothing, losses, 0, gradient.reshape(-1), 0)
        return _weighted_sum(losses, gradient, w)

    def inverse_link(self, z: np.ndarray) -> np.ndarray:
        return softmax(z)


class BinaryCrossEntropy(NamedTuple):
    r"""Binary cross-entropy of scores: :math:`\log(1 + e^z) - y z` for targets 0 and 1.

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
        return _weighted_sum(self.row_losses(z, y), expit(z) - _match_shape(y, z), w)

    def row_losses(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Loss of each row."""
        losses = np.logaddexp(z, 0) - _match_shape(y, z) * z
        return losses.reshape(len(z), -1).sum(axis=1)

    def inverse_link(self, z: np.ndarray) -> np.ndarray:
        return _both_classes(expit(z))


class MultilabelCrossEntropy(NamedTuple):
    """Binary cross-entropy of several labels, each of which a row may have or not, summed."""

    labels = "classes"

    def units(self, targets: int) -> int:
        return targets

    def value_and_gradient(
        self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None
    ) -> LossAndGradient:
        return BinaryCrossEntropy().value_and_gradient(z, y, w)

    def row_losses(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Loss of each row."""
        return BinaryCrossEntropy().row_losses(z, y)

    def inverse_link(self, z: np.ndarray) -> np.ndarray:
        return expit(z)


class MulticlassHinge(NamedTuple):
    r"""Multiclass hinge loss :math:`\sum_{j \ne y} \max(0, 1 + z_j - z_y)`; binary for one score.

    References
    ----------
    J. Weston, C. Watkins (1999), "Support vector machines for multi-class pattern recognition".
    """

    labels = "classes"

    def units(self, targets: int) -> int:
        return 1 if targets <= 2 else targets

    def value_and_gradient(
        self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None
    ) -> LossAndGradient:
        if z.shape[1] == 1:
            sign = (2 * _match_shape(y, z) - 1).astype(z.dtype)
            losses, gradient = HingeLoss().value_and_gradient(z, sign)
            return _weighted_sum(losses[:, 0], gradient, w)
        rows = np.arange(len(z))
        violations = np.maximum(1 + z - z[rows, y][:, None], 0)
        violations[rows, y] = 0
        gradient = (violations > 0).astype(z.dtype)
        gradient[rows, y] = -gradient.sum(axis=1)
        return _weighted_sum(violations.sum(axis=1), gradient, w)

    def inverse_link(self, z: np.ndarray) -> np.ndarray:
        """Monotone functions of the scores, which are no probabilities but have their order."""
        return _both_classes(expit(2 * z)) if z.shape[1] == 1 else softmax(z)


class HalfSquaredError(NamedTuple):
    r""":math:`\tfrac12 \lVert z - y \rVert^2` over all target columns.

    The negative log-likelihood of a Gaussian of variance one, up to a constant.
    """

    labels = "numbers"

    def units(self, targets: int) -> int:
        return targets

    def value_and_gradient(
        self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None
    ) -> LossAndGradient:
        return _weighted_sum(self.row_losses(z, y), z - _match_shape(y, z), w)

    def row_losses(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Loss of each row."""
        residual = (z - _match_shape(y, z)).reshape(len(z), -1)
        return np.einsum("ij,ij->i", residual, residual) / 2

    def inverse_link(self, z: np.ndarray) -> np.ndarray:
        return z


class GaussianLikelihood(NamedTuple):
    r"""Negative log-likelihood of a Gaussian whose mean m and log-variance s are both learned.

    .. math:: \tfrac12 \big[ \log 2\pi + s + (y - m)^2 e^{-s} \big]

    The output holds all means first, then all log-variances.
    """

    labels = "numbers"

    def units(self, targets: int) -> int:
        return 2 * targets

    def value_and_gradient(
        self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None
    ) -> LossAndGradient:
        mean, log_variance = np.split(z, 2, axis=1)
        residual = mean - _match_shape(y, mean)
        precision = np.exp(-log_variance)
        squares = residual * residual * precision
        losses = ((log_variance + squares) / 2 + _HALF_LOG_2_PI).sum(axis=1)
        gradient = np.hstack([residual * precision, (1 - squares) / 2])
        return _weighted_sum(losses, gradient, w)

    def inverse_link(self, z: np.ndarray) -> np.ndarray:
        return np.split(z, 2, axis=1)[0]


class Likelihood(NamedTuple):
    r"""Negative log-likelihood of predicted probabilities.

    For networks that end in `Softmax` (one probability per class) or in "sigmoid" (the probability
    of the second class): categorical and Bernoulli likelihood.
    """

    labels = "classes"

    def units(self, targets: int) -> int:
        return targets

    def value_and_gradient(
        self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None
    ) -> LossAndGradient:
        gradient, rows = np.zeros_like(z), np.arange(len(z))
        if z.shape[1] == 1:
            sign = 2 * _match_shape(y, z) - 1
            p = np.maximum(np.where(sign > 0, z, 1 - z), _MIN_PROBABILITY)
            return _weighted_sum(-np.log(p[:, 0]), (-sign / p).astype(z.dtype), w)
        p = np.maximum(z[rows, y], _MIN_PROBABILITY)
        gradient[rows, y] = -1 / p
        return _weighted_sum(-np.log(p), gradient, w)

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


def has_probabilities(loss: Any) -> bool:
    """Whether a network with this loss, or its name, estimates probabilities of classes.

    Scores of a hinge only rank the classes.
    """
    loss = as_loss(loss)
    if isinstance(loss, PointwiseLoss):
        return loss.loss.labels == "classes" or isinstance(loss.loss, LogisticLoss)
    return not isinstance(loss, MulticlassHinge)


def as_loss(name: Any) -> Any:
    """A loss from its name; losses of `tenfold.math.losses` become a `PointwiseLoss`."""
    if isinstance(name, ScoreLoss):
        return PointwiseLoss(name)
    if not isinstance(name, str):
        return name
    if name not in LOSSES:
        raise ValueError(
            f"there is no loss {name!r}: take one of {sorted(LOSSES)}, or an object such as "
            "tenfold.math.losses.HuberLoss()"
        )
    return LOSSES[name]
