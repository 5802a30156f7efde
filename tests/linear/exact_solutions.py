"""Tables and their solutions in exact arithmetic."""

from fractions import Fraction

import numpy as np


def weights(n, seed=1):
    w = np.random.default_rng(seed).integers(0, 3, n).astype(float)
    w[0] = 1.0
    return w


def exact(X, y, alpha=0.0):
    """Coefficients of ridge regression with a constant, in whole numbers and fractions."""
    Z = np.array([[int(Fraction(v) * 2**120) for v in row] for row in np.column_stack([X, y])], "O")
    S = len(Z) * (Z.T @ Z) - np.multiply.outer(Z.sum(axis=0), Z.sum(axis=0))
    p = X.shape[1]
    A = [[Fraction(v) for v in row] for row in S[:p]]
    for i in range(p):
        A[i][i] += len(Z) * Fraction(alpha) * 2**240
    for i in range(p):
        for k in [k for k in range(p) if k != i]:
            A[k] = [a - A[k][i] / A[i][i] * b for a, b in zip(A[k], A[i], strict=True)]
    return np.array([float(A[i][p] / A[i][i]) for i in range(p)])
