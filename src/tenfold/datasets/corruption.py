"""Corruption of data: noisy pixels and coordinates, wrong labels, translated images."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tenfold.datasets._base import Seed, check_count, check_scale, check_share


def corrupt_pixels(
    images: ArrayLike, *, ratio: float = 0.5, random_state: Seed = None
) -> np.ndarray:
    r"""Add noise to a random share of the pixels.

    .. math:: \tilde x_j = x_j + b_j u_j, \quad b_j \sim \mathrm{Bernoulli}(\epsilon), \quad
              u_j \sim U[0, 1)

    Parameters
    ----------
    images : ndarray of any shape
        Pixels from 0 to 1.
    ratio : float
        The probability :math:`\epsilon` that a pixel is corrupted.
    random_state : int, Generator, RandomState or None
        Seed.

    Returns
    -------
    ndarray
        A corrupted float64 copy, not clipped at 1.

    Examples
    --------
    >>> noisy = corrupt_pixels(np.zeros((10, 784)), ratio=0.5, random_state=0)
    >>> round(float((noisy > 0).mean()), 1)
    0.5
    """
    pixels = np.asarray(images)
    if pixels.size and not (pixels.min() >= 0 and pixels.max() <= 1):
        raise ValueError(
            "pixels must be from 0 to 1 (divide bytes by 255), "
            f"got {pixels.min()} to {pixels.max()}"
        )
    return corrupt_coordinates(pixels, ratio=ratio, intensity=1.0, random_state=random_state)


def corrupt_coordinates(
    X: Any,
    *,
    ratio: float = 0.5,
    intensity: float = 0.01,
    random_state: Seed = None,
) -> Any:
    r"""Add weak noise to a random share of all coordinates.

    .. math:: \tilde x_{ij} = x_{ij} + \delta\, b_{ij} u_{ij}, \quad
              b_{ij} \sim \mathrm{Bernoulli}(\epsilon), \quad u_{ij} \sim U[0, 1)

    Parameters
    ----------
    X : ndarray or sparse array
        For example tf-idf values.
    ratio : float
        The probability :math:`\epsilon` that a coordinate is corrupted.
    intensity : float
        The factor :math:`\delta` of the noise.
    random_state : int, Generator, RandomState or None
        Seed.

    Returns
    -------
    ndarray or CSR array
        A corrupted float64 copy, sparse if X is; a fraction `ratio` of it, at least, is not zero.

    Examples
    --------
    >>> noisy = corrupt_coordinates(np.ones((100, 50)), ratio=0.1, random_state=0)
    >>> round(float((noisy != 1).mean()), 1), bool(noisy.max() < 1.01)
    (0.1, True)
    """
    from scipy import sparse

    share, scale = check_share("ratio", ratio), check_scale("intensity", intensity)
    rng = np.random.default_rng(random_state)
    if not sparse.issparse(X):
        clean = np.asarray(X, dtype=float)
        return clean + scale * np.where(rng.random(clean.shape) < share, rng.random(clean.shape), 0)
    cells = X.shape[0] * X.shape[1]
    density = rng.binomial(cells, share) / max(cells, 1)  # all entries are then equally likely
    noise = sparse.random_array(X.shape, density=density, format="csr", rng=rng)
    return sparse.csr_array(X, dtype=float) + scale * noise


def corrupt_labels(y: ArrayLike, *, ratio: float = 0.1, random_state: Seed = None) -> np.ndarray:
    """Give a random share of the labels another class.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of at least two classes.
    ratio : float
        Share of labels that are changed: exactly the nearest whole number of them.
    random_state : int, Generator, RandomState or None
        Seed.

    Returns
    -------
    ndarray of shape (n,)
        A copy with wrong labels, each drawn evenly from the other classes.

    Examples
    --------
    >>> y = np.array([0, 1] * 50)
    >>> int((corrupt_labels(y, ratio=0.2, random_state=0) != y).sum())
    20
    """
    classes, codes = np.unique(y, return_inverse=True)
    wrong = round(check_share("ratio", ratio) * len(codes))
    if wrong and len(classes) < 2:
        raise ValueError(f"labels of one class cannot be wrong, got only {classes.tolist()}")
    rng = np.random.default_rng(random_state)
    places = rng.choice(len(codes), wrong, replace=False)
    codes[places] += rng.integers(1, max(len(classes), 2), wrong)
    return classes[codes % max(len(classes), 1)]


def pad_images(images: ArrayLike, *, thickness: int = 20, random_state: Seed = None) -> np.ndarray:
    """Put each image at a random place in a larger, empty one.

    Parameters
    ----------
    images : ndarray of shape (n, height, width)
        Grey images.
    thickness : int
        How much larger, in each direction.
    random_state : int, Generator, RandomState or None
        Seed.

    Returns
    -------
    ndarray of shape (n, height + thickness, width + thickness)
        Zero around the images; of the same dtype.

    Examples
    --------
    >>> pad_images(np.ones((5, 28, 28)), random_state=0).shape
    (5, 48, 48)
    """
    pictures, extra = np.asarray(images), check_count("thickness", thickness, least=0)
    if pictures.ndim != 3:
        raise ValueError(f"images must have shape (n, height, width), got {pictures.shape}")
    n, height, width = pictures.shape
    rng = np.random.default_rng(random_state)
    top, left = rng.integers(extra + 1, size=(2, n, 1, 1))
    padded = np.zeros((n, height + extra, width + extra), dtype=pictures.dtype)
    rows, columns = np.arange(height)[:, None], np.arange(width)
    padded[np.arange(n)[:, None, None], top + rows, left + columns] = pictures
    return padded
