"""Labels as numbers, signs, names and one-hot rows; a constant column; parameters as one vector.

[000, 1.5, 2.3; 001, 2.3; 003, unit 1; 004, 3.5]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tenfold.maths.links import floats


def to_numbers(y: Any, classes: Any = None) -> np.ndarray:
    """Numbers 0 .. k-1 of labels, by their place among the classes.

    Parameters
    ----------
    y : (n,) array
        Labels: numbers, signs or names.
    classes : (k,) array, optional
        All classes, in any order; the sorted labels of y by default.

    Examples
    --------
    >>> to_numbers(["dog", "cat", "dog"]).tolist()
    [1, 0, 1]
    """
    y = np.asarray(y)
    known = np.unique(y) if classes is None else np.asarray(classes)
    order = np.argsort(known, kind="stable")
    place = np.minimum(np.searchsorted(known, y, sorter=order), len(known) - 1)
    numbers = order[place]
    if unknown := set(y[known[numbers] != y].tolist()):
        raise ValueError(f"{sorted(unknown, key=str)} are none of the classes {known.tolist()}")
    return numbers


def from_numbers(numbers: Any, classes: Any) -> np.ndarray:
    """Labels of class numbers.

    Examples
    --------
    >>> from_numbers([1, 0, 1], ["cat", "dog"]).tolist()
    ['dog', 'cat', 'dog']
    """
    numbers, known = np.asarray(numbers), np.asarray(classes)
    if ((numbers < 0) | (numbers >= len(known))).any():
        raise ValueError(f"class numbers must lie from 0 to {len(known) - 1}")
    return known[numbers]


def to_signs(y: Any, classes: Any = None) -> np.ndarray:
    """Signs -1 and +1 of the labels of two classes, the second of which is +1.

    Examples
    --------
    >>> to_signs([0, 1, 1]).tolist(), to_signs(["no", "yes"]).tolist()
    ([-1.0, 1.0, 1.0], [-1.0, 1.0])
    """
    known = np.unique(np.asarray(y)) if classes is None else np.asarray(classes)
    if len(known) != 2:
        raise ValueError(f"signs are for two classes, not for {known.tolist()}: give classes=")
    return 2.0 * to_numbers(y, known) - 1


def from_signs(signs: Any, classes: Any = (0, 1)) -> np.ndarray:
    """Labels of signs -1 and +1; 0 and 1 by default.

    Examples
    --------
    >>> from_signs([-1, 1]).tolist(), from_signs([-1, 1], ["no", "yes"]).tolist()
    ([0, 1], ['no', 'yes'])
    """
    return from_numbers(to_numbers(np.asarray(signs), (-1, 1)), classes)


def one_hot(y: Any, classes: Any = None) -> np.ndarray:
    """Rows of zeros with a one at the place of the label, (n, k).

    Examples
    --------
    >>> one_hot(["b", "a"], classes=["a", "b", "c"]).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    known = np.unique(np.asarray(y)) if classes is None else np.asarray(classes)
    return np.eye(len(known))[to_numbers(y, known)]


def from_one_hot(Y: Any, classes: Any = None) -> np.ndarray:
    """Labels of one-hot rows; class numbers by default.

    Examples
    --------
    >>> from_one_hot([[0, 1, 0], [1, 0, 0]], classes=["a", "b", "c"]).tolist()
    ['b', 'a']
    """
    Y = np.asarray(Y)
    wrong = ~(((Y == 0) | (Y == 1)).all(axis=1) & (Y.sum(axis=1) == 1))
    if wrong.any():
        raise ValueError(f"row {int(wrong.argmax())} is not one-hot: {Y[wrong][0].tolist()}")
    numbers = Y.argmax(axis=1)
    return numbers if classes is None else from_numbers(numbers, classes)


def with_constant(X: Any, *, first: bool = False) -> Any:
    """Rows with a column of ones behind (or before) them, dense or sparse.

    A linear score of the longer rows is one with an explicit bias: [w b].[x 1] = w.x + b.

    Examples
    --------
    >>> with_constant([[5.0], [7.0]]).tolist()
    [[5.0, 1.0], [7.0, 1.0]]
    """
    if hasattr(X, "tocsr"):
        from scipy.sparse import hstack

        parts = [X, np.ones((X.shape[0], 1), X.dtype)]
        return hstack(parts[::-1] if first else parts, format="csr")
    X = floats(X)
    parts = [X, np.ones((len(X), 1), X.dtype)]
    return np.hstack(parts[::-1] if first else parts)


def split_bias(theta: Any, *, first: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Weights and bias of parameters for rows with a constant column; (q,) or (m, q).

    Examples
    --------
    >>> w, b = split_bias([2.0, 3.0, -1.0])
    >>> w.tolist(), float(b)
    ([2.0, 3.0], -1.0)
    """
    theta = np.asarray(theta)
    return (theta[..., 1:], theta[..., 0]) if first else (theta[..., :-1], theta[..., -1])


def to_vector(parameters: Any) -> np.ndarray:
    """All numbers of nested lists, tuples, dicts and arrays as one flat vector.

    Examples
    --------
    >>> to_vector({"W": np.eye(2), "b": [5.0, (6.0,)]}).tolist()
    [1.0, 0.0, 0.0, 1.0, 5.0, 6.0]
    """
    parts = [floats(leaf).ravel() for leaf in _leaves(parameters)]
    return np.concatenate(parts) if parts else np.empty(0)


def from_vector(theta: Any, like: Any) -> Any:
    """Parameters in the shapes of others, from one flat vector.

    Parameters
    ----------
    theta : (q,) array
        The numbers, in the order of `to_vector`.
    like : nested lists, tuples, dicts and arrays
        Parameters of the same shapes; their numbers do not matter.

    Examples
    --------
    >>> like = {"W": np.eye(2), "b": 0.0}
    >>> again = from_vector(np.arange(5.0), like)
    >>> again["W"].tolist(), again["b"]
    ([[0.0, 1.0], [2.0, 3.0]], 4.0)
    """
    theta = np.asarray(theta)
    size = sum(np.size(leaf) for leaf in _leaves(like))
    if theta.shape != (size,):
        raise ValueError(f"these parameters are {size} numbers, but theta has shape {theta.shape}")
    return _filled(like, iter(np.split(theta, np.cumsum([np.size(x) for x in _leaves(like)]))))


def _leaves(parameters: Any) -> Iterator[Any]:
    if isinstance(parameters, dict):
        parameters = list(parameters.values())
    if not isinstance(parameters, list | tuple):
        yield parameters
        return
    for part in parameters:
        yield from _leaves(part)


def _filled(like: Any, parts: Iterator[np.ndarray]) -> Any:
    if isinstance(like, dict):
        return {key: _filled(part, parts) for key, part in like.items()}
    if isinstance(like, list | tuple):
        filled = [_filled(part, parts) for part in like]
        return type(like)(*filled) if hasattr(like, "_fields") else type(like)(filled)
    part = next(parts).reshape(np.shape(like))
    return part.copy() if isinstance(like, np.ndarray) else part.item()
