"""Multi-layer perceptrons with scikit-learn's parameters."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval, Options, StrOptions
from tenfold.engine.rows import Rows
from tenfold.math.losses import PoissonLoss
from tenfold.neural._estimators import NetworkClassifier, NetworkEstimator, NetworkRegressor
from tenfold.neural._training import train_lbfgs
from tenfold.neural._training_config import StoppingRule, TrainingConfig
from tenfold.neural.layers.base import Layer
from tenfold.neural.layers.dense import Dense
from tenfold.neural.losses import BinaryCrossEntropy, CrossEntropy, HalfSquaredError, PointwiseLoss
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

    def _layers(self, targets: int) -> Sequence[Layer]:
        sizes = np.atleast_1d(np.asarray(self.hidden_layer_sizes, int))
        if (sizes <= 0).any():
            raise ValueError(f"hidden_layer_sizes must be > 0, got {sizes.tolist()}.")
        hidden = [Dense(int(n), self.activation, init="glorot_uniform") for n in sizes]
        return [*hidden, Dense()]

    def _dtype(self, rows: Rows) -> Any:
        """The type of the rows for L-BFGS, whose line search compares nearby values."""
        return rows.dtype if self.solver == "lbfgs" else np.float32

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
            return super()._fit(rows, rng) | self._layer_counts(rows)
        objective, params = self._initialize(rows, rng)
        params, minimum = train_lbfgs(
            objective, rows, params, self.alpha, tol=self.tol, max_iter=self.max_iter
        )
        learned = {"network_": objective.network, "params_": params, "loss_": minimum.value}
        steps = {"t_": minimum.report["n_iter_"]}
        return learned | steps | minimum.report | self._layer_counts(rows)

    def _results(self, objective: Any, loop: Any) -> dict[str, Any]:
        state = loop.state
        learned = super()._results(objective, loop) | {"loss_": state.losses[-1]}
        if not self.early_stopping:
            return learned | {"best_loss_": state.best}
        scores = [1 - value for value in state.validation_errors]
        return learned | {"validation_scores_": scores, "best_validation_score_": max(scores)}

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
        super()._train_one_epoch(rows)
        self._set_learned(self._layer_counts(rows))

    @property
    def coefs_(self) -> list[np.ndarray]:
        """Weights of each layer, (inputs, units)."""
        return self.params_[::2]

    @property
    def intercepts_(self) -> list[np.ndarray]:
        """Biases of each layer, (units,)."""
        return self.params_[1::2]


class MLPClassifier(MLPBase, NetworkClassifier):
    r"""Multi-layer perceptron classifier.

    .. math:: \min_W \frac1n \sum_i -\log \mathrm{softmax}(f_W(x_i))_{y_i}
              + \frac{\alpha}{2 B} \lVert W \rVert^2

    B is the batch size; two classes have one score and the binary cross-entropy. Parameters and
    attributes are those of `sklearn.neural_network.MLPClassifier`. Differences: the network is
    trained in float32 (with "lbfgs" in the type of the rows), the rows held out for
    `early_stopping` are not stratified, there are more activations, several labels per row are not
    supported, and there is no `max_fun`. The order of rows depends on the seed alone: arrays,
    files, and any number of threads give the same bits.

    Parameters
    ----------
    hidden_layer_sizes : tuple of int
        Units of each hidden layer; without any it is softmax regression.
    activation : str
        "relu", "tanh", "logistic", "identity", or one of "leaky_relu", "elu", "gelu", "silu",
        "softplus".
    solver : {"adam", "sgd", "lbfgs"}
        Optimizer: minibatch steps ("adam", "sgd"), or L-BFGS on all rows.
    alpha : float
        Strength of the L2 penalty of the weights.
    batch_size : int or "auto"
        Rows of a minibatch; "auto" is 200, or all rows if there are fewer.
    learning_rate : {"constant", "invscaling", "adaptive"}
        For "sgd": constant, decreasing as t^-power_t, or divided by 5 when the loss stagnates.
    learning_rate_init : float
        Initial learning rate.
    power_t : float
        Exponent of "invscaling".
    max_iter : int
        Maximal number of epochs, or of iterations of "lbfgs".
    shuffle : bool
        Whether each epoch draws a new random order.
    random_state : int, optional
        Seed of the initialization and the orders.
    tol : float
        Stop when more than `n_iter_no_change` epochs in a row improve the loss by less than this.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    warm_start : bool
        Whether to start from the parameters of the last fit.
    momentum, nesterovs_momentum : float, bool
        For "sgd": momentum, and whether it is Nesterov's.
    early_stopping : bool
        Whether to hold out rows, monitor their accuracy, and keep the parameters that maximize it.
    validation_fraction : float
        Fraction of the rows held out.
    beta_1, beta_2, epsilon : float
        Parameters of "adam".
    n_iter_no_change : int
        See `tol`.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    coefs_, intercepts_ : weights (inputs, units) and biases (units,) of each layer
    loss_, best_loss_ : mean loss of the last epoch and of the best one, with the penalty
    loss_curve_ : mean loss of each epoch
    validation_scores_, best_validation_score_ : accuracy on the rows held out
    n_iter_, t_, converged_ : epochs, steps, and whether the fit stopped by itself
    n_layers_, n_outputs_, out_activation_ : numbers of layers (with input and output) and scores
    history_ : loss of each epoch ("objective"), and "seconds"
    network_, params_ : layers, and all parameters, one flat list

    See Also
    --------
    MLPRegressor, SequentialClassifier, ConvClassifier

    References
    ----------
    D. E. Rumelhart, G. E. Hinton, R. J. Williams (1986), "Learning representations by
    back-propagating errors".
    D. P. Kingma, J. Ba (2015), "Adam: a method for stochastic optimization".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import MLPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MLPClassifier((10,), solver="lbfgs", random_state=0, max_iter=500).fit(X, y)
    >>> bool(model.score(X, y) > 0.97)
    True
    """

    def _loss(self, targets: int) -> Any:
        return BinaryCrossEntropy() if targets == 2 else CrossEntropy()

    @property
    def out_activation_(self) -> str:
        """Function that maps scores to probabilities."""
        return "logistic" if self.n_outputs_ == 1 else "softmax"


_REGRESSION_LOSSES = {"squared_error": HalfSquaredError(), "poisson": PointwiseLoss(PoissonLoss())}


class MLPRegressor(MLPBase, NetworkRegressor):
    r"""Multi-layer perceptron regressor, for one or several target columns.

    .. math:: \min_W \frac1n \sum_i \tfrac12 \lVert f_W(x_i) - y_i \rVert^2
              + \frac{\alpha}{2 B} \lVert W \rVert^2

    Parameters and attributes are those of `sklearn.neural_network.MLPRegressor`; for differences
    see `MLPClassifier`. The loss of several columns is their sum, where scikit-learn reports their
    mean; the steps are the same.

    Parameters
    ----------
    loss : {"squared_error", "poisson"}
        Squared error, or the Poisson loss of counts, with a log link.
    hidden_layer_sizes, activation, solver, alpha : see `MLPClassifier`
        Layers, optimizer and penalty.
    batch_size, learning_rate, learning_rate_init, power_t : see `MLPClassifier`
        Batch size and learning rate.
    max_iter, shuffle, random_state, tol, verbose, warm_start : see `MLPClassifier`
        Epochs, their order, stopping, progress and initialization.
    momentum, nesterovs_momentum, beta_1, beta_2, epsilon : see `MLPClassifier`
        Parameters of "sgd" and "adam".
    early_stopping, validation_fraction, n_iter_no_change : see `MLPClassifier`
        Whether to monitor R^2 on rows held out.

    Attributes
    ----------
    coefs_, intercepts_ : weights (inputs, units) and biases (units,) of each layer
    loss_, best_loss_, loss_curve_ : mean loss of the last epoch, of the best one, and of each
    validation_scores_, best_validation_score_ : R^2 on the rows held out
    n_iter_, t_, converged_ : epochs, steps, and whether the fit stopped by itself
    n_layers_, n_outputs_, out_activation_ : numbers of layers (with input and output) and outputs
    history_ : loss of each epoch ("objective"), and "seconds"
    network_, params_ : layers, and all parameters, one flat list

    See Also
    --------
    MLPClassifier, SequentialRegressor

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MLPRegressor
    >>> x = np.linspace(-3, 3, 200)[:, None]
    >>> settings = {"activation": "tanh", "solver": "lbfgs", "max_iter": 2000, "random_state": 0}
    >>> model = MLPRegressor(hidden_layer_sizes=(20,), **settings)
    >>> bool(model.fit(x, np.sin(x)[:, 0]).score(x, np.sin(x)[:, 0]) > 0.999)
    True
    """

    _parameter_constraints = {
        **MLPBase._parameter_constraints,  # noqa: SLF001
        "loss": [StrOptions(set(_REGRESSION_LOSSES))],
    }

    def __init__(
        self,
        loss: str = "squared_error",
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
    ) -> None:
        self.loss = loss
        super().__init__(
            hidden_layer_sizes,
            activation,
            solver=solver,
            alpha=alpha,
            batch_size=batch_size,
            learning_rate=learning_rate,
            learning_rate_init=learning_rate_init,
            power_t=power_t,
            max_iter=max_iter,
            shuffle=shuffle,
            random_state=random_state,
            tol=tol,
            verbose=verbose,
            warm_start=warm_start,
            momentum=momentum,
            nesterovs_momentum=nesterovs_momentum,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            beta_1=beta_1,
            beta_2=beta_2,
            epsilon=epsilon,
            n_iter_no_change=n_iter_no_change,
        )

    def _loss(self, targets: int) -> Any:
        return _REGRESSION_LOSSES[self.loss]

    @property
    def out_activation_(self) -> str:
        """Function that maps scores to predictions."""
        return "exp" if self.loss == "poisson" else "identity"
