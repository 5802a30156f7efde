"""Norms, angles and projections; hyperplanes in each of their forms.

Vectors lie along the last axis, so that a matrix is a list of vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.math.links import as_float_array
from tenfold.teaching.linear_algebra import gram_schmidt


def norm(x: Any, order: float = 2) -> np.ndarray:
    r"""The l-norm of each vector, :math:`(\sum_i |x_i|^l)^{1/l}`; the largest entry for l = inf.

    Examples
    --------
    >>> float(norm([3, -4])), float(norm([3, -4], 1)), float(norm([3, -4], np.inf))
    (5.0, 7.0, 4.0)
    """
    if not order >= 1:
        raise ValueError(f"an l-norm needs l >= 1, got {order}: below, it is no norm")
    magnitude = np.abs(as_float_array(x))
    top = magnitude.max(axis=-1, keepdims=True, initial=0)
    if np.isinf(order):
        return top[..., 0]
    shares = magnitude / np.where((top > 0) & np.isfinite(top), top, 1)  # squares of 1e200 overflow
    return (shares**order).sum(axis=-1) ** (1 / order) * np.where(np.isinf(top), 1, top)[..., 0]


def dot(x: Any, y: Any) -> np.ndarray:
    """The dot product sum_i x_i y_i of vectors.

    Examples
    --------
    >>> float(dot([4, 1], [2, 3]))
    11.0
    """
    return np.vecdot(as_float_array(x), as_float_array(y))


def unit_vector(x: Any) -> np.ndarray:
    """Vectors of length one in the same direction.

    Examples
    --------
    >>> unit_vector([3, 4]).tolist()
    [0.6, 0.8]
    """
    x = as_float_array(x)
    length = norm(x)
    if not np.all(length > 0):
        raise ValueError("a vector of zeros has no direction")
    return x / length[..., None]


def angle(x: Any, y: Any) -> np.ndarray:
    """The angle between vectors, from 0 to pi, exact for nearly parallel ones too.

    Examples
    --------
    >>> float(np.degrees(angle([4, 1], [2, 3])).round(4))
    42.2737
    """
    u, v = unit_vector(x), unit_vector(y)
    return 2 * np.arctan2(norm(u - v), norm(u + v))


def scalar_projection(a: Any, b: Any) -> np.ndarray:
    """The signed length of a along b, `a.b / |b|`.

    Examples
    --------
    >>> float(scalar_projection([4, 1], [2, 3]).round(6))
    3.050851
    """
    return dot(a, unit_vector(b))


def vector_projection(a: Any, b: Any) -> np.ndarray:
    """The part of a along b, `(a.b / |b|^2) b`; the rest is orthogonal to b.

    Examples
    --------
    >>> vector_projection([4, 1], [2, 3]).round(6).tolist()
    [1.692308, 2.538462]
    """
    return scalar_projection(a, b)[..., None] * unit_vector(b)


def subspace_projection(x: Any, W: Any) -> np.ndarray:
    """The nearest point to x in the span of the columns of W: W W'x where they are orthonormal.

    Other columns are made orthonormal first; dependent ones change nothing.

    Parameters
    ----------
    x : (..., d) array
        Vectors.
    W : (d, r) array
        Columns that span the subspace.

    Examples
    --------
    >>> subspace_projection([1.0, 2.0, 3.0], [[1, 1], [0, 5], [0, 0]]).round(12).tolist()
    [1.0, 2.0, 0.0]
    """
    Q = gram_schmidt(W).Q
    return as_float_array(x) @ Q @ Q.T


@dataclass(frozen=True, eq=False)
class Hyperplane:
    """The points x with normal.x + offset = 0; any multiple of both is the same plane.

    Parameters
    ----------
    normal : (d,) array
        A vector orthogonal to the plane; it points to the positive side.
    offset : float
        Minus normal.x for any x on the plane; up to sign, `|normal|` times the distance of the
        origin.

    Examples
    --------
    >>> plane = Hyperplane.from_point([3, 1], normal=[2, 2])
    >>> plane.coefficients.tolist(), bool(plane.contains([1, 3])), float(plane.value([1, 4]))
    ([2.0, 2.0, -8.0], True, 2.0)
    >>> plane.project([6, 2]).round(12).tolist(), float(plane.signed_distance([6, 2]).round(6))
    ([4.0, 0.0], 2.828427)
    """

    normal: np.ndarray
    offset: float

    def __post_init__(self) -> None:
        normal = np.array(self.normal, float)
        if normal.ndim != 1 or not (np.isfinite(normal).all() and normal.any()):
            raise ValueError(f"a plane needs a normal of finite numbers, not all 0: got {normal}")
        object.__setattr__(self, "normal", normal)
        object.__setattr__(self, "offset", float(self.offset))

    @classmethod
    def from_coefficients(cls, coefficients: Any) -> Hyperplane:
        """The plane A x + B y + ... + D = 0 of the coefficients (A, B, ..., D)."""
        *normal, offset = np.asarray(coefficients, float)
        return cls(np.array(normal), offset)

    @classmethod
    def from_point(cls, point: Any, normal: Any) -> Hyperplane:
        """The plane (x - point).normal = 0."""
        return cls(np.asarray(normal, float), -float(dot(point, normal)))

    @classmethod
    def from_points(cls, points: Any) -> Hyperplane:
        """The plane through d points in d dimensions."""
        points = np.asarray(points, float)
        return cls.from_directions(points[0], points[1:] - points[0])

    @classmethod
    def from_directions(cls, point: Any, directions: Any) -> Hyperplane:
        """The plane {point + s_1 v_1 + ... + s_(d-1) v_(d-1)} of a point and d - 1 directions."""
        point = np.asarray(point, float)
        V = np.asarray(directions, float).reshape(-1, len(point))
        rank = gram_schmidt(V.T).Q.shape[1]
        if rank != len(point) - 1:
            raise ValueError(
                f"a plane in {len(point)} dimensions needs {len(point) - 1} independent "
                f"directions, got {rank}"
            )
        return cls.from_point(point, orthogonal_complement(V.T)[:, 0])

    @property
    def coefficients(self) -> np.ndarray:
        """The algebraic form (A, B, ..., D)."""
        return np.append(self.normal, self.offset)

    @property
    def point(self) -> np.ndarray:
        """The point of the plane that is nearest to the origin."""
        return self.project(np.zeros(len(self.normal)))

    @property
    def directions(self) -> np.ndarray:
        """Orthonormal directions in the plane, (d - 1, d): with `point`, the parametric form."""
        return orthogonal_complement(self.normal[:, None]).T

    @property
    def points(self) -> np.ndarray:
        """Points that span the plane, (d, d)."""
        return self.point + np.vstack([np.zeros(len(self.normal)), self.directions])

    def normalize(self) -> Hyperplane:
        """The same plane with a normal of length one; `|offset|` is the distance of the origin."""
        length = float(norm(self.normal))
        return Hyperplane(self.normal / length, self.offset / length)

    def same_as(self, other: Hyperplane, tol: float = 1e-9) -> bool:
        """Whether the coefficients are multiples of each other, with either sign."""
        a, b = (
            unit_vector(self.normalize().coefficients),
            unit_vector(other.normalize().coefficients),
        )
        return bool(min(norm(a - b), norm(a + b)) <= tol)

    def value(self, x: Any) -> np.ndarray:
        """normal.x + offset: zero on the plane, positive on the side of the normal."""
        return as_float_array(x) @ self.normal + self.offset

    def contains(self, x: Any, tol: float = 1e-9) -> np.ndarray:
        """Whether points lie on the plane, but for `tol` times their size."""
        return np.abs(self.signed_distance(x)) <= tol * np.maximum(1, norm(x))

    def signed_distance(self, x: Any) -> np.ndarray:
        """Distance of points from the plane, negative on the side away from the normal."""
        return self.value(x) / norm(self.normal)

    def project(self, x: Any) -> np.ndarray:
        """The nearest points of the plane."""
        return as_float_array(x) - self.signed_distance(x)[..., None] * unit_vector(self.normal)


def orthogonal_complement(W: np.ndarray) -> np.ndarray:
    """Orthonormal columns that span all that is orthogonal to the independent columns of W.

    Examples
    --------
    >>> np.abs(orthogonal_complement(np.array([[1.0], [1.0]]))).round(4).tolist()
    [[0.7071], [0.7071]]
    """
    W = np.asarray(W, np.float64)
    Q = np.linalg.qr(W, mode="complete")[0]
    return Q[:, W.shape[1] :]
