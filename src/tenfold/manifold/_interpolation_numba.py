"""Compiled loops between points and the nodes of a grid, with weights of cubic B-splines."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _spline_weights(t):
    """Cubic B-splines of the nodes -1, 0, 1 and 2 at t, between 0 and 1."""
    r = 1.0 - t
    s, q = t * t * t, r * r * r
    return (
        q / 6.0,
        (3.0 * s - 6.0 * t * t + 4.0) / 6.0,
        (3.0 * q - 6.0 * r * r + 4.0) / 6.0,
        s / 6.0,
    )


@njit(cache=True, nogil=True, error_model="numpy")
def spread(Y, low, spacing, charges):
    """Add the weights of all points to their sixteen nodes."""
    for i in range(len(Y)):
        s, t = (Y[i, 0] - low[0]) / spacing, (Y[i, 1] - low[1]) / spacing
        p, q = int(s), int(t)
        wx, wy = _spline_weights(s - p), _spline_weights(t - q)
        for a in range(4):
            for b in range(4):
                charges[p + a, q + b] += np.float32(wx[a] * wy[b])


@njit(cache=True, nogil=True, error_model="numpy")
def interpolate(Y, low, spacing, field, first, force):
    """The field at the points from `first` on."""
    for row in range(force.shape[1]):
        i = first + row
        s, t = (Y[i, 0] - low[0]) / spacing, (Y[i, 1] - low[1]) / spacing
        p, q = int(s), int(t)
        wx, wy = _spline_weights(s - p), _spline_weights(t - q)
        fx, fy = 0.0, 0.0
        for a in range(4):
            for b in range(4):
                value = field[p + a, q + b]
                fx += wx[a] * wy[b] * value.real
                fy += wx[a] * wy[b] * value.imag
        force[0, row], force[1, row] = fx, fy
