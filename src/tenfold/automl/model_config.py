"""A model with its features and the grid of its hyperparameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np


class ScreeningModel(NamedTuple):
    """A fast model that compares features for a slow one."""

    model: Any
    grid: dict[str, Any]


class HyperparameterRange(NamedTuple):
    """Values of a hyperparameter, evenly spread by their logarithms.

    Attributes
    ----------
    low, high : the limits
    whole : whether values are whole numbers

    Examples
    --------
    >>> leaves = HyperparameterRange(4, 64, whole=True)
    >>> leaves.draw_near(16, np.random.default_rng(0), 0.25)
    17
    """

    low: float
    high: float
    whole: bool = False

    def draw(self, rng: np.random.Generator) -> float:
        """Any value."""
        return self._value(rng.uniform(np.log(self.low), np.log(self.high)))

    def draw_near(self, value: float, rng: np.random.Generator, width: float) -> float:
        """A value near another; `width` is the standard deviation as a fraction of the range."""
        spread = width * np.log(self.high / self.low)
        return self._value(np.log(max(value, self.low)) + spread * rng.normal())

    def _value(self, logarithm: float) -> float:
        value = float(np.clip(np.exp(logarithm), self.low, self.high))
        return round(value) if self.whole else float(f"{value:.3g}")


@dataclass(frozen=True)
class ModelConfig:
    """A model, its features, and the grid of its hyperparameters.

    Attributes
    ----------
    model : unfitted estimator
    grid : values of its hyperparameters
    features : unfitted transformer, or None
    description : parameters of the features, for reports
    screening : model that compares configurations; by default each is tuned completely
    wrapper : unfitted meta-estimator around the tuned model, or None
    scoring : metric by which hyperparameters are chosen, if not that of the task
    while_tuning : parameters of the model while its grid is searched, such as fewer trees
    """

    model: Any
    grid: dict[str, Any] = field(default_factory=dict)
    features: Any = None
    description: dict[str, Any] = field(default_factory=dict)
    screening: ScreeningModel | None = None
    wrapper: Any = None
    scoring: str | None = None
    while_tuning: dict[str, Any] = field(default_factory=dict)
