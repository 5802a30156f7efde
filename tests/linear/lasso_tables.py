"""Tables of lasso problems."""

import numpy as np

TIGHT = {"tol": 1e-13, "max_iter": 100_000}


def table(n, p, seed=0, informative=3, shift=2.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.3 * rng.normal(size=(p, p)) / np.sqrt(p)) + shift
    y = X[:, :informative] @ np.arange(1, informative + 1) + 0.5 * rng.normal(size=n) + 5
    return X, y
