"""Model parameters as one flat vector, and the column of ones that carries an intercept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tenfold.math.links import as_float_array


def add_intercept_column(X: Any, *, first: bool = False) -> Any:
    """X with a column of ones after (or before) its columns, dense or sparse.

    Linear scores of the extended rows have an intercept: [w b].[x 1] = w.x + b.

    Examples
    --------
    >>> add_intercept_column([[5.0], [7.0]]).tolist()
    [[5.0, 1.0], [7.0, 1.0]]
    """
    if hasattr(X, "tocsr"):
        from scipy.sparse import hstack

        parts = [X, np.ones((X.shape[0], 1), X.dtype)]
        return hstack(parts[::-1] if first else parts, format="csr")
    X = as_float_array(X)
    parts = [X, np.ones((len(X), 1), X.dtype)]
    return np.hstack(parts[::-1] if first else parts)


def split_intercept(theta: Any, *, first: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and intercepts from parameters of rows with a column of ones, (q,) or (m, q).

    Examples
    --------
    >>> w, b = split_intercept([2.0, 3.0, -1.0])
    >>> w.tolist(), float(b)
    ([2.0, 3.0], -1.0)
    """
    theta = np.asarray(theta)
    return (theta[..., 1:], theta[..., 0]) if first else (theta[..., :-1], theta[..., -1])


def flatten_parameters(parameters: Any) -> np.ndarray:
    """All entries of nested lists, tuples, dicts and arrays as one flat vector.

    Examples
    --------
    >>> flatten_parameters({"W": np.eye(2), "b": [5.0, (6.0,)]}).tolist()
    [1.0, 0.0, 0.0, 1.0, 5.0, 6.0]
    """
    parts = [as_float_array(leaf).ravel() for leaf in _leaves(parameters)]
    return np.concatenate(parts) if parts else np.empty(0)


def unflatten_parameters(theta: Any, like: Any) -> Any:
    """Parameters of given shapes from one flat vector: the inverse of `flatten_parameters`.

    Parameters
    ----------
    theta : (q,) array
        The entries, in the order of `flatten_parameters`.
    like : nested lists, tuples, dicts and arrays
        Parameters of the same shapes; their values do not matter.

    Examples
    --------
    >>> like = {"W": np.eye(2), "b": 0.0}
    >>> again = unflatten_parameters(np.arange(5.0), like)
    >>> again["W"].tolist(), again["b"]
    ([[0.0, 1.0], [2.0, 3.0]], 4.0)
    """
    theta = np.asarray(theta)
    size = sum(np.size(leaf) for leaf in _leaves(like))
    if theta.shape != (size,):
        raise ValueError(f"these parameters have {size} entries, but theta has shape {theta.shape}")
    return _fill(like, iter(np.split(theta, np.cumsum([np.size(x) for x in _leaves(like)]))))


def _leaves(parameters: Any) -> Iterator[Any]:
    if isinstance(parameters, dict):
        parameters = list(parameters.values())
    if not isinstance(parameters, list | tuple):
        yield parameters
        return
    for part in parameters:
        yield from _leaves(part)


def _fill(like: Any, parts: Iterator[np.ndarray]) -> Any:
    if isinstance(like, dict):
        return {key: _fill(part, parts) for key, part in like.items()}
    if isinstance(like, list | tuple):
        filled = [_fill(part, parts) for part in like]
        return type(like)(*filled) if hasattr(like, "_fields") else type(like)(filled)
    part = next(parts).reshape(np.shape(like))
    return part.copy() if isinstance(like, np.ndarray) else part.item()
