"""The normal density: spherical, diagonal or with any covariance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tenfold.maths.densities.contract import Fits, as_rows, need_prior, weights
from tenfold.maths.moments import ClassMoments, Moments

KINDS = ("full", "diagonal", "spherical")
LOG_2_PI = 1.8378770664093453


@dataclass(frozen=True)
class Gaussian(Fits):
    r"""The normal density of rows.

    .. math:: \log \mathcal N(x; \mu, \Sigma) = -\tfrac12 \big[p \log 2\pi + \log \lvert\Sigma\rvert
              + (x - \mu)^\top \Sigma^{-1} (x - \mu)\big]

    Most likely are the mean of the rows and their covariance with 1/n; of the spherical density,
    the mean of the variances. [000, 2.2; 001, 3.2 and A.6; 002, 8.1; 003, unit 4]

    Parameters
    ----------
    mean : float or (p,) array
        Centre.
    covariance : float, (p,) or (p, p) array
        A number is the variance of each column, a vector has one for each, a matrix is itself.
    kind : {"full", "diagonal", "spherical"}
        The covariance that is fitted.
    floor : float
        Added to fitted variances, for columns that do not vary.
    prior : Gaussian, NormalInverseWishart or NormalInverseGamma, optional
        A Gaussian is the belief about the mean, and the covariance is known. The others are beliefs
        about both: for a full covariance, and for a diagonal one. Then `fitted` is the mode of the
        posterior.

    Examples
    --------
    >>> g = Gaussian().fit([[1.0], [3.0]])
    >>> g.mean.tolist(), g.covariance.tolist(), g.log_density([2.0]).round(4).tolist()
    ([2.0], [[1.0]], [-0.9189])
    >>> known = Gaussian(0.0, 4.0, prior=Gaussian(0.0, 1.0)).learned([2.0, 4.0, 6.0, 8.0])
    >>> known.prior.mean.tolist(), known.prior.covariance.tolist()
    ([2.5], [[0.5]])
    """

    mean: Any = 0.0
    covariance: Any = 1.0
    kind: str = "full"
    floor: float = 0.0
    prior: Any = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {KINDS}, got {self.kind!r}")

    def is_conjugate(self, prior: Any) -> bool:
        """Whether this is a belief about the mean, or about mean and covariance."""
        return isinstance(prior, Gaussian) or hasattr(prior, "updated")

    @property
    def centre(self) -> np.ndarray:
        """The mean as a vector, (p,)."""
        C = np.asarray(self.covariance, np.float64)
        return np.broadcast_to(np.asarray(self.mean, np.float64), self._size(C)).astype(np.float64)

    def _size(self, C: np.ndarray) -> int:
        return max(np.size(self.mean), C.shape[0] if C.ndim else 1)

    @property
    def matrix(self) -> np.ndarray:
        """The covariance as a matrix, (p, p)."""
        C = np.asarray(self.covariance, np.float64)
        return C if C.ndim == 2 else np.diag(np.broadcast_to(C, self._size(C)))

    @property
    def variance(self) -> np.ndarray:
        """Variance of each column, (p,)."""
        C = np.asarray(self.covariance, np.float64)
        return C.diagonal() if C.ndim == 2 else np.broadcast_to(C, self._size(C)).copy()

    def log_density(self, X: Any) -> np.ndarray:
        D = as_rows(X) - self.centre
        if np.ndim(self.covariance) == 2:
            root = self._root()
            Z = np.linalg.solve(root, D.T)
            return -0.5 * ((Z * Z).sum(axis=0) + D.shape[1] * LOG_2_PI) - log_diagonal(root)
        v = self.variance
        if not (v > 0).all():
            raise ValueError(f"a Gaussian with the variances {v} has no density: set floor=")
        return -0.5 * (D * D / v + np.log(v) + LOG_2_PI).sum(axis=1)

    def _root(self) -> np.ndarray:
        try:
            return np.linalg.cholesky(np.asarray(self.covariance, np.float64))
        except np.linalg.LinAlgError as error:
            raise ValueError(
                "a Gaussian with a singular covariance has no density: set floor="
            ) from error

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw n rows; a singular covariance is no obstacle."""
        mean = self.centre
        steps = rng.standard_normal((n, len(mean)))
        if np.ndim(self.covariance) < 2:
            return mean + steps * np.sqrt(self.variance)
        values, V = np.linalg.eigh(self.matrix)
        return mean + steps @ (V * np.sqrt(np.maximum(values, 0))).T

    def statistic(self, X: Any, w: Any = None) -> Moments | ClassMoments:
        """Weight, mean and scatter of rows; without products of columns if not needed."""
        X = as_rows(X)
        w = weights(X, w)
        X, w = X[w > 0], w[w > 0]
        n, origin = float(w.sum()), X[0] if len(X) else np.zeros(X.shape[1])
        D = X - origin
        shift = w @ D / (n or 1.0)
        D = (D - shift) * np.sqrt(w)[:, None]
        if self.kind == "full":
            return Moments(n, origin + shift, D.T @ D, len(X))
        squares = (D * D).sum(axis=0)
        return ClassMoments(np.array([n]), (origin + shift)[None], squares[None])

    def fitted(self, statistic: Moments | ClassMoments) -> Gaussian:
        n, mean, scatter = unpacked(statistic)
        if self.prior is not None:
            return self.at(self.posterior(statistic).mode)
        if not n > 0:
            return self
        C = scatter / n
        if self.kind == "spherical":
            return replace(self, mean=mean, covariance=float(C.mean()) + self.floor)
        ridge = self.floor * (np.eye(len(mean)) if self.kind == "full" else 1.0)
        return replace(self, mean=mean, covariance=C + ridge)

    def posterior(self, statistic: Moments | ClassMoments) -> Any:
        """Belief about the mean, or about mean and covariance, after the data."""
        prior = need_prior(self, "Gaussian(...) or NormalInverseWishart(...)")
        n, mean, scatter = unpacked(statistic)
        if not isinstance(prior, Gaussian):
            return prior.updated(n, mean, scatter, self.kind)
        rows = n * np.linalg.inv(replace(self, mean=mean).matrix)
        before = np.linalg.inv(replace(prior, mean=np.broadcast_to(prior.mean, mean.shape)).matrix)
        S = np.linalg.inv(before + rows)
        return Gaussian(S @ (before @ np.broadcast_to(prior.mean, mean.shape) + rows @ mean), S)

    def at(self, parameter: Any) -> Gaussian:
        """The density with another mean, or another (mean, covariance)."""
        if isinstance(parameter, tuple):
            return replace(self, mean=parameter[0], covariance=parameter[1])
        return replace(self, mean=np.ravel(parameter))

    @property
    def mode(self) -> np.ndarray:
        return self.centre

    def _inside(self, posterior: Any) -> Any:
        return posterior.mode


def unpacked(statistic: Moments | ClassMoments) -> tuple[float, np.ndarray, np.ndarray]:
    """Weight, mean and scatter."""
    if isinstance(statistic, Moments):
        return statistic.n, statistic.mean, statistic.scatter
    return float(statistic.n[0]), statistic.mean[0], statistic.scatter[0]


def log_diagonal(root: np.ndarray) -> float:
    """Half the log-determinant of a matrix with this triangular root."""
    return float(np.log(root.diagonal()).sum())
