"""One number from another: a curve seen through Gaussian noise."""

from collections.abc import Callable

import numpy as np

from tenfold.datasets.arguments import Seed, check_count, check_scale


def make_sine(
    n_samples: int = 100, *, noise: float = 0.35, random_state: Seed = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""One period of a sine [001, sec. 1.2, (15)].

    .. math:: y = \sin(2 \pi x) + \sigma \varepsilon, \quad x \sim U[0, 1), \quad
              \varepsilon \sim N(0, 1)

    Parameters
    ----------
    n_samples : int
        Number of points.
    noise : float
        The standard deviation :math:`\sigma`; the note's figures have 0.35 and 8 or 100 points.
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
    return _seen(lambda x: np.sin(2 * np.pi * x), (0, 1), n_samples, noise, random_state)


def make_cosine(
    n_samples: int = 100, *, noise: float = 0.4, random_state: Seed = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""One period of a cosine [001, exercises 1.2.3 and 1.2.5, (19)].

    .. math:: y = \cos(2 \pi x) + \sigma \varepsilon, \quad x \sim U[0, 1), \quad
              \varepsilon \sim N(0, 1)

    Parameters
    ----------
    n_samples : int
        Number of points.
    noise : float
        The standard deviation :math:`\sigma`; the note gives the variance, 0.16.
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
    return _seen(lambda x: np.cos(2 * np.pi * x), (0, 1), n_samples, noise, random_state)


def make_cubic(
    n_samples: int = 100, *, noise: float = 0.3, random_state: Seed = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""A cubic polynomial [001, sec. 1.2, Figs 7 and 8].

    .. math:: y = -6 + \tfrac{23}{2} x - 6 x^2 + x^3 + \sigma \varepsilon, \quad
              x \sim U[1, 3), \quad \varepsilon \sim N(0, 1)

    Parameters
    ----------
    n_samples : int
        Number of points.
    noise : float
        The standard deviation :math:`\sigma`; the note's figures have 0.1, 0.3 and 1.
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
    return _seen(curve, (1, 3), n_samples, noise, random_state)


def make_wiggle(
    n_samples: int = 100, *, bias: float = 0.0, noise: float = 1.0, random_state: Seed = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""A parabola with ripples [000, ch. 2, Fig. 2.3, Bayesian network with adaptive basis].

    .. math:: y = \sin(10 x) + x^2 + b + \sigma \varepsilon, \quad x \sim U[-2, 2), \quad
              \varepsilon \sim N(0, 1)

    Parameters
    ----------
    n_samples : int
        Number of points.
    bias : float
        The constant :math:`b`.
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
    return _seen(lambda x: np.sin(10 * x) + x**2 + bias, (-2, 2), n_samples, noise, random_state)


def _seen(
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
