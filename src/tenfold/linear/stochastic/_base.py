"""Base classes of models that learn linear scores row by row: parameters, fit and partial_fit."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.estimator import Estimator
from tenfold.base.mixins import encode_row_labels, require_target
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear._base import LinearClassifier
from tenfold.linear._objective import compute_class_weight, sum_class_weights
from tenfold.linear.stochastic._sgd_loop import (
    SGDProgress,
    SGDStopping,
    SGDTask,
    averaged_weights,
    convergence_report,
    current_weights,
    initial_state,
    run_epochs,
)
from tenfold.linear.stochastic._sgd_numba import (
    LEARNING_RATES,
    LOSS_CODES,
    SGDSettings,
    SGDState,
)
from tenfold.optim.convergence import until_converged

EPOCH_CONSTRAINTS = {  # settings that all share
    "fit_intercept": ["boolean"],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left"), None],
    "shuffle": ["boolean"],
    "verbose": ["verbose"],
    "random_state": ["random_state"],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "warm_start": ["boolean"],
    "average": [Interval(Integral, 0, None, closed="neither"), "boolean"],
}
_SPARSE_INTERCEPT_DECAY = (
    0.01  # scikit-learn's share: sparse columns move rarely, the constant always
)


def make_sgd_settings(
    loss: str,
    learning_rate: str,
    *,
    alpha: float,
    eta0: float,
    average: int,
    epsilon: float = 0.0,
    power_t: float = 0.5,
    penalty: str | None = None,
    l1_ratio: float | None = None,
    t0: float | None = None,
) -> SGDSettings:
    """Settings in the words of scikit-learn as numbers for the compiled loop."""
    share = {"l1": 1.0, "elasticnet": l1_ratio}.get(penalty or "", 0.0) or 0.0
    strength = alpha if penalty else 0.0
    usual = alpha**-0.75 if alpha else 0.0  # the first step is a typical weight, alpha^(-1/4)
    return SGDSettings(
        loss=LOSS_CODES[loss],
        epsilon=float(epsilon),
        rate=LEARNING_RATES.index(learning_rate),
        eta0=float(eta0),
        power=float(power_t),
        alpha=float(alpha),
        t0=usual if t0 is None else t0,
        shrink=float((1 - share) * strength),
        cut=float(share * strength),
        average=float(average),
        offset=1.0,
    )


class BaseSGD(Estimator):
    """What a model shares that learns row by row. It defines `_settings` and `_task`."""

    _sparse_ok = True
    _draws = _row_by_row = True
    _sparse_offset = _SPARSE_INTERCEPT_DECAY

    def fit(  # pyright: ignore[reportIncompatibleMethodOverride] - scikit-learn's order
        self,
        X: Any,
        y: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn from rows, from zero or from given coefficients.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array or column name
            Target, or the labels of a classifier; a name when X is a table or a file.
        coef_init, intercept_init : arrays, optional
            Where to begin.
        sample_weight : array or column name, optional
            Weight of each row: its step is so many times as long.

        Returns
        -------
        self
        """
        self._validate_params()
        with self._work_context():
            rows = self._training_rows(X, y, sample_weight)
            self._set_learned(self._fit(rows, self._rng(), coef_init, intercept_init))
        return self

    def _fit(
        self, rows: Rows, rng: np.random.Generator, coef: Any = None, intercept: Any = None
    ) -> dict[str, Any]:
        plan = self._plan(rows)
        scores = initial_state(*self._start(rows, coef, intercept), plan)
        task = self._task(rows)
        if self.early_stopping:
            task = self._holding(task, rows, rng)
        stop = SGDStopping(self.tol, self.max_iter, self.n_iter_no_change, self._faultless)
        return self._after(rows, rng, scores, 1.0, task, plan, stop)

    @property
    def _faultless(self) -> bool:
        return False

    def _plan(self, rows: Rows) -> SGDSettings:
        offset = (self._sparse_offset if rows.sparse else 1.0) if self.fit_intercept else 0.0
        return self._settings()._replace(offset=offset)

    def _settings(self) -> SGDSettings:
        raise NotImplementedError(f"{type(self).__name__} has to define _settings()")

    def _task(self, rows: Rows) -> SGDTask:
        raise NotImplementedError(f"{type(self).__name__} has to define _task(rows)")

    def _start(self, rows: Rows, coef: Any, intercept: Any) -> tuple[np.ndarray, np.ndarray]:
        """Weights (m, p) and constants (m,) to begin with."""
        if self.warm_start and hasattr(self, "coef_"):
            coef = self.coef_ if coef is None else coef
            intercept = self.intercept_ if intercept is None else intercept
        m = self._m
        given = (coef, (m, rows.n_features), "coef_init"), (intercept, (m,), "intercept_init")
        W, b = (_initial_array(value, shape, name) for value, shape, name in given)
        return W.astype(rows.dtype), b

    @property
    def _m(self) -> int:
        """Number of scores: one, but for more than two classes."""
        k = len(self.classes_) if is_classifier(self) else 2
        return 1 if k == 2 else k

    def _holding(self, task: SGDTask, rows: Rows, rng: np.random.Generator) -> SGDTask:
        """The task with some rows held for validation: as many of each class as it has in all."""
        from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

        seed = self.random_state
        seed = seed if isinstance(seed, Integral) else int(rng.integers(2**31))
        split = StratifiedShuffleSplit if is_classifier(self) else ShuffleSplit
        chosen = split(test_size=self.validation_fraction, random_state=seed)
        y, w = rows.each(_targets), rows.each(_weights)
        held = np.zeros(len(y), bool)
        held[next(chosen.split(np.zeros((len(y), 1)), y))[1]] = True
        y, w = y[held], w[held].astype(np.float64)
        if not w.any():
            raise ValueError(
                "The sample weights for validation set are all zero, consider using a different "
                "random state."
            )
        unit = w.sum() if is_classifier(self) else w @ (y - np.average(y, weights=w)) ** 2
        return task._replace(held=held, unit=float(unit) or 1.0)

    def _after(
        self,
        rows: Rows,
        rng: np.random.Generator,
        scores: SGDState,
        t: float,
        task: SGDTask,
        plan: SGDSettings,
        stop: SGDStopping,
    ) -> dict[str, Any]:
        """What is learned by running from here until it is time to stop."""
        drawn = rng.integers(2**31, size=stop.max_iter).tolist()
        seeds = drawn if self.shuffle else [None] * stop.max_iter
        loop = run_epochs(rows, seeds, scores, t, task, plan, stop)
        W, b = (averaged_weights if self.average else current_weights)(loop.state.scores)
        coef = W.astype(rows.dtype)
        return {
            "coef_": coef if is_classifier(self) else coef[0],
            "intercept_": b.astype(rows.dtype),
            "t_": loop.state.t,
            "scores_": loop.state.scores,
            **convergence_report(loop, stop),
            **self._more(loop),
        }

    def _more(self, loop: until_converged[SGDProgress]) -> dict[str, Any]:
        return {}

    def _check_partial(self) -> None:
        self._validate_params()
        if self.early_stopping:
            raise ValueError("early_stopping should be False with partial_fit")

    def _more_rows(self, rows: Rows) -> None:
        """One epoch over further rows, from where the model stands."""
        plan = self._plan(rows)
        stop = SGDStopping(None, 1, 1)
        scores = self._kept(rows, plan)
        t = self.t_ if hasattr(self, "t_") else 1.0
        self._set_learned(self._after(rows, self._rng(), scores, t, self._task(rows), plan, stop))

    def _kept(self, rows: Rows, plan: SGDSettings) -> SGDState:
        """A copy of the scores so far; new ones where there are none that suit the plan."""
        kept = getattr(self, "scores_", None)
        W = np.zeros((self._m, rows.n_features), rows.dtype)
        fresh = initial_state(W, np.zeros(self._m), plan)
        if kept is None:
            return fresh
        if [part.shape for part in kept] != [part.shape for part in fresh]:
            W, b = current_weights(kept)
            return initial_state(W.astype(rows.dtype), b, plan)
        late, taken, own = (part.copy() for part in kept[1:])
        return SGDState(kept.v.astype(rows.dtype), late, taken, own)


def _initial_array(value: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
    """A start of the right shape: zeros, or what is given."""
    if value is None:
        return np.zeros(shape)
    array = np.asarray(value, np.float64)
    if array.size != np.prod(shape) or (shape[0] > 1 and array.shape != shape):
        raise ValueError(
            f"Provided {name} does not match dataset: it is {array.shape}, not {shape}"
        )
    return array.reshape(shape)


def _targets(chunk: Chunk) -> np.ndarray:
    """The targets themselves."""
    return chunk.y


def _weights(chunk: Chunk) -> np.ndarray:
    """The weights themselves."""
    return chunk.weights()


CLASSIFIER_CONSTRAINTS = {  # settings that all classifiers share
    **EPOCH_CONSTRAINTS,
    "n_jobs": [None, Integral],
    "class_weight": [StrOptions({"balanced"}), dict, None],
}


class BaseSGDClassifier(BaseSGD, LinearClassifier):  # pyright: ignore[reportIncompatibleMethodOverride]
    """What classifiers share that learn row by row; two classes need one score."""

    _min_classes = 2

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """One epoch over further rows, from where the model stands.

        Without shuffling, a stream in parts teaches the same as the whole in one epoch.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The further rows.
        y : array or column name
            Their labels.
        classes : array, optional
            All labels there are; needed in the first call.
        sample_weight : array or column name, optional
            Their weights.

        Returns
        -------
        self
        """
        self._check_partial()
        with self._work_context():
            known = self._known_classes(classes)
            rows = self._rows(X, y, sample_weight, reset=not hasattr(self, "classes_"))
            require_target(self, rows)
            self.classes_, rows = encode_row_labels(rows, known)
            self._more_rows(rows)
        return self

    def _known_classes(self, classes: Any) -> np.ndarray:
        asked = None if classes is None else np.unique(classes)
        known = getattr(self, "classes_", asked)
        if known is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if asked is not None and not np.array_equal(asked, known):
            raise ValueError(f"`classes={classes!r}` is not the same as on last call, {known}")
        if len(known) < self._min_classes:
            raise ValueError(f"{len(known)} class is not enough to tell classes apart: give two")
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight 'balanced' is not supported for partial_fit: the rows to come are "
                "not known. Give the weights themselves, as "
                "sklearn.utils.class_weight.compute_class_weight makes them from a sample."
            )
        return known

    def _task(self, rows: Rows) -> SGDTask:
        k, m = len(self.classes_), self._m
        weight = (
            rows.total(sum_class_weights, k) if isinstance(self.class_weight, str) else np.ones(k)
        )
        cost = compute_class_weight(self.class_weight, self.classes_, weight)
        cost = np.ones(k) if cost is None else np.asarray(cost, np.float64)
        others = cost[:1] if m == 1 else np.ones(k)
        targets = np.arange(k - m, k, dtype=np.float64)
        return SGDTask(targets, np.column_stack([others, cost[k - m :]]), np.zeros(0, bool))


PENALTY_CONSTRAINTS = {
    "penalty": [StrOptions({"l2", "l1", "elasticnet"}), None],
    "alpha": [Interval(Real, 0, None, closed="left")],
    "l1_ratio": [Interval(Real, 0, 1, closed="both"), None],
}
