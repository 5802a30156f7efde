"""A model with its features and the grid of its hyperparameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple


class ScreeningModel(NamedTuple):
    """A fast model that compares features for a slow one."""

    model: Any
    grid: dict[str, Any]


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
    """

    model: Any
    grid: dict[str, Any] = field(default_factory=dict)
    features: Any = None
    description: dict[str, Any] = field(default_factory=dict)
    screening: ScreeningModel | None = None
    wrapper: Any = None
    scoring: str | None = None
