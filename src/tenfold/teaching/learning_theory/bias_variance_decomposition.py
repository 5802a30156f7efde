r"""Bias-variance decomposition by simulation, and error against model complexity.

.. math:: E_{D, y} (y - f_D(x))^2 = \underbrace{\sigma^2(x)}_{\text{noise}}
          + \underbrace{(f(x) - \bar f(x))^2}_{\text{bias}^2}
          + \underbrace{E_D (\bar f(x) - f_D(x))^2}_{\text{variance}}

f is the true function, f_D the fit to training set D, and f-bar its mean over training sets.

References: S. Geman, E. Bienenstock, R. Doursat (1992), Neural networks and the bias/variance
dilemma.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier

DataGenerator = Callable[[int, np.random.Generator], tuple[Any, np.ndarray]]
_NOISE_ROWS = 20_000  # drawn to estimate an unknown noise variance


@dataclass(frozen=True)
class NoisyCurve:
    """A data generator of one noisy function: ``generator(n, rng)`` gives X and y.

    Parameters
    ----------
    curve : callable
        The true function, of an array.
    low, high : float
        Limits of x, which is uniform.
    noise : float
        Standard deviation of the Gaussian noise.

    Examples
    --------
    >>> import numpy as np
    >>> sine = NoisyCurve(lambda x: np.sin(2 * np.pi * x), noise=0.35)
    >>> X, y = sine(8, np.random.default_rng(0))
    >>> X.shape, y.shape
    ((8, 1), (8,))
    """

    curve: Callable[[np.ndarray], np.ndarray]
    low: float = 0.0
    high: float = 1.0
    noise: float = 0.35

    def truth(self, X: np.ndarray) -> np.ndarray:
        """The curve at the rows of X."""
        return self.curve(np.asarray(X)[:, 0])

    @property
    def variance(self) -> float:
        """Variance of the noise."""
        return self.noise**2

    def __call__(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        x = rng.uniform(self.low, self.high, n)
        return x[:, None], self.curve(x) + self.noise * rng.standard_normal(n)


class ErrorDecomposition(NamedTuple):
    """Averages over x: noise + bias2 + variance = error; `training` is the training error."""

    noise: float
    bias2: float
    variance: float
    error: float
    training: float


class BiasVariance(NamedTuple):
    """Fits of a model to many training sets, at the same points.

    Attributes
    ----------
    x : (n_points, n_features) points
    truth : (n_points,) true values
    noise : (n_points,) variance of y
    fits : (n_repeats, n_points) predictions of the fit to each training set
    training_errors : (n_repeats,) mean squared error of each fit on its training set
    """

    x: Any
    truth: np.ndarray
    noise: np.ndarray
    fits: np.ndarray
    training_errors: np.ndarray

    @property
    def mean_fit(self) -> np.ndarray:
        """Mean of the fits at each point, (n_points,)."""
        return self.fits.mean(axis=0)

    @property
    def bias2(self) -> np.ndarray:
        """Squared distance of the mean fit from the truth, (n_points,).

        The mean of the fits has an error of its own: this is variance / repeats too large.
        """
        return (self.mean_fit - self.truth) ** 2

    @property
    def variance(self) -> np.ndarray:
        """Mean squared distance of the fits from their mean, (n_points,)."""
        return self.fits.var(axis=0)

    @property
    def error(self) -> np.ndarray:
        """Expected squared error of a new y, (n_points,); not computed from the three parts."""
        return ((self.fits - self.truth) ** 2).mean(axis=0) + self.noise

    @property
    def average(self) -> ErrorDecomposition:
        """The decomposition, averaged over the points."""
        parts = (self.noise, self.bias2, self.variance, self.error, self.training_errors)
        return ErrorDecomposition(*(float(part.mean()) for part in parts))


def bias_variance(
    model: Any,
    generator: DataGenerator,
    *,
    truth: Callable[[Any], np.ndarray] | None = None,
    noise: float | Callable[[Any], np.ndarray] | None = None,
    n: int = 50,
    repeats: int = 200,
    x: Any = None,
    seed: int = 0,
) -> BiasVariance:
    """Decompose the error of a regressor into noise, bias and variance, by simulation.

    Parameters
    ----------
    model : regressor
        Cloned for every training set.
    generator : callable
        ``generator(n, rng)`` gives new X and y, such as `NoisyCurve`.
    truth : callable, optional
        The true values at rows X; by default the generator's own `truth`.
    noise : float or callable, optional
        Variance of y about the truth, a number or a function of X; by default the generator's
        `variance`, or an estimate from 20,000 rows.
    n : int
        Rows of each training set.
    repeats : int
        Number of training sets.
    x : (n_points, n_features) array, optional
        Points; by default 200 new rows, so that averages are those of the population.
    seed : int
        The same seed gives the same training sets, whatever the model.

    Returns
    -------
    BiasVariance

    Examples
    --------
    The mean of n numbers has no bias and variance sigma^2 / n, here 1 / 25:

    >>> import numpy as np
    >>> from sklearn.dummy import DummyRegressor
    >>> flat = NoisyCurve(np.zeros_like, noise=1.0)
    >>> found = bias_variance(DummyRegressor(), flat, n=25, repeats=400).average
    >>> round(found.noise, 2), round(found.bias2, 2), round(found.variance, 2)
    (1.0, 0.0, 0.04)
    """
    if is_classifier(model):
        raise TypeError(f"{type(model).__name__} is a classifier: squared errors need a regressor")
    f, noise_of = _resolve_truth(generator, truth, noise)
    points = generator(200, np.random.default_rng([seed, 1]))[0] if x is None else x
    fits, training = [], []
    for repeat in range(repeats):
        X, y = generator(n, np.random.default_rng([seed, 2, repeat]))
        unfitted: Any = clone(model)
        fitted = unfitted.fit(X, y)
        fits.append(np.asarray(fitted.predict(points)))
        training.append(np.mean((fitted.predict(X) - y) ** 2))
    target = np.asarray(f(points), float)
    variance = np.broadcast_to(
        np.asarray(noise_of(points) if callable(noise_of) else noise_of), target.shape
    )
    return BiasVariance(points, target, variance, np.array(fits), np.array(training))


def _resolve_truth(generator: DataGenerator, truth: Any, noise: Any) -> tuple[Any, Any]:
    """True function and noise variance: given, of the generator, or (the noise) estimated."""
    truth = getattr(generator, "truth", None) if truth is None else truth
    if truth is None:
        raise ValueError("the true function is not known: give truth=")
    noise = getattr(generator, "variance", None) if noise is None else noise
    if noise is None:
        X, y = generator(_NOISE_ROWS, np.random.default_rng(0))
        noise = float(np.mean((y - truth(X)) ** 2))
    return truth, noise


class ComplexityCurve(NamedTuple):
    """Error decompositions of models of growing complexity.

    Attributes
    ----------
    values : list, complexity of each model
    noise, bias2, variance, error, training : (n_models,) averages over x
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
        """The value of least expected error."""
        return self.values[int(self.error.argmin())]


def complexity_curve(
    models: Mapping[Any, Any], generator: DataGenerator, **options: Any
) -> ComplexityCurve:
    """`bias_variance` of several models on the same training sets: the U-curve.

    Parameters
    ----------
    models : dict from values to regressors
        Of growing complexity, such as {degree: model}.
    generator : callable
        ``generator(n, rng)`` gives new X and y.
    **options
        As in `bias_variance`.

    Returns
    -------
    FlexibilityCurve
    """
    results = [bias_variance(model, generator, **options) for model in models.values()]
    columns = np.array([result.average for result in results]).T
    return ComplexityCurve(
        list(models), **dict(zip(ErrorDecomposition._fields, columns, strict=True)), results=results
    )


class ExcessError(NamedTuple):
    """Excess error over the noise: approximation error and estimation error."""

    structural: float
    estimation: float


def approximation_and_estimation_error(
    model: Any,
    generator: DataGenerator,
    *,
    truth: Callable[[Any], np.ndarray] | None = None,
    large: int = 20_000,
    seed: int = 0,
    **options: Any,
) -> ExcessError:
    """Approximation error of a model class, and estimation error from finitely many rows.

    Approximation error: of the best function of the class, fitted to very many rows without noise.
    Estimation error: what fits to n rows add to it. Both in mean squared error above the noise.

    Parameters
    ----------
    model : regressor
        Its class is what it fits with very many rows, where a penalty has no effect.
    generator : callable
        ``generator(n, rng)`` gives new X and y.
    truth : callable, optional
        The true values at rows X; by default the generator's own `truth`.
    large : int
        Rows that the best function is fitted to.
    seed : int
        The same seed gives the same training sets.
    **options
        As in `bias_variance`.

    Returns
    -------
    Mistakes
    """
    f = _resolve_truth(generator, truth, 0.0)[0]
    found = bias_variance(model, generator, truth=f, seed=seed, **options)
    X = generator(large, np.random.default_rng([seed, 3]))[0]
    fresh: Any = clone(model)
    best = fresh.fit(X, f(X)).predict(found.x)
    structural = float(np.mean((best - found.truth) ** 2))
    return ExcessError(structural, float(np.mean((found.fits - found.truth) ** 2)) - structural)
