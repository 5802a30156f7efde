"""Weights of classes: what `class_weight` means."""

from __future__ import annotations

from typing import Any

import numpy as np


def class_cost(class_weight: Any, classes: np.ndarray, weight: np.ndarray) -> np.ndarray | None:
    """Weight of each class, or None where all are 1.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weights by label, 1 for labels that are not named; "balanced" gives all classes the same
        total.
    classes : (k,) array
        Labels.
    weight : (k,) array
        Total weight of the rows of each class.

    Examples
    --------
    >>> import numpy as np
    >>> class_cost("balanced", np.array(["no", "yes"]), np.array([30.0, 10.0])).round(3).tolist()
    [0.667, 2.0]
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        return weight.sum() / (len(weight) * np.where(weight > 0, weight, np.inf))
    unknown = set(class_weight) - set(classes.tolist())
    if unknown:
        raise ValueError(f"class_weight names {sorted(unknown)}, which are no labels of y")
    return np.array([class_weight.get(c, 1.0) for c in classes.tolist()])
