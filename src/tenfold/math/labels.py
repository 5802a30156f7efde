"""Encodings of class labels: indices, signs, one-hot rows."""

from __future__ import annotations

from typing import Any

import numpy as np


def encode_labels(y: Any, classes: Any = None) -> np.ndarray:
    """Class indices 0 to n_classes - 1 of labels.

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
    classes = np.unique(y) if classes is None else np.asarray(classes)
    order = np.argsort(classes, kind="stable")
    position = np.minimum(np.searchsorted(classes, y, sorter=order), len(classes) - 1)
    indices = order[position]
    if unknown := set(y[classes[indices] != y].tolist()):
        raise ValueError(f"{sorted(unknown, key=str)} are none of the classes {classes.tolist()}")
    return indices


def decode_labels(indices: Any, classes: Any) -> np.ndarray:
    """Labels of class indices.

    Examples
    --------
    >>> decode_labels([1, 0, 1], ["cat", "dog"]).tolist()
    ['dog', 'cat', 'dog']
    """
    indices, classes = np.asarray(indices), np.asarray(classes)
    if ((indices < 0) | (indices >= len(classes))).any():
        raise ValueError(f"class indices must lie from 0 to {len(classes) - 1}")
    return classes[indices]


def labels_to_signs(y: Any, classes: Any = None) -> np.ndarray:
    """Signs -1 and +1 of the labels of two classes, the second of which is +1.

    Examples
    --------
    >>> labels_to_signs([0, 1, 1]).tolist(), labels_to_signs(["no", "yes"]).tolist()
    ([-1.0, 1.0, 1.0], [-1.0, 1.0])
    """
    classes = np.unique(np.asarray(y)) if classes is None else np.asarray(classes)
    if len(classes) != 2:
        raise ValueError(f"signs are for two classes, not for {classes.tolist()}: give classes=")
    return 2.0 * encode_labels(y, classes) - 1


def signs_to_labels(signs: Any, classes: Any = (0, 1)) -> np.ndarray:
    """Labels of signs -1 and +1; 0 and 1 by default.

    Examples
    --------
    >>> signs_to_labels([-1, 1]).tolist(), signs_to_labels([-1, 1], ["no", "yes"]).tolist()
    ([0, 1], ['no', 'yes'])
    """
    return decode_labels(encode_labels(np.asarray(signs), (-1, 1)), classes)


def one_hot(y: Any, classes: Any = None) -> np.ndarray:
    """One-hot rows of labels, (n_rows, n_classes).

    Examples
    --------
    >>> one_hot(["b", "a"], classes=["a", "b", "c"]).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    classes = np.unique(np.asarray(y)) if classes is None else np.asarray(classes)
    return np.eye(len(classes))[encode_labels(y, classes)]


def one_hot_to_labels(Y: Any, classes: Any = None) -> np.ndarray:
    """Labels of one-hot rows; class indices by default.

    Examples
    --------
    >>> one_hot_to_labels([[0, 1, 0], [1, 0, 0]], classes=["a", "b", "c"]).tolist()
    ['b', 'a']
    """
    Y = np.asarray(Y)
    wrong = ~(((Y == 0) | (Y == 1)).all(axis=1) & (Y.sum(axis=1) == 1))
    if wrong.any():
        raise ValueError(f"row {int(wrong.argmax())} is not one-hot: {Y[wrong][0].tolist()}")
    indices = Y.argmax(axis=1)
    return indices if classes is None else decode_labels(indices, classes)
