"""Encodings of class labels: indices, signs, one-hot rows.

[000, 1.5, 2.3; 001, 2.3; 003, unit 1; 004, 3.5]
"""

from __future__ import annotations

from typing import Any

import numpy as np


def encode_labels(y: Any, classes: Any = None) -> np.ndarray:
    """Numbers 0 .. k-1 of labels, by their place among the classes.

    Parameters
    ----------
    y : (n,) array
        Labels: numbers, signs or names.
    classes : (k,) array, optional
        All classes, in any order; the sorted labels of y by default.

    Examples
    --------
    >>> encode_labels(["dog", "cat", "dog"]).tolist()
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


def decode_labels(numbers: Any, classes: Any) -> np.ndarray:
    """Labels of class numbers.

    Examples
    --------
    >>> decode_labels([1, 0, 1], ["cat", "dog"]).tolist()
    ['dog', 'cat', 'dog']
    """
    numbers, known = np.asarray(numbers), np.asarray(classes)
    if ((numbers < 0) | (numbers >= len(known))).any():
        raise ValueError(f"class numbers must lie from 0 to {len(known) - 1}")
    return known[numbers]


def labels_to_signs(y: Any, classes: Any = None) -> np.ndarray:
    """Signs -1 and +1 of the labels of two classes, the second of which is +1.

    Examples
    --------
    >>> labels_to_signs([0, 1, 1]).tolist(), labels_to_signs(["no", "yes"]).tolist()
    ([-1.0, 1.0, 1.0], [-1.0, 1.0])
    """
    known = np.unique(np.asarray(y)) if classes is None else np.asarray(classes)
    if len(known) != 2:
        raise ValueError(f"signs are for two classes, not for {known.tolist()}: give classes=")
    return 2.0 * encode_labels(y, known) - 1


def signs_to_labels(signs: Any, classes: Any = (0, 1)) -> np.ndarray:
    """Labels of signs -1 and +1; 0 and 1 by default.

    Examples
    --------
    >>> signs_to_labels([-1, 1]).tolist(), signs_to_labels([-1, 1], ["no", "yes"]).tolist()
    ([0, 1], ['no', 'yes'])
    """
    return decode_labels(encode_labels(np.asarray(signs), (-1, 1)), classes)


def one_hot(y: Any, classes: Any = None) -> np.ndarray:
    """Rows of zeros with a one at the place of the label, (n, k).

    Examples
    --------
    >>> one_hot(["b", "a"], classes=["a", "b", "c"]).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    known = np.unique(np.asarray(y)) if classes is None else np.asarray(classes)
    return np.eye(len(known))[encode_labels(y, known)]


def one_hot_to_labels(Y: Any, classes: Any = None) -> np.ndarray:
    """Labels of one-hot rows; class numbers by default.

    Examples
    --------
    >>> one_hot_to_labels([[0, 1, 0], [1, 0, 0]], classes=["a", "b", "c"]).tolist()
    ['b', 'a']
    """
    Y = np.asarray(Y)
    wrong = ~(((Y == 0) | (Y == 1)).all(axis=1) & (Y.sum(axis=1) == 1))
    if wrong.any():
        raise ValueError(f"row {int(wrong.argmax())} is not one-hot: {Y[wrong][0].tolist()}")
    numbers = Y.argmax(axis=1)
    return numbers if classes is None else decode_labels(numbers, classes)
