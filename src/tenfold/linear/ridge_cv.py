"""Ridge regression and ridge classification with the penalty chosen by cross-validation."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.metrics import get_scorer_names
from sklearn.utils import check_scalar

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear._base import LinearRegressor
from tenfold.linear._cross_validation import CrossValidated, open_folds, own_scorer, score_chunk
from tenfold.linear._leave_one_out import (
    RidgeSpectrum,
    decompose,
    leave_one_out_predictions,
    leave_one_out_squares,
    weighted_squares,
)
from tenfold.linear.ridge import Ridge
from tenfold.linear.ridge_classifier import RidgeClassifier, SignClassifier

_CONSTRAINTS: dict[str, Any] = {
    "alphas": ["array-like", Interval(Real, 0, None, closed="neither")],
    "fit_intercept": ["boolean"],
    "scoring": [StrOptions(set(get_scorer_names())), callable, None],
    "cv": ["cv_object"],
    "store_cv_results": ["boolean"],
}


class PenaltySearch(CrossValidated):
    """Choice of a ridge penalty: leave-one-out in closed form, or folds."""

    gcv_mode: str | None = None
    alpha_per_target = False

    def _penalties(self) -> np.ndarray:
        """The penalties, each checked as scikit-learn checks it."""
        bounds = {"min_val": 0.0, "include_boundaries": "neither" if self.cv is None else "left"}
        given = list(self.alphas) if np.ndim(self.alphas) else [self.alphas]
        for number, alpha in enumerate(given):
            name = "alphas" if len(given) == 1 else f"alphas[{number}]"
            check_scalar(alpha, name, target_type=Real, **bounds)
        return np.array(given, np.float64)

    def _by_folds(self, model: Any, rows: Rows, default: str, **options: Any) -> dict[str, Any]:
        """Penalty, score and attributes of the best model on folds."""
        for name in ("store_cv_results", "alpha_per_target"):
            if getattr(self, name):
                raise ValueError(f"cv!=None and {name}=True are incompatible")
        alphas = self._penalties()
        scoring = options.pop("scoring", None) or (self.scoring or default)
        class_weights = options.pop("class_weights", None)
        folds = open_folds(model, rows, self.cv, self._fold_groups, **options)
        folds = folds._replace(class_weights=class_weights)
        mean = folds.scores([{"alpha": float(a)} for a in alphas], scoring).scores.mean(axis=0)
        if np.isnan(mean).all():
            warnings.warn(
                "the score is not defined on the folds (R^2 needs two rows), so that the first of "
                "alphas is taken: give fewer folds, or scoring='neg_mean_squared_error'",
                stacklevel=2,
            )
        best = int(np.argmax(np.where(np.isnan(mean), -np.inf, mean)))
        self.best_score_ = float(mean[best])  # NaN where no fold has a score, as R^2 of one row
        return {"alpha_": float(alphas[best])}

    def _by_leave_one_out(self, rows: Rows, classes: np.ndarray | None) -> dict[str, Any]:
        """The best penalty by the errors of each row without itself, and its fit."""
        alphas, ridge = self._penalties(), Ridge(fit_intercept=self.fit_intercept)
        ridge.n_features_in_ = rows.n_features
        exact = self.gcv_mode == "svd"
        if exact and rows.sparse:
            warnings.warn(
                "The 'svd' mode is not supported for sparse X: the moments of the rows are taken. "
                "Give gcv_mode='eigen'; scikit-learn will refuse this in 1.11.",
                FutureWarning,
                stacklevel=2,
            )
        spectrum, solve = decompose(rows, ridge, float(alphas.min()), exact=exact)
        scores, kept = self._leave_one_out_scores(rows, spectrum, alphas, classes)
        known = np.where(np.isfinite(scores), scores, -np.inf)
        if rows.n_rows < 2 or np.isinf(known.max(axis=-1)).any():
            raise ValueError(
                f"leave-one-out has no error for a row that its fit cannot do without (n_samples="
                f"{rows.n_rows}): at least two rows are needed, and a penalty that is no rounding"
            )
        best, chosen = np.argmax(known, axis=-1), known.max(axis=-1)
        alpha = alphas[best] if scores.ndim > 1 else float(alphas[best])
        learned = solve(ridge.set_params(alpha=alpha))
        names = ("coef_", "intercept_")
        found = {name: learned[name] for name in names} | kept
        return found | {
            "alpha_": alpha,
            "best_score_": chosen if np.ndim(chosen) else float(chosen),
        }

    def _leave_one_out_scores(
        self, rows: Rows, spectrum: RidgeSpectrum, alphas: np.ndarray, classes: np.ndarray | None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Scores (n_alphas,) or (n_targets, n_alphas), and `cv_results_` if it is kept."""
        per_target = self.alpha_per_target and bool(rows.target_shape)
        shape = (rows.n_rows, *rows.target_shape, len(alphas))
        if self.scoring is None:
            squares = rows.total(leave_one_out_squares, spectrum, alphas) / rows.n_rows
            kept = {}
            if self.store_cv_results:
                results = rows.each(weighted_squares, spectrum, alphas)
                kept = {"cv_results_": results.reshape(shape).astype(rows.dtype)}
            return -(squares if per_target else squares.mean(axis=0)), kept
        predictions = rows.each(leave_one_out_predictions, spectrum, alphas)
        by_alpha = np.moveaxis(predictions, 2, 0)
        kept = {"cv_results_": predictions.reshape(shape).astype(rows.dtype)}
        truth, scorer = rows.each(_targets_and_weights), own_scorer(self.scoring, "r2")
        Y, w = truth[:, :-1], None if (truth[:, -1] == 1).all() else truth[:, -1]
        many = classes is None and is_classifier(self)
        groups = [[t] for t in range(Y.shape[1])] if per_target else [list(range(Y.shape[1]))]
        scores = [
            [
                _fixed_score(scorer, each[:, some], Y[:, some], w, classes, many_labels=many)
                for each in by_alpha
            ]
            for some in groups
        ]
        return np.array(scores if per_target else scores[0]), kept if self.store_cv_results else {}


def _targets_and_weights(chunk: Chunk) -> np.ndarray:
    """Targets and weight of each row, (n, q + 1)."""
    return np.column_stack([chunk.y.reshape(chunk.rows, -1), chunk.weights()]).astype(np.float64)


class FixedRegressor(RegressorMixin, BaseEstimator):
    """Predicts what it is given as X: for scorers."""

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The predictions X."""
        return X


class FixedClassifier(ClassifierMixin, BaseEstimator):
    """Decides by the scores that it is given as X: for scorers."""

    def __init__(self, classes: np.ndarray) -> None:
        self.classes = classes

    @property
    def classes_(self) -> np.ndarray:
        """The labels."""
        return self.classes

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """The scores X."""
        return X[:, 0] if X.shape[1] == 1 else X

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The labels of the largest scores."""
        return self.classes[_class_numbers(X)]


def _class_numbers(scores: np.ndarray) -> np.ndarray:
    single = scores.shape[1] == 1
    return (scores[:, 0] > 0).astype(int) if single else scores.argmax(axis=1)


def _fixed_score(
    scorer: Any,
    predictions: np.ndarray,
    Y: np.ndarray,
    w: np.ndarray | None,
    classes: np.ndarray | None = None,
    *,
    many_labels: bool = False,
) -> float:
    """The score of given predictions (n, q) of targets Y."""
    if classes is not None:
        chunk = Chunk(predictions, None, w)
        return score_chunk(scorer, FixedClassifier(classes), chunk, classes[_class_numbers(Y)])
    if many_labels:
        chunk = Chunk((predictions > 0).astype(np.int64), None, w)
        return score_chunk(scorer, FixedRegressor(), chunk, (Y > 0).astype(np.int64))
    single = Y.shape[1] == 1
    chunk = Chunk(predictions[:, 0] if single else predictions, None, w)
    return score_chunk(scorer, FixedRegressor(), chunk, Y[:, 0] if single else Y)


class RidgeCV(PenaltySearch, LinearRegressor):
    r"""Ridge regression with the penalty chosen by cross-validation.

    By default each row is predicted by the fit without it. These leave-one-out errors follow from
    the fits to all rows: with the residual e and the leverage h of a row,

    .. math:: y_i - \hat y_{-i}(x_i) = \frac{e_i}{1 - h_i}, \qquad
              h_i = \omega_i \Big(\frac1n
              + (x_i - \bar x)^\top (S + \alpha)^{-1} (x_i - \bar x)\Big),

    so that all penalties take two passes over the data. With folds, the moments of a fold are those
    of all rows less its own: one pass for all folds and penalties, and one for the last fit.
    Parameters and attributes are those of `sklearn.linear_model.RidgeCV`.

    Parameters
    ----------
    alphas : array
        The penalties to try; above zero for leave-one-out.
    fit_intercept : bool
        Whether there is an intercept b.
    scoring : str or callable, optional
        What decides: names of scikit-learn, or `f(model, X, y)`. By default the squared error of
        leave-one-out, else R^2. Weights of rows count in it.
    cv : int, scikit-learn splitter, or pairs of arrays of row numbers, optional
        The folds; leave-one-out by default.
    gcv_mode : {"auto", "svd", "eigen"}, optional
        "svd" takes the triangular factor of the rows in any case, the others only where the moments
        would lose digits.
    store_cv_results : bool
        Whether to keep the leave-one-out errors.
    alpha_per_target : bool
        Whether each target has its own penalty, by leave-one-out.

    Attributes
    ----------
    alpha_ : the penalty that was chosen, or (n_targets,) penalties
    best_score_ : its score, or (n_targets,) scores
    cv_results_ : (n_rows, n_alphas) or (n_rows, n_targets, n_alphas) squared errors of
        leave-one-out (predictions, if `scoring` is given), if they are kept
    coef_ : (n_features,) or (n_targets, n_features) coefficients
    intercept_ : float or (n_targets,) intercept, 0.0 if `fit_intercept` is False

    See Also
    --------
    Ridge : With a given penalty.
    Search : Any parameter of any model.
    BayesianRidge : Learns the penalty from the evidence.

    References
    ----------
    * R. M. Rifkin, R. A. Lippert (2007). Notes on regularized least squares. MIT-CSAIL-TR-2007-025.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import RidgeCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RidgeCV(alphas=[1e-3, 1e-2, 1e-1, 1]).fit(X, y)
    >>> model.alpha_, round(model.score(X, y), 4)
    (0.01, 0.5166)
    """

    _sparse_ok = True
    _multi_output = True
    _parameter_constraints = {
        **_CONSTRAINTS,
        "gcv_mode": [StrOptions({"auto", "svd", "eigen"}), None],
        "alpha_per_target": ["boolean"],
    }

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        scoring: Any = None,
        cv: Any = None,
        gcv_mode: str | None = None,
        store_cv_results: bool = False,
        alpha_per_target: bool = False,
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.gcv_mode = gcv_mode
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        if self.cv is None:
            return self._by_leave_one_out(rows, None)
        ridge = Ridge(fit_intercept=self.fit_intercept)
        found = self._by_folds(ridge, rows, "r2")
        ridge.n_features_in_ = rows.n_features
        learned = ridge.set_params(alpha=found["alpha_"])._fit(rows, rng)
        return found | {name: learned[name] for name in ("coef_", "intercept_")}


class RidgeClassifierCV(PenaltySearch, SignClassifier):
    r"""Ridge regression on labels -1 and +1 with the penalty chosen by cross-validation.

    .. math:: \min_{W, b} \sum_i \omega_i \lVert W x_i + b - t_i \rVert^2
              + \alpha \lVert W \rVert^2

    Leave-one-out errors, by default, follow from the fits to all rows, as in `RidgeCV`. With folds,
    fits of all folds share their passes, and all penalties come from one decomposition of a fold.
    Parameters and attributes are those of `sklearn.linear_model.RidgeClassifierCV`.

    Parameters
    ----------
    alphas : array
        The penalties to try; above zero for leave-one-out.
    fit_intercept : bool
        Whether there is an intercept b.
    scoring : str or callable, optional
        What decides: names of scikit-learn, or `f(model, X, y)`. By default the squared error of
        leave-one-out, else accuracy. Weights of rows count in it.
    cv : int, scikit-learn splitter, or pairs of arrays of row numbers, optional
        The folds, stratified if a number is given; leave-one-out by default.
    class_weight : dict, "balanced" or None
        Weight of each class; "balanced" gives each the same total.
    store_cv_results : bool
        Whether to keep the leave-one-out errors.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    alpha_, best_score_ : the penalty that was chosen, and its score
    cv_results_ : (n_rows, n_targets, n_alphas) squared errors of leave-one-out (scores, if
        `scoring` is given), if they are kept; two classes have one target
    coef_ : (n_features,) coefficients of two classes, else (n_classes, n_features)
    intercept_ : (1,) or (n_classes,) intercepts, 0.0 if `fit_intercept` is False

    See Also
    --------
    RidgeClassifier : With a given penalty.
    LogisticRegressionCV : A loss that rows far on the right side do not enter.

    References
    ----------
    * R. M. Rifkin, R. A. Lippert (2007). Notes on regularized least squares. MIT-CSAIL-TR-2007-025.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tenfold import RidgeClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RidgeClassifierCV(alphas=[1e-3, 1e-2, 1e-1, 1]).fit(X, y)
    >>> model.alpha_, round(model.score(X, y), 4)
    (0.01, 0.9631)
    """

    _parameter_constraints = {
        **_CONSTRAINTS,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        scoring: Any = None,
        cv: Any = None,
        class_weight: Any = None,
        store_cv_results: bool = False,
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.class_weight = class_weight
        self.store_cv_results = store_cv_results

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        classes = None if self._has_many_labels else self.classes_
        if self.cv is None:
            return self._by_leave_one_out(self._signed_rows(rows), classes)
        weights = None if classes is None else self._class_weights(rows)
        by_label = None if weights is None else dict(zip(self.classes_, weights, strict=True))
        model = RidgeClassifier(fit_intercept=self.fit_intercept, class_weight=by_label)
        options: dict[str, Any] = {"classes": classes, "class_weights": weights}
        if classes is None:
            options = {"scoring": _many_label_scorer(own_scorer(self.scoring, "accuracy"))}
        found = self._by_folds(model, rows, "accuracy", **options)
        model.classes_, model.n_features_in_ = self.classes_, rows.n_features
        model._has_many_labels = self._has_many_labels
        learned = model.set_params(alpha=found["alpha_"])._fit(rows, rng)
        return found | {name: learned[name] for name in ("coef_", "intercept_")}


def _many_label_scorer(scorer: Any) -> Any:
    """A scorer of labels as zeros and ones, for targets -1 and +1."""

    def score(model: Any, X: Any, y: np.ndarray, **weights: Any) -> float:
        return scorer(model, X, (y > 0).astype(np.int64), **weights)

    return score
