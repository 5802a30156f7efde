"""The loss around a network: along two directions through its parameters."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.neural.judging import scores
from tenfold.neural.looking import assert_network, known_targets
from tenfold.neural.steps import Task
from tenfold.rows import Chunk, Rows
from tenfold.rows.arrays import Arrays


class Surface(NamedTuple):
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
) -> Surface:
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
    assert_network(model)
    params = [array.astype(np.float64) for array in model.params_]
    pair = directions or [_direction(params, random_state, number) for number in range(2)]
    for each in pair:
        if [np.shape(d) for d in each] != [p.shape for p in params]:
            raise ValueError("a direction is a list of arrays like those of model.params_")
    places = np.linspace(-span, span, steps)
    X, labels = np.asarray(X), known_targets(model, y)
    rows, task = Rows(Arrays(X.reshape(len(X), -1), labels)), model._task()  # noqa: SLF001
    loss = [[rows.total(loss_sum, task, moved(params, pair, a, b)) for b in places] for a in places]
    return Surface(places, places, np.array(loss) / len(X))


def loss_sum(chunk: Chunk, task: Task, params: list[np.ndarray]) -> float:
    """Loss of a chunk."""
    return task.loss.both(scores(chunk, task, params), chunk.y, None)[0]


def moved(params: list[np.ndarray], pair: Any, a: float, b: float) -> list[np.ndarray]:
    """Parameters some way along two directions."""
    return [p + a * d + b * e for p, d, e in zip(params, *pair, strict=True)]


def _direction(params: list[np.ndarray], seed: int, number: int) -> list[np.ndarray]:
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
