"""Numbers that overflow or vanish: in which attribute, because of which column, and the cure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows

_ERRORS = (np.linalg.LinAlgError, ZeroDivisionError, FloatingPointError, OverflowError)
_UNCHECKED = {"history_", "statistic_", "scores_", "cv_results_", "best_score_"}
_SAFETY = 2.0**10  # squares are added up, and multiplied with each other
_GENERAL_CURE = (
    "Columns or target hold numbers whose squares are out of range, or columns depend on each "
    "other: take other units, standardize the columns, or leave some out."
)


class NonFiniteFitError(ValueError):
    """A fit gave numbers that are infinite or NaN.

    Attributes
    ----------
    found : what is not finite, without the cure
    """

    def __init__(self, found: str) -> None:
        super().__init__(f"{found}. {_GENERAL_CURE}")
        self.found = found


def check_learned_numbers(model: str, learned: dict[str, Any]) -> None:
    """Raise an error if a learned attribute is NaN.

    Parameters
    ----------
    model : str
        Name of the model, for the error.
    learned : dict
        Learned attributes by name.
    """
    for name, array in _learned_arrays(learned):
        if np.isnan(array).any():
            raise NonFiniteFitError(f"{model} found no finite solution: {name} is NaN")


def check_overflow(model: Any, rows: Rows, learned: dict[str, Any]) -> None:
    """Raise an error if a learned attribute is infinite because numbers of the rows are too large.

    Other infinities are answers: a bound that no row sets, the logarithm of no probability.
    """
    for name, array in _learned_arrays(learned):
        if "log" not in name and np.isinf(array).any():
            cause = _explain(model, rows)
            if cause != _GENERAL_CURE:
                found = f"{type(model).__name__} found no finite solution: {name} is infinite"
                raise ValueError(f"{found}. {cause}")
            return


def _learned_arrays(learned: dict[str, Any]) -> Iterator[tuple[str, np.ndarray]]:
    """The learned arrays and numbers that are not finite, with their names."""
    for name, value in learned.items():
        if name in _UNCHECKED or name.startswith("_"):
            continue
        for part in value if isinstance(value, list | tuple) else (value,):
            if not isinstance(part, np.ndarray | float | np.floating):
                continue
            array = np.asarray(part)
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                yield name, array


def check_outputs(model: Any, rows: Rows, values: Any, *, nan_ok: bool) -> None:
    """Raise an error if outputs for rows without missing values are not numbers."""
    if nan_ok or not isinstance(values, np.ndarray) or values.dtype.kind != "f":
        return
    if np.isnan(values).any():
        row = int(np.flatnonzero(np.isnan(values).reshape(len(values), -1).any(axis=1))[0])
        name, cause = type(model).__name__, _explain(model, rows)
        raise ValueError(f"{name} has no finite output for row {row}. {cause}")


@contextmanager
def explain_numerical_errors(model: Any, rows: Rows) -> Iterator[None]:
    """Turn numerical errors of a fit into a `ValueError` that names the column and the cure."""
    try:
        yield
    except NonFiniteFitError as error:
        raise ValueError(f"{error.found}. {_explain(model, rows)}") from None
    except (*_ERRORS, ValueError) as error:
        if isinstance(error, ValueError) and not is_bare_linalg_error(error):
            raise
        said = f"{type(model).__name__} could not be computed ({error})"
        raise ValueError(f"{said}. {_explain(model, rows)}") from error


def is_bare_linalg_error(error: ValueError) -> bool:
    """Whether a decomposition of NumPy or SciPy raised it, which says nothing about the data."""
    if not isinstance(error, np.linalg.LinAlgError) and "infs or NaNs" not in str(error):
        return False
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = trace.tb_frame.f_globals.get("__name__", "") if trace else ""
    return module.split(".")[0] in ("numpy", "scipy")


class LargestNumbers(NamedTuple):
    """Largest absolute value of each column, and of the target."""

    columns: np.ndarray
    target: float

    def merge(self, other: LargestNumbers) -> LargestNumbers:
        columns = np.maximum(self.columns, other.columns)
        return LargestNumbers(columns, max(self.target, other.target))


def largest_numbers(chunk: Chunk) -> LargestNumbers:
    """Largest absolute values of a chunk; missing ones count for nothing."""
    X, y = chunk.X, np.asarray(0.0 if chunk.y is None else chunk.y)
    if isinstance(X, np.ndarray):
        columns = np.fmax.reduce(np.abs(X.reshape(len(X), -1)), axis=0).astype(np.float64)
    elif hasattr(X, "tocsr"):
        columns = abs(X).max(axis=0).toarray().ravel().astype(np.float64)
    else:  # sequences
        columns = np.zeros(0)
    return LargestNumbers(
        columns, float(np.abs(y).max(initial=0.0)) if y.dtype.kind == "f" else 0.0
    )


def _explain(model: Any, rows: Rows) -> str:
    """Which column, or the target, holds numbers whose squares are out of range."""
    found = rows.total(largest_numbers)
    cure = "Divide it by a constant (take other units)"
    if found.target > np.sqrt(np.finfo(np.float64).max / max(rows.n_rows, 1)) / _SAFETY:
        return (
            f"The target holds numbers as large as {found.target:.3g}, whose squares overflow. "
            f"{cure}."
        )
    info = np.finfo(rows.dtype)
    huge = np.sqrt(float(info.max) / max(rows.n_rows, 1)) / _SAFETY
    for j in np.argsort(-found.columns)[:1].tolist():
        if found.columns[j] > huge:
            return (
                f"{_column(model, j)} holds numbers as large as {found.columns[j]:.3g}, whose "
                f"squares overflow in {rows.dtype}. {cure}, or leave it out."
            )
    for j in np.flatnonzero((found.columns > 0) & (found.columns < np.sqrt(info.tiny)))[
        :1
    ].tolist():
        return (
            f"{_column(model, j)} holds no number larger than {found.columns[j]:.3g}, so that its "
            f"squares vanish in {rows.dtype}. {cure}, or leave it out."
        )
    return _GENERAL_CURE


def _column(model: Any, j: int) -> str:
    names = getattr(model, "feature_names_in_", None)
    return f"Column {j}" if names is None else f"Column {names[j]!r}"
