"""Extrapolation of alternating minimization: the next step begins beyond the last one.

While the objective decreases, the rate grows; a step that would increase it is taken back, and the
rate is halved.

References
----------
A. Ang and N. Gillis (2019), Accelerating nonnegative matrix factorization algorithms using
extrapolation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_START, _GROWTH, _LIMIT_GROWTH = 0.5, 1.1, 1.02


class Extrapolation(NamedTuple):
    """How far the next point lies beyond the last, as a share of the last move."""

    rate: float = _START
    limit: float = 1.0

    def beyond(self, after: np.ndarray, before: np.ndarray) -> np.ndarray:
        """The point beyond `after` on the way from `before`."""
        return after + self.rate * (after - before)

    def grow(self) -> Extrapolation:
        """After a decrease."""
        limit = min(1.0, _LIMIT_GROWTH * self.limit)
        return Extrapolation(min(limit, _GROWTH * self.rate), limit)

    def shrink(self) -> Extrapolation:
        """After an increase."""
        return Extrapolation(self.rate / 2, self.rate)


NO_EXTRAPOLATION = Extrapolation(0.0, 0.0)
