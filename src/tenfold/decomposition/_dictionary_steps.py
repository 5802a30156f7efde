"""Chunk functions of dictionary learning, and the dictionary's half of an iteration."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.decomposition._dictionary_numba import sweep_atoms
from tenfold.decomposition._eigensolvers import (
    fix_signs,
    iterate_singular_vectors,
    singular_vectors_from_qr,
)
from tenfold.decomposition.sparse_coder import CodeRule, Dictionary, encode_products
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.math.linalg import to_dense

_N_WORST = 16  # rows with the largest errors, from which unused atoms are made again
_UNUSED = 1e-14  # of the largest square: an atom with less is not used
_SMALL_SIDE = 500  # rows or columns up to which dense rows are decomposed exactly
_MAX_SWEEPS, _SWEEP_TOL = 10, 1e-3


class WorstRows(NamedTuple):
    """The rows with the largest errors, largest first; of equal errors the first row."""

    errors: np.ndarray
    rows: np.ndarray

    def merge(self, other: WorstRows) -> WorstRows:
        errors = np.concatenate([self.errors, other.errors])
        rows = np.concatenate([self.rows, other.rows])
        order = np.lexsort((rows, -errors))[:_N_WORST]
        return WorstRows(errors[order], rows[order])


class CodeSums(NamedTuple):
    """What the dictionary needs of the codes Z of rows X."""

    n: float  # weight of the rows
    gram: np.ndarray  # (k, k) Z'Z
    cross: np.ndarray  # (k, p) Z'X
    data: float  # sum of squares of X
    usage: np.ndarray  # (k,) sum of |Z|
    squares: float  # sum of squares of Z
    worst: WorstRows

    def merge(self, other: CodeSums) -> CodeSums:
        sums = [a + b for a, b in zip(self[:-1], other[:-1], strict=True)]
        return CodeSums._make([*sums, self.worst.merge(other.worst)])

    def cost(self, D: np.ndarray, rule: CodeRule) -> float:
        """Half the squared error with atoms D, and the penalties."""
        fitted = float((self.gram * (D @ D.T)).sum())
        error = 0.5 * (self.data - 2 * float((self.cross * D).sum()) + fitted)
        return error + penalty_of(self.usage, self.squares, rule)


def penalty_of(usage: np.ndarray, squares: float, rule: CodeRule) -> float:
    """Penalties on codes with these sums; a number of atoms has no penalty."""
    l1 = rule.alpha if rule.algorithm in ("lasso_lars", "lasso_cd") else 0.0
    return l1 * float(usage.sum()) + 0.5 * rule.l2 * squares


def code_sums(chunk: Chunk, D: Dictionary, rule: CodeRule) -> CodeSums:
    """Code the rows of a chunk, and add up what the dictionary needs."""
    X = chunk.X
    C = np.asarray(X @ D.atoms.T, np.float64)
    return sums_of_codes(chunk, encode_products(C, D.gram, rule), C, D)


def sums_of_codes(chunk: Chunk, Z: np.ndarray, C: np.ndarray, D: Dictionary) -> CodeSums:
    """The sums of a chunk with codes Z, whose rows have the products C with the atoms."""
    X, w = chunk.X, chunk.weights().astype(np.float64)
    if isinstance(X, np.ndarray):
        squares = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    else:
        squares = np.asarray(X.multiply(X).sum(axis=1), np.float64).ravel()
    weighted = Z * w[:, None]
    errors = squares - 2 * np.einsum("ij,ij->i", Z, C) + np.einsum("ij,ij->i", Z @ D.gram, Z)
    order = np.lexsort((np.arange(chunk.rows), -errors * (w > 0)))[:_N_WORST]
    return CodeSums(
        float(w.sum()),
        Z.T @ weighted,
        np.ascontiguousarray(np.asarray(X.T @ weighted, np.float64).T),
        float(w @ squares),
        np.abs(weighted).sum(axis=0),
        float(np.einsum("ij,ij->", weighted, Z)),
        WorstRows(errors[order], chunk.first + order),
    )


def update_dictionary(
    D: np.ndarray, gram: np.ndarray, cross: np.ndarray, positive: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Atoms of length at most 1, each in turn the best for the others; and which are not used."""
    D = D.copy()
    squares = gram.diagonal()
    unused = squares <= _UNUSED * max(float(squares.max(initial=0.0)), np.finfo(float).tiny)
    sweep_atoms(D, gram, np.ascontiguousarray(cross), unused, positive, _MAX_SWEEPS, _SWEEP_TOL)
    return D, np.flatnonzero(unused)


def shorten_atoms(D: np.ndarray, positive: bool) -> np.ndarray:
    """Atoms of length at most 1, non-negative if asked for."""
    D = np.maximum(D, 0.0) if positive else D
    return D / np.maximum(np.linalg.norm(D, axis=1), 1.0)[:, None]


def replace_atoms(
    D: np.ndarray, unused: np.ndarray, candidates: np.ndarray, positive: bool
) -> np.ndarray:
    """Unused atoms become the rows with the largest errors, scaled to length 1."""
    D = D.copy()
    for k, row in zip(unused, candidates, strict=False):
        atom = np.maximum(row, 0.0) if positive else row
        length = float(np.linalg.norm(atom))
        if length > 0:
            D[k] = atom / length
    return D


def take_dense(rows: Rows, numbers: np.ndarray) -> np.ndarray:
    """Rows with these numbers, in this order, as a dense float64 array."""
    unique, back = np.unique(numbers, return_inverse=True)
    return to_dense(rows.take(unique).X).astype(np.float64)[back]


def initial_dictionary(
    rows: Rows, k: int, given: Any, positive: bool, rng: np.random.Generator
) -> np.ndarray:
    """Given atoms, else right singular vectors and rows of length 1: k atoms."""
    if given is not None:
        D = np.array(given, np.float64)[:k]
        if D.shape[1] != rows.n_features:
            raise ValueError(
                f"dict_init has {D.shape[1]} columns, and X has {rows.n_features}: give an atom as "
                "long as a row"
            )
    else:
        D = _singular_vectors(rows, k, rng)
    if len(D) < k:
        numbers = np.sort(rng.choice(rows.n_rows, k - len(D), replace=rows.n_rows < k - len(D)))
        D = np.vstack([D, take_dense(rows, numbers)])
    D = np.maximum(D, 0.0) if positive else D
    if given is not None:
        return D
    return D / np.maximum(np.linalg.norm(D, axis=1), np.finfo(float).tiny)[:, None]


def _singular_vectors(rows: Rows, k: int, rng: np.random.Generator) -> np.ndarray:
    """Up to k right singular vectors, those of values above rounding."""
    side = min(rows.n_rows, rows.n_features)
    if side <= _SMALL_SIDE and not rows.sparse:
        found = singular_vectors_from_qr(rows)
    else:
        found = iterate_singular_vectors(rows, min(k, side), 10, 4, rng)
    there = found.values[:k] > 1e-7 * max(float(found.values[0]), np.finfo(float).tiny)
    return fix_signs(found.directions[:k][there])
