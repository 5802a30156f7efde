"""Isolation forest: rows that random cuts separate soon are outliers."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, RealNotInt, StrOptions
from tenfold.base.estimator import Estimator
from tenfold.engine.arrays import ArraySource
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.tree._bootstrap import tree_seed
from tenfold.tree._cart_base import read_weight
from tenfold.tree._cart_grower import Targets, grow_tree, make_rows, make_rules
from tenfold.tree._forest_tables import ForestTables, leaf_values, node_depths
from tenfold.tree._grown_tree import GrownTree
from tenfold.tree._nodes import TreeEnsemble
from tenfold.tree._rank_codes import ColumnCodes, encode_columns
from tenfold.tree.decision_tree import ExtraTreeRegressor

_AUTO_ROWS = 256


def average_path_length(n: Any) -> np.ndarray:
    r"""Mean depth of an unsuccessful search in a binary search tree of n entries.

    .. math:: c(n) = 2 (\ln(n - 1) + \gamma) - 2 (n - 1) / n

    Examples
    --------
    >>> average_path_length([1, 2]).tolist(), round(float(average_path_length(256)), 3)
    ([0.0, 1.0], 10.245)
    """
    n = np.asarray(n, np.float64)
    m = np.maximum(n, 3.0)
    long = 2.0 * (np.log(m - 1.0) + np.euler_gamma) - 2.0 * (m - 1.0) / m
    return np.where(n <= 1, 0.0, np.where(n <= 2, 1.0, long))


def anomaly_scores(chunk: Chunk, trees: TreeEnsemble, expected: float) -> np.ndarray:
    """Minus 2 to the power of minus (mean depth / expected depth), for each row."""
    depth = leaf_values(chunk, trees)[:, 0]
    return -(2.0 ** -(depth / expected if expected > 0 else np.ones_like(depth)))


class IsolationForest(OutlierMixin, Estimator):
    r"""Outliers by isolation: the fewer random cuts single a row out, the stranger it is.

    Each tree splits a small sample of rows at random thresholds of random columns. With the mean
    depth :math:`E\, h(x)` over the trees and the depth :math:`c(m)` that a sample of m rows leads
    one to expect, a row has the score

    .. math:: s(x) = - 2^{- E\, h(x) / c(m)},

    near -1 for outliers, and below -0.5 for none of them in a uniform sample.

    Parameters
    ----------
    n_estimators : int
        Number of trees.
    max_samples : "auto", int or float
        Rows of each tree, or their share; "auto" is 256, or all rows if there are fewer.
    contamination : "auto" or float
        Share of outliers among the training rows, which sets `offset_`; "auto" sets it to -0.5.
    max_features : int or float
        Columns of each tree, or their share.
    bootstrap : bool
        Whether rows are drawn with replacement.
    n_jobs : int, optional
        Threads; all by default.
    random_state : int, RandomState, optional
        Seed. Tree t depends on the seed and t alone.
    verbose : int
        Whether to show progress.
    warm_start : bool
        Whether `fit` keeps the trees of the last fit and adds some.

    Attributes
    ----------
    offset_ : float, the decision function is the score minus this
    max_samples_ : int
    estimators_ : list of ExtraTreeRegressor, views of the trees
    estimators_features_, estimators_samples_ : lists of numbers of columns and rows

    References
    ----------
    F. T. Liu, K. M. Ting and Z.-H. Zhou (2008), Isolation forest.

    Examples
    --------
    >>> from tenfold import IsolationForest
    >>> model = IsolationForest(random_state=0).fit([[-1.1], [0.3], [0.5], [100.0]])
    >>> model.predict([[0.1], [90.0]]).tolist()
    [1, -1]
    """

    _sparse_ok = True
    _nan_ok = True
    _samples_rows = True
    _law_params: dict[str, Any] = {"n_estimators": 20}
    _parameter_constraints: dict[str, Any] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [
            StrOptions({"auto"}),
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "contamination": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="right")],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "bootstrap": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        max_samples: str | float = "auto",
        contamination: str | float = "auto",
        max_features: float = 1.0,
        bootstrap: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.contamination = contamination
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        old: Any = self.tables_ if self.warm_start and hasattr(self, "tables_") else None
        seed = self._seed if old is not None else int(rng.integers(2**63))
        first = 0 if old is None else len(old)
        if self.n_estimators < first:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={first} when warm_start==True"
            )
        weight = read_weight(rows)
        n = rows.n_rows if weight is None else int(np.count_nonzero(weight))
        self.max_samples_ = self._sample_size(n)
        if self.n_estimators == first:
            warnings.warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
                UserWarning,
                stacklevel=4,
            )
        tables: Any = old
        if old is None or self.n_estimators > first:
            new = self._grow_trees(rows, weight, seed, range(first, self.n_estimators))
            tables = new if old is None else ForestTables.join([old, new])
        offset = -0.5
        if self.contamination != "auto":
            scores = rows.each(anomaly_scores, tables.trees, self._expected_depth)
            offset = float(np.percentile(scores, 100.0 * float(self.contamination)))
        return {
            "tables_": tables,
            "offset_": offset,
            "_seed": seed,
            "_n_rows": rows.n_rows,
            "_weight": weight,
        }

    def _sample_size(self, n: int) -> int:
        """Number of rows of each tree."""
        size: Any = self.max_samples
        if size == "auto":
            return min(_AUTO_ROWS, n)
        if not isinstance(size, Integral):
            return max(int(size * n), 1)
        if int(size) > n:
            warnings.warn(
                f"max_samples ({size}) is greater than the total number of samples "
                f"({n}). max_samples will be set to n_samples for estimation.",
                UserWarning,
                stacklevel=5,
            )
        return min(int(size), n)

    def _draw(self, seed: int, n: int, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the rows and of the columns of the tree of a seed."""
        rng, p = np.random.default_rng(seed), self.n_features_in_
        chance = None if weight is None else weight / weight.sum()
        rows = rng.choice(n, self.max_samples_, replace=self.bootstrap, p=chance)
        share = self.max_features
        width = int(share) if isinstance(share, Integral) else max(int(share * p), 1)
        if width > p:
            raise ValueError(f"max_features must be at most the number of columns, {p}")
        columns = np.arange(p) if width == p else rng.choice(p, width, replace=False)
        return np.sort(rows), columns

    def _grow_trees(
        self, rows: Rows, weight: np.ndarray | None, seed: int, numbers: range
    ) -> ForestTables:
        seeds = [tree_seed(seed, t) for t in numbers]
        draws = [self._draw(s, rows.n_rows, weight) for s in seeds]
        known = np.unique(np.concatenate([drawn for drawn, _ in draws]))
        X = rows.take(known).X
        X = X if isinstance(X, np.ndarray) else X.toarray()
        codes = encode_columns(Rows(ArraySource(X), allow_nan=True))
        depth = self._max_depth
        return ForestTables.of(
            [
                _isolation_tree(codes, np.searchsorted(known, drawn), columns, s, depth)
                for (drawn, columns), s in zip(draws, seeds, strict=True)
            ]
        )

    @property
    def _max_depth(self) -> int:
        return int(np.ceil(np.log2(max(self.max_samples_, 2))))

    @property
    def _expected_depth(self) -> float:
        return float(average_path_length(self.max_samples_))

    def score_samples(self, X: Any) -> np.ndarray:
        """Score of each row; the lower, the stranger.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._map_rows(X, anomaly_scores, self.tables_.trees, self._expected_depth)

    def decision_function(self, X: Any) -> np.ndarray:
        """Score minus `offset_`; negative for outliers.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """-1 for outliers, 1 for others.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    @property
    def estimators_(self) -> list[ExtraTreeRegressor]:
        """The trees as models of their own; their values are depths."""
        check_is_fitted(self)
        return [self._view(t) for t in range(len(self.tables_))]

    def _view(self, t: int) -> ExtraTreeRegressor:
        seed, depth = tree_seed(self._seed, t) % 2**32, self._max_depth
        tree = ExtraTreeRegressor(max_features=1, max_depth=depth, random_state=seed)
        tree.n_features_in_, tree.n_outputs_ = self.n_features_in_, 1
        tree.tables_ = ForestTables.of([self.tables_.grown(t)])
        return tree

    def _draws(self) -> list[tuple[np.ndarray, np.ndarray]]:
        check_is_fitted(self)
        seeds = (tree_seed(self._seed, t) for t in range(len(self.tables_)))
        return [self._draw(seed, self._n_rows, self._weight) for seed in seeds]

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """Numbers of the rows of each tree, drawn again from the seed."""
        return [rows for rows, _ in self._draws()]

    @property
    def estimators_features_(self) -> list[np.ndarray]:
        """Numbers of the columns of each tree, drawn again from the seed."""
        return [columns for _, columns in self._draws()]


def _isolation_tree(
    codes: ColumnCodes, rows: np.ndarray, columns: np.ndarray, seed: int, depth: int
) -> GrownTree:
    """A tree of random cuts of some rows; leaves hold the expected depth of a row in them."""
    known, counts = np.unique(rows, return_counts=True)
    part = codes._replace(codes=np.asfortranarray(codes.codes[np.ix_(columns, known)]))
    n = len(known)
    targets = Targets(np.zeros((n, 3), np.int64), np.array([0, 1]), np.zeros(1), np.ones(1), 1.0)
    data = make_rows(part, targets, counts.astype(np.int64), None, columns)
    params = SimpleNamespace(
        min_samples_leaf=1,
        min_samples_split=2,
        max_features=1,
        max_depth=depth,
        max_leaf_nodes=None,
        min_weight_fraction_leaf=0.0,
        min_impurity_decrease=0.0,
    )
    tree = grow_tree(data, make_rules(params, data, targets, "none", "random"), seed, 1)
    expected = node_depths(tree.left) + average_path_length(tree.weight)
    feature = np.where(tree.feature < 0, -1, columns[np.maximum(tree.feature, 0)])
    return tree._replace(feature=feature.astype(np.int32), value=expected[:, None])
