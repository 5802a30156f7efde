"""Which candidate to take: the best, or the simplest that is about as good."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

# parameters whose lower ("low") or higher ("high") values make a simpler model
SIMPLER = {
    "C": "low",
    "alpha": "high",
    "degree": "low",
    "l1_ratio": "high",
    "lambda_": "high",
    "max_depth": "low",
    "n_clusters": "low",
    "n_components": "low",
    "n_features_to_select": "low",
    "n_neighbors": "high",
    "reg_param": "high",
    "shrinkage": "high",
    "var_smoothing": "high",
}


def best(scores: np.ndarray) -> int:
    """Number of the candidate with the largest mean score; the first of equal ones.

    Parameters
    ----------
    scores : (parts, candidates) array
        Larger is better; NaN never wins.
    """
    mean = scores.mean(axis=0)
    if np.isnan(mean).all():
        raise ValueError("no candidate has a score: all are NaN")
    return int(np.nanargmax(mean))


def one_standard_error(
    scores: np.ndarray, params: list[dict[str, Any]], simpler: Mapping[str, str] | None = None
) -> int:
    """Number of the simplest candidate within one standard error of the best.

    Parameters
    ----------
    scores : (parts, candidates) array
        Larger is better.
    params : list of dict
        The candidates.
    simpler : dict, optional
        "low" or "high" for each parameter: which values make a simpler model. Known by itself are
        C, alpha, degree, n_components and others.

    Returns
    -------
    int

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[0.70, 0.79, 0.80], [0.72, 0.81, 0.84]])
    >>> one_standard_error(scores, [{"C": 0.1}, {"C": 1.0}, {"C": 10.0}])
    1
    """
    top = best(scores)
    error = scores[:, top].std(ddof=1) / np.sqrt(len(scores))
    near = np.flatnonzero(scores.mean(axis=0) >= scores[:, top].mean() - error)
    order = complexity(params, simpler)
    return int(min(near, key=lambda i: (order[i], -scores[:, i].mean())))


def complexity(params: list[dict[str, Any]], simpler: Mapping[str, str] | None) -> list[tuple]:
    """A key for each candidate, smaller for simpler ones."""
    known = SIMPLER | dict(simpler or {})
    names = [name for name in params[0] if name.rpartition("__")[2] in known or name in known]
    if not names:
        raise ValueError(
            f"which of {list(params[0])} makes a model simpler? Say it: "
            "simpler={'name': 'low'} (or 'high')"
        )
    return [tuple(_key(each[name], _direction(known, name)) for name in names) for each in params]


def _direction(known: Mapping[str, str], name: str) -> str:
    return known.get(name) or known[name.rpartition("__")[2]]


def _key(value: Any, direction: str) -> float:
    return float(value) if direction == "low" else -float(value)
