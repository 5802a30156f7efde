"""Small problems, and their exact solutions by the interior-point method."""

import numpy as np

from tenfold.optim.interior_point import quadratic_program


def solve_exactly(problem, K):
    """Objective of a `DualProblem` with a kernel matrix, by quadratic programming."""
    rows, m = problem.row, len(problem.row)
    groups = [problem.group == g for g in np.unique(problem.group)]
    solution = quadratic_program(
        K[np.ix_(rows, rows)],
        problem.linear,
        np.vstack([np.eye(m), -np.eye(m)]),
        np.concatenate([problem.upper, -problem.lower]),
        np.array(groups, float),
        np.array([problem.start[g].sum() for g in groups]),
    )
    return float(
        0.5 * solution.x @ K[np.ix_(rows, rows)] @ solution.x + problem.linear @ solution.x
    )


def rings(n, seed=0, noise=0.3):
    """Two rings with labels -1 and 1."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1, -1)
    angle = rng.uniform(0, 2 * np.pi, n)
    radius = 1.5 + 0.5 * y + noise * rng.normal(size=n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def waves(n, seed=0):
    """A smooth function of four columns with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=n)
