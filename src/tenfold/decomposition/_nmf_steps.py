"""Chunk functions of non-negative factorization: the codes of rows, and what their sums add up to.

A pass gives each row its codes for the components so far, and adds up all that the components
need: W'W and X'W for squared errors, the two sides of a multiplicative step for other divergences,
and a matrix for each column where entries have weights or are missing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold._compiled.simd import aligned_zeros
from tenfold.decomposition._divergence_numba import (
    pad_rows,
    sparse_kl_row_costs,
    sparse_kl_sums,
    update_sparse_kl_rows,
)
from tenfold.decomposition._divergences import (
    TINY,
    beta_divergence,
    exponent_of,
    scale_factor,
    step_matrices,
)
from tenfold.decomposition._hoyer import project_sparse
from tenfold.decomposition._row_solvers_numba import (
    descend_own_rows,
    descend_rows,
    solve_nonnegative_rows,
)
from tenfold.engine.chunk import Chunk
from tenfold.math.linalg import to_dense

_BLOCK_BYTES = 2**23  # of a dense reconstruction of some rows


class CodeStep(NamedTuple):
    """How codes are found: the solver, the divergence, the penalties on W, and how far to go."""

    solver: str
    beta: float
    l1: float
    l2: float
    max_steps: int
    tol: float = 0.0  # of the largest change, where steps go on until a row has converged
    ratio: float = 0.1  # of the first violation, for coordinate descent
    sparseness: float = 0.0
    masked: bool = False  # whether entries have weights or are missing


class ComponentProducts(NamedTuple):
    """The components as a pass sees them."""

    Ht: np.ndarray  # (p, k) transposed, float64
    gram: np.ndarray  # (k, k) H H'
    sums: np.ndarray  # (k,) of the entries of each
    padded: np.ndarray  # Ht with zeros beside it, for compiled loops over sparse rows

    @classmethod
    def of(cls, Ht: np.ndarray) -> ComponentProducts:
        """Of the transposed components."""
        return cls(Ht, Ht.T @ Ht, Ht.sum(axis=0), pad_rows(Ht))


class FactorSums(NamedTuple):
    """What a pass adds up."""

    gram: np.ndarray  # (k, k) W'W; (p, k(k+1)/2) where entries have weights; (k,) sums of W for KL
    cross: np.ndarray  # (p, k) X'W, or the numerators of a multiplicative step
    cost: float  # divergence; 0 for squared errors, which follow from gram and cross
    usage: np.ndarray  # (k,) sums of the codes
    squares: float  # sum of the squared codes
    violation: float  # of the conditions of a minimum, before the pass


def factor_pass(
    chunk: Chunk, columns: Any, H: ComponentProducts, step: CodeStep, V: Any
) -> tuple[FactorSums, tuple[np.ndarray]]:
    """Codes for the components H, from the codes of the last pass, and their sums."""
    W = None if columns is None else np.array(columns[0])
    W, violation = infer_codes(chunk, W, H, step, V)
    return sum_codes(chunk, W, H, step, V, violation), (W,)


def factor_sums(chunk: Chunk, H: ComponentProducts, step: CodeStep, V: Any) -> FactorSums:
    """The same with codes that are found anew in each pass, and not kept."""
    return factor_pass(chunk, None, H, step, V)[0]


def codes_of_rows(chunk: Chunk, H: ComponentProducts, step: CodeStep) -> np.ndarray:
    """Codes of new rows."""
    check_non_negative(chunk.X, chunk.first)
    return infer_codes(chunk, None, H, step, None)[0]


class DivergenceSums(NamedTuple):
    """Divergence of the rows from their reconstruction, and sums of the codes."""

    cost: float
    usage: np.ndarray


def residual_pass(
    chunk: Chunk, columns: Any, H: ComponentProducts, step: CodeStep, V: Any
) -> tuple[DivergenceSums, tuple[np.ndarray]]:
    """The last pass: codes until convergence, and the divergence that is left, exactly."""
    W = None if columns is None else np.array(columns[0])
    W = infer_codes(chunk, W, H, step, V)[0]
    w = chunk.weights().astype(np.float64)
    errors = row_divergences(chunk, W, H, step.beta, V if step.masked else None)
    return DivergenceSums(float(w @ errors), w @ W.astype(np.float64)), (W,)


def residual_sums(chunk: Chunk, H: ComponentProducts, step: CodeStep, V: Any) -> DivergenceSums:
    """The same where codes are not kept."""
    return residual_pass(chunk, None, H, step, V)[0]


def check_non_negative(X: Any, first: int = 0) -> None:
    """Raise an error that names the first negative entry."""
    values = X if isinstance(X, np.ndarray) else X.data
    if values.size and values.min() < 0:
        row = ""
        if isinstance(X, np.ndarray):
            row = f": row {first + int(np.flatnonzero((X < 0).any(axis=1))[0])} has one"
        raise ValueError(f"Negative values in data passed to NMF (input X){row}")


def entry_weights(chunk: Chunk, V: Any) -> tuple[np.ndarray, np.ndarray]:
    """X with zeros for missing entries, and the weight of each entry."""
    there = ~np.isnan(chunk.X)
    weight = there.astype(chunk.X.dtype)
    if V is not None:
        weight *= V[chunk.first : chunk.first + chunk.rows]
    return np.where(there, chunk.X, 0.0).astype(chunk.X.dtype, copy=False), weight


def triangle_products(F: np.ndarray) -> np.ndarray:
    """The products F[:, s] F[:, t] of the upper triangle, row by row."""
    s, t = np.triu_indices(F.shape[1])
    return F[:, s] * F[:, t]


def infer_codes(
    chunk: Chunk, W: np.ndarray | None, H: ComponentProducts, step: CodeStep, V: Any
) -> tuple[np.ndarray, float]:
    """Codes of the rows for the components, and the violation before the first step."""
    X, dtype = chunk.X, chunk.X.dtype
    if W is None:
        W = _starting_codes(X, H, step)
    if step.beta != 2 or (step.solver == "mu" and step.masked):
        return _divergence_codes(chunk, W, H, step, V).astype(dtype, copy=False), 0.0
    factor = H.Ht.astype(dtype, copy=False)
    if step.masked:
        X, weight = entry_weights(chunk, V)
        G = weight @ triangle_products(factor)
        C = (weight * X) @ factor
        limit = step.tol * _largest(C)
        violation = descend_own_rows(W, C, G, step.l1, step.l2, step.max_steps, step.ratio, limit)
        return W, violation
    C = np.asarray(X @ factor)
    G = H.gram
    if step.sparseness:
        return _sparse_codes(W, C, G, step), 0.0
    return _squared_error_codes(W, C, G, step)


def _largest(C: np.ndarray) -> float:
    return float(np.abs(C).max(initial=0.0))


def _starting_codes(X: Any, H: ComponentProducts, step: CodeStep) -> np.ndarray:
    """Zeros, or positive numbers of the size of the row for multiplicative steps."""
    n, k = X.shape[0], len(H.sums)
    if step.solver != "mu":
        return np.zeros((n, k), X.dtype)
    with np.errstate(invalid="ignore"):
        sums = np.nansum(X, axis=1) if isinstance(X, np.ndarray) else np.asarray(X.sum(axis=1))
    sums = np.asarray(sums, np.float64).reshape(-1, 1)
    return np.repeat(sums / max(float(H.sums.sum()), TINY), k, axis=1).astype(X.dtype)


def _squared_error_codes(
    W: np.ndarray, C: np.ndarray, G: np.ndarray, step: CodeStep
) -> tuple[np.ndarray, float]:
    if step.solver == "cd":
        limit = step.tol * _largest(C)
        violation, _ = descend_rows(
            W, C, G, step.l1, step.l2, True, step.max_steps, step.ratio, limit
        )
        return W, violation
    if step.solver == "anls":
        solve_nonnegative_rows(W, C, G, step.l1, step.l2)
        return W, 0.0
    if step.solver == "pg":
        curvature = float(np.linalg.eigvalsh(G)[-1]) + step.l2
        for _ in range(step.max_steps):
            W = _gradient_step(W, C, G, step, curvature)
        return W, 0.0
    for _ in range(step.max_steps):
        down = W @ G + step.l1 + step.l2 * W
        W = scale_factor(W, C, down, 1.0).astype(C.dtype, copy=False)
    return W, 0.0


def _gradient_step(
    W: np.ndarray, C: np.ndarray, G: np.ndarray, step: CodeStep, curvature: float
) -> np.ndarray:
    """A step of projected gradient descent of length 1 / (largest curvature)."""
    if curvature <= 0:
        return np.zeros_like(W)
    downhill = C - W @ G - step.l1 - step.l2 * W
    return np.maximum(W + downhill / curvature, 0.0).astype(C.dtype, copy=False)


def _sparse_codes(W: np.ndarray, C: np.ndarray, G: np.ndarray, step: CodeStep) -> np.ndarray:
    """Projected gradient descent onto codes of at least a sparseness."""
    curvature = float(np.linalg.eigvalsh(G)[-1]) + step.l2
    if curvature <= 0:
        return np.zeros_like(W)
    for _ in range(step.max_steps):
        downhill = C - W @ G - step.l1 - step.l2 * W
        W = project_sparse(W + downhill / curvature, step.sparseness).astype(C.dtype, copy=False)
    return W


def _divergence_codes(
    chunk: Chunk, W: np.ndarray, H: ComponentProducts, step: CodeStep, V: Any
) -> np.ndarray:
    """Multiplicative steps of the rows' codes."""
    if step.beta == 1 and not isinstance(chunk.X, np.ndarray):
        X, codes = chunk.X, pad_rows(W)
        bias, limits = H.sums + step.l1, (step.max_steps, step.tol)
        update_sparse_kl_rows(X.indptr, X.indices, X.data, codes, H.padded, bias, step.l2, *limits)
        return np.ascontiguousarray(codes[:, : W.shape[1]])
    W = W.astype(np.float64)
    for a, b, X, weight in _dense_blocks(chunk, step, V):
        W[a:b] = _multiplicative_rows(X, weight, W[a:b], H, step)
    return W


def _dense_blocks(chunk: Chunk, step: CodeStep, V: Any) -> Any:
    """Rows of a chunk in dense blocks: where they begin and end, X, weights of entries."""
    size = max(_BLOCK_BYTES // (8 * chunk.X.shape[1]), 1)
    for a in range(0, chunk.rows, size):
        part = Chunk(chunk.X[a : a + size], first=chunk.first + a)
        b = a + part.rows
        if step.masked:
            yield (a, b, *entry_weights(part, V))
        else:
            yield a, b, to_dense(part.X), None


def _multiplicative_rows(
    X: np.ndarray, weight: Any, W: np.ndarray, H: ComponentProducts, step: CodeStep
) -> np.ndarray:
    """Steps of some rows; a row ends when it moves by no more than `tol` of its largest code."""
    exponent, active = exponent_of(step.beta), np.ones(len(X), bool)
    dead = TINY if step.beta < 1 else 0.0
    for _ in range(step.max_steps):
        rows = np.flatnonzero(active)
        old = W[rows]
        up, down = step_matrices(X[rows].astype(np.float64), old @ H.Ht.T, step.beta)
        if weight is not None:
            up, down = up * weight[rows], down * weight[rows]
        down = down @ H.Ht + step.l1 + step.l2 * old
        new = scale_factor(old, up @ H.Ht, down, exponent, dead)
        W[rows] = new
        moving = np.abs(new - old).max(axis=1) > step.tol * new.max(axis=1)
        active[rows[~moving]] = False
        if not moving.any():
            break
    return W


def sum_codes(
    chunk: Chunk, W: np.ndarray, H: ComponentProducts, step: CodeStep, V: Any, violation: float
) -> FactorSums:
    """The sums of a chunk, for codes that were just found."""
    w = chunk.w
    weighted = W if w is None else W * w[:, None]
    usage = weighted.sum(axis=0, dtype=np.float64)
    squares = float(np.einsum("ij,ij->", weighted, W, dtype=np.float64))
    if step.beta != 2 or (step.solver == "mu" and step.masked):
        gram, cross, cost = _divergence_sums(chunk, W, H, step, V)
        return FactorSums(gram, cross, cost, usage, squares, violation)
    if step.masked:
        X, weight = entry_weights(chunk, V)
        if w is not None:
            weight = weight * w[:, None]
        gram, cross = weight.T @ triangle_products(W), (weight * X).T @ W
        cost = 0.5 * float(np.einsum("ij,ij->", weight * X, X, dtype=np.float64))
        return FactorSums(gram, cross, cost, usage, squares, violation)
    gram = W.T @ weighted
    return FactorSums(gram, np.asarray(chunk.X.T @ weighted), 0.0, usage, squares, violation)


def _divergence_sums(
    chunk: Chunk, W: np.ndarray, H: ComponentProducts, step: CodeStep, V: Any
) -> tuple[np.ndarray, np.ndarray, float]:
    """Denominators and numerators of a multiplicative step of the components, and divergence."""
    W, k = W.astype(np.float64), H.Ht.shape[1]
    w = np.empty(0) if chunk.w is None else chunk.w.astype(np.float64)
    if step.beta == 1 and not isinstance(chunk.X, np.ndarray):
        X, up = chunk.X, aligned_zeros(H.padded.shape, np.float64)
        cost = sparse_kl_sums(X.indptr, X.indices, X.data, w, pad_rows(W), H.padded, up)
        sums = W.sum(axis=0) if chunk.w is None else w @ W
        return sums, np.ascontiguousarray(up[:, :k]), cost + float(sums @ H.sums)
    up, down, cost = np.zeros(H.Ht.shape), np.zeros(H.Ht.shape), 0.0
    for a, b, X, weight in _dense_blocks(chunk, step, V):
        R = W[a:b] @ H.Ht.T
        scale = np.ones((b - a, 1)) if chunk.w is None else w[a:b, None]
        scale = scale if weight is None else scale * weight
        cost += float((scale * beta_divergence(X, R, step.beta)).sum())
        numerator, denominator = step_matrices(X.astype(np.float64), R, step.beta)
        up += (scale * numerator).T @ W[a:b]
        down += (scale * denominator).T @ W[a:b]
    return down, up, cost


def step_sums(
    chunk: Chunk, W: np.ndarray, H: ComponentProducts, step: CodeStep
) -> tuple[np.ndarray, np.ndarray]:
    """Both sides (p, k) of a multiplicative step of the components, without penalties."""
    if step.beta == 2:
        weighted = W if chunk.w is None else W * chunk.w[:, None]
        gram = (W.T @ weighted).astype(np.float64)
        return np.asarray(chunk.X.T @ weighted, np.float64), H.Ht @ gram
    down, up, _ = _divergence_sums(chunk, W, H, step, None)
    return up, np.broadcast_to(down, up.shape)


def row_divergences(
    chunk: Chunk, W: np.ndarray, H: ComponentProducts, beta: float, V: Any
) -> np.ndarray:
    """Divergence of each row from its reconstruction; missing entries count nothing."""
    if not isinstance(chunk.X, np.ndarray) and beta in (1, 2):
        return _sparse_row_divergences(chunk.X, W.astype(np.float64), H, beta)
    masked = V is not None or (isinstance(chunk.X, np.ndarray) and np.isnan(chunk.X).any())
    out = np.empty(chunk.rows)
    step = CodeStep("", beta, 0.0, 0.0, 0, masked=bool(masked))
    for a, b, X, weight in _dense_blocks(chunk, step, V):
        errors = beta_divergence(X, W[a:b].astype(np.float64) @ H.Ht.T, beta)
        out[a:b] = (errors if weight is None else errors * weight).sum(axis=1)
    return out


def _sparse_row_divergences(X: Any, W: np.ndarray, H: ComponentProducts, beta: float) -> np.ndarray:
    """The same of sparse rows, from stored entries and sums over components alone."""
    if beta == 1:
        stored = sparse_kl_row_costs(X.indptr, X.indices, X.data, pad_rows(W), H.padded)
        return stored + W @ H.sums
    squares = np.asarray(X.multiply(X).sum(axis=1), np.float64).ravel()
    cross = np.einsum("ij,ij->i", np.asarray(X @ H.Ht, np.float64), W)
    fitted = np.einsum("ij,ij->i", W @ H.gram, W)
    return np.maximum(0.5 * (squares - 2 * cross + fitted), 0.0)
