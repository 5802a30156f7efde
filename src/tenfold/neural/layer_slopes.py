"""Whether slopes reach the first layers: vanishing and exploding gradients, measured."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.neural.layer import Way
from tenfold.neural.looking import Opened, opened, slopes_of_layers
from tenfold.neural.network import forward, outputs

LOST, GROWN = 1e-3, 1e3  # share of the last layer's slope that is left at the first


class LayerSlopes(NamedTuple):
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

    layers: list[LayerSlopes]
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
    look = opened(model, X, y)
    z, _ = forward(look.task.network, look.params, look.x, Way(mask=look.mask))
    _, slope = look.task.loss.both(z, look.y, None)
    at_inputs, at_params = slopes_of_layers(look, slope.copy())
    at_outputs = [*at_inputs[1:], slope]
    layers = _described(look, at_outputs, at_params)
    there = [each.slope for each in layers if each.weights > 0]
    ratio = there[0] / there[-1] if len(there) > 1 and there[-1] > 0 else 1.0
    per_layer = ratio ** (1 / max(len(there) - 1, 1))
    verdict = "vanishing" if ratio < LOST else "exploding" if ratio > GROWN else "steady"
    return GradientReport(layers, ratio, per_layer, verdict)


def _described(look: Opened, at_outputs: list, at_params: list) -> list[LayerSlopes]:
    n = len(look.x)
    given = outputs(look.task.network, look.params, look.x, Way(mask=look.mask))
    return [
        LayerSlopes(
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
