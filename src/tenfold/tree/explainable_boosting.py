"""Explainable boosting: a sum of effects of columns and pairs, as tables to read and edit."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.rows import Rows
from tenfold.tree._additive_terms import (
    AdditiveTerm,
    count_leaves,
    merge_terms,
    terms_to_trees,
    weigh_and_center,
)
from tenfold.tree._boosting import BaseHistGradientBoosting
from tenfold.tree._nodes import TreeEnsemble
from tenfold.tree.boosting_classifier import HistGradientBoostingClassifier
from tenfold.tree.boosting_regressor import HistGradientBoostingRegressor

_PAIR_ROUNDS = 30  # of the fit that ranks pairs of columns
_CONSTRAINTS: dict[str, Any] = {
    "interactions": [Interval(Integral, 0, None, closed="left"), "array-like"],
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "max_leaf_nodes": [Interval(Integral, 2, None, closed="left")],
    "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
    "l2_regularization": [Interval(Real, 0, None, closed="left")],
    "max_bins": [Interval(Integral, 2, 255, closed="both")],
    "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
    "monotonic_cst": ["array-like", dict, None],
    "early_stopping": [StrOptions({"auto"}), "boolean"],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


class ExplainableBoosting(BaseHistGradientBoosting):
    """Boosting of single columns, then of pairs, whose trees are merged to a table per term."""

    # what gradient boosting in general leaves open
    max_depth = None
    max_features = 1.0
    growth = "leafwise"
    subsample = 1.0
    scoring = "loss"
    tol = 1e-7
    warm_start = False
    interaction_cst: Any = "no_interactions"
    _law_params = {  # few trees; a weight of 2 counts as one row of a leaf
        "max_iter": 12,
        "learning_rate": 0.5,
        "min_samples_leaf": 1,
        "early_stopping": False,
    }

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        learned = super()._fit(rows, rng)
        pairs = self._choose_pairs(rows, rng, learned)
        if pairs:
            alone = set(range(rows.n_features)).difference(*pairs)
            groups = [*pairs, *((j,) for j in sorted(alone))]
            learned = self._go_on(rows, rng, learned, groups, self.max_iter)
        return {**self._as_terms(rows, learned["trees_"]), "n_iter_": learned["n_iter_"]}

    def _go_on(
        self, rows: Rows, rng: np.random.Generator, learned: dict[str, Any], pairs: Any, rounds: int
    ) -> dict[str, Any]:
        """More rounds, on pairs of columns, from where the last ones ended."""
        changed = {
            **learned,
            "warm_start": True,
            "interaction_cst": pairs,
            "max_iter": learned["n_iter_"] + rounds,
            "max_leaf_nodes": max(self.max_leaf_nodes, 4),
        }
        before = {name: vars(self)[name] for name in changed if name in vars(self)}
        vars(self).update(changed)
        try:
            return super()._fit(rows, rng)
        finally:
            for name in changed:
                vars(self).pop(name)
            vars(self).update(before)

    def _choose_pairs(
        self, rows: Rows, rng: np.random.Generator, learned: dict[str, Any]
    ) -> list[tuple[int, int]]:
        """The pairs that are given, or those by which a few rounds gain most."""
        if not isinstance(self.interactions, Integral):
            return self._given_pairs(rows.n_features)
        if self.interactions == 0 or rows.n_features < 2:
            return []
        tried: TreeEnsemble = self._go_on(rows, rng, learned, "pairwise", _PAIR_ROUNDS)["trees_"]
        gains: dict[tuple[int, int], float] = {}
        for t in range(len(learned["trees_"]), len(tried)):
            tree = tried.tree(t)
            columns = np.unique(tree.columns[tree.columns >= 0])
            if len(columns) == 2 and tree.gain is not None:
                pair = int(columns[0]), int(columns[1])
                gains[pair] = gains.get(pair, 0.0) + float(tree.gain.sum())
        return sorted(gains, key=lambda pair: -gains[pair])[: int(self.interactions)]

    def _given_pairs(self, p: int) -> list[tuple[int, int]]:
        """The pairs of columns that are given, by numbers or by names."""
        names = list(getattr(self, "feature_names_in_", ()))
        pairs = [[names.index(c) if c in names else c for c in pair] for pair in self.interactions]
        for given, pair in zip(self.interactions, pairs, strict=True):
            inside = all(isinstance(c, Integral) and 0 <= int(c) < p for c in pair)
            if not inside or len(pair) != 2 or pair[0] == pair[1]:
                raise ValueError(
                    f"interactions={self.interactions!r}: {given!r} is no pair of two columns, "
                    f"numbers below {p}" + (" or names" if names else "")
                )
        return [(int(j), int(k)) for j, k in pairs]

    def _as_terms(self, rows: Rows, trees: TreeEnsemble) -> dict[str, Any]:
        k = len(self._start)
        known = self._categories or (None,) * rows.n_features
        terms = merge_terms(trees, np.array([0 if c is None else len(c) for c in known]), k)
        merged = terms_to_trees(terms, k)
        if terms:
            counts = rows.total(count_leaves, merged, self._categories)
            terms, shift = weigh_and_center(terms, merged, counts)
            merged, self._start = terms_to_trees(terms, k), self._start + shift
        return {"trees_": merged, "terms_": terms, "intercept_": self._start}

    @property
    def term_names_(self) -> list[str]:
        """Names of the terms: a column, or "a x b" for a pair."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        names = [f"x{j}" for j in range(self.n_features_in_)] if names is None else names
        return [" x ".join(str(names[j]) for j in term.columns) for term in self.terms_]

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each column in the importances of the terms; a pair counts half for each."""
        check_is_fitted(self)
        shares = np.zeros(self.n_features_in_)
        for term in self.terms_:
            shares[list(term.columns)] += term.importance / len(term.columns)
        return shares / shares.sum() if shares.any() else shares

    def _staged_scores(self, X: Any) -> Iterator[np.ndarray]:
        """Scores of rows after each round, which terms do not know."""
        raise AttributeError("terms are merged from all rounds: there are no scores after each")

    @property
    def term_importances_(self) -> np.ndarray:
        """Mean absolute effect of each term on the score of the training rows."""
        check_is_fitted(self)
        return np.array([term.importance for term in self.terms_])

    def category_names(self, column: int) -> list[Any]:
        """The categories of a column, in the order of the bins of its terms.

        Parameters
        ----------
        column : int
            Number of a column of categories.
        """
        check_is_fitted(self)
        codes = self._categories[column] if self._categories else None
        if codes is None:
            raise ValueError(f"column {column} holds numbers, not categories")
        encoder, is_categorical = getattr(self, "_category_encoder", None), self.is_categorical_
        if encoder is None or is_categorical is None:
            return codes.tolist()
        names = encoder.categories_[int(np.count_nonzero(is_categorical[:column]))]
        return [names[int(code)] for code in codes]

    def edit_term(self, name: str, values: Any) -> Self:
        """Replace the effect of a term; predictions and explanations follow.

        Parameters
        ----------
        name : str
            One of `term_names_`.
        values : array of the shape of the term's `values`
            New scores of its bins; one axis less for a single output.

        Returns
        -------
        self
        """
        if name not in self.term_names_:
            raise ValueError(f"there is no term {name!r}: the terms are {self.term_names_}")
        number = self.term_names_.index(name)
        old = self.terms_[number]
        new = np.asarray(values, np.float64)
        new = new[..., None] if new.shape == old.values.shape[:-1] else new
        if new.shape != old.values.shape or not np.isfinite(new).all():
            raise ValueError(
                f"the values of {name!r} must be finite and of shape {old.values.shape}, "
                f"not {new.shape}"
            )
        terms: list[AdditiveTerm] = list(self.terms_)
        terms[number] = old._replace(values=new)
        self.terms_, self.trees_ = terms, terms_to_trees(terms, len(self._start))
        return self


class ExplainableBoostingRegressor(ExplainableBoosting, HistGradientBoostingRegressor):
    r"""A sum of effects of single columns, and of pairs, learned by boosting; each can be drawn.

    .. math:: f(x) = b + \sum_j f_j(x_j) + \sum_{(j, k)} f_{jk}(x_j, x_k)

    Gradient boosting in which each tree asks a single column (or a chosen pair). The trees of a
    column are then merged to one step function, a table that can be read, drawn and edited; a
    prediction is a sum of its entries. Missing values have entries of their own.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "poisson", "gamma"}, default="squared_error"
        Loss; the last two have a log link.
    interactions : int or list of pairs of columns, by number or name, default=0
        Number of pairs of columns that get an effect of their own, found by what they gain; or the
        pairs themselves.
    learning_rate : float, default=0.05
        Factor of each tree.
    max_iter : int, default=300
        Rounds for single columns at most, and again for pairs.
    max_leaf_nodes : int, default=8
        Leaves of a tree.
    min_samples_leaf : int, default=20
        Rows of a leaf.
    l2_regularization : float, default=0.0
        Penalty on the values of leaves.
    max_bins : int, default=255
        Bins of a column.
    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        Which columns are categories.
    monotonic_cst : array-like or dict, default=None
        1, 0 or -1 for each column: the effect must not fall, is free, must not rise.
    early_stopping : "auto" or bool, default="auto"
        Whether held-out rows end the rounds; "auto": if there are more than 10,000 rows.
    n_iter_no_change : int, default=10
        Rounds without an improvement before that.
    validation_fraction : float, default=0.1
        Share of the rows that is held out.
    random_state : int, RandomState instance or None, default=None
        Seed of all draws.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    terms_ : list of AdditiveTerm
        Columns, edges, values and weights of each effect; effects have mean zero.
    term_names_ : list of str
        Names of the terms.
    term_importances_ : array
        Mean absolute effect of each.
    intercept_ : (n_outputs,) array
        Mean score of the training rows.
    trees_ : TreeEnsemble
        The same as one tree per term.
    n_iter_ : int
        Number of rounds.

    See Also
    --------
    HistGradientBoostingRegressor, ExplainableBoostingClassifier

    References
    ----------
    Lou, Y., Caruana, R., Gehrke, J., Hooker, G. (2013). Accurate Intelligible Models with Pairwise
    Interactions.
    Hastie, T., Tibshirani, R. (1986). Generalized Additive Models.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import ExplainableBoostingRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(2000, 3))
    >>> y = np.sin(6 * X[:, 0]) + (X[:, 1] > 0.5)
    >>> model = ExplainableBoostingRegressor().fit(X, y)
    >>> np.argsort(-model.term_importances_).tolist()
    [0, 1, 2]
    """

    quantile, huber_delta, tweedie_power = None, 1.0, 1.5
    _parameter_constraints = {
        **_CONSTRAINTS,
        "loss": [StrOptions({"squared_error", "absolute_error", "poisson", "gamma"})],
    }

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        interactions: Any = 0,
        learning_rate: float = 0.05,
        max_iter: int = 300,
        max_leaf_nodes: int = 8,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        early_stopping: Any = "auto",
        n_iter_no_change: int = 10,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.interactions, self.learning_rate = interactions, learning_rate
        self.max_iter, self.max_leaf_nodes = max_iter, max_leaf_nodes
        self.min_samples_leaf, self.l2_regularization = min_samples_leaf, l2_regularization
        self.max_bins, self.categorical_features = max_bins, categorical_features
        self.monotonic_cst, self.early_stopping = monotonic_cst, early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.random_state, self.verbose = random_state, verbose


class ExplainableBoostingClassifier(ExplainableBoosting, HistGradientBoostingClassifier):
    r"""Classes by a sum of effects of single columns, and of pairs; each can be drawn.

    .. math:: f_c(x) = b_c + \sum_j f_{cj}(x_j) + \sum_{(j, k)} f_{cjk}(x_j, x_k), \qquad
        p(c \mid x) \propto e^{f_c(x)}

    with one score, the log-odds of the second class, for two classes. Otherwise as
    `ExplainableBoostingRegressor`.

    Parameters
    ----------
    interactions : int or list of pairs of columns, by number or name, default=0
        Number of pairs of columns that get an effect of their own, found by what they gain; or the
        pairs themselves.
    learning_rate : float, default=0.05
        Factor of each tree.
    max_iter : int, default=300
        Rounds for single columns at most, and again for pairs.
    max_leaf_nodes : int, default=8
        Leaves of a tree.
    min_samples_leaf : int, default=20
        Rows of a leaf.
    l2_regularization : float, default=0.0
        Penalty on the values of leaves.
    max_bins : int, default=255
        Bins of a column.
    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        Which columns are categories.
    monotonic_cst : array-like or dict, default=None
        1, 0 or -1 for each column: the effect must not fall, is free, must not rise.
    early_stopping : "auto" or bool, default="auto"
        Whether held-out rows end the rounds; "auto": if there are more than 10,000 rows.
    n_iter_no_change : int, default=10
        Rounds without an improvement before that.
    validation_fraction : float, default=0.1
        Share of the rows that is held out.
    random_state : int, RandomState instance or None, default=None
        Seed of all draws.
    verbose : int, default=0
        Whether to show progress.
    class_weight : dict or "balanced", default=None
        Weights of the classes.

    Attributes
    ----------
    classes_ : array
        Labels.
    terms_ : list of AdditiveTerm
        Columns, edges, values and weights of each effect; effects have mean zero.
    term_names_ : list of str
        Names of the terms.
    term_importances_ : array
        Mean absolute effect of each.
    intercept_ : (n_outputs,) array
        Mean score of the training rows.
    trees_ : TreeEnsemble
        The same as one tree per term.
    n_iter_ : int
        Number of rounds.

    See Also
    --------
    HistGradientBoostingClassifier, ExplainableBoostingRegressor

    References
    ----------
    Lou, Y., Caruana, R., Gehrke, J., Hooker, G. (2013). Accurate Intelligible Models with Pairwise
    Interactions.
    Hastie, T., Tibshirani, R. (1986). Generalized Additive Models.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tenfold import ExplainableBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ExplainableBoostingClassifier(max_iter=50).fit(X, y)
    >>> model.score(X, y) > 0.96
    True
    """

    loss = "log_loss"
    _learned_shapes = {"trees_.values": "_ K"}
    _parameter_constraints = {
        **_CONSTRAINTS,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        *,
        interactions: Any = 0,
        learning_rate: float = 0.05,
        max_iter: int = 300,
        max_leaf_nodes: int = 8,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        early_stopping: Any = "auto",
        n_iter_no_change: int = 10,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        verbose: int = 0,
        class_weight: Any = None,
    ) -> None:
        self.interactions, self.learning_rate = interactions, learning_rate
        self.max_iter, self.max_leaf_nodes = max_iter, max_leaf_nodes
        self.min_samples_leaf, self.l2_regularization = min_samples_leaf, l2_regularization
        self.max_bins, self.categorical_features = max_bins, categorical_features
        self.monotonic_cst, self.early_stopping = monotonic_cst, early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.random_state, self.verbose = random_state, verbose
        self.class_weight = class_weight
