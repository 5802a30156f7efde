"""Gaussians under affine maps, their marginals, conditionals and ellipses.

[001, 3.2; 002, 8.1; 003, unit 4]
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.distributions.normal import Gaussian


def transform_gaussian(density: Gaussian, A: Any, b: Any = 0.0, noise: Any = 0.0) -> Gaussian:
    r"""The density of A x + b + e, with independent Gaussian noise e.

    .. math:: x \sim \mathcal N(\mu, \Sigma) \;\Rightarrow\;
              A x + b + e \sim \mathcal N(A\mu + b,\; A \Sigma A^\top + N)

    Parameters
    ----------
    density : Gaussian
        Of x, (p,).
    A : float or (q, p) array
        A number stretches all columns.
    b : float or (q,) array
        Shift.
    noise : float, (q,) or (q, q) array
        Covariance of the noise.

    Examples
    --------
    >>> moved = transform_gaussian(Gaussian([1.0], 4.0), 3.0, 1.0)
    >>> moved.mean.tolist(), moved.covariance.tolist()
    ([4.0], [[36.0]])
    """
    mean, C = density.centre, density.matrix
    A = np.asarray(A, np.float64)
    A = A * np.eye(len(mean)) if A.ndim == 0 else np.atleast_2d(A)
    noise = np.asarray(noise, np.float64)
    N = noise if noise.ndim == 2 else noise * np.eye(len(A))
    return Gaussian(A @ mean + b, A @ C @ A.T + N)


def marginalize_gaussian(density: Gaussian, columns: Any) -> Gaussian:
    """The density of some columns, whatever the others are.

    Examples
    --------
    >>> both = Gaussian([0.0, 5.0], [[1.0, 0.5], [0.5, 2.0]])
    >>> (
    ...     marginalize_gaussian(both, [1]).mean.tolist(),
    ...     marginalize_gaussian(both, [1]).covariance.tolist(),
    ... )
    ([5.0], [[2.0]])
    """
    keep = np.atleast_1d(columns)
    return Gaussian(density.centre[keep], density.matrix[np.ix_(keep, keep)])


def condition_gaussian(density: Gaussian, columns: Any, values: Any) -> Gaussian:
    r"""The density of the other columns, if these have the given values.

    .. math:: \mu_a + \Sigma_{ab} \Sigma_{bb}^{-1} (x_b - \mu_b), \qquad
              \Sigma_{aa} - \Sigma_{ab} \Sigma_{bb}^{-1} \Sigma_{ba}

    Examples
    --------
    >>> both = Gaussian([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]])
    >>> first = condition_gaussian(both, [1], [2.0])
    >>> first.mean.tolist(), first.covariance.tolist()
    ([1.0], [[0.75]])
    """
    mean, C = density.centre, density.matrix
    known = np.atleast_1d(columns)
    rest = np.setdiff1d(np.arange(len(mean)), known % len(mean))
    aa, ab, bb = (C[np.ix_(r, c)] for r, c in ((rest, rest), (rest, known), (known, known)))
    gain = np.linalg.lstsq(bb, ab.T, rcond=None)[0].T
    moved = mean[rest] + gain @ (np.atleast_1d(values) - mean[known])
    left = aa - gain @ ab.T
    return Gaussian(moved, (left + left.T) / 2)


class DensityEllipse(NamedTuple):
    """An ellipse of equal density, as a plot needs it.

    Attributes
    ----------
    centre : (2,)
    radii : (2,) half of the long and of the short axis
    angle : from the first axis to the long one, anticlockwise, in radians
    """

    centre: np.ndarray
    radii: np.ndarray
    angle: float

    def points(self, n: int = 200) -> np.ndarray:
        """Points all round it, (n, 2); the last is the first."""
        turn = np.linspace(0, 2 * np.pi, n)
        flat = np.stack([np.cos(turn), np.sin(turn)], axis=1) * self.radii
        c, s = np.cos(self.angle), np.sin(self.angle)
        return self.centre + flat @ np.array([[c, s], [-s, c]])


def density_ellipse(
    density: Gaussian, deviations: float = 2.0, *, mass: float | None = None
) -> DensityEllipse:
    r"""The ellipse that lies so many deviations from the mean, or that holds a share of the mass.

    In two dimensions r deviations hold :math:`1 - e^{-r^2/2}`: 39, 86 and 99 % for 1, 2 and 3.

    Examples
    --------
    >>> tilted = density_ellipse(Gaussian([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]]), 1.0)
    >>> (tilted.radii**2).round(6).tolist(), round(float(np.degrees(tilted.angle)), 6)
    ([1.5, 0.5], 45.0)
    """
    if len(density.centre) != 2:
        raise ValueError("an ellipse needs two columns: take a marginal of two first")
    if mass is not None:
        deviations = float(np.sqrt(-2 * np.log1p(-mass)))
    values, V = np.linalg.eigh(density.matrix)
    x, y = V[:, 1]
    angle = np.arctan2(y, x) % np.pi
    return DensityEllipse(
        density.centre, deviations * np.sqrt(np.maximum(values[::-1], 0)), float(angle)
    )
