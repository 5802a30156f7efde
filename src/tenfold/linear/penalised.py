"""Any loss with any penalty by any solver: the parts of which the named models are made."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tenfold.linear.probit import log_chances
from tenfold.linear.scores import LinearClassifier, LinearRegressor, class_scores
from tenfold.linear.ways.objective import weigh
from tenfold.linear.ways.parts import SETTINGS, Penalised, the_loss
from tenfold.maths.links import softmax
from tenfold.maths.losses import LOSSES, Logistic, Loss, Probit, Softmax, Squared
from tenfold.rows import Chunk, Rows

NUMBERS = {name for name, loss in LOSSES.items() if loss.labels in ("numbers", "counts")}
SIGNS = {name for name, loss in LOSSES.items() if loss.labels == "signs" and loss.convex}


class Targets(NamedTuple):
    """Total weight of the rows, and the least target."""

    weight: float
    least: float

    def merge(self, other: Targets) -> Targets:
        return Targets(self.weight + other.weight, min(self.least, other.least))


def targets(chunk: Chunk) -> Targets:
    """What a chunk says about its targets."""
    return Targets(chunk.weight, float(chunk.y.min()))


class PenalisedRegressor(LinearRegressor, Penalised):
    r"""Linear regression with any loss, any penalty and any solver.

    .. math:: \min_{w, b} \frac{\sum_i \omega_i \ell(x_i \cdot w + b, y_i)}{\sum_i \omega_i} + P(w)

    The named models (`Ridge`, `Lasso`, `PoissonRegressor`, ...) are faster where they exist and
    have scikit-learn's conventions; this one has all combinations, and every solver to compare. A
    combination that cannot work is refused with a word on what can.

    Parameters
    ----------
    loss : str or loss of `tenfold.maths.losses`
        "squared" (also "auto"), "absolute", "quantile", "huber" or "poisson"; objects where there
        are settings, `Quantile(0.9)`.
    penalty : {"l2", "l1", "elasticnet", "hnorm"}, penalty of `tenfold.maths.penalties`, or None
        `alpha/2 |w|^2`, `alpha |w|`, both mixed by `l1_ratio`, or alpha times the sum of `|w|^h`.
    alpha : float
        Strength of the penalty beside the mean loss.
    l1_ratio : float
        Share of L1 in the elastic net.
    h : float
        Exponent of "hnorm"; below 1 the objective has many minima, and the one found is near zero.
    fit_intercept : bool
        Whether there is a constant b.
    penalise_intercept : bool
        Whether b is penalised like the coefficients (squares only).
    solver : str
        "closed-form" (squared loss), "newton-cholesky", "lbfgs", "gd", "sgd", "proximal",
        "coordinate" (L1 and elastic net), "subgradient" (losses with kinks); "auto" chooses.
    rate : float, callable or None
        Step lengths of "gd", "sgd", "proximal", "subgradient"; see `tenfold.solve.rates`.
    batch_size : int
        Rows of a step of "sgd".
    tol : float
        Converged when the slope (or what stands for it where there are kinks) is at most this.
    max_iter : int
        Most rounds; epochs for "sgd".
    random_state : int, optional
        Seed of "sgd".
    verbose : int
        Whether to show progress.

    Attributes
    ----------
    coef_ : (p,) coefficients
    intercept_ : constant
    n_iter_, converged_, history_ : as in all iterative models

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import PenalisedRegressor
    >>> X, y = np.arange(6.0)[:, None], np.array([0.0, 1, 2, 3, 4, 50])
    >>> plain = PenalisedRegressor(penalty=None).fit(X, y)
    >>> robust = PenalisedRegressor("huber", penalty=None).fit(X, y)
    >>> plain.coef_.round(2).tolist(), robust.coef_.round(1).tolist()
    ([7.43], [1.4])
    """

    _parameter_constraints = {
        "loss": [StrOptions({"auto", *NUMBERS}), Loss],
        **SETTINGS,
    }

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        loss = the_loss(self.loss, Squared())
        if loss.labels not in ("numbers", "counts"):
            raise ValueError(f"{loss} is a loss of {loss.labels}: use PenalisedClassifier")
        s = rows.total(targets)
        if loss.labels == "counts" and s.least < 0:
            raise ValueError("the Poisson loss is for counts: y must not be negative")
        W, b, report = self._minimum(rows, loss, 1, s.weight, None, rng)
        return {"coef_": W[0], "intercept_": b[0] if self.fit_intercept else 0.0, **report}

    def predict(self, X: Any) -> np.ndarray:
        """Predicted target of each row; for the Poisson loss its mean, exp(x·w + b).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Returns
        -------
        (n,) array
        """
        z = super().predict(X)
        return np.exp(z) if the_loss(self.loss, Squared()).labels == "counts" else z


def _has_probabilities(model: PenalisedClassifier) -> bool:
    loss = the_loss(model.loss, Logistic())
    if isinstance(loss, Logistic | Probit | Softmax):
        return True
    raise AttributeError(f"{loss} says nothing about probabilities: use 'logistic' or 'probit'")


class PenalisedClassifier(LinearClassifier, Penalised):
    r"""Linear classification with any loss, any penalty and any solver.

    .. math:: \min_{w, b} \frac{\sum_i \omega_i \ell(x_i \cdot w + b, y_i)}{\sum_i \omega_i} + P(w)

    For more than two classes the loss is softmax cross-entropy; the other losses are for two, and
    `sklearn.multiclass.OneVsRestClassifier` makes more of them. Parameters as in
    `PenalisedRegressor`. [000, 1.2; 002, 2.3 and 3.3]

    Parameters
    ----------
    loss : str or loss of `tenfold.maths.losses`
        "logistic" (also "auto"; softmax for more than two classes), "probit", "hinge",
        "squared_hinge" or "perceptron".
    penalty, alpha, l1_ratio, h, fit_intercept, penalise_intercept
        As in `PenalisedRegressor`.
    solver, rate, batch_size, tol, max_iter, random_state, verbose
        As in `PenalisedRegressor`.

    Attributes
    ----------
    classes_ : (k,) labels
    coef_ : (1, p) or (k, p) coefficients
    intercept_ : (1,) or (k,) constants
    n_iter_, converged_, history_ : as in all iterative models

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from tenfold import PenalisedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PenalisedClassifier(penalty="hnorm", h=1.2, alpha=0.01).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 3)
    0.981
    """

    _min_classes = 2
    _parameter_constraints = {
        "loss": [StrOptions({"auto", "softmax", *SIGNS}), Loss],
        **SETTINGS,
    }

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        k = len(self.classes_)
        loss = the_loss(self.loss, Logistic())
        if k > 2 and isinstance(loss, Logistic):
            loss = Softmax()
        if loss.labels == "signs" and k > 2:
            raise ValueError(
                f"{loss} is for two classes, and y has {k}: choose loss='softmax', or "
                f"sklearn.multiclass.OneVsRestClassifier(PenalisedClassifier({self.loss!r}))"
            )
        if loss.labels not in ("signs", "classes"):
            raise ValueError(f"{loss} is a loss of {loss.labels}: use PenalisedRegressor")
        n = float(rows.total(weigh, k).sum())
        m = 1 if loss.labels == "signs" else k
        W, b, report = self._minimum(rows, loss, m, n, None, rng)
        return {"coef_": W, "intercept_": b, **report}

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class for each row, (n, k); of losses that are likelihoods.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        if isinstance(the_loss(self.loss, Logistic()), Probit):
            return np.exp(self._each(X, log_chances, self.coef_[0], self.intercept_[0]))
        return softmax(self._each(X, class_scores, self.coef_, self.intercept_))
