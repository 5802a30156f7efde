"""The fit that both estimators of gradient boosting share."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from itertools import combinations
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import (
    Interval,
    RealNotInt,
    StrOptions,
    check_categorical_features,
    check_monotonic_cst,
)
from tenfold.base.estimator import Estimator
from tenfold.engine.chunk import Chunk
from tenfold.engine.hooks import (
    end_loop,
    record_loop_state,
    report_objective,
    resume_loop,
)
from tenfold.engine.rows import Rows
from tenfold.io.opener import is_rows_like
from tenfold.tree._binning import BinMapper, learn_bins
from tenfold.tree._boosting_data import (
    HeldOut,
    boosted_scores,
    learn_categories,
)
from tenfold.tree._category_table import check_names, encode_table, is_table, learn_codes
from tenfold.tree._growing_tree import TreeShape
from tenfold.tree._losses import BoostingLoss, safe_step
from tenfold.tree._nodes import TreeEnsemble
from tenfold.tree._row_lists_numba import BinnedTree
from tenfold.tree._trainers import ValidationRows, make_trainer
from tenfold.tree._tree_tables import float_trees
from tenfold.tree.shap_values import TreeScore

_AUTO_STOPPING_ROWS = 10_000  # more rows than this are stopped early by default
_SCORED_ROWS = 10_000  # training rows that a scorer looks at


SHARED_CONSTRAINTS: dict[str, Any] = {
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
    "max_depth": [Interval(Integral, 1, None, closed="left"), None],
    "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
    "l2_regularization": [Interval(Real, 0, None, closed="left")],
    "max_features": [Interval(RealNotInt, 0, 1, closed="right")],
    "monotonic_cst": ["array-like", dict, None],
    "interaction_cst": [list, tuple, StrOptions({"pairwise", "no_interactions"}), None],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "validation_fraction": [
        Interval(RealNotInt, 0, 1, closed="neither"),
        Interval(Integral, 1, None, closed="left"),
        None,
    ],
    "tol": [Interval(Real, 0, None, closed="left")],
    "max_bins": [Interval(Integral, 2, 255, closed="both")],
    "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
    "warm_start": ["boolean"],
    "early_stopping": [StrOptions({"auto"}), "boolean"],
    "scoring": [str, callable, None],
    "verbose": ["verbose"],
    "random_state": ["random_state"],
    "growth": [StrOptions({"leafwise", "depthwise"})],
    "subsample": [Interval(Real, 0, 1, closed="right")],
}


class BaseHistGradientBoosting(Estimator):
    """Gradient boosting on exact histograms; derive from one of the two public classes."""

    _sparse_ok = True
    _nan_ok = True
    _given_validation: tuple[Any, Any, Any] = (None, None, None)
    _law_params = {  # few trees; a weight of 2 counts as one row of a leaf
        "max_iter": 5,
        "max_leaf_nodes": 8,
        "learning_rate": 0.5,
        "min_samples_leaf": 1,
        "early_stopping": False,
    }
    _parameter_constraints = SHARED_CONSTRAINTS

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Fit the trees.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; NaN is a missing value.
        y : array or column name
            Targets or labels.
        sample_weight : array or column name, optional
            Weight of each row.
        X_val, y_val, sample_weight_val : arrays, optional
            Rows for early stopping; without them some of the rows are held out.

        Returns
        -------
        self
        """
        if (X_val is None) != (y_val is None):
            given, absent = ("y_val", "X_val") if X_val is None else ("X_val", "y_val")
            raise ValueError(f"{given} is provided, but {absent} was not provided.")
        if X_val is not None and self.early_stopping is False:
            raise ValueError(
                "X_val and y_val are passed to fit while at the same time early_stopping is False. "
                "When passing X_val and y_val to fit, early_stopping should be set to either "
                "'auto' or True."
            )
        self._given_validation = X_val, y_val, sample_weight_val
        try:
            return super().fit(X, y, sample_weight)
        finally:
            del self._given_validation

    def _rows(self, X: Any, y: Any = None, w: Any = None, *, reset: bool = True) -> Rows:
        """Rows with codes in the place of categories of a table."""
        if reset:
            found = None if is_rows_like(X) else self._find_categorical(X)
            self.is_categorical_ = found
            self._category_encoder = None
            if found is not None and is_table(X):
                self._category_encoder = learn_codes(X, found)
        encoder = getattr(self, "_category_encoder", None)
        if encoder is None or is_rows_like(X):
            return super()._rows(X, y, w, reset=reset)
        names = check_names(self, X, reset=reset)
        mask: Any = self.is_categorical_
        matrix = encode_table(X, mask, encoder)
        vars(self).pop("feature_names_in_", None)  # the matrix has none
        try:
            return super()._rows(matrix, y, w, reset=reset)
        finally:
            if names is not None:
                self.feature_names_in_ = names

    def _find_categorical(self, X: Any) -> np.ndarray | None:
        """Which columns of an array or table are categorical; None if none are."""
        if not hasattr(X, "shape"):
            X = np.asarray(X)
        return (
            None if len(X.shape) != 2 else check_categorical_features(X, self.categorical_features)
        )

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        again = bool(self.warm_start and getattr(self, "trees_", None) is not None)
        seed = self._seed if again else int(rng.integers(2**62))
        if self.is_categorical_ is None:
            self.is_categorical_ = self._named_categorical(rows)
        loss = self._make_loss(rows)
        if again:
            self._require_same_scores(rows, loss)
        self.n_trees_per_iteration_ = loss.n_outputs
        shape = self._shape(rows, loss, seed)
        self.do_early_stopping_ = self._stops_early(rows)
        held_out = self._held_out(rows, seed)
        apart = None if held_out is None else held_out.mask(rows.n_rows)
        mapper = self._learn_mapper(rows, seed, apart)
        known = self.trees_ if again else None
        weights = self._class_weights(rows)
        trainer = make_trainer(rows, mapper, loss, shape, held_out, weights, known)
        validation = self._validation_rows(mapper, loss)
        start = self._start if again else trainer.start()
        self._start, self._seed, self._link, self._bin_mapper = start, seed, loss.link, mapper
        self._set_start(rows, trainer, validation, start, again=again)
        trees = self._boost(rows, trainer, validation, apart, again=again)
        return {"trees_": trees, "n_iter_": len(trees) // loss.n_outputs}

    def _require_same_scores(self, rows: Rows, loss: BoostingLoss) -> None:
        """Refuse to add trees to those of other columns or other scores."""
        found = self._link, len(self._start), len(self._bin_mapper.n_bins)
        if found != (loss.link, loss.n_outputs, rows.n_features):
            raise ValueError(
                "warm_start=True goes on with the columns, classes or targets, and the kind of "
                f"loss of the last fit, which had {found[2]} columns and {found[1]} scores (link "
                f"{found[0]!r}): fit a new model, or set warm_start=False"
            )

    def _named_categorical(self, rows: Rows) -> np.ndarray | None:
        """Which columns of rows elsewhere are categorical, by name, number or mask."""
        chosen = self.categorical_features
        if chosen is None or isinstance(chosen, str):
            return None
        chosen = np.asarray(chosen)
        if chosen.dtype.kind in "UO" and rows.names:
            if unknown := sorted(set(chosen.tolist()) - set(rows.names)):
                raise ValueError(f"categorical_features: there is no column {unknown[0]!r}")
            chosen = np.isin(rows.names, chosen)
        return check_categorical_features(np.empty((0, rows.n_features)), chosen)

    def _shape(self, rows: Rows, loss: BoostingLoss, seed: int) -> TreeShape:
        p = rows.n_features
        if self.monotonic_cst is not None and loss.n_outputs != 1:
            raise ValueError(
                "monotonic constraints are not supported for multiclass classification and for "
                "several outputs: fit one model for each"
            )
        signs = np.asarray(check_monotonic_cst(self, self.monotonic_cst), np.int64)
        if self.is_categorical_ is not None and signs[self.is_categorical_].any():
            raise ValueError("Categorical features cannot have monotonic constraints.")
        return TreeShape(
            self.learning_rate,
            self.max_leaf_nodes,
            self.max_depth,
            self.min_samples_leaf,
            self.l2_regularization,
            self.max_features,
            self.growth == "depthwise",
            float(self.subsample),
            signs,
            self._interaction_groups(p),
            seed,
            safe_step(loss, self.learning_rate),
        )

    def _interaction_groups(self, p: int) -> tuple[frozenset[int], ...]:
        """Groups of columns that may meet in a branch; columns in no group are one of their own."""
        given = self.interaction_cst
        if given is None:
            return ()
        if isinstance(given, str):
            given = combinations(range(p), 2 if given == "pairwise" else 1)
        try:
            groups = [frozenset(group) for group in given]
        except TypeError as problem:
            raise ValueError(
                "Interaction constraints must be a sequence of tuples or lists, got: "
                f"{self.interaction_cst!r}."
            ) from problem
        for group in groups:
            if not all(isinstance(j, Integral) and 0 <= j < p for j in group):
                raise ValueError(
                    "Interaction constraints must consist of integer indices in [0, n_features - 1]"
                    f" = [0, {p - 1}], specifying the position of features, got invalid indices: "
                    f"{set(group)!r}"
                )
        rest = frozenset(range(p)).difference(*groups)
        return (*groups, rest) if rest else tuple(groups)

    def _score_trees(self) -> TreeScore:
        link = "log" if self._link == "log" else "identity"
        return TreeScore(self.trees_, self._start, self._categories, link)

    def _stops_early(self, rows: Rows) -> bool:
        if self.early_stopping == "auto":
            return rows.n_rows > _AUTO_STOPPING_ROWS
        return bool(self.early_stopping)

    def _held_out(self, rows: Rows, seed: int) -> HeldOut | None:
        """Rows that are held out for early stopping."""
        given = self._given_validation[0] is not None
        if not self.do_early_stopping_ or self.validation_fraction is None or given:
            return None
        if rows.n_rows < 2:
            raise ValueError("early_stopping needs at least two rows: one is held out")
        if self.validation_fraction >= rows.n_rows:
            raise ValueError(
                f"validation_fraction={self.validation_fraction} holds out all of the "
                f"{rows.n_rows} rows: hold out fewer"
            )
        return HeldOut.of(rows.n_rows, self.validation_fraction, seed)

    def _learn_mapper(self, rows: Rows, seed: int, held_out: np.ndarray | None) -> BinMapper:
        categories, bins = (), ()
        if self.is_categorical_ is not None:
            categories, bins = learn_categories(rows, self.is_categorical_, self.max_bins)
        return learn_bins(
            rows,
            self.max_bins,
            seed % 2**32,
            categories=categories,
            category_bins=bins,
            held_out=held_out,
        )

    def _validation_rows(self, mapper: BinMapper, loss: BoostingLoss) -> ValidationRows | None:
        X, y, w = self._given_validation
        if X is None:
            return None
        return ValidationRows.of(
            self._rows(X, reset=False), self._encode_target(y), w, mapper, loss
        )

    def _set_start(
        self, rows: Rows, trainer: Any, validation: Any, start: np.ndarray, *, again: bool
    ) -> None:
        """Scores before the first new tree."""
        trainer.set_scores(self._scores(rows) if again else start)
        if validation is not None:
            validation.score[:] = self._scores(validation.rows) if again else start

    def _scores(self, rows: Rows) -> np.ndarray:
        return rows.each(boosted_scores, self.trees_, self._start, self._categories)

    @property
    def _categories(self) -> tuple:
        return self._bin_mapper.categories

    def _boost(
        self, rows: Rows, trainer: Any, validation: Any, held_out: np.ndarray | None, *, again: bool
    ) -> TreeEnsemble:
        """Rounds of boosting until the last, or until scores do not improve."""
        known = [self.trees_] if again else []
        done = self.n_iter_ if again else 0
        if done > self.max_iter:
            raise ValueError(
                f"max_iter={self.max_iter} must be larger than or equal to n_iter_={done} when "
                "warm_start==True"
            )
        watch = ScoreWatch(self, rows, trainer, validation, held_out, again=again)
        trees = watch.resume()
        for number in range(done + len(trees), self.max_iter if not watch.stopped else 0):
            trees.append(trainer.grow_round(number))
            if validation is not None:
                validation.add_trees(trees[-1])
            watch.record_round(trees, lambda: self._ensemble(trees, known))
            if watch.stopped:
                break
        end_loop()
        self.train_score_, self.validation_score_ = watch.scores()
        return self._ensemble(trees, known)

    def _ensemble(self, rounds: list[list[BinnedTree]], known: list[TreeEnsemble]) -> TreeEnsemble:
        """All trees so far, with thresholds in the place of bins."""
        made, k = [tree for trees in rounds for tree in trees], self.n_trees_per_iteration_
        new = float_trees(made, np.arange(len(made)) % k, self._bin_mapper)
        if not known:
            return new
        trees = [ensemble.tree(t) for ensemble in (*known, new) for t in range(len(ensemble))]
        return TreeEnsemble.of(trees, np.arange(len(trees)) % k)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each column in the gain of all splits; the sum is 1."""
        check_is_fitted(self)
        return self._sum_by_column(self.trees_.gain)

    @property
    def split_counts_(self) -> np.ndarray:
        """Number of splits by each column."""
        check_is_fitted(self)
        return self._sum_by_column(None)

    def _sum_by_column(self, gain: np.ndarray | None) -> np.ndarray:
        columns = np.concatenate(
            [np.zeros(0, np.int64), *(self.trees_.tree(t).columns for t in range(len(self.trees_)))]
        )
        inner = columns >= 0
        if gain is None:
            return np.bincount(columns[inner], minlength=self.n_features_in_)
        sums = np.bincount(columns[inner], gain[inner], minlength=self.n_features_in_)
        return sums / sums.sum() if sums.any() else sums

    def _staged_scores(self, X: Any) -> Iterator[np.ndarray]:
        """Scores of rows after each round."""
        check_is_fitted(self)
        with self._work_context():
            rows = self._rows(X, reset=False)
        k = self.n_trees_per_iteration_
        score = np.repeat(self._start[None], rows.n_rows, axis=0)
        for number in range(self.n_iter_):
            part = self.trees_.between(number * k, (number + 1) * k)
            with self._work_context():
                score = score + rows.each(boosted_scores, part, np.zeros(k), self._categories)
            yield score


def _as_tuples(rounds: list[list[BinnedTree]]) -> list[list[tuple]]:
    return [[tuple(tree) for tree in trees] for trees in rounds]


class ScoreWatch:
    """Scores after each round, and whether they have stopped to improve."""

    def __init__(
        self,
        model: Any,
        rows: Rows,
        trainer: Any,
        validation: ValidationRows | None,
        held_out: np.ndarray | None,
        *,
        again: bool,
    ) -> None:
        self.model, self.trainer, self.validation = model, trainer, validation
        self.held_out = held_out is not None
        self.train = list(model.train_score_) if again else []
        self.other = list(model.validation_score_) if again else []
        self.scorer, self.stopped = None, False
        if model.do_early_stopping_ and model.scoring != "loss":
            from sklearn.metrics import check_scoring  # which imports much

            self.scorer = check_scoring(model, model.scoring)
            self.parts = self._scored_parts(rows, held_out)
        if model.do_early_stopping_ and not again:
            self._add(lambda: model._ensemble([], []))

    def _scored_parts(self, rows: Rows, held_out: np.ndarray | None) -> list[Chunk]:
        """Rows that a scorer looks at: some for training, and those that are held out."""
        learned = np.arange(rows.n_rows) if held_out is None else np.flatnonzero(~held_out)
        if len(learned) > _SCORED_ROWS:
            draw = np.random.default_rng(self.model._seed).choice
            learned = np.sort(draw(learned, _SCORED_ROWS, replace=False))
        parts = [rows.take(learned)]
        if held_out is not None:
            parts.append(rows.take(np.flatnonzero(held_out)))
        elif self.validation is not None:
            parts.append(self.validation.chunk())
        return parts

    def resume(self) -> list[list[BinnedTree]]:
        """The rounds that a checkpoint has recorded, added to all scores."""
        begun = [self.train, self.other, []]
        _, (self.train, self.other, recorded) = resume_loop(begun)
        rounds = [[BinnedTree(*arrays) for arrays in made] for made in recorded]
        for trees in rounds:
            self.trainer.add_trees(trees)
            if self.validation is not None:
                self.validation.add_trees(trees)
        self.stopped = bool(rounds) and self._has_stalled()
        return rounds

    def record_round(self, rounds: list[list[BinnedTree]], trees: Any) -> None:
        """Score the trees so far, see whether scores still improve, and record the round."""
        if self.model.do_early_stopping_:
            self._add(trees)
            self.stopped = self._has_stalled()
        record_loop_state(len(rounds), lambda: [self.train, self.other, _as_tuples(rounds)])

    def _has_stalled(self) -> bool:
        """Whether the last rounds were no better than the one before them."""
        scores, wait = self.other or self.train, self.model.n_iter_no_change
        if len(scores) <= wait:
            return False
        least = scores[-wait - 1] + self.model.tol
        return not any(score > least for score in scores[-wait:])

    def _add(self, trees: Any) -> None:
        if self.scorer is not None:
            scores = [self._score(part, trees()) for part in self.parts]
        else:
            scores = [-self.trainer.mean_loss(held_out=False)]
            if self.validation is not None:
                scores.append(-self.validation.mean_loss())
            elif self.held_out:
                scores.append(-self.trainer.mean_loss(held_out=True))
        report_objective(-scores[-1])
        self.train.append(scores[0])
        self.other += scores[1:]

    def _score(self, part: Chunk, trees: TreeEnsemble) -> float:
        """The score of a model with these trees."""
        model = copy(self.model)
        vars(model).pop("feature_names_in_", None)
        model._category_encoder, model.trees_ = None, trees
        y = model._decode_target(part.y)
        weights = {} if part.w is None else {"sample_weight": part.w}
        return float(self.scorer(model, part.X, y, **weights))  # type: ignore[misc]

    def scores(self) -> tuple[np.ndarray, np.ndarray]:
        """Scores of training and of validation rows."""
        return np.array(self.train), np.array(self.other)
