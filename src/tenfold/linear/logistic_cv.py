"""Logistic regression with the penalty chosen by cross-validation."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import get_scorer, get_scorer_names

from tenfold.base._sklearn import Hidden, Interval, StrOptions
from tenfold.engine.rows import Rows
from tenfold.linear._cross_validation import CandidateScores, CrossValidated, open_folds
from tenfold.linear._objective import compute_class_weight, sum_class_weights
from tenfold.linear.logistic import LOGISTIC_CONSTRAINTS, LogisticRegression
from tenfold.metrics.evaluation import evaluate
from tenfold.metrics.registry import METRICS
from tenfold.model_selection._fold_models import fit_folds_along_path

_CONSTRAINTS = {
    name: LOGISTIC_CONSTRAINTS[name]
    for name in LOGISTIC_CONSTRAINTS
    if name not in ("C", "warm_start", "l1_ratio")
}


class PathGrid(NamedTuple):
    """The penalties of a cross-validation.

    Attributes
    ----------
    Cs : (n_cs,) weights of the loss
    l1_ratios : shares of L1, as they are given; [None] for the one that the penalty implies
    implied : share of L1 where none is given
    """

    Cs: np.ndarray
    l1_ratios: list[Any]
    implied: float

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of shares and of weights."""
        return len(self.l1_ratios), len(self.Cs)

    def candidates(self) -> list[dict[str, float]]:
        """Parameters of the models: along a path of weights for each share."""
        shares = [self.implied if ratio is None else float(ratio) for ratio in self.l1_ratios]
        return [{"C": float(C), "l1_ratio": share} for share in shares for C in self.Cs]


class LogisticRegressionCV(CrossValidated, LogisticRegression):
    r"""Logistic regression with the penalty chosen by cross-validation.

    .. math:: \min_{w, b} C \sum_i \omega_i \Big[\log \sum_c e^{x_i \cdot w_c + b_c}
              - x_i \cdot w_{y_i} - b_{y_i}\Big]
              + \tfrac{1 - \rho}2 \lVert w \rVert_2^2 + \rho \lVert w \rVert_1

    The fits of all folds run in lockstep and share their passes over the data; along the values of
    C each starts from the last. The best mean score decides, and its penalty is fitted to all rows.
    Parameters and attributes are those of `sklearn.linear_model.LogisticRegressionCV`; only
    `solver` has a default of its own.

    Parameters
    ----------
    Cs : int or array
        Values of C to try; or how many, equally spaced in their logarithm from 1e-4 to 1e4.
    l1_ratios : array, optional
        Shares :math:`\rho` of the L1 penalty to try. None, and the default, which changes in
        version 1.10 of scikit-learn, is 0 without an axis in the attributes.
    fit_intercept : bool
        Whether there are intercepts b.
    cv : int, scikit-learn splitter, or pairs of arrays of row numbers, optional
        The folds: 5 stratified ones by default.
    dual : bool
        As in `LogisticRegression`.
    penalty : {"l2", "l1", "elasticnet"}, optional
        Deprecated, as in scikit-learn: use `l1_ratios`.
    scoring : str or callable, optional
        What decides: names of scikit-learn, or `f(model, X, y)`. None, and the default, which
        changes in version 1.11 of scikit-learn, is accuracy. Weights of rows count in it.
    solver : str
        "auto", "lbfgs", "newton-cholesky", "newton-cg", "coordinate", "gd", "proximal", or
        scikit-learn's "liblinear", "sag", "saga", as in `LogisticRegression`.
    tol : float
        Converged when no entry of the gradient of the mean objective exceeds this.
    max_iter : int
        Maximum number of iterations.
    class_weight : dict, "balanced" or None
        Weight of each class; "balanced" gives each the same total over all rows.
    n_jobs : int, optional
        Number of threads; all by default.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    refit : bool
        Whether to fit the best penalty to all rows. If not, the coefficients are the mean of the
        best of each fold.
    intercept_scaling : float
        With ``solver="liblinear"``: the intercept is penalized as if divided by this.
    random_state : int, optional
        Ignored: no solver draws random numbers.
    use_legacy_attributes : bool, optional
        Whether attributes are dicts by class; the default changes from True to False in version
        1.10 of scikit-learn.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    coef_ : (1, n_features) or (n_classes, n_features) coefficients
    intercept_ : (1,) or (n_classes,) intercepts
    C_, l1_ratio_ : the penalty that was chosen; with legacy attributes repeated for each class
    Cs_, l1_ratios_ : the values that were tried
    scores_ : (n_folds, n_l1_ratios, n_cs) scores; with legacy attributes a dict by class of
        (n_folds, n_cs, n_l1_ratios) arrays, without the last axis if no `l1_ratios` are given
    coefs_paths_ : (n_folds, n_l1_ratios, n_cs, n_classes, n_features + 1) coefficients of every
        fit with the intercept last; with legacy attributes a dict by class
    n_iter_ : (n_folds, n_l1_ratios, n_cs) iterations; with legacy attributes (1, n_folds, n_cs) or
        (1, n_folds, n_cs, n_l1_ratios)
    converged_ : whether the gradient was small enough at the end of every fit
    history_ : objective of the last fit after each iteration ("objective"), and "seconds"

    See Also
    --------
    LogisticRegression : With a given penalty.
    Search : Any parameter of any model.

    References
    ----------
    * J. Friedman, T. Hastie, R. Tibshirani (2010). Regularization paths for generalized linear
      models via coordinate descent. Journal of Statistical Software 33.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import LogisticRegressionCV
    >>> X, y = load_iris(return_X_y=True)
    >>> choice = {"l1_ratios": (0.0,), "scoring": "neg_log_loss", "use_legacy_attributes": False}
    >>> model = LogisticRegressionCV(Cs=[0.1, 1.0, 10.0], **choice).fit(X, y)
    >>> model.C_, model.scores_.shape
    (10.0, (5, 1, 3))
    """

    _law_rows = 9000
    _law_params = {
        "Cs": [0.1, 10.0],
        "l1_ratios": (0.0,),
        "cv": 3,
        "scoring": "neg_log_loss",
        "use_legacy_attributes": False,
    }
    _parameter_constraints = {
        **_CONSTRAINTS,
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "l1_ratios": ["array-like", None, Hidden(StrOptions({"warn"}))],
        "cv": ["cv_object"],
        "scoring": [
            StrOptions(set(get_scorer_names())),
            callable,
            None,
            Hidden(StrOptions({"warn"})),
        ],
        "refit": ["boolean"],
        "penalty": [StrOptions({"l1", "l2", "elasticnet"}), Hidden(StrOptions({"deprecated"}))],
        "use_legacy_attributes": ["boolean", Hidden(StrOptions({"warn"}))],
    }
    warm_start = False

    def __init__(
        self,
        *,
        Cs: Any = 10,
        l1_ratios: Any = "warn",
        fit_intercept: bool = True,
        cv: Any = None,
        dual: bool = False,
        penalty: str = "deprecated",
        scoring: Any = "warn",
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 100,
        class_weight: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        refit: bool = True,
        intercept_scaling: float = 1.0,
        random_state: Any = None,
        use_legacy_attributes: Any = "warn",
    ) -> None:
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.dual = dual
        self.penalty = penalty
        self.scoring = scoring
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.refit = refit
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.use_legacy_attributes = use_legacy_attributes

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        grid, scoring, legacy = self._grid(), self._own_scoring(warn=True), self._is_legacy()
        model = self._model(rows)
        folds = open_folds(model, rows, self.cv, self._fold_groups, classes=self.classes_)
        found = folds.scores(grid.candidates(), scoring, fit=fit_folds_along_path)
        n_folds = len(found.scores)
        scores = found.scores.reshape(n_folds, *grid.shape)
        paths = self._coefficient_paths(found).reshape(n_folds, *grid.shape, *self._path_shape)
        fits = [fit for models in found.models for fit in models]
        n_iter = np.array([fit.n_iter_[0] for fit in fits]).reshape(scores.shape)
        if self.refit:
            learned = self._refit_best(model, rows, rng, scores, grid)
        else:
            learned = self._average_best(scores, paths, grid)
        learned["converged_"] = bool(learned.get("converged_", True)) and all(
            bool(fit.converged_) for fit in fits
        )
        learned |= {"Cs_": grid.Cs, "l1_ratios_": np.asarray(grid.l1_ratios)}
        arrays = {"scores_": scores, "coefs_paths_": paths.astype(rows.dtype), "n_iter_": n_iter}
        arrays["scores_"] = scores.astype(rows.dtype)
        return learned | (self._legacy_attributes(learned, arrays) if legacy else arrays)

    def _model(self, rows: Rows) -> LogisticRegression:
        """The model of one penalty, with class weights of all rows."""
        names = ("dual", "tol", "fit_intercept", "intercept_scaling", "solver", "max_iter")
        model = LogisticRegression(**{name: getattr(self, name) for name in names})
        if self.class_weight is not None:
            totals = rows.total(sum_class_weights, len(self.classes_))
            weights: Any = compute_class_weight(self.class_weight, self.classes_, totals)
            model.class_weight = dict(zip(self.classes_.tolist(), weights.tolist(), strict=True))
        model.classes_, model.n_features_in_ = self.classes_, rows.n_features
        return model

    @property
    def _path_shape(self) -> tuple[int, int]:
        """Shape of the coefficients of a fit, with the intercept last."""
        k = len(self.classes_)
        return 1 if k == 2 else k, self.n_features_in_ + int(self.fit_intercept)

    def _coefficient_paths(self, found: CandidateScores) -> np.ndarray:
        """Coefficients of all fits; zero for a class that a fold does not have."""
        paths = np.zeros((len(found.models), len(found.models[0]), *self._path_shape))
        for i, j in np.ndindex(paths.shape[:2]):
            fit = found.models[i][j]
            T = np.column_stack([fit.coef_, fit.intercept_]) if self.fit_intercept else fit.coef_
            if len(fit.classes_) == 2 < len(self.classes_):
                T = np.vstack([-T, T]) / 2
            places = np.searchsorted(self.classes_, fit.classes_) if len(T) > 1 else [0]
            paths[i, j, places] = T
        return paths

    def _refit_best(
        self,
        model: LogisticRegression,
        rows: Rows,
        rng: np.random.Generator,
        scores: np.ndarray,
        grid: PathGrid,
    ) -> dict[str, Any]:
        """The fit of the best penalty to all rows."""
        number, share = np.unravel_index(int(np.argmax(scores.sum(axis=0).T)), grid.shape[::-1])
        best = grid.candidates()[int(share) * len(grid.Cs) + int(number)]
        learned = model.set_params(**best)._fit(rows, rng)
        return learned | {"C_": best["C"], "l1_ratio_": best["l1_ratio"]}

    def _average_best(
        self, scores: np.ndarray, paths: np.ndarray, grid: PathGrid
    ) -> dict[str, Any]:
        """The mean of the best coefficients of each fold."""
        flat = scores.swapaxes(1, 2).reshape(len(scores), -1)  # values of C outside, as for refits
        numbers, shares = np.unravel_index(flat.argmax(axis=1), grid.shape[::-1])
        W = np.mean([path[s, c] for path, s, c in zip(paths, shares, numbers, strict=True)], axis=0)
        chosen = [grid.candidates()[int(s) * len(grid.Cs)]["l1_ratio"] for s in shares]
        p = self.n_features_in_
        intercept = W[:, p] if self.fit_intercept else np.zeros(len(W))
        learned = {"coef_": W[:, :p].copy(), "intercept_": intercept}
        C = float(np.mean(grid.Cs[numbers]))
        return learned | {"C_": C, "l1_ratio_": float(np.mean(chosen))}

    def _legacy_attributes(
        self, learned: dict[str, Any], arrays: dict[str, np.ndarray]
    ) -> dict[str, Any]:
        """The attributes as dicts by class, with an axis of shares if any are given."""
        k = len(self.classes_)
        labels = (self.classes_[1:] if k == 2 else self.classes_).tolist()
        scores, n_iter = (arrays[name].swapaxes(1, 2) for name in ("scores_", "n_iter_"))
        paths = np.moveaxis(arrays["coefs_paths_"].swapaxes(1, 2), 3, 0)
        share = learned["l1_ratio_"]
        if learned["l1_ratios_"].dtype == object:  # none are given
            scores, n_iter, paths = scores[..., 0], n_iter[..., 0], paths[:, :, :, 0]
            share = None if self.refit else share
        return {
            "C_": np.tile(learned["C_"], len(labels)),
            "l1_ratio_": np.tile(np.asarray(share), len(labels)),
            "scores_": {label: scores.copy() for label in labels},
            "coefs_paths_": dict(zip(labels, paths, strict=True)),
            "n_iter_": n_iter[None],
        }

    def _grid(self) -> PathGrid:
        """The values to try, with the warnings and errors of scikit-learn."""
        l1_ratios: Any = self.l1_ratios
        if isinstance(l1_ratios, str):
            l1_ratios = None
            _warn_of_change(
                "for l1_ratios will change from None to (0.0,)", "1.10", "l1_ratios=(0,)"
            )
        elif l1_ratios is None and self.penalty == "deprecated":
            warnings.warn(
                "'l1_ratios=None' was deprecated in version 1.8 of scikit-learn and will be an "
                "error in 1.10. Use an array-like of numbers between 0 and 1: l1_ratios=(0,).",
                FutureWarning,
                stacklevel=3,
            )
        implied, is_mixed = 0.0, self.penalty == "elasticnet"
        if self.penalty != "deprecated":
            warnings.warn(
                "'penalty' was deprecated in version 1.8 of scikit-learn and will be removed in "
                "1.10. Use l1_ratios=(0,) instead of penalty='l2', l1_ratios=(1,) instead of "
                "penalty='l1', and l1_ratios between 0 and 1 instead of penalty='elasticnet'.",
                FutureWarning,
                stacklevel=3,
            )
            implied = float(self.penalty == "l1")
            if l1_ratios is not None and not is_mixed:
                message = "l1_ratios parameter is only used when penalty is 'elasticnet'."
                warnings.warn(f"{message} Got (penalty={self.penalty})", stacklevel=3)
                l1_ratios = [implied] * len(l1_ratios)
        shares = [None] if l1_ratios is None else list(l1_ratios)
        if (is_mixed and l1_ratios is None) or not all(_is_share(each) for each in shares):
            raise ValueError(
                f"l1_ratios must be an array-like of numbers between 0 and 1; got (l1_ratios="
                f"{self.l1_ratios!r})"
            )
        many = isinstance(self.Cs, Integral)
        Cs = np.logspace(-4, 4, self.Cs) if many else np.asarray(self.Cs, np.float64)
        return PathGrid(Cs, shares, implied)

    def _own_scoring(self, *, warn: bool = False) -> Any:
        """What decides: a name, or a callable."""
        if not (isinstance(self.scoring, str) and self.scoring == "warn"):
            return self.scoring or "accuracy"
        if warn:
            cure = "scoring='accuracy', or scoring='neg_log_loss' for the new default"
            _warn_of_change(
                "of the parameter 'scoring' will change from accuracy to 'neg_log_loss'",
                "1.11",
                cure,
            )
        return "accuracy"

    def _is_legacy(self) -> bool:
        if self.use_legacy_attributes != "warn":
            return bool(self.use_legacy_attributes)
        cure = "use_legacy_attributes=False, or True for dicts by class"
        _warn_of_change("of use_legacy_attributes will change from True to False", "1.10", cure)
        return True

    def score(  # pyright: ignore[reportIncompatibleMethodOverride] - scikit-learn's signature
        self, X: Any, y: Any = None, sample_weight: Any = None, **score_params: Any
    ) -> float:
        """The score by which the penalty was chosen, on other rows.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array or column name
            Their labels.
        sample_weight : array or column name, optional
            Their weights.
        **score_params
            Further arguments of a scorer that is a callable.
        """
        scoring = self._own_scoring()
        if isinstance(scoring, str) and scoring in METRICS and not score_params:
            scores = evaluate(self, X, y, metrics=[scoring], sample_weight=sample_weight)
            return float(next(iter(scores.values())))
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(get_scorer(scoring)(self, X, y, **weights, **score_params))


def _is_share(value: Any) -> bool:
    return value is None or (isinstance(value, Real) and 0 <= float(value) <= 1)


def _warn_of_change(what: str, version: str, cure: str) -> None:
    """Warn of a default that changes in a later version of scikit-learn."""
    warnings.warn(
        f"The default value {what} in version {version} of scikit-learn. To avoid this "
        f"warning, set {cure}.",
        FutureWarning,
        stacklevel=4,
    )
