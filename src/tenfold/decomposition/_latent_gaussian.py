r"""Rows that are a linear function of a few latent variables, plus noise: x = m + W z + e.

With z standard normal and e of variance psi in each column, the observed entries o of a row give

.. math:: A = I + W_o^\top \Psi_o^{-1} W_o, \qquad
          \operatorname{E}(z \mid x_o) = A^{-1} W_o^\top \Psi_o^{-1} (x_o - m_o), \qquad
          \operatorname{Cov}(z \mid x_o) = A^{-1}

NaN is a missing entry. Complete rows share one matrix A; rows with missing entries have systems of
their own, solved by `row_systems`. `run_em` has the parameter expansion of
Liu, Rubin and Wu: mean and covariance of z are free in the M-step, then moved into m and W, which
keeps the likelihood from crawling when entries are missing. Probabilistic PCA has one noise
variance for all columns, factor analysis one for each.

References
----------
A. Ilin and T. Raiko (2010), Practical approaches to principal component analysis in the presence of
missing values.

C. Liu, D. Rubin and Y. N. Wu (1998), Parameter expansion to accelerate EM: the PX-EM algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tenfold._compiled.row_systems import observed_entries, solve_row_systems
from tenfold.engine.chunk import Chunk
from tenfold.engine.merge_tree import merge
from tenfold.engine.rows import Rows
from tenfold.engine.second_moments import single_chunk_moments
from tenfold.optim.convergence import until_converged
from tenfold.stats.missing_values import LOG_2PI, ObservedMoments, observed_moments
from tenfold.stats.moments import Moments

_BLOCK_NUMBERS = 2**20  # entries of the matrices A that are held at a time


class LatentGaussian(NamedTuple):
    """Parameters: mean (p,), loadings W (p, k), noise variances psi (p,)."""

    mean: np.ndarray
    loadings: np.ndarray
    noise: np.ndarray


class LatentPosterior(NamedTuple):
    """Latent variables of some rows given their observed entries.

    Attributes
    ----------
    rows : which rows of the chunk
    D : (n, p) differences from the mean, 0 where an entry is missing
    seen : (n, p) 1.0 where an entry is observed
    mean : (n, k)
    covariance : (n, k, k), or (1, k, k) if all rows are complete
    log_density : (n,) of the observed entries
    """

    rows: slice
    D: np.ndarray
    seen: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    log_density: np.ndarray


def posteriors(X: np.ndarray, g: LatentGaussian, prior: float = 1.0) -> Iterator[LatentPosterior]:
    """The posterior of blocks of rows; `prior` is the precision of z, 0 for least squares."""
    k = g.loadings.shape[1]
    size = max(_BLOCK_NUMBERS // max(k * k, 1), 1)
    for first in range(0, len(X), size):
        rows = slice(first, min(first + size, len(X)))
        yield _block_posterior(X[rows], rows, g, prior)


def _block_posterior(
    X: np.ndarray, rows: slice, g: LatentGaussian, prior: float
) -> LatentPosterior:
    D = X.astype(np.float64) - g.mean
    missing = np.isnan(D)
    scaled = g.loadings / g.noise[:, None]
    if prior > 0 and missing.any():
        indptr, columns, values = observed_entries(D)
        precision = 1 / g.noise[columns]
        mean, logs, covariance, _ = solve_row_systems(
            indptr,
            columns,
            precision,
            precision * values,
            g.loadings,
            ridge=prior,
            covariance=True,
        )
        D[missing], seen = 0.0, 1.0 - missing
    else:
        D[missing] = 0.0
        seen = 1.0 - missing if missing.any() else np.ones((1, D.shape[1]))
        mean, logs, covariance = _solve_dense(D, seen, g.loadings, scaled, prior)
    distance = (D * D) @ (1 / g.noise) - np.einsum("nk,nk->n", D @ scaled, mean)
    logs = logs + seen @ (np.log(g.noise) + LOG_2PI)
    seen = np.broadcast_to(seen, D.shape)
    return LatentPosterior(rows, D, seen, mean, covariance, -0.5 * (np.maximum(distance, 0) + logs))


def _solve_dense(
    D: np.ndarray, seen: np.ndarray, W: np.ndarray, scaled: np.ndarray, prior: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means, log-determinants and covariances of rows; a single row of `seen` is for all of them.

    Without a prior, rows with fewer entries than latent variables get the shortest solution.
    """
    A = np.einsum("np,pk,pl->nkl", seen, scaled, W, optimize=True)
    A += prior * np.eye(W.shape[1])
    covariance = np.linalg.inv(A) if prior > 0 else np.linalg.pinv(A, hermitian=True)
    mean = np.matmul(covariance, (D @ scaled)[:, :, None])[:, :, 0]
    return mean, np.linalg.slogdet(A)[1], covariance


def posterior_means(
    chunk: Chunk, g: LatentGaussian, turn: np.ndarray, prior: float = 1.0
) -> np.ndarray:
    """E(z | x) times `turn`, (n, k), for each row, in the number type of the chunk."""
    out = np.empty((chunk.rows, turn.shape[1]), chunk.X.dtype)
    for block in posteriors(chunk.X, g, prior):
        out[block.rows] = block.mean @ turn
    return out


def posterior_covariances(chunk: Chunk, g: LatentGaussian, turn: np.ndarray) -> np.ndarray:
    """Covariance of z' `turn` given each row, (n, k, k)."""
    k = turn.shape[1]
    out = np.empty((chunk.rows, k, k), chunk.X.dtype)
    for block in posteriors(chunk.X, g):
        out[block.rows] = turn.T @ block.covariance @ turn
    return out


def log_densities(chunk: Chunk, g: LatentGaussian) -> np.ndarray:
    """Log-density of the observed entries of each row; 0 of a row without any."""
    out = np.empty(chunk.rows, chunk.X.dtype)
    for block in posteriors(chunk.X, g):
        out[block.rows] = block.log_density
    return out


def impute_rows(chunk: Chunk, g: LatentGaussian) -> np.ndarray:
    """The rows with E(x_m | x_o) in place of the missing entries."""
    out = chunk.X.copy()
    for block in posteriors(chunk.X, g):
        expected = g.mean + block.mean @ g.loadings.T
        part = out[block.rows]
        out[block.rows] = np.where(np.isnan(part), expected, part)
    return out


def imputation_covariances(chunk: Chunk, g: LatentGaussian) -> np.ndarray:
    """Covariance of the missing entries of each row given the others, (n, p, p); 0 elsewhere."""
    p = len(g.mean)
    out = np.empty((chunk.rows, p, p), chunk.X.dtype)
    for block in posteriors(chunk.X, g):
        C = g.loadings @ block.covariance @ g.loadings.T + np.diag(g.noise)
        gone = 1.0 - block.seen
        out[block.rows] = C * (gone[:, :, None] * gone[:, None, :])
    return out


class LatentSums(NamedTuple):
    """Expected sufficient statistics of rows, by column where entries may be missing.

    Attributes
    ----------
    n : (p,) weight of the observed entries of each column
    x, xx : (p,) their sums, and sums of squares, about an origin
    z : (p, k) sums of E(z), over the rows that observe a column
    xz : (p, k) of x E(z)
    zz : (p, k (k + 1) / 2) of E(z z'), the upper triangle
    weight, latent, latent_squares : the same over all rows: (), (k,), (k, k)
    log_likelihood : of the observed entries
    """

    n: np.ndarray
    x: np.ndarray
    xx: np.ndarray
    z: np.ndarray
    xz: np.ndarray
    zz: np.ndarray
    weight: float
    latent: np.ndarray
    latent_squares: np.ndarray
    log_likelihood: float


def latent_sums(chunk: Chunk, g: LatentGaussian, origin: np.ndarray) -> LatentSums:
    """The statistic of the E-step; rows without any entry say nothing, and are left out."""
    k = g.loadings.shape[1]
    upper = np.triu_indices(k)
    weights = chunk.weights().astype(np.float64)
    total = _no_sums(len(g.mean), k)
    shift = g.mean - origin
    for block in posteriors(chunk.X, g):
        w = weights[block.rows] * (block.seen.sum(axis=1) > 0)
        wm, seen = w[:, None] * block.seen, block.seen
        X = block.D + seen * shift
        z = block.mean
        zz = z[:, :, None] * z[:, None, :] + block.covariance
        packed = zz[:, upper[0], upper[1]]
        part = LatentSums(
            wm.sum(axis=0),
            w @ X,
            w @ (X * X),
            wm.T @ z,
            (w[:, None] * X).T @ z,
            wm.T @ packed,
            float(w.sum()),
            w @ z,
            np.tensordot(w, zz, 1),
            float(w @ block.log_density),
        )
        total = merge(total, part)
    return total


def _no_sums(p: int, k: int) -> LatentSums:
    column, z = np.zeros(p), np.zeros((p, k))
    zz = np.zeros((p, k * (k + 1) // 2))
    return LatentSums(column, column, column, z, z, zz, 0.0, np.zeros(k), np.zeros((k, k)), 0.0)


NoiseUpdate = Callable[[np.ndarray, np.ndarray], np.ndarray]


def maximize(s: LatentSums, origin: np.ndarray, update_noise: NoiseUpdate) -> LatentGaussian:
    """The M-step: regression of each column on E(z), then z made standard normal again."""
    k = s.latent.shape[0]
    upper = np.triu_indices(k)
    M = np.empty((len(s.n), k + 1, k + 1))
    M[:, upper[0], upper[1]] = s.zz
    M[:, upper[1], upper[0]] = s.zz
    M[:, :k, k] = M[:, k, :k] = s.z
    M[:, k, k] = s.n
    right = np.concatenate([s.xz, s.x[:, None]], axis=1)
    coef = np.linalg.solve(M, right[:, :, None])[:, :, 0]
    squares = np.maximum(s.xx - np.einsum("pk,pk->p", coef, right), 0.0)
    center = s.latent / s.weight
    spread = s.latent_squares / s.weight - np.multiply.outer(center, center)
    mean = origin + coef[:, k] + coef[:, :k] @ center
    loadings = coef[:, :k] @ np.linalg.cholesky(spread)
    return LatentGaussian(mean, loadings, update_noise(squares, s.n))


def run_em(
    rows: Rows,
    initial: LatentGaussian,
    origin: np.ndarray,
    update_noise: NoiseUpdate,
    tol: float,
    max_iter: int,
) -> tuple[LatentGaussian, float, dict[str, Any]]:
    """EM until an iteration gains at most `tol` per row; parameters, mean log-likelihood, report.

    The log-likelihood is that of the parameters before the last iteration.
    """
    loop = until_converged((initial, -np.inf), tol=tol, max_iter=max_iter)
    for g, previous in loop:
        s = rows.total(latent_sums, g, origin)
        mean = s.log_likelihood / s.weight
        state = (maximize(s, origin, update_noise), mean)
        loop.update(state, objective=-mean, change=mean - previous)
    return loop.state[0], float(loop.state[1]), loop.report


def observed_columns(chunk: Chunk) -> ObservedMoments:
    """Moments of the observed entries of each column."""
    return observed_moments(chunk._replace(y=np.zeros(chunk.rows, np.int64)), 1)


def imputed_moments(chunk: Chunk, mean: np.ndarray) -> Moments:
    """Second moments of the rows with column means in place of missing entries."""
    X = np.where(np.isnan(chunk.X), mean.astype(chunk.X.dtype), chunk.X)
    return single_chunk_moments(chunk._replace(X=X), False)


def observe_columns(rows: Rows, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of the observed entries of each column, (p,) each.

    Raises an error if a column has no entry, or numbers that are infinite or too large.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        s = rows.total(observed_columns)
        mean, variance = s.columns()
    wrong = ~(np.isfinite(mean) & np.isfinite(variance))
    if wrong.any():
        raise ValueError(
            f"Input X contains infinity or a value too large to square, in column "
            f"{_column_name(rows, int(wrong.argmax()))}: {name} needs finite numbers (NaN is a "
            "missing entry); divide the column by a constant"
        )
    empty = s.observed[0] == 0
    if empty.any():
        raise ValueError(
            f"column {_column_name(rows, int(empty.argmax()))} has no entry at all, only NaN: "
            "leave it out"
        )
    return mean, variance


def _column_name(rows: Rows, j: int) -> str:
    return repr(rows.names[j]) if rows.names else str(j)
