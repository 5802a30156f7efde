"""Multi-layer perceptrons that predict numbers."""

from __future__ import annotations

from typing import Any

from sklearn.utils._param_validation import StrOptions

from tenfold.maths.losses import Poisson
from tenfold.neural.losses import Scored, Squared
from tenfold.neural.mlp import Perceptrons
from tenfold.neural.predictors import NetworkRegressor

LOSSES = {"squared_error": Squared(), "poisson": Scored(Poisson())}


class MLPRegressor(Perceptrons, NetworkRegressor):
    r"""Multi-layer perceptron for numbers: dense layers, and one number per column of the target.

    .. math:: \min_W \frac1n \sum_i \tfrac12 \lVert f_W(x_i) - y_i \rVert^2
              + \frac{\alpha}{2 B} \lVert W \rVert^2

    Parameters and attributes are those of `sklearn.neural_network.MLPRegressor`; what differs is
    said at `MLPClassifier`. The loss of several columns is their sum, and scikit-learn reports
    their mean; the steps are the same. [003, unit 3; 004, ch. 4]

    Parameters
    ----------
    loss : {"squared_error", "poisson"}
        Squared error, or that of counts, whose logarithm the network then predicts.
    hidden_layer_sizes, activation, solver, alpha : see `MLPClassifier`
        Layers, how to minimise, and the penalty.
    batch_size, learning_rate, learning_rate_init, power_t : see `MLPClassifier`
        Size and length of the steps.
    max_iter, shuffle, random_state, tol, verbose, warm_start : see `MLPClassifier`
        Epochs, their order, when to stop, progress, and where to start.
    momentum, nesterovs_momentum, beta_1, beta_2, epsilon : see `MLPClassifier`
        Settings of "sgd" and "adam".
    early_stopping, validation_fraction, n_iter_no_change : see `MLPClassifier`
        Whether to watch the R^2 of rows held back.

    Attributes
    ----------
    coefs_, intercepts_ : weights (inputs, units) and constants (units,) of each layer
    loss_, best_loss_, loss_curve_ : mean loss of the last epoch, the least, and of each
    validation_scores_, best_validation_score_ : R^2 on the rows held back
    n_iter_, t_, converged_ : epochs, steps, and whether the fit stopped by itself
    n_layers_, n_outputs_, out_activation_ : layers with input and output, numbers, their function
    history_ : loss of each epoch ("objective"), and "seconds"
    network_, params_ : layers, and all parameters, one flat list

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
        **Perceptrons._parameter_constraints,  # noqa: SLF001
        "loss": [StrOptions(set(LOSSES))],
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

    def _loss(self, targets: int) -> Any:
        return LOSSES[self.loss]

    @property
    def out_activation_(self) -> str:
        """What makes predictions of scores."""
        return "exp" if self.loss == "poisson" else "identity"
