"""Choice of units and layout of gradients as whole numbers; see `_fixed_point_numba`."""

from __future__ import annotations

from math import frexp, isfinite
from typing import NamedTuple

import numpy as np

from tenfold.tree._fixed_point_numba import (
    COARSE,
    COARSE_UNIT,
    CONSTANT,
    EXACT_G,
    EXACT_H,
    FINE,
    FINE_H_BITS,
    G_BITS,
)
from tenfold.tree._losses import BoostingLoss, are_copies

_MIN_COARSE_ROWS = 2**16  # with fewer rows, rounding to 16 bits could be seen in the trees


class Units(NamedTuple):
    """Layout of words, inverse units of g and h in them, units in histograms and in leaves."""

    layout: int
    scale_g: float
    scale_h: float
    histogram: tuple[float, float]
    leaf: tuple[float, float]


class GradientRange(NamedTuple):
    """The largest gradient and curvature of some rows; merges by the larger ones."""

    g: float
    h: float

    def merge(self, other: GradientRange) -> GradientRange:
        return GradientRange(max(self.g, other.g), max(self.h, other.h))


class RowWeights(NamedTuple):
    """Weights of rows as copies of them, where they are small whole numbers, or as factors.

    Attributes
    ----------
    copies : (n,) int64 array, or an empty one
    factors : (n,) array or None
    most : the largest number of copies, at least 1
    total : rows with all copies
    """

    copies: np.ndarray
    factors: np.ndarray | None
    most: int
    total: int

    @classmethod
    def of(cls, w: np.ndarray | None, n_rows: int) -> RowWeights:
        """Whole weights up to 64 are copies: then a fit is that to the repeated rows exactly."""
        none = np.zeros(0, np.int64)
        if w is None:
            return cls(none, None, 1, n_rows)
        if are_copies(w):
            copies = w.astype(np.int64)
            return cls(copies, None, max(int(copies.max(initial=1)), 1), int(copies.sum()))
        return cls(none, w, 1, n_rows)


def choose_layout(loss: BoostingLoss, n_rows: int, *, weighted: bool) -> int:
    """The layout of words for a loss; it depends on the number of rows and nothing else of them."""
    if loss.constant and not weighted:
        return CONSTANT
    if loss.bounded and not weighted and n_rows >= _MIN_COARSE_ROWS:
        return COARSE
    return FINE


def known_range(loss: BoostingLoss, max_weight: float) -> GradientRange | None:
    """The range of gradients where it is known without a look at the rows."""
    return GradientRange(max_weight, max_weight / 4) if loss.bounded else None


def gradient_range(g: np.ndarray, h: np.ndarray | None) -> GradientRange:
    """The range of the gradients of some rows."""
    largest = float(np.abs(g).max(initial=0.0))
    return GradientRange(largest, 1.0 if h is None else float(np.abs(h).max(initial=0.0)))


def choose_units(layout: int, span: GradientRange, n_rows: int) -> Units:
    """Units in which sums over all rows do not overflow."""
    if not (isfinite(span.g) and isfinite(span.h)):
        raise ValueError(
            "gradients of the loss are not finite: targets or scores are too large; scale y, or "
            "lower learning_rate; a loss of your own must return finite gradients and curvatures"
        )
    if span.h == 0 and span.g > 0:
        raise ValueError(
            "the curvature of the loss is 0 in all rows, so steps have no length; scale y, or "
            "return a positive curvature, such as 1, where the loss has none"
        )
    if layout == COARSE:
        histogram = (COARSE_UNIT, COARSE_UNIT)
        return Units(layout, 1.0, 1.0, histogram, (1 / EXACT_G, 1 / EXACT_H))
    g_bits = min(G_BITS, 61 - n_rows.bit_length())
    unit_g = 2.0 ** max(frexp(span.g)[1] - g_bits, -1000)
    unit_h = 1.0 if layout == CONSTANT else 2.0 ** max(frexp(span.h)[1] - FINE_H_BITS, -1000)
    return Units(layout, 1 / unit_g, 1 / unit_h, (unit_g, unit_h), (unit_g, unit_h))
