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
_MOST = 10.0  # factor by which an extrapolated entry may grow or shrink


class Extrapolation(NamedTuple):
    """How far the next point lies beyond the last, as a share of the last move."""

    rate: float = _START
    limit: float = 1.0

    def beyond(self, after: np.ndarray, before: np.ndarray) -> np.ndarray:
        """The point beyond `after` on the way from `before`."""
        return after + self.rate * (after - before)

    def scale_beyond(self, after: np.ndarray, before: np.ndarray) -> np.ndarray:
        """The same for factors that move by multiplication: positive entries stay positive."""
        if self.rate == 0.0:
            return after
        ratio = np.divide(after, before, out=np.ones_like(after), where=before > 0)
        return after * np.clip(ratio, 1.0 / _MOST, _MOST) ** self.rate

    def grow(self) -> Extrapolation:
        """After a decrease."""
        limit = min(1.0, _LIMIT_GROWTH * self.limit)
        return Extrapolation(min(limit, _GROWTH * self.rate), limit)

    def shrink(self) -> Extrapolation:
        """After an increase."""
        return Extrapolation(self.rate / 2, self.rate)


NO_EXTRAPOLATION = Extrapolation(0.0, 0.0)
