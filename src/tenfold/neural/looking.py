"""A network opened up: its task, its parameters and some rows inside it.

What the other tools share. A fitted model shows what it has learned; one that is not fitted yet
shows where it would start.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from tenfold.neural.layer import Way
from tenfold.neural.model import NetworkModel
from tenfold.neural.network import backward, forward
from tenfold.neural.steps import Task
from tenfold.rows import Rows

LOOKED_AT = 256  # rows


class Opened(NamedTuple):
    """A network with some rows inside.

    Attributes
    ----------
    task : network, loss and how rows enter
    params : parameters, in float64
    x, mask : rows as the network takes them, and which steps of sequences are there
    y : targets; class numbers of a classifier
    """

    task: Task
    params: list[np.ndarray]
    x: np.ndarray
    mask: np.ndarray | None
    y: np.ndarray


def opened(model: Any, X: Any, y: Any = None, *, most: int = LOOKED_AT) -> Opened:
    """The network of a model, fitted or not, with the first rows of X inside."""
    assert_network(model)
    if hasattr(model, "params_"):
        task, params = model._task(), model.params_  # noqa: SLF001
        rows = model._rows(X, None, reset=False)  # noqa: SLF001
        targets = None if y is None else known_targets(model, y)[:most]
    else:
        rows, task, params = begun_afresh(model, X, y)
        targets = None
    some = rows.take(np.arange(min(most, rows.n_rows)))
    params = [array.astype(np.float64) for array in params]
    x, mask = task.intake(some.X, np.arange(some.rows), task.network, np.float64)
    return Opened(task, params, x, mask, some.y if targets is None else targets)


def begun_afresh(model: Any, X: Any, y: Any) -> tuple[Rows, Task, list[np.ndarray]]:
    """Rows, network and first parameters of a model that learns from these rows."""
    assert_network(model)
    model = clone(model)
    rows = model._training_rows(X, y, None)  # noqa: SLF001
    return (rows, *model._begun(rows, model._rng()))  # noqa: SLF001


def assert_network(model: Any) -> None:
    """Raise an error if a model is not made of layers."""
    if not isinstance(model, NetworkModel):
        raise TypeError(f"{type(model).__name__} is no network of tenfold.neural")


def known_targets(model: Any, y: Any) -> np.ndarray:
    """Targets as the loss of a fitted model wants them."""
    y = np.asarray(y)
    if not hasattr(model, "classes_"):
        return y
    strange = ~np.isin(y, model.classes_)
    if strange.any():
        first = y[strange].tolist()[0]
        raise ValueError(f"the label {first!r} was not there when the model was fitted")
    return np.searchsorted(model.classes_, y)


def slopes_of_layers(look: Opened, slope: np.ndarray) -> tuple[list, list[list[np.ndarray]]]:
    """Slopes in the input of each layer, and in the parameters of each, from that in the end."""
    network, params = look.task.network, look.params
    _, kept = forward(network, params, look.x, Way(mask=look.mask))
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
    look = opened(model, X, most=2**62)
    network = look.task.network
    z, kept = forward(network, look.params, look.x, Way(mask=look.mask))
    slope = slope_of_score(z.reshape(len(z), -1), model, which).reshape(z.shape)
    found, _ = backward(network, look.params, kept, slope, need_input=True)
    return np.asarray(found)


def slope_of_score(z: np.ndarray, model: Any, which: Any) -> np.ndarray:
    """One in the score that is meant; of one score for two classes, minus one for the first."""
    classes = hasattr(model, "classes_")
    alone = classes and z.shape[1] == 1
    if which is not None:
        number = int(known_targets(model, [which])[0]) if classes else which
        chosen = np.full(len(z), number)
    elif alone:
        chosen = (z[:, 0] > 0).astype(int)
    else:
        chosen = z.argmax(axis=1) if classes else np.zeros(len(z), int)
    slope = np.zeros_like(z)
    slope[np.arange(len(z)), 0 if alone else chosen] = 2 * chosen - 1 if alone else 1
    return slope


def snapshots(model: Any, X: Any, y: Any, at: Iterable[int]) -> list[Any]:
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
    >>> [m.n_iter_ for m in snapshots(MLPClassifier(random_state=0), X, y, (1, 3))]
    [1, 3]
    """
    wanted, model = sorted(set(at)), clone(model)
    more = {"classes": np.unique(y)} if hasattr(model, "predict_proba") else {}
    taken = []
    if 0 in wanted:
        model.partial_fit(X, y, **more)
        taken.append(_at_start(model, X, y))
        model = clone(model)
    for epoch in range(1, max(wanted) + 1):
        model.partial_fit(X, y, **more)
        if epoch in wanted:
            taken.append(_kept(model))
    return taken


def _at_start(model: Any, X: Any, y: Any) -> Any:
    first = _kept(model)
    first.params_, first.n_iter_ = begun_afresh(model, X, y)[2], 0
    return first


def _kept(model: Any) -> Any:
    """A copy that further training of the model does not change."""
    again = copy(model)
    again.params_ = [array.copy() for array in model.params_]
    return again
