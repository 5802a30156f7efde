r"""Contrasts of independent component analysis, and their sums over rows.

A contrast G measures how far a projection y of unit variance is from normal, by the difference
between E G(y) and E G(n) of a normal n. With g = G',

=========  ================================  ==========================
logcosh    :math:`\log\cosh(\alpha y)/\alpha`   g = tanh(alpha y)
exp        :math:`-\exp(-y^2/2)`                g = y exp(-y^2/2)
cube       :math:`y^4/4` (kurtosis)             g = y^3
=========  ================================  ==========================

The sums over rows of g(y) x', g'(y) and G(y) are all that the algorithms need from a pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.merge_tree import merge

CONTRASTS = ("logcosh", "exp", "cube")
_LOG_2 = float(np.log(2.0))
_QUADRATURE = 100
_BLOCK_NUMBERS = 2**15  # entries of rows or projections that are in the cache at once


class ICAContrast(NamedTuple):
    """A contrast by name with its parameter, or a function of the user with its arguments."""

    name: str
    alpha: float
    function: Any = None
    arguments: Any = None

    def gaussian_mean(self) -> float:
        """E G(n) of a standard normal n."""
        if self.name == "exp":
            return -float(np.sqrt(0.5))
        if self.name == "cube":
            return 0.75
        x, w = np.polynomial.hermite_e.hermegauss(_QUADRATURE)
        u = np.abs(self.alpha * x)
        values = (u + np.log1p(np.exp(-2 * u)) - _LOG_2) / self.alpha
        return float(w @ values / w.sum())


class ContrastSums(NamedTuple):
    """Sums over rows.

    Attributes
    ----------
    n : their weight
    products : (m, p) of g(y) times the centered row
    slopes : (m,) of g'(y)
    values : (m,) of G(y); zeros where they were not asked for
    """

    n: float
    products: np.ndarray
    slopes: np.ndarray
    values: np.ndarray


def contrast_sums(
    chunk: Chunk, A: np.ndarray, mean: np.ndarray | None, contrast: ICAContrast, with_values: bool
) -> ContrastSums:
    """Sums of the projections y = A (x - mean); A is (m, p), no mean is zero."""
    m, p = A.shape
    B = np.ascontiguousarray(A.T.astype(chunk.X.dtype))
    size = max(_BLOCK_NUMBERS // max(m, p), 64)
    total = ContrastSums(0.0, np.zeros((m, p)), np.zeros(m), np.zeros(m))
    for first in range(0, chunk.rows, size):
        rows = slice(first, first + size)
        D = chunk.X[rows] if mean is None else chunk.X[rows] - mean
        Y = (D @ B).astype(np.float64, copy=False)
        w = None if chunk.w is None else chunk.w[rows].astype(np.float64)
        total = merge(total, _block_sums(D, Y, w, contrast, with_values))
    return total


def _block_sums(
    D: np.ndarray, Y: np.ndarray, w: np.ndarray | None, contrast: ICAContrast, with_values: bool
) -> ContrastSums:
    """The sums of some rows D with projections Y."""
    n = float(len(Y)) if w is None else float(w.sum())
    if contrast.function is not None:
        g, slopes = _call_function(Y, contrast)
        return ContrastSums(n, g @ D, n * slopes, np.zeros(Y.shape[1]))
    if contrast.name == "logcosh":
        return _logcosh_sums(D, Y, w, contrast.alpha, with_values)
    g, slopes, values = evaluate_contrast(Y, contrast.name)
    w = np.ones(len(Y)) if w is None else w
    return ContrastSums(n, _weigh(g, w).T.astype(D.dtype) @ D, w @ slopes, w @ values)


def _logcosh_sums(
    D: np.ndarray, Y: np.ndarray, w: np.ndarray | None, alpha: float, with_values: bool
) -> ContrastSums:
    """The same of log cosh, which is the default, with as few passes over Y as can be."""
    U = Y if alpha == 1 else alpha * Y
    values = np.zeros(Y.shape[1])
    if with_values:
        size = np.abs(U)
        logs = size + np.log1p(np.exp(-2 * size)) - _LOG_2
        values = (logs.sum(axis=0) if w is None else w @ logs) / alpha
    g = np.tanh(U)
    if w is None:
        n = float(len(Y))
        squares, products = np.einsum("ij,ij->j", g, g), g.T.astype(D.dtype, copy=False) @ D
    else:
        n, weighted = float(w.sum()), _weigh(g, w)
        squares, products = np.einsum("ij,ij->j", weighted, g), weighted.T.astype(D.dtype) @ D
    return ContrastSums(n, products, alpha * (n - squares), values)


def _weigh(g: np.ndarray, w: np.ndarray) -> np.ndarray:
    return g * w[:, None]


def _call_function(Y: np.ndarray, contrast: ICAContrast) -> tuple[np.ndarray, np.ndarray]:
    """g(y) (m, n) and the means of g'(y) (m,) of a function of the user."""
    m = Y.shape[1]
    found = contrast.function(Y.T if m > 1 else Y[:, 0], **contrast.arguments)
    if not isinstance(found, tuple) or len(found) != 2:
        raise ValueError("a function for `fun` returns the pair (g(y), mean of g'(y) over rows)")
    g, slopes = (np.asarray(part, np.float64) for part in found)
    return g.reshape(m, -1), slopes.reshape(m)


def evaluate_contrast(Y: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """g, g' and G of each entry for "exp" and "cube", (n, m) each."""
    squares = Y * Y
    if name == "exp":
        e = np.exp(-0.5 * squares)
        return Y * e, (1 - squares) * e, -e
    return squares * Y, 3 * squares, 0.25 * squares * squares
