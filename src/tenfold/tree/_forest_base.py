"""What random forests and extremely randomized trees share: growth, bootstrap, out-of-bag rows."""

from __future__ import annotations

import warnings
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from tenfold.engine.hooks import active_monitor, end_loop, record_loop_state, resume_loop
from tenfold.engine.rows import Rows
from tenfold.engine.thread_pool import map_threads, n_threads
from tenfold.tree._bootstrap import draw_counts, draw_rows, tree_seed
from tenfold.tree._cart_base import CartClassifier, CartModel, CartRegressor, CodedTrainingSet
from tenfold.tree._cart_criterion_numba import Rules
from tenfold.tree._cart_grower import grow_tree, integer_weights, make_rules, weigh_table
from tenfold.tree._cart_memory import TreeMemory
from tenfold.tree._cost_complexity import prune
from tenfold.tree._forest_tables import ForestTables, impurity_importances
from tenfold.tree._grown_tree import GrownTree
from tenfold.tree._large_arrays import allocate, is_mapped
from tenfold.tree._leaf_targets import collect_targets, forest_quantiles
from tenfold.tree._out_of_bag import sum_out_of_bag
from tenfold.tree._predict_numba import apply_trees

_TREE_PARAMS = (
    "criterion",
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "max_features",
    "max_leaf_nodes",
    "min_impurity_decrease",
    "ccp_alpha",
    "monotonic_cst",
)

_RECORDED_TREES = 8  # that are grown between two records of a checkpoint, at least


def _as_tuples(trees: list[GrownTree]) -> list[tuple]:
    return [tuple(tree) for tree in trees]


def _take_memory(spare: list[TreeMemory], rules: Rules) -> TreeMemory:
    """Memory of an earlier tree that nobody uses, or new memory."""
    try:
        memory = spare.pop()
    except IndexError:
        return TreeMemory(rules)
    return memory if memory.suits(rules) else TreeMemory(rules)


class ForestModel(CartModel):
    """A forest; each tree depends on the seed, its number and the rows alone."""

    _split_mode = "best"
    _tree_class: type

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        self._check_parameters()
        old = self.tables_ if self.warm_start and hasattr(self, "tables_") else None
        if old is not None:
            self._require_draws("cannot grow by warm_start=True: grow the forests, then pool them")
        seed = self._seed if old is not None else int(rng.integers(2**63))
        grown = 0 if old is None else len(old)
        if self.n_estimators < grown:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={grown} when warm_start==True"
            )
        data = self._training_data(rows, self._split_mode, bootstrap=self.bootstrap)
        if old is not None:
            self._require_same_table(old, rows)
        if self.n_estimators == grown:
            warnings.warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
                UserWarning,
                stacklevel=4,
            )
        tables = self._add_trees(old, data, seed)
        learned = {"tables_": tables, "_seed": seed, "_n_rows": data.n_rows}
        learned["_draw_weights"] = data.draw_weights
        learned |= self._leaf_histograms(rows, data, tables, seed)
        if self.oob_score and (tables is not old or not hasattr(self, "oob_score_")):
            learned |= self._out_of_bag(rows, data, tables, seed)
        return learned

    def _require_same_table(self, old: ForestTables, rows: Rows) -> None:
        """Refuse to add trees to those of other columns, classes or outputs."""
        width = int(self._n_classes_by_output.sum())
        if old.trees.min_columns > rows.n_features or old.trees.values.shape[1] != width:
            raise ValueError(
                "warm_start=True adds trees to those of the last fit, which had other columns, "
                "classes or outputs: fit a new forest, or set warm_start=False"
            )

    def _add_trees(
        self, old: ForestTables | None, data: CodedTrainingSet, seed: int
    ) -> ForestTables:
        """The trees of the last fit, if they are kept, and those that are missing."""
        numbers = range(0 if old is None else len(old), self.n_estimators)
        if not numbers and old is not None:
            return old
        new = ForestTables.of(self._grow_batches(data, seed, numbers))
        return new if old is None else ForestTables.join([old, new])

    def _grow_batches(self, data: CodedTrainingSet, seed: int, numbers: range) -> list[GrownTree]:
        """Trees of these numbers; a checkpoint records them some at a time."""
        grown = [GrownTree(*arrays) for arrays in resume_loop([])[1]]
        step = len(numbers) if active_monitor() is None else max(_RECORDED_TREES, 2 * n_threads())
        for first in range(len(grown), len(numbers), max(step, 1)):
            grown += self._grow_trees(data, seed, numbers[first : first + step])
            record_loop_state(len(grown), partial(_as_tuples, grown))
        end_loop()
        return grown

    def _check_parameters(self) -> None:
        """Refuse parameters that contradict each other."""
        if not self.bootstrap and self.max_samples is not None:
            raise ValueError(
                "`max_sample` cannot be set if `bootstrap=False`. "
                "Either switch to `bootstrap=True` or set `max_sample=None`."
            )
        if self.oob_score and not self.bootstrap:
            raise ValueError("Out of bag estimation only available if bootstrap=True")

    def _draw_count(self, n: int, w: np.ndarray | None) -> int:
        """Number of rows that each tree draws."""
        if self.max_samples is None:
            draws = n
        elif isinstance(self.max_samples, Integral):
            draws = int(self.max_samples)
        else:
            total = n if w is None else float(w.sum())
            draws = max(int(self.max_samples * total), 1)
            if draws < max(10, n ** (1 / 3)):
                warnings.warn(
                    f"Using the fractional value max_samples={self.max_samples} results in a low "
                    f"number ({draws}) of bootstrap samples. We recommend passing `max_samples` "
                    "as an integer instead.",
                    UserWarning,
                    stacklevel=6,
                )
        self._n_samples_bootstrap = draws
        return draws

    def _grow_trees(self, data: CodedTrainingSet, seed: int, numbers: range) -> list[GrownTree]:
        """Trees of these numbers, each by one thread; few trees by all threads together."""
        spare: list[TreeMemory] = []  # of threads between two trees
        if len(numbers) < n_threads():
            return [self._grow_one(data, tree_seed(seed, t), None, spare) for t in numbers]
        return map_threads(
            lambda i: self._grow_one(data, tree_seed(seed, numbers[i]), 1, spare), len(numbers)
        )

    def _grow_one(
        self, data: CodedTrainingSet, seed: int, threads: int | None, spare: list[TreeMemory]
    ) -> GrownTree:
        rows, unit = data.rows, data.weight_unit
        if self.bootstrap:
            n, draws = data.n_rows, self._n_samples_bootstrap
            mapped = is_mapped(rows.codes)
            counts = draw_counts(seed, n, draws, data.draw_weights, mapped=mapped)
            weight, unit = self._tree_weights(counts, data.y)
            table = weigh_table(rows.table, weight, is_sum=self._has_weighted_targets)
            rows = rows._replace(table=table)
            del counts, weight  # one entry for each row, while a tree grows
        rules = make_rules(self, rows, data.targets, self.criterion, self._split_mode)
        memory = _take_memory(spare, rules)
        grown = grow_tree(rows, rules, seed, threads, memory)
        spare.append(memory)
        tree = self._finish_tree(grown, data.targets, unit)
        return prune(tree, self.ccp_alpha) if self.ccp_alpha > 0.0 else tree

    @property
    def _has_weighted_targets(self) -> bool:
        """Whether a grower sums weighted targets."""
        return False

    def _tree_weights(self, counts: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
        """Weights of the rows of a bootstrap sample, in units, and the unit."""
        return counts, 1.0

    def _leaf_histograms(
        self, rows: Rows, data: CodedTrainingSet, tables: ForestTables, seed: int
    ) -> dict[str, Any]:
        """Histograms of targets, where they are to be kept."""
        return {}

    def _out_of_bag(
        self, rows: Rows, data: CodedTrainingSet, tables: ForestTables, seed: int
    ) -> dict[str, Any]:
        """Score and predictions of each row by the trees that have not drawn it."""
        n, draws = data.n_rows, self._n_samples_bootstrap
        drawn = [
            np.packbits(draw_counts(tree_seed(seed, t), n, draws, data.draw_weights) > 0)
            for t in range(len(tables))
        ]
        sums = rows.each(sum_out_of_bag, tables.trees, np.stack(drawn))
        if (sums[:, -1] == 0).any():
            warnings.warn(
                "Some inputs do not have OOB scores. This probably means too few trees were used "
                "to compute any reliable OOB estimates.",
                UserWarning,
                stacklevel=5,
            )
        values = sums[:, :-1] / np.maximum(sums[:, -1:], 1.0)
        return self._oob_attributes(values, data.y)

    def _oob_attributes(self, values: np.ndarray, y: np.ndarray) -> dict[str, Any]:
        raise NotImplementedError

    @property
    def estimators_(self) -> list[Any]:
        """The trees as models of their own; they share the tables of the forest."""
        check_is_fitted(self)
        return [self._view(t) for t in range(len(self.tables_))]

    def _view(self, t: int) -> Any:
        params = {name: getattr(self, name) for name in _TREE_PARAMS}
        seed = tree_seed(self._seed, t)
        tree = self._tree_class(random_state=seed % 2**32, **params)
        tree.n_features_in_, tree.n_outputs_ = self.n_features_in_, self.n_outputs_
        tree.tables_ = ForestTables.of([self.tables_.grown(t)])
        return self._fill_view(tree)

    def _fill_view(self, tree: Any) -> Any:
        return tree

    def _require_draws(self, otherwise: str) -> None:
        """Refuse what needs the rows that the trees have drawn, if they were grown apart."""
        if not hasattr(self, "_n_rows"):
            raise ValueError(f"a pooled forest does not know its draws and {otherwise}")

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """Numbers of the rows that each tree has drawn, drawn again by hash."""
        check_is_fitted(self)
        self._require_draws("has no estimators_samples_: ask the forests that were pooled")
        n, numbers = self._n_rows, range(len(self.tables_))
        if not self.bootstrap:
            return [np.arange(n, dtype=np.int32) for _ in numbers]
        draws = self._n_samples_bootstrap
        drawn = (draw_rows(tree_seed(self._seed, t), n, draws, self._draw_weights) for t in numbers)
        return [rows.astype(np.int32) for rows in drawn]

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each column in the decrease of impurity, averaged over the trees."""
        check_is_fitted(self)
        trees = (self.tables_.grown(t) for t in range(len(self.tables_)))
        parts = [
            impurity_importances(tree, self.n_features_in_, normalize=True)
            for tree in trees
            if len(tree.feature) > 1
        ]
        if not parts:
            return np.zeros(self.n_features_in_)
        mean = np.mean(parts, axis=0)
        return mean / mean.sum()

    def decision_path(self, X: Any) -> tuple[csr_matrix, np.ndarray]:
        """Which nodes of all trees each row goes through, and where the nodes of each tree begin.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        return self._decision_paths(X), self.tables_.trees.roots.copy()

    def __len__(self) -> int:
        return len(self.tables_) if hasattr(self, "tables_") else 0

    def __getitem__(self, t: int) -> Any:
        return self.estimators_[t]


class ForestRegressor(CartRegressor, ForestModel):
    """A forest of regression trees."""

    @property
    def _has_weighted_targets(self) -> bool:
        return self.criterion != "absolute_error"

    def _leaf_histograms(
        self, rows: Rows, data: CodedTrainingSet, tables: ForestTables, seed: int
    ) -> dict[str, Any]:
        if not self.keep_targets:
            return {}
        if self.n_outputs_ > 1:
            raise ValueError("keep_targets needs a single target: fit one forest per output")
        n, numbers = data.n_rows, range(len(tables))
        weights = [data.rows.table[:, 0]] * len(tables)
        if self.bootstrap:
            draws, chances = self._n_samples_bootstrap, data.draw_weights
            weights = [draw_counts(tree_seed(seed, t), n, draws, chances) for t in numbers]
        size, mapped = (rows.n_rows, len(tables)), is_mapped(data.rows.codes)
        leaves = allocate(size, np.int64, mapped=True) if mapped else None
        leaves = rows.each(apply_trees, tables.trees, into=leaves)
        return {"leaf_targets_": collect_targets(leaves, weights, data.y[:, 0], tables.trees)}

    def predict_quantiles(self, X: Any, quantiles: Any = (0.1, 0.5, 0.9)) -> np.ndarray:
        """Quantiles of the targets in the leaves of each row, all trees together, (n, n_quantiles).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        quantiles : numbers in [0, 1]
            Which quantiles.
        """
        check_is_fitted(self)
        if not hasattr(self, "leaf_targets_"):
            raise ValueError(
                "quantiles need the targets of the leaves: fit the forest with keep_targets=True"
            )
        shares = np.atleast_1d(np.asarray(quantiles, np.float64))
        if not ((shares >= 0) & (shares <= 1)).all():
            raise ValueError(f"quantiles must lie in [0, 1], got {shares.tolist()}")
        return self._map_rows(X, forest_quantiles, self.tables_.trees, self.leaf_targets_, shares)

    def predict_interval(self, X: Any, level: float = 0.9) -> np.ndarray:
        """Lower and upper end of an interval for the target of each row, (n, 2).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        level : float
            Share of the targets in the leaves that lie between both ends.
        """
        if not 0 <= level <= 1:
            raise ValueError(f"level={level!r} is not in [0, 1]: 0.9 is an interval of 90 %")
        return self.predict_quantiles(X, [(1 - level) / 2, (1 + level) / 2])

    def _oob_attributes(self, values: np.ndarray, y: np.ndarray) -> dict[str, Any]:
        from sklearn.metrics import r2_score  # which imports much

        prediction = values[:, 0] if self.n_outputs_ == 1 else values
        target = y[:, 0] if self.n_outputs_ == 1 else y
        score = self.oob_score if callable(self.oob_score) else r2_score
        return {"oob_prediction_": prediction, "oob_score_": score(target, prediction)}


class ForestClassifier(CartClassifier, ForestModel):
    """A forest of classification trees."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.warm_start and isinstance(self.class_weight, str):
            warnings.warn(
                'class_weight presets "balanced" or "balanced_subsample" are not recommended for '
                "warm_start if the fitted data differs from the full dataset. In order to use "
                '"balanced" weights, use compute_class_weight ("balanced", classes, y) and pass '
                "the resulting weights as the class_weight parameter.",
                UserWarning,
                stacklevel=5,
            )

    def _tree_weights(self, counts: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
        if self.class_weight != "balanced_subsample":
            return counts, 1.0
        factor = np.ones(len(y))
        for codes, n_classes in zip(y.T, self._n_classes_by_output, strict=True):
            drawn = np.repeat(codes, counts)
            known = np.unique(drawn)
            weight = np.zeros(n_classes)
            weight[known] = compute_class_weight("balanced", classes=known, y=drawn)
            factor *= weight[codes]
        return integer_weights(counts * factor, len(y))

    def _oob_attributes(self, values: np.ndarray, y: np.ndarray) -> dict[str, Any]:
        from sklearn.metrics import accuracy_score  # which imports much

        parts = self._split_outputs(values)
        if self.n_outputs_ == 1:
            decision, labels, target = parts, parts.argmax(axis=1), y[:, 0]
        else:
            if (self._n_classes_by_output != 2).any():
                raise ValueError(
                    "The type of target cannot be used to compute OOB estimates: several outputs "
                    "must have two classes each"
                )
            decision = np.stack(parts, axis=2)
            labels, target = decision.argmax(axis=1), y
        score = self.oob_score if callable(self.oob_score) else accuracy_score
        return {"oob_decision_function_": decision, "oob_score_": score(target, labels)}

    def _fill_view(self, tree: Any) -> Any:
        tree.n_classes_ = self.n_classes_
        parts = [np.arange(n, dtype=np.float64) for n in self._n_classes_by_output]
        tree.classes_ = parts[0] if self.n_outputs_ == 1 else parts
        return tree
