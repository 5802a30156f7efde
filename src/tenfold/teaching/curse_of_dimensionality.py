"""The curse of dimensionality: neighborhoods grow, distances concentrate, models keep rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

from tenfold.math.distances import squared_distances


def cube_edge(share: Any, d: Any) -> np.ndarray:
    r"""Edge of a cube inside the unit cube that holds a share of uniform points.

    .. math:: \ell = s^{1/d}

    A neighborhood with 1 % of the points has an edge of 0.01 on a line and of 0.63 in ten
    dimensions: it is not local any more.

    Parameters
    ----------
    share : float or array
        Share of the points, from 0 to 1.
    d : int or array
        Number of dimensions.

    Examples
    --------
    >>> cube_edge(0.01, [1, 2, 10]).round(2).tolist()
    [0.01, 0.1, 0.63]
    """
    share, d = np.asarray(share, np.float64), np.asarray(d, np.float64)
    if not ((share >= 0) & (share <= 1)).all():
        raise ValueError(f"share={share} must be from 0 to 1")
    _check_dimensions(d)
    return share ** (1.0 / d)


def ball_volume(d: Any, radius: float = 1.0) -> np.ndarray:
    r"""Volume of a ball in d dimensions, :math:`\pi^{d/2} r^d / \Gamma(d/2 + 1)`.

    Of the cube around it, the ball fills 79 % in two dimensions and 0.25 % in ten: almost all
    points of a cube lie in its corners.

    Parameters
    ----------
    d : int or array
        Number of dimensions.
    radius : float
        Radius.

    Examples
    --------
    >>> ball_volume([1, 2, 3]).round(3).tolist()
    [2.0, 3.142, 4.189]
    """
    d = np.asarray(d, np.float64)
    _check_dimensions(d)
    return np.exp(0.5 * d * np.log(np.pi) - gammaln(0.5 * d + 1.0)) * radius**d


def shell_share(thickness: float, d: Any) -> np.ndarray:
    r"""Share of a ball's volume within a relative distance of its surface, :math:`1 - (1 - t)^d`.

    Parameters
    ----------
    thickness : float
        Thickness t of the shell, as a share of the radius.
    d : int or array
        Number of dimensions.

    Examples
    --------
    >>> shell_share(0.05, [1, 2, 100]).round(3).tolist()
    [0.05, 0.098, 0.994]
    """
    d = np.asarray(d, np.float64)
    _check_dimensions(d)
    if not 0 <= thickness <= 1:
        raise ValueError(f"thickness={thickness} must be from 0 to 1")
    return 1.0 - (1.0 - thickness) ** d


def median_nearest_distance(n: Any, d: Any) -> np.ndarray:
    r"""Median distance from the center of a unit ball to the nearest of n uniform points.

    .. math:: \left(1 - 2^{-1/n}\right)^{1/d}

    Of 500 points in ten dimensions, even the nearest is more than half-way to the surface.

    Parameters
    ----------
    n : int or array
        Number of points.
    d : int or array
        Number of dimensions.

    References
    ----------
    T. Hastie, R. Tibshirani and J. Friedman (2009), The Elements of Statistical Learning, eq. 2.24.

    Examples
    --------
    >>> round(float(median_nearest_distance(500, 10)), 2)
    0.52
    """
    n, d = np.asarray(n, np.float64), np.asarray(d, np.float64)
    _check_dimensions(d)
    return (-np.expm1(-np.log(2.0) / n)) ** (1.0 / d)


def distance_moments(d: Any) -> tuple[np.ndarray, np.ndarray]:
    r"""Mean and standard deviation of the squared distance of two uniform points of the unit cube.

    .. math:: E \lVert x - y \rVert^2 = \frac{d}{6}, \qquad
              \operatorname{sd} = \sqrt{\frac{7 d}{180}}

    The mean grows with d, the deviation with its root only: relative to their mean, distances
    become equal.

    Parameters
    ----------
    d : int or array
        Number of dimensions.

    Examples
    --------
    >>> mean, deviation = distance_moments(60)
    >>> float(mean), round(float(deviation / mean), 3)
    (10.0, 0.153)
    """
    d = np.asarray(d, np.float64)
    _check_dimensions(d)
    return d / 6.0, np.sqrt(7.0 * d / 180.0)


def relative_contrast(X: Any, queries: Any) -> np.ndarray:
    r"""Distance of the farthest row relative to the nearest, :math:`(D_{max} - D_{min}) / D_{min}`.

    It tends to 0 as d grows if the variance of distances relative to their mean does: then the
    nearest neighbor says nothing.

    Parameters
    ----------
    X : (n, d) array
        The rows.
    queries : (m, d) array
        Points to measure from, none of which is a row.

    Returns
    -------
    (m,) array

    References
    ----------
    K. Beyer, J. Goldstein, R. Ramakrishnan and U. Shaft (1999), When is "nearest neighbor"
    meaningful?

    Examples
    --------
    >>> relative_contrast([[1.0], [3.0]], [[0.0]]).tolist()
    [2.0]
    """
    X, queries = np.asarray(X, np.float64), np.asarray(queries, np.float64)
    distances = np.sqrt(squared_distances(queries, X))
    nearest = distances.min(axis=1)
    if not nearest.all():
        row = int(np.argmin(nearest))
        raise ValueError(f"query {row} is one of the rows, so that its contrast is infinite")
    return distances.max(axis=1) / nearest - 1.0


def stored_numbers(model: Any) -> int:
    """How many numbers a fitted model keeps for predictions.

    A parametric model keeps as many however many rows it has seen. A non-parametric one, such as
    nearest neighbors or a kernel machine, keeps rows, or a coefficient for each of them.

    Parameters
    ----------
    model : fitted model
        Arrays and sparse matrices among its attributes are counted, also those of models and
        tuples that it holds; labels of training rows count, histories do not.

    Examples
    --------
    >>> import numpy as np, tenfold
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> stored_numbers(tenfold.LinearRegression().fit(X[:50], X[:50, 0])) == stored_numbers(
    ...     tenfold.LinearRegression().fit(X, X[:, 0])
    ... )
    True
    """
    return _count(vars(model), set())


def _count(value: Any, seen: set[int]) -> int:
    """Numbers in arrays below a value; an array that several attributes share counts once."""
    if isinstance(value, np.ndarray):
        base = value
        while isinstance(base.base, np.ndarray):
            base = base.base
        if id(base) in seen or value.dtype.kind not in "fiub":
            return 0
        seen.add(id(base))
        return value.size
    if hasattr(value, "tocsr"):
        return int(value.nnz)
    if isinstance(value, dict):
        return sum(_count(v, seen) for k, v in value.items() if k not in _NOT_STORED)
    if isinstance(value, tuple | list):
        return sum(_count(part, seen) for part in value)
    if hasattr(value, "__dict__") and type(value).__module__.startswith("tenfold"):
        if id(value) in seen:
            return 0
        seen.add(id(value))
        return _count(vars(value), seen)
    return 0


_NOT_STORED = {"history_", "statistic_"}


def _check_dimensions(d: np.ndarray) -> None:
    if not (d >= 1).all():
        raise ValueError(f"d={d} must be at least 1")
