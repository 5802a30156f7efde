r"""The quadratic programs of support vector machines in one form.

.. math:: \min_\beta \tfrac12 \beta^\top K \beta + \ell^\top \beta, \quad
          L \le \beta \le U, \quad \textstyle\sum_{t \in g} \beta_t = s_g

with the gradient f = K beta + l. Multipliers of scikit-learn's models are beta with their sign:
classification has beta = y alpha, regression has two variables for each row, alpha and -alpha*.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class DualProblem(NamedTuple):
    """A quadratic program over variables that belong to rows.

    Attributes
    ----------
    row : (m,) row of each variable
    linear, lower, upper : (m,) linear term l, bounds L and U
    group : (m,) int8, 0 or 1: whose sum a variable belongs to
    start : (m,) feasible variables
    n_rows : number of rows
    """

    row: np.ndarray
    linear: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    group: np.ndarray
    start: np.ndarray
    n_rows: int

    def gradient(self, F: np.ndarray) -> np.ndarray:
        """The gradient of all variables from F = K beta of all rows."""
        return F[self.row] + self.linear

    def row_sums(self, beta: np.ndarray) -> np.ndarray:
        """Sum of the variables of each row: its coefficient in the decision function."""
        return np.bincount(self.row, beta, self.n_rows)


class Optimality(NamedTuple):
    """How far variables are from the optimum.

    Attributes
    ----------
    violation : largest difference of gradients of a pair that could still move
    multipliers : (2,) multiplier of the sum of each group, zero for an empty one
    gap : duality gap, for a kernel that is positive semi-definite
    objective : of the minimization
    """

    violation: float
    multipliers: np.ndarray
    gap: float
    objective: float


def classification_problem(sign: np.ndarray, cost: np.ndarray) -> DualProblem:
    """C-support vector classification: signs -1 or +1, bound of each multiplier."""
    n = len(sign)
    return DualProblem(
        np.arange(n),
        -sign.astype(np.float64),
        np.where(sign > 0, 0.0, -cost),
        np.where(sign > 0, cost, 0.0),
        np.zeros(n, np.int8),
        np.zeros(n),
        n,
    )


def nu_classification_problem(sign: np.ndarray, weight: np.ndarray, nu: float) -> DualProblem:
    """nu-support vector classification: the multipliers of each sign have the same sum."""
    n, half = len(sign), 0.5 * nu * float(weight.sum())
    start = np.zeros(n)
    for s in (1, -1):
        rows = np.flatnonzero(sign == s)
        if half > weight[rows].sum() * (1 + 1e-12):
            raise ValueError(
                f"specified nu is infeasible: nu={nu} is more than twice the share of the rarer of "
                "two classes. Take a smaller nu, or SVC"
            )
        start[rows] = s * fill_in_order(weight[rows], half)
    problem = classification_problem(sign, weight)
    return problem._replace(linear=np.zeros(n), group=(sign < 0).astype(np.int8), start=start)


def regression_problem(y: np.ndarray, cost: np.ndarray, epsilon: float) -> DualProblem:
    """Epsilon-support vector regression: alpha of all rows, then -alpha* of all rows."""
    n, zero = len(y), np.zeros(len(y))
    return DualProblem(
        np.concatenate([np.arange(n), np.arange(n)]),
        np.concatenate([epsilon - y, -epsilon - y]),
        np.concatenate([zero, -cost]),
        np.concatenate([cost, zero]),
        np.zeros(2 * n, np.int8),
        np.zeros(2 * n),
        n,
    )


def nu_regression_problem(y: np.ndarray, cost: np.ndarray, nu: float) -> DualProblem:
    """nu-support vector regression: alpha and alpha* have the same sum."""
    start = fill_in_order(cost, 0.5 * nu * float(cost.sum()))
    problem = regression_problem(y, cost, 0.0)
    group = np.repeat(np.array([0, 1], np.int8), len(y))
    return problem._replace(group=group, start=np.concatenate([start, -start]))


def one_class_problem(weight: np.ndarray, nu: float) -> DualProblem:
    """Support of a distribution: multipliers between zero and the weight with a given sum."""
    n = len(weight)
    start = fill_in_order(weight, nu * float(weight.sum()))
    zero = np.zeros(n)
    return DualProblem(np.arange(n), zero, zero, weight, np.zeros(n, np.int8), start, n)


def fill_in_order(bounds: np.ndarray, total: float) -> np.ndarray:
    """Variables at their bounds from the first on, until they have the total.

    Examples
    --------
    >>> fill_in_order(np.ones(4), 2.5).tolist()
    [1.0, 1.0, 0.5, 0.0]
    """
    before = np.cumsum(bounds) - bounds
    return np.clip(total - before, 0.0, bounds)


def check_optimality(problem: DualProblem, beta: np.ndarray, F: np.ndarray) -> Optimality:
    """Violation, multipliers, duality gap and objective of variables beta.

    The multiplier of a sum is the mean gradient of its free variables; without any it is the
    middle of the values that are optimal.
    """
    f = problem.gradient(F)
    multipliers, violation = np.zeros(2), -np.inf
    unbounded = np.isinf(problem.upper)  # their gradient is the multiplier
    is_free = unbounded if unbounded.any() else (beta < problem.upper) & (beta > problem.lower)
    for g, (rising, falling) in enumerate(movable_by_group(problem, beta)):
        free = rising[is_free[rising]]
        ends = [f[rising].min()] if len(rising) else []
        ends += [f[falling].max()] if len(falling) else []
        if len(ends) == 2:
            violation = max(violation, float(ends[1] - ends[0]))
        if len(free):
            multipliers[g] = f[free].mean()
        elif ends:
            multipliers[g] = sum(ends) / len(ends)
    excess = f - multipliers[problem.group]
    room = np.where(excess > 0, beta - problem.lower, beta - problem.upper)
    gap = np.multiply(room, excess, out=np.zeros(len(f)), where=excess != 0)
    objective = 0.5 * problem.row_sums(beta) @ F + problem.linear @ beta
    return Optimality(violation, multipliers, float(gap.sum()), float(objective))


def movable_by_group(
    problem: DualProblem, beta: np.ndarray, active: np.ndarray | None = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each group the numbers of the variables that may rise, and of those that may fall."""
    rising, falling = beta < problem.upper, beta > problem.lower
    if active is not None:
        rising, falling = rising & active, falling & active
    if not problem.group.any():
        return [(np.flatnonzero(rising), np.flatnonzero(falling))]
    own = [problem.group == g for g in (0, 1)]
    return [(np.flatnonzero(rising & g), np.flatnonzero(falling & g)) for g in own]
