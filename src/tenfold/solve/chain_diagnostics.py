"""How well Markov chains mixed: R-hat, effective sample size, autocorrelation time.

Points are (chains, draws, d) everywhere. [Gelman et al. 2013, Bayesian Data Analysis, 11.4-11.5]
"""

from __future__ import annotations

import numpy as np


def split_r_hat(points: np.ndarray) -> np.ndarray:
    """Spread of all draws over the spread within half chains, (d,): 1 when the halves agree.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).normal(size=(4, 1000, 1))
    >>> apart = draws + np.arange(4)[:, None, None]
    >>> bool(split_r_hat(draws)[0] < 1.01), bool(split_r_hat(apart)[0] > 1.3)
    (True, True)
    """
    within, total = _variances(halved(points))
    return np.sqrt(np.divide(total, within, out=np.ones_like(total), where=within > 0))


def effective_size(points: np.ndarray) -> np.ndarray:
    """Independent draws that know each mean as well as these, (d,).

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).normal(size=(4, 1000, 1))
    >>> bool(3000 < effective_size(draws)[0] < 5000)
    True
    """
    return points.shape[0] * points.shape[1] / autocorrelation_time(points)


def autocorrelation_time(points: np.ndarray) -> np.ndarray:
    """1 + twice the sum of the autocorrelations of all chains together, (d,).

    The sum ends where pairs of neighbours stop falling (Geyer's initial monotone sequence).

    Examples
    --------
    An autoregression with coefficient 0.5 forgets in (1 + 0.5) / (1 - 0.5) = 3 draws:

    >>> import numpy as np
    >>> from scipy.signal import lfilter
    >>> noise = np.random.default_rng(0).normal(size=(4, 20_000, 1))
    >>> round(float(autocorrelation_time(lfilter([1], [1, -0.5], noise, axis=1))[0]), 1)
    3.0
    """
    points = halved(points)
    within, total = _variances(points)
    draws = points.shape[1]
    covariance = autocovariances(points).mean(axis=0) * draws / (draws - 1)
    lost = np.divide(
        within - covariance, total, out=np.zeros_like(covariance), where=total > 0
    )  # of what a draw knows about one that lies so many draws away
    rho = 1 - lost
    rho[0] = 1.0
    pairs = rho[: draws // 2 * 2].reshape(-1, 2, rho.shape[1]).sum(axis=1)
    falling = np.minimum.accumulate(np.maximum(pairs, 0.0), axis=0)
    least = 1 / np.log10(10 * points.shape[0] * draws)  # chains that overshoot: not below this
    return np.maximum(2 * falling.sum(axis=0) - 1, least)


def autocovariances(points: np.ndarray) -> np.ndarray:
    """Autocovariance of each chain at all lags, (chains, draws, d), by Fourier transforms."""
    draws = points.shape[1]
    size = 2 ** int(2 * draws - 1).bit_length()  # twice as long: nothing wraps around
    spectrum = np.fft.rfft(points - points.mean(axis=1, keepdims=True), size, axis=1)
    return np.fft.irfft(np.abs(spectrum) ** 2, size, axis=1)[:, :draws] / draws


def halved(points: np.ndarray) -> np.ndarray:
    """Each chain as two chains of half the length: a chain that drifts then disagrees."""
    half = points.shape[1] // 2
    if half < 2:
        raise ValueError(f"at least 4 draws a chain are needed, not {points.shape[1]}")
    return np.concatenate([points[:, :half], points[:, -half:]])


def _variances(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Variance within chains, and an estimate of that of the density, both (d,)."""
    draws = points.shape[1]
    within = points.var(axis=1, ddof=1).mean(axis=0)
    between = points.mean(axis=1).var(axis=0, ddof=1)
    return within, within * (draws - 1) / draws + between
