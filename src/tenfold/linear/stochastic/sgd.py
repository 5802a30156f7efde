"""Linear classification and regression by stochastic gradient descent."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear._base import LinearRegressor, linear_score
from tenfold.linear._losses_numba import MARGIN_LOSSES, RESIDUAL_LOSSES
from tenfold.linear.stochastic._base import (
    CLASSIFIER_CONSTRAINTS,
    EPOCH_CONSTRAINTS,
    PENALTY_CONSTRAINTS,
    BaseSGD,
    BaseSGDClassifier,
    make_sgd_settings,
)
from tenfold.linear.stochastic._sgd_loop import SGDTask
from tenfold.linear.stochastic._sgd_numba import LEARNING_RATES, SGDSettings
from tenfold.math.links import normal_cdf, sigmoid

_STEP_CONSTRAINTS = {
    "learning_rate": [StrOptions(set(LEARNING_RATES))],
    "eta0": [Interval(Real, 0, None, closed="neither")],
    "power_t": [Interval(Real, None, None, closed="neither")],
    "epsilon": [Interval(Real, 0, None, closed="left")],
}
CLASSIFICATION_LOSSES = (*MARGIN_LOSSES, *RESIDUAL_LOSSES[:4])


class SGDClassifier(BaseSGDClassifier):
    r"""Linear classifiers by stochastic gradient descent: SVM, logistic regression and others.

    .. math:: \min_{w, b} \frac1n \sum_i \omega_i \, \ell(y_i, x_i \cdot w + b)
              + \alpha \Big[\tfrac{1 - \rho}2 \lVert w \rVert^2 + \rho \lVert w \rVert_1\Big]

    Each row is one step against the gradient of its own loss. More than two classes are learned one
    against the rest. The order of an epoch depends on the seed alone, so arrays, files and a
    cluster give the same bits. Parameters and attributes are those of
    `sklearn.linear_model.SGDClassifier`, and in the given order (`shuffle=False`) so are the steps.
    What differs: the monitored objective includes sample weights, with the penalty at the end of
    the epoch; averages include the L1 updates, and `partial_fit` keeps the cumulative L1 penalty.

    Parameters
    ----------
    loss : str
        "hinge" (linear SVM), "log_loss" (logistic regression), "probit", "modified_huber",
        "squared_hinge", "perceptron", or a regression loss on labels -1 and +1: "squared_error",
        "huber", "epsilon_insensitive", "squared_epsilon_insensitive".
    penalty : {"l2", "l1", "elasticnet"} or None
        The penalty on the weights; the intercept has none.
    alpha : float
        Strength of the penalty; the learning rate "optimal" depends on it too.
    l1_ratio : float
        Share of L1 in "elasticnet".
    fit_intercept : bool
        Whether there is an intercept. On sparse rows its steps are a hundred times smaller.
    max_iter : int
        Maximum number of epochs.
    tol : float or None
        Stop when `n_iter_no_change` epochs in a row did not improve by this; None for all epochs.
    shuffle : bool
        Whether each epoch has a random order.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    epsilon : float
        Where "huber" becomes linear; width of the insensitive zone of "epsilon_insensitive" losses.
    n_jobs : int, optional
        Number of threads over classes; all by default.
    random_state : int, optional
        Seed of the orders.
    learning_rate : str
        "optimal", 1 / (alpha (t + t0)); "constant", eta0; "invscaling", eta0 / t^power_t;
        "adaptive", eta0 until nothing improves, then a fifth of it; "pa1" and "pa2",
        passive-aggressive steps for the hinge loss.
    eta0, power_t : float
        Constants of the learning rates above.
    early_stopping : bool
        Whether to monitor the error on validation rows instead of the objective.
    validation_fraction : float
        Share of the rows held out, stratified by class.
    n_iter_no_change : int
        Epochs without improvement after which to stop.
    class_weight : dict, "balanced" or None
        Weight of each class; "balanced" gives each the same total.
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
    Perceptron : Constant steps on mistakes alone.
    Pegasos : The hinge loss with its own step sizes.
    LogisticRegression : Cross-entropy to full precision.

    References
    ----------
    * L. Bottou (2012). Stochastic gradient descent tricks. Neural Networks: Tricks of the Trade.
    * Y. Tsuruoka, J. Tsujii, S. Ananiadou (2009). Stochastic gradient descent training for
      L1-regularized log-linear models with cumulative penalty. ACL.
    * K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer (2006). Online
      passive-aggressive algorithms. Journal of Machine Learning Research 7.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.linear.stochastic.sgd import SGDClassifier
    >>> X, y = np.array([[-1.0, -1], [-2, -1], [1, 1], [2, 1]]), [1, 1, 2, 2]
    >>> SGDClassifier(random_state=0).fit(X, y).predict([[-0.8, -1]])
    array([1])
    """

    _parameter_constraints = {
        **CLASSIFIER_CONSTRAINTS,
        **PENALTY_CONSTRAINTS,
        **_STEP_CONSTRAINTS,
        "loss": [StrOptions(set(CLASSIFICATION_LOSSES))],
    }

    def __init__(
        self,
        loss: str = "hinge",
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
        n_jobs: int | None = None,
        random_state: Any = None,
        learning_rate: str = "optimal",
        eta0: float = 0.01,
        power_t: float = 0.5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        average: Any = False,
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
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.average = average

    def _settings(self) -> SGDSettings:
        return _settings_from_model(self, self.epsilon, pa_loss="hinge")

    def _has_probabilities(self) -> bool:
        if self.loss not in _PROBABILITIES:
            raise AttributeError(f"probability estimates are not available for loss={self.loss!r}")
        return True

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class for each row, (n_rows, n_classes), where the loss defines it.

        The losses are "log_loss", "probit" and "modified_huber". Probabilities of more than two
        classes are those of each against the rest, divided by their sum.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._map_rows(X, _class_probabilities, self.loss, self.coef_, self.intercept_)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log of `predict_proba`.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


def _settings_from_model(model: Any, epsilon: float, *, pa_loss: str) -> SGDSettings:
    """Settings of a model; `pa_loss` is the loss of passive-aggressive steps."""
    if model.learning_rate == "optimal" and model.alpha == 0:
        raise ValueError(
            "alpha must be > 0 since learning_rate is 'optimal': alpha is used to compute the rate"
        )
    if model.learning_rate in ("pa1", "pa2") and model.loss != pa_loss:
        raise ValueError(f"Learning rate '{model.learning_rate}' only works with loss '{pa_loss}'.")
    if model.penalty == "elasticnet" and model.l1_ratio is None:
        raise ValueError("l1_ratio must be set when penalty is 'elasticnet'")
    if model.power_t < 0:
        warnings.warn(
            "Negative values for `power_t` are deprecated in version 1.8 of scikit-learn and will "
            "raise an error in 1.10: the steps grow. Use values in the range [0.0, inf) instead.",
            FutureWarning,
            stacklevel=2,
        )
    names = ("alpha", "eta0", "average", "power_t", "penalty", "l1_ratio")
    settings = {name: getattr(model, name) for name in names}
    return make_sgd_settings(model.loss, model.learning_rate, epsilon=epsilon, **settings)


def _modified_huber_probability(z: np.ndarray) -> np.ndarray:
    """Probability that belongs to the loss "modified_huber"."""
    return (np.clip(z, -1, 1) + 1) / 2


_PROBABILITIES = {
    "log_loss": sigmoid,
    "probit": normal_cdf,
    "modified_huber": _modified_huber_probability,
}


def _class_probabilities(chunk: Chunk, loss: str, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Probabilities (n, k); equal ones for rows where all are zero."""
    P = _PROBABILITIES[loss](linear_score(chunk, W, b))
    if len(W) == 1:
        return np.hstack([1 - P, P])
    total = P.sum(axis=1, keepdims=True)
    return np.where(total > 0, P, 1) / np.where(total > 0, total, P.shape[1]).astype(P.dtype)


class SGDRegressor(BaseSGD, LinearRegressor):  # pyright: ignore[reportIncompatibleMethodOverride]
    r"""Linear regression by stochastic gradient descent, with any of six losses.

    .. math:: \min_{w, b} \frac1n \sum_i \omega_i \, \ell(y_i, x_i \cdot w + b)
              + \alpha \Big[\tfrac{1 - \rho}2 \lVert w \rVert^2 + \rho \lVert w \rVert_1\Big]

    Each row is one step against the gradient of its own loss, which for the squared error is
    proportional to the residual. Parameters and attributes are those of
    `sklearn.linear_model.SGDRegressor`, and in the given order (`shuffle=False`) so are the steps.
    Standardize the columns. As there, y is one target; `PenalizedRegressor(solver="sgd")` takes
    several.

    Parameters
    ----------
    loss : str
        "squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive",
        "absolute_error" (the median) or "quantile".
    penalty, alpha, l1_ratio : see `SGDClassifier`
        The penalty on the weights.
    fit_intercept : bool
        Whether there is an intercept. On sparse rows its steps are a hundred times smaller.
    max_iter, tol, shuffle, verbose : see `SGDClassifier`
        Maximum number of epochs; when to stop; whether the order of an epoch is
        random; progress.
    epsilon : float
        Where "huber" becomes linear; width of the insensitive zone of "epsilon_insensitive" losses.
    random_state : int, optional
        Seed of the orders.
    learning_rate, eta0, power_t : see `SGDClassifier`
        Step sizes; "pa1" and "pa2" go with "epsilon_insensitive".
    early_stopping, validation_fraction, n_iter_no_change : see `SGDClassifier`
        Whether to monitor the squared error on validation rows, as a share of their variance.
    warm_start : bool
        Whether to start from the coefficients of the last fit.
    average : bool or int
        Whether the weights after all steps are averaged, or from which step on.
    quantile : float
        Level of the loss "quantile".

    Attributes
    ----------
    coef_ : (n_features,) coefficients
    intercept_ : (1,) intercept
    n_iter_, converged_ : epochs, and whether they stopped by `tol`;
        False with `tol=None`, where there is no rule to meet
    t_ : number of the next step
    history_ : mean loss along each epoch with the penalty at its end ("objective"), and "seconds"
    scores_ : state from which `partial_fit` continues

    See Also
    --------
    SGDClassifier : The same for classes.
    Ridge : Squared error in closed form.

    References
    ----------
    * L. Bottou (2012). Stochastic gradient descent tricks. Neural Networks: Tricks of the Trade.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.linear.stochastic.sgd import SGDRegressor
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> SGDRegressor(random_state=0).fit(X, X @ [1.0, 2.0] + 3).coef_.round(2)
    array([1., 2.])
    """

    _parameter_constraints = {
        **EPOCH_CONSTRAINTS,
        **PENALTY_CONSTRAINTS,
        **_STEP_CONSTRAINTS,
        "loss": [StrOptions({*RESIDUAL_LOSSES, "absolute_error"})],
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
        """One epoch over further rows, from the current state.

        Without shuffling, a stream in parts gives the same as the whole in one epoch.

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
        self._check_partial_fit()
        with self._work_context():
            self._continue(self._rows(X, y, sample_weight, reset=not hasattr(self, "coef_")))
        return self

    def _settings(self) -> SGDSettings:
        special = {"absolute_error": 0.0, "quantile": self.quantile}
        epsilon = special.get(self.loss, self.epsilon)
        return _settings_from_model(self, epsilon, pa_loss="epsilon_insensitive")

    def _task(self, rows: Rows) -> SGDTask:
        return SGDTask(np.zeros(0), np.ones((1, 2)), np.zeros(0, bool))
