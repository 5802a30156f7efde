"""Ridge regression on signs: a classifier from one pass."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from tenfold.base._sklearn import StrOptions
from tenfold.base.mixins import encode_row_labels
from tenfold.engine.rows import Rows
from tenfold.linear._base import LinearClassifier, class_scores, linear_score
from tenfold.linear._mapped_rows import ClassSigns, MappedRows
from tenfold.linear._objective import compute_class_weight, sum_class_weights
from tenfold.linear.ridge import Ridge


class SignClassifier(LinearClassifier):
    """A classifier by regression on signs: -1 and +1 for each class, or for each of many labels."""

    _sparse_ok = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _y_options(self) -> dict[str, Any]:
        return {"multi_output": True}

    def _training_rows(self, X: Any, y: Any, w: Any) -> Rows:
        shape: Any = np.shape(y) if isinstance(y, list | tuple) else getattr(y, "shape", ())
        self._has_many_labels = len(shape) == 2 and shape[1] > 1
        if not self._has_many_labels:
            y = column_or_1d(y, warn=True) if len(shape) == 2 else y
            return super()._training_rows(X, y, w)
        if (kind := type_of_target(y)) != "multilabel-indicator":
            raise ValueError(
                f"Unknown label type: {kind}. A table of labels holds zeros and ones, one column "
                "for each label that a row may have: sklearn.preprocessing.MultiLabelBinarizer"
            )
        self.classes_ = np.arange(shape[1])
        return self._rows(X, 2 * np.asarray(y, np.int64) - 1, w)

    def _signed_rows(self, rows: Rows) -> Rows:
        """The rows with signs as targets, and class weights as weights."""
        if self._has_many_labels:
            if self.class_weight is not None:
                raise ValueError("class_weight is for one label a row: give sample_weight instead")
            return rows
        return MappedRows(rows, ClassSigns(len(self.classes_), self._class_weights(rows)))

    def _class_weights(self, rows: Rows) -> np.ndarray | None:
        """Weight of each class, or None where all are 1."""
        if self.class_weight is None:
            return None
        totals = rows.total(sum_class_weights, len(self.classes_))
        return compute_class_weight(self.class_weight, self.classes_, totals)

    def _scorer(self) -> tuple:
        return class_scores, np.atleast_2d(self.coef_), self.intercept_

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of each row: (n_rows,) for the second of two classes, else (n_rows, n_classes).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        Z = self._map_rows(X, linear_score, np.atleast_2d(self.coef_), self.intercept_)
        return Z[:, 0] if Z.shape[1] == 1 else Z

    def predict(self, X: Any) -> np.ndarray:
        """The label of each row, or zeros and ones for many labels.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Returns
        -------
        (n_rows,) array of labels, or (n_rows, n_labels) array of zeros and ones
        """
        check_is_fitted(self)
        if getattr(self, "_has_many_labels", False):
            return (self.decision_function(X) > 0).astype(np.int64)
        return super().predict(X)


class RidgeClassifier(SignClassifier):
    r"""Ridge regression on labels -1 and +1; the largest score decides.

    .. math:: \min_{W, b} \sum_i \omega_i \lVert W x_i + b - t_i \rVert^2
              + \alpha \lVert W \rVert^2, \qquad \hat y = \arg\max_k (W x + b)_k

    with :math:`t_{ik} = 1` for the class of the row and -1 for the others; two classes have one
    score. One pass over the data, two with class weights. Parameters and attributes are those of
    `sklearn.linear_model.RidgeClassifier`.

    Parameters
    ----------
    alpha : float
        Weight of the penalty.
    fit_intercept : bool
        Whether there is an intercept b; it is not penalized.
    copy_X : bool
        X is never overwritten, whatever is given here.
    max_iter : int, optional
        Maximum number of iterations of "sparse_cg".
    tol : float
        Relative precision of "sparse_cg".
    class_weight : dict, "balanced" or None
        Weight of each class; "balanced" gives each the same total.
    solver : {"auto", "cholesky", "svd", "sparse_cg", "lsqr", "sag", "saga", "lbfgs"}
        As in `Ridge`.
    positive : bool
        Whether coefficients must not be negative.
    random_state : int, optional
        Ignored: no solver draws random numbers.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    coef_ : (n_features,) coefficients of two classes, else (n_classes, n_features)
    intercept_ : (1,) or (n_classes,) intercepts, 0.0 if `fit_intercept` is False
    n_iter_ : iterations of "sparse_cg"; 1 for the other solvers
    solver_ : `solver`, as in scikit-learn; for "auto" the solver that was chosen

    See Also
    --------
    RidgeClassifierCV : Choose the penalty by cross-validation.
    LeastSquaresClassifier : On zeros and ones, with `partial_fit`.
    LogisticRegression : A loss that rows far on the right side do not enter.

    References
    ----------
    * R. Rifkin, G. Yeo, T. Poggio (2003). Regularized least-squares classification. NATO Science
      Series 190.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tenfold import RidgeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> round(RidgeClassifier().fit(X, y).score(X, y), 4)
    0.9596
    """

    _parameter_constraints = {
        **Ridge._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-4,
        class_weight: Any = None,
        solver: str = "auto",
        positive: bool = False,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.solver = solver
        self.positive = positive
        self.random_state = random_state

    def _ridge(self) -> Ridge:
        """Ridge regression with the same parameters, on the same columns."""
        params = {k: v for k, v in self.get_params(deep=False).items() if k != "class_weight"}
        model = Ridge(**params)
        model.n_features_in_ = self.n_features_in_
        return model

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        learned = self._ridge()._fit(self._signed_rows(rows), rng)
        return {k: v for k, v in learned.items() if k not in ("statistic_", "dtype_")}

    def _fit_path(self, rows: Rows, settings: list[dict]) -> list[Any] | None:
        """All penalties from one decomposition of the rows."""
        if any(set(setting) != {"alpha"} for setting in settings):
            return None
        first = copy(self)
        first._has_many_labels = bool(rows.target_shape)
        if first._has_many_labels:
            first.classes_ = np.arange(rows.target_shape[0])
        else:
            first.classes_, rows = encode_row_labels(rows)
        ridge, signed = first._ridge(), first._signed_rows(rows)
        models = ridge._fit_path(signed, settings)
        if models is None and not (ridge._solver() == "sparse_cg" or ridge._is_iterative(signed)):
            s = ridge._statistic(signed)
            if ridge._statistic_suffices(s, rows.n_rows, rows.dtype, settings):
                models = ridge._models_from_statistic(s, rows.dtype, settings)
        if models is None:
            return None
        return [_as_classifier(first, model) for model in models]


def _as_classifier(prototype: RidgeClassifier, ridge: Ridge) -> RidgeClassifier:
    """A fitted classifier with the coefficients of a regression on signs."""
    model = copy(prototype).set_params(alpha=ridge.alpha)
    names = ("coef_", "intercept_", "n_iter_", "solver_")
    model._set_learned({name: getattr(ridge, name) for name in names})
    return model
