"""AdaBoost: models that are fitted one after the other to the rows that the last ones got wrong."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn import ensemble

from tenfold.ensemble._members import Saveable
from tenfold.model_selection.cv_data import load_in_memory
from tenfold.tree._rank_codes import reuse_codes
from tenfold.tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor

_MAX_WEIGHT = 2**16 - 1  # of a row, and of all rows, in whole numbers: the fast search for splits
_MAX_TOTAL_WEIGHT = 2**29


class RepeatedFits(Saveable):
    """Fit of scikit-learn's loop, in which all trees share the codes of the columns."""

    estimator_params = ()  # scikit-learn's constructor sets it too; it is no result

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the members one after the other.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows, which are read into memory.
        y : array or column name
            Target, or labels.
        sample_weight : array or column name, optional
            Weight of each row.
        """
        X, y, sample_weight = load_in_memory(X, y, sample_weight)
        vars(self).pop("estimator_params", None)
        with reuse_codes():
            return super().fit(X, y, sample_weight)  # type: ignore[misc]


class AdaBoostClassifier(RepeatedFits, ensemble.AdaBoostClassifier):
    r"""Classifiers that vote with weights; each learns the rows that the last ones got wrong.

    .. math::
        \epsilon_m = \sum_i w_i \mathbb{1}[h_m(x_i) \neq y_i], \qquad
        \alpha_m = \eta \Big(\log \frac{1 - \epsilon_m}{\epsilon_m} + \log(K - 1)\Big), \qquad
        w_i \propto w_i\, e^{\alpha_m \mathbb{1}[h_m(x_i) \neq y_i]}

    (SAMME; for two classes discrete AdaBoost). The training error is at most
    :math:`\prod_m 2 \sqrt{\epsilon_m (1 - \epsilon_m)}` for two classes and :math:`\eta = 1`.

    scikit-learn's class, with decision trees whose columns are ranked once for all rounds.

    Parameters
    ----------
    estimator : classifier, optional
        The member, which must take weights; a tree of depth 1 by default.
    n_estimators : int
        Number of rounds at most.
    learning_rate : float
        Factor of the weights of all members.
    random_state : int, RandomState or None
        Seed of the members.

    Attributes
    ----------
    estimators_ : list of the fitted members
    estimator_weights_, estimator_errors_ : weight and weighted error of each
    classes_ : (n_classes,) labels
    feature_importances_ : (n_features,) array, where the members have them

    See Also
    --------
    HistGradientBoostingClassifier, BaggingClassifier

    References
    ----------
    Freund, Y., Schapire, R. (1997). A Decision-Theoretic Generalization of On-Line Learning and an
    Application to Boosting.
    Zhu, J., Zou, H., Rosset, S., Hastie, T. (2009). Multi-class AdaBoost.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tenfold import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=30).fit(X, y)
    >>> model.score(X, y) > 0.98
    True
    """

    def _validate_estimator(self) -> None:
        if self.estimator is None:
            self.estimator_ = DecisionTreeClassifier(max_depth=1)
        else:
            super()._validate_estimator()

    def _make_estimator(self, append: bool = True, random_state: Any = None) -> Any:
        made = super()._make_estimator(append, random_state)
        return _WholeWeights(made) if isinstance(made, DecisionTreeClassifier) else made


class _WholeWeights:
    """A tree that is fitted with weights as whole numbers: its sums are then exact and fast."""

    def __init__(self, tree: DecisionTreeClassifier) -> None:
        self.tree = tree

    def fit(self, X: Any, y: Any, sample_weight: np.ndarray) -> None:
        scale = min(_MAX_TOTAL_WEIGHT / sample_weight.sum(), _MAX_WEIGHT / sample_weight.max())
        self.tree.fit(X, y, sample_weight=np.rint(sample_weight * scale))

    def predict(self, X: Any) -> np.ndarray:
        """Labels of the leaves; there are fewer of them than of rows."""
        shares = self.tree.tree_.value[:, 0]
        return self.tree.classes_[shares.argmax(axis=1)][self.tree.apply(X)]

    @property
    def classes_(self) -> Any:
        return self.tree.classes_


class AdaBoostRegressor(RepeatedFits, ensemble.AdaBoostRegressor):
    r"""Regressors on rows drawn by how badly the last ones predicted them; the weighted median.

    Each round draws rows with probabilities :math:`w_i`, fits a member, and multiplies
    :math:`w_i` by :math:`\beta^{(1 - L_i) \eta}`, where :math:`L_i` is the error of the row as a
    share of the largest and :math:`\beta = \bar L / (1 - \bar L)` (AdaBoost.R2).

    scikit-learn's class, with decision trees of tenfold.

    Parameters
    ----------
    estimator : regressor, optional
        The member; a tree of depth 3 by default.
    n_estimators : int
        Number of rounds at most.
    learning_rate : float
        Factor of the weights of all members.
    loss : {"linear", "square", "exponential"}
        Loss of a row as a function of its error.
    random_state : int, RandomState or None
        Seed of the drawn rows.

    Attributes
    ----------
    estimators_ : list of the fitted members
    estimator_weights_, estimator_errors_ : weight and mean loss of each
    feature_importances_ : (n_features,) array, where the members have them

    See Also
    --------
    HistGradientBoostingRegressor, BaggingRegressor

    References
    ----------
    Drucker, H. (1997). Improving Regressors using Boosting Techniques.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import AdaBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AdaBoostRegressor(n_estimators=20, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.4
    True
    """

    def _validate_estimator(self) -> None:
        if self.estimator is None:
            self.estimator_ = DecisionTreeRegressor(max_depth=3)
        else:
            super()._validate_estimator()
