"""Poisson regression: counts whose log-mean is linear."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import Regressor
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear._base import linear_score, warm_start_parameters
from tenfold.linear._objective import LinearObjective
from tenfold.linear._separation import check_separation
from tenfold.linear._smooth_solvers import SMOOTH_SOLVERS, minimize_smooth
from tenfold.math.losses import PoissonLoss


class CountTotals(NamedTuple):
    """Sums over rows: weight, y, and the number of rows with y < 0."""

    n: float
    y: float
    negative: float


class DevianceSums(NamedTuple):
    """Sums over rows: weight, y, the loss exp(z) - yz, and its minimum y - y log y."""

    n: float
    y: float
    loss: float
    minimum: float


class PoissonRegressor(Regressor):
    r"""Regression of counts: y is Poisson with mean exp(x·w + b).

    .. math:: \min_{w, b} \frac1{\sum_i \omega_i} \sum_i \omega_i
              \big[e^{z_i} - y_i z_i\big] + \tfrac\alpha2 \lVert w \rVert^2,
              \qquad z_i = x_i \cdot w + b

    The intercept b is not penalized. One pass over the data per iteration. Parameters and
    attributes are those of `sklearn.linear_model.PoissonRegressor`; only `solver` has a default of
    its own.

    Parameters
    ----------
    alpha : float
        Weight of the penalty against the mean loss.
    fit_intercept : bool
        Whether there is an intercept b.
    solver : {"auto", "lbfgs", "newton-cholesky", "newton-cg"}
        "newton-cholesky" takes few iterations and makes a Hessian of all columns; "newton-cg" takes
        as few, of several passes each, and makes none; "lbfgs" takes more, of one pass each. "auto"
        takes Newton's method for up to 255 columns, else "lbfgs".
    max_iter : int
        Maximum number of iterations.
    tol : float
        Converged when no entry of the gradient exceeds this.
    warm_start : bool
        Whether to start from the coefficients of the last fit.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.

    Attributes
    ----------
    coef_ : (n_features,) coefficients
    intercept_ : intercept, 0.0 if `fit_intercept` is False
    n_iter_, converged_ : iterations, and whether the gradient was small enough at the end
    history_ : objective after each iteration ("objective"), and "seconds"

    See Also
    --------
    PenalizedRegressor : The Poisson loss with any penalty and solver.
    PoissonNB : Counts in the features.

    References
    ----------
    * P. McCullagh, J. A. Nelder (1989). Generalized Linear Models, 2nd ed., chapter 6.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import PoissonRegressor
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1, 2, 4])
    >>> model = PoissonRegressor(alpha=0, tol=1e-9).fit(X, y)  # doubles with every step
    >>> model.coef_.round(6).tolist(), model.predict([[3.0]]).round(6).tolist()
    ([0.693147], [8.0])
    """

    _sparse_ok = True
    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "solver": [StrOptions(set(SMOOTH_SOLVERS))],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        solver: str = "auto",
        max_iter: int = 100,
        tol: float = 1e-4,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        counts = rows.total(_count_totals)
        _check_nonnegative(counts.negative)
        ridge = np.append(np.full(rows.n_features, float(self.alpha)), 0.0)
        f = LinearObjective(
            rows, PoissonLoss(), (1, len(ridge)), ridge, counts.n, self.fit_intercept
        )
        settings = {"solver": self.solver, "tol": self.tol, "max_iter": self.max_iter}
        with np.errstate(over="ignore", invalid="ignore"):  # trial steps that are too long
            minimum = minimize_smooth(f, self._initial_parameters(counts), **settings)
            report = check_separation(f, minimum, "Set alpha.")
        W, b = f.split_parameters(minimum.x)
        intercept = b[0] if self.fit_intercept else 0.0
        return {"coef_": W[0].copy(), "intercept_": intercept, **report}

    def _initial_parameters(self, counts: CountTotals) -> np.ndarray:
        if (previous := warm_start_parameters(self)) is not None:
            return previous
        mean = counts.y / counts.n
        intercept = np.log(mean) if self.fit_intercept and mean > 0 else 0.0
        return np.append(np.zeros(self.n_features_in_), intercept)

    def predict(self, X: Any) -> np.ndarray:
        """Expected count of each row.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Returns
        -------
        (n_rows,) array
        """
        check_is_fitted(self)
        return self._map_rows(X, _expected_counts, self.coef_, self.intercept_)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Share of the deviance that the model explains, D²: 1 at best, 0 for a constant.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array or column name
            Their counts.
        sample_weight : array or column name, optional
            Their weights.
        """
        check_is_fitted(self)
        with self._work_context():
            rows = self._rows(X, y, sample_weight, reset=False)
            _check_nonnegative(rows.total(_count_totals).negative)
            s = rows.total(_deviance_sums, self.coef_, self.intercept_)
        null_loss = s.y - xlogy(s.y, s.y / s.n)
        return float(1 - (s.loss - s.minimum) / (null_loss - s.minimum))


def _check_nonnegative(negative: float) -> None:
    """Raise an error if a target lies below zero."""
    if negative:
        raise ValueError(
            "Some value(s) of y are out of the valid range of the loss: counts must not be "
            "negative. Remove those rows, or use a regressor for real targets."
        )


def _count_totals(chunk: Chunk) -> CountTotals:
    """Weight of a chunk, sum of its target, and number of negative targets."""
    w, y = chunk.weights().astype(np.float64), chunk.y
    return CountTotals(chunk.weight, float(w @ y), float((y < 0).sum()))


def _expected_counts(chunk: Chunk, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    """exp(X w + b); infinite where it overflows."""
    with np.errstate(over="ignore"):
        return np.exp(linear_score(chunk, coef, intercept))


def _deviance_sums(chunk: Chunk, coef: np.ndarray, intercept: np.ndarray) -> DevianceSums:
    """The sums from which D² is computed."""
    w, y = chunk.weights().astype(np.float64), np.asarray(chunk.y, dtype=np.float64)
    z = linear_score(chunk, coef, intercept).astype(np.float64)
    with np.errstate(over="ignore"):
        loss = PoissonLoss().value(z, y)
    return DevianceSums(chunk.weight, float(w @ y), float(w @ loss), float(w @ (y - xlogy(y, y))))
