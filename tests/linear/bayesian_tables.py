"""Small tables of Bayesian regression."""

import numpy as np

from tenfold.linear.bayesian.bayesian_linear import BayesianLinearRegression


def table(n=60, p=3, seed=0, noise=0.5, shift=2.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + shift
    return X, X @ rng.normal(size=p) + 1.0 + noise * rng.normal(size=n)


def cubic(n=100, sigma=0.3, degree=9, seed=1):  # 001, 1-16
    rng = np.random.default_rng(seed)
    x = rng.uniform(1, 3, n)
    y = -6 + 11.5 * x - 6 * x**2 + x**3 + sigma * rng.normal(size=n)
    return x, np.vander(x, degree + 1, increasing=True), y


def known(precision=1.0, noise=0.5, **more):
    return BayesianLinearRegression(prior_precision=precision, noise=noise, **more)
