"""Local structure of neighborhoods as one sparse matrix M, whose lowest eigenvectors are a map.

Each row i and its neighbors contribute a small matrix; those of many rows are computed at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix, eye

_ROWS_AT_A_TIME = 1024
_MODIFIED_REGULARIZATION = 1e-3  # of the weights of modified LLE, as in the paper's code


def barycenter_weights(X: np.ndarray, Y: np.ndarray, rows: np.ndarray, reg: float) -> np.ndarray:
    """Weights with sum 1 of the rows Y[rows[i]] whose mean is nearest to X[i], (n, k).

    `reg` times the trace is added to the diagonal of each system.
    """
    n, k = rows.shape
    weights = np.empty((n, k))
    for first in range(0, n, _ROWS_AT_A_TIME):
        part = slice(first, first + _ROWS_AT_A_TIME)
        C = Y[rows[part]] - X[part, None, :]
        G = C @ C.transpose(0, 2, 1)
        trace = np.einsum("ijj->i", G)
        G[:, np.arange(k), np.arange(k)] += np.where(trace > 0, reg * trace, reg)[:, None]
        w = _solve_ones(G)
        weights[part] = w / w.sum(axis=1, keepdims=True)
    return weights


def _solve_ones(G: np.ndarray) -> np.ndarray:
    """Solutions of G x = 1 for each matrix; of least norm where one is singular."""
    try:
        return np.linalg.solve(G, np.ones((*G.shape[:2], 1)))[:, :, 0]
    except np.linalg.LinAlgError:  # reg=0 and more neighbors than columns
        return np.linalg.pinv(G, hermitian=True).sum(axis=2)


class Neighborhoods(NamedTuple):
    """Rows and the numbers of the neighbors of each, itself left out."""

    X: np.ndarray  # (n, p) float64
    neighbors: np.ndarray  # (n, k)

    def assemble(self, f: Callable[[np.ndarray, slice], np.ndarray]) -> csr_matrix:
        """Sum of the (k, k) matrices `f(neighbors' rows, part)` over all neighborhoods."""
        n, k = self.neighbors.shape
        total = csr_matrix((n, n))
        for first in range(0, n, _ROWS_AT_A_TIME):
            part = slice(first, first + _ROWS_AT_A_TIME)
            rows = self.neighbors[part]
            blocks = f(self.X[rows], part)
            places = np.repeat(rows, k, axis=1).ravel(), np.tile(rows, (1, k)).ravel()
            total = total + coo_matrix((blocks.ravel(), places), shape=(n, n)).tocsr()
        return total


def standard_matrix(data: Neighborhoods, reg: float) -> csr_matrix:
    """(I - W)'(I - W) with the barycenter weights W."""
    n, k = data.neighbors.shape
    weights = barycenter_weights(data.X, data.X, data.neighbors, reg)
    starts = np.arange(0, n * k + 1, k)
    W = csr_matrix((weights.ravel(), data.neighbors.ravel(), starts), shape=(n, n))
    R = eye(n, format="csr") - W
    return (R.T @ R).tocsr()


def _tangents(centered: np.ndarray, d: int) -> np.ndarray:
    """The first d left singular vectors of each (k, p) matrix, (n, k, d)."""
    return np.linalg.svd(centered, full_matrices=False)[0][:, :, :d]


def hessian_matrix(data: Neighborhoods, d: int, tol: float) -> csr_matrix:
    """Squared Hessians of a function, estimated in each neighborhood (Donoho and Grimes 2003)."""
    k = data.neighbors.shape[1]
    pairs = [(a, b) for a in range(d) for b in range(a, d)]
    if k <= d + len(pairs):
        raise ValueError(
            "for method='hessian', n_neighbors must be greater than "
            f"[n_components * (n_components + 3) / 2] = {d + len(pairs)}"
        )

    def estimate(rows: np.ndarray, part: slice) -> np.ndarray:  # noqa: ARG001
        U = _tangents(rows - rows.mean(axis=1, keepdims=True), d)
        products = [U[:, :, a] * U[:, :, b] for a, b in pairs]
        basis = np.concatenate([np.ones((*U.shape[:2], 1)), U, np.stack(products, axis=2)], axis=2)
        H = np.linalg.qr(basis)[0][:, :, d + 1 :]
        sums = H.sum(axis=1, keepdims=True)
        H = H / np.where(np.abs(sums) < tol, 1.0, sums)
        return H @ H.transpose(0, 2, 1)

    return data.assemble(estimate)


def tangent_matrix(data: Neighborhoods, d: int) -> csr_matrix:
    """What local tangent coordinates leave unexplained (Zhang and Zha 2004)."""
    k = data.neighbors.shape[1]

    def align(rows: np.ndarray, part: slice) -> np.ndarray:  # noqa: ARG001
        U = _tangents(rows - rows.mean(axis=1, keepdims=True), d)
        G = np.concatenate([np.full((*U.shape[:2], 1), 1.0 / np.sqrt(k)), U], axis=2)
        return np.eye(k) - G @ G.transpose(0, 2, 1)

    return data.assemble(align)


def modified_matrix(data: Neighborhoods, d: int, tol: float) -> csr_matrix:
    """Several weight vectors in each neighborhood (Zhang and Wang 2007)."""
    X, neighbors = data
    n, k = neighbors.shape
    if k < d:
        raise ValueError(f"modified LLE requires n_neighbors >= n_components ({k} < {d})")
    nev = min(X.shape[1], k)
    V, values = np.empty((n, k, k)), np.empty((n, nev))
    for first in range(0, n, _ROWS_AT_A_TIME):
        part = slice(first, first + _ROWS_AT_A_TIME)
        U, s, _ = np.linalg.svd(X[neighbors[part]] - X[part, None, :], full_matrices=True)
        V[part], values[part] = U, s[:, :nev] ** 2
    reg = _MODIFIED_REGULARIZATION * values.sum(axis=1)
    spectrum = np.zeros((n, k))
    spectrum[:, :nev] = values
    weights = np.einsum("ijk,ik->ij", V, V.sum(axis=1) / (spectrum + reg[:, None]))
    weights /= weights.sum(axis=1, keepdims=True)
    lost = values[:, d:].sum(axis=1) / values[:, :d].sum(axis=1)
    limit = np.median(lost)
    cumulated = np.cumsum(values, axis=1)
    ratios = cumulated[:, -1:] / cumulated[:, :-1] - 1
    entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for i in range(n):
        count = int(np.searchsorted(ratios[i, ::-1], limit)) + k - nev
        W = _weight_vectors(V[i, :, k - count :], weights[i], tol)
        members = np.r_[i, neighbors[i]]
        full = np.vstack([-np.ones((1, count)), W])  # the row itself less its neighbors' mean
        block = full @ full.T
        entries.append((block.ravel(), np.repeat(members, k + 1), np.tile(members, k + 1)))
    blocks, rows, columns = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    return csr_matrix(coo_matrix((blocks, (rows, columns)), shape=(n, n)))


def _weight_vectors(V: np.ndarray, weights: np.ndarray, tol: float) -> np.ndarray:
    """Weight vectors with sum 1 that span the directions V of little variance, (k, count)."""
    k, count = V.shape
    if count == 0:
        return np.empty((k, 0))
    alpha = np.linalg.norm(V.sum(axis=0)) / np.sqrt(count)
    h = alpha - V.sum(axis=0)
    length = np.linalg.norm(h)
    h = np.zeros(count) if length < tol else h / length
    return V - 2.0 * np.outer(V @ h, h) + (1.0 - alpha) * weights[:, None]
