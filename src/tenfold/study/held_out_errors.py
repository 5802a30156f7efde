"""Intervals of predictions from errors on rows that were held out."""

from __future__ import annotations

from math import ceil

import numpy as np

QUANTILES = 1001  # that are kept


def quantiles(errors: np.ndarray) -> np.ndarray:
    """Ascending quantiles of absolute errors, few enough to be saved."""
    return np.quantile(np.abs(errors), np.linspace(0, 1, QUANTILES))


def half_width(known: np.ndarray, n: int, level: float) -> float:
    """Half the width of an interval that contains a share of `level` of new values.

    Split conformal prediction: of n + 1 exchangeable errors the new one is as likely as any other
    to be among the largest.

    Parameters
    ----------
    known : (m,) array
        What `quantiles` gave.
    n : int
        Number of errors it was made of.
    level : float
        Share of values that lie within.

    Examples
    --------
    >>> half_width(quantiles(np.arange(1.0, 100.0)), 99, 0.9)
    90.09...
    """
    if not 0 < level < 1:
        raise ValueError(f"level={level} must lie between 0 and 1, such as 0.9")
    share = min(ceil((n + 1) * level) / n, 1.0)
    return float(np.interp(share, np.linspace(0, 1, len(known)), known))
