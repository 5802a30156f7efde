"""What a loader returns: scikit-learn's Bunch, or the pair (X, y)."""

from typing import Any

from sklearn.utils import Bunch

Loaded = Any  # a Bunch or a pair: the caller knows which he asked for


def bundle(*, return_X_y: bool, data: Any, target: Any, **fields: Any) -> Loaded:
    """Return the pair (data, target), or all fields under their names."""
    return (data, target) if return_X_y else Bunch(data=data, target=target, **fields)
