r"""Penalties on coefficients: value, slope and prox.

The prox of a penalty is where a step that was taken without it ends when the penalty is added:
:math:`\arg\min_w \tfrac1{2t} \lVert w - v \rVert^2 + P(w)`. Exact zeros come from there.
[001, 1.2; 002, ch. 3; 004, 2.6]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

_BISECTION_STEPS = 60  # of bisection: to the last bit


class Penalty:
    """What all penalties share.

    Attributes
    ----------
    smooth : whether the slope is continuous and does not explode near zero
    convex : whether the penalty is convex
    """

    smooth: ClassVar[bool] = True

    @property
    def convex(self) -> bool:
        return True

    def value(self, w: np.ndarray) -> float:
        """The penalty of coefficients of any shape."""
        raise NotImplementedError

    def slope(self, w: np.ndarray) -> np.ndarray:
        """Derivative, entry by entry; 0 at a kink in 0."""
        raise NotImplementedError

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        """Minimiser of (w - v)^2 / (2 step) + P(w), entry by entry."""
        raise NotImplementedError


@dataclass(frozen=True)
class NoPenalty(Penalty):
    """Zero."""

    def value(self, w: np.ndarray) -> float:
        return 0.0

    def slope(self, w: np.ndarray) -> np.ndarray:
        return np.zeros_like(w)

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        return v


@dataclass(frozen=True)
class L2Penalty(Penalty):
    """`strength / 2 |w|^2`: the prior is normal."""

    strength: float

    def value(self, w: np.ndarray) -> float:
        return self.strength / 2 * float((w * w).sum())

    def slope(self, w: np.ndarray) -> np.ndarray:
        return self.strength * w

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        return v / (1 + step * self.strength)


@dataclass(frozen=True)
class L1Penalty(Penalty):
    """`strength |w|_1`: the prior is Laplace's.

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

    def slope(self, w: np.ndarray) -> np.ndarray:
        return self.strength * np.sign(w)

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        return np.sign(v) * np.maximum(np.abs(v) - step * self.strength, 0)


@dataclass(frozen=True)
class ElasticNetPenalty(Penalty):
    """`strength (l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2)`."""

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

    def slope(self, w: np.ndarray) -> np.ndarray:
        lasso, ridge = self.parts
        return lasso.slope(w) + ridge.slope(w)

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        lasso, ridge = self.parts
        return ridge.prox(lasso.prox(v, step), step)


@dataclass(frozen=True)
class BridgePenalty(Penalty):
    """strength times the sum of `|w|^h`, for any h > 0; convex from h = 1 on.

    Below 1 the prox jumps: it is the better of 0 and the larger root.

    Examples
    --------
    >>> import numpy as np
    >>> BridgePenalty(0.5, h=2).prox(np.array([3.0]), step=1.0).tolist()  # as L2Penalty(1)
    [1.5]
    """

    strength: float
    h: float
    smooth: ClassVar[bool] = False  # the curvature explodes at 0 for h < 2

    @property
    def convex(self) -> bool:
        return self.h >= 1

    def value(self, w: np.ndarray) -> float:
        return self.strength * float((np.abs(w) ** self.h).sum())

    def slope(self, w: np.ndarray) -> np.ndarray:
        size = np.where(w == 0, 1.0, np.abs(w))
        return self.strength * self.h * np.sign(w) * size ** (self.h - 1)

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        if self.h == 1:
            return L1Penalty(self.strength).prox(v, step)
        return np.sign(v) * self._size(np.abs(v), step * self.strength)

    def _size(self, a: np.ndarray, t: float) -> np.ndarray:
        """The root u in [0, a] of u + t h u^(h-1) = a; for h < 1 the larger one, or 0."""
        h = self.h
        # for h < 1 the left side falls up to `turn` and rises from there on
        turn = (t * h * (1 - h)) ** (1 / (2 - h)) if h < 1 else 0.0
        low, high = np.minimum(np.full_like(a, turn), a), a.copy()
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
