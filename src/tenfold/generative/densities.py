"""What a density of a class has to offer, and two that do.

A density is an object with three methods::

    fit(X, w)       a density fitted to rows X with weights w
    log_density(X)  (n,) log density of each row
    sample(n, rng)  (n, p) rows, drawn with a numpy Generator

`fit` returns the fitted density, a new one or itself. Two more make it learn in one pass over data
of any size, merge, and grow::

    statistic(X, w)    what rows say: anything that merges (see `tenfold.rows.merge`)
    fitted(s)          the density fitted to such a total

Those of `tenfold.maths.densities` have all of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.maths.moments import Moments


class Gaussian(NamedTuple):
    r"""The normal density, fitted by maximum likelihood.

    .. math:: \log \mathcal N(x; \mu, \Sigma) = -\tfrac12 \big[p \log 2\pi + \log \lvert\Sigma\rvert
              + (x - \mu)^\top \Sigma^{-1} (x - \mu)\big]

    Attributes
    ----------
    reg_covar : added to the variances
    mean, covariance : (p,) and (p, p), None before the fit

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.generative.densities import Gaussian
    >>> g = Gaussian(reg_covar=0.0).fit(np.array([[1.0], [3.0]]), np.ones(2))
    >>> g.mean.tolist(), g.covariance.tolist(), g.log_density(np.array([[2.0]])).round(4).tolist()
    ([2.0], [[1.0]], [-0.9189])
    """

    reg_covar: float = 1e-6
    mean: Any = None
    covariance: Any = None

    def statistic(self, X: np.ndarray, w: np.ndarray) -> Moments:
        """Moments of rows about their mean."""
        n = float(w.sum())
        D = X - X[0].astype(np.float64)
        shift = w @ D / (n or 1.0)
        D = (D - shift) * np.sqrt(w)[:, None]
        return Moments(n, X[0] + shift, D.T @ D, len(X))

    def fitted(self, s: Moments) -> Gaussian:
        """The most likely Gaussian."""
        covariance = s.scatter / (s.n or 1.0) + self.reg_covar * np.eye(len(s.mean))
        return Gaussian(self.reg_covar, s.mean, covariance)

    def fit(self, X: np.ndarray, w: np.ndarray) -> Gaussian:
        """The most likely Gaussian of weighted rows."""
        return self.fitted(self.statistic(X, w))

    def log_density(self, X: np.ndarray) -> np.ndarray:
        """Log density of each row."""
        L = np.linalg.cholesky(self.covariance)
        Z = np.linalg.solve(L, (X - self.mean).T)
        return -0.5 * (Z * Z).sum(axis=0) - np.log(np.sqrt(2 * np.pi) * np.diag(L)).sum()

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Rows."""
        steps = rng.normal(size=(n, len(self.mean)))
        return self.mean + steps @ np.linalg.cholesky(self.covariance).T


class Independent(NamedTuple):
    """Independent columns with a density each: naive Bayes with any density per column.

    Attributes
    ----------
    columns : a density for each column, each of which sees rows of one column

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.generative.densities import Gaussian, Independent
    >>> X = np.array([[1.0, 5.0], [3.0, 5.5], [2.0, 7.0]])
    >>> both = Independent((Gaussian(), Gaussian())).fit(X, np.ones(3))
    >>> parts = sum(d.log_density(X[:, [j]]) for j, d in enumerate(both.columns))
    >>> bool(np.allclose(both.log_density(X), parts))
    True
    """

    columns: tuple

    def fit(self, X: np.ndarray, w: np.ndarray) -> Independent:
        """Each density, fitted to its column."""
        return Independent(tuple(d.fit(X[:, [j]], w) for j, d in enumerate(self._checked(X))))

    def log_density(self, X: np.ndarray) -> np.ndarray:
        """Sum of the log densities of the columns."""
        return np.sum([d.log_density(X[:, [j]]) for j, d in enumerate(self.columns)], axis=0)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Rows."""
        return np.hstack([d.sample(n, rng) for d in self.columns])

    def _checked(self, X: np.ndarray) -> tuple:
        if len(self.columns) != X.shape[1]:
            raise ValueError(f"{len(self.columns)} densities for {X.shape[1]} columns")
        return self.columns
