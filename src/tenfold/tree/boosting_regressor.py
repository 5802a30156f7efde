"""Gradient boosting of trees for numbers, on histograms of whole numbers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import Regressor
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.math.losses import AbsoluteLoss, HuberLoss, Loss, PinballLoss, SquaredLoss
from tenfold.tree._boosting import SHARED_CONSTRAINTS, BaseHistGradientBoosting
from tenfold.tree._boosting_data import (
    TargetRange,
    boosted_scores,
    target_range,
)
from tenfold.tree._losses import (
    BoostedDeviance,
    BoostedQuantiles,
    BoostedRegression,
    BoostingLoss,
    invert_link,
)
from tenfold.tree._nodes import TreeEnsemble


class HistGradientBoostingRegressor(BaseHistGradientBoosting, Regressor):
    r"""Gradient boosting of regression trees, the same trees everywhere.

    Trees :math:`f_t` are added one after the other to the score :math:`F(x) = F_0 + \sum_t \eta
    f_t(x)`; each is grown on histograms of the gradients :math:`g_i` and second derivatives
    :math:`h_i` of the loss at the scores so far, and a leaf with the rows I predicts
    :math:`-\sum_I g_i / (\sum_I h_i + \lambda)`. Both are whole numbers, so sums are exact: the
    order of the rows, the number of threads, and whether rows lie in memory, in files or on a
    cluster change no tree.

    Parameters
    ----------
    loss : str or Loss, default="squared_error"
        Loss of the scores: "squared_error", "absolute_error", "huber", "gamma", "poisson",
        "tweedie" or "quantile". "gamma", "poisson" and "tweedie" are half deviances of exp(score).
        A `tenfold.math.losses.Loss` of your own gives value, gradient and curvature;
        `tenfold.teaching.autodiff.FunctionLoss` finds the derivatives of a function by itself.
        Steps under it are halved until they lower the loss.
    quantile : float or sequence of floats, default=None
        Level of the quantile loss; several levels, ascending, make several outputs that never
        cross.
    huber_delta : float, default=1.0
        Residuals beyond it count linearly under loss="huber".
    tweedie_power : float, default=1.5
        Power of the variance under loss="tweedie", from 1 (Poisson) to 2 (gamma).
    learning_rate : float, default=0.1
        Factor of the values of leaves.
    max_iter : int, default=100
        Most rounds; a round makes one tree for each output.
    max_leaf_nodes : int or None, default=31
        Most leaves of a tree.
    max_depth : int or None, default=None
        Most steps from the root to a leaf.
    min_samples_leaf : int, default=20
        Least number of rows in a leaf, whatever their weights.
    l2_regularization : float, default=0
        Penalty :math:`\lambda` of the values of leaves.
    max_features : float, default=1.0
        Share of the columns, drawn anew, that each split chooses from.
    max_bins : int, default=255
        Most bins of a column, beside one for missing values.
    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        Columns of categories; by default those that a table calls so. Beyond `max_bins`
        categories, the rarest share a bin.
    monotonic_cst : array-like of {-1, 0, 1} or dict, default=None
        Signs of monotone constraints on the columns.
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
    growth : {"leafwise", "depthwise"}, default="leafwise"
        Whether the node of the largest gain, or one nearest to the root, is split next.
    subsample : float, default=1.0
        Share of the rows, drawn by their numbers, that each round learns from.

    Attributes
    ----------
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
    HistGradientBoostingClassifier : The same for labels.

    References
    ----------
    J. H. Friedman (2001), Greedy function approximation: a gradient boosting machine. Annals of
    Statistics 29. T. Chen and C. Guestrin (2016), XGBoost: a scalable tree boosting system. KDD.
    G. Ke et al. (2017), LightGBM: a highly efficient gradient boosting decision tree. NIPS.
    W. D. Fisher (1958), On grouping for maximum homogeneity. JASA 53.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import HistGradientBoostingRegressor
    >>> X = np.arange(200.0)[:, None]
    >>> y = (X[:, 0] > 50) + 2.0 * (X[:, 0] > 150)
    >>> model = HistGradientBoostingRegressor(max_iter=50).fit(X, y)
    >>> model.predict([[10.0], [100.0], [190.0]]).round(1)
    array([0., 1., 3.])
    """

    _multi_output = True
    _parameter_constraints = {
        **SHARED_CONSTRAINTS,
        "loss": [
            StrOptions(
                {
                    "squared_error",
                    "absolute_error",
                    "huber",
                    "gamma",
                    "poisson",
                    "tweedie",
                    "quantile",
                }
            ),
            Loss,
            callable,
        ],
        "quantile": [Interval(Real, 0, 1, closed="both"), "array-like", None],
        "huber_delta": [Interval(Real, 0, None, closed="neither")],
        "tweedie_power": [Interval(Real, 1, 2, closed="both")],
    }

    def __init__(
        self,
        loss: Any = "squared_error",
        *,
        quantile: Any = None,
        huber_delta: float = 1.0,
        tweedie_power: float = 1.5,
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
        growth: str = "leafwise",
        subsample: float = 1.0,
    ) -> None:
        self.loss, self.quantile = loss, quantile
        self.huber_delta, self.tweedie_power = huber_delta, tweedie_power
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
        name = self.loss
        found: TargetRange = rows.total(target_range)
        if name == "quantile":
            return self._quantile_loss(found.n_targets, self.quantile)
        if type(name) is PinballLoss:
            return self._quantile_loss(found.n_targets, name.q)
        if name in {"poisson", "tweedie", "gamma"}:
            return self._deviance(found)
        if name == "absolute_error" or type(name) is AbsoluteLoss:
            levels = (0.5,) * found.n_targets
            return BoostedRegression(found.n_targets, levels, AbsoluteLoss())
        if not isinstance(name, str):
            _require_derivatives(name)
        own: Loss = SquaredLoss() if name == "squared_error" else self.loss
        own = HuberLoss(self.huber_delta) if name == "huber" else own
        return BoostedRegression(found.n_targets, None, own)

    def _quantile_loss(self, n_targets: int, quantile: Any) -> BoostedQuantiles:
        if quantile is None or n_targets > 1:
            raise ValueError(
                "loss='quantile' needs one target and quantile=0.9, say, or several levels"
            )
        levels = tuple(float(q) for q in np.atleast_1d(quantile))
        if not levels or not all(0 <= q <= 1 for q in levels):
            raise ValueError(f"quantile={quantile!r}: levels lie between 0 and 1")
        if not all(low < high for low, high in pairwise(levels)):
            raise ValueError(f"quantile={quantile!r}: give different levels, the lowest first")
        return BoostedQuantiles(len(levels), levels)

    def _deviance(self, found: TargetRange) -> BoostedDeviance:
        power = {"poisson": 1.0, "gamma": 2.0, "tweedie": self.tweedie_power}[self.loss]
        if power == 2 and found.least <= 0:
            raise ValueError(f"loss={self.loss!r} requires strictly positive y.")
        if found.least < 0 or found.most <= 0:
            raise ValueError(f"loss={self.loss!r} requires non-negative y and sum(y) > 0.")
        return BoostedDeviance(found.n_targets, None, power)

    def _class_weights(self, rows: Rows) -> None:
        return None

    def _encode_target(self, y: Any) -> np.ndarray:
        return np.asarray(y, np.float64)

    def _decode_target(self, y: np.ndarray) -> np.ndarray:
        return y

    def predict(self, X: Any) -> np.ndarray:
        """Predictions for rows.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Returns
        -------
        (n,) array; (n, k) for several targets or quantiles
        """
        check_is_fitted(self)
        state = (self.trees_, self._start, self._categories)
        return self._map_rows(X, predicted_means, self._link, *state)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Predictions for rows after each round.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Yields
        ------
        (n,) array; (n, k) for several targets or quantiles
        """
        for score in self._staged_scores(X):
            means = invert_link(score, self._link)
            yield means[:, 0] if means.shape[1] == 1 else means


def _require_derivatives(loss: Any) -> None:
    """Refuse a function, or a loss without derivatives, as a loss."""
    if not isinstance(loss, Loss):
        raise TypeError(
            "loss is a function: give tenfold.teaching.autodiff.FunctionLoss(function), which "
            "finds its derivatives, or a tenfold.math.losses.Loss"
        )
    for method in ("value", "gradient", "curvature"):
        if getattr(type(loss), method) is getattr(Loss, method):
            raise TypeError(
                f"{type(loss).__name__} has no method {method}(z, y): write it, or let "
                "tenfold.teaching.autodiff.FunctionLoss find the derivatives of a function"
            )


def predicted_means(
    chunk: Chunk, link: str, trees: TreeEnsemble, start: np.ndarray, categories: tuple
) -> np.ndarray:
    """Predictions of a regressor, in the type of the rows."""
    means = invert_link(boosted_scores(chunk, trees, start, categories), link)
    means = means.astype(chunk.X.dtype, copy=False)
    return means[:, 0] if means.shape[1] == 1 else means
