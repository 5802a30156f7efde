"""Huber regression: squares up to a few deviations, absolute values beyond, the scale learned."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from tenfold.linear.robust.concomitant import Concomitant, least
from tenfold.linear.scores import LinearRegressor, linear_score
from tenfold.linear.ways.choice import SAMPLE, WIDEST_GRAM
from tenfold.linear.ways.starts import LEAST_SAMPLE, last_fit, middle_and_size, sampled, weight
from tenfold.rows import Chunk, Rows
from tenfold.solve.lbfgs import Minimum, lbfgs

FLOOR = 1e3  # times the precision: the least scale, in units of the target


class HuberRegressor(LinearRegressor):
    r"""Linear regression that outliers cannot pull far.

    .. math:: \min_{w, b, \sigma > 0} \sum_i \omega_i \Big[\sigma + \sigma
              H_\epsilon\Big(\frac{y_i - x_i \cdot w - b}{\sigma}\Big)\Big]
              + \alpha \lVert w \rVert^2, \qquad
              H_\epsilon(u) = \begin{cases} u^2 & |u| \le \epsilon \\
              2 \epsilon |u| - \epsilon^2 & \text{else} \end{cases}

    The scale is learned with the coefficients; the objective is convex in both together, so
    Newton's way finds the one minimum. One pass over the data a round. Parameters and attributes
    are those of `sklearn.linear_model.HuberRegressor`.

    Parameters
    ----------
    epsilon : float
        Scales beyond which a row counts as an outlier; 1.35 keeps 95 % efficiency on normal noise.
    max_iter : int
        Most rounds.
    alpha : float
        Weight of the penalty against the sum of the losses.
    warm_start : bool
        Whether to start from the coefficients of the last fit.
    fit_intercept : bool
        Whether there is a constant b.
    tol : float
        Converged when no entry of the gradient exceeds this, or no digit is left to gain.

    Attributes
    ----------
    coef_ : (p,) coefficients
    intercept_ : constant, 0.0 if `fit_intercept` is False
    scale_ : the scale; next to nothing where about half of the rows are fitted exactly
    outliers_ : (n,) whether a row lies more than epsilon scales off
    n_iter_, converged_ : rounds, and whether the gradient was small enough at the end
    history_ : objective after each round ("objective"), and "seconds"

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import HuberRegressor
    >>> X = np.arange(10.0)[:, None]
    >>> y = 2 * X[:, 0] + np.where(np.arange(10) % 2, 0.1, -0.1)
    >>> y[9] = 500.0
    >>> model = HuberRegressor(alpha=0).fit(X, y)
    >>> model.coef_.round(1).tolist(), bool(model.outliers_[9])
    ([2.0], True)
    """

    _sparse_ok = True
    _parameter_constraints = {
        "epsilon": [Interval(Real, 1.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        epsilon: float = 1.35,
        max_iter: int = 100,
        alpha: float = 0.0001,
        warm_start: bool = False,
        fit_intercept: bool = True,
        tol: float = 1e-5,
    ) -> None:
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.alpha = alpha
        self.warm_start = warm_start
        self.fit_intercept = fit_intercept
        self.tol = tol

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        middle, typical = middle_and_size(rows, centred=self.fit_intercept)
        floor = FLOOR * float(np.finfo(rows.dtype).eps) * typical
        n = rows.total(weight)
        f = Concomitant(rows, self.epsilon, self.alpha, n, floor, self.fit_intercept)
        found = self._minimum(f, self._first(f, middle, typical))
        w, scale, b = f.parts(found.x)
        off = rows.each(outlying, w, b, self.epsilon * scale)
        constant = b if self.fit_intercept else 0.0
        learned = {"coef_": w.copy(), "intercept_": constant, "scale_": scale, "outliers_": off}
        return {**learned, **found.report}

    def _first(self, f: Concomitant, middle: float, typical: float) -> np.ndarray:
        """The last fit, or the fit of a sample, or nothing but the middle of y."""
        if (last := last_fit(self)) is not None:
            return np.insert(last, -1, max(self.scale_, f.floor))
        start = np.append(np.zeros(f.rows.n_features), [typical, middle])
        k = f.rows.n_rows // SAMPLE
        wide = f.rows.n_features > WIDEST_GRAM
        if wide or k < max(LEAST_SAMPLE, 20 * len(start)) or self.max_iter < 2:
            return start
        rows = sampled(f.rows, k, seed=0)
        part = f._replace(rows=rows, n=rows.total(weight))
        return least(part, start, tol=1e-3 * part.n, max_iter=self.max_iter).x

    def _minimum(self, f: Concomitant, start: np.ndarray) -> Minimum:
        stop = {"tol": self.tol, "max_iter": self.max_iter}
        if f.rows.n_features <= WIDEST_GRAM:
            return least(f, start, **stop)
        return lbfgs(f.slope, start, precision=f.precision, **stop)


def outlying(chunk: Chunk, w: np.ndarray, b: np.ndarray, most: float) -> np.ndarray:
    """Whether each row lies further off than that."""
    return np.abs(chunk.y - linear_score(chunk, w, b)) > most
