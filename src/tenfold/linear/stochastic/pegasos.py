"""Pegasos: stochastic sub-gradient descent on the regularised hinge loss."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.linear.stochastic._base import (
    CLASSIFIER_CONSTRAINTS,
    BaseSGDClassifier,
    make_sgd_settings,
)
from tenfold.linear.stochastic._sgd_numba import SGDSettings


def pegasos_step(
    x: Any, y: float, theta: Any, theta_0: float | None = None, *, eta: float, alpha: float
) -> tuple[np.ndarray, float | None]:
    """One step of Pegasos on one row.

    Weights shrink by 1 - eta alpha; a row on the wrong side of its margin, or on it, is added eta
    times. The intercept has no penalty: it does not shrink.

    Parameters
    ----------
    x : (n_features,) array
        The row.
    y : -1 or +1
        Its label.
    theta : (n_features,) array
        Weights before the step.
    theta_0 : float, optional
        Intercept before the step; None for a boundary through the origin.
    eta : float
        Step size.
    alpha : float
        Strength of the penalty, often called lambda.

    Returns
    -------
    theta, theta_0 : after the step

    See Also
    --------
    Pegasos : The model.

    References
    ----------
    * S. Shalev-Shwartz, Y. Singer, N. Srebro, A. Cotter (2011). Pegasos: primal estimated
      sub-gradient solver for SVM. Mathematical Programming 127.

    Examples
    --------
    >>> from tenfold.linear.stochastic.pegasos import pegasos_step
    >>> pegasos_step([1, 2], 1, [0.5, 0.0], 0.0, eta=0.5, alpha=0.2)
    (array([0.95, 1.  ]), 0.5)
    """
    x, theta = np.asarray(x, np.float64), np.asarray(theta, np.float64)
    inside = y * (theta @ x + (theta_0 or 0.0)) <= 1
    theta = (1 - eta * alpha) * theta + (eta * y * x if inside else 0.0)
    return theta, theta_0 if theta_0 is None or not inside else theta_0 + eta * y


class Pegasos(BaseSGDClassifier):
    r"""The linear support vector machine by stochastic sub-gradient descent.

    .. math:: \min_{w, b} \frac1n \sum_i \max(0, 1 - y_i (x_i \cdot w + b))
              + \tfrac\alpha2 \lVert w \rVert^2

    One `pegasos_step` per row, with a decreasing learning rate. Three things differ from the
    perceptron: rows inside the margin count as well as mistakes, the weights shrink at every step,
    and the step size decreases. More than two classes are learned one against the rest.

    Parameters
    ----------
    alpha : float
        Strength of the penalty, often called lambda.
    fit_intercept : bool
        Whether there is an intercept, which is not penalized.
    max_iter : int
        Maximum number of epochs.
    tol : float or None
        Stop when `n_iter_no_change` epochs in a row did not improve by this; None for all epochs.
    shuffle : bool
        Whether each epoch has a random order; else the order of the rows.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    n_jobs : int, optional
        Number of threads over classes; all by default.
    random_state : int, optional
        Seed of the orders.
    learning_rate : {"invscaling", "optimal"}
        "invscaling" is 1 / sqrt(t) for step t; "optimal" is 1 / (alpha t), as in the paper. Where
        alpha times the learning rate exceeds 1, weights shrink to zero, not past it.
    early_stopping : bool
        Whether to monitor the error on validation rows instead of the objective.
    validation_fraction : float
        Share of the rows held out.
    n_iter_no_change : int
        Epochs without improvement after which to stop.
    class_weight : dict, "balanced" or None
        Weight of each class: a factor on its steps.
    warm_start : bool
        Whether to start from the coefficients of the last fit.
    average : bool or int
        Whether the weights after all steps are averaged, or from which step on.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    coef_ : (1, n_features) or (n_classes, n_features) coefficients
    intercept_ : (1,) or (n_classes,) intercepts
    n_iter_, converged_ : epochs of the slowest class, and whether all stopped by `tol`;
        False with `tol=None`, where there is no rule to meet
    t_ : number of the next step
    history_ : mean loss along each epoch with the penalty at its end ("objective"), and "seconds"
    scores_ : state from which `partial_fit` continues

    See Also
    --------
    pegasos_step : One step.
    LinearSVC : The same objective to full precision.
    SGDClassifier : Other losses and step sizes.

    References
    ----------
    * S. Shalev-Shwartz, Y. Singer, N. Srebro, A. Cotter (2011). Pegasos: primal estimated
      sub-gradient solver for SVM. Mathematical Programming 127.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.linear.stochastic.pegasos import Pegasos
    >>> X, y = np.array([[0.0, 0], [0, 1], [3, 3], [4, 3]]), [-1, -1, 1, 1]
    >>> Pegasos(alpha=0.1, random_state=0).fit(X, y).predict([[1, 0], [3, 2]])
    array([-1,  1])
    """

    _sparse_intercept_factor = 1.0
    _parameter_constraints = {
        **CLASSIFIER_CONSTRAINTS,
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "learning_rate": [StrOptions({"invscaling", "optimal"})],
    }

    def __init__(
        self,
        alpha: float = 0.0001,
        *,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        n_jobs: int | None = None,
        random_state: Any = None,
        learning_rate: str = "invscaling",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        average: Any = False,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.learning_rate = learning_rate
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.average = average

    def fit(  # pyright: ignore[reportIncompatibleMethodOverride] - weights would be repetitions
        self, X: Any, y: Any = None
    ) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array or column name
            Their labels.

        Returns
        -------
        self
        """
        return super().fit(X, y)

    def partial_fit(  # pyright: ignore[reportIncompatibleMethodOverride] - no weights either
        self, X: Any, y: Any = None, classes: Any = None
    ) -> Self:
        """One epoch over further rows, from the current state.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The further rows.
        y : array or column name
            Their labels.
        classes : array, optional
            All labels there are; needed in the first call.

        Returns
        -------
        self
        """
        return super().partial_fit(X, y, classes)

    def _settings(self) -> SGDSettings:
        settings = {"alpha": self.alpha, "average": self.average, "penalty": "l2"}
        return make_sgd_settings(
            "hinge", self.learning_rate, eta0=1.0, power_t=0.5, t0=1.0, **settings
        )
