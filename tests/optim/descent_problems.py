"""Problems whose minimum is known, for the tests of optimizers."""

import numpy as np
from hypothesis import settings

from tenfold.math.losses import LogisticLoss

CALM = settings(max_examples=30, deadline=None)


def bowl(curvatures, best):
    """Half the squares of the distance from `best`, weighted by curvatures."""
    c, best = np.asarray(curvatures, float), np.asarray(best, float)
    return lambda x: (0.5 * float(c @ (x - best) ** 2), c * (x - best))


def least_squares(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + 0.1 * rng.normal(size=n)


def squares(chunk, theta):
    error = chunk.X @ theta - chunk.y
    return float(error @ error) / 2, chunk.X.T @ error


def logistic_data(n=80, d=3, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X @ rng.normal(size=d) + rng.logistic(size=n) > 0, 1.0, -1.0)


def log_loss(X, y):
    def f(w):
        z = X @ w
        return float(LogisticLoss().value(z, y).sum()), X.T @ LogisticLoss().gradient(z, y)

    return f
