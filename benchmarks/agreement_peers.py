"""Peers that have another interface, as classes that fit like all others."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.agreement_objectives import Penalty, objective, probit


class _WithConstant:
    """Keeps [w b] of a model that takes a column of ones last."""

    coef_: np.ndarray
    intercept_: float

    def _keep(self, theta: np.ndarray) -> Any:
        self.coef_, self.intercept_ = theta[:-1], float(theta[-1])
        return self


class StatsmodelsProbit(_WithConstant):
    """Probit regression without a penalty."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Any:
        from statsmodels.api import Probit

        model = Probit(y, np.column_stack([X, np.ones(len(X))]))
        return self._keep(model.fit(method="newton", maxiter=200, tol=1e-12, disp=0).params)


class StatsmodelsPoisson(_WithConstant):
    """Poisson regression without a penalty."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Any:
        from statsmodels.api import GLM, families

        model = GLM(y, np.column_stack([X, np.ones(len(X))]), family=families.Poisson())
        return self._keep(model.fit(maxiter=200, tol=1e-14).params)


class ScipyProbit(_WithConstant):
    """Probit regression with a square penalty, by a general minimiser."""

    def __init__(self, C: float) -> None:
        self.C = C

    def fit(self, X: np.ndarray, y: np.ndarray) -> Any:
        from scipy.optimize import minimize
        from scipy.special import log_ndtr

        from benchmarks.agreement_objectives import Solution

        A, s = np.column_stack([X, np.ones(len(X))]), np.where(y == 1, 1.0, -1.0)

        def both(theta: np.ndarray) -> tuple[float, np.ndarray]:
            found, margin = Solution(theta[None, :-1], theta[-1:]), s * (A @ theta)
            mills = np.exp(-0.5 * margin**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(margin))
            slope = -self.C * A.T @ (s * mills) + np.append(theta[:-1], 0.0)
            return objective(found, X, y, probit, self.C, Penalty(l2=1.0)), slope

        start = np.zeros(A.shape[1])
        options = {"maxiter": 50_000, "gtol": 1e-10, "ftol": 1e-16, "maxcor": 50}
        return self._keep(minimize(both, start, jac=True, method="L-BFGS-B", options=options).x)


class LassoPath(_WithConstant):
    """The end of a path of penalties, each fit from the last one, as glmnet does it."""

    def __init__(self, alpha: float, l1_ratio: float = 1.0) -> None:
        self.alpha, self.l1_ratio = alpha, l1_ratio

    def fit(self, X: np.ndarray, y: np.ndarray) -> Any:
        from sklearn.linear_model import enet_path

        x, centre = X.mean(axis=0), y.mean()
        first = np.abs((X - x).T @ (y - centre)).max() / len(y) / self.l1_ratio
        alphas = np.geomspace(max(first, self.alpha), self.alpha, 50)
        options = {"l1_ratio": self.l1_ratio, "tol": 1e-12, "max_iter": 100_000}
        _, path, _ = enet_path(X - x, y - centre, alphas=alphas, precompute=True, **options)
        return self._keep(np.append(path[:, -1], centre - x @ path[:, -1]))
