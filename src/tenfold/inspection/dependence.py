"""Partial dependence of models whose score is a sum over trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.inspection.shap import require_tree_scores
from tenfold.tree._partial_dependence_numba import partial_scores


def tree_partial_dependence(model: Any, X: Any, columns: Any) -> np.ndarray:
    r"""Mean score at the values that some columns have, over all others: the curve of a column.

    .. math:: f_S(x_S) = \sum_{\text{leaves } l} v_l
        \prod_{\text{splits on } S} \mathbb{1}[x \text{ goes this way}]
        \prod_{\text{other splits}} \frac{\text{training rows that went this way}}{\text{all}}

    One walk through the trees gives it, without predicting a row for each value and each row of the
    training data. With all columns it is the score of a row.

    Parameters
    ----------
    model : fitted model of trees
        Boosted trees, a forest or a decision tree of tenfold.
    X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
        Rows with the values; other columns than the chosen ones do not matter.
    columns : int, str or a list of them
        The column, or several columns together, by number or by the name of the fit.

    Returns
    -------
    (n_rows,) array; (n_rows, n_outputs) for several outputs
        In the unit of `shap_values`: of `decision_function` (boosted classifiers), of the logarithm
        of the prediction (losses with a log link), of the probability of each class (trees and
        forests), or of the prediction.

    See Also
    --------
    shap_values : what each column adds to the score of a row

    References
    ----------
    J. H. Friedman (2001), Greedy function approximation: a gradient boosting machine.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import DecisionTreeRegressor, tree_partial_dependence
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> model = DecisionTreeRegressor().fit(X, 3 * X[:, 0] + X[:, 1])
    >>> tree_partial_dependence(model, X, 0).round(2).tolist()
    [0.5, 0.5, 3.5, 3.5]
    """
    score = require_tree_scores(model)._score_trees()
    known = np.zeros(model.n_features_in_, bool)
    known[_column_numbers(model, columns)] = True
    found = model._map_rows(X, partial_scores, score, known)
    return found[:, 0] if found.shape[1] == 1 else found


def _column_numbers(model: Any, columns: Any) -> list[int]:
    """Numbers of columns that are given by number or name."""
    p, names = model.n_features_in_, list(getattr(model, "feature_names_in_", []))
    chosen = [columns] if np.ndim(columns) == 0 else columns
    numbers = [names.index(c) if c in names else c for c in chosen]
    for c in numbers:
        if not isinstance(c, int | np.integer) or not -p <= c < p:
            raise ValueError(
                f"there is no column {c!r}: give a number below {p}"
                + (", or a name of the fit" if names else "")
            )
    return [int(c) for c in numbers]
