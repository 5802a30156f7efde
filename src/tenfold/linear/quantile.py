"""Quantile regression, and with it least absolute deviations."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.rows import Rows
from tenfold.linear._base import LinearRegressor, chunk_weight, median_and_deviation
from tenfold.linear._quantile_lp import solve_quantile_lp
from tenfold.linear._smoothed_pinball import PinballObjective, minimize_smoothed_pinball
from tenfold.linear._thresholds import (
    LP_ROWS_PER_COLUMN,
    MIN_LP_ROWS,
    QUANTILE_NEWTON_MAX_COLUMNS,
)

_OLD_SOLVERS = {"interior-point": "highs-ipm", "revised simplex": "highs-ds"}


class QuantileRegressor(LinearRegressor):
    r"""Linear regression of a quantile; of the median by default.

    .. math:: \min_{w, b} \frac1{\sum_i \omega_i} \sum_i \omega_i
              \max\big(q r_i, (q - 1) r_i\big) + \alpha \lVert w \rVert_1,
              \qquad r_i = y_i - x_i \cdot w - b

    With quantile=0.5 and alpha=0 this is half the sum of absolute deviations. It may have many
    solutions, of which a vertex is returned, and a small change of the data may move it far.
    Newton's method on a smoothed loss, one pass per iteration, comes near the minimum; a linear
    program of the rows near the plane finishes exactly, and its value is a lower bound of the
    minimum: `gap_` is the distance to it. Objective, parameters and attributes are those
    of `sklearn.linear_model.QuantileRegressor`.

    Parameters
    ----------
    quantile : float
        The quantile q, between 0 and 1.
    alpha : float
        Weight of the penalty against the mean loss.
    fit_intercept : bool
        Whether there is an intercept b.
    solver : {"auto", "highs", "highs-ds", "highs-ipm", "interior-point", "revised simplex"}
        "auto" as above. The others gather all rows in memory and solve one linear program, with
        the method of `scipy.optimize.linprog` of that name; so does "auto" for few rows, and for
        more than 4096 columns. The old names "interior-point" and "revised simplex" are
        "highs-ipm" and "highs-ds".
    solver_options : dict, optional
        Options of `scipy.optimize.linprog`, for every linear program.
    tol : float
        Converged when `gap_` is at most this share of the objective.
    max_iter : int
        Maximum number of iterations of each of the two stages.

    Attributes
    ----------
    coef_ : (n_features,) coefficients
    intercept_ : intercept, 0.0 if `fit_intercept` is False
    gap_ : upper bound of the distance of the objective from its minimum
    n_iter_, converged_ : iterations, and whether the gap was small enough at the end
    history_ : smallest objective so far after each iteration ("objective"), and "seconds"

    See Also
    --------
    HuberRegressor : Between squares and absolute deviations.
    SGDRegressor : Quantiles by stochastic gradient descent.

    References
    ----------
    * R. Koenker, G. Bassett (1978). Regression quantiles. Econometrica 46.
    * S. Portnoy, R. Koenker (1997). The Gaussian hare and the Laplacian tortoise: computability of
      squared-error versus absolute-error estimators. Statistical Science 12.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import QuantileRegressor
    >>> X, y = np.arange(5.0)[:, None], np.array([1.0, 3.0, 5.0, 7.0, 100.0])
    >>> model = QuantileRegressor(alpha=0).fit(X, y)  # least absolute deviations
    >>> model.coef_.round(9).tolist(), round(float(model.intercept_), 9)
    ([2.0], 1.0)
    """

    _sparse_ok = True
    _parameter_constraints = {
        "quantile": [Interval(Real, 0, 1, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "solver": [StrOptions({"auto", "highs", "highs-ds", "highs-ipm", *_OLD_SOLVERS})],
        "solver_options": [dict, None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        quantile: float = 0.5,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        solver: str = "auto",
        solver_options: dict[str, Any] | None = None,
        tol: float = 1e-8,
        max_iter: int = 100,
    ) -> None:
        self.quantile = quantile
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.solver_options = solver_options
        self.tol = tol
        self.max_iter = max_iter

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        n = rows.total(chunk_weight)
        f = PinballObjective(rows, float(self.quantile), float(self.alpha), n, self.fit_intercept)
        median, deviation = median_and_deviation(rows, centered=self.fit_intercept)
        theta = np.append(np.zeros(rows.n_features), median)
        k, width, report = max(MIN_LP_ROWS, LP_ROWS_PER_COLUMN * len(theta)), 0.0, {}
        stop = {"tol": max(self.tol, 8 * f.precision), "max_iter": self.max_iter}
        if (
            self.solver != "auto"
            or rows.n_rows <= k
            or rows.n_features > QUANTILE_NEWTON_MAX_COLUMNS
        ):
            k = rows.n_rows
        else:
            point, report = minimize_smoothed_pinball(f, theta, deviation, max_rows=k // 2, **stop)
            theta, width = point.theta, point.width * (point.share * rows.n_rows > k)
        name = "highs" if self.solver == "auto" else _OLD_SOLVERS.get(self.solver, self.solver)
        method = {"method": name, "options": self.solver_options}
        minimum = solve_quantile_lp(f, theta, width, k, method, stop)
        w, b = f.split_parameters(minimum.x)
        intercept = b[0] if self.fit_intercept else 0.0
        report = _join_reports(report, minimum.report)
        return {"coef_": w.copy(), "intercept_": intercept, **report}


def _join_reports(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """The report of two consecutive stages; convergence is that of the second."""
    if not first:
        return second
    a, b = first["history_"], second["history_"]
    seconds = b["seconds"] + a["seconds"][-1]
    history = {
        "objective": np.minimum.accumulate(np.append(a["objective"], b["objective"])),
        "seconds": np.append(a["seconds"], seconds),
    }
    return {**second, "n_iter_": first["n_iter_"] + second["n_iter_"], "history_": history}
