"""The loss landscape of a network: surfaces through its parameters, symmetries of its minima."""

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
    a, b : (n_steps,) positions along each direction
    loss : (n_steps, n_steps) mean loss; rows belong to a
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

    Random directions are normalized to the norm of the weights of each unit, so that the surface
    does not depend on the scale of the weights.

    Parameters
    ----------
    model : fitted network
        Its parameters are the center of the plane.
    X, y : arrays
        Rows and targets (some thousands: each point is one pass).
    span : float
        Largest position in both directions, in lengths of the directions.
    steps : int
        Points along each direction.
    directions : pair of lists of arrays, optional
        Two directions, each like `model.params_`; for instance the difference to another model's.
    random_state : int
        Seed of the random directions.

    Returns
    -------
    LossSurface

    References
    ----------
    H. Li, Z. Xu, G. Taylor, C. Studer, T. Goldstein (2018), "Visualizing the loss landscape of
    neural nets".

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MLPRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = X[:, 0] * X[:, 1]
    >>> model = MLPRegressor(solver="lbfgs", tol=0.01, random_state=0).fit(X, y)
    >>> surface = loss_surface(model, X, y, steps=5)
    >>> bool(surface.loss[2, 2] == surface.loss.min())
    True
    """
    check_is_fitted(model)
    check_network(model)
    params = [array.astype(np.float64) for array in model.params_]
    pair = directions or [_random_direction(params, random_state, number) for number in range(2)]
    for direction in pair:
        if [np.shape(d) for d in direction] != [p.shape for p in params]:
            raise ValueError("a direction is a list of arrays like those of model.params_")
    positions = np.linspace(-span, span, steps)
    X, labels = np.asarray(X), encode_targets(model, y)
    rows = Rows(ArraySource(X.reshape(len(X), -1), labels))
    objective = model._objective()  # noqa: SLF001
    loss = [
        [rows.total(_chunk_loss, objective, _shift_params(params, pair, a, b)) for b in positions]
        for a in positions
    ]
    return LossSurface(positions, positions, np.array(loss) / len(X))


def _chunk_loss(chunk: Chunk, objective: NetworkObjective, params: list[np.ndarray]) -> float:
    """Loss of a chunk."""
    z = output_scores(chunk, objective, params)
    return objective.loss.value_and_gradient(z, chunk.y, None)[0]


def _shift_params(params: list[np.ndarray], pair: Any, a: float, b: float) -> list[np.ndarray]:
    """Parameters + a times the first direction + b times the second."""
    return [p + a * d + b * e for p, d, e in zip(params, *pair, strict=True)]


def _random_direction(params: list[np.ndarray], seed: int, number: int) -> list[np.ndarray]:
    """A random direction with the norm of the weights for each unit, zero for biases."""
    rng = np.random.default_rng([seed, number])
    direction = []
    for array in params:
        draw = rng.standard_normal(array.shape)
        axes = tuple(range(array.ndim - 1))
        length = np.sqrt((draw**2).sum(axis=axes, keepdims=True))
        norm = np.sqrt((array**2).sum(axis=axes, keepdims=True))
        direction.append(draw / length * norm if array.ndim > 1 else np.zeros_like(array))
    return direction


_ODD_ACTIVATIONS = {"linear", "identity", "tanh"}  # f(-z) = -f(z)


def permute_units(model: Any, layer: int, order: Any) -> Any:
    """The same network with the units of a hidden layer in another order.

    The columns of its weights, its biases, and the rows of the next layer's weights are permuted
    together, which leaves the function of the network unchanged. M units have M! orders.

    Parameters
    ----------
    model : fitted network
        With a `Dense` layer after this one.
    layer : int
        Number of a `Dense` layer, from 0.
    order : (M,) array
        Index of the unit that becomes the first, second, ...

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
    for index in before:
        params[index] = params[index][..., order]
    params[after] = params[after][order]
    return _replace_params(model, params)


def flip_units(model: Any, layer: int, units: Any) -> Any:
    """The same network with the signs of all weights into and out of some units flipped.

    For odd activations, f(-z) = -f(z), such as tanh. M units have 2^M choices.

    Parameters
    ----------
    model : fitted network
        With a `Dense` layer after this one.
    layer : int
        Number of a `Dense` layer, from 0.
    units : array of int
        Indices of the units.

    Returns
    -------
    model : a copy
    """
    before, after, _ = _hidden_layer(model, layer)
    name = as_activation(model.network_.layers[layer].activation).name
    if name not in _ODD_ACTIVATIONS:
        raise ValueError(
            f"{name!r} is not odd: only units with {sorted(_ODD_ACTIVATIONS)} can be flipped"
        )
    params = [array.copy() for array in model.params_]
    for index in before:
        params[index][..., units] *= -1
    params[after][units] *= -1
    return _replace_params(model, params)


def count_symmetries(model: Any) -> int:
    """Number of parameter vectors with the same function, so that minima come in such numbers.

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
    for layer, following in pairwise(layers):
        if isinstance(layer, Dense) and isinstance(following, Dense):
            units = layer.units or 0
            is_odd = as_activation(layer.activation).name in _ODD_ACTIVATIONS
            total *= factorial(units) * 2 ** (units if is_odd else 0)
    return total


def _hidden_layer(model: Any, layer: int) -> tuple[list[int], int, int]:
    """Indices of the parameters into a hidden layer, of the weights out of it, and its units."""
    check_is_fitted(model)
    check_network(model)
    layers, sizes = model.network_.layers, model.network_.sizes
    pair = layers[layer : layer + 2] if layer >= 0 else ()
    if len(pair) < 2 or not all(isinstance(dense, Dense) for dense in pair):
        raise ValueError(f"layer {layer} is no Dense layer with another Dense layer after it")
    first = sum(sizes[:layer])
    return list(range(first, first + sizes[layer])), first + sizes[layer], int(pair[0].units)


def _replace_params(model: Any, params: list[np.ndarray]) -> Any:
    copied = copy(model)
    copied.params_ = [np.ascontiguousarray(array) for array in params]
    return copied
