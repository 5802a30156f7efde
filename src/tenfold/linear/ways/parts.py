"""The parts of which linear models are made: loss, penalty, solver."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from tenfold.estimator.base import Estimator
from tenfold.linear.ways.choice import WAYS, Way, minimum
from tenfold.linear.ways.objective import Objective
from tenfold.maths.losses import LOSSES, Loss
from tenfold.maths.penalties import L1, L2, ElasticNet, HNorm, NoPenalty, Penalty
from tenfold.rows import Rows

SETTINGS = {
    "penalty": [StrOptions({"l1", "l2", "elasticnet", "hnorm"}), Penalty, None],
    "alpha": [Interval(Real, 0, None, closed="left")],
    "l1_ratio": [Interval(Real, 0, 1, closed="both")],
    "h": [Interval(Real, 0, None, closed="neither")],
    "fit_intercept": ["boolean"],
    "penalise_intercept": ["boolean"],
    "solver": [StrOptions(set(WAYS))],
    "rate": [Interval(Real, 0, None, closed="neither"), callable, None],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "max_iter": [Interval(Integral, 0, None, closed="left")],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


class Penalised(Estimator):
    """What both models share: the parameters, the penalty, the way."""

    _sparse_ok = True

    def __init__(
        self,
        loss: Any = "auto",
        *,
        penalty: Any = "l2",
        alpha: float = 1e-3,
        l1_ratio: float = 0.5,
        h: float = 1.5,
        fit_intercept: bool = True,
        penalise_intercept: bool = False,
        solver: str = "auto",
        rate: Any = None,
        batch_size: int = 32,
        tol: float = 1e-5,
        max_iter: int = 1000,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.h = h
        self.fit_intercept = fit_intercept
        self.penalise_intercept = penalise_intercept
        self.solver = solver
        self.rate = rate
        self.batch_size = batch_size
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def _penalty(self) -> Penalty:
        if isinstance(self.penalty, Penalty):
            return self.penalty
        made = {
            "l1": lambda: L1(self.alpha),
            "l2": lambda: L2(self.alpha),
            "elasticnet": lambda: ElasticNet(self.alpha, self.l1_ratio),
            "hnorm": lambda: HNorm(self.alpha, self.h),
        }
        return NoPenalty() if self.penalty is None or not self.alpha else made[self.penalty]()

    def _minimum(
        self, rows: Rows, loss: Loss, m: int, n: float, cost: Any, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        squares, kinked = split(self._penalty())
        ridge = np.full(rows.n_features + 1, squares)
        if not self.penalise_intercept:
            ridge[-1] = 0.0
        elif not isinstance(kinked, NoPenalty):
            raise ValueError("penalise_intercept=True is for the penalty 'l2' alone")
        f = Objective(rows, loss, (m, len(ridge)), ridge, n, self.fit_intercept, cost)
        seed = int(rng.integers(2**31)) if self.solver == "sgd" else 0
        way = Way(self.solver, self.tol, self.max_iter, self.rate, self.batch_size, seed)
        found = minimum(f, kinked, np.zeros(m * len(ridge)), way)
        W, b = f.parts(found.x)
        return W.copy(), b.copy(), found.report


def split(penalty: Penalty) -> tuple[float, Penalty]:
    """The strength of the squares in a penalty, and the part with kinks."""
    if isinstance(penalty, HNorm) and penalty.h in (1, 2):
        penalty = L1(penalty.strength) if penalty.h == 1 else L2(2 * penalty.strength)
    if isinstance(penalty, ElasticNet):
        lasso, ridge = penalty.parts
        return ridge.strength, lasso if lasso.strength else NoPenalty()
    if isinstance(penalty, L2):
        return penalty.strength, NoPenalty()
    return 0.0, penalty


def the_loss(loss: str | Loss, usual: Loss) -> Loss:
    """A loss by its name, or the object itself; it must be of the kind of the usual one."""
    if isinstance(loss, Loss):
        return loss
    return usual if loss == "auto" else LOSSES[loss]()
