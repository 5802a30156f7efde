"""Multi-layer perceptrons with scikit-learn's parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import StrOptions
from tenfold.engine.rows import Rows
from tenfold.math.losses import PoissonLoss
from tenfold.neural._estimators import NetworkClassifier, NetworkRegressor
from tenfold.neural._mlp_base import MLPBase, encode_label_matrix
from tenfold.neural.losses import (
    BinaryCrossEntropy,
    CrossEntropy,
    HalfSquaredError,
    MultilabelCrossEntropy,
    PointwiseLoss,
)


class MLPClassifier(MLPBase, NetworkClassifier):
    r"""Multi-layer perceptron classifier.

    .. math:: \min_W \frac1n \sum_i -\log \mathrm{softmax}(f_W(x_i))_{y_i}
              + \frac{\alpha}{2 B} \lVert W \rVert^2

    B is the batch size; two classes have one score and the binary cross-entropy. Parameters and
    attributes are those of `sklearn.neural_network.MLPClassifier`, several labels per row included:
    y is then a matrix of zeros and ones. Differences: the rows held out for `early_stopping` are
    not stratified, and there are more activations. The network is trained in the type of the rows;
    float32 takes half the time of float64. The order of rows depends on the seed alone: arrays,
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
    max_fun : int
        Maximal number of passes of "lbfgs", of which an iteration takes at least one: iterations
        end here, if `max_iter` is larger.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    coefs_, intercepts_ : weights (inputs, units) and biases (units,) of each layer
    loss_, best_loss_ : mean loss of the last epoch and of the best one, with the penalty
    loss_curve_ : mean loss of each epoch
    validation_scores_, best_validation_score_ : accuracy on the rows held out
    n_iter_, t_, converged_ : epochs, rows seen in them all, and whether the fit stopped by itself
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _y_options(self) -> dict[str, Any]:
        return {"multi_output": True}

    def _rows(self, X: Any, y: Any = None, w: Any = None, *, reset: bool = True) -> Rows:
        if _n_label_columns(y) == 1:
            y = column_or_1d(y, warn=True)
        return super()._rows(X, y, w, reset=reset)

    def _training_rows(self, X: Any, y: Any, w: Any) -> Rows:
        if _n_label_columns(y) > 1:
            return self._encode_labels(self._rows(X, y, w), None)
        rows = super()._training_rows(X, y, w)
        self._set_outputs(labels_per_row=False)
        return rows

    def _encode_labels(self, rows: Rows, classes: Any) -> Rows:
        several = bool(rows.target_shape)
        if several:
            rows, k = encode_label_matrix(rows)
            self.classes_ = np.arange(k)
        else:
            rows = super()._encode_labels(rows, classes)
        self._set_outputs(labels_per_row=several)
        return rows

    def _set_outputs(self, *, labels_per_row: bool) -> None:
        k = len(self.classes_)
        self.n_outputs_ = 1 if k == 2 and not labels_per_row else k
        self.out_activation_ = "logistic" if labels_per_row or k == 2 else "softmax"

    @property
    def _has_several_labels(self) -> bool:
        """Whether a row may have several labels, or none."""
        return self.n_outputs_ > 1 and self.out_activation_ == "logistic"

    def _loss(self, targets: int) -> Any:
        if self._has_several_labels:
            return MultilabelCrossEntropy()
        return BinaryCrossEntropy() if targets == 2 else CrossEntropy()

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row; of several, whether each is more likely than not.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Returns
        -------
        (n_rows,) array of labels, or (n_rows, n_labels) array of zeros and ones
        """
        check_is_fitted(self)
        if self._has_several_labels:
            return (self.predict_proba(X) > 0.5).astype(int)
        return super().predict(X)

    @property
    def out_activation_(self) -> str:
        """Function that maps scores to probabilities."""
        return vars(self).get("_output_activation") or (
            "logistic" if self.n_outputs_ == 1 else "softmax"
        )

    @out_activation_.setter
    def out_activation_(self, name: str) -> None:
        self._output_activation = name


def _n_label_columns(y: Any) -> int:
    """Number of columns of a matrix of labels; 0 for anything else."""
    shape = np.shape(y) if isinstance(y, list | tuple) else getattr(y, "shape", ())
    return shape[1] if len(shape) == 2 else 0


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
    early_stopping, validation_fraction, n_iter_no_change, max_fun : see `MLPClassifier`
        Whether to monitor R^2 on rows held out; and the most passes of "lbfgs".

    Attributes
    ----------
    coefs_, intercepts_ : weights (inputs, units) and biases (units,) of each layer
    loss_, best_loss_, loss_curve_ : mean loss of the last epoch, of the best one, and of each
    validation_scores_, best_validation_score_ : R^2 on the rows held out
    n_iter_, t_, converged_ : epochs, rows seen in them all, and whether the fit stopped by itself
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
        max_fun: int = 15000,
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
            max_fun=max_fun,
        )

    def _rows(self, X: Any, y: Any = None, w: Any = None, *, reset: bool = True) -> Rows:
        if reset and isinstance(y, np.ndarray) and _n_label_columns(y) == 1:
            y = column_or_1d(y, warn=True)
        return super()._rows(X, y, w, reset=reset)

    def _loss(self, targets: int) -> Any:
        return _REGRESSION_LOSSES[self.loss]

    @property
    def out_activation_(self) -> str:
        """Function that maps scores to predictions."""
        default = "exp" if self.loss == "poisson" else "identity"
        return vars(self).get("_output_activation") or default

    @out_activation_.setter
    def out_activation_(self, name: str) -> None:
        self._output_activation = name
