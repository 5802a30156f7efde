"""The plumbing, once: validate, encode labels, open rows, call `_fit`, set attributes, warn.

A model writes `_fit(rows, rng)`, which returns its learned attributes. A model that learns from one
statistic derives from `OnePass` and writes `_statistic` and `_learned` instead; it then also has
`partial_fit`, and `tenfold.merge`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClusterMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from tenfold.maths.links import log_softmax, softmax
from tenfold.rows import Chunk, Rows, progress, threads
from tenfold.rows import merge as merge_statistics
from tenfold.rows.arrays import Arrays, SparseArrays
from tenfold.rows.blas import one_blas_thread
from tenfold.rows.opening import is_rows_like
from tenfold.rows.opening import open as open_rows
from tenfold.rows.watch import watched

FLOATS = (np.float64, np.float32)


class Estimator(BaseEstimator):
    """What every model shares. Derive from a family below, not from this."""

    _sparse_ok = False
    _nan_ok = False
    _min_rows = 1
    _y_required = False
    _many_targets = False
    _draws = False  # whether rows are drawn: then weights and order of rows matter
    _parameter_constraints: dict[str, Any] = {}

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array or column name, optional
            Target; a name when X is a table or a file.
        sample_weight : array or column name, optional
            Weight of each row; a weight of two is the row twice.

        Returns
        -------
        self
        """
        self._validate_params()
        with self._at_work():
            rows = self._rows(X, y, sample_weight)
            self._keep(self._fit(rows, self._rng()))
        return self

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        raise NotImplementedError(f"{type(self).__name__} has to define _fit(rows, rng)")

    def save(self, path: str | Path) -> None:
        """Write the model to one file that `tenfold.load` reads; loading executes no code.

        Parameters
        ----------
        path : path
            File to write; it is replaced only when the new one is complete.
        """
        from tenfold.persist import save

        save(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse_ok
        tags.input_tags.allow_nan = self._nan_ok
        tags.target_tags.required = self._y_required
        tags.target_tags.multi_output = self._many_targets
        return tags

    def _at_work(self) -> Any:
        """One BLAS thread, the threads that n_jobs asks for, and whoever watches."""
        return _Work(self)

    def _rng(self) -> np.random.Generator:
        """Numbers that depend on `random_state` alone."""
        if not hasattr(self, "random_state"):
            return np.random.default_rng(0)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        return np.random.default_rng(seed)

    def _keep(self, learned: dict[str, Any]) -> None:
        for name, value in learned.items():
            setattr(self, name, value)
        if not learned.get("converged_", True):
            warnings.warn(
                f"{type(self).__name__} did not converge in max_iter={learned['n_iter_']} rounds. "
                "Raise max_iter, standardise the columns, or loosen tol; `history_` shows the "
                "objective per round.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _rows(self, X: Any, y: Any = None, w: Any = None, *, reset: bool = True) -> Rows:
        if is_rows_like(X):
            rows = open_rows(X, target=y, weight=w)
            rows.allow_nan = self._nan_ok
            self._match_columns(rows, reset=reset)
            return rows
        return self._array_rows(X, y, w, reset=reset)

    def _array_rows(self, X: Any, y: Any, w: Any, *, reset: bool) -> Rows:
        with_target = y is not None or (reset and self._y_required)
        whole = isinstance(X, np.ndarray) and X.dtype.kind in "iub"
        checked = validate_data(
            self,
            X,
            **({"y": y, **self._y_options()} if with_target else {}),
            reset=reset,
            accept_sparse="csr" if self._sparse_ok else False,
            dtype=None if whole else list(FLOATS),  # integers are converted chunk by chunk
            ensure_all_finite=False,  # looked at chunk by chunk, while it is in the cache
            ensure_min_samples=self._min_rows if reset else 1,
        )
        X, y = checked if isinstance(checked, tuple) else (checked, None)
        if w is not None:
            w = _check_sample_weight(w, X, dtype=FLOATS, ensure_non_negative=True)
        place = Arrays if isinstance(X, np.ndarray) else SparseArrays
        return Rows(place(X, y, w), engine=_engine(), allow_nan=self._nan_ok)

    def _y_options(self) -> dict[str, Any]:
        return {}

    def _match_columns(self, rows: Rows, *, reset: bool) -> None:
        if reset:
            self.n_features_in_ = rows.n_features
            if rows.names:
                self.feature_names_in_ = np.asarray(rows.names, dtype=object)
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            if rows.n_rows < self._min_rows:
                raise ValueError(
                    f"Found rows with {rows.n_rows} sample(s) while a minimum of {self._min_rows} "
                    f"is required by {type(self).__name__}."
                )
            return
        mine = getattr(self, "feature_names_in_", None)
        if mine is not None and rows.names and list(mine) != list(rows.names):
            raise ValueError(
                f"the columns {rows.names} are not those of the fit, {list(mine)}: "
                "choose them with tenfold.open(..., columns=[...])"
            )
        if rows.n_features != self.n_features_in_:
            raise ValueError(
                f"X has {rows.n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )

    def _each(self, X: Any, f: Callable[..., np.ndarray], *state: Any) -> np.ndarray:
        """`f(chunk, *state)` for all rows of X, below each other: how every model predicts."""
        check_is_fitted(self)
        with self._at_work():
            return self._rows(X, reset=False).each(f, *state)

    def _total(self, X: Any, f: Callable[..., Any], *state: Any) -> Any:
        """The total of `f(chunk, *state)` over the rows of X, for scores."""
        check_is_fitted(self)
        with self._at_work():
            return self._rows(X, reset=False).total(f, *state)


class _Work:
    """Context of a fit or a prediction: three contexts entered by hand, since small fits count."""

    def __init__(self, model: Estimator) -> None:
        n_jobs = getattr(model, "n_jobs", None)
        asked = nullcontext() if n_jobs in (None, -1) else threads(n_jobs)
        shown = progress() if getattr(model, "verbose", 0) else nullcontext()
        watch = watched(type(model).__name__, model.get_params)
        self.parts = (shown, watch, asked, one_blas_thread())

    def __enter__(self) -> None:
        for part in self.parts:
            part.__enter__()

    def __exit__(self, *problem: object) -> None:
        for part in reversed(self.parts):
            part.__exit__(*problem)


class Regressor(RegressorMixin, Estimator):
    """A model of a number (or several) per row."""

    _y_required = True

    def _y_options(self) -> dict[str, Any]:
        return {"y_numeric": True, "multi_output": self._many_targets}

    def _rows(self, X: Any, y: Any = None, w: Any = None, *, reset: bool = True) -> Rows:
        rows = super()._rows(X, y, w, reset=reset)
        if reset:
            _require_target(self, rows)
        return rows


class Classifier(ClassifierMixin, Estimator):
    """A model of a label per row; `classes_` and `predict` are made here."""

    _y_required = True
    _min_classes = 1

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows and their labels.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array or column name
            Labels; a name when X is a table or a file.
        sample_weight : array or column name, optional
            Weight of each row; a weight of two is the row twice.

        Returns
        -------
        self
        """
        self._validate_params()
        with self._at_work():
            rows = self._labelled_rows(X, y, sample_weight)
            self._keep(self._fit(rows, self._rng()))
        return self

    def _labelled_rows(self, X: Any, y: Any, w: Any, classes: Any = None) -> Rows:
        rows = self._rows(X, y, w)
        _require_target(self, rows)
        self.classes_, rows = number_labels(rows, classes)
        if len(self.classes_) < self._min_classes:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least {self._min_classes} classes in "
                f"the data, but the data contains only one class: {self.classes_[0]!r}"
            )
        return rows

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Returns
        -------
        (n,) array of labels
        """
        check_is_fitted(self)
        f, *state = self._scorer()
        return self.classes_[self._each(X, best, f, *state)]

    def _scorer(self) -> tuple:
        """A leaf and its state that give (n, k) scores, the best one the largest."""
        raise NotImplementedError(f"{type(self).__name__} has to define _scorer()")


class ProbabilisticClassifier(Classifier):
    """A classifier whose scores are log-probabilities up to a constant per row."""

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log-probability of each class for each row, (n, k).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._each(X, log_probabilities, *self._scorer())

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class for each row, (n, k).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._each(X, probabilities, *self._scorer())


class Transformer(TransformerMixin, Estimator):
    """A model that maps rows to other rows."""


class Clusterer(ClusterMixin, Estimator):
    """A model that gives each row the number of a group."""


class OnePass:
    """A model learned from one mergeable statistic.

    `_statistic(rows)` is the pass, `_learned(statistic, dtype)` the small maths after it. The statistic is
    kept as `statistic_`: from it come `partial_fit` and `tenfold.merge`.
    """

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        return self._from_statistic(self._statistic(rows), rows.dtype)

    def _from_statistic(self, statistic: Any, dtype: np.dtype) -> dict[str, Any]:
        return {**self._learned(statistic, dtype), "statistic_": statistic, "dtype_": dtype}

    def _statistic(self, rows: Rows) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has to define _statistic(rows)")

    def _learned(self, statistic: Any, dtype: np.dtype) -> dict[str, Any]:
        raise NotImplementedError(f"{type(self).__name__} has to define _learned(statistic, dtype)")

    def _absorb(self, statistic: Any, dtype: np.dtype) -> None:
        """Learn from all rows so far: those of the kept statistic, then these."""
        if getattr(self, "statistic_", None) is not None:
            statistic = merge_statistics(self.statistic_.copy(), statistic)
            dtype = np.result_type(self.dtype_, dtype)
        self._keep(self._from_statistic(statistic, dtype))

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
        with self._at_work():
            first = not hasattr(self, "statistic_")
            rows = self._rows(X, y, sample_weight, reset=first)
            self._absorb(self._statistic(rows), rows.dtype)
        return self


class OnePassClassifier(OnePass, Classifier):
    """A classifier learned from one statistic whose arrays have the classes as first axis."""

    def partial_fit(
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
        with self._at_work():
            first = not hasattr(self, "statistic_")
            known = np.unique(classes) if first and classes is not None else None
            if not first:
                known = self.classes_
                if classes is not None and not np.array_equal(np.unique(classes), known):
                    raise ValueError(f"classes={classes!r} is not those of the first call, {known}")
            elif known is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            rows = self._rows(X, y, sample_weight, reset=first)
            _require_target(self, rows)
            self.classes_, rows = number_labels(rows, known)
            self._absorb(self._statistic(rows), rows.dtype)
        return self


def best(chunk: Chunk, f: Callable[..., np.ndarray], *state: Any) -> np.ndarray:
    """Number of the largest score of each row."""
    return f(chunk, *state).argmax(axis=1)


def probabilities(chunk: Chunk, f: Callable[..., np.ndarray], *state: Any) -> np.ndarray:
    """Softmax of the scores of each row."""
    return softmax(f(chunk, *state))


def log_probabilities(chunk: Chunk, f: Callable[..., np.ndarray], *state: Any) -> np.ndarray:
    """Log of the softmax of the scores of each row."""
    return log_softmax(f(chunk, *state))


class Labels(tuple):
    """The different labels of a chunk; two sets merge by union."""

    def merge(self, other: Labels) -> Labels:
        return Labels([np.union1d(self[0], other[0])])


def labels_of(chunk: Chunk) -> Labels:
    return Labels([np.unique(chunk.y)])


def number_labels(rows: Rows, classes: np.ndarray | None = None) -> tuple[np.ndarray, Rows]:
    """The sorted classes, and the rows with labels as numbers into them."""
    if not isinstance(rows.source, Arrays | SparseArrays) or classes is not None:
        known = rows.total(labels_of)[0] if classes is None else classes
        return known, rows.labelled(known)
    check_classification_targets(rows.source.y)
    known, codes = np.unique(rows.source.y, return_inverse=True)
    rows.source.y = codes
    return known, rows


def _require_target(model: Estimator, rows: Rows) -> None:
    if not rows.source.has_target:
        raise ValueError(
            f"{type(model).__name__} requires y to be passed, but the target y is None: give y, or "
            "name it: tenfold.open(..., target='column')"
        )


def _engine() -> Any:
    from tenfold.rows.cluster import engine

    return engine()


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
    from sklearn.base import clone

    for model in (a, b):
        check_is_fitted(model)
        if getattr(model, "statistic_", None) is None:
            raise TypeError(
                f"{type(model).__name__} cannot be merged: it kept no statistic. Only one-pass "
                "models merge; wide data (fewer rows than columns) keep none."
            )
    if type(a) is not type(b) or repr(a.get_params()) != repr(b.get_params()):
        raise ValueError(f"only models of one class and equal parameters merge, not {a} and {b}")
    if a.n_features_in_ != b.n_features_in_:
        raise ValueError(f"the models have {a.n_features_in_} and {b.n_features_in_} columns")
    joint = clone(a)
    for name in ("n_features_in_", "feature_names_in_", "_target_shape"):
        if hasattr(a, name):
            setattr(joint, name, getattr(a, name))
    first, second = a.statistic_, b.statistic_
    if hasattr(a, "classes_"):
        joint.classes_ = np.union1d(a.classes_, b.classes_)
        first, second = (
            model.statistic_.spread(
                np.searchsorted(joint.classes_, model.classes_), len(joint.classes_)
            )
            for model in (a, b)
        )
    dtype = np.result_type(a.dtype_, b.dtype_)
    joint._keep(joint._from_statistic(merge_statistics(first.copy(), second), dtype))
    return joint


__all__ = [
    "Classifier",
    "Clusterer",
    "Estimator",
    "OnePass",
    "OnePassClassifier",
    "ProbabilisticClassifier",
    "Regressor",
    "Transformer",
    "merge",
]
