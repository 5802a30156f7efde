r"""The collapsed variational bound of a sparse Gaussian process, from one statistic of the rows.

With inducing points Z, :math:`K_{mm} = L L^T` and whitened features
:math:`a_i = L^{-1} k(Z, x_i)`, the statistic is
:math:`\Phi = \sum_i a_i a_i^T`, :math:`\psi = \sum_i a_i y_i`, :math:`\sum y_i^2`,
:math:`\sum k(x_i, x_i)` and n. With :math:`B = I + \Phi / \sigma^2` the bound is (Titsias 2009)

.. math:: F = -\tfrac n2 \log 2 \pi \sigma^2 - \tfrac12 \log \det B
          - \frac{\sum y_i^2}{2 \sigma^2} + \frac{\psi^T B^{-1} \psi}{2 \sigma^4}
          - \frac{1}{2 \sigma^2} \Bigl( \sum k(x_i, x_i) - \operatorname{tr} \Phi \Bigr)
          \;\le\; \log p(y),

so two data sets merge by adding their statistics. Where targets are normalized, they are taken
about their mean, and :math:`\sum_i a_i` moves a statistic to the mean of more rows. Derivatives by
hyperparameters take one more pass: with :math:`w = B^{-1} \psi / \sigma^2` and
:math:`T = (I - B^{-1} - w w^T) / 2 \sigma^2`,

.. math:: \frac{\partial F}{\partial K_{nm}} = (2 A T + y w^T / \sigma^2) L^{-1}, \qquad
          \frac{\partial F}{\partial K_{mm}}
          = L^{-T} \tfrac12 (I - B^{-1} - w w^T - \Phi / \sigma^2) L^{-1}.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.engine.tiled_cholesky import (
    cholesky,
    cholesky_with_jitter,
    invert_cholesky,
    log_determinant,
    solve_cholesky,
    solve_triangular,
)
from tenfold.gaussian_process._evidence import LOG_2PI
from tenfold.kernel._block import kernel_block
from tenfold.kernel._gradient_tiles import (
    diagonal_gradient,
    gradient_tile,
    gram_gradient,
)


class InducingStatistic(NamedTuple):
    """What the rows say at fixed inducing points and hyperparameters, targets less a center."""

    n: float  # weight of the rows
    phi: np.ndarray  # (m, m)
    psi: np.ndarray  # (m, k)
    yy: np.ndarray  # (k,)
    trace: float  # sum of k(x, x)
    a: np.ndarray  # (m,) sum of whitened features
    center: np.ndarray  # (k,) the mean of the targets, or zero for all statistics

    def merge(self, other: InducingStatistic) -> InducingStatistic:
        """The statistic of both, about the mean of both."""
        n = self.n + other.n
        center = self.center + (other.center - self.center) * (other.n / n if n > 0 else 0.0)
        one, two = self._move(center), other._move(center)
        return InducingStatistic(
            n,
            one.phi + two.phi,
            one.psi + two.psi,
            one.yy + two.yy,
            one.trace + two.trace,
            one.a + two.a,
            center,
        )

    def _move(self, center: np.ndarray) -> InducingStatistic:
        """The statistic of the same rows about another center."""
        gap = center - self.center
        psi, yy = self.psi - np.outer(self.a, gap), self.yy + self.n * gap**2
        return self._replace(psi=psi, yy=yy, center=center)

    def normalize(self) -> tuple[InducingStatistic, Normalization]:
        """The statistic of targets over their standard deviation, and mean and deviation."""
        deviation = np.sqrt(self.yy / self.n)
        tiny = deviation <= 10.0 * np.finfo(np.float64).eps * np.abs(self.center)
        scale = np.where(tiny, 1.0, deviation)
        scaled = self._replace(psi=self.psi / scale, yy=self.yy / scale**2)
        return scaled, Normalization(self.center, scale)


class Normalization(NamedTuple):
    """Targets are taken as (y - offset) / scale."""

    offset: np.ndarray  # (k,)
    scale: np.ndarray  # (k,)

    def apply(self, y: np.ndarray) -> np.ndarray:
        """Normalized targets, (rows, k)."""
        return (y - self.offset) / self.scale


class InducingPoints(NamedTuple):
    """Inducing points, the kernel, and the factor of its values among them."""

    kernel: Any
    Z: np.ndarray  # (m, p)
    L: np.ndarray  # (m, m)


class Posterior(NamedTuple):
    """What follows from a statistic and the variance of the noise."""

    bound: float
    L_B: np.ndarray  # (m, m) factor of B
    w: np.ndarray  # (m, k) whitened weights of the mean


def place_inducing_points(kernel: Any, Z: np.ndarray) -> InducingPoints:
    """The factor of the kernel values of inducing points, with the least jitter that it needs."""
    return InducingPoints(kernel, Z, cholesky_with_jitter(kernel(Z))[0])


def inducing_statistic(chunk: Chunk, points: InducingPoints, centered: bool) -> InducingStatistic:
    """The statistic of a chunk, about the mean of its targets or about zero."""
    A, y, X = _whitened_features(chunk, points)
    center = np.zeros(y.shape[1])
    if chunk.w is None:
        if centered:
            center = y.mean(axis=0)
            y = y - center
        n, Aw, yy, trace = len(y), A, (y * y).sum(axis=0), points.kernel.diag(X).sum()
    else:
        w = chunk.w.astype(np.float64)
        if centered and w.sum() > 0:
            center = w @ y / w.sum()
            y = y - center
        n, Aw, yy, trace = w.sum(), A * w, w @ (y * y), w @ points.kernel.diag(X)
    return InducingStatistic(float(n), Aw @ A.T, Aw @ y, yy, float(trace), Aw.sum(axis=1), center)


def _whitened_features(
    chunk: Chunk, points: InducingPoints
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features (m, rows), targets (rows, k) and float64 rows."""
    X = chunk.X.astype(np.float64, copy=False)
    y = np.asarray(chunk.y, np.float64).reshape(len(X), -1)
    return solve_triangular(points.L, kernel_block(X, points.Z, points.kernel).T), y, X


def infer(s: InducingStatistic, noise: float) -> Posterior:
    """The bound and the posterior of the values at the inducing points."""
    m, k = s.psi.shape
    L_B = cholesky(np.eye(m) + s.phi / noise, overwrite=True)
    w = solve_cholesky(L_B, s.psi) / noise
    misfit = s.yy.sum() - np.einsum("ij,ij->", s.psi, w)
    missed = s.trace - np.trace(s.phi)  # variance of the rows that inducing points do not carry
    logs = s.n * (LOG_2PI + np.log(noise)) + log_determinant(L_B)
    return Posterior(-0.5 * (k * logs + (misfit + k * missed) / noise), L_B, w)


class _Slopes(NamedTuple):
    """What the second pass needs: dF/dK_nm = K D + y v'."""

    D: np.ndarray  # (m, m)
    v: np.ndarray  # (m, k)
    normalization: Normalization


def bound_gradient(
    rows: Rows,
    points: InducingPoints,
    s: InducingStatistic,
    normalization: Normalization,
    noise: float,
) -> tuple[float, np.ndarray]:
    """The bound of a normalized statistic, and its derivatives by theta and log noise."""
    found = infer(s, noise)
    m, k = s.psi.shape
    B_inverse, w = invert_cholesky(found.L_B), found.w
    core = k * (np.eye(m) - B_inverse) - w @ w.T
    half = solve_triangular(points.L, core, transposed=True)
    D = solve_triangular(points.L, half.T, transposed=True) / noise
    v = solve_triangular(points.L, w, transposed=True) / noise
    among = 0.5 * (core - k * s.phi / noise)
    half = solve_triangular(points.L, among, transposed=True)
    among = solve_triangular(points.L, half.T, transposed=True)
    among = 0.5 * (among + among.T)
    by_theta = rows.total(_chunk_gradient, points, _Slopes(D, v, normalization), -0.5 * k / noise)
    by_theta = by_theta + gram_gradient(points.kernel, points.Z, lambda i, j: among[i, j])
    fit = s.yy.sum() - 2.0 * np.einsum("ij,ij->", s.psi, w) + np.einsum("ij,ij->", w, s.phi @ w)
    missed = k * (s.trace - np.trace(s.phi))
    spread = k * np.einsum("ij,ij->", B_inverse, s.phi)
    by_noise = (spread + fit + missed) / noise - k * s.n
    return found.bound, np.append(by_theta, 0.5 * by_noise)


def _chunk_gradient(
    chunk: Chunk, points: InducingPoints, slopes: _Slopes, by_trace: float
) -> np.ndarray:
    """Derivatives through the values of the rows of a chunk with the inducing points."""
    X = chunk.X.astype(np.float64, copy=False)
    y = np.asarray(chunk.y, np.float64).reshape(len(X), -1)
    G = kernel_block(X, points.Z, points.kernel) @ slopes.D
    G += slopes.normalization.apply(y) @ slopes.v.T
    weights = np.full(len(X), by_trace)
    if chunk.w is not None:
        G *= chunk.w[:, None]
        weights *= chunk.w
    sums = gradient_tile(points.kernel, X, points.Z, G)
    return sums + diagonal_gradient(points.kernel, X, weights)


def predict_chunk(
    chunk: Chunk,
    points: InducingPoints,
    L_B: np.ndarray,
    w: np.ndarray,
    normalization: Normalization,
    with_variance: bool,
) -> np.ndarray:
    """Means of all outputs, and on request the variance of the function of normalized targets."""
    X = chunk.X.astype(np.float64, copy=False)
    A = solve_triangular(points.L, kernel_block(X, points.Z, points.kernel).T)
    values = A.T @ (w * normalization.scale) + normalization.offset
    if with_variance:
        V = solve_triangular(L_B, A)
        variance = points.kernel.diag(X) - np.einsum("ij,ij->j", A, A)
        variance += np.einsum("ij,ij->j", V, V)
        values = np.column_stack([values, variance])
    return values.astype(chunk.X.dtype, copy=False)
