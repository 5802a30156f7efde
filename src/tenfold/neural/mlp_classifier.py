"""Multi-layer perceptrons that tell classes apart."""

from __future__ import annotations

from typing import Any

from tenfold.neural.losses import BinaryCrossEntropy, CrossEntropy
from tenfold.neural.mlp import Perceptrons
from tenfold.neural.predictors import NetworkClassifier


class MLPClassifier(Perceptrons, NetworkClassifier):
    r"""Multi-layer perceptron: dense layers, and one score per class at the end.

    .. math:: \min_W \frac1n \sum_i -\log \mathrm{softmax}(f_W(x_i))_{y_i}
              + \frac{\alpha}{2 B} \lVert W \rVert^2

    B is the number of rows of a batch; two classes need one score and take the binary
    cross-entropy. Parameters and attributes are those of `sklearn.neural_network.MLPClassifier`.
    What differs: the network learns in float32 (with "lbfgs" in the type of the rows), rows held
    back for `early_stopping` are drawn without regard to their class, there are more activations,
    several labels per row are not supported, and `max_fun` does not exist. The order of rows
    depends on the seed alone: arrays, files, and any number of threads give the same bits.
    [001, 3.1; 003, unit 3; 004, ch. 4]

    Parameters
    ----------
    hidden_layer_sizes : tuple of int
        Units of each hidden layer; with none it is softmax regression.
    activation : str
        "relu", "tanh", "logistic", "identity", or one of "leaky_relu", "elu", "gelu", "silu",
        "softplus".
    solver : {"adam", "sgd", "lbfgs"}
        Steps on batches, or on all rows.
    alpha : float
        Strength of the L2 penalty of the weights.
    batch_size : int or "auto"
        Rows of a step; "auto" is 200, or all if there are fewer.
    learning_rate : {"constant", "invscaling", "adaptive"}
        For "sgd": as it is, falling with t^-power_t, or divided by 5 when nothing is gained.
    learning_rate_init : float
        Length of the first step.
    power_t : float
        Power of "invscaling".
    max_iter : int
        Most epochs, or steps of "lbfgs".
    shuffle : bool
        Whether each epoch has a random order of its own.
    random_state : int, optional
        Seed of the start and the orders.
    tol : float
        Stop when more than `n_iter_no_change` epochs in a row have gained less than this.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    warm_start : bool
        Whether to start from the weights of the last fit.
    momentum, nesterovs_momentum : float, bool
        For "sgd": how much of the last step is kept, and whether to look ahead.
    early_stopping : bool
        Whether to hold rows back, watch their accuracy, and keep the weights that were best there.
    validation_fraction : float
        Share of the rows held back.
    beta_1, beta_2, epsilon : float
        Settings of "adam".
    n_iter_no_change : int
        See `tol`.

    Attributes
    ----------
    classes_ : (k,) labels
    coefs_, intercepts_ : weights (inputs, units) and constants (units,) of each layer
    loss_, best_loss_ : mean loss of the last epoch, and the least, with the penalty
    loss_curve_ : mean loss of each epoch
    validation_scores_, best_validation_score_ : accuracy on the rows held back
    n_iter_, t_, converged_ : epochs, steps, and whether the fit stopped by itself
    n_layers_, n_outputs_, out_activation_ : layers with input and output, scores, their function
    history_ : loss of each epoch ("objective"), and "seconds"
    network_, params_ : layers, and all parameters, one flat list

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import MLPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MLPClassifier((10,), solver="lbfgs", random_state=0, max_iter=500).fit(X, y)
    >>> bool(model.score(X, y) > 0.97)
    True
    """

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

    def _loss(self, targets: int) -> Any:
        return BinaryCrossEntropy() if targets == 2 else CrossEntropy()

    @property
    def out_activation_(self) -> str:
        """What makes probabilities of scores."""
        return "logistic" if self.n_outputs_ == 1 else "softmax"
