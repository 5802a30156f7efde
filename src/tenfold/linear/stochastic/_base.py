"""Base classes of models that learn linear scores row by row: parameters, fit and partial_fit."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.estimator import Estimator
from tenfold.base.mixins import encode_row_labels, require_target
from tenfold.base.numerical_errors import explain_numerical_errors
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear._base import LinearClassifier, SparseCoefMixin
from tenfold.linear._losses_numba import LOSS_CODES
from tenfold.linear._objective import one_vs_rest_weights, sum_class_weights
from tenfold.linear.stochastic._convergence import convergence_report
from tenfold.linear.stochastic._sgd_loop import (
    SGDProgress,
    SGDStopping,
    SGDTask,
    averaged_weights,
    current_weights,
    initial_state,
    run_epochs,
)
from tenfold.linear.stochastic._sgd_numba import (
    LEARNING_RATES,
    SGDSettings,
    SGDState,
)
from tenfold.optim.convergence import until_converged

EPOCH_CONSTRAINTS = {  # of all models
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
# scikit-learn's step size of the intercept on sparse rows, relative to that of the weights: sparse
# columns are updated rarely, the intercept always
_SPARSE_INTERCEPT_DECAY = 0.01


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
    """Parameters of scikit-learn as numbers for the compiled loop."""
    share = {"l1": 1.0, "elasticnet": l1_ratio}.get(penalty or "", 0.0) or 0.0
    strength = alpha if penalty else 0.0
    default_t0 = alpha**-0.75 if alpha else 0.0  # first step of a typical weight, alpha^(-1/4)
    return SGDSettings(
        loss=LOSS_CODES[loss],
        epsilon=float(epsilon),
        schedule=LEARNING_RATES.index(learning_rate),
        eta0=float(eta0),
        power=float(power_t),
        alpha=float(alpha),
        t0=default_t0 if t0 is None else t0,
        l2=float((1 - share) * strength),
        l1=float(share * strength),
        average_from=float(average),
        intercept_factor=1.0,
    )


class BaseSGD(SparseCoefMixin, Estimator):
    """Base of models that learn row by row; a model defines `_settings` and `_task`."""

    _sparse_ok = True
    _samples_rows = _learns_in_row_order = True
    _law_rows = 6000
    _sparse_intercept_factor = _SPARSE_INTERCEPT_DECAY

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
            Initial values.
        sample_weight : array or column name, optional
            Weight of each row: a factor on its step.

        Returns
        -------
        self
        """
        self._validate_params()
        with self._work_context():
            rows = self._training_rows(X, y, sample_weight)
            with explain_numerical_errors(self, rows):
                self._set_learned(self._fit(rows, self._rng(), coef_init, intercept_init))
        return self

    def _convergence_words(self) -> str:
        return (
            "Maximum number of iteration reached before convergence. Consider increasing max_iter "
            "to improve the fit."
        )

    def _fit(
        self, rows: Rows, rng: np.random.Generator, coef: Any = None, intercept: Any = None
    ) -> dict[str, Any]:
        settings = self._settings_for(rows)
        state = initial_state(*self._initial_weights(rows, coef, intercept), settings)
        task = self._task(rows)
        if self.early_stopping:
            task = self._with_validation(task, rows, rng)
        stop = SGDStopping(
            self.tol, self.max_iter, self.n_iter_no_change, self._stop_without_mistakes
        )
        return self._run(rows, rng, state, 1.0, task, settings, stop)

    @property
    def _stop_without_mistakes(self) -> bool:
        return False

    def _settings_for(self, rows: Rows) -> SGDSettings:
        factor = self._sparse_intercept_factor if rows.sparse else 1.0
        return self._settings()._replace(intercept_factor=factor if self.fit_intercept else 0.0)

    def _settings(self) -> SGDSettings:
        raise NotImplementedError(f"{type(self).__name__} has to define _settings()")

    def _task(self, rows: Rows) -> SGDTask:
        raise NotImplementedError(f"{type(self).__name__} has to define _task(rows)")

    def _initial_weights(
        self, rows: Rows, coef: Any, intercept: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Initial weights (m, p) and intercepts (m,)."""
        if self.warm_start and hasattr(self, "coef_"):
            self.densify()
            coef = self.coef_ if coef is None else coef
            intercept = self.intercept_ if intercept is None else intercept
        m = self._n_scores
        given = (coef, (m, rows.n_features), "coef_init"), (intercept, (m,), "intercept_init")
        W, b = (_initial_array(value, shape, name) for value, shape, name in given)
        return W.astype(rows.dtype), b

    @property
    def _n_scores(self) -> int:
        """Number of scores: one per class if there are more than two, else one."""
        k = len(self.classes_) if is_classifier(self) else 2
        return 1 if k == 2 else k

    def _with_validation(self, task: SGDTask, rows: Rows, rng: np.random.Generator) -> SGDTask:
        """The task with some rows held out for validation, stratified by class."""
        from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

        seed = self.random_state
        seed = seed if isinstance(seed, Integral) else int(rng.integers(2**31))
        splitter = StratifiedShuffleSplit if is_classifier(self) else ShuffleSplit
        split = splitter(test_size=self.validation_fraction, random_state=seed)
        y, w = rows.each(_targets), rows.each(_weights)
        is_validation = np.zeros(len(y), bool)
        is_validation[next(split.split(np.zeros((len(y), 1)), y))[1]] = True
        y, w = y[is_validation], w[is_validation].astype(np.float64)
        if not w.any():
            raise ValueError(
                "The sample weights for validation set are all zero, consider using a different "
                "random state."
            )
        scale = w.sum() if is_classifier(self) else w @ (y - np.average(y, weights=w)) ** 2
        return task._replace(is_validation=is_validation, scale=float(scale) or 1.0)

    def _run(
        self,
        rows: Rows,
        rng: np.random.Generator,
        state: SGDState,
        t: float,
        task: SGDTask,
        settings: SGDSettings,
        stop: SGDStopping,
    ) -> dict[str, Any]:
        """Run epochs until the stopping rule holds; the learned attributes."""
        random_seeds = rng.integers(2**31, size=stop.max_iter).tolist()
        seeds = random_seeds if self.shuffle else [None] * stop.max_iter
        loop = run_epochs(rows, seeds, state, t, task, settings, stop)
        W, b = (averaged_weights if self.average else current_weights)(loop.state.state)
        report = convergence_report(loop, rows, (W, b), task, settings, stop)
        coef = W.astype(rows.dtype)
        return {
            "coef_": coef if is_classifier(self) else coef[0],
            "intercept_": b.astype(rows.dtype),
            "t_": loop.state.t,
            "scores_": loop.state.state,
            **report,
            **self._extra_attributes(loop),
        }

    def _extra_attributes(self, loop: until_converged[SGDProgress]) -> dict[str, Any]:
        return {}

    def _check_partial_fit(self) -> None:
        self._validate_params()
        if self.early_stopping:
            raise ValueError("early_stopping should be False with partial_fit")

    def _continue(self, rows: Rows) -> None:
        """One epoch over further rows, from the current state."""
        settings = self._settings_for(rows)
        stop = SGDStopping(None, 1, 1)
        state = self._current_state(rows, settings)
        t = self.t_ if hasattr(self, "t_") else 1.0
        task = self._task(rows)
        self._set_learned(self._run(rows, self._rng(), state, t, task, settings, stop))

    def _current_state(self, rows: Rows, settings: SGDSettings) -> SGDState:
        """A copy of the state so far; an initial one where there is none that fits the settings."""
        current = getattr(self, "scores_", None)
        W = np.zeros((self._n_scores, rows.n_features), rows.dtype)
        initial = initial_state(W, np.zeros(self._n_scores), settings)
        if current is None:
            return initial
        if [part.shape for part in current] != [part.shape for part in initial]:
            W, b = current_weights(current)
            return initial_state(W.astype(rows.dtype), b, settings)
        return SGDState(current.v.astype(rows.dtype), *(part.copy() for part in current[1:]))


def _initial_array(value: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
    """An initial value of the right shape: zeros, or what is given."""
    if value is None:
        return np.zeros(shape)
    array = np.asarray(value, np.float64)
    if array.size != np.prod(shape) or (shape[0] > 1 and array.shape != shape):
        raise ValueError(
            f"Provided {name} does not match dataset: it is {array.shape}, not {shape}"
        )
    return array.reshape(shape)


def _targets(chunk: Chunk) -> np.ndarray:
    """Targets of a chunk."""
    return chunk.y


def _weights(chunk: Chunk) -> np.ndarray:
    """Weights of a chunk."""
    return chunk.weights()


CLASSIFIER_CONSTRAINTS = {  # of all classifiers
    **EPOCH_CONSTRAINTS,
    "n_jobs": [None, Integral],
    "class_weight": [StrOptions({"balanced"}), dict, None],
}


class BaseSGDClassifier(BaseSGD, LinearClassifier):  # pyright: ignore[reportIncompatibleMethodOverride]
    """Base of classifiers that learn row by row, one class against the rest."""

    _min_classes = 2

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """One epoch over further rows, from the current state.

        Without shuffling, a stream in parts gives the same as the whole in one epoch.

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
        self._check_partial_fit()
        with self._work_context():
            known = self._check_classes(classes)
            rows = self._rows(X, y, sample_weight, reset=not hasattr(self, "classes_"))
            require_target(self, rows)
            self.classes_, rows = encode_row_labels(rows, known)
            self._continue(rows)
        return self

    def _check_classes(self, classes: Any) -> np.ndarray:
        given = None if classes is None else np.unique(classes)
        known = getattr(self, "classes_", given)
        if known is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if given is not None and not np.array_equal(given, known):
            raise ValueError(f"`classes={classes!r}` is not the same as on last call, {known}")
        if len(known) < self._min_classes:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(known)} class"
            )
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight 'balanced' is not supported for partial_fit. In order to use "
                "'balanced' weights, use compute_class_weight('balanced', classes=classes, y=y). "
                "In place of y you can use a large enough sample of the full training set target "
                "to properly estimate the class frequency distributions. Pass the resulting "
                "weights as the class_weight parameter."
            )
        return known

    def _task(self, rows: Rows) -> SGDTask:
        k = len(self.classes_)
        balanced = isinstance(self.class_weight, str)
        totals = rows.total(sum_class_weights, k) if balanced else np.ones(k)
        cost = one_vs_rest_weights(self.class_weight, self.classes_, totals)
        targets = np.arange(k - self._n_scores, k, dtype=np.float64)
        return SGDTask(targets, cost, np.zeros(0, bool))


PENALTY_CONSTRAINTS = {
    "penalty": [StrOptions({"l2", "l1", "elasticnet"}), None],
    "alpha": [Interval(Real, 0, None, closed="left")],
    "l1_ratio": [Interval(Real, 0, 1, closed="both"), None],
}
