"""Tree-augmented naive Bayes: each feature depends on the class and on one other feature."""

from __future__ import annotations

from itertools import combinations
from numbers import Integral, Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval
from tenfold.base.bayes_rule import check_no_infinity, safe_log
from tenfold.engine.chunk import Chunk
from tenfold.engine.memory import check_memory
from tenfold.engine.rows import Rows
from tenfold.naive_bayes._column_distributions import category_sizes
from tenfold.naive_bayes._discrete_base import (
    DISCRETE_NB_CONSTRAINTS,
    DiscreteNB,
    check_non_negative,
)
from tenfold.naive_bayes._pair_counts import (
    PairCounts,
    chunk_category_sizes,
    count_pairs,
    pair_starts,
    score_tree,
    single_starts,
)
from tenfold.stats.dependence import maximum_spanning_tree, mutual_information


class TANClassifier(DiscreteNB):
    r"""Tree-augmented naive Bayes: features are categories 0, 1, ..., joined by a tree.

    .. math:: p(y = c \mid x) \propto \pi_c \prod_j p(x_j \mid x_{\mathrm{pa}(j)}, c)

    Of all trees, the one of largest conditional mutual information
    :math:`\sum_j I(x_j, x_{\mathrm{pa}(j)} \mid y)` makes the training rows most likely [1]_. Naive
    Bayes is the same without the tree. All pairs are counted in one pass after one that finds the
    categories; the counts merge. Missing entries (NaN) and categories that were not in the training
    rows are summed out exactly in a prediction, and a pair with one is not counted. Numbers are
    truncated to integers.

    Parameters
    ----------
    alpha : float
        Added to each count: 1 is Laplace smoothing, 0 is none.
    force_alpha : bool
        Whether an alpha below 1e-10 is kept; otherwise it becomes 1e-10, with a warning.
    fit_prior : bool
        Whether the priors are the relative weights of the classes; otherwise they are uniform.
    class_prior : (n_classes,) array, optional
        Given prior probabilities.
    min_categories : int or (n_features,) array, optional
        Minimum number of categories of a feature.
    root : int
        Feature without a parent; it does not change the likelihood of the training rows where
        alpha is 0.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    class_count_, class_log_prior_ : (n_classes,) weight and log prior of each class
    parents_ : (n_features,) parent of each feature, -1 for the root
    conditional_log_prob_ : for each feature (n_classes, categories of its parent, categories)
        log-probabilities; the root has one category of a parent
    mutual_information_ : (n_features, n_features) information of pairs given the class, in nats
    n_categories_ : (n_features,) categories of each feature
    statistic_ : `PairCounts` of the training rows

    See Also
    --------
    CategoricalNB : without the tree.
    ChowLiu : a tree of all variables, without a class.

    References
    ----------
    .. [1] N. Friedman, D. Geiger and M. Goldszmidt (1997), Bayesian network classifiers.

    Examples
    --------
    The class says whether two bits are equal, which no feature tells alone:

    >>> from tenfold import TANClassifier
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]] * 5
    >>> model = TANClassifier().fit(X, [1, 0, 0, 1] * 5)
    >>> model.predict([[0, 0], [1, 0]]).tolist(), model.parents_.tolist()
    ([1, 0], [-1, 0])
    """

    _sparse_ok = False
    _parameter_constraints: dict[str, Any] = {
        **DISCRETE_NB_CONSTRAINTS,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "min_categories": [None, "array-like", Interval(Integral, 1, None, closed="left")],
        "root": [Interval(Integral, 0, None, closed="left")],
    }
    _learned_shapes = {
        "conditional_log_prob_": "p * k _ _",
        "mutual_information_": "p p",
        "parents_": "p",
        "statistic_.singles": "k t",
        "statistic_.pairs": "k u",
        "statistic_.sizes": "p : count",
    }

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
        root: int = 0,
    ) -> None:
        super().__init__(
            alpha=alpha, force_alpha=force_alpha, fit_prior=fit_prior, class_prior=class_prior
        )
        self.min_categories = min_categories
        self.root = root

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags

    def _statistic(self, rows: Rows) -> PairCounts:
        k, p = len(self.classes_), rows.n_features
        if self.root >= p:
            raise ValueError(f"root={self.root}: the features are 0 to {p - 1}")
        sizes = rows.total(chunk_category_sizes, type(self).__name__).sizes
        cells = float(k) * float(np.square(sizes.sum(dtype=np.float64)) / 2)
        widest = int(sizes.argmax())
        check_memory(
            24 * cells,
            f"{type(self).__name__} with {p:,} columns of up to {sizes[widest]:,} categories "
            f"(column {widest})",
            "leave out columns of many categories, or use CategoricalNB",
        )
        return rows.total(count_pairs, k, sizes)

    def _finalize(self, s: PairCounts, dtype: np.dtype) -> dict[str, Any]:
        s = s.pad_to(category_sizes(s.sizes, self.min_categories))
        p = len(s.sizes)
        information = np.zeros((p, p))
        for i, j in combinations(range(p), 2):
            table = s.pair(i, j).transpose(1, 2, 0)
            information[i, j] = information[j, i] = mutual_information(table)
        parents = np.full(p, -1)
        for above, j in maximum_spanning_tree(information, self.root):
            parents[j] = above
        alpha = self._check_alpha()
        logs = [log_shares(s, j, int(parents[j]), alpha) for j in range(p)]
        return {
            "class_count_": s.n,
            "class_log_prior_": self._log_prior(s.n),
            "parents_": parents,
            "conditional_log_prob_": [table.astype(dtype) for table in logs],
            "mutual_information_": information.astype(dtype),
            "n_categories_": s.sizes,
        }

    def _check_learned(self) -> None:
        order = topological_order(self.parents_)
        sizes = self.n_categories_
        for j, table in enumerate(self.conditional_log_prob_):
            rows = sizes[self.parents_[j]] if self.parents_[j] >= 0 else 1
            if table.shape[1:] != (rows, sizes[j]) or len(order) != len(sizes):
                raise ValueError("conditional_log_prob_ does not fit n_categories_ and parents_")
        s = self.statistic_
        ends = single_starts(s.sizes)[-1], pair_starts(s.sizes)[-1]
        if (s.singles.shape[1], s.pairs.shape[1]) != ends:
            raise ValueError("statistic_ does not fit its sizes")

    def _scorer(self) -> tuple:
        logs = [table.astype(np.float64).reshape(-1) for table in self.conditional_log_prob_]
        start = np.cumsum([0, *map(len, logs)]).astype(np.int64)
        order = topological_order(self.parents_)
        tree = np.concatenate(logs), start, np.asarray(self.n_categories_, np.int64)
        parents = np.asarray(self.parents_, np.int64)
        offset = np.asarray(self.class_log_prior_, np.float64)
        return _tree_log_joint, type(self).__name__, offset, *tree, parents, order

    def _draw(self, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        drawn = np.zeros((len(y), len(self.parents_)))
        for j in topological_order(self.parents_):
            above = self.parents_[j]
            codes = drawn[:, above].astype(np.int64) if above >= 0 else np.zeros(len(y), np.int64)
            p = np.exp(self.conditional_log_prob_[j].astype(np.float64))[y, codes]
            u = rng.random(len(y)) * p.sum(axis=1)
            drawn[:, j] = (np.cumsum(p, axis=1) <= u[:, None]).sum(axis=1)
        return drawn


def topological_order(parents: np.ndarray) -> np.ndarray:
    """Features with parents before children."""
    waiting, order = list(range(len(parents))), list[int]()
    while waiting:
        ready = [j for j in waiting if parents[j] < 0 or parents[j] in order]
        if not ready:
            raise ValueError("parents_ has a cycle")
        order += ready
        waiting = [j for j in waiting if j not in ready]
    return np.array(order, np.int64)


def log_shares(s: PairCounts, j: int, above: int, alpha: Any) -> np.ndarray:
    """Log-probabilities of the categories of a column, (k, categories of its parent, categories).

    Where a category of the parent never occurred and nothing is added, those without the parent.
    """
    single = s.single(j)[:, None, :] + alpha
    sums = single.sum(axis=2, keepdims=True)
    shares = np.where(sums > 0, single / np.where(sums > 0, sums, 1), 1 / max(s.sizes[j], 1))
    if above >= 0:
        pair = s.pair(above, j) + alpha
        sums = pair.sum(axis=2, keepdims=True)
        shares = np.where(sums > 0, pair / np.where(sums > 0, sums, 1), shares)
    return safe_log(shares)


def _tree_log_joint(chunk: Chunk, model_name: str, offset: np.ndarray, *tree: Any) -> np.ndarray:
    """Log of prior times probability, (n, k); negative entries are an error."""
    check_non_negative(chunk, model_name)
    check_no_infinity(chunk)
    return score_tree(chunk.X, offset, *tree)
