"""Many models at once: a weight for each, and what they say together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def gibbs_weights(costs: Any) -> np.ndarray:
    r"""Weights :math:`e^{-J_m} / Z` of models with the costs J, safe at any size of them.

    They are the posterior when J is minus its log, up to a constant. [000, (1.6)]

    Parameters
    ----------
    costs : array
        Cost of each model.

    Returns
    -------
    array of the same shape that sums to 1

    Examples
    --------
    >>> gibbs_weights([1000.0, 1000.0 + np.log(3)]).round(6).tolist()
    [0.75, 0.25]
    """
    J = np.asarray(costs, np.float64)
    return np.exp(-J - np.logaddexp.reduce(-J, axis=None))


class WeightedModels:
    """A list or grid of models, each with the weight exp(-J) / Z of its cost J.

    Parameters
    ----------
    models : sequence
        Fitted models, functions of X, or parameters that `predict` understands.
    costs : (m,) array
        Cost J of each one, for example minus its log-posterior.
    predict : callable, optional
        ``predict(model, X)`` gives (n,) or (n, q) numbers; by default `model.predict(X)`, or
        `model(X)` where the model is a function.

    Attributes
    ----------
    weights : (m,) array that sums to 1
    best : the model of the least cost (MAP)

    Examples
    --------
    Slopes of a line through (1, 2), on a grid:

    >>> slopes = np.linspace(0, 4, 401)
    >>> line = lambda slope, x: slope * x
    >>> many = WeightedModels(slopes, (2 - slopes) ** 2 / (2 * 0.1**2), line)
    >>> float(many.best), many.mean(np.array([3.0])).round(6).tolist()
    (2.0, [6.0])
    >>> many.variance(np.array([3.0])).round(6).tolist()
    [0.09]
    """

    def __init__(
        self, models: Sequence, costs: Any, predict: Callable[..., np.ndarray] | None = None
    ) -> None:
        if len(models) != len(costs):
            raise ValueError(f"{len(models)} models have {len(costs)} costs")
        self.models, self.weights = models, gibbs_weights(costs)
        self.predict = _own_prediction if predict is None else predict
        self.order = np.argsort(np.asarray(costs, np.float64), kind="stable")

    @property
    def best(self) -> Any:
        return self.models[self.order[0]]

    def top(self, k: int) -> list[tuple[Any, float]]:
        """The k models of the largest weight, the best first, with their weights."""
        return [(self.models[i], float(self.weights[i])) for i in self.order[:k]]

    def outputs(self, X: Any, k: int | None = None) -> np.ndarray:
        """What the k best models say (all, in the order of their weights, if None), (k, n)."""
        return np.stack([self.predict(self.models[i], X) for i in self.order[:k]])

    def mean(self, X: Any) -> np.ndarray:
        """Mean of all predictions under the weights."""
        return np.tensordot(self.weights[self.order], self.outputs(X), 1)

    def variance(self, X: Any) -> np.ndarray:
        """Variance of all predictions under the weights."""
        said = self.outputs(X)
        mean = np.tensordot(self.weights[self.order], said, 1)
        return np.tensordot(self.weights[self.order], (said - mean) ** 2, 1)


def _own_prediction(model: Any, X: Any) -> np.ndarray:
    return model.predict(X) if hasattr(model, "predict") else model(X)
