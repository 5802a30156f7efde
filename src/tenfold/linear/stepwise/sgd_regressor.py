"""Linear regression by stochastic gradient descent, one row at a time."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from tenfold.linear.scores import LinearRegressor
from tenfold.linear.stepwise.epochs import Task
from tenfold.linear.stepwise.sequential import EPOCHS, Sequential
from tenfold.linear.stepwise.sgd import PENALTIES, STEPS, general_plan
from tenfold.linear.stepwise.sgd_leaves import Plan
from tenfold.linear.stepwise.sgd_losses import OF_RESIDUAL
from tenfold.rows import Rows


class SGDRegressor(Sequential, LinearRegressor):  # pyright: ignore[reportIncompatibleMethodOverride]
    r"""Linear regression by stochastic gradient descent, with any of six losses.

    .. math:: \min_{w, b} \frac1n \sum_i \omega_i \, \ell(y_i, x_i \cdot w + b)
              + \alpha \Big[\tfrac{1 - \rho}2 \lVert w \rVert^2 + \rho \lVert w \rVert_1\Big]

    Each row is one step against the slope of its own loss: for the squared error it is proportional
    to the residual. Parameters and attributes are those of `sklearn.linear_model.SGDRegressor`, and
    in the given order (`shuffle=False`) so are the steps. Standardise the columns.
    [003, unit 2, lect. 5; 004, 3.4]

    Parameters
    ----------
    loss : str
        "squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive",
        "absolute_error" (the median) or "quantile".
    penalty, alpha, l1_ratio : see `SGDClassifier`
        What is added for large weights.
    fit_intercept : bool
        Whether there is a constant. On sparse rows it takes a hundredth of each step.
    max_iter, tol, shuffle, verbose : see `SGDClassifier`
        Most epochs; when to stop; whether each epoch has an order of its own; progress.
    epsilon : float
        Where "huber" turns into a line; errors that the "epsilon_insensitive" losses forgive.
    random_state : int, optional
        Seed of the orders.
    learning_rate, eta0, power_t : see `SGDClassifier`
        Size of the steps; "pa1" and "pa2" go with "epsilon_insensitive".
    early_stopping, validation_fraction, n_iter_no_change : see `SGDClassifier`
        Whether to watch the squared error on rows held back, as a share of their variance.
    warm_start : bool
        Whether to start from the coefficients of the last fit.
    average : bool or int
        Whether the weights after all steps are averaged, or from which step on.
    quantile : float
        Which quantile the loss "quantile" is after.

    Attributes
    ----------
    coef_ : (p,) coefficients
    intercept_ : (1,) constant
    n_iter_, converged_ : epochs, and whether they stopped by `tol`
    t_ : number of the next step
    history_ : mean loss along each epoch with the penalty at its end ("objective"), and "seconds"
    scores_ : what further steps start from

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.linear.stepwise.sgd_regressor import SGDRegressor
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> SGDRegressor(random_state=0).fit(X, X @ [1.0, 2.0] + 3).coef_.round(2)
    array([1., 2.])
    """

    _parameter_constraints = {
        **EPOCHS,
        **PENALTIES,
        **STEPS,
        "loss": [StrOptions({*OF_RESIDUAL, "absolute_error"})],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        penalty: str | None = "l2",
        alpha: float = 0.0001,
        l1_ratio: float | None = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        epsilon: float = 0.1,
        random_state: Any = None,
        learning_rate: str = "invscaling",
        eta0: float = 0.01,
        power_t: float = 0.25,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        warm_start: bool = False,
        average: Any = False,
        quantile: float = 0.5,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.epsilon = epsilon
        self.random_state = random_state
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.average = average
        self.quantile = quantile

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """One epoch over further rows, from where the model stands.

        Without shuffling, a stream in parts teaches the same as the whole in one epoch.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The further rows.
        y : array or column name
            Their targets.
        sample_weight : array or column name, optional
            Their weights.

        Returns
        -------
        self
        """
        self._check_partial()
        with self._at_work():
            self._more_rows(self._rows(X, y, sample_weight, reset=not hasattr(self, "coef_")))
        return self

    def _settings(self) -> Plan:
        special = {"absolute_error": 0.0, "quantile": self.quantile}
        epsilon = special.get(self.loss, self.epsilon)
        return general_plan(self, epsilon, passive="epsilon_insensitive")

    def _task(self, rows: Rows) -> Task:
        return Task(np.zeros(0), np.ones((1, 2)), np.zeros(0, bool))
