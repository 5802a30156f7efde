r"""Losses of a score z against a target y: value, gradient and curvature in the score, by row.

Models sum them over rows and apply the chain rule to their parameters. Regression losses take any
y, margin losses y = -1 or +1 (they depend on the margin m = yz alone), deviances (`PoissonLoss`;
`TweedieLoss` in `tenfold.math.deviances`) the y of their distribution, and
`SoftmaxLoss` class indices and class-major scores (n_classes, n_rows).

To add a loss: a subclass of `Loss`, an entry in `LOSSES`, a tag in `persist/class_tags.py`; for SGD
also its compiled form in `linear/_losses_numba.py`, which is tested against this one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from math import e, inf, log
from typing import Any, ClassVar

import numpy as np
from scipy.special import erfcx, xlogy

_SQRT_HALF, _SQRT_2_OVER_PI = 0.7071067811865476, 0.7978845608028654
_FAR_MARGIN = {4: 1e2, 8: 1e3}  # by bytes: negative margins beyond it have probit curvature 1


_METHODS_OF_ROWS = {"value", "gradient", "curvature"} | {
    "value_and_gradient",
    "value_gradient_curvature",
}


def _take_lists(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of scores and targets that takes lists of numbers too."""

    @wraps(method)
    def wrapper(self: Loss, z: Any, y: Any) -> Any:
        if isinstance(z, list | tuple):
            z = np.asarray(z, np.float64)
        return method(self, z, np.asarray(y) if isinstance(y, list | tuple) else y)

    return wrapper


class Loss:
    """Base class of losses.

    Methods take arrays, or lists of numbers, of scores z and targets y.

    Attributes
    ----------
    labels : {"numbers", "signs", "counts", "classes"}
        What y holds.
    smooth : bool
        Whether the gradient is continuous.
    convex : bool
        Whether the loss is convex in the score.
    max_curvature : float
        The Lipschitz constant of the gradient; infinite if there is none.
    bounds_errors : bool
        Whether the loss is at least the 0-1 loss, for every margin.
    """

    labels: ClassVar[str] = "numbers"
    smooth: ClassVar[bool] = True
    convex: ClassVar[bool] = True
    _max_curvature: ClassVar[float] = inf
    _bounds_errors: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in _METHODS_OF_ROWS & set(vars(cls)):
            setattr(cls, name, _take_lists(vars(cls)[name]))

    @property
    def max_curvature(self) -> float:
        return self._max_curvature

    @property
    def bounds_errors(self) -> bool:
        return self._bounds_errors

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Loss of each row."""
        raise NotImplementedError

    def gradient(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Derivative in the score, by row; a subgradient where there is none."""
        raise NotImplementedError

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Second derivative in the score, by row, where there is one."""
        raise NotImplementedError

    def value_and_gradient(self, z: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Value and gradient, from shared intermediate results."""
        return self.value(z, y), self.gradient(z, y)

    def value_gradient_curvature(
        self, z: np.ndarray, y: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Value, gradient and curvature, from shared intermediate results."""
        return *self.value_and_gradient(z, y), self.curvature(z, y)

    def total(self, z: np.ndarray, y: np.ndarray, w: np.ndarray | None = None) -> float:
        """Sum over rows, weighted if weights are given."""
        values = self.value(np.asarray(z), np.asarray(y))
        return float(values.sum() if w is None else values @ w)


@dataclass(frozen=True)
class SquaredLoss(Loss):
    """(z - y)^2 / 2.

    Examples
    --------
    >>> import numpy as np
    >>> loss = SquaredLoss()
    >>> (
    ...     loss.value(np.array([3.0]), np.array([1.0])),
    ...     loss.gradient(np.array([3.0]), np.array([1.0])),
    ... )
    (array([2.]), array([2.]))
    """

    _max_curvature: ClassVar[float] = 1.0

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (z - y) ** 2 / 2

    def gradient(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return z - y

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.ones_like(z)


@dataclass(frozen=True)
class AbsoluteLoss(Loss):
    """`|z - y|`: its minimizer over constants is the median. The subgradient at 0 is 0."""

    smooth: ClassVar[bool] = False

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.abs(z - y)

    def gradient(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.sign(z - y)

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.zeros_like(z)


@dataclass(frozen=True)
class PinballLoss(Loss):
    """q (y - z) for targets above the prediction, (1 - q)(z - y) below: minimized by a quantile.

    References
    ----------
    R. Koenker and G. Bassett (1978), Regression quantiles.
    """

    q: float = 0.5
    smooth: ClassVar[bool] = False

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.maximum(self.q * (y - z), (1 - self.q) * (z - y))

    def gradient(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(z > y, 1 - self.q, np.where(z < y, -self.q, 0)).astype(z.dtype)

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.zeros_like(z)


@dataclass(frozen=True)
class HuberLoss(Loss):
    """r^2 / 2 of residuals r = z - y with `|r| <= epsilon`, linear beyond.

    References
    ----------
    P. J. Huber (1964), Robust estimation of a location parameter.
    """

    epsilon: float = 1.35
    _max_curvature: ClassVar[float] = 1.0

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        r = np.abs(z - y)
        near = np.minimum(r, self.epsilon)
        return near * (r - near / 2)

    def gradient(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.clip(z - y, -self.epsilon, self.epsilon)

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (np.abs(z - y) <= self.epsilon).astype(z.dtype)


class DevianceLoss(Loss):
    """Half the deviance of a generalized linear model, up to a term of y alone.

    Attributes
    ----------
    may_diverge : bool
        Whether rows with y = 0 pull the score to minus infinity.
    """

    labels: ClassVar[str] = "counts"

    @property
    def may_diverge(self) -> bool:
        return True

    def mean(self, z: np.ndarray) -> np.ndarray:
        """Expectation of y at a score: the inverse of the link."""
        return np.exp(z)

    def score_of_mean(self, mean: float) -> float:
        """The link: the score at which y has this expectation."""
        return float(np.log(mean))

    def minimum(self, y: np.ndarray) -> np.ndarray:
        """The loss of each row where its mean is y itself."""
        raise NotImplementedError

    def out_of_range(self, y: np.ndarray) -> np.ndarray:
        """Which y the distribution cannot give."""
        raise NotImplementedError


@dataclass(frozen=True)
class PoissonLoss(DevianceLoss):
    """exp(z) - yz: the negative log-likelihood of a count y with mean exp(z), without log y!."""

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.exp(z) - y * z

    def gradient(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.exp(z) - y

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.exp(z)

    def value_and_gradient(self, z: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.value_gradient_curvature(z, y)[:2]

    def value_gradient_curvature(
        self, z: np.ndarray, y: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        mean = np.exp(z)
        return mean - y * z, mean - y, mean

    def minimum(self, y: np.ndarray) -> np.ndarray:
        return y - xlogy(y, y)

    def out_of_range(self, y: np.ndarray) -> np.ndarray:
        return y < 0


@dataclass(frozen=True)
class LogisticLoss(Loss):
    """log(1 + exp(-yz)), the negative log-likelihood of a sign; in bits with base 2.

    Examples
    --------
    >>> import numpy as np
    >>> value, gradient = LogisticLoss().value_and_gradient(
    ...     np.array([0.0, 1000.0]), np.array([1.0, -1.0])
    ... )
    >>> value.round(4).tolist(), gradient.tolist()
    ([0.6931, 1000.0], [-0.5, 1.0])
    >>> LogisticLoss(base=2).value(np.zeros(1), np.ones(1)).tolist()
    [1.0]
    """

    base: float = e
    labels: ClassVar[str] = "signs"

    @property
    def max_curvature(self) -> float:
        return 0.25 / log(self.base)

    @property
    def bounds_errors(self) -> bool:
        return self.base <= 2

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self.value_and_gradient(z, y)[0]

    def gradient(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self.value_and_gradient(z, y)[1]

    def value_and_gradient(self, z: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        m = y * z
        negative = np.minimum(m, 0)
        decay = np.exp(-np.abs(m))
        gradient = np.exp(negative - m) / (1 + decay)  # the probability of the other sign
        value = np.log1p(decay)
        value -= negative
        gradient *= -y
        if self.base != e:
            value, gradient = value / log(self.base), gradient / log(self.base)
        return value.astype(z.dtype, copy=False), gradient.astype(z.dtype, copy=False)

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        decay = np.exp(-np.abs(z))
        return decay / (1 + decay) ** 2 / log(self.base)


@dataclass(frozen=True)
class ProbitLoss(Loss):
    r"""-log Phi(yz), with the normal distribution function Phi; exact far into both tails."""

    labels: ClassVar[str] = "signs"
    _max_curvature: ClassVar[float] = 1.0

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self.value_gradient_curvature(z, y)[0]

    def gradient(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self.value_gradient_curvature(z, y)[1]

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self.value_gradient_curvature(z, y)[2]

    def value_and_gradient(self, z: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.value_gradient_curvature(z, y)[:2]

    def value_gradient_curvature(
        self, z: np.ndarray, y: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        m = y * z
        half = m * m / 2
        density = np.exp(-half)
        scaled = erfcx(np.abs(m) * _SQRT_HALF)  # Phi(-|m|) = scaled density / 2
        tail, wrong = scaled * density / 2, m < 0
        value = np.where(wrong, half, 0) - np.log1p(np.where(wrong, scaled / 2 - 1, -tail))
        ratio = _SQRT_2_OVER_PI / np.where(wrong, scaled, 2 * (1 - tail))
        ratio *= np.where(wrong, 1, density)
        # ratio + m cancels far out on the wrong side, where the curvature tends to 1 - 1/m^2
        far = m < -_FAR_MARGIN[m.itemsize]
        curvature = np.where(far, 1, ratio * (ratio + m))
        return value.astype(z.dtype), (-y * ratio).astype(z.dtype), curvature.astype(z.dtype)


@dataclass(frozen=True)
class HingeLoss(Loss):
    """max(0, 1 - yz): zero for margins of 1 and more."""

    labels: ClassVar[str] = "signs"
    smooth: ClassVar[bool] = False
    _bounds_errors: ClassVar[bool] = True

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.maximum(1 - y * z, 0)

    def gradient(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(y * z < 1, -y, 0).astype(z.dtype, copy=False)

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.zeros_like(z)


@dataclass(frozen=True)
class SquaredHingeLoss(Loss):
    """max(0, 1 - yz)^2."""

    labels: ClassVar[str] = "signs"
    _max_curvature: ClassVar[float] = 2.0
    _bounds_errors: ClassVar[bool] = True

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.maximum(1 - y * z, 0) ** 2

    def gradient(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return -2 * y * np.maximum(1 - y * z, 0)

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return 2 * (y * z < 1).astype(z.dtype)


@dataclass(frozen=True)
class PerceptronLoss(Loss):
    """max(0, -yz): the distance to the boundary of misclassified points, up to the norm of w.

    The gradient at the boundary is that of a misclassified point.
    """

    labels: ClassVar[str] = "signs"
    smooth: ClassVar[bool] = False

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.maximum(-y * z, 0)

    def gradient(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(y * z <= 0, -y, 0).astype(z.dtype, copy=False)

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.zeros_like(z)


@dataclass(frozen=True)
class ZeroOneLoss(Loss):
    """0-1 loss with costs: `miss` for a +1 predicted as -1, `alarm` for a -1 predicted as +1.

    A point on the boundary is an error. The gradient is zero almost everywhere, so that descent is
    impossible and `gradient` raises.

    Examples
    --------
    >>> import numpy as np
    >>> ZeroOneLoss(miss=100, alarm=10).value(
    ...     np.array([-1.0, 2.0, 2.0]), np.array([1, -1, 1])
    ... ).tolist()
    [100.0, 10.0, 0.0]
    """

    miss: float = 1.0
    alarm: float = 1.0
    labels: ClassVar[str] = "signs"
    smooth: ClassVar[bool] = False
    convex: ClassVar[bool] = False

    @property
    def bounds_errors(self) -> bool:
        return min(self.miss, self.alarm) >= 1

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(y * z <= 0, np.where(y > 0, self.miss, self.alarm), 0.0)

    def gradient(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        raise TypeError(
            "the 0-1 loss has no gradient to follow: fit a loss that bounds it (HingeLoss, "
            "LogisticLoss, SquaredHingeLoss), and evaluate with the 0-1 loss"
        )

    curvature = gradient


@dataclass(frozen=True)
class SoftmaxLoss(Loss):
    """Cross-entropy of the softmax of scores (n_classes, n_rows), for class indices y (n_rows,).

    Scores are class-major: with few classes, sums over classes of contiguous rows are several times
    as fast as sums within rows. The gradient has the shape of the scores, the curvature
    (n_classes, n_classes, n_rows).

    Examples
    --------
    >>> import numpy as np
    >>> value, gradient = SoftmaxLoss().value_and_gradient(np.zeros((2, 1)), np.array([0]))
    >>> value.round(4).tolist(), gradient.ravel().tolist()
    ([0.6931], [-0.5, 0.5])
    """

    labels: ClassVar[str] = "classes"
    _max_curvature: ClassVar[float] = 0.5

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self.value_and_gradient(z, y)[0]

    def gradient(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self.value_and_gradient(z, y)[1]

    def value_and_gradient(self, z: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows = np.arange(z.shape[1])
        P = z - z.max(axis=0)
        true_scores = P[y, rows]
        np.exp(P, out=P)
        total = P.sum(axis=0)
        P /= total
        P[y, rows] -= 1
        return np.log(total) - true_scores, P

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        P = softmax_columns(z)
        return np.eye(len(P))[:, :, None] * P - P[:, None] * P


def softmax_columns(Z: np.ndarray) -> np.ndarray:
    """Softmax of class-major scores (n_classes, n_rows): probabilities of each column sum to 1."""
    P = np.exp(Z - Z.max(axis=0))
    return P / P.sum(axis=0)


LOSSES: dict[str, type[Loss]] = {
    "squared": SquaredLoss,
    "absolute": AbsoluteLoss,
    "quantile": PinballLoss,
    "huber": HuberLoss,
    "poisson": PoissonLoss,
    "logistic": LogisticLoss,
    "probit": ProbitLoss,
    "hinge": HingeLoss,
    "squared_hinge": SquaredHingeLoss,
    "perceptron": PerceptronLoss,
    "zero_one": ZeroOneLoss,
    "softmax": SoftmaxLoss,
}
