"""Classes for the tests of discriminants."""

import numpy as np

PRIORS = [0.2, 0.5, 0.3]


def table(n=240, p=4, k=3, seed=0):
    """Correlated rows of k classes."""
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(k), rng.integers(0, k, n - k))
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) * rng.uniform(0.5, 2, k)[y][:, None]
    return X + rng.normal(size=(k, p))[y], y
