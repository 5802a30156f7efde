r"""Coverage of prediction intervals: how often the truth is inside, beside what they promise.

An interval of level p around a Gaussian prediction reaches :math:`\Phi^{-1}((1 + p) / 2)` standard
deviations to both sides. Predictions are calibrated if the share of targets inside is p, for every
level.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

_DEFAULT_LEVELS = tuple(np.round(np.arange(0.05, 1.0, 0.05), 2))


class IntervalCoverage(NamedTuple):
    """Shares of targets inside intervals of several levels.

    Attributes
    ----------
    levels : (n_levels,) levels
    coverage : (n_levels,) weighted share of targets inside the interval of each level
    error : mean distance of the two, the calibration error
    """

    levels: np.ndarray
    coverage: np.ndarray
    error: float


def interval_coverage(
    y: Any, mean: Any, std: Any, *, levels: Any = _DEFAULT_LEVELS, sample_weight: Any = None
) -> IntervalCoverage:
    """Share of targets inside central Gaussian intervals, for each level.

    Parameters
    ----------
    y : (n,) array
        Targets.
    mean, std : (n,) arrays
        Mean and standard deviation of the prediction of each.
    levels : (n_levels,) array
        Levels between 0 and 1.
    sample_weight : (n,) array, optional
        Weights.

    Returns
    -------
    IntervalCoverage

    See Also
    --------
    Calibration : The same question about probabilities of classes.
    tenfold.plot.coverage_curve : Its picture.

    References
    ----------
    V. Kuleshov, N. Fenner, S. Ermon (2018), "Accurate uncertainties for deep learning using
    calibrated regression".

    Examples
    --------
    >>> found = interval_coverage([0.0, 0.5, 3.0], [0, 0, 0], [1, 1, 1], levels=[0.5, 0.9])
    >>> found.coverage.round(3).tolist()
    [0.667, 0.667]
    """
    y, mean, std = (np.asarray(a, np.float64) for a in (y, mean, std))
    levels = np.atleast_1d(np.asarray(levels, np.float64))
    if not y.shape == mean.shape == std.shape or y.ndim != 1 or not len(y):
        raise ValueError(
            f"y, mean and std are one number for each row, but have shapes {y.shape}, "
            f"{mean.shape} and {std.shape}"
        )
    if not (np.isfinite(y).all() and np.isfinite(mean).all() and (std >= 0).all()):
        raise ValueError("y and mean must be finite, and no std may be negative or NaN")
    if not ((levels > 0) & (levels < 1)).all():
        raise ValueError(f"levels are between 0 and 1, got {levels.tolist()}")
    distance = np.abs(y - mean)
    inside = [distance <= width * std for width in ndtri((1 + levels) / 2)]
    coverage = np.average(inside, axis=1, weights=sample_weight)
    return IntervalCoverage(levels, coverage, float(np.abs(coverage - levels).mean()))
