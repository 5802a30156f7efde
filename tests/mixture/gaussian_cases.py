"""Gaussian mixtures by brute force, for several test files."""

import numpy as np

from tenfold.mixture._covariance_types import unit_covariances


def clouds(n=300, p=3, k=4, seed=0, spacing=4.0):
    rng = np.random.default_rng(seed)
    turns, centers = rng.normal(size=(k, p, p)), spacing * rng.normal(size=(k, p))
    y = rng.integers(k, size=n)
    return centers[y] + np.einsum("nij,nj->ni", turns[y], rng.normal(size=(n, p))), y


def start_of(X, k, kind, seed=0):
    means = X[np.random.default_rng(seed).choice(len(X), k, replace=False)]
    precisions = unit_covariances(kind, k, X.shape[1])
    return {
        "covariance_type": kind,
        "means_init": means,
        "weights_init": np.full(k, 1 / k),
        "precisions_init": precisions,
    }
