"""Basis expansions: Fourier features, functions of your own, rotation with absolute value."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, check_feature_names_in
from tenfold.base.mixins import Transformer
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows


class ColumnRange(NamedTuple):
    """Smallest and largest value of each column; rows of weight zero do not count."""

    low: np.ndarray
    high: np.ndarray

    def merge(self, other: ColumnRange) -> ColumnRange:
        return ColumnRange(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def column_range(chunk: Chunk) -> ColumnRange:
    """Smallest and largest value of each column of a chunk."""
    X = chunk.X if chunk.w is None else chunk.X[chunk.w > 0]
    return ColumnRange(X.min(axis=0, initial=np.inf), X.max(axis=0, initial=-np.inf))


class BasisExpansion(Transformer):
    """Base of all basis expansions: `fit` reads every row once, `transform` computes new columns.

    A subclass defines what it learns from the range of the columns (`_finalize`), the chunk
    function of the new columns (`_column_function`), and their names (`_new_names`).
    """

    def fit(self, X: Any, y: Any = None) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Read the rows once: for the range of each column, and to reject missing values.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : None
            Not used; present for pipelines.

        Returns
        -------
        self
        """
        return super().fit(X)

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        return self._finalize(rows.total(column_range), rows, rng)

    def _finalize(self, span: ColumnRange, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        return {"span_": span}

    def _column_function(self) -> tuple:
        """Function of X, and its further arguments, that computes the new columns."""
        raise NotImplementedError

    def _new_names(self, names: list[str]) -> list[str]:
        raise NotImplementedError

    def transform(self, X: Any) -> np.ndarray:
        """Compute the features of each row, after the original columns if `keep_original`.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._map_rows(
            X, _expand_with_original if self.keep_original else _expand, *self._column_function()
        )

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that `transform` makes.

        Parameters
        ----------
        input_features : list of str, optional
            Names of the original columns; by default those of the fit, or x0, x1, ...
        """
        check_is_fitted(self)
        names: Any = check_feature_names_in(self, input_features)
        names = list(names)
        new = self._new_names(names)
        return np.array(names + new if self.keep_original else new, dtype=object)


def _expand(chunk: Chunk, make: Callable[..., np.ndarray], *state: Any) -> np.ndarray:
    """The new columns, in the dtype of the rows."""
    return make(chunk.X, *state).astype(chunk.X.dtype, copy=False)


def _expand_with_original(chunk: Chunk, make: Callable[..., np.ndarray], *state: Any) -> np.ndarray:
    """The original columns, then the new ones."""
    return np.hstack([chunk.X, _expand(chunk, make, *state)])


class FourierFeatures(BasisExpansion):
    r"""Sines and cosines of each column, up to an order m.

    .. math:: \sin\frac{2 \pi k x_j}{T_j}, \; \cos\frac{2 \pi k x_j}{T_j}, \qquad k = 1, \dots, m

    Parameters
    ----------
    order : int
        Highest multiple m of the base frequency.
    period : float or (n_features,) array, optional
        Period T of the base frequency, one for all columns or one each; by default the range of
        the column in the training rows (1 for a constant column).
    keep_original : bool
        Whether the original columns come first.

    Attributes
    ----------
    period_ : (n_features,) periods
    span_ : smallest and largest value of each column

    See Also
    --------
    RadialFeatures, FunctionFeatures, IndicatorFeatures

    Examples
    --------
    >>> from tenfold import FourierFeatures
    >>> basis = FourierFeatures(order=2, period=4.0, keep_original=False).fit([[0.0], [1.0]])
    >>> basis.transform([[1.0]]).round(9).tolist()
    [[1.0, 0.0, 0.0, -1.0]]
    >>> basis.get_feature_names_out().tolist()
    ['sin1(x0)', 'cos1(x0)', 'sin2(x0)', 'cos2(x0)']
    """

    _parameter_constraints = {
        "order": [Interval(Integral, 1, None, closed="left")],
        "period": [Interval(Real, 0, None, closed="neither"), "array-like", None],
        "keep_original": ["boolean"],
    }

    def __init__(self, order: int = 3, *, period: Any = None, keep_original: bool = True) -> None:
        self.order = order
        self.period = period
        self.keep_original = keep_original

    def _finalize(self, span: ColumnRange, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        width = span.high - span.low
        period = np.where(width > 0, width, 1.0) if self.period is None else self.period
        period = np.broadcast_to(np.asarray(period, np.float64), width.shape)
        if not (period > 0).all():
            raise ValueError(f"period={self.period} must be positive for every column")
        return {"period_": period.astype(rows.dtype), "span_": span}

    def _column_function(self) -> tuple:
        return _fourier_columns, self.period_, self.order

    def _new_names(self, names: list[str]) -> list[str]:
        orders = range(1, self.order + 1)
        return [f"{f}{k}({name})" for name in names for k in orders for f in ("sin", "cos")]


def _fourier_columns(X: np.ndarray, period: np.ndarray, order: int) -> np.ndarray:
    """For each column and order a sine and a cosine, side by side."""
    angle = 2 * np.pi * (X / period)
    columns = [f(k * angle) for k in range(1, order + 1) for f in (np.sin, np.cos)]  # of (n, p)
    return np.stack(columns, axis=-1).reshape(len(X), -1)


class FunctionFeatures(BasisExpansion):
    r"""Columns made by functions of your own: :math:`\phi(x) = (f_1(x), f_2(x), \dots)`.

    A function gets an array (n, n_features) and returns one column (n,) or several (n, m). It must
    treat rows independently, since they come in chunks. Booleans become 0 and 1: a predicate makes
    an indicator feature.

    Parameters
    ----------
    functions : list of callables, or dict from names to callables
        The functions; without a dict, columns are named after them. On a cluster they must be
        importable or picklable. A model that holds functions cannot be saved, as code never is.
    keep_original : bool
        Whether the original columns come first.

    Attributes
    ----------
    widths_ : number of columns that each function makes
    span_ : smallest and largest value of each column

    See Also
    --------
    IndicatorFeatures, FourierFeatures

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import FunctionFeatures
    >>> own = {
    ...     "x1": lambda X: X[:, 0],
    ...     "x1^2": lambda X: X[:, 0] ** 2,
    ...     "x2": lambda X: X[:, 1],
    ...     "sin x2": lambda X: np.sin(X[:, 1]),
    ... }
    >>> basis = FunctionFeatures(own, keep_original=False)
    >>> basis.fit_transform([[2.0, np.pi / 2]]).round(4).tolist()
    [[2.0, 4.0, 1.5708, 1.0]]
    >>> basis.get_feature_names_out().tolist()
    ['x1', 'x1^2', 'x2', 'sin x2']
    """

    _parameter_constraints = {
        "functions": [dict, list, tuple],
        "keep_original": ["boolean"],
    }

    def __init__(self, functions: Any = (), *, keep_original: bool = True) -> None:
        self.functions = functions
        self.keep_original = keep_original

    def _finalize(self, span: ColumnRange, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        first_row = rows.take(np.arange(1)).X
        widths = [_function_columns(f, first_row).shape[1] for f in self._callables()]
        return {"widths_": widths, "span_": span}

    def _callables(self) -> tuple[Callable[..., np.ndarray], ...]:
        named = isinstance(self.functions, dict)
        return tuple(self.functions.values() if named else self.functions)

    def _column_function(self) -> tuple:
        return _apply_functions, self._callables()

    def _new_names(self, names: list[str]) -> list[str]:
        names_of_functions = [
            getattr(f, "__name__", f"f{i}") for i, f in enumerate(self._callables())
        ]
        names_of_functions = (
            list(self.functions) if isinstance(self.functions, dict) else names_of_functions
        )
        return [
            n
            for f, m in zip(names_of_functions, self.widths_, strict=True)
            for n in _output_names(f, m, names)
        ]


def _output_names(name: str, width: int, columns: list[str]) -> list[str]:
    """Names of the columns of one function; of one output per input column, with its name."""
    if width == 1:
        return [name]
    labels = columns if width == len(columns) else [str(i) for i in range(width)]
    return [f"{name}({part})" for part in labels]


def _apply_functions(X: np.ndarray, functions: tuple[Callable[..., np.ndarray], ...]) -> np.ndarray:
    """The columns of all functions beside each other."""
    empty = np.empty((len(X), 0), X.dtype)
    return np.hstack([empty, *(_function_columns(f, X) for f in functions)])


def _function_columns(f: Callable[..., np.ndarray], X: np.ndarray) -> np.ndarray:
    new = np.asarray(f(X))
    if new.shape[:1] != (len(X),) or new.ndim > 2:
        raise ValueError(
            f"the function {getattr(f, '__name__', f)!r} returned shape {new.shape} for "
            f"{len(X)} rows: it must return ({len(X)},) or ({len(X)}, m), one output per row"
        )
    return new.reshape(len(X), -1).astype(X.dtype, copy=False)


class RotationAbs(BasisExpansion):
    r"""Rotate two columns and take absolute values: :math:`\lvert R(\theta) (x_i, x_j) \rvert`.

    A rotation by 45 degrees puts the four clusters of XOR on two axes, and the absolute value maps
    the four quadrants to one, where a line separates the classes. The rotation is
    counter-clockwise; a clockwise one gives the same columns, swapped.

    Parameters
    ----------
    angle : float
        Angle in degrees.
    columns : pair of int
        Numbers of the two columns.
    keep_original : bool
        Whether the original columns come first.

    Attributes
    ----------
    span_ : smallest and largest value of each column

    See Also
    --------
    RadialFeatures, FunctionFeatures

    Examples
    --------
    >>> from tenfold import RotationAbs
    >>> RotationAbs(45).fit_transform([[1.0, 1.0], [-1.0, 1.0]]).round(4).tolist()
    [[0.0, 1.4142], [1.4142, 0.0]]
    """

    _parameter_constraints = {
        "angle": [Real],
        "columns": ["array-like"],
        "keep_original": ["boolean"],
    }

    def __init__(
        self, angle: float = 45.0, *, columns: Any = (0, 1), keep_original: bool = False
    ) -> None:
        self.angle = angle
        self.columns = columns
        self.keep_original = keep_original

    def _finalize(self, span: ColumnRange, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        if len(self.columns) != 2 or not all(0 <= c < rows.n_features for c in self.columns):
            raise ValueError(
                f"columns={self.columns} must be the numbers of two columns, but X has "
                f"n_features = {rows.n_features}"
            )
        return {"span_": span}

    def _column_function(self) -> tuple:
        angle = np.deg2rad(self.angle)
        R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        return _rotate_abs, R, np.asarray(self.columns)

    def _new_names(self, names: list[str]) -> list[str]:
        return [f"|rotated {names[c]}|" for c in self.columns]


def _rotate_abs(X: np.ndarray, R: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Absolute coordinates of two columns after the rotation R."""
    return np.abs(X[:, columns] @ R.T.astype(X.dtype))
