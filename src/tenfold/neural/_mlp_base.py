"""What multi-layer perceptrons share: parameters, layers, training and learned attributes."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from tenfold.base._sklearn import Interval, Options, StrOptions
from tenfold.engine.rows import Rows
from tenfold.neural._estimators import NetworkEstimator
from tenfold.neural._training import train_lbfgs
from tenfold.neural._training_config import StoppingRule, TrainingConfig
from tenfold.neural.layers.base import Layer
from tenfold.neural.layers.dense import Dense, check_layer_sizes
from tenfold.neural.network import build_network
from tenfold.optim.optimizers import SGD, Adam, Momentum, Nesterov
from tenfold.optim.schedules import ConstantRate, inverse_scaling

_POSITIVE = Interval(Real, 0, None, closed="neither")
_NON_NEGATIVE = Interval(Real, 0, None, closed="left")
_COUNT = Interval(Integral, 1, None, closed="left")
_ACTIVATIONS = {
    *("identity", "logistic", "tanh", "relu"),
    *("leaky_relu", "elu", "gelu", "silu", "softplus"),
}


class MLPBase(NetworkEstimator):
    """Base of `MLPClassifier` and `MLPRegressor`."""

    _sparse_ok = True
    _law_params = {"learning_rate_init": 0.05, "tol": 1.0, "n_iter_no_change": 2}  # a few epochs
    _parameter_constraints = {
        "hidden_layer_sizes": ["array-like", _COUNT],
        "activation": [StrOptions(_ACTIVATIONS)],
        "solver": [StrOptions({"lbfgs", "sgd", "adam"})],
        "alpha": [_NON_NEGATIVE],
        "batch_size": [StrOptions({"auto"}), _COUNT],
        "learning_rate": [StrOptions({"constant", "invscaling", "adaptive"})],
        "learning_rate_init": [_POSITIVE],
        "power_t": [_NON_NEGATIVE],
        "max_iter": [_COUNT],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "tol": [_NON_NEGATIVE],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "momentum": [Interval(Real, 0, 1, closed="both")],
        "nesterovs_momentum": ["boolean"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "beta_1": [Interval(Real, 0, 1, closed="left")],
        "beta_2": [Interval(Real, 0, 1, closed="left")],
        "epsilon": [_POSITIVE],
        "n_iter_no_change": [_COUNT, Options(Real, {np.inf})],
        "max_fun": [_COUNT],
    }

    def __init__(
        self,
        hidden_layer_sizes: Any = (100,),
        activation: str = "relu",
        *,
        solver: str = "adam",
        alpha: float = 0.0001,
        batch_size: Any = "auto",
        learning_rate: str = "constant",
        learning_rate_init: float = 0.001,
        power_t: float = 0.5,
        max_iter: int = 200,
        shuffle: bool = True,
        random_state: Any = None,
        tol: float = 1e-4,
        verbose: int = False,
        warm_start: bool = False,
        momentum: float = 0.9,
        nesterovs_momentum: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        n_iter_no_change: Any = 10,
        max_fun: int = 15000,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.solver = solver
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.power_t = power_t
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.tol = tol
        self.verbose = verbose
        self.warm_start = warm_start
        self.momentum = momentum
        self.nesterovs_momentum = nesterovs_momentum
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.n_iter_no_change = n_iter_no_change
        self.max_fun = max_fun

    def _layers(self, targets: int) -> Sequence[Layer]:
        sizes = check_layer_sizes(self.hidden_layer_sizes)
        hidden = [Dense(n, self.activation, init="glorot_uniform") for n in sizes]
        return [*hidden, Dense()]

    def _dtype(self, rows: Rows) -> Any:
        return rows.dtype

    def _training_config(self, rows: Rows) -> TrainingConfig:
        size = min(200 if self.batch_size == "auto" else self.batch_size, rows.n_rows)
        rate = self.learning_rate_init
        schedule: Any = ConstantRate(rate)
        if self.solver == "sgd" and self.learning_rate == "invscaling":
            schedule = inverse_scaling(rate * size**-self.power_t, self.power_t)
        return TrainingConfig(
            self._optimizer(), schedule, size, l2=self.alpha / size, shuffle=self.shuffle
        )

    def _optimizer(self) -> Any:
        if self.solver == "adam":
            return Adam(self.beta_1, self.beta_2, self.epsilon)
        if self.momentum == 0:
            return SGD()
        return (Nesterov if self.nesterovs_momentum else Momentum)(self.momentum)

    def _stopping_rule(self) -> StoppingRule:
        adaptive_rate = self.solver == "sgd" and self.learning_rate == "adaptive"
        return StoppingRule(self.max_iter, self.tol, self.n_iter_no_change, adaptive_rate)

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        if self.solver != "lbfgs":
            learned = super()._fit(rows, rng)
            held_out = round(self.validation_fraction * rows.n_rows) if self.early_stopping else 0
            seen = {"t_": learned["n_iter_"] * (rows.n_rows - held_out)}
            return learned | seen | self._layer_counts(rows)
        objective, params = self._initialize(rows, rng)
        params, minimum = train_lbfgs(
            objective,
            rows,
            params,
            self.alpha,
            tol=self.tol,
            max_iter=min(self.max_iter, self.max_fun),
        )
        loss = np.float64(minimum.value)
        learned = {"network_": objective.network, "params_": params, "loss_": loss}
        return learned | {"t_": 0} | minimum.report | self._layer_counts(rows)

    def _results(self, objective: Any, loop: Any) -> dict[str, Any]:
        state = loop.state
        learned = super()._results(objective, loop) | {"loss_": np.float64(state.losses[-1])}
        if not self.early_stopping:
            scores = {"validation_scores_": None, "best_validation_score_": None}
            return learned | {"best_loss_": np.float64(state.best)} | scores
        values = [1 - value for value in state.validation_errors]
        scores = {"validation_scores_": values, "best_validation_score_": max(values)}
        return learned | {"best_loss_": None} | scores

    def _convergence_words(self) -> str:
        if self.solver == "lbfgs":
            return "lbfgs failed to converge."
        return (
            f"Stochastic Optimizer: Maximum iterations ({self.max_iter}) reached and the "
            "optimization hasn't converged yet."
        )

    def _layer_counts(self, rows: Rows) -> dict[str, Any]:
        """Numbers of layers and outputs, as scikit-learn counts them."""
        targets = self._n_targets(rows)
        units = self._loss(targets).units(targets)
        depth = np.size(self.hidden_layer_sizes)
        return {"n_layers_": int(depth) + 2, "n_outputs_": units}

    def _train_one_epoch(self, rows: Rows) -> None:
        if self.solver == "lbfgs":
            raise AttributeError(
                "partial_fit is only available for stochastic optimizers: solver='lbfgs' needs all "
                "rows at each step"
            )
        before = getattr(self, "t_", 0)
        super()._train_one_epoch(rows)
        self._set_learned({"t_": before + rows.n_rows, **self._layer_counts(rows)})

    @property
    def coefs_(self) -> list[np.ndarray]:
        """Weights of each layer, (inputs, units); they may be replaced."""
        return self.params_[::2]

    @coefs_.setter
    def coefs_(self, arrays: Sequence[Any]) -> None:
        self._replace_params(0, arrays)

    @property
    def intercepts_(self) -> list[np.ndarray]:
        """Biases of each layer, (units,); they may be replaced."""
        return self.params_[1::2]

    @intercepts_.setter
    def intercepts_(self, arrays: Sequence[Any]) -> None:
        self._replace_params(1, arrays)

    def _replace_params(self, first: int, arrays: Sequence[Any]) -> None:
        """Replace every second parameter from `first` on; the network follows new shapes."""
        params: list[Any] = list(getattr(self, "params_", ()))
        if len(params) != 2 * len(arrays):
            params = 2 * len(arrays) * [None]
        params[first::2] = [np.asarray(array) for array in arrays]
        self.params_ = params
        vars(self).pop("training_state_", None)
        if any(part is None for part in params) or any(W.ndim != 2 for W in params[::2]):
            return  # more will come
        units = [W.shape[1] for W in params[::2]]
        if hasattr(self, "network_") and [s[0] for s in self.network_.shapes] == units:
            return
        hidden = [Dense(n, self.activation, init="glorot_uniform") for n in units[:-1]]
        self.row_shape_ = (len(params[0]),)
        rng = np.random.default_rng(0)
        self.network_, _ = build_network(
            [*hidden, Dense(units[-1])], self.row_shape_, rng, params[0].dtype
        )


def encode_label_matrix(rows: Rows) -> tuple[Rows, int]:
    """Rows with a matrix of zeros and ones as their target, and its number of columns."""
    source: Any = copy(rows.source)
    y = getattr(source, "y", None)
    if not isinstance(y, np.ndarray):
        raise TypeError("several labels per row are for arrays, sparse matrices and tables")
    if type_of_target(y) != "multilabel-indicator":
        raise ValueError(
            f"y has {y.shape[1]} columns, which must hold zeros and ones, one column for each "
            "label that a row may have: sklearn.preprocessing.MultiLabelBinarizer makes them"
        )
    source.y = (y > 0).astype(np.int64)
    encoded = Rows(source, engine=rows.engine)
    encoded.allow_nan = rows.allow_nan
    return encoded, y.shape[1]
