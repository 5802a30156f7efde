"""Gradient boosting of trees for labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted, column_or_1d

from tenfold.base._sklearn import StrOptions
from tenfold.base.mixins import ProbabilisticClassifier
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.math.links import softmax
from tenfold.tree._boosting import SHARED_CONSTRAINTS, BaseHistGradientBoosting
from tenfold.tree._boosting_data import boosted_scores, class_counts
from tenfold.tree._losses import BoostedLogLoss, BoostedSoftmax, BoostingLoss
from tenfold.tree._nodes import TreeEnsemble


class HistGradientBoostingClassifier(BaseHistGradientBoosting, ProbabilisticClassifier):
    r"""Gradient boosting of trees for classification, the same trees everywhere.

    Two classes have one score and the log-loss, more classes a score and a tree per round each and
    the softmax loss. See `HistGradientBoostingRegressor` for the method.

    Parameters
    ----------
    loss : {"log_loss"}, default="log_loss"
        Loss of the scores.
    learning_rate : float, default=0.1
        Factor of the values of leaves.
    max_iter : int, default=100
        Most rounds; a round makes one tree, or one for each of more than two classes.
    max_leaf_nodes : int or None, default=31
        Most leaves of a tree.
    max_depth : int or None, default=None
        Most steps from the root to a leaf.
    min_samples_leaf : int, default=20
        Least number of rows in a leaf, whatever their weights.
    l2_regularization : float, default=0
        Penalty of the values of leaves.
    max_features : float, default=1.0
        Share of the columns, drawn anew, that each split chooses from.
    max_bins : int, default=255
        Most bins of a column, beside one for missing values.
    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        Columns of categories; by default those that a table calls so. Beyond `max_bins`
        categories, the rarest share a bin.
    monotonic_cst : array-like of {-1, 0, 1} or dict, default=None
        Signs of monotone constraints on the columns, for two classes.
    interaction_cst : {"pairwise", "no_interactions"} or sequence of groups, default=None
        Columns that may meet in a branch.
    warm_start : bool, default=False
        Whether `fit` adds rounds to those of the last call.
    early_stopping : "auto" or bool, default="auto"
        Whether to stop when the score of held-out rows does not improve; "auto": if there are more
        than 10,000 rows.
    scoring : str, callable or None, default="loss"
        Score of early stopping.
    validation_fraction : float, int or None, default=0.1
        Share or number of rows that are held out, drawn by row number. None: training rows decide.
    n_iter_no_change : int, default=10
        Rounds without an improvement before the fit stops.
    tol : float, default=1e-7
        What counts as an improvement.
    verbose : int, default=0
        Whether to show progress.
    random_state : int, RandomState instance or None, default=None
        Seed of all draws.
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    growth : {"leafwise", "depthwise"}, default="leafwise"
        Whether the node of the largest gain, or one nearest to the root, is split next.
    subsample : float, default=1.0
        Share of the rows, drawn by their numbers, that each round learns from.

    Attributes
    ----------
    classes_ : array
        Labels.
    trees_ : TreeEnsemble
        All trees.
    n_iter_ : int
        Number of rounds.
    n_trees_per_iteration_ : int
        Number of trees of a round.
    train_score_, validation_score_ : arrays
        Scores before the first and after each round, if the fit may stop early.
    do_early_stopping_ : bool
        Whether the fit may stop early.
    is_categorical_ : (n_features,) bool array or None
        Which columns are categorical.
    feature_importances_ : (n_features,) array
        Share of each column in the gain of all splits.
    split_counts_ : (n_features,) array
        Number of splits by each column.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of str
        Names of the columns, if they have any.

    See Also
    --------
    HistGradientBoostingRegressor : The same for numbers.

    References
    ----------
    J. H. Friedman (2001), Greedy function approximation: a gradient boosting machine. Annals of
    Statistics 29. T. Chen and C. Guestrin (2016), XGBoost: a scalable tree boosting system. KDD.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import HistGradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> HistGradientBoostingClassifier(max_iter=20).fit(X, y).score(X, y) > 0.95
    True
    """

    _parameter_constraints = {
        **SHARED_CONSTRAINTS,
        "loss": [StrOptions({"log_loss"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        loss: str = "log_loss",
        *,
        learning_rate: float = 0.1,
        max_iter: int = 100,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        max_features: float = 1.0,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        warm_start: bool = False,
        early_stopping: Any = "auto",
        scoring: Any = "loss",
        validation_fraction: float | None = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        verbose: int = 0,
        random_state: Any = None,
        class_weight: Any = None,
        growth: str = "leafwise",
        subsample: float = 1.0,
    ) -> None:
        self.loss, self.class_weight = loss, class_weight
        self.learning_rate, self.max_iter = learning_rate, max_iter
        self.max_leaf_nodes, self.max_depth = max_leaf_nodes, max_depth
        self.min_samples_leaf, self.l2_regularization = min_samples_leaf, l2_regularization
        self.max_features, self.max_bins = max_features, max_bins
        self.categorical_features, self.monotonic_cst = categorical_features, monotonic_cst
        self.interaction_cst, self.warm_start = interaction_cst, warm_start
        self.early_stopping, self.scoring = early_stopping, scoring
        self.validation_fraction, self.n_iter_no_change = validation_fraction, n_iter_no_change
        self.tol, self.verbose, self.random_state = tol, verbose, random_state
        self.growth, self.subsample = growth, subsample

    def _make_loss(self, rows: Rows) -> BoostingLoss:
        k = len(self.classes_)
        return BoostedLogLoss() if k <= 2 else BoostedSoftmax(k)

    def _class_weights(self, rows: Rows) -> np.ndarray | None:
        if self.class_weight is None:
            return None
        counts = rows.total(class_counts, len(self.classes_)).astype(np.int64)
        y = np.repeat(self.classes_, counts) if self.class_weight == "balanced" else self.classes_
        return compute_class_weight(self.class_weight, classes=self.classes_, y=y)

    def _encode_target(self, y: Any) -> np.ndarray:
        y = column_or_1d(y)
        unknown = set(np.unique(y)) - set(self.classes_)
        if unknown:
            raise ValueError(f"y_val contains previously unseen labels: {sorted(unknown)}")
        return np.searchsorted(self.classes_, y).astype(np.float64)

    def _decode_target(self, y: np.ndarray) -> np.ndarray:
        return self.classes_[np.asarray(y, np.int64)]

    def _scorer(self) -> tuple:
        return class_scores, self.trees_, self._start, self._categories, len(self.classes_)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of rows: of the second of two classes, or of each of several.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Returns
        -------
        (n,) or (n, k) array
        """
        check_is_fitted(self)
        scores = self._map_rows(X, raw_scores, self.trees_, self._start, self._categories)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """Scores of rows after each round.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Yields
        ------
        (n,) or (n, k) array
        """
        for score in self._staged_scores(X):
            yield score[:, 0] if score.shape[1] == 1 else score

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Probabilities of the classes after each round.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Yields
        ------
        (n, k) array
        """
        for score in self._staged_scores(X):
            yield softmax(_widen(score, len(self.classes_)))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Labels after each round.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Yields
        ------
        (n,) array
        """
        for score in self._staged_scores(X):
            yield self.classes_[_widen(score, len(self.classes_)).argmax(axis=1)]


def raw_scores(
    chunk: Chunk, trees: TreeEnsemble, start: np.ndarray, categories: tuple
) -> np.ndarray:
    """Scores of a classifier, in the type of the rows."""
    return boosted_scores(chunk, trees, start, categories).astype(chunk.X.dtype, copy=False)


def class_scores(
    chunk: Chunk, trees: TreeEnsemble, start: np.ndarray, categories: tuple, n_classes: int
) -> np.ndarray:
    """A score for each class; the first of two classes has 0."""
    return _widen(raw_scores(chunk, trees, start, categories), n_classes)


def _widen(score: np.ndarray, n_classes: int) -> np.ndarray:
    if n_classes > 2:
        return score
    zeros = np.zeros_like(score)
    return zeros if n_classes == 1 else np.concatenate([zeros, score], axis=1)
