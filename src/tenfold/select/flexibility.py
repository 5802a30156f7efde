"""Noise, bias and variance against flexibility: the U-curve, and the two kinds of mistakes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from tenfold.select.error_parts import BiasVariance, Draw, Parts, bias_variance, known


class FlexibilityCurve(NamedTuple):
    """The parts of the error for models of growing flexibility.

    Attributes
    ----------
    values : list, what differs between the models
    noise, bias2, variance, error, training : (k,) averages over x
    results : list of BiasVariance
    """

    values: list
    noise: np.ndarray
    bias2: np.ndarray
    variance: np.ndarray
    error: np.ndarray
    training: np.ndarray
    results: list[BiasVariance]

    @property
    def best(self) -> Any:
        """The value of least expected error: the bottom of the U."""
        return self.values[int(self.error.argmin())]


def flexibility_curve(
    models: Mapping[Any, Any], generator: Draw, **options: Any
) -> FlexibilityCurve:
    """`bias_variance` of several models on the same training sets: the U-curve.

    Parameters
    ----------
    models : dict from values to regressors
        From stiff to flexible, such as {degree: model}.
    generator : callable
        ``generator(n, rng)`` gives a fresh X and y.
    **options
        As in `bias_variance`.

    Returns
    -------
    FlexibilityCurve
    """
    results = [bias_variance(model, generator, **options) for model in models.values()]
    columns = np.array([result.average for result in results]).T
    return FlexibilityCurve(
        list(models), **dict(zip(Parts._fields, columns, strict=True)), results=results
    )


class Mistakes(NamedTuple):
    """Excess error over the noise: of the best in the class, and of not finding it."""

    structural: float
    estimation: float


def structural_and_estimation(
    model: Any,
    generator: Draw,
    *,
    truth: Callable[[Any], np.ndarray] | None = None,
    large: int = 20_000,
    seed: int = 0,
    **options: Any,
) -> Mistakes:
    """How much is lost because the class is too poor, and how much because data are too few.

    Structural: the best function of the class, learned from very many rows without noise, against
    the truth. Estimation: what the functions learned from n rows lose on top of that. Both in mean
    squared error above the noise. [002, 3.3; 003, unit 2]

    Parameters
    ----------
    model : regressor
        Its class is what it reaches with very many rows; a penalty fades there.
    generator : callable
        ``generator(n, rng)`` gives a fresh X and y.
    truth : callable, optional
        The true values at rows X; by default the generator's own `truth`.
    large : int
        Rows from which the best function is learned.
    seed : int
        The same seed gives the same training sets.
    **options
        As in `bias_variance`.

    Returns
    -------
    Mistakes
    """
    f = known(generator, truth, 0.0)[0]
    found = bias_variance(model, generator, truth=f, seed=seed, **options)
    X = generator(large, np.random.default_rng([seed, 3]))[0]
    fresh: Any = clone(model)
    best = fresh.fit(X, f(X)).predict(found.x)
    structural = float(np.mean((best - found.truth) ** 2))
    return Mistakes(structural, float(np.mean((found.fits - found.truth) ** 2)) - structural)
