"""Synthetic classification problems in the plane: noisy XOR, rings, three clusters."""

from collections.abc import Sequence

import numpy as np

from tenfold.datasets._base import Seed, check_count, check_scale

_XOR_CENTERS = np.array([[1.0, 1.0], [-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0]])
_XOR_LABELS = np.array([1, 1, 0, 0])
_CLOUD_CENTERS = np.array([[-2.0, -2.0], [0.0, 0.0], [2.0, 2.0]])
_CLOUD_LABELS = np.array([0, 1, 0])


def make_noisy_xor(
    n_samples: int = 100, *, noise: float = 0.3, random_state: Seed = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""The XOR problem with noise: four clusters that are not linearly separable.

    .. math:: x = c + \sigma \varepsilon, \quad \varepsilon \sim N(0, I), \quad
              c \in \{(1,1), (-1,-1)\} \to y = 1, \quad c \in \{(-1,1), (1,-1)\} \to y = 0

    Parameters
    ----------
    n_samples : int
        Number of points, shared evenly among the clusters, in random order.
    noise : float
        The standard deviation :math:`\sigma`.
    random_state : int, Generator, RandomState or None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        1 where the two center coordinates have the same sign, else 0.

    Examples
    --------
    >>> X, y = make_noisy_xor(4, noise=0, random_state=0)
    >>> bool(np.all((X[:, 0] * X[:, 1] > 0) == y))
    True
    """
    check_scale("noise", noise)
    rng = np.random.default_rng(random_state)
    cluster = _assign_evenly(n_samples, 4, rng)
    X = _XOR_CENTERS[cluster] + noise * rng.standard_normal((len(cluster), 2))
    return X, _XOR_LABELS[cluster]


def make_rings(
    n_samples: int = 100,
    *,
    radii: Sequence[float] = (1.0, 2.0),
    noise: float = 0.1,
    random_state: Seed = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Concentric rings, one class each.

    .. math:: x = r_y (\cos t, \sin t) + \sigma \varepsilon, \quad t \sim U[0, 2\pi), \quad
              \varepsilon \sim N(0, I)

    Parameters
    ----------
    n_samples : int
        Number of points, shared evenly among the rings, in random order.
    radii : sequence of float
        The radius :math:`r_y` of each ring: as many rings as you like.
    noise : float
        The standard deviation :math:`\sigma`.
    random_state : int, Generator, RandomState or None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        The number of the ring, from 0, in the order of `radii`.

    Examples
    --------
    >>> X, y = make_rings(6, radii=(1, 3, 9), noise=0, random_state=0)
    >>> bool(np.allclose(np.hypot(X[:, 0], X[:, 1]), np.array([1, 3, 9])[y]))
    True
    """
    check_scale("noise", noise)
    lengths = np.asarray(radii, dtype=float)
    if lengths.ndim != 1 or not lengths.size or not np.all(np.isfinite(lengths) & (lengths >= 0)):
        raise ValueError(f"radii must be finite numbers that are not negative, got {radii!r}")
    rng = np.random.default_rng(random_state)
    ring = _assign_evenly(n_samples, len(lengths), rng)
    angle = rng.uniform(0, 2 * np.pi, len(ring))
    X = lengths[ring, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + noise * rng.standard_normal(X.shape), ring


def make_three_clouds(
    n_samples: int = 180, *, noise: float = 0.35, random_state: Seed = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""Three clusters on a line: one class between the two clusters of the other.

    .. math:: x = c + \sigma \varepsilon, \quad \varepsilon \sim N(0, I), \quad
              c = (0, 0) \to y = 1, \quad c \in \{(-2,-2), (2,2)\} \to y = 0

    Parameters
    ----------
    n_samples : int
        Number of points, shared evenly among the clusters, in random order.
    noise : float
        The standard deviation :math:`\sigma`.
    random_state : int, Generator, RandomState or None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        1 in the middle, 0 at both ends.

    Examples
    --------
    >>> X, y = make_three_clouds(9, noise=0, random_state=0)
    >>> np.unique(X[y == 0], axis=0)
    array([[-2., -2.],
           [ 2.,  2.]])
    """
    check_scale("noise", noise)
    rng = np.random.default_rng(random_state)
    cloud = _assign_evenly(n_samples, 3, rng)
    X = _CLOUD_CENTERS[cloud] + noise * rng.standard_normal((len(cloud), 2))
    return X, _CLOUD_LABELS[cloud]


def _assign_evenly(n_samples: int, parts: int, rng: np.random.Generator) -> np.ndarray:
    """Return the part of each sample: sizes differ by one at most, the order is random."""
    return rng.permutation(np.arange(check_count("n_samples", n_samples)) % parts)
