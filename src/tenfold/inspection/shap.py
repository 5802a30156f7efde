"""Shapley values of models whose score is a sum over trees, for many rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base.protocols import SupportsTreeScores
from tenfold.tree.shap_values import expected_scores, score_contributions


class ShapValues(NamedTuple):
    """Contributions of all features to the scores of many rows.

    Attributes
    ----------
    values : (n_rows, n_features) array; (n_rows, n_features, n_outputs) for several outputs
    base_values : mean score of the training rows, a number or (n_outputs,) array
    """

    values: np.ndarray
    base_values: Any


def shap_values(model: Any, X: Any) -> ShapValues:
    r"""Shapley values: the fair share of each feature in the score of each row.

    .. math:: \phi_j(x) = \sum_{S \not\ni j} \frac{|S|!\,(p - |S| - 1)!}{p!}
        \big(E[f(x) \mid x_{S \cup j}] - E[f(x) \mid x_S]\big)

    where the expectation follows the tree: a feature that is not known sends a row down both
    branches, weighed by the training rows that went there. Values of a row and the base value add
    up to its score exactly.

    Parameters
    ----------
    model : fitted model of trees
        Boosted trees, a forest or a decision tree of tenfold.
    X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
        The rows.

    Returns
    -------
    ShapValues
        Of `decision_function` (boosted classifiers), of the logarithm of the prediction (losses
        with a log link), of the probability of each class (trees and forests), or of the
        prediction.

    See Also
    --------
    feature_contributions : of one row, for linear models and naive Bayes as well
    tree_partial_dependence : the mean score where a column has a value

    References
    ----------
    Lundberg, S., Erion, G., Lee, S. (2018). Consistent Individualized Feature Attribution for Tree
    Ensembles.
    Owen, G. (1972). Multilinear Extensions of Games.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import HistGradientBoostingRegressor, shap_values
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = HistGradientBoostingRegressor(max_iter=20).fit(X, y)
    >>> found = shap_values(model, X)
    >>> bool(np.allclose(found.base_values + found.values.sum(axis=1), model.predict(X)))
    True
    """
    score = require_tree_scores(model)._score_trees()
    values = model._map_rows(X, score_contributions, score)
    base = expected_scores(score.trees, score.start)
    if len(base) == 1:
        return ShapValues(values[:, 0], float(base[0]))
    return ShapValues(values.transpose(0, 2, 1), base)


def require_tree_scores(model: Any) -> SupportsTreeScores:
    """The model; an error unless its score is a sum over trees, which have been grown."""
    check_is_fitted(model)
    if not isinstance(model, SupportsTreeScores):
        raise TypeError(
            f"{type(model).__name__} is no model of trees of tenfold: `feature_contributions` "
            "explains linear models and naive Bayes, `tenfold.sensitivity` any other"
        )
    return model
