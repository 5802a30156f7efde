"""Base classes of estimators made of layers: building, training, prediction, scoring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base.estimator import Estimator
from tenfold.base.mixins import Classifier, Regressor, encode_row_labels
from tenfold.engine.merge_tree import map_statistic
from tenfold.engine.rows import Rows
from tenfold.neural._inference import (
    ValidationSet,
    error_rate,
    hold_out,
    layer_outputs,
    predict_rows,
    unexplained_variance,
)
from tenfold.neural._training import TrainingState, initial_state, train
from tenfold.neural._training_config import (
    BatchInput,
    NetworkObjective,
    StoppingRule,
    TrainingConfig,
    make_dense_batch,
)
from tenfold.neural.layers.base import Layer, Shape
from tenfold.neural.layers.dense import Dense
from tenfold.neural.network import Network, build_network
from tenfold.optim.convergence import until_converged


class NetworkEstimator(Estimator):
    """A network as a model.

    A model of this kind says which layers (`_layers`), which loss (`_loss`), how it steps
    (`_plan`) and when it stops (`_stop`). Rows that are images or sequences come as arrays of more
    than two axes, or flat with their shape given.
    """

    _draws = True
    _row_by_row = True
    _in_batches = True  # a row twice is in two batches, a row of weight two in one
    _intake: BatchInput = staticmethod(make_dense_batch)

    def _layers(self, targets: int) -> Sequence[Layer]:
        """Layers for so many classes, or columns of the target."""
        raise NotImplementedError(f"{type(self).__name__} has to define _layers(targets)")

    def _loss(self, targets: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has to define _loss(targets)")

    def _plan(self, rows: Rows) -> TrainingConfig:
        raise NotImplementedError(f"{type(self).__name__} has to define _plan(rows)")

    def _stop(self) -> StoppingRule:
        raise NotImplementedError(f"{type(self).__name__} has to define _stop()")

    def _targets(self, rows: Rows) -> int:
        """Number of classes, or of columns of the target."""
        raise NotImplementedError(f"{type(self).__name__} has to define _targets(rows)")

    def _measure(self) -> Any:
        """What early stopping watches."""
        raise NotImplementedError(f"{type(self).__name__} has to define _measure()")

    def _shape(self) -> Shape | None:
        """Shape of a row, where it is given as a parameter."""
        return None

    def _rows(self, X: Any, y: Any = None, w: Any = None, *, reset: bool = True) -> Rows:
        shape = None
        if isinstance(X, np.ndarray) and X.ndim > 2:
            shape, X = X.shape[1:], X.reshape(len(X), -1)
        rows = super()._rows(X, y, w, reset=reset)
        if reset:
            self.row_shape_ = tuple(self._shape() or shape or (rows.n_features,))
            if prod(self.row_shape_) != rows.n_features:
                raise ValueError(
                    f"rows of {rows.n_features} numbers do not have the shape {self.row_shape_}"
                )
        return rows

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        plan = self._plan(rows)
        task, params = self._begun(rows, rng)
        held = self._held(rows, rng)
        seed = int(rng.integers(2**31))
        loop = train(task, rows, initial_state(params, plan.rule), plan, self._stop(), seed, held)
        return self._results(task, loop)

    def _begun(
        self, rows: Rows, rng: np.random.Generator
    ) -> tuple[NetworkObjective, list[np.ndarray]]:
        """Network and parameters to start from: new ones, or those of the last fit."""
        targets = self._targets(rows)
        loss = self._loss(targets)
        layers = _fill_output_units(self._layers(targets), loss.units(targets))
        network, params = build_network(layers, self.row_shape_, rng, self._dtype(rows))
        _check_output_shape(network, loss, targets)
        known = getattr(self, "params_", None)
        if getattr(self, "warm_start", False) and known is not None:
            params = _warm_start_params(known, params)
        return NetworkObjective(network, loss, self._intake), params

    def _dtype(self, rows: Rows) -> Any:
        """In which type the network learns."""
        return np.float32

    def _held(self, rows: Rows, rng: np.random.Generator) -> ValidationSet | None:
        """Rows held back, if the fit is to stop early."""
        if not getattr(self, "early_stopping", False):
            return None
        return hold_out(rows, self.validation_fraction, rng, self._measure())

    def _results(
        self, task: NetworkObjective, loop: until_converged[TrainingState]
    ) -> dict[str, Any]:
        course, stop = loop.state, self._stop()
        params = course.params if course.best_params is None else course.best_params
        return {
            "network_": task.network,
            "params_": params,
            "loss_curve_": list(course.losses),
            "t_": course.t,
            **loop.report,
            "converged_": loop.converged or stop.tol is None,
        }

    def _more(self, rows: Rows) -> None:
        """One epoch over further rows, from where the model stands."""
        rng, plan = self._rng(), self._plan(rows)
        course = getattr(self, "course_", None)
        if course is None or not hasattr(self, "params_"):
            task, params = self._begun(rows, rng)
            params = [p.copy() for p in getattr(self, "params_", params)]
            course = initial_state(params, plan.rule)
        else:
            task, course = self._task(), _copy_state(course)
        loop = train(task, rows, course, plan, StoppingRule(1), int(rng.integers(2**31)) + course.t)
        kept = {"course_": _copy_state(loop.state), "n_iter_": getattr(self, "n_iter_", 0) + 1}
        self._set_learned(self._results(task, loop) | {"converged_": True} | kept)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows; images and sequences also as arrays of more than two axes.
        y : array or column name
            Target, or labels; a name when X is a table or a file.
        sample_weight : array or column name, optional
            Weight of each row in its batch.

        Returns
        -------
        self
        """
        vars(self).pop("course_", None)
        return super().fit(X, y, sample_weight)

    def _task(self) -> NetworkObjective:
        """The network that was learned, and its loss."""
        targets = len(self.classes_) if hasattr(self, "classes_") else 1
        return NetworkObjective(self.network_, self._loss(targets), self._intake)

    def _said(self, X: Any, leaf: Any) -> np.ndarray:
        """A leaf on all rows; float64 rows are judged in float64."""
        check_is_fitted(self)
        with self._work_context():
            rows = self._rows(X, reset=False)
            dtype = np.result_type(rows.dtype, self.params_[0]) if self.params_ else rows.dtype
            params = [p.astype(dtype, copy=False) for p in self.params_]
            return rows.each(leaf, self._task(), params)

    def outputs(self, X: Any) -> list[np.ndarray]:
        """What every layer gives for each row, from the first layer to the last.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Returns
        -------
        list of arrays, each (n, ...)
        """
        flat = self._said(X, layer_outputs)
        shapes = self.network_.shapes
        ends = np.cumsum([prod(shape) for shape in shapes])[:-1]
        parts = np.split(flat, ends, axis=1)
        return [part.reshape(-1, *shape) for part, shape in zip(parts, shapes, strict=True)]


def _fill_output_units(layers: Sequence[Layer], units: int) -> list[Layer]:
    """The layers; a `Dense()` without a number of units gets as many as the loss needs."""
    return [
        layer._replace(units=units) if isinstance(layer, Dense) and layer.units is None else layer
        for layer in layers
    ]


def _check_output_shape(network: Network, loss: Any, targets: int) -> None:
    """Raise an error if the last layer does not give what the loss needs."""
    end, units = (network.shapes or [network.shape])[-1], loss.units(targets)
    if getattr(loss, "per_step", False):
        if len(end) == 1:
            raise ValueError(
                f"there is a target for each step, but the last layer gives {end} for a whole "
                "sequence: recurrent layers give all states with all_states=True"
            )
        end = end[1:]
    if end not in ((units,), (1,) if targets == 2 else (units,)):
        raise ValueError(
            f"the last layer gives {end} for each row, but {type(loss).__name__} needs ({units},): "
            "end with Dense(), which takes as many units as are needed"
        )


def _warm_start_params(known: list[np.ndarray], params: list[np.ndarray]) -> list[np.ndarray]:
    """Copies of the parameters of the last fit, if they fit the layers."""
    if [p.shape for p in known] != [p.shape for p in params]:
        raise ValueError(
            "warm_start: the layers, classes or columns have changed since the last fit, so its "
            "parameters do not fit. Set warm_start=False, or make a new model."
        )
    return [old.astype(new.dtype) for old, new in zip(known, params, strict=True)]


def _copy_state(course: TrainingState) -> TrainingState:
    """The same place with memory of its own: training changes it."""
    return map_statistic(lambda part: part.copy() if isinstance(part, np.ndarray) else part, course)


class NetworkScoreMixin:
    """How good the predictions for rows are, or for the steps of all sequences."""

    _metric: str  # of sklearn.metrics
    predict: Callable[[Any], Any]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of labels, or R^2 of numbers: over rows, or over the steps of all sequences.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array, or list of arrays
            Their labels or targets.
        sample_weight : array, optional
            Their weights.
        """
        from sklearn import metrics

        y, said, w = _concatenate_steps(y, self.predict(X), sample_weight)
        return float(getattr(metrics, self._metric)(y, said, sample_weight=w))


class NetworkClassifier(NetworkScoreMixin, NetworkEstimator, Classifier):
    """A network that tells classes apart."""

    _metric = "accuracy_score"
    classes_: Any  # sorted labels

    def _training_rows(self, X: Any, y: Any, w: Any) -> Rows:
        warm = getattr(self, "warm_start", False) and hasattr(self, "classes_")
        before = self.classes_ if warm else None
        rows = super()._training_rows(X, y, w)
        if before is not None and not np.array_equal(before, self.classes_):
            now, self.classes_ = self.classes_, before
            raise ValueError(
                "warm_start can only be used where `y` has the same classes as in the previous "
                f"call to fit. Previously got {before}, `y` has {now}"
            )
        return rows

    def _targets(self, rows: Rows) -> int:
        return len(self.classes_)

    def _measure(self) -> Any:
        return error_rate

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Returns
        -------
        (n,) array of labels; where steps have labels, a list with an array for each sequence
        """
        return _map_sequences(
            lambda p: self.classes_[p.argmax(axis=1)], self._said(X, predict_rows)
        )

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class for each row, (n, k), or for each step, a list of arrays.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        return self._said(X, predict_rows)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log of `predict_proba`.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        with np.errstate(divide="ignore"):
            return _map_sequences(np.log, self.predict_proba(X))

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, classes: Any = None
    ) -> Self:
        """One epoch over further rows, from where the model stands.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The further rows.
        y : array or column name
            Their labels.
        sample_weight : array or column name, optional
            Their weights.
        classes : array, optional
            All labels there are; needed at the first call.

        Returns
        -------
        self
        """
        _check_partial_fit(self)
        first = not hasattr(self, "params_")
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        with self._work_context():
            rows = self._rows(X, y, sample_weight, reset=first)
            known = np.unique(classes) if first else self.classes_
            self.classes_, rows = encode_row_labels(rows, known)
            self._more(rows)
        return self


class NetworkRegressor(NetworkScoreMixin, NetworkEstimator, Regressor):
    """A network that predicts numbers."""

    _metric = "r2_score"
    _multi_output = True

    def _targets(self, rows: Rows) -> int:
        shape = rows.target_shape
        return shape[0] if shape else 1

    def _measure(self) -> Any:
        return unexplained_variance

    def predict(self, X: Any) -> np.ndarray:
        """The predicted number of each row, or numbers, (n,) or (n, q); of steps, a list of them.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        said = self._said(X, predict_rows)
        return _map_sequences(
            lambda numbers: numbers[:, 0] if numbers.shape[1] == 1 else numbers, said
        )

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """One epoch over further rows, from where the model stands.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The further rows.
        y : array or column name
            Their targets.
        sample_weight : array or column name, optional
            Their weights.

        Returns
        -------
        self
        """
        _check_partial_fit(self)
        with self._work_context():
            self._more(self._rows(X, y, sample_weight, reset=not hasattr(self, "params_")))
        return self


def _map_sequences(f: Callable[[np.ndarray], np.ndarray], said: Any) -> Any:
    """A function of what is said of all rows, or of the steps of each sequence."""
    return [f(part) for part in said] if isinstance(said, list) else f(said)


def _concatenate_steps(y: Any, said: Any, w: Any) -> tuple[Any, Any, Any]:
    """Truth, predictions and weights; the steps of all sequences one after the other."""
    if not isinstance(said, list):
        return y, said, w
    w = None if w is None else np.repeat(w, [len(part) for part in said])
    return np.concatenate(list(y)), np.concatenate(said), w


def _check_partial_fit(model: Any) -> None:
    """Raise an error if the settings do not suit one epoch at a time."""
    model._validate_params()  # noqa: SLF001
    if getattr(model, "early_stopping", False):
        raise ValueError("partial_fit does not support early_stopping=True")
