"""Inspection of networks: saliency, training snapshots, vanishing and exploding gradients."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from tenfold.engine.rows import Rows
from tenfold.neural._estimators import NetworkEstimator
from tenfold.neural._training_config import NetworkObjective
from tenfold.neural.layers.base import PassContext
from tenfold.neural.network import backward, forward, forward_layers

_MAX_ROWS = 256  # rows


class NetworkProbe(NamedTuple):
    """A network with some rows inside.

    Attributes
    ----------
    task : network, loss and how rows enter
    params : parameters, in float64
    x, mask : rows as the network takes them, and which steps of sequences are there
    y : targets; class numbers of a classifier
    """

    task: NetworkObjective
    params: list[np.ndarray]
    x: np.ndarray
    mask: np.ndarray | None
    y: np.ndarray


def probe_network(model: Any, X: Any, y: Any = None, *, most: int = _MAX_ROWS) -> NetworkProbe:
    """The network of a model, fitted or not, with the first rows of X inside."""
    check_network(model)
    if hasattr(model, "params_"):
        task, params = model._task(), model.params_  # noqa: SLF001
        rows = model._rows(X, None, reset=False)  # noqa: SLF001
        targets = None if y is None else encode_targets(model, y)[:most]
    else:
        rows, task, params = initialize_network(model, X, y)
        targets = None
    some = rows.take(np.arange(min(most, rows.n_rows)))
    params = [array.astype(np.float64) for array in params]
    x, mask = task.intake(some.X, np.arange(some.rows), task.network, np.float64)
    return NetworkProbe(task, params, x, mask, some.y if targets is None else targets)


def initialize_network(
    model: Any, X: Any, y: Any
) -> tuple[Rows, NetworkObjective, list[np.ndarray]]:
    """Rows, network and first parameters of a model that learns from these rows."""
    check_network(model)
    model = clone(model)
    rows = model._training_rows(X, y, None)  # noqa: SLF001
    return (rows, *model._begun(rows, model._rng()))  # noqa: SLF001


def check_network(model: Any) -> None:
    """Raise an error if a model is not made of layers."""
    if not isinstance(model, NetworkEstimator):
        raise TypeError(f"{type(model).__name__} is no network of tenfold.neural")


def encode_targets(model: Any, y: Any) -> np.ndarray:
    """Targets as the loss of a fitted model wants them."""
    y = np.asarray(y)
    if not hasattr(model, "classes_"):
        return y
    strange = ~np.isin(y, model.classes_)
    if strange.any():
        first = y[strange].tolist()[0]
        raise ValueError(f"the label {first!r} was not there when the model was fitted")
    return np.searchsorted(model.classes_, y)


def layer_gradients(look: NetworkProbe, slope: np.ndarray) -> tuple[list, list[list[np.ndarray]]]:
    """Slopes in the input of each layer, and in the parameters of each, from that in the end."""
    network, params = look.task.network, look.params
    _, kept = forward(network, params, look.x, PassContext(mask=look.mask))
    at_inputs, at_params = [], []
    parts = network.parts(params)
    for number in reversed(range(len(network.layers))):
        layer = network.layers[number]
        down, own = layer.backward(parts[number], kept[number], slope, need_input=True)
        slope = np.asarray(down)
        at_inputs.append(slope.copy())  # the layer below may overwrite it
        at_params.append(own)
    return at_inputs[::-1], at_params[::-1]


def saliency(model: Any, X: Any, which: Any = None) -> np.ndarray:
    """Slope of a score by every number of each row: what the network looks at.

    Parameters
    ----------
    model : fitted network
        Of `tenfold.neural`.
    X : array, table, path
        The rows.
    which : label or int, optional
        The class whose score is meant, by default the most probable one of each row; for a
        regressor, the number of the column, by default 0.

    Returns
    -------
    (n, ...) array
        A row's numbers in the shape that the network sees.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MLPRegressor
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> model = MLPRegressor(solver="lbfgs", random_state=0).fit(X, X[:, 0] - 2 * X[:, 1])
    >>> saliency(model, X[:100]).mean(axis=0).round(1).tolist()
    [1.0, -2.0, -0.0]
    """
    look = probe_network(model, X, most=2**62)
    network = look.task.network
    z, kept = forward(network, look.params, look.x, PassContext(mask=look.mask))
    slope = _score_gradient(z.reshape(len(z), -1), model, which).reshape(z.shape)
    found, _ = backward(network, look.params, kept, slope, need_input=True)
    return np.asarray(found)


def _score_gradient(z: np.ndarray, model: Any, which: Any) -> np.ndarray:
    """One in the score that is meant; of one score for two classes, minus one for the first."""
    classes = hasattr(model, "classes_")
    alone = classes and z.shape[1] == 1
    if which is not None:
        number = int(encode_targets(model, [which])[0]) if classes else which
        chosen = np.full(len(z), number)
    elif alone:
        chosen = (z[:, 0] > 0).astype(int)
    else:
        chosen = z.argmax(axis=1) if classes else np.zeros(len(z), int)
    slope = np.zeros_like(z)
    slope[np.arange(len(z)), 0 if alone else chosen] = 2 * chosen - 1 if alone else 1
    return slope


def training_snapshots(model: Any, X: Any, y: Any, at: Iterable[int]) -> list[Any]:
    """Copies of a model as it stands after some epochs of one training.

    Parameters
    ----------
    model : network
        Not changed.
    X, y : rows and targets
        What to learn from.
    at : iterable of int
        Numbers of epochs; 0 is the start.

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
    wanted, model = sorted(set(at)), clone(model)
    more = {"classes": np.unique(y)} if hasattr(model, "predict_proba") else {}
    taken = []
    if 0 in wanted:
        model.partial_fit(X, y, **more)
        taken.append(_initial_snapshot(model, X, y))
        model = clone(model)
    for epoch in range(1, max(wanted) + 1):
        model.partial_fit(X, y, **more)
        if epoch in wanted:
            taken.append(_copy_model(model))
    return taken


def _initial_snapshot(model: Any, X: Any, y: Any) -> Any:
    first = _copy_model(model)
    first.params_, first.n_iter_ = initialize_network(model, X, y)[2], 0
    return first


def _copy_model(model: Any) -> Any:
    """A copy that further training of the model does not change."""
    again = copy(model)
    again.params_ = [array.copy() for array in model.params_]
    return again


_VANISHING_RATIO, _EXPLODING_RATIO = (
    1e-3,
    1e3,
)  # share of the last layer's slope that is left at the first


class LayerGradients(NamedTuple):
    """What passes through a layer.

    Attributes
    ----------
    layer : its name
    signal : root mean square of what it gives
    slope : root mean square, over rows, of the length of the loss's slope in what it gives
    weights : length of the slope of the mean loss in its weights (0 if it has none)
    dead : share of its units that give the same for all rows
    """

    layer: str
    signal: float
    slope: float
    weights: float
    dead: float


class GradientReport(NamedTuple):
    """Slopes of all layers, and whether they vanish or explode on their way to the first.

    Attributes
    ----------
    layers : list of LayerSlopes, from the first to the last
    ratio : slope in the first layer with weights over that in the last
    per_layer : the factor from each such layer to the one before
    verdict : "vanishing", "exploding" or "steady"
    """

    layers: list[LayerGradients]
    ratio: float
    per_layer: float
    verdict: str

    def __str__(self) -> str:
        head = f"{'layer':12s} {'signal':>9s} {'slope':>9s} {'weights':>9s} {'dead':>6s}"
        lines = [
            f"{each.layer:12s} {each.signal:9.2e} {each.slope:9.2e} {each.weights:9.2e} "
            f"{each.dead:6.1%}"
            for each in self.layers
        ]
        end = f"{self.verdict}: the slope changes by {self.per_layer:.3g} from layer to layer"
        return "\n".join([head, *lines, end])


def gradient_report(model: Any, X: Any, y: Any) -> GradientReport:
    """Measure how slopes fare on their way back through a network.

    The chain rule multiplies by a Jacobian at every layer: where these are small, the slopes of the
    first layers vanish, where they are large, they explode [003, unit 3, lect. 9].

    Parameters
    ----------
    model : network
        Fitted, or not: then as it would start.
    X, y : rows and targets
        Of which the first 256 are looked at.

    Returns
    -------
    GradientReport

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MLPClassifier
    >>> X = np.random.default_rng(0).normal(size=(100, 5))
    >>> deep = MLPClassifier((10,) * 12, activation="logistic", random_state=0)
    >>> gradient_report(deep, X, X[:, 0] > 0).verdict
    'vanishing'
    """
    look = probe_network(model, X, y)
    z, _ = forward(look.task.network, look.params, look.x, PassContext(mask=look.mask))
    _, slope = look.task.loss.value_and_gradient(z, look.y, None)
    at_inputs, at_params = layer_gradients(look, slope.copy())
    at_outputs = [*at_inputs[1:], slope]
    layers = _summarize_layers(look, at_outputs, at_params)
    there = [each.slope for each in layers if each.weights > 0]
    ratio = there[0] / there[-1] if len(there) > 1 and there[-1] > 0 else 1.0
    per_layer = ratio ** (1 / max(len(there) - 1, 1))
    verdict = (
        "vanishing"
        if ratio < _VANISHING_RATIO
        else "exploding"
        if ratio > _EXPLODING_RATIO
        else "steady"
    )
    return GradientReport(layers, ratio, per_layer, verdict)


def _summarize_layers(
    look: NetworkProbe, at_outputs: list, at_params: list
) -> list[LayerGradients]:
    n = len(look.x)
    given = forward_layers(look.task.network, look.params, look.x, PassContext(mask=look.mask))
    return [
        LayerGradients(
            type(layer).__name__,
            float(np.sqrt(np.mean(out**2))),
            float(np.sqrt(np.sum(slope**2) / n)),
            float(np.sqrt(sum(np.sum((part / n) ** 2) for part in own))),
            float(np.mean(np.ptp(out.reshape(n, -1), axis=0) == 0)),
        )
        for layer, out, slope, own in zip(
            look.task.network.layers, given, at_outputs, at_params, strict=True
        )
    ]
