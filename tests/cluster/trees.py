"""Trees of clusters for several test files."""

import numpy as np

NOTES = np.array([[0.0], [1.0], [3.0], [7.0]])  # [004, 6.3]


def rows(n=60, p=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))
