"""Base classes of estimators made of layers: building, training, prediction, scoring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
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
    output_scores,
    predict_rows,
    unexplained_variance,
)
from tenfold.neural._row_shapes import check_row_shape, stack_images
from tenfold.neural._training import initial_state, train
from tenfold.neural._training_config import (
    BatchInput,
    NetworkObjective,
    Objective,
    StoppingRule,
    TrainingConfig,
    TrainingState,
    make_dense_batch,
)
from tenfold.neural.layers.base import Layer, Shape
from tenfold.neural.layers.dense import Dense
from tenfold.neural.losses import has_probabilities
from tenfold.neural.network import Network, build_network, check_params
from tenfold.optim.convergence import until_converged


class NetworkEstimator(Estimator):
    """Base of estimators made of layers.

    A subclass defines its layers (`_layers`), its loss (`_loss`), how it is trained
    (`_training_config`) and when training stops (`_stopping_rule`). Images and sequences are arrays
    of more than two axes, or flat rows with their shape given.
    """

    _samples_rows = True
    _learns_in_row_order = True
    _learns_in_batches = True  # a row twice is in two batches, a row of weight two in one
    _make_batch: BatchInput = staticmethod(make_dense_batch)

    def _layers(self, targets: int) -> Sequence[Layer]:
        """Layers for a number of classes, or of target columns."""
        raise NotImplementedError(f"{type(self).__name__} has to define _layers(targets)")

    def _loss(self, targets: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has to define _loss(targets)")

    def _training_config(self, rows: Rows) -> TrainingConfig:
        raise NotImplementedError(f"{type(self).__name__} has to define _training_config(rows)")

    def _stopping_rule(self) -> StoppingRule:
        raise NotImplementedError(f"{type(self).__name__} has to define _stopping_rule()")

    def _n_targets(self, rows: Rows) -> int:
        """Number of classes, or of target columns."""
        raise NotImplementedError(f"{type(self).__name__} has to define _n_targets(rows)")

    def _validation_measure(self) -> Any:
        """The error that early stopping monitors."""
        raise NotImplementedError(f"{type(self).__name__} has to define _validation_measure()")

    def _shape(self) -> Shape | None:
        """Shape of a row, where it is given as a parameter."""
        return None

    def _rows(self, X: Any, y: Any = None, w: Any = None, *, reset: bool = True) -> Rows:
        shape, X = None, stack_images(X)
        if isinstance(X, np.ndarray) and X.ndim > 2:
            shape, X = X.shape[1:], X.reshape(len(X), prod(X.shape[1:]))
            if not reset and self._shape() is None:
                check_row_shape(shape, self.row_shape_)
        rows = super()._rows(X, y, w, reset=reset)
        if reset:
            self.row_shape_ = tuple(self._shape() or shape or (rows.n_features,))
            if prod(self.row_shape_) != rows.n_features:
                raise ValueError(
                    f"rows of {rows.n_features} numbers do not have the shape {self.row_shape_}"
                )
        return rows

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        config = self._training_config(rows)
        objective, params = self._initialize(rows, rng)
        validation = self._validation_set(rows, rng)
        seed = int(rng.integers(2**31))
        state = initial_state(params, config.optimizer)
        loop = train(objective, rows, state, config, self._stopping_rule(), seed, validation)
        return self._results(objective, loop)

    def _initialize(
        self, rows: Rows, rng: np.random.Generator
    ) -> tuple[Objective, list[np.ndarray]]:
        """Network and initial parameters: new ones, or those of the last fit (`warm_start`)."""
        targets = self._n_targets(rows)
        loss = self._loss(targets)
        layers = _fill_output_units(self._layers(targets), loss.units(targets))
        network, params = build_network(layers, self.row_shape_, rng, self._dtype(rows))
        _check_output_shape(network, loss, targets)
        last = getattr(self, "params_", None)
        if getattr(self, "warm_start", False) and last is not None:
            params = warm_start_params(last, params)
        return NetworkObjective(network, loss, self._make_batch), params

    def _check_learned(self) -> None:
        """Raise an error if the parts of a loaded network do not fit each other."""
        if not hasattr(self, "params_"):
            return
        network, shape = self.network_, tuple(self.row_shape_)
        if tuple(network.shape) != shape:
            raise ValueError(f"network_ takes rows of shape {network.shape}, row_shape_ is {shape}")
        if not getattr(self, "ragged_", False) and prod(shape) != self.n_features_in_:
            raise ValueError(f"row_shape_ is {shape}, and n_features_in_ is {self.n_features_in_}")
        check_params(network, self.params_)
        if hasattr(self, "classes_") and isinstance(self.classes_, np.ndarray):
            k, units = len(self.classes_), (network.shapes or [shape])[-1][-1]
            if units not in (k, 1 if k == 2 else k):
                raise ValueError(f"the network has {units} outputs, classes_ has {k} labels")

    def _dtype(self, rows: Rows) -> Any:
        """Type in which the network is trained."""
        return np.float32

    def _validation_set(self, rows: Rows, rng: np.random.Generator) -> ValidationSet | None:
        """Rows held out for early stopping, if it is on."""
        if not getattr(self, "early_stopping", False):
            return None
        return hold_out(rows, self.validation_fraction, rng, self._validation_measure())

    def _results(
        self, objective: Objective, loop: until_converged[TrainingState]
    ) -> dict[str, Any]:
        state, stopping = loop.state, self._stopping_rule()
        params = state.params if state.best_params is None else state.best_params
        return {
            "network_": objective.network,
            "params_": params,
            "loss_curve_": list(state.losses),
            "t_": state.step,
            **loop.report,
            # without a tolerance all epochs were asked for: no rule to meet, and no warning
            **({"warning_": ""} if stopping.tol is None else {}),
        }

    def _train_one_epoch(self, rows: Rows) -> None:
        """One epoch over further rows, from the current state of the training."""
        rng, config = self._rng(), self._training_config(rows)
        stored = getattr(self, "training_state_", None)
        if stored is None or not hasattr(self, "params_"):
            objective, params = self._initialize(rows, rng)
            params = [p.copy() for p in getattr(self, "params_", params)]
            state = initial_state(params, config.optimizer)
        else:
            objective, state = self._objective(), _copy_state(TrainingState(**stored))
        seed = int(rng.integers(2**31)) + state.step
        loop = train(objective, rows, state, config, StoppingRule(1), seed)
        learned = self._results(objective, loop) | {"warning_": ""}
        learned["training_state_"] = _copy_state(
            loop.state
        )._asdict()  # plain, so that it can be saved
        learned["n_iter_"] = getattr(self, "n_iter_", 0) + 1
        self._set_learned(learned)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on rows.

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
        vars(self).pop("training_state_", None)
        return super().fit(X, y, sample_weight)

    def _objective(self) -> Objective:
        """The trained network, and its loss."""
        targets = len(self.classes_) if hasattr(self, "classes_") else 1
        return NetworkObjective(self.network_, self._loss(targets), self._make_batch)

    def _apply_to_rows(self, X: Any, chunk_function: Any) -> np.ndarray:
        """A chunk function on all rows; float64 rows are computed in float64."""
        check_is_fitted(self)
        with self._work_context():
            rows = self._rows(X, reset=False)
            dtype = np.result_type(rows.dtype, self.params_[0]) if self.params_ else rows.dtype
            params = [p.astype(dtype, copy=False) for p in self.params_]
            return rows.each(chunk_function, self._objective(), params)

    def outputs(self, X: Any) -> list[np.ndarray]:
        """Outputs of all layers, from the first to the last.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Returns
        -------
        list of arrays, each (n_rows, ...)
        """
        flat = self._apply_to_rows(X, layer_outputs)
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
    """Raise an error if the output of the last layer does not suit the loss."""
    shape, units = (network.shapes or [network.shape])[-1], loss.units(targets)
    if getattr(loss, "per_step", False):
        if len(shape) == 1:
            raise ValueError(
                f"there is a target for each step, but the last layer gives {shape} for a whole "
                "sequence: recurrent layers give all states with all_states=True"
            )
        shape = shape[1:]
    if shape not in ((units,), (1,) if targets == 2 else (units,)):
        raise ValueError(
            f"the last layer gives {shape} for each row, but {type(loss).__name__} needs "
            f"({units},): end with Dense(), which takes as many units as are needed"
        )


def warm_start_params(last: list[np.ndarray], params: list[np.ndarray]) -> list[np.ndarray]:
    """Copies of the parameters of the last fit; an error if their shapes have changed."""
    if [p.shape for p in last] != [p.shape for p in params]:
        raise ValueError(
            "warm_start: the layers, classes or columns have changed since the last fit, so its "
            "parameters do not fit. Set warm_start=False, or make a new model."
        )
    return [old.astype(new.dtype) for old, new in zip(last, params, strict=True)]


def _copy_state(state: TrainingState) -> TrainingState:
    """A copy with arrays of its own: training works in place."""
    return map_statistic(lambda part: part.copy() if isinstance(part, np.ndarray) else part, state)


class NetworkScoreMixin:
    """Score of predictions for rows, or for the steps of all sequences."""

    _metric: str  # of sklearn.metrics
    predict: Callable[[Any], Any]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of a classifier, R^2 of a regressor, over rows or over the steps of sequences.

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

        y, predictions, w = _concatenate_steps(y, self.predict(X), sample_weight)
        return float(getattr(metrics, self._metric)(y, predictions, sample_weight=w))


def _estimates_probabilities(model: Any) -> bool:
    if getattr(model, "loss", "auto") == "auto" or has_probabilities(model.loss):
        return True
    raise AttributeError(
        f"{type(model).__name__} with loss={model.loss!r} has scores (decision_function), but no "
        "probabilities: train with loss='cross_entropy'"
    )


def _has_scores_alone(model: Any) -> bool:
    if getattr(model, "loss", "auto") != "auto" and not has_probabilities(model.loss):
        return True
    raise AttributeError(f"{type(model).__name__} has probabilities: use predict_proba")


class NetworkClassifier(NetworkScoreMixin, NetworkEstimator, Classifier):
    """Base of network classifiers."""

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

    def _encode_labels(self, rows: Rows, classes: Any) -> Rows:
        """The rows with labels as numbers into these classes."""
        self.classes_, rows = encode_row_labels(rows, classes)
        return rows

    def _n_targets(self, rows: Rows) -> int:
        return len(self.classes_)

    def _validation_measure(self) -> Any:
        return error_rate

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Returns
        -------
        (n_rows,) array of labels; where steps have labels, a list with an array for each sequence
        """
        return _map_sequences(
            lambda p: self.classes_[p.argmax(axis=1)], self._apply_to_rows(X, predict_rows)
        )

    @available_if(_has_scores_alone)
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of a network without probabilities: (n_rows,) for two classes, else (n_rows, k).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        Z = self._apply_to_rows(X, output_scores)
        return Z[:, 0] if Z.shape[1] == 1 else Z

    @available_if(_estimates_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class for each row, or a list of arrays for the steps of sequences.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        return self._apply_to_rows(X, predict_rows)

    @available_if(_estimates_probabilities)
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
        """Train for one epoch over further rows.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The further rows.
        y : array or column name
            Their labels.
        sample_weight : array or column name, optional
            Their weights.
        classes : array, optional
            All labels; required in the first call.

        Returns
        -------
        self
        """
        check_partial_fit(self)
        first = not hasattr(self, "params_")
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        labels = np.unique(classes) if first else self.classes_
        if classes is not None and not np.array_equal(np.unique(classes), labels):
            raise ValueError(
                f"classes={classes!r} is not the same as on last call to partial_fit, which was "
                f"{labels}"
            )
        with self._work_context():
            rows = self._rows(X, y, sample_weight, reset=first)
            self._train_one_epoch(self._encode_labels(rows, labels))
        return self


class NetworkRegressor(NetworkScoreMixin, NetworkEstimator, Regressor):
    """Base of network regressors."""

    _metric = "r2_score"
    _multi_output = True

    def _n_targets(self, rows: Rows) -> int:
        shape = rows.target_shape
        return shape[0] if shape else 1

    def _validation_measure(self) -> Any:
        return unexplained_variance

    def predict(self, X: Any) -> np.ndarray:
        """Predicted values, (n_rows,) or (n_rows, n_targets), or a list of arrays for steps.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        predictions = self._apply_to_rows(X, predict_rows)
        return _map_sequences(
            lambda values: values[:, 0] if values.shape[1] == 1 else values, predictions
        )

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train for one epoch over further rows.

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
        check_partial_fit(self)
        with self._work_context():
            first = not hasattr(self, "params_")
            self._train_one_epoch(self._rows(X, y, sample_weight, reset=first))
        return self


def _map_sequences(f: Callable[[np.ndarray], np.ndarray], predictions: Any) -> Any:
    """A function of the predictions of all rows, or of the steps of each sequence."""
    return [f(part) for part in predictions] if isinstance(predictions, list) else f(predictions)


def _concatenate_steps(y: Any, predictions: Any, w: Any) -> tuple[Any, Any, Any]:
    """Targets, predictions and weights, with the steps of all sequences concatenated."""
    if not isinstance(predictions, list):
        return y, predictions, w
    w = None if w is None else np.repeat(w, [len(part) for part in predictions])
    return np.concatenate(list(y)), np.concatenate(predictions), w


def check_partial_fit(model: Any) -> None:
    """Raise an error if a parameter does not allow training one epoch at a time."""
    model._validate_params()  # noqa: SLF001
    if getattr(model, "early_stopping", False):
        raise ValueError("partial_fit does not support early_stopping=True")
