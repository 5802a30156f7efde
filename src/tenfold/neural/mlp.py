"""Multi-layer perceptrons with scikit-learn's parameters."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, Options, StrOptions

from tenfold.neural.dense import Dense
from tenfold.neural.full_batch import minimise
from tenfold.neural.layer import Layer
from tenfold.neural.model import NetworkModel
from tenfold.neural.plan import Plan, Stop
from tenfold.rows import Rows
from tenfold.solve.rates import Constant, inverse_scaling
from tenfold.solve.steppers import Adam, Momentum, Nesterov, Plain

POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
COUNT = Interval(Integral, 1, None, closed="left")
ACTIVATIONS = {
    *("identity", "logistic", "tanh", "relu"),
    *("leaky_relu", "elu", "gelu", "silu", "softplus"),
}


class Perceptrons(NetworkModel):
    """What `MLPClassifier` and `MLPRegressor` share."""

    _sparse_ok = True
    _in_laws = {"learning_rate_init": 0.05, "tol": 1.0, "n_iter_no_change": 2}  # a few epochs
    _parameter_constraints = {
        "hidden_layer_sizes": ["array-like", COUNT],
        "activation": [StrOptions(ACTIVATIONS)],
        "solver": [StrOptions({"lbfgs", "sgd", "adam"})],
        "alpha": [NOT_NEGATIVE],
        "batch_size": [StrOptions({"auto"}), COUNT],
        "learning_rate": [StrOptions({"constant", "invscaling", "adaptive"})],
        "learning_rate_init": [POSITIVE],
        "power_t": [NOT_NEGATIVE],
        "max_iter": [COUNT],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "tol": [NOT_NEGATIVE],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "momentum": [Interval(Real, 0, 1, closed="both")],
        "nesterovs_momentum": ["boolean"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "beta_1": [Interval(Real, 0, 1, closed="left")],
        "beta_2": [Interval(Real, 0, 1, closed="left")],
        "epsilon": [POSITIVE],
        "n_iter_no_change": [COUNT, Options(Real, {np.inf})],
    }

    def _layers(self, targets: int) -> Sequence[Layer]:
        sizes = np.atleast_1d(np.asarray(self.hidden_layer_sizes, int))
        if (sizes <= 0).any():
            raise ValueError(f"hidden_layer_sizes must be > 0, got {sizes.tolist()}.")
        hidden = [Dense(int(n), self.activation, start="glorot_uniform") for n in sizes]
        return [*hidden, Dense()]

    def _dtype(self, rows: Rows) -> Any:
        """L-BFGS compares nearby values, which needs the digits of the rows."""
        return rows.dtype if self.solver == "lbfgs" else np.float32

    def _plan(self, rows: Rows) -> Plan:
        size = min(200 if self.batch_size == "auto" else self.batch_size, rows.n_rows)
        eta = self.learning_rate_init
        falls = self.solver == "sgd" and self.learning_rate == "invscaling"
        rate = inverse_scaling(eta * size**-self.power_t, self.power_t) if falls else Constant(eta)
        return Plan(self._rule(), rate, size, l2=self.alpha / size, shuffle=self.shuffle)

    def _rule(self) -> Any:
        if self.solver == "adam":
            return Adam(self.beta_1, self.beta_2, self.epsilon)
        if self.momentum == 0:
            return Plain()
        return (Nesterov if self.nesterovs_momentum else Momentum)(self.momentum)

    def _stop(self) -> Stop:
        slower = self.solver == "sgd" and self.learning_rate == "adaptive"
        return Stop(self.max_iter, self.tol, self.n_iter_no_change, slower)

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        if self.solver != "lbfgs":
            return super()._fit(rows, rng) | self._sizes(rows)
        task, params = self._begun(rows, rng)
        found = minimise(task, rows, params, self.alpha, tol=self.tol, max_iter=self.max_iter)
        learned = {"network_": task.network, "params_": found[0], "loss_": found[1].value}
        return learned | {"t_": found[1].report["n_iter_"]} | found[1].report | self._sizes(rows)

    def _results(self, task: Any, loop: Any) -> dict[str, Any]:
        course = loop.state
        found = super()._results(task, loop) | {"loss_": course.losses[-1]}
        if not self.early_stopping:
            return found | {"best_loss_": course.best}
        scores = [1 - value for value in course.watched]
        return found | {"validation_scores_": scores, "best_validation_score_": max(scores)}

    def _sizes(self, rows: Rows) -> dict[str, Any]:
        """What scikit-learn tells about the layers."""
        targets = self._targets(rows)
        units = self._loss(targets).units(targets)
        depth = np.size(self.hidden_layer_sizes)
        return {"n_layers_": int(depth) + 2, "n_outputs_": units}

    def _more(self, rows: Rows) -> None:
        if self.solver == "lbfgs":
            raise AttributeError(
                "partial_fit is only available for stochastic optimizers: solver='lbfgs' needs all "
                "rows at each step"
            )
        super()._more(rows)
        self._keep(self._sizes(rows))

    @property
    def coefs_(self) -> list[np.ndarray]:
        """Weights of each layer, (inputs, units)."""
        return self.params_[::2]

    @property
    def intercepts_(self) -> list[np.ndarray]:
        """Constants of each layer, (units,)."""
        return self.params_[1::2]
