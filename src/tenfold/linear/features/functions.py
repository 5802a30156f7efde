"""Features that are functions of your own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.linear.features.bases import Basis, Span
from tenfold.rows import Rows


class FunctionFeatures(Basis):
    r"""Columns made by functions of your own: :math:`\phi(x) = (f_1(x), f_2(x), \dots)`.

    A function gets some rows as an array (n, p) and returns one column (n,) or several (n, m). Each
    row must be treated by itself, since rows come in chunks. Booleans become 0 and 1, so that any
    predicate makes an indicator feature. [002, 1.3; 004, 2.7]

    Parameters
    ----------
    functions : list of callables, or dict from names to callables
        The functions; without a dict they are called by their own names. On a cluster they must be
        importable or picklable. A model that holds functions cannot be saved, as code never is.
    keep_original : bool
        Whether the original columns come first.

    Attributes
    ----------
    widths_ : number of columns that each function makes
    span_ : smallest and largest value of each column

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.linear.features.functions import FunctionFeatures
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

    def _learned(self, span: Span, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        head = rows.take(np.arange(1)).X
        widths = [_columns(f, head).shape[1] for f in self._callables()]
        return {"widths_": widths, "span_": span}

    def _callables(self) -> tuple[Callable[..., np.ndarray], ...]:
        named = isinstance(self.functions, dict)
        return tuple(self.functions.values() if named else self.functions)

    def _maker(self) -> tuple:
        return applied, self._callables()

    def _made_names(self, names: list[str]) -> list[str]:
        own = [getattr(f, "__name__", f"f{i}") for i, f in enumerate(self._callables())]
        own = list(self.functions) if isinstance(self.functions, dict) else own
        return [n for f, m in zip(own, self.widths_, strict=True) for n in _several(f, m, names)]


def _several(name: str, width: int, columns: list[str]) -> list[str]:
    """Names of the columns that one function makes: of a value per column, those columns'."""
    if width == 1:
        return [name]
    inside = columns if width == len(columns) else [str(i) for i in range(width)]
    return [f"{name}({part})" for part in inside]


def applied(X: np.ndarray, functions: tuple[Callable[..., np.ndarray], ...]) -> np.ndarray:
    """The columns of all functions beside each other."""
    empty = np.empty((len(X), 0), X.dtype)
    return np.hstack([empty, *(_columns(f, X) for f in functions)])


def _columns(f: Callable[..., np.ndarray], X: np.ndarray) -> np.ndarray:
    made = np.asarray(f(X))
    if made.shape[:1] != (len(X),) or made.ndim > 2:
        raise ValueError(
            f"the function {getattr(f, '__name__', f)!r} made shape {made.shape} of {len(X)} rows: "
            f"it must return ({len(X)},) or ({len(X)}, m), one output per row"
        )
    return made.reshape(len(X), -1).astype(X.dtype, copy=False)
