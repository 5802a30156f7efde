"""What all models made of layers share: building, training, predicting, looking inside."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.estimator import Estimator
from tenfold.neural.dense import Dense
from tenfold.neural.judging import Held, held_back, layer_outputs
from tenfold.neural.layer import Layer, Shape
from tenfold.neural.network import Network, build
from tenfold.neural.plan import Plan, Stop
from tenfold.neural.steps import Intake, Task, dense_rows
from tenfold.neural.training import Course, begun, train
from tenfold.rows import Rows
from tenfold.rows.tree import mapped
from tenfold.solve import until_still


class NetworkModel(Estimator):
    """A network as a model.

    A model of this kind says which layers (`_layers`), which loss (`_loss`), how it steps
    (`_plan`) and when it stops (`_stop`). Rows that are images or sequences come as arrays of more
    than two axes, or flat with their shape given.
    """

    _draws = True
    _row_by_row = True
    _in_batches = True  # a row twice is in two batches, a row of weight two in one
    _intake: Intake = staticmethod(dense_rows)

    def _layers(self, targets: int) -> Sequence[Layer]:
        """Layers for so many classes, or columns of the target."""
        raise NotImplementedError(f"{type(self).__name__} has to define _layers(targets)")

    def _loss(self, targets: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has to define _loss(targets)")

    def _plan(self, rows: Rows) -> Plan:
        raise NotImplementedError(f"{type(self).__name__} has to define _plan(rows)")

    def _stop(self) -> Stop:
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
        loop = train(task, rows, begun(params, plan.rule), plan, self._stop(), seed, held)
        return self._results(task, loop)

    def _begun(self, rows: Rows, rng: np.random.Generator) -> tuple[Task, list[np.ndarray]]:
        """Network and parameters to start from: new ones, or those of the last fit."""
        targets = self._targets(rows)
        loss = self._loss(targets)
        layers = completed(self._layers(targets), loss.units(targets))
        network, params = build(layers, self.row_shape_, rng, self._dtype(rows))
        assert_ends(network, loss, targets)
        known = getattr(self, "params_", None)
        if getattr(self, "warm_start", False) and known is not None:
            params = continued(known, params)
        return Task(network, loss, self._intake), params

    def _dtype(self, rows: Rows) -> Any:
        """In which type the network learns."""
        return np.float32

    def _held(self, rows: Rows, rng: np.random.Generator) -> Held | None:
        """Rows held back, if the fit is to stop early."""
        if not getattr(self, "early_stopping", False):
            return None
        return held_back(rows, self.validation_fraction, rng, self._measure())

    def _results(self, task: Task, loop: until_still[Course]) -> dict[str, Any]:
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
            course = begun(params, plan.rule)
        else:
            task, course = self._task(), copied(course)
        loop = train(task, rows, course, plan, Stop(1), int(rng.integers(2**31)) + course.t)
        kept = {"course_": copied(loop.state), "n_iter_": getattr(self, "n_iter_", 0) + 1}
        self._keep(self._results(task, loop) | {"converged_": True} | kept)

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

    def _task(self) -> Task:
        """The network that was learned, and its loss."""
        targets = len(self.classes_) if hasattr(self, "classes_") else 1
        return Task(self.network_, self._loss(targets), self._intake)

    def _said(self, X: Any, leaf: Any) -> np.ndarray:
        """A leaf on all rows; float64 rows are judged in float64."""
        check_is_fitted(self)
        with self._at_work():
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


def completed(layers: Sequence[Layer], units: int) -> list[Layer]:
    """The layers; a `Dense()` without a number of units gets as many as the loss needs."""
    return [
        layer._replace(units=units) if isinstance(layer, Dense) and layer.units is None else layer
        for layer in layers
    ]


def assert_ends(network: Network, loss: Any, targets: int) -> None:
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


def continued(known: list[np.ndarray], params: list[np.ndarray]) -> list[np.ndarray]:
    """Copies of the parameters of the last fit, if they fit the layers."""
    if [p.shape for p in known] != [p.shape for p in params]:
        raise ValueError(
            "warm_start: the layers, classes or columns have changed since the last fit, so its "
            "parameters do not fit. Set warm_start=False, or make a new model."
        )
    return [old.astype(new.dtype) for old, new in zip(known, params, strict=True)]


def copied(course: Course) -> Course:
    """The same place with memory of its own: training changes it."""
    return mapped(lambda part: part.copy() if isinstance(part, np.ndarray) else part, course)
