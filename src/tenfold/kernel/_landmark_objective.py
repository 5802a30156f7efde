"""Logistic regression on landmarks without their features: the objective, and its minimum.

With w = R^-1 a for a root R of the inverse of K_mm, the penalty a'K_mm a is a sum of squares, and
the features of rows are k_m(x) R. They would take a product of n x m by m x m. It is enough to
multiply the parameters by R on the way to a pass over kernel values, and the gradient on the way
back.

Benchmark case: `kernel-logistic` (benchmarks/kernels.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.arrays import ArraySource
from tenfold.engine.rows import Rows
from tenfold.engine.second_moments import second_moments
from tenfold.linear._mapped_rows import ClassWeights, MappedRows
from tenfold.linear._objective import LinearObjective, total_weight
from tenfold.linear._smooth_solvers import (
    gram_preconditioner,
    inverse_product,
    max_mean_to_deviation,
)
from tenfold.optim.convergence import Minimum
from tenfold.optim.newton_methods import newton
from tenfold.optim.quasi_newton import lbfgs

_SAMPLE_ROWS = 4096  # least sample that a fit starts from
_SAMPLE_ROWS_PER_LANDMARK = 16  # with fewer rows the Hessian of a sample is a poor preconditioner
_SAMPLE_TOL = 1e-3  # of the gradient at the minimum on a sample


class LandmarkObjective(NamedTuple):
    """Mean loss of a . k_m(x) + b, and ridge / 2 |w|^2, as a function of rows [w b].

    Attributes
    ----------
    values : mean loss of kernel values, without a penalty
    root : (m, m) symmetric root of the inverse of K_mm
    ridge : strength of the penalty
    """

    values: LinearObjective
    root: np.ndarray
    ridge: float

    def to_values(self, theta: np.ndarray) -> np.ndarray:
        """[a b] of [w b]; the other way round for gradients, since the root is symmetric."""
        T = theta.reshape(self.values.shape).copy()
        T[:, :-1] = T[:, :-1] @ self.root
        return T.ravel()

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient, from one pass."""
        loss, gradient = self.values.value_and_gradient(self.to_values(theta))
        return self._with_penalty(theta, loss, gradient)

    def _with_penalty(
        self, theta: np.ndarray, loss: float, gradient: np.ndarray
    ) -> tuple[float, np.ndarray]:
        W = theta.reshape(self.values.shape).copy()
        W[:, -1] = 0.0
        value = loss + 0.5 * self.ridge * float((W**2).sum())
        return value, self.to_values(gradient) + self.ridge * W.ravel()

    def on_features(self, k: int) -> LinearObjective:
        """The same objective on the features of a sample of k rows, or of all rows, in memory."""
        f = self.values
        sample = f.rows.sample(k, seed=0) if k < f.rows.n_rows else f.rows.gather()
        features = sample.X @ self.root.astype(sample.X.dtype)
        rows = Rows(ArraySource(features, sample.y, sample.w, finite=True))
        n = rows.total(total_weight, f.class_weight)
        ridge = np.append(np.full(len(self.root), self.ridge), 0.0)
        return f._replace(rows=rows, n=n, ridge=ridge, repeated_rows=None)


def minimize_on_landmarks(f: LandmarkObjective, *, tol: float, max_iter: int) -> Minimum:
    """The minimum by L-BFGS, preconditioned on all rows or, where there are many, on a sample.

    For one score it starts at the minimum on the sample, with the Hessian there.
    """
    n, start = f.values.rows.n_rows, np.zeros(f.values.shape).ravel()
    settings: dict[str, Any] = {"tol": tol, "max_iter": max_iter}
    settings["precision"] = float(np.finfo(f.values.rows.dtype).eps)
    k = max(_SAMPLE_ROWS, _SAMPLE_ROWS_PER_LANDMARK * len(f.root))
    many = n > 2 * k
    sample = f.on_features(k if many else n)
    if many and f.values.shape[0] == 1:
        found = newton(sample.value_gradient_hessian, start, tol=_SAMPLE_TOL, max_iter=100)
        start, H = found.x, sample.value_gradient_hessian(found.x)[2]
        H[np.diag_indices(len(H))] += 1e-10 * H.trace() / len(H)  # directions without a feature
        settings["precondition"] = inverse_product(H)
    else:
        weights, rows = sample.class_weight, sample.rows
        s = second_moments(rows if weights is None else MappedRows(rows, ClassWeights(weights)))
        settings["precondition"] = gram_preconditioner(sample, s)
        settings["noise"] = max_mean_to_deviation(s)
    return lbfgs(f.value_and_gradient, start, **settings)
