"""Linear models with any loss, any penalty and any solver."""

from __future__ import annotations

import warnings
from inspect import signature
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.estimator import Estimator
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear._base import LinearClassifier, LinearRegressor, class_scores
from tenfold.linear._mapped_rows import MappedRows, TargetColumn
from tenfold.linear._objective import LinearObjective, sum_class_weights
from tenfold.linear._separation import check_separation
from tenfold.linear._solvers import SOLVERS, SolverSettings, minimize_penalized
from tenfold.linear.probit import probit_log_probabilities
from tenfold.math.links import softmax
from tenfold.math.losses import LOSSES, LogisticLoss, Loss, ProbitLoss, SoftmaxLoss, SquaredLoss
from tenfold.math.penalties import (
    BridgePenalty,
    ElasticNetPenalty,
    L1Penalty,
    L2Penalty,
    NoPenalty,
    Penalty,
)

_SHARED_CONSTRAINTS = {
    "penalty": [StrOptions({"l1", "l2", "elasticnet", "hnorm"}), Penalty, None],
    "alpha": [Interval(Real, 0, None, closed="left")],
    "l1_ratio": [Interval(Real, 0, 1, closed="both")],
    "h": [Interval(Real, 0, None, closed="neither")],
    "fit_intercept": ["boolean"],
    "penalize_intercept": ["boolean"],
    "solver": [StrOptions(set(SOLVERS))],
    "learning_rate": [Interval(Real, 0, None, closed="neither"), callable, None],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "max_iter": [Interval(Integral, 0, None, closed="left")],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


class PenalizedLinearModel(Estimator):
    """Base of the two models: their parameters, and the minimum of their objective."""

    _sparse_ok = True

    def __init__(
        self,
        loss: Any = "auto",
        *,
        penalty: Any = "l2",
        alpha: float = 1e-3,
        l1_ratio: float = 0.5,
        h: float = 1.5,
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        solver: str = "auto",
        learning_rate: Any = None,
        batch_size: int = 32,
        tol: float = 1e-5,
        max_iter: int = 1000,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.h = h
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.solver = solver
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def _warn_unused_parameters(self) -> None:
        """Warn of parameters that were set but have no effect with this penalty and solver."""
        named = self.penalty if isinstance(self.penalty, str) else None
        has_effect = {
            "alpha": named is not None or not self.alpha,
            "l1_ratio": named == "elasticnet",
            "h": named == "hnorm",
            "batch_size": self.solver == "sgd",
        }
        defaults = signature(PenalizedLinearModel.__init__).parameters
        unused = [
            f"{name}={getattr(self, name)!r}"
            for name, used in has_effect.items()
            if not used and getattr(self, name) != defaults[name].default
        ]
        if unused:
            warnings.warn(
                f"{type(self).__name__}: {', '.join(unused)} has no effect with penalty="
                f"{self.penalty!r} and solver={self.solver!r}",
                UserWarning,
                stacklevel=4,
            )

    def _penalty(self) -> Penalty:
        if isinstance(self.penalty, Penalty):
            return self.penalty
        penalties = {
            "l1": lambda: L1Penalty(self.alpha),
            "l2": lambda: L2Penalty(self.alpha),
            "elasticnet": lambda: ElasticNetPenalty(self.alpha, self.l1_ratio),
            "hnorm": lambda: BridgePenalty(self.alpha, self.h),
        }
        return NoPenalty() if self.penalty is None or not self.alpha else penalties[self.penalty]()

    def _seed(self, rng: np.random.Generator) -> int:
        """The seed of "sgd"; other solvers draw no random numbers."""
        return int(rng.integers(2**31)) if self.solver == "sgd" else 0

    def _minimize(
        self, rows: Rows, loss: Loss, m: int, n: float, seed: int
    ) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        """Coefficients (m, p), intercepts (m,) and the convergence report."""
        l2, nonsmooth = _split_penalty(self._penalty())
        ridge = np.full(rows.n_features + 1, l2)
        if not self.penalize_intercept:
            ridge[-1] = 0.0
        elif not isinstance(nonsmooth, NoPenalty):
            raise ValueError("penalize_intercept=True is for the penalty 'l2' alone")
        f = LinearObjective(rows, loss, (m, len(ridge)), ridge, n, self.fit_intercept)
        settings = SolverSettings(
            self.solver, self.tol, self.max_iter, self.learning_rate, self.batch_size, seed
        )
        minimum = minimize_penalized(f, nonsmooth, np.zeros(m * len(ridge)), settings)
        W, b = f.split_parameters(minimum.x)
        report = minimum.report
        if isinstance(nonsmooth, NoPenalty):
            report = check_separation(f, minimum, "Set `penalty` and `alpha`.")
        return W.copy(), b.copy(), report


def _split_penalty(penalty: Penalty) -> tuple[float, Penalty]:
    """The strength of the L2 part of a penalty, and its non-smooth part."""
    if isinstance(penalty, BridgePenalty) and penalty.h in (1, 2):
        penalty = L1Penalty(penalty.strength) if penalty.h == 1 else L2Penalty(2 * penalty.strength)
    if isinstance(penalty, ElasticNetPenalty):
        lasso, ridge = penalty.parts
        return ridge.strength, lasso if lasso.strength else NoPenalty()
    if isinstance(penalty, L2Penalty):
        return penalty.strength, NoPenalty()
    return 0.0, penalty


def _resolve_loss(loss: str | Loss, default: Loss) -> Loss:
    """A loss by its name, or the object itself; "auto" is the default."""
    if isinstance(loss, Loss):
        return loss
    return default if loss == "auto" else LOSSES[loss]()


_REGRESSION_LOSSES = {name for name, loss in LOSSES.items() if loss.labels in ("numbers", "counts")}
_BINARY_LOSSES = {name for name, loss in LOSSES.items() if loss.labels == "signs" and loss.convex}


class TargetSummary(NamedTuple):
    """Total weight of the rows, and the smallest target."""

    weight: float
    smallest: float

    def merge(self, other: TargetSummary) -> TargetSummary:
        return TargetSummary(self.weight + other.weight, min(self.smallest, other.smallest))


def _summarize_targets(chunk: Chunk) -> TargetSummary:
    """Weight and smallest target of a chunk."""
    return TargetSummary(chunk.weight, float(chunk.y.min()))


def _join_reports(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """The report of the fits of all targets, one after the other."""
    seconds = [report["history_"]["seconds"] for report in reports]
    starts = np.cumsum([0.0, *(each.max(initial=0.0) for each in seconds[:-1])])
    elapsed = [start + each for start, each in zip(starts, seconds, strict=True)]
    objective = [report["history_"]["objective"] for report in reports]
    failed = [report for report in reports if not report["converged_"]]
    return {
        "n_iter_": np.array([report["n_iter_"] for report in reports]),
        "converged_": not failed,
        "history_": {"objective": np.concatenate(objective), "seconds": np.concatenate(elapsed)},
        "warning_": next((each["warning_"] for each in failed if "warning_" in each), None),
    }


class PenalizedRegressor(LinearRegressor, PenalizedLinearModel):
    r"""Linear regression with any loss, any penalty and any solver.

    .. math:: \min_{w, b} \frac{\sum_i \omega_i \ell(x_i \cdot w + b, y_i)}{\sum_i \omega_i} + P(w)

    The named models (`Ridge`, `Lasso`, `PoissonRegressor`, ...) are faster where they exist and
    have scikit-learn's conventions; this one has all combinations, and all solvers. A combination
    that cannot work raises an error that names one that can; a parameter that was set and has no
    effect gives a warning.

    The objective of several targets (y with a column for each) is the sum of theirs, so that each
    is fitted by itself, and all with the same seed: the coefficients are those of the target alone.

    Parameters
    ----------
    loss : str or loss of `tenfold.math.losses`
        "squared" (also "auto"), "absolute", "quantile", "huber" or "poisson"; objects for losses
        with parameters, `PinballLoss(0.9)`.
    penalty : {"l2", "l1", "elasticnet", "hnorm"}, penalty of `tenfold.math.penalties`, or None
        `alpha/2 |w|^2`, `alpha |w|`, both mixed by `l1_ratio`, or alpha times the sum of `|w|^h`.
    alpha : float
        Strength of the penalty beside the mean loss.
    l1_ratio : float
        Share of L1 in the elastic net.
    h : float
        Exponent of "hnorm"; below 1 the objective is not convex, and the minimum is a local one
        near zero.
    fit_intercept : bool
        Whether there is an intercept b.
    penalize_intercept : bool
        Whether b is penalized like the coefficients (L2 only).
    solver : str
        "closed-form" (squared loss), "newton-cholesky", "lbfgs", "gd", "sgd", "proximal",
        "coordinate" (L1 and elastic net), "subgradient" (non-smooth losses); "auto"
        chooses one for a smooth loss.
    learning_rate : float, callable or None
        Step sizes of "gd", "sgd", "proximal", "subgradient"; see `tenfold.optim.schedules`.
    batch_size : int
        Rows of a step of "sgd".
    tol : float
        Converged when the gradient (for non-smooth penalties, the shortest subgradient or the
        proximal step) is at most this.
    max_iter : int
        Maximum number of iterations; epochs for "sgd".
    random_state : int, optional
        Seed of "sgd".
    verbose : int
        Whether to show progress.

    Attributes
    ----------
    coef_ : (n_features,) or (n_targets, n_features) coefficients
    intercept_ : float or (n_targets,) intercept, 0.0 if `fit_intercept` is False
    n_iter_, converged_, history_ : as in all iterative models; of several targets (n_targets,)
        iterations, whether all converged, and the objectives of the fits one after the other

    See Also
    --------
    Ridge : Squared loss, L2 penalty.
    Lasso : Squared loss, L1 penalty.
    MultiTaskLasso : Targets that share the columns with coefficients.
    QuantileRegressor : Pinball loss, exactly.
    SGDRegressor : One row at a time.

    References
    ----------
    * A. Beck, M. Teboulle (2009). A fast iterative shrinkage-thresholding algorithm for linear
      inverse problems. SIAM Journal on Imaging Sciences 2.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import PenalizedRegressor
    >>> X, y = np.arange(6.0)[:, None], np.array([0.0, 1, 2, 3, 4, 50])
    >>> plain = PenalizedRegressor(penalty=None).fit(X, y)
    >>> robust = PenalizedRegressor("huber", penalty=None).fit(X, y)
    >>> plain.coef_.round(2).tolist(), robust.coef_.round(1).tolist()
    ([7.43], [1.4])

    Two targets by gradient descent:

    >>> both = PenalizedRegressor(penalty=None, solver="gd").fit(X, np.column_stack([y, -X[:, 0]]))
    >>> both.coef_.round(2).tolist(), both.intercept_.shape
    ([[7.43], [-1.0]], (2,))
    """

    _multi_output = True
    _parameter_constraints = {
        "loss": [StrOptions({"auto", *_REGRESSION_LOSSES}), Loss],
        **_SHARED_CONSTRAINTS,
    }

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        loss = _resolve_loss(self.loss, SquaredLoss())
        if loss.labels not in ("numbers", "counts"):
            raise ValueError(f"{loss} is a loss of {loss.labels}: use PenalizedClassifier")
        s = rows.total(_summarize_targets)
        if loss.labels == "counts" and s.smallest < 0:
            raise ValueError("the Poisson loss is for counts: y must not be negative")
        self._warn_unused_parameters()
        seed, shape = self._seed(rng), rows.target_shape
        if not shape:
            W, b, report = self._minimize(rows, loss, 1, s.weight, seed)
            return {"coef_": W[0], "intercept_": b[0] if self.fit_intercept else 0.0, **report}
        targets = [MappedRows(rows, TargetColumn(j)) for j in range(shape[0])]
        fits = [self._minimize(each, loss, 1, s.weight, seed) for each in targets]
        W, b = (np.concatenate(parts) for parts in ([f[0] for f in fits], [f[1] for f in fits]))
        report = _join_reports([f[2] for f in fits])
        return {"coef_": W, "intercept_": b if self.fit_intercept else 0.0, **report}

    def predict(self, X: Any) -> np.ndarray:
        """Predicted target of each row; for the Poisson loss its mean, exp(x·w + b).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Returns
        -------
        (n_rows,) or (n_rows, n_targets) array
        """
        z = super().predict(X)
        return np.exp(z) if _resolve_loss(self.loss, SquaredLoss()).labels == "counts" else z


def _has_probabilities(model: PenalizedClassifier) -> bool:
    loss = _resolve_loss(model.loss, LogisticLoss())
    if isinstance(loss, LogisticLoss | ProbitLoss | SoftmaxLoss):
        return True
    raise AttributeError(
        f"{loss} is no likelihood, so there are no probabilities: use 'logistic' or 'probit'"
    )


class PenalizedClassifier(LinearClassifier, PenalizedLinearModel):
    r"""Linear classification with any loss, any penalty and any solver.

    .. math:: \min_{w, b} \frac{\sum_i \omega_i \ell(x_i \cdot w + b, y_i)}{\sum_i \omega_i} + P(w)

    For more than two classes the loss is softmax cross-entropy; the other losses are for two, and
    `sklearn.multiclass.OneVsRestClassifier` combines them for more. Parameters as in
    `PenalizedRegressor`.

    Parameters
    ----------
    loss : str or loss of `tenfold.math.losses`
        "logistic" (also "auto"; softmax for more than two classes), "probit", "hinge",
        "squared_hinge" or "perceptron".
    penalty, alpha, l1_ratio, h, fit_intercept, penalize_intercept
        As in `PenalizedRegressor`.
    solver, learning_rate, batch_size, tol, max_iter, random_state, verbose
        As in `PenalizedRegressor`.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    coef_ : (1, n_features) or (n_classes, n_features) coefficients
    intercept_ : (1,) or (n_classes,) intercepts
    n_iter_, converged_, history_ : as in all iterative models

    See Also
    --------
    LogisticRegression : Cross-entropy with L1 and L2 penalties.
    LinearSVC : Hinge losses.
    SGDClassifier : One row at a time.

    References
    ----------
    * A. Beck, M. Teboulle (2009). A fast iterative shrinkage-thresholding algorithm for linear
      inverse problems. SIAM Journal on Imaging Sciences 2.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from tenfold import PenalizedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PenalizedClassifier(penalty="hnorm", h=1.2, alpha=0.01).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 3)
    0.981
    """

    _min_classes = 2
    _parameter_constraints = {
        "loss": [StrOptions({"auto", "softmax", *_BINARY_LOSSES}), Loss],
        **_SHARED_CONSTRAINTS,
    }

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        k = len(self.classes_)
        loss = _resolve_loss(self.loss, LogisticLoss())
        if k > 2 and isinstance(loss, LogisticLoss):
            loss = SoftmaxLoss()
        if loss.labels == "signs" and k > 2:
            raise ValueError(
                f"{loss} is for two classes, and y has {k}: choose loss='softmax', or "
                f"sklearn.multiclass.OneVsRestClassifier(PenalizedClassifier({self.loss!r}))"
            )
        if loss.labels not in ("signs", "classes"):
            raise ValueError(f"{loss} is a loss of {loss.labels}: use PenalizedRegressor")
        n = float(rows.total(sum_class_weights, k).sum())
        m = 1 if loss.labels == "signs" else k
        self._warn_unused_parameters()
        W, b, report = self._minimize(rows, loss, m, n, self._seed(rng))
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
        if isinstance(_resolve_loss(self.loss, LogisticLoss()), ProbitLoss):
            return np.exp(
                self._map_rows(X, probit_log_probabilities, self.coef_[0], self.intercept_[0])
            )
        return softmax(self._map_rows(X, class_scores, self.coef_, self.intercept_))
