"""Eigenvalues and eigenvectors of symmetric matrices, each with a pull made of the other."""

# ruff: noqa: ARG001 - a pull is given all there is, and few need all

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.maths.differentiate.products import turned
from tenfold.maths.differentiate.traced import COMPOSED, primitive


def by_values(g: Any, values: Any, A: Any) -> Any:
    """Pull of the eigenvalues: the sum of g_i v_i v_i'."""
    V = eigenvectors(A)
    return (V * g[..., None, :]) @ turned(V)


def by_vectors(g: Any, V: Any, A: Any) -> Any:
    """Pull of the eigenvectors; eigenvalues that are equal have none of their own."""
    values, size = eigenvalues(A), np.shape(V)[-1]
    gaps = values[..., None, :] - values[..., :, None]
    if np.any((np.abs(gaps) < 1e-12 * np.max(np.abs(values))) & ~np.eye(size, dtype=bool)):
        raise ValueError("eigenvectors of equal eigenvalues have no slope: any rotation would do")
    inner = (turned(V) @ g) * (1 - np.eye(size)) / (gaps + np.eye(size))
    whole = V @ inner @ turned(V)
    return 0.5 * (whole + turned(whole))


@primitive(by_values)
def eigenvalues(A: Any) -> Any:
    """Eigenvalues of symmetric matrices, ascending."""
    return np.linalg.eigh(A)[0]


@primitive(by_vectors)
def eigenvectors(A: Any) -> Any:
    """Eigenvectors of symmetric matrices, one a column."""
    return np.linalg.eigh(A)[1]


COMPOSED.update(
    {
        np.linalg.eigvalsh: eigenvalues,
        np.linalg.eigh: lambda A: (eigenvalues(A), eigenvectors(A)),
    }
)
