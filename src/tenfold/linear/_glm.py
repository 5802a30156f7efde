"""Base class of generalized linear regressors: a deviance, a link, an L2 penalty."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import Regressor
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear._base import linear_score, warm_start_parameters
from tenfold.linear._objective import LinearObjective
from tenfold.linear._separation import check_separation
from tenfold.linear._smooth_solvers import SMOOTH_SOLVERS, minimize_smooth
from tenfold.math.losses import DevianceLoss

GLM_CONSTRAINTS: dict[str, Any] = {
    "alpha": [Interval(Real, 0, None, closed="left")],
    "fit_intercept": ["boolean"],
    "solver": [StrOptions(set(SMOOTH_SOLVERS))],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "warm_start": ["boolean"],
    "verbose": ["verbose"],
}


class TargetTotals(NamedTuple):
    """Sums over rows: weight, y, and the number of rows whose y the distribution cannot give."""

    n: float
    y: float
    impossible: float


class DevianceSums(NamedTuple):
    """Sums over rows: the loss, that of a constant, and the least possible one."""

    loss: float
    null_loss: float
    minimum: float


class GeneralizedLinearRegressor(Regressor):
    """A regressor whose mean is a function of x·w + b; a subclass names its deviance."""

    _sparse_ok = True
    _parameter_constraints = GLM_CONSTRAINTS

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

    def _deviance(self) -> DevianceLoss:
        raise NotImplementedError(f"{type(self).__name__} has to define _deviance()")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = bool(self._deviance().out_of_range(np.array([-1.0]))[0])
        return tags

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        loss = self._deviance()
        totals = rows.total(_target_totals, loss)
        _check_range(loss, totals.impossible)
        ridge = np.append(np.full(rows.n_features, float(self.alpha)), 0.0)
        f = LinearObjective(rows, loss, (1, len(ridge)), ridge, totals.n, self.fit_intercept)
        settings = {"solver": self.solver, "tol": self.tol, "max_iter": self.max_iter}
        with np.errstate(over="ignore", invalid="ignore"):  # trial steps that are too long
            minimum = minimize_smooth(f, self._initial_parameters(loss, totals), **settings)
            report = check_separation(f, minimum, "Set alpha.")
        W, b = f.split_parameters(minimum.x)
        intercept = b[0] if self.fit_intercept else 0.0
        return {"coef_": W[0].copy(), "intercept_": intercept, **report}

    def _initial_parameters(self, loss: DevianceLoss, totals: TargetTotals) -> np.ndarray:
        if (previous := warm_start_parameters(self)) is not None:
            return previous
        mean = totals.y / totals.n
        with np.errstate(divide="ignore", invalid="ignore"):
            intercept = loss.score_of_mean(mean) if self.fit_intercept else 0.0
            intercept = intercept if np.isfinite(intercept) else 0.0
            is_defined = np.isfinite(loss.value(np.array([intercept]), np.array([1.0])))[0]
        if not is_defined:
            raise ValueError(
                f"no linear function of the columns is positive at the start (the mean of y is "
                f"{mean:.6g}), and {loss} needs positive predictions: take link='log', or "
                "fit_intercept=True and a target of positive mean"
            )
        return np.append(np.zeros(self.n_features_in_), intercept)

    def predict(self, X: Any) -> np.ndarray:
        """Expected target of each row.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Returns
        -------
        (n_rows,) array
        """
        check_is_fitted(self)
        return self._map_rows(X, _expected_targets, self._deviance(), self.coef_, self.intercept_)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Share of the deviance that the model explains, D²: 1 at best, 0 for a constant.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array or column name
            Their targets.
        sample_weight : array or column name, optional
            Their weights.
        """
        check_is_fitted(self)
        loss = self._deviance()
        with self._work_context():
            rows = self._rows(X, y, sample_weight, reset=False)
            totals = rows.total(_target_totals, loss)
            _check_range(loss, totals.impossible)
            with np.errstate(divide="ignore", invalid="ignore"):
                null = loss.score_of_mean(totals.y / totals.n)
            s = rows.total(_deviance_sums, loss, self.coef_, self.intercept_, null)
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(1 - np.divide(s.loss - s.minimum, s.null_loss - s.minimum))


def _check_range(loss: DevianceLoss, impossible: float) -> None:
    """Raise an error if the distribution cannot give a target."""
    if impossible:
        need = "positive" if loss.out_of_range(np.zeros(1))[0] else "zero or positive"
        raise ValueError(
            "Some value(s) of y are out of the valid range of the loss: counts must not be "
            f"negative, and targets of {loss} must be {need}. Remove those rows, or use a "
            "regressor for real targets."
        )


def _target_totals(chunk: Chunk, loss: DevianceLoss) -> TargetTotals:
    """Weight of a chunk, sum of its target, and number of impossible targets."""
    w, y = chunk.weights().astype(np.float64), chunk.y
    return TargetTotals(chunk.weight, float(w @ y), float(loss.out_of_range(y).sum()))


def _expected_targets(
    chunk: Chunk, loss: DevianceLoss, coef: np.ndarray, intercept: np.ndarray
) -> np.ndarray:
    """The mean at X w + b; infinite where it overflows."""
    with np.errstate(over="ignore"):
        return loss.mean(linear_score(chunk, coef, intercept))


def _deviance_sums(
    chunk: Chunk, loss: DevianceLoss, coef: np.ndarray, intercept: np.ndarray, null: float
) -> DevianceSums:
    """The sums from which D² is computed."""
    w, y = chunk.weights().astype(np.float64), np.asarray(chunk.y, dtype=np.float64)
    z = linear_score(chunk, coef, intercept).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        values = loss.value(z, y), loss.value(np.full(len(y), null), y), loss.minimum(y)
    return DevianceSums(*(float(w @ each) for each in values))
