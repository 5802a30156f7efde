"""Distributions and rows for their tests."""

from dataclasses import replace

import numpy as np
from hypothesis import settings

from tenfold.distributions import Categorical, Gaussian, Multinomial

CALM = settings(max_examples=40, deadline=None)


C = np.array([[2.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 0.5]])


MEAN = np.array([1.0, -2.0, 0.5])


WORDS = np.array([0.5, 0.3, 0.2])


def draws(density, n=400, seed=0):
    return density.sample(n, np.random.default_rng(seed))


def total(density, X, w=None):
    each = density.log_density(X)
    return each.sum() if w is None else w @ each


PARAMETERS = {"p", "rate", "shape", "a", "b", "low", "high", "mean", "covariance"}


def nudged(density, rng):
    if isinstance(density, Categorical | Multinomial):
        p = density.p * np.exp(0.1 * rng.normal(size=len(density.p)))
        return replace(density, p=p / p.sum())
    if isinstance(density, Gaussian):
        factor = np.exp(0.1 * rng.normal())
        return replace(
            density,
            mean=density.mean + 0.1 * rng.normal(size=3),
            covariance=density.covariance * factor,
        )
    names = [k for k in vars(density) if k in PARAMETERS]
    moved = {k: np.asarray(getattr(density, k)) * np.exp(0.1 * rng.normal()) for k in names}
    return replace(
        density, **{k: np.minimum(v, 0.999) if k == "p" else v for k, v in moved.items()}
    )
