"""Synthetic regression problems: noisy curves, house sales, time series."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from tenfold.datasets._base import Seed, check_count, check_scale, check_share


def make_sine(
    n_samples: int = 100, *, noise: float = 0.35, random_state: Seed = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""One period of a sine.

    .. math:: y = \sin(2 \pi x) + \sigma \varepsilon, \quad x \sim U[0, 1), \quad
              \varepsilon \sim N(0, 1)

    Parameters
    ----------
    n_samples : int
        Number of points.
    noise : float
        The standard deviation :math:`\sigma`.
    random_state : int, Generator, RandomState or None
        Seed; the same seed gives the same `X` at every noise.

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
    y : ndarray of shape (n_samples,)

    Examples
    --------
    >>> X, y = make_sine(8, noise=0, random_state=0)
    >>> bool(np.all(y == np.sin(2 * np.pi * X[:, 0])))
    True
    """
    return _sample_curve(lambda x: np.sin(2 * np.pi * x), (0, 1), n_samples, noise, random_state)


def make_cosine(
    n_samples: int = 100, *, noise: float = 0.4, random_state: Seed = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""One period of a cosine.

    .. math:: y = \cos(2 \pi x) + \sigma \varepsilon, \quad x \sim U[0, 1), \quad
              \varepsilon \sim N(0, 1)

    Parameters
    ----------
    n_samples : int
        Number of points.
    noise : float
        The standard deviation :math:`\sigma`; the default is a variance of 0.16.
    random_state : int, Generator, RandomState or None
        Seed; the same seed gives the same `X` at every noise.

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
    y : ndarray of shape (n_samples,)

    Examples
    --------
    >>> X, y = make_cosine(8, noise=0, random_state=0)
    >>> bool(np.all(y == np.cos(2 * np.pi * X[:, 0])))
    True
    """
    return _sample_curve(lambda x: np.cos(2 * np.pi * x), (0, 1), n_samples, noise, random_state)


def make_cubic(
    n_samples: int = 100, *, noise: float = 0.3, random_state: Seed = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""A cubic polynomial.

    .. math:: y = -6 + \tfrac{23}{2} x - 6 x^2 + x^3 + \sigma \varepsilon, \quad
              x \sim U[1, 3), \quad \varepsilon \sim N(0, 1)

    Parameters
    ----------
    n_samples : int
        Number of points.
    noise : float
        The standard deviation :math:`\sigma`.
    random_state : int, Generator, RandomState or None
        Seed; the same seed gives the same `X` at every noise.

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
    y : ndarray of shape (n_samples,)

    Examples
    --------
    >>> X, y = make_cubic(8, noise=0, random_state=0)
    >>> bool(np.allclose(y, np.polyval([1, -6, 11.5, -6], X[:, 0])))
    True
    """
    curve = np.polynomial.Polynomial([-6, 23 / 2, -6, 1])
    return _sample_curve(curve, (1, 3), n_samples, noise, random_state)


def make_wiggle(
    n_samples: int = 100, *, bias: float = 0.0, noise: float = 1.0, random_state: Seed = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""A parabola with a sine of higher frequency.

    .. math:: y = \sin(10 x) + x^2 + b + \sigma \varepsilon, \quad x \sim U[-2, 2), \quad
              \varepsilon \sim N(0, 1)

    Parameters
    ----------
    n_samples : int
        Number of points.
    bias : float
        The intercept :math:`b`.
    noise : float
        The standard deviation :math:`\sigma`.
    random_state : int, Generator, RandomState or None
        Seed; the same seed gives the same `X` at every noise.

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
    y : ndarray of shape (n_samples,)

    Examples
    --------
    >>> X, y = make_wiggle(8, noise=0, random_state=0)
    >>> bool(np.all(y == np.sin(10 * X[:, 0]) + X[:, 0] ** 2))
    True
    """
    return _sample_curve(
        lambda x: np.sin(10 * x) + x**2 + bias, (-2, 2), n_samples, noise, random_state
    )


def _sample_curve(
    curve: Callable[[np.ndarray], np.ndarray],
    between: tuple[float, float],
    n_samples: int,
    noise: float,
    random_state: Seed,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw x evenly, then add noise to the curve."""
    n, scale = check_count("n_samples", n_samples), check_scale("noise", noise)
    rng = np.random.default_rng(random_state)
    x = rng.uniform(*between, n)
    return x[:, None], curve(x) + scale * rng.standard_normal(n)


_HOUSE_TYPES = ("condo", "town house", "single-family")
_TYPE_VALUE = np.array([0.0, 30_000.0, 80_000.0])
_MANSION_SHARE = 0.01  # share of houses with 10 to 27 bedrooms


def make_house_sales(
    n_samples: int = 1000,
    *,
    n_regions: int = 20,
    noise: float = 20_000.0,
    random_state: Seed = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Sales of houses: area, bedrooms, type and zip code give the price.

    .. math:: \text{price} = 50000 + 1000\, a + 100000 \log_2(1 + b) + v_t
              + 60000 \sin p + 5000 \sin z + \sigma \varepsilon, \quad \varepsilon \sim N(0, 1)

    for area a in square metres, b bedrooms, type value v of 0 (condo), 30,000 (town house) or
    80,000 (single-family), zip code z and its first three digits p = z // 100: the region.
    The value of a bedroom decreases (one is worth 100,000, three are worth 200,000): a linear
    effect of the count does not fit, indicators do. The region explains nearly all that a zip code
    does.

    Parameters
    ----------
    n_samples : int
        Number of sales.
    n_regions : int, at most 900
        Number of regions of 100 zip codes each, from 10000 on.
    noise : float
        The standard deviation :math:`\sigma` of a price.
    random_state : int, Generator, RandomState or None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 4)
        Columns: area (30 + 25 b to 40 more), bedrooms (1 + Poisson(2); in one sale of a hundred 10
        to 27), type (0, 1, 2 as above), zip code.
    y : ndarray of shape (n_samples,)
        The price.

    Examples
    --------
    >>> X, y = make_house_sales(500, noise=0, random_state=0)
    >>> area, bedrooms, kind, zip_code = X.T
    >>> bool(bedrooms.min() >= 1), bool(zip_code.max() < 12000)
    (True, True)
    """
    n, scale = check_count("n_samples", n_samples), check_scale("noise", noise)
    if check_count("n_regions", n_regions) > 900:
        raise ValueError(f"n_regions must be at most 900: codes have five digits, got {n_regions}")
    rng = np.random.default_rng(random_state)
    bedrooms = _sample_bedrooms(n, rng)
    area = 30 + 25 * bedrooms + rng.uniform(0, 40, n)
    kind = rng.integers(3, size=n)
    code = 10_000 + rng.integers(100 * n_regions, size=n)
    price = 50_000 + 1_000 * area + 100_000 * np.log2(1 + bedrooms) + _TYPE_VALUE[kind]
    price += 60_000 * np.sin(code // 100) + 5_000 * np.sin(code)
    X = np.column_stack([area, bedrooms, kind, code]).astype(float)
    return X, price + scale * rng.standard_normal(n)


def _sample_bedrooms(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(n) < _MANSION_SHARE, rng.integers(10, 28, n), 1 + rng.poisson(2, n))


def make_exchange_rate(
    n_samples: int = 500,
    *,
    window: int = 4,
    start: float = 1.1,
    noise: float = 0.005,
    reversion: float = 0.01,
    random_state: Seed = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""A mean-reverting random walk in logarithms, like an exchange rate.

    .. math:: r_t = r_0 e^{z_t}, \quad z_t = (1 - \kappa) z_{t-1} + \sigma \varepsilon_t, \quad
              z_0 = 0, \quad \varepsilon_t \sim N(0, 1)

    Parameters
    ----------
    n_samples : int
        Number of rows.
    window : int
        Number of earlier values in a row.
    start : float
        The first value :math:`r_0`.
    noise : float
        The standard deviation :math:`\sigma` of a step, 0.005 being half a percent.
    reversion : float between 0 and 1
        Rate :math:`\kappa` of reversion to the first value; at 0 the logarithm is a random walk.
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
    """Make rows of the last values and the next one from a series.

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
