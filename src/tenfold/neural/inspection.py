"""Inspection of networks: saliency, training snapshots, vanishing and exploding gradients."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier

from tenfold.engine.rows import Rows
from tenfold.neural._estimators import NetworkEstimator
from tenfold.neural._training_config import NetworkObjective
from tenfold.neural.layers.base import PassContext
from tenfold.neural.network import Network, backward, forward, forward_layers

_MAX_ROWS = 256  # rows that `gradient_report` uses


class NetworkProbe(NamedTuple):
    """A network, and some rows as its input.

    Attributes
    ----------
    objective : network, loss and how rows become its input
    params : parameters, in float64
    x, mask : rows in the input shape, and which steps of sequences exist
    y : targets; class indices of a classifier
    """

    objective: NetworkObjective
    params: list[np.ndarray]
    x: np.ndarray
    mask: np.ndarray | None
    y: np.ndarray


def probe_network(model: Any, X: Any, y: Any = None, *, max_rows: int = _MAX_ROWS) -> NetworkProbe:
    """The network of a model, trained or newly initialized, and the first rows of X."""
    check_network(model)
    if hasattr(model, "params_"):
        objective, params = model._objective(), model.params_  # noqa: SLF001
        rows = model._rows(X, None, reset=False)  # noqa: SLF001
        targets = None if y is None else encode_targets(model, y)[:max_rows]
    else:
        rows, objective, params = initialize_network(model, X, y)
        targets = None
    some = rows.take(np.arange(min(max_rows, rows.n_rows)))
    params = [array.astype(np.float64) for array in params]
    x, mask = objective.make_batch(some.X, np.arange(some.rows), objective.network, np.float64)
    return NetworkProbe(objective, params, x, mask, some.y if targets is None else targets)


def initialize_network(
    model: Any, X: Any, y: Any
) -> tuple[Rows, NetworkObjective, list[np.ndarray]]:
    """Training rows, network and initial parameters of a model."""
    check_network(model)
    model = clone(model)
    rows = model._training_rows(X, y, None)  # noqa: SLF001
    return (rows, *model._initialize(rows, model._rng()))  # noqa: SLF001


def check_network(model: Any) -> None:
    """Raise an error if a model is not made of layers."""
    if not isinstance(model, NetworkEstimator):
        raise TypeError(f"{type(model).__name__} is no network of tenfold.neural")


def encode_targets(model: Any, y: Any) -> np.ndarray:
    """Targets of the loss of a fitted model: class indices, or values."""
    y = np.asarray(y)
    if not hasattr(model, "classes_"):
        return y
    unknown = ~np.isin(y, model.classes_)
    if unknown.any():
        first = y[unknown].tolist()[0]
        raise ValueError(f"the label {first!r} was not in the training data of the model")
    return np.searchsorted(model.classes_, y)


def node_errors(
    network: Network,
    params: list[np.ndarray],
    x: np.ndarray,
    gradient: np.ndarray,
    mask: np.ndarray | None = None,
) -> tuple[list[np.ndarray], list[list[np.ndarray]]]:
    r"""Back-propagation with the error at every node: gradients in the input of each layer.

    .. math:: \delta_{l-1} = \delta_l \, \frac{\partial a_l}{\partial a_{l-1}}, \qquad
              \frac{\partial L}{\partial \theta_l} =
              \delta_l \, \frac{\partial a_l}{\partial \theta_l}

    Parameters
    ----------
    network : Network
        Of `build_network`.
    params : list of arrays
        Its parameters.
    x : (n, ...) array
        Rows.
    gradient : array like the output
        Gradient of the loss in the output of the last layer.
    mask : (n, steps) array of bool, optional
        Which steps of sequences exist.

    Returns
    -------
    errors : list of arrays, the gradient in the input of each layer, first to last
    gradients : list of lists of arrays, those in the parameters of each layer

    See Also
    --------
    backward : The same without the errors of the nodes.
    gradient_report : How large gradients are, layer by layer.

    References
    ----------
    D. E. Rumelhart, G. E. Hinton and R. J. Williams (1986), Learning representations by
    back-propagating errors.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.neural import Dense, build_network
    >>> chain = [Dense(1, bias=False), Dense(1, bias=False)]
    >>> network, _ = build_network(chain, (1,), np.random.default_rng(0), np.float64)
    >>> params, x = [np.array([[2.0]]), np.array([[3.0]])], np.array([[5.0]])
    >>> errors, gradients = node_errors(network, params, x, np.array([[1.0]]))
    >>> [e.item() for e in errors], [own[0].item() for own in gradients]
    ([6.0, 3.0], [15.0, 10.0])
    """
    _, caches = forward(network, params, x, PassContext(mask=mask))
    at_inputs, at_params = [], []
    parts = network.parts(params)
    for number in reversed(range(len(network.layers))):
        layer = network.layers[number]
        dx, own = layer.backward(parts[number], caches[number], gradient, need_input=True)
        gradient = np.asarray(dx)
        at_inputs.append(gradient.copy())  # the layer below may overwrite it
        at_params.append(own)
    return at_inputs[::-1], at_params[::-1]


def saliency(model: Any, X: Any, which: Any = None) -> np.ndarray:
    """Gradient of a score in the input of each row.

    Parameters
    ----------
    model : fitted network
        Of `tenfold.neural`.
    X : array, table, path
        The rows.
    which : label or int, optional
        The class of the score, by default the most probable one of each row; for a regressor, the
        index of the target column, by default 0.

    Returns
    -------
    (n_rows, ...) array
        Gradients in the input shape of the network.

    References
    ----------
    K. Simonyan, A. Vedaldi, A. Zisserman (2014), "Deep inside convolutional networks: visualising
    image classification models and saliency maps".

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MLPRegressor
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> model = MLPRegressor(solver="lbfgs", random_state=0).fit(X, X[:, 0] - 2 * X[:, 1])
    >>> saliency(model, X[:100]).mean(axis=0).round(1).tolist()
    [1.0, -2.0, -0.0]
    """
    probe = probe_network(model, X, max_rows=2**62)
    network = probe.objective.network
    z, caches = forward(network, probe.params, probe.x, PassContext(mask=probe.mask))
    gradient = _score_gradient(z.reshape(len(z), -1), model, which).reshape(z.shape)
    dx, _ = backward(network, probe.params, caches, gradient, need_input=True)
    return np.asarray(dx)


def _score_gradient(z: np.ndarray, model: Any, which: Any) -> np.ndarray:
    """Gradient 1 in the chosen score; of one score for two classes, -1 for the first class."""
    classes = hasattr(model, "classes_")
    single_score = classes and z.shape[1] == 1
    if which is not None:
        number = int(encode_targets(model, [which])[0]) if classes else which
        chosen = np.full(len(z), number)
    elif single_score:
        chosen = (z[:, 0] > 0).astype(int)
    else:
        chosen = z.argmax(axis=1) if classes else np.zeros(len(z), int)
    gradient = np.zeros_like(z)
    gradient[np.arange(len(z)), 0 if single_score else chosen] = (
        2 * chosen - 1 if single_score else 1
    )
    return gradient


def training_snapshots(model: Any, X: Any, y: Any, at: Iterable[int]) -> list[Any]:
    """Copies of a model after some epochs of one training.

    Parameters
    ----------
    model : network
        Not changed.
    X, y : rows and targets
        Training data.
    at : iterable of int
        Numbers of epochs; 0 is the initialization.

    Returns
    -------
    list of fitted models, in the order of the epochs

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MLPClassifier
    >>> X, y = np.eye(4), [0, 1, 0, 1]
    >>> [m.n_iter_ for m in training_snapshots(MLPClassifier(random_state=0), X, y, (1, 3))]
    [1, 3]
    """
    epochs, model = sorted(set(at)), clone(model)
    labels = {"classes": np.unique(y)} if is_classifier(model) else {}
    copies = []
    if 0 in epochs:
        model.partial_fit(X, y, **labels)
        copies.append(_initial_snapshot(model, X, y))
        model = clone(model)
    for epoch in range(1, max(epochs) + 1):
        model.partial_fit(X, y, **labels)
        if epoch in epochs:
            copies.append(_copy_model(model))
    return copies


def _initial_snapshot(model: Any, X: Any, y: Any) -> Any:
    initial = _copy_model(model)
    initial.params_, initial.n_iter_ = initialize_network(model, X, y)[2], 0
    return initial


def _copy_model(model: Any) -> Any:
    """A copy that further training of the model does not change."""
    copied = copy(model)
    copied.params_ = [array.copy() for array in model.params_]
    return copied


_VANISHING_RATIO, _EXPLODING_RATIO = 1e-3, 1e3  # gradient at the first over that at the last layer


class LayerGradients(NamedTuple):
    """Signal and gradient at a layer.

    Attributes
    ----------
    layer : class name of the layer
    signal : root mean square of its output
    gradient : root mean square, over rows, of the norm of the loss's gradient in its output
    weights : norm of the gradient of the mean loss in its parameters (0 if it has none)
    dead : fraction of its units whose output is the same for all rows
    """

    layer: str
    signal: float
    gradient: float
    weights: float
    dead: float


class GradientReport(NamedTuple):
    """Gradients at all layers, and whether they vanish or explode towards the first.

    Attributes
    ----------
    layers : list of LayerGradients, from the first to the last
    ratio : gradient at the first layer with parameters over that at the last
    per_layer : the factor from each such layer to the one before
    verdict : "vanishing", "exploding" or "steady"
    """

    layers: list[LayerGradients]
    ratio: float
    per_layer: float
    verdict: str

    def __str__(self) -> str:
        head = f"{'layer':12s} {'signal':>9s} {'gradient':>9s} {'weights':>9s} {'dead':>6s}"
        lines = [
            f"{row.layer:12s} {row.signal:9.2e} {row.gradient:9.2e} {row.weights:9.2e} "
            f"{row.dead:6.1%}"
            for row in self.layers
        ]
        factor = f"the gradient changes by a factor of {self.per_layer:.3g} from layer to layer"
        return "\n".join([head, *lines, f"{self.verdict}: {factor}"])


def gradient_report(model: Any, X: Any, y: Any) -> GradientReport:
    """Detect vanishing and exploding gradients in a network.

    The chain rule multiplies by a Jacobian at every layer: where these are small, the gradients of
    the first layers vanish, where they are large, they explode.

    Parameters
    ----------
    model : network
        Trained, or not: then with its initial parameters.
    X, y : rows and targets
        Of which the first 256 are used.

    Returns
    -------
    GradientReport

    References
    ----------
    Y. Bengio, P. Simard, P. Frasconi (1994), "Learning long-term dependencies with gradient descent
    is difficult".

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MLPClassifier
    >>> X = np.random.default_rng(0).normal(size=(100, 5))
    >>> deep = MLPClassifier((10,) * 12, activation="logistic", random_state=0)
    >>> gradient_report(deep, X, X[:, 0] > 0).verdict
    'vanishing'
    """
    probe = probe_network(model, X, y)
    z, _ = forward(probe.objective.network, probe.params, probe.x, PassContext(mask=probe.mask))
    _, gradient = probe.objective.loss.value_and_gradient(z, probe.y, None)
    network = probe.objective.network
    at_inputs, at_params = node_errors(network, probe.params, probe.x, gradient.copy(), probe.mask)
    at_outputs = [*at_inputs[1:], gradient]
    layers = _summarize_layers(probe, at_outputs, at_params)
    norms = [layer.gradient for layer in layers if layer.weights > 0]
    ratio = norms[0] / norms[-1] if len(norms) > 1 and norms[-1] > 0 else 1.0
    per_layer = ratio ** (1 / max(len(norms) - 1, 1))
    verdict = "steady"
    if ratio < _VANISHING_RATIO:
        verdict = "vanishing"
    elif ratio > _EXPLODING_RATIO:
        verdict = "exploding"
    return GradientReport(layers, ratio, per_layer, verdict)


def _summarize_layers(
    probe: NetworkProbe, at_outputs: list, at_params: list
) -> list[LayerGradients]:
    n, network = len(probe.x), probe.objective.network
    outputs = forward_layers(network, probe.params, probe.x, PassContext(mask=probe.mask))
    return [
        LayerGradients(
            type(layer).__name__,
            float(np.sqrt(np.mean(out**2))),
            float(np.sqrt(np.sum(gradient**2) / n)),
            float(np.sqrt(sum(np.sum((part / n) ** 2) for part in own))),
            float(np.mean(np.ptp(out.reshape(n, -1), axis=0) == 0)),
        )
        for layer, out, gradient, own in zip(
            network.layers, outputs, at_outputs, at_params, strict=True
        )
    ]
