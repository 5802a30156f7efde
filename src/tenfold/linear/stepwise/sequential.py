"""Models that learn linear scores row by row: settings, starts, `fit` and `partial_fit`."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils._param_validation import Interval

from tenfold.estimator import Estimator
from tenfold.linear.stepwise.epochs import (
    Course,
    Stop,
    Task,
    averages_of,
    new_scores,
    report,
    run,
    weights_of,
)
from tenfold.linear.stepwise.sgd_leaves import RATES, Plan, Scores
from tenfold.linear.stepwise.sgd_losses import NUMBER
from tenfold.rows import Chunk, Rows
from tenfold.solve import until_still

EPOCHS = {  # settings that all share
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
SPARSE_OFFSET = 0.01  # scikit-learn's share: sparse columns move rarely, the constant always


def plan_of(
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
) -> Plan:
    """Settings in the words of scikit-learn as numbers for the compiled loop."""
    share = {"l1": 1.0, "elasticnet": l1_ratio}.get(penalty or "", 0.0) or 0.0
    strength = alpha if penalty else 0.0
    usual = alpha**-0.75 if alpha else 0.0  # the first step is a typical weight, alpha^(-1/4)
    return Plan(
        loss=NUMBER[loss],
        epsilon=float(epsilon),
        rate=RATES.index(learning_rate),
        eta0=float(eta0),
        power=float(power_t),
        alpha=float(alpha),
        t0=usual if t0 is None else t0,
        shrink=float((1 - share) * strength),
        cut=float(share * strength),
        average=float(average),
        offset=1.0,
    )


class Sequential(Estimator):
    """What a model shares that learns row by row. It defines `_settings` and `_task`."""

    _sparse_ok = True
    _draws = _row_by_row = True
    _sparse_offset = SPARSE_OFFSET

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
        with self._at_work():
            rows = self._training_rows(X, y, sample_weight)
            self._keep(self._fit(rows, self._rng(), coef_init, intercept_init))
        return self

    def _fit(
        self, rows: Rows, rng: np.random.Generator, coef: Any = None, intercept: Any = None
    ) -> dict[str, Any]:
        plan = self._plan(rows)
        scores = new_scores(*self._start(rows, coef, intercept), plan)
        task = self._task(rows)
        if self.early_stopping:
            task = self._holding(task, rows, rng)
        stop = Stop(self.tol, self.max_iter, self.n_iter_no_change, self._faultless)
        return self._after(rows, rng, scores, 1.0, task, plan, stop)

    @property
    def _faultless(self) -> bool:
        return False

    def _plan(self, rows: Rows) -> Plan:
        offset = (self._sparse_offset if rows.sparse else 1.0) if self.fit_intercept else 0.0
        return self._settings()._replace(offset=offset)

    def _settings(self) -> Plan:
        raise NotImplementedError(f"{type(self).__name__} has to define _settings()")

    def _task(self, rows: Rows) -> Task:
        raise NotImplementedError(f"{type(self).__name__} has to define _task(rows)")

    def _start(self, rows: Rows, coef: Any, intercept: Any) -> tuple[np.ndarray, np.ndarray]:
        """Weights (m, p) and constants (m,) to begin with."""
        if self.warm_start and hasattr(self, "coef_"):
            coef = self.coef_ if coef is None else coef
            intercept = self.intercept_ if intercept is None else intercept
        m = self._m
        given = (coef, (m, rows.n_features), "coef_init"), (intercept, (m,), "intercept_init")
        W, b = (first_value(value, shape, name) for value, shape, name in given)
        return W.astype(rows.dtype), b

    @property
    def _m(self) -> int:
        """Number of scores: one, but for more than two classes."""
        k = len(self.classes_) if is_classifier(self) else 2
        return 1 if k == 2 else k

    def _holding(self, task: Task, rows: Rows, rng: np.random.Generator) -> Task:
        """The task with some rows held for validation: as many of each class as it has in all."""
        from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

        seed = self.random_state
        seed = seed if isinstance(seed, Integral) else int(rng.integers(2**31))
        split = StratifiedShuffleSplit if is_classifier(self) else ShuffleSplit
        chosen = split(test_size=self.validation_fraction, random_state=seed)
        y, w = rows.each(target_of), rows.each(weight_of)
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
        scores: Scores,
        t: float,
        task: Task,
        plan: Plan,
        stop: Stop,
    ) -> dict[str, Any]:
        """What is learned by running from here until it is time to stop."""
        drawn = rng.integers(2**31, size=stop.max_iter).tolist()
        seeds = drawn if self.shuffle else [None] * stop.max_iter
        loop = run(rows, seeds, scores, t, task, plan, stop)
        W, b = (averages_of if self.average else weights_of)(loop.state.scores)
        coef = W.astype(rows.dtype)
        return {
            "coef_": coef if is_classifier(self) else coef[0],
            "intercept_": b.astype(rows.dtype),
            "t_": loop.state.t,
            "scores_": loop.state.scores,
            **report(loop, stop),
            **self._more(loop),
        }

    def _more(self, loop: until_still[Course]) -> dict[str, Any]:
        return {}

    def _check_partial(self) -> None:
        self._validate_params()
        if self.early_stopping:
            raise ValueError("early_stopping should be False with partial_fit")

    def _more_rows(self, rows: Rows) -> None:
        """One epoch over further rows, from where the model stands."""
        plan = self._plan(rows)
        stop = Stop(None, 1, 1)
        scores = self._kept(rows, plan)
        t = self.t_ if hasattr(self, "t_") else 1.0
        self._keep(self._after(rows, self._rng(), scores, t, self._task(rows), plan, stop))

    def _kept(self, rows: Rows, plan: Plan) -> Scores:
        """A copy of the scores so far; new ones where there are none that suit the plan."""
        kept = getattr(self, "scores_", None)
        W = np.zeros((self._m, rows.n_features), rows.dtype)
        fresh = new_scores(W, np.zeros(self._m), plan)
        if kept is None:
            return fresh
        if [part.shape for part in kept] != [part.shape for part in fresh]:
            W, b = weights_of(kept)
            return new_scores(W.astype(rows.dtype), b, plan)
        late, taken, own = (part.copy() for part in kept[1:])
        return Scores(kept.v.astype(rows.dtype), late, taken, own)


def first_value(value: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
    """A start of the right shape: zeros, or what is given."""
    if value is None:
        return np.zeros(shape)
    array = np.asarray(value, np.float64)
    if array.size != np.prod(shape) or (shape[0] > 1 and array.shape != shape):
        raise ValueError(
            f"Provided {name} does not match dataset: it is {array.shape}, not {shape}"
        )
    return array.reshape(shape)


def target_of(chunk: Chunk) -> np.ndarray:
    """The targets themselves."""
    return chunk.y


def weight_of(chunk: Chunk) -> np.ndarray:
    """The weights themselves."""
    return chunk.weights()
