"""The loss landscape of a network: surfaces through its parameters, and symmetries of its minima."""

from __future__ import annotations

from copy import copy
from itertools import pairwise
from math import factorial
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.engine.arrays import ArraySource
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.neural._inference import output_scores
from tenfold.neural._training_config import NetworkObjective
from tenfold.neural.inspection import check_network, encode_targets
from tenfold.neural.layers.activations import as_activation
from tenfold.neural.layers.dense import Dense


class LossSurface(NamedTuple):
    """Mean loss at theta + a d1 + b d2.

    Attributes
    ----------
    a, b : (steps,) how far along each direction
    loss : (steps, steps) mean loss; rows belong to a
    """

    a: np.ndarray
    b: np.ndarray
    loss: np.ndarray


def loss_surface(
    model: Any,
    X: Any,
    y: Any,
    *,
    span: float = 1.0,
    steps: int = 21,
    directions: Any = None,
    random_state: int = 0,
) -> LossSurface:
    """Mean loss on a plane through the parameters of a fitted network.

    Random directions are as long as the parameters they change, unit by unit: a network that is
    scaled up looks the same (Li and others, 2018). [001, 3.2]

    Parameters
    ----------
    model : fitted network
        In the middle of the plane.
    X, y : arrays
        Rows and targets (some thousands: each point is one pass).
    span : float
        How far to go each way, in lengths of the directions.
    steps : int
        Points along each direction.
    directions : pair of lists of arrays, optional
        Two directions, each like `model.params_`; the difference to another model's, say.
    random_state : int
        Seed of the random directions.

    Returns
    -------
    Surface

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MLPRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = X[:, 0] * X[:, 1]
    >>> model = MLPRegressor(solver="lbfgs", tol=0.01, random_state=0).fit(X, y)
    >>> found = loss_surface(model, X, y, steps=5)
    >>> bool(found.loss[2, 2] == found.loss.min())
    True
    """
    check_is_fitted(model)
    check_network(model)
    params = [array.astype(np.float64) for array in model.params_]
    pair = directions or [_random_direction(params, random_state, number) for number in range(2)]
    for each in pair:
        if [np.shape(d) for d in each] != [p.shape for p in params]:
            raise ValueError("a direction is a list of arrays like those of model.params_")
    places = np.linspace(-span, span, steps)
    X, labels = np.asarray(X), encode_targets(model, y)
    rows, task = Rows(ArraySource(X.reshape(len(X), -1), labels)), model._task()  # noqa: SLF001
    loss = [
        [rows.total(_chunk_loss, task, _shift_params(params, pair, a, b)) for b in places]
        for a in places
    ]
    return LossSurface(places, places, np.array(loss) / len(X))


def _chunk_loss(chunk: Chunk, task: NetworkObjective, params: list[np.ndarray]) -> float:
    """Loss of a chunk."""
    return task.loss.value_and_gradient(output_scores(chunk, task, params), chunk.y, None)[0]


def _shift_params(params: list[np.ndarray], pair: Any, a: float, b: float) -> list[np.ndarray]:
    """Parameters some way along two directions."""
    return [p + a * d + b * e for p, d, e in zip(params, *pair, strict=True)]


def _random_direction(params: list[np.ndarray], seed: int, number: int) -> list[np.ndarray]:
    """A random direction, for each unit as long as its own weights; constants stay."""
    rng = np.random.default_rng([seed, number])
    found = []
    for array in params:
        draw = rng.standard_normal(array.shape)
        axes = tuple(range(array.ndim - 1))
        length = np.sqrt((draw**2).sum(axis=axes, keepdims=True))
        own = np.sqrt((array**2).sum(axis=axes, keepdims=True))
        found.append(draw / length * own if array.ndim > 1 else np.zeros_like(array))
    return found


_ODD_ACTIVATIONS = {"linear", "identity", "tanh"}  # f(-z) = -f(z)


def permute_units(model: Any, layer: int, order: Any) -> Any:
    """The same network with the units of a hidden layer in another order.

    The columns of its weights, its constants, and the rows of the next layer's weights move
    together, so nothing changes for who looks from outside. There are M! orders of M units.

    Parameters
    ----------
    model : fitted network
        With a `Dense` layer after this one.
    layer : int
        Number of a `Dense` layer, from 0.
    order : (M,) array
        Which unit comes first, second, ...

    Returns
    -------
    model : a copy

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MLPRegressor
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> model = MLPRegressor(hidden_layer_sizes=3, solver="lbfgs", random_state=0)
    >>> model = model.fit(X, X[:, 0])
    >>> bool(np.allclose(permute_units(model, 0, [2, 0, 1]).predict(X), model.predict(X)))
    True
    """
    before, after, units = _hidden_layer(model, layer)
    order = np.asarray(order)
    if not np.array_equal(np.sort(order), np.arange(units)):
        raise ValueError(f"order must hold each of 0, ..., {units - 1} once, not {order}")
    params = [array.copy() for array in model.params_]
    for place in before:
        params[place] = params[place][..., order]
    params[after] = params[after][order]
    return _replace_params(model, params)


def flip_units(model: Any, layer: int, units: Any) -> Any:
    """The same network with the signs of all weights into and out of some units turned round.

    For activations that are odd, as tanh is: f(-z) = -f(z). There are 2^M choices of M units.

    Parameters
    ----------
    model : fitted network
        With a `Dense` layer after this one.
    layer : int
        Number of a `Dense` layer, from 0.
    units : array of int
        Which units.

    Returns
    -------
    model : a copy
    """
    before, after, _ = _hidden_layer(model, layer)
    name = as_activation(model.network_.layers[layer].activation).name
    if name not in _ODD_ACTIVATIONS:
        raise ValueError(
            f"{name!r} is not odd: only units with {sorted(_ODD_ACTIVATIONS)} can be turned round"
        )
    params = [array.copy() for array in model.params_]
    for place in before:
        params[place][..., units] *= -1
    params[after][units] *= -1
    return _replace_params(model, params)


def count_symmetries(model: Any) -> int:
    """How many settings of the weights give the same network: at least so many equal minima.

    M! for each hidden layer of M dense units, times 2^M where the activation is odd.

    Parameters
    ----------
    model : fitted network
        Of dense layers.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MLPRegressor
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> model = MLPRegressor(hidden_layer_sizes=10, solver="lbfgs", random_state=0)
    >>> count_symmetries(model.fit(X, X[:, 0]))
    3628800
    """
    check_is_fitted(model)
    check_network(model)
    layers, total = model.network_.layers, 1
    for here, following in pairwise(layers):
        if isinstance(here, Dense) and isinstance(following, Dense):
            units, odd = here.units or 0, as_activation(here.activation).name in _ODD_ACTIVATIONS
            total *= factorial(units) * 2 ** (units if odd else 0)
    return total


def _hidden_layer(model: Any, layer: int) -> tuple[list[int], int, int]:
    """Places of the arrays that lead into a hidden layer, and of those that lead out; its units."""
    check_is_fitted(model)
    check_network(model)
    layers, sizes = model.network_.layers, model.network_.sizes
    pair = layers[layer : layer + 2] if layer >= 0 else ()
    if len(pair) < 2 or not all(isinstance(each, Dense) for each in pair):
        raise ValueError(f"layer {layer} is no Dense layer with another Dense layer after it")
    first = sum(sizes[:layer])
    return list(range(first, first + sizes[layer])), first + sizes[layer], int(pair[0].units)


def _replace_params(model: Any, params: list[np.ndarray]) -> Any:
    again = copy(model)
    again.params_ = [np.ascontiguousarray(array) for array in params]
    return again
