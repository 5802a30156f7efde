r"""Penalties on coefficients: value, gradient and proximal operator.

The proximal operator of P with step t maps v to
:math:`\arg\min_w \tfrac1{2t} \lVert w - v \rVert^2 + P(w)`; exact zeros of coefficients are
due to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

_BISECTION_STEPS = 60  # to the last bit of float64


class Penalty:
    """Base class of penalties.

    Attributes
    ----------
    smooth : bool
        Whether the gradient is Lipschitz continuous.
    convex : bool
        Whether the penalty is convex.
    """

    smooth: ClassVar[bool] = True

    @property
    def convex(self) -> bool:
        return True

    def value(self, w: np.ndarray) -> float:
        """The penalty of coefficients of any shape."""
        raise NotImplementedError

    def gradient(self, w: np.ndarray) -> np.ndarray:
        """Derivative, entry by entry; 0 where w = 0 is a kink."""
        raise NotImplementedError

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        """Proximal operator: the minimizer of (w - v)^2 / (2 step) + P(w), entry by entry."""
        raise NotImplementedError


@dataclass(frozen=True)
class NoPenalty(Penalty):
    """No penalty: zero."""

    def value(self, w: np.ndarray) -> float:
        return 0.0

    def gradient(self, w: np.ndarray) -> np.ndarray:
        return np.zeros_like(w)

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        return v


@dataclass(frozen=True)
class L2Penalty(Penalty):
    """`strength / 2 |w|^2` (ridge): minus the log of a normal prior."""

    strength: float

    def value(self, w: np.ndarray) -> float:
        return self.strength / 2 * float((w * w).sum())

    def gradient(self, w: np.ndarray) -> np.ndarray:
        return self.strength * w

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        return v / (1 + step * self.strength)


@dataclass(frozen=True)
class L1Penalty(Penalty):
    """`strength |w|_1` (lasso): minus the log of a Laplace prior; the prox is soft thresholding.

    Examples
    --------
    >>> import numpy as np
    >>> L1Penalty(1.0).prox(np.array([3.0, -0.5]), step=0.5).tolist()
    [2.5, -0.0]
    """

    strength: float
    smooth: ClassVar[bool] = False

    def value(self, w: np.ndarray) -> float:
        return self.strength * float(np.abs(w).sum())

    def gradient(self, w: np.ndarray) -> np.ndarray:
        return self.strength * np.sign(w)

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        return np.sign(v) * np.maximum(np.abs(v) - step * self.strength, 0)


@dataclass(frozen=True)
class ElasticNetPenalty(Penalty):
    """`strength (l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2)` (Zou and Hastie, 2005)."""

    strength: float
    l1_ratio: float = 0.5
    smooth: ClassVar[bool] = False

    @property
    def parts(self) -> tuple[L1Penalty, L2Penalty]:
        return L1Penalty(self.strength * self.l1_ratio), L2Penalty(
            self.strength * (1 - self.l1_ratio)
        )

    def value(self, w: np.ndarray) -> float:
        return sum(part.value(w) for part in self.parts)

    def gradient(self, w: np.ndarray) -> np.ndarray:
        lasso, ridge = self.parts
        return lasso.gradient(w) + ridge.gradient(w)

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        lasso, ridge = self.parts
        return ridge.prox(lasso.prox(v, step), step)


@dataclass(frozen=True)
class BridgePenalty(Penalty):
    """strength times the sum of `|w|^h`, for any h > 0; convex from h = 1 on.

    Below 1 the proximal operator is discontinuous: the better of 0 and the larger root.

    References
    ----------
    I. Frank and J. Friedman (1993), A statistical view of some chemometrics regression tools.

    Examples
    --------
    >>> import numpy as np
    >>> BridgePenalty(0.5, h=2).prox(np.array([3.0]), step=1.0).tolist()  # as L2Penalty(1)
    [1.5]
    """

    strength: float
    h: float
    smooth: ClassVar[bool] = False  # the curvature is unbounded at 0 for h < 2

    @property
    def convex(self) -> bool:
        return self.h >= 1

    def value(self, w: np.ndarray) -> float:
        return self.strength * float((np.abs(w) ** self.h).sum())

    def gradient(self, w: np.ndarray) -> np.ndarray:
        size = np.where(w == 0, 1.0, np.abs(w))
        return self.strength * self.h * np.sign(w) * size ** (self.h - 1)

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        if self.h == 1:
            return L1Penalty(self.strength).prox(v, step)
        return np.sign(v) * self._prox_magnitude(np.abs(v), step * self.strength)

    def _prox_magnitude(self, a: np.ndarray, t: float) -> np.ndarray:
        """The root u in [0, a] of u + t h u^(h-1) = a; for h < 1 the larger one, or 0."""
        h = self.h
        # for h < 1 the left side decreases up to `minimizer` and increases from there on
        minimizer = (t * h * (1 - h)) ** (1 / (2 - h)) if h < 1 else 0.0
        low, high = np.minimum(np.full_like(a, minimizer), a), a.copy()
        for _ in range(_BISECTION_STEPS):
            u = (low + high) / 2
            with np.errstate(divide="ignore"):
                above = u + t * h * u ** (h - 1) > a
            low, high = np.where(above, low, u), np.where(above, u, high)
        u = (low + high) / 2
        if h > 1:
            return u
        return np.where((u - a) ** 2 / 2 + t * u**h < a**2 / 2, u, 0.0)


PENALTIES = ("l1", "l2", "elasticnet", "hnorm", None)
