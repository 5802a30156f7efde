"""Two models compared by halving the rows five times, and learning from each half."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import t
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

from tenfold.select.paired import Comparison


def five_by_two_test(
    first: Any, second: Any, X: Any, y: Any, *, scoring: Any = None, seed: int = 0
) -> Comparison:
    """Compare two models by five times two folds (Dietterich's 5x2 t test).

    Parameters
    ----------
    first, second : models
        Cloned for each fold.
    X : array, sparse matrix or table
        The rows.
    y : array
        Their target.
    scoring : str or callable, optional
        As in scikit-learn; the models' own `score` by default.
    seed : int
        Of the five halvings, which are the same for both models.

    Returns
    -------
    Comparison
    """
    halving = StratifiedKFold if is_classifier(first) else KFold
    cuts = [halving(2, shuffle=True, random_state=seed + i) for i in range(5)]
    a, b = (
        np.array([cross_val_score(model, X, y, scoring=scoring, cv=cut) for cut in cuts])
        for model in (first, second)
    )
    return five_by_two(a - b)


def five_by_two(differences: Any) -> Comparison:
    r"""Dietterich's 5x2 t test of the differences of scores, (5, 2).

    .. math:: t = d_{11} \Big/ \sqrt{\tfrac15 \sum_{i=1}^5 s_i^2}, \quad
              s_i^2 = (d_{i1} - \bar d_i)^2 + (d_{i2} - \bar d_i)^2

    with five degrees of freedom.

    Parameters
    ----------
    differences : (5, 2) array
        Score of the first model less that of the second, for both halves of five halvings.

    Returns
    -------
    Comparison
    """
    d = np.asarray(differences, float)
    if d.shape != (5, 2):
        raise ValueError(f"5 halvings have differences of shape (5, 2), not {d.shape}")
    spread = np.sqrt(2 * d.var(axis=1).mean())
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = float(np.nan_to_num(d[0, 0] / spread, posinf=np.inf, neginf=-np.inf))
    p = float(2 * t.sf(abs(statistic), 5))
    return Comparison(float(d.mean()), p, statistic, "5x2 cross-validated t test")
