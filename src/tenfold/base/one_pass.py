"""Models learned from one statistic: `partial_fit`, and the merge of models trained apart."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tenfold.base.estimator import Estimator
from tenfold.base.mixins import Classifier, encode_row_labels, require_target
from tenfold.engine.merge_tree import merge as merge_statistics
from tenfold.engine.rows import Rows


class OnePass(Estimator):
    """A model learned from one mergeable statistic.

    `_statistic(rows)` is the pass, `_learned(statistic, dtype)` the small maths after it. The
    statistic is kept as `statistic_`: from it come `partial_fit`, `tenfold.merge`, and
    cross-validation of any number of settings from one pass.
    """

    _statistic_depends_on: tuple[str, ...] = ()  # parameters that change the statistic

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        return self._from_statistic(self._statistic(rows), rows.dtype)

    def _from_statistic(self, statistic: Any, dtype: np.dtype) -> dict[str, Any]:
        return {**self._finalize(statistic, dtype), "statistic_": statistic, "dtype_": dtype}

    def _statistic(self, rows: Rows) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has to define _statistic(rows)")

    def _finalize(self, statistic: Any, dtype: np.dtype, /) -> dict[str, Any]:
        raise NotImplementedError(f"{type(self).__name__} has to define _learned(s, dtype)")

    def _has_statistic(self, rows: Rows, /) -> bool:
        """Whether a fit to parts of these rows may come from their statistics."""
        return True

    def _statistic_suffices(
        self, statistic: Any, n_rows: int, dtype: np.dtype, settings: list[dict], /
    ) -> bool:
        """Whether the statistic of so many rows leads to what `fit` finds with these parameters."""
        return True

    def _models_from_statistic(
        self, statistic: Any, dtype: np.dtype, settings: list[dict], /
    ) -> list[Any]:
        """Fitted models with these parameters, all from one statistic."""
        models = [copy(self).set_params(**each) for each in settings]
        for model in models:
            model._validate_params()
            model._set_learned(model._from_statistic(statistic, dtype))
        return models

    def _absorb(self, statistic: Any, dtype: np.dtype) -> None:
        """Learn from all rows so far: those of the kept statistic, then these."""
        if hasattr(self, "statistic_"):
            statistic = merge_statistics(require_statistic(self), statistic)
            dtype = np.result_type(self.dtype_, dtype)
        self._set_learned(self._from_statistic(statistic, dtype))

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, as if they had been part of the rows so far.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The further rows.
        y : array or column name, optional
            Their target.
        sample_weight : array or column name, optional
            Their weights.

        Returns
        -------
        self
        """
        self._validate_params()
        with self._work_context():
            first = not hasattr(self, "statistic_")
            rows = self._rows(X, y, sample_weight, reset=first)
            self._absorb(self._statistic(rows), rows.dtype)
        return self


class OnePassClassifier(OnePass, Classifier):
    """A classifier learned from one statistic whose arrays have the classes as first axis."""

    def partial_fit(  # pyright: ignore[reportIncompatibleMethodOverride] - scikit-learn's order
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from more rows, as if they had been part of the rows so far.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The further rows.
        y : array or column name
            Their labels.
        classes : array, optional
            All labels that will ever come; needed at the first call only.
        sample_weight : array or column name, optional
            Their weights.

        Returns
        -------
        self
        """
        self._validate_params()
        with self._work_context():
            first = not hasattr(self, "statistic_")
            known = np.unique(classes) if first and classes is not None else None
            if not first:
                known = self.classes_
                if classes is not None and not np.array_equal(np.unique(classes), known):
                    raise ValueError(
                        f"classes={classes!r} is not the same as on last call to partial_fit, "
                        f"which was {known}"
                    )
            elif known is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            rows = self._rows(X, y, sample_weight, reset=first)
            require_target(self, rows)
            self.classes_, rows = encode_row_labels(rows, known)
            self._absorb(self._statistic(rows), rows.dtype)
        return self


def require_statistic(model: Any) -> Any:
    """The statistic of a fitted model, to which more rows can be added."""
    if getattr(model, "statistic_", None) is None:
        raise TypeError(
            f"{type(model).__name__} cannot be merged: it has no statistic. Only one-pass models "
            "keep one, and `fit` keeps none of wide data (fewer rows than columns: begin with "
            "partial_fit), of rows with missing entries, and of iterations of EM."
        )
    return model.statistic_


def merge(a: Any, b: Any) -> Any:
    """The model of both parts of the data, from two models trained apart.

    Parameters
    ----------
    a, b : fitted models of one class with the same parameters
        One-pass models: those that have `partial_fit`.

    Returns
    -------
    A new model, equal to the fit on the rows of `a` followed by those of `b`.

    Examples
    --------
    >>> import numpy as np, tenfold
    >>> X, y = np.arange(12.0).reshape(6, 2) ** 2, np.arange(6.0)
    >>> a = tenfold.Ridge().fit(X[:3], y[:3])
    >>> b = tenfold.Ridge().fit(X[3:], y[3:])
    >>> np.allclose(tenfold.merge(a, b).coef_, tenfold.Ridge().fit(X, y).coef_)
    True
    """
    for model in (a, b):
        check_is_fitted(model)
    if type(a) is type(b) and hasattr(a, "merge"):  # no table of columns: text, sequences
        return a.merge(b)
    for model in (a, b):
        require_statistic(model)
    if type(a) is not type(b) or repr(a.get_params()) != repr(b.get_params()):
        raise ValueError(f"only models of one class and equal parameters merge, not {a} and {b}")
    if a.n_features_in_ != b.n_features_in_:
        raise ValueError(f"the models have {a.n_features_in_} and {b.n_features_in_} columns")
    if list(getattr(a, "feature_names_in_", [])) != list(getattr(b, "feature_names_in_", [])):
        raise ValueError("the models were fitted on columns of other names, or in another order")
    joint: Any = clone(a)
    for name in ("n_features_in_", "feature_names_in_", "_target_shape"):
        if hasattr(a, name):
            setattr(joint, name, getattr(a, name))
    first, second = a.statistic_, b.statistic_
    if hasattr(a, "classes_"):
        joint.classes_ = np.union1d(a.classes_, b.classes_)
        first, second = (
            model.statistic_.expand_to_classes(
                np.searchsorted(joint.classes_, model.classes_), len(joint.classes_)
            )
            for model in (a, b)
        )
    dtype = np.result_type(a.dtype_, b.dtype_)
    joint._set_learned(joint._from_statistic(merge_statistics(first, second), dtype))
    return joint
