"""The perceptron: misclassified rows are added to the weights."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval
from tenfold.engine.rows import Rows
from tenfold.linear.stochastic._base import (
    CLASSIFIER_CONSTRAINTS,
    PENALTY_CONSTRAINTS,
    BaseSGDClassifier,
    make_sgd_settings,
)
from tenfold.linear.stochastic._sgd_loop import SGDProgress
from tenfold.linear.stochastic._sgd_numba import SGDSettings
from tenfold.optim.convergence import until_converged


def perceptron_step(
    x: Any, y: float, theta: Any, theta_0: float | None = None
) -> tuple[np.ndarray, float | None]:
    """One step of the perceptron on one row.

    A mistake is y (theta . x + theta_0) <= 0: a row on the boundary counts.

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

    Returns
    -------
    theta, theta_0 : after the step

    See Also
    --------
    Perceptron : The model.

    References
    ----------
    * F. Rosenblatt (1958). The perceptron: a probabilistic model for information storage and
      organization in the brain. Psychological Review 65.

    Examples
    --------
    >>> from tenfold.linear.stochastic.perceptron import perceptron_step
    >>> perceptron_step([2, 4], -1, [0, 0])
    (array([-2., -4.]), None)
    """
    x, theta = np.asarray(x, np.float64), np.asarray(theta, np.float64)
    if y * (theta @ x + (theta_0 or 0.0)) > 0:
        return theta, theta_0
    return theta + y * x, None if theta_0 is None else theta_0 + y


class Perceptron(BaseSGDClassifier):
    r"""The perceptron, with or without an intercept, plain or averaged.

    For each row: if :math:`y_i (w \cdot x_i + b) \le 0`, then :math:`w \leftarrow w + \eta y_i
    x_i` and :math:`b \leftarrow b + \eta y_i`. The fit ends after an epoch without a mistake. If
    the classes are linearly separable it makes at most `novikoff_bound` mistakes; if not, it does
    not converge. More than two classes are learned one against the rest.

    Parameters and attributes are those of `sklearn.linear_model.Perceptron`, and `average`; in the
    given order (`shuffle=False`) so are the steps on dense rows. On sparse rows they are those on
    dense ones, so that an intercept is a column of ones there too; scikit-learn, and
    `SGDClassifier(loss="perceptron")` as it does, takes a hundredth of the step for the intercept.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet"} or None
        The penalty on the weights; with one, an epoch without a mistake does not end the fit.
    alpha, l1_ratio : float
        Strength of the penalty, and the share of L1 in "elasticnet".
    fit_intercept : bool
        Whether there is an intercept; else the boundary goes through the origin.
    max_iter : int
        Maximum number of epochs.
    tol : float or None
        Stop when `n_iter_no_change` epochs in a row did not lower the mean loss by this. With None
        only an epoch without a mistake ends the fit early, and with `average` nothing does.
    shuffle : bool
        Whether each epoch has a random order; else the order of the rows.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    eta0 : float
        Step size. Without a penalty it scales the weights and changes no prediction.
    n_jobs : int, optional
        Number of threads over classes; all by default.
    random_state : int, optional
        Seed of the orders.
    early_stopping : bool
        Whether to monitor the error on validation rows instead of the loss.
    validation_fraction : float
        Share of the rows held out.
    n_iter_no_change : int
        Epochs without improvement after which to stop.
    class_weight : dict, "balanced" or None
        Weight of each class: a factor on its steps.
    warm_start : bool
        Whether to start from the coefficients of the last fit.
    average : bool or int
        Whether the weights after all steps are averaged, mistake or not, or from which step on.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    coef_ : (1, n_features) or (n_classes, n_features) coefficients
    intercept_ : (1,) or (n_classes,) intercepts
    mistakes_ : number of mistakes of all scores during the fit
    n_iter_, converged_ : epochs, and whether no row is misclassified at the end; with a penalty,
        `average` or `early_stopping`, whether the rule of `tol` was met
    t_ : number of the next step
    history_ : mean loss along each epoch ("objective"), "mistakes" (epochs, scores), "seconds"
    scores_ : state from which `partial_fit` continues

    See Also
    --------
    perceptron_step : One step.
    novikoff_bound : Most mistakes on separable classes.
    Pegasos : With a margin and a penalty.

    References
    ----------
    * F. Rosenblatt (1958). The perceptron: a probabilistic model for information storage and
      organization in the brain. Psychological Review 65.
    * A. B. Novikoff (1962). On convergence proofs on perceptrons. Symposium on the Mathematical
      Theory of Automata.
    * Y. Freund, R. E. Schapire (1999). Large margin classification using the perceptron algorithm.
      Machine Learning 37.

    Examples
    --------
    Points of a line that a parabola separates:

    >>> import numpy as np
    >>> from tenfold.linear.stochastic.perceptron import Perceptron
    >>> x = np.array([-3.0, 2, 5])
    >>> model = Perceptron(shuffle=False, tol=None).fit(np.column_stack([x, x**2]), [1, -1, 1])
    >>> model.coef_, model.intercept_, model.mistakes_, model.n_iter_
    (array([[-12.,   6.]]), array([-5.]), 9, 8)
    """

    _law_params = {"tol": None, "max_iter": 10}  # inseparable classes: no warning
    _sparse_intercept_factor = 1.0
    _parameter_constraints = {
        **CLASSIFIER_CONSTRAINTS,
        **PENALTY_CONSTRAINTS,
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "eta0": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        penalty: str | None = None,
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        eta0: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = 0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        average: Any = False,
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.eta0 = eta0
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.average = average

    def _settings(self) -> SGDSettings:
        names = ("alpha", "eta0", "average", "penalty", "l1_ratio")
        settings = {name: getattr(self, name) for name in names}
        return make_sgd_settings("perceptron", "constant", **settings)

    @property
    def _stop_without_mistakes(self) -> bool:
        """Whether nothing changes any more after an epoch without a mistake."""
        return self.penalty is None and not (self.average and self.tol is None)

    def _extra_attributes(self, loop: until_converged[SGDProgress]) -> dict[str, Any]:
        mistakes = loop.state.mistakes
        history = {**loop.history, "mistakes": mistakes}
        return {"mistakes_": int(mistakes.sum()), "history_": history}

    def _continue(self, rows: Rows) -> None:
        previous = getattr(self, "mistakes_", 0)
        super()._continue(rows)
        self.mistakes_ += previous
