"""Series in time, and the rows that predict the next value from the last ones."""

import numpy as np
from numpy.typing import ArrayLike

from tenfold.datasets.arguments import Seed, check_count, check_scale, check_share


def make_exchange_rate(
    n_samples: int = 500,
    *,
    window: int = 4,
    start: float = 1.1,
    noise: float = 0.005,
    reversion: float = 0.01,
    random_state: Seed = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""A rate that wanders as that of the dollar in euros does [003, lecture 10].

    .. math:: r_t = r_0 e^{z_t}, \quad z_t = (1 - \kappa) z_{t-1} + \sigma \varepsilon_t, \quad
              z_0 = 0, \quad \varepsilon_t \sim N(0, 1)

    Parameters
    ----------
    n_samples : int
        Number of rows.
    window : int
        Number of earlier values in a row; the note takes 4.
    start : float
        The first value :math:`r_0`.
    noise : float
        The standard deviation :math:`\sigma` of a step, 0.005 being half a percent.
    reversion : float between 0 and 1
        The pull :math:`\kappa` towards the first value; at 0 the logarithm is a random walk.
    random_state : int, Generator, RandomState or None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, window)
        The values at t-1, t-2, ..., t-window.
    y : ndarray of shape (n_samples,)
        The value at t. Rows are in order of time.

    Examples
    --------
    >>> X, y = make_exchange_rate(5, window=2, random_state=0)
    >>> bool(np.all(X[1:, 0] == y[:-1])), bool(np.all(X[1:, 1] == X[:-1, 0]))
    (True, True)
    """
    from scipy.signal import lfilter

    length = check_count("n_samples", n_samples) + check_count("window", window)
    if not (np.isfinite(start) and start > 0):
        raise ValueError(f"start must be positive and finite, got {start!r}")
    rng = np.random.default_rng(random_state)
    steps = check_scale("noise", noise) * rng.standard_normal(length)
    steps[0] = 0
    keep = 1 - check_share("reversion", reversion)
    return make_windows(start * np.exp(lfilter([1.0], [1.0, -keep], steps)), window)


def make_windows(series: ArrayLike, window: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Make rows of the last values and the next one from a series [003, lecture 10].

    Parameters
    ----------
    series : array-like of shape (n,)
        Values in order of time.
    window : int
        Number of earlier values in a row.

    Returns
    -------
    X : ndarray of shape (n - window, window)
        The values at t-1, t-2, ..., t-window.
    y : ndarray of shape (n - window,)
        The value at t.

    Examples
    --------
    >>> make_windows([1, 2, 3, 4], window=2)
    (array([[2., 1.],
           [3., 2.]]), array([3., 4.]))
    """
    values = np.asarray(series, dtype=float)
    width = check_count("window", window)
    if values.ndim != 1 or len(values) <= width:
        raise ValueError(
            f"a series must have one axis and more than window={width} values, "
            f"got shape {values.shape}"
        )
    past = np.lib.stride_tricks.sliding_window_view(values[:-1], width)
    return past[:, ::-1].copy(), values[width:].copy()
