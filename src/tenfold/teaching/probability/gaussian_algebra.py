"""Gaussians under affine maps, their marginals, conditionals and ellipses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.distributions.normal import Gaussian


def transform_gaussian(density: Gaussian, A: Any, b: Any = 0.0, noise: Any = 0.0) -> Gaussian:
    r"""The distribution of A x + b + e, with independent Gaussian noise e.

    .. math:: x \sim \mathcal N(\mu, \Sigma) \;\Rightarrow\;
              A x + b + e \sim \mathcal N(A\mu + b,\; A \Sigma A^\top + N)

    Parameters
    ----------
    density : Gaussian
        Of x.
    A : float or (n_outputs, n_columns) array
        A number multiplies all columns.
    b : float or (n_outputs,) array
        Shift.
    noise : float, (n_outputs,) or (n_outputs, n_outputs) array
        Covariance of the noise.

    Examples
    --------
    >>> moved = transform_gaussian(Gaussian([1.0], 4.0), 3.0, 1.0)
    >>> moved.mean.tolist(), moved.covariance.tolist()
    ([4.0], [[36.0]])
    """
    mean, C = density.center, density.covariance_matrix
    A = np.asarray(A, np.float64)
    A = A * np.eye(len(mean)) if A.ndim == 0 else np.atleast_2d(A)
    noise = np.asarray(noise, np.float64)
    N = noise if noise.ndim == 2 else noise * np.eye(len(A))
    return Gaussian(A @ mean + b, A @ C @ A.T + N)


def marginalize_gaussian(density: Gaussian, columns: Any) -> Gaussian:
    """The marginal distribution of some columns.

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
    return Gaussian(density.center[keep], density.covariance_matrix[np.ix_(keep, keep)])


def condition_gaussian(density: Gaussian, columns: Any, values: Any) -> Gaussian:
    r"""The conditional distribution of the other columns, given values of these.

    .. math:: \mu_a + \Sigma_{ab} \Sigma_{bb}^{-1} (x_b - \mu_b), \qquad
              \Sigma_{aa} - \Sigma_{ab} \Sigma_{bb}^{-1} \Sigma_{ba}

    Examples
    --------
    >>> both = Gaussian([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]])
    >>> first = condition_gaussian(both, [1], [2.0])
    >>> first.mean.tolist(), first.covariance.tolist()
    ([1.0], [[0.75]])
    """
    mean, C = density.center, density.covariance_matrix
    b = np.atleast_1d(columns)
    a = np.setdiff1d(np.arange(len(mean)), b % len(mean))
    aa, ab, bb = (C[np.ix_(r, c)] for r, c in ((a, a), (a, b), (b, b)))
    gain = np.linalg.lstsq(bb, ab.T, rcond=None)[0].T
    conditional_mean = mean[a] + gain @ (np.atleast_1d(values) - mean[b])
    covariance = aa - gain @ ab.T
    return Gaussian(conditional_mean, (covariance + covariance.T) / 2)


class DensityEllipse(NamedTuple):
    """An ellipse of equal density.

    Attributes
    ----------
    center : (2,)
    radii : (2,) the semi-major and the semi-minor axis
    angle : from the first coordinate axis to the major axis, anticlockwise, in radians
    """

    center: np.ndarray
    radii: np.ndarray
    angle: float

    def points(self, n: int = 200) -> np.ndarray:
        """Points of the ellipse, (n, 2); the last is the first."""
        phase = np.linspace(0, 2 * np.pi, n)
        aligned = np.stack([np.cos(phase), np.sin(phase)], axis=1) * self.radii
        c, s = np.cos(self.angle), np.sin(self.angle)
        return self.center + aligned @ np.array([[c, s], [-s, c]])


def density_ellipse(
    density: Gaussian, deviations: float = 2.0, *, mass: float | None = None
) -> DensityEllipse:
    r"""The ellipse at a number of standard deviations from the mean, or of a probability mass.

    In two dimensions r standard deviations contain :math:`1 - e^{-r^2/2}`: 39, 86 and 99 % for
    1, 2 and 3.

    Examples
    --------
    >>> tilted = density_ellipse(Gaussian([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]]), 1.0)
    >>> (tilted.radii**2).round(6).tolist(), round(float(np.degrees(tilted.angle)), 6)
    ([1.5, 0.5], 45.0)
    """
    if len(density.center) != 2:
        raise ValueError("an ellipse needs two columns: take a marginal of two first")
    if mass is not None:
        deviations = float(np.sqrt(-2 * np.log1p(-mass)))
    values, V = np.linalg.eigh(density.covariance_matrix)
    x, y = V[:, 1]
    angle = np.arctan2(y, x) % np.pi
    return DensityEllipse(
        density.center, deviations * np.sqrt(np.maximum(values[::-1], 0)), float(angle)
    )
