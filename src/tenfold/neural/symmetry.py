"""Changes of the weights that leave a network as it is: why its minima are many [001, 3.2]."""

from __future__ import annotations

from copy import copy
from itertools import pairwise
from math import factorial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.neural.activations import activation
from tenfold.neural.dense import Dense
from tenfold.neural.looking import assert_network

ODD = {"linear", "identity", "tanh"}  # f(-z) = -f(z)


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
    before, after, units = _hidden(model, layer)
    order = np.asarray(order)
    if not np.array_equal(np.sort(order), np.arange(units)):
        raise ValueError(f"order must hold each of 0, ..., {units - 1} once, not {order}")
    params = [array.copy() for array in model.params_]
    for place in before:
        params[place] = params[place][..., order]
    params[after] = params[after][order]
    return _with(model, params)


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
    before, after, _ = _hidden(model, layer)
    name = activation(model.network_.layers[layer].activation).name
    if name not in ODD:
        raise ValueError(f"{name!r} is not odd: only units with {sorted(ODD)} can be turned round")
    params = [array.copy() for array in model.params_]
    for place in before:
        params[place][..., units] *= -1
    params[after][units] *= -1
    return _with(model, params)


def symmetry_count(model: Any) -> int:
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
    >>> symmetry_count(model.fit(X, X[:, 0]))
    3628800
    """
    check_is_fitted(model)
    assert_network(model)
    layers, total = model.network_.layers, 1
    for here, following in pairwise(layers):
        if isinstance(here, Dense) and isinstance(following, Dense):
            units, odd = here.units or 0, activation(here.activation).name in ODD
            total *= factorial(units) * 2 ** (units if odd else 0)
    return total


def _hidden(model: Any, layer: int) -> tuple[list[int], int, int]:
    """Places of the arrays that lead into a hidden layer, and of those that lead out; its units."""
    check_is_fitted(model)
    assert_network(model)
    layers, sizes = model.network_.layers, model.network_.sizes
    pair = layers[layer : layer + 2] if layer >= 0 else ()
    if len(pair) < 2 or not all(isinstance(each, Dense) for each in pair):
        raise ValueError(f"layer {layer} is no Dense layer with another Dense layer after it")
    first = sum(sizes[:layer])
    return list(range(first, first + sizes[layer])), first + sizes[layer], int(pair[0].units)


def _with(model: Any, params: list[np.ndarray]) -> Any:
    again = copy(model)
    again.params_ = [np.ascontiguousarray(array) for array in params]
    return again
