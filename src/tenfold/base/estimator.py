"""The fit template: validate, open rows, call `_fit`, set learned attributes, warn."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from inspect import CO_VARARGS, CO_VARKEYWORDS
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from tenfold.base._sklearn import check_sample_weight
from tenfold.base.input_errors import name_words
from tenfold.base.numerical_errors import (
    check_learned_numbers,
    check_outputs,
    check_overflow,
    explain_numerical_errors,
)
from tenfold.callbacks.monitor import monitor_fit
from tenfold.callbacks.progress_bar import progress
from tenfold.engine.arrays import ArraySource, SparseSource
from tenfold.engine.blas_threads import one_blas_thread
from tenfold.engine.context import current_engine
from tenfold.engine.hooks import record_data, record_value
from tenfold.engine.interrupts import unwrap_interrupts
from tenfold.engine.memory import check_memory
from tenfold.engine.rows import Rows
from tenfold.engine.thread_pool import n_threads, threads
from tenfold.io.opener import has_names, is_rows_like
from tenfold.io.opener import open as open_rows

_FLOAT_DTYPES = (np.float64, np.float32)
_NO_CONTEXT = nullcontext()
_PLAIN = frozenset((int, float, str, bool, type(None)))  # types of values that never change
_MOST_VALID = 1000  # checked settings that are remembered
_valid_params: set[tuple[Any, ...]] = set()


def store_arguments(model: Any, arguments: dict[str, Any]) -> None:
    """Store the arguments of a constructor under their names: `store_arguments(self, locals())`.

    For constructors with many parameters, where a list of assignments would say nothing more.
    Call it first: every local variable is stored.
    """
    for name, value in arguments.items():
        if name not in ("self", "__class__"):
            setattr(model, name, value)


def _join_cures(cures: list[str]) -> str:
    """Some things to do as the beginning of a sentence: "Raise max_iter, or loosen tol"."""
    text = ", or ".join([", ".join(cures[:-1]), cures[-1]] if len(cures) > 1 else cures)
    return text[:1].upper() + text[1:]


class Parametrized(BaseEstimator):
    """What models of rows and agents share: parameters whose check costs a small fit little."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Names of the parameters, read off the constructor: `inspect` outlasts a small fit."""
        code = getattr(cls.__init__, "__code__", None)
        if code is None or code.co_flags & (CO_VARARGS | CO_VARKEYWORDS):
            return super()._get_param_names()
        return sorted(code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount])

    def _validate_params(self) -> None:
        """Check the parameters; numbers and words that were right once are not checked again."""
        values = tuple(getattr(self, name) for name in self._get_param_names())
        kinds = tuple(map(type, values))
        key = (type(self), kinds, values)
        if not _PLAIN.issuperset(kinds):
            super()._validate_params()
        elif key not in _valid_params:
            super()._validate_params()
            if len(_valid_params) >= _MOST_VALID:
                _valid_params.clear()
            _valid_params.add(key)


class Estimator(Parametrized):
    """What every model shares. Derive from a family below, not from this."""

    _sparse_ok = False
    _nan_ok = False
    _learns_nan: bool | None = None  # None: where NaN is taken, a column without values leads to it
    _scale_matters = True  # whether iterations may be slow because columns have other scales
    _min_rows = 1
    _y_required = False
    _multi_output = False
    _learns_from_rows = True  # False: the model needs arrays, for example around a foreign model
    _takes_sequences = False  # whether an example is a sequence of rows, not one row
    _takes_ratings = False  # whether it learns from (user, item, rating), not from rows
    _has_quadratic_time = False  # whether time grows with the square of the rows
    _float64_learned: tuple[str, ...] = ()  # learned arrays that stay float64: solutions of systems
    _samples_rows = False  # whether rows are drawn: then weights and order of rows matter
    _learns_in_row_order = False  # whether the result depends on the order of the rows
    _learns_in_batches = False  # whether the gradient is that of random batches
    _has_momentum = False  # whether steps overshoot: the objective may rise for a while
    _fits_from_moments = False  # whether second moments of [X y] are the statistic
    _law_params: dict[str, Any] = {}  # parameters of short fits, for the laws
    _law_rows: int | None = None  # most rows of the laws' data, where time grows with n^2 or n^3
    _chunk_rows: int | None = None  # most rows per chunk, where the usual grid is too coarse
    _column_matrices: int = 0  # (n_features, n_features) matrices that a fit holds at a time
    _parameter_constraints: dict[str, Any] = {}

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Parameters and learned attributes, which no type checker sees."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array or column name, optional
            Target, or the labels of a classifier; a name when X is a table or a file.
        sample_weight : array or column name, optional
            Weight of each row; a weight of two is the row twice.

        Returns
        -------
        self
        """
        self._validate_params()
        with self._work_context():
            rows = self._training_rows(X, y, sample_weight)
            if isinstance(rows, Rows):  # text in memory comes without a source
                record_data(rows.source, rows.engine)
            self._check_memory(rows)
            with explain_numerical_errors(self, rows):
                learned = self._fit(rows, self._rng())
                check_overflow(self, rows, learned)
                self._set_learned(learned)
        return self

    def _check_memory(self, rows: Rows) -> None:
        """Refuse a fit whose matrices of columns by columns do not fit into memory."""
        p = rows.n_features
        check_memory(
            8.0 * self._column_matrices * p * p,
            f"{type(self).__name__} with {p:,} columns",
            "choose fewer columns (PCA with n_components, or a selection of features), or a model "
            "whose memory grows with the columns alone, such as Ridge or a diagonal covariance",
        )

    def _training_rows(self, X: Any, y: Any, w: Any) -> Rows:
        """The rows of a fit; classifiers number their labels here."""
        return self._rows(X, y, w)

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        raise NotImplementedError(f"{type(self).__name__} has to define _fit(rows, rng)")

    def save(self, path: str | Path) -> None:
        """Write the model to one file that `tenfold.load` reads; loading executes no code.

        Parameters
        ----------
        path : path
            File to write; it is replaced only when the new one is complete.
        """
        from tenfold.persist.model_file import save

        save(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse_ok
        tags.input_tags.allow_nan = self._nan_ok
        tags.target_tags.required = self._y_required
        tags.target_tags.multi_output = self._multi_output
        return tags

    def _work_context(self) -> AbstractContextManager[None]:
        return fit_context(self)

    def _rng(self) -> np.random.Generator:
        """Numbers that depend on `random_state` alone."""
        if not hasattr(self, "random_state"):
            return np.random.default_rng(0)
        draw = check_random_state(self.random_state).randint
        return np.random.default_rng(record_value(lambda: int(draw(2**31 - 1))))

    def _set_learned(self, learned: dict[str, Any]) -> None:
        """Set the learned attributes, and warn if the fit did not converge.

        An entry "warning_" is the text of that warning, empty for none; it is no attribute.
        """
        learned = dict(learned)
        warning = learned.pop("warning_", None)
        if not (self._nan_ok if self._learns_nan is None else self._learns_nan):
            check_learned_numbers(type(self).__name__, learned)
        for name, value in learned.items():
            setattr(self, name, value)
        if not learned.get("converged_", True) and warning != "":
            warning = warning or self._convergence_message(int(np.max(learned["n_iter_"])))
            warnings.warn(f"{type(self).__name__} {warning}", ConvergenceWarning, stacklevel=3)

    def _convergence_message(self, n_iter: int) -> str:
        """What to do about a fit that did not converge in so many iterations, or got no further.

        The words of scikit-learn's warning stand in the middle, for filters that look for them.
        """
        names, words = self._get_param_names(), self._convergence_words()
        limit = next(
            (name for name in ("max_iter", "n_iter", "epochs") if name in names), "max_iter"
        )
        most = getattr(self, limit, None) or 0
        if n_iter < most:
            stand = f"did not converge: it got no further after {n_iter} iterations of {most}"
            return f"{stand}. {self._stuck_cure()}"
        return (
            f"did not converge in {limit}={n_iter} iterations. {words}{' ' if words else ''}"
            f"{_join_cures([f'raise {limit}', *self._cures()])}; "
            "`history_` shows the objective per iteration."
        )

    def _stuck_cure(self) -> str:
        """What to do about a fit that gets no further, and has not met its rule of stopping."""
        cures = _join_cures(self._cures()) or "Look at the data"
        return f"{cures}; `history_` shows the objective per iteration."

    def _cures(self) -> list[str]:
        """What helps a fit to converge, beside more iterations."""
        cures = ["standardize the columns"] if self._scale_matters else []
        return cures + (["loosen tol"] if "tol" in self._get_param_names() else [])

    def _convergence_words(self) -> str:
        """scikit-learn's words for a fit that did not converge."""
        return ""

    def _rows(self, X: Any, y: Any = None, w: Any = None, *, reset: bool = True) -> Rows:
        """X, y and weights, checked, as rows on the grid of the model."""
        rows = self._checked_rows(X, y, w, reset=reset)
        return rows if self._chunk_rows is None else rows.with_chunk_rows(self._chunk_rows)

    def _checked_rows(self, X: Any, y: Any, w: Any, *, reset: bool) -> Rows:
        X = _unmask(X, "X", missing=np.nan if self._nan_ok else None)
        y, w = _unmask(y, "y"), _unmask(w, "sample_weight")
        if is_rows_like(X) or isinstance(y, str) or isinstance(w, str):  # names of columns
            rows = self._open_rows(X, y, w, reset=reset)
            rows.allow_nan = self._nan_ok
            self._match_columns(rows, reset=reset)
            return rows
        return self._array_rows(X, y, w, reset=reset)

    def _open_rows(self, X: Any, y: Any, w: Any, *, reset: bool) -> Rows:
        """Rows elsewhere; after the fit, those of its columns, whatever else lies beside them."""
        names = None if reset else getattr(self, "feature_names_in_", None)
        if names is None or isinstance(X, Rows) or not has_names(X):
            return open_rows(X, target=y, weight=w)
        return open_rows(X, target=y, weight=w, columns=list(names))

    def _array_rows(self, X: Any, y: Any, w: Any, *, reset: bool) -> Rows:
        if w is None and self._is_plain(X, y, reset=reset):
            return self._rows_unchecked(X, y, reset=reset)
        with_target = y is not None or (reset and self._y_required)
        whole = isinstance(X, np.ndarray) and X.dtype.kind in "iub"
        with name_words(X):
            checked: Any = validate_data(
                self,
                cast("Any", X),
                **({"y": y, **self._y_options()} if with_target else {}),
                reset=reset,
                accept_sparse="csr" if self._sparse_ok else False,
                dtype=None if whole else list(_FLOAT_DTYPES),  # integers: chunk by chunk
                ensure_all_finite=False,  # looked at chunk by chunk, while it is in the cache
                ensure_min_samples=self._min_rows if reset else 1,
            )
        X, y = checked if isinstance(checked, tuple) else (checked, None)
        if w is not None:
            w = check_sample_weight(w, X, dtype=_FLOAT_DTYPES, ensure_non_negative=True)
            if not w.any():
                raise ValueError("sample_weight is zero for all rows: nothing to learn from")
        place = ArraySource if isinstance(X, np.ndarray) else SparseSource
        return Rows(place(X, y, w), engine=current_engine(), allow_nan=self._nan_ok)

    def _is_plain(self, X: Any, y: Any, *, reset: bool) -> bool:
        """Whether X and y are arrays in which scikit-learn's checks would find nothing to say."""
        if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in _FLOAT_DTYPES:
            return False
        n, p = X.shape
        if not reset:
            named = hasattr(self, "feature_names_in_")
            return y is None and n > 0 and p == getattr(self, "n_features_in_", p) and not named
        right_target = not self._y_required if y is None else _is_plain_target(y, n)
        return right_target and n >= max(self._min_rows, 1) and p > 0

    def _rows_unchecked(self, X: np.ndarray, y: Any, *, reset: bool) -> Rows:
        """Such arrays as rows: all that is left of the checks is what a fit remembers."""
        rows = Rows(ArraySource(X, y), engine=current_engine(), allow_nan=self._nan_ok)
        if reset:
            self._match_columns(rows, reset=True)
        return rows

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
        if rows.n_features != getattr(self, "n_features_in_", rows.n_features):  # set by hand
            raise ValueError(
                f"X has {rows.n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )

    def _map_rows(self, X: Any, f: Callable[..., np.ndarray], *state: Any) -> np.ndarray:
        """`f(chunk, *state)` for all rows of X, below each other: how every model predicts.

        The caller has made sure that the model is fitted.
        """
        with self._work_context():
            rows = self._rows(X, reset=False)
            values = rows.each(f, *state)
            check_outputs(self, rows, values, nan_ok=self._nan_ok)
        return values


def _unmask(values: Any, name: str, missing: float | None = None) -> Any:
    """A masked array as an array, with masked entries as missing values; refused where none may be.

    scikit-learn's checks would drop the mask and learn from what lies below it.
    """
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if not np.ma.is_masked(values):
        return values.data
    if missing is not None and values.dtype.kind in "fiu":
        floats = values.dtype if values.dtype.kind == "f" else np.float64
        return np.where(np.ma.getmaskarray(values), missing, values.data).astype(floats)
    row = int(np.flatnonzero(np.ma.getmaskarray(values).reshape(len(values), -1).any(axis=1))[0])
    raise ValueError(
        f"{name} is a masked array, and row {row} has a masked entry: fill it (np.ma.filled), or "
        "leave such rows out"
    )


def _is_plain_target(y: Any, n: int) -> bool:
    """Whether y is an array of n numbers, all finite."""
    if type(y) is not np.ndarray or y.shape != (n,):
        return False
    return y.dtype.kind in "iub" or (y.dtype.kind == "f" and bool(np.isfinite(y).all()))


@contextmanager
def fit_context(model: Any) -> Iterator[None]:
    """Context of the work of a model: threads, one BLAS thread, progress bar and checkpoint."""
    shown = progress() if getattr(model, "verbose", 0) else _NO_CONTEXT
    monitor = monitor_fit(type(model).__name__, model.get_params)
    # n_jobs first: it is the only one that may refuse
    with _n_jobs_context(model), shown, monitor, one_blas_thread(), unwrap_interrupts():
        yield


def _n_jobs_context(model: Any) -> Any:
    """The threads that `n_jobs` asks for; below zero they count from all of them down."""
    n_jobs = getattr(model, "n_jobs", None)
    if n_jobs is None or n_jobs == -1:
        return _NO_CONTEXT
    return threads(n_jobs if n_jobs >= 0 else max(n_threads() + 1 + n_jobs, 1))
