"""A generative classifier: any density for each class, and Bayes' rule."""

from __future__ import annotations

from copy import deepcopy
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tenfold.base._sklearn import HasMethods
from tenfold.base.bayes_rule import (
    BayesRuleClassifier,
    check_no_infinity,
    class_priors,
    safe_log,
)
from tenfold.distributions.base import draw_rows, takes_missing_values
from tenfold.distributions.normal import Gaussian
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.stats.class_moments import expand_to_classes, sort_by_class


class ClassDensityStatistics(NamedTuple):
    """Statistic of the density of each class.

    Attributes
    ----------
    n : (k,) weight of each class
    parts : for each class the statistic of its density, None for a class without rows; empty if
        the density has no statistic
    """

    n: np.ndarray
    parts: tuple

    def expand_to_classes(self, positions: np.ndarray, k: int) -> ClassDensityStatistics:
        """The same statistic among k classes, of which these are at `positions`."""
        parts: list[Any] = [None] * k
        for position, part in zip(positions, self.parts, strict=True):
            parts[position] = part
        return ClassDensityStatistics(expand_to_classes(self.n, positions, k), tuple(parts))


def _is_mergeable(density: Any) -> bool:
    """Whether a density learns from a statistic."""
    return hasattr(density, "statistic") and hasattr(density, "fit_statistic")


_VARIANCE_FLOOR = 1e-6  # added to the variances of the default density


class GenerativeClassifier(BayesRuleClassifier):
    r"""Generative classifier: a density for each class, and Bayes' rule.

    .. math:: p(y = c \mid x) \propto \pi_c \, p_c(x)

    A density is an object with `fit(X, w)`, `log_density(X)` and `sample(n, rng)`; see
    `tenfold.distributions`. If it also has `statistic(X, w)` and `fit_statistic(s)`, the
    model learns in one pass over data of any size and has `partial_fit` and `merge`; otherwise the
    rows have to fit into memory. ``Independent((Poisson(), Gaussian(), ...))`` is naive Bayes with
    any density for each feature.

    Rows may have missing entries (NaN) if the density has `observed_log_density(X)`, the
    log-density of the observed entries, and `observed_statistic(X, w)`: `Gaussian` (without a
    prior), `Independent`, `Categorical`, and the densities of independent columns have.

    Parameters
    ----------
    density : density, optional
        Fitted to the rows of each class; by default a Gaussian with any covariance.
    priors : (n_classes,) array, optional
        Prior probabilities of the classes; by default their relative weights.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    priors_ : (n_classes,)
    densities_ : the fitted density of each class
    statistic_ : statistic of the density of each class; None if the density has none

    See Also
    --------
    MixtureModel : The same densities without labels.
    GaussianClassifier, MixedNB : Particular densities, faster.

    Examples
    --------
    Waiting times, exponential with a rate for each class:

    >>> import numpy as np
    >>> from typing import NamedTuple
    >>> from tenfold import GenerativeClassifier
    >>> class Exponential(NamedTuple):
    ...     rate: float = 1.0
    ...
    ...     def fit(self, X, w):
    ...         return Exponential(w.sum() / (w @ X[:, 0]))
    ...
    ...     def log_density(self, X):
    ...         return np.log(self.rate) - self.rate * X[:, 0]
    ...
    ...     def sample(self, n, rng):
    ...         return rng.exponential(1 / self.rate, (n, 1))
    >>> model = GenerativeClassifier(Exponential())
    >>> model = model.fit([[1.0], [3.0], [10.0], [30.0]], ["tram", "tram", "train", "train"])
    >>> [float(density.rate) for density in model.densities_], model.predict([[4.0]]).tolist()
    ([0.05, 0.5], ['tram'])
    """

    _statistic_depends_on = ("density",)
    _parameter_constraints: dict[str, Any] = {
        "density": [HasMethods(["fit", "log_density"]), None],
        "priors": ["array-like", None],
    }

    def __init__(self, density: Any = None, *, priors: Any = None) -> None:
        self.density = density
        self.priors = priors

    @property
    def _nan_ok(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return takes_missing_values(self._density)

    @property
    def _density(self) -> Any:
        return Gaussian(floor=_VARIANCE_FLOOR) if self.density is None else self.density

    @property
    def _column_matrices(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return 4 if self.density is None else 0

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        if _is_mergeable(self._density):
            return super()._fit(rows, rng)
        chunk = rows.gather()
        check_no_infinity(chunk)
        parts = _split_by_class(chunk, len(self.classes_))
        n = np.array([w.sum() for _, w in parts])
        fitted = [deepcopy(self._density).fit(X, w) for X, w in parts]
        learned = self._attributes(n, fitted, rows.dtype)
        return {**learned, "statistic_": None, "dtype_": rows.dtype}

    def _statistic(self, rows: Rows) -> ClassDensityStatistics:
        return rows.total(_class_density_statistics, self._density, len(self.classes_))

    def _statistic_suffices(
        self, statistic: ClassDensityStatistics, n_rows: int, dtype: np.dtype, settings: list[dict]
    ) -> bool:
        sufficient = _is_mergeable(self._density)
        return sufficient and super()._statistic_suffices(statistic, n_rows, dtype, settings)

    def _finalize(self, s: ClassDensityStatistics, dtype: np.dtype) -> dict[str, Any]:
        if not _is_mergeable(self._density):
            raise TypeError(
                f"{type(self._density).__name__} has no statistic(X, w): call fit with all rows, "
                "or give the density statistic(X, w) and fit_statistic(s)"
            )
        fitted = [None if p is None else self._density.fit_statistic(p) for p in s.parts]
        return self._attributes(s.n, fitted, dtype)

    def _attributes(self, n: np.ndarray, fitted: list[Any], dtype: np.dtype) -> dict[str, Any]:
        priors = class_priors(self.priors, n)
        return {"priors_": priors.astype(dtype), "densities_": fitted}

    def _scorer(self) -> tuple:
        return _density_log_joint, safe_log(self.priors_), self.densities_

    def _class_probabilities(self) -> np.ndarray:
        return self.priors_

    def _draw(self, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        X = np.empty((len(y), self.n_features_in_))
        for c in np.unique(y):
            X[y == c] = draw_rows(self.densities_[c], int((y == c).sum()), rng)
        return X


def _split_by_class(chunk: Chunk, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows and weights of each class."""
    order, start = sort_by_class(chunk.y, k)
    X = np.take(chunk.X, order, axis=0)
    w = np.take(chunk.weights().astype(np.float64), order)
    return [(X[a:b], w[a:b]) for a, b in pairwise(start)]


def _class_density_statistics(chunk: Chunk, density: Any, k: int) -> ClassDensityStatistics:
    """The statistic of the density for the rows of each class."""
    parts = _split_by_class(chunk, k)
    n = np.array([w.sum() for _, w in parts])
    if not _is_mergeable(density):
        return ClassDensityStatistics(n, ())
    missing = takes_missing_values(density) and np.isnan(chunk.X).any()
    statistic = density.observed_statistic if missing else density.statistic
    return ClassDensityStatistics(n, tuple(statistic(X, w) if len(X) else None for X, w in parts))


def _density_log_joint(chunk: Chunk, log_prior: np.ndarray, densities: list[Any]) -> np.ndarray:
    """Log of prior times density, (n, k); minus infinity for a class without rows."""
    scores = np.full((chunk.rows, len(densities)), -np.inf, chunk.X.dtype)
    check_no_infinity(chunk)
    missing = bool(np.isnan(chunk.X).any())
    for c, density in enumerate(densities):
        if density is not None:
            log_density = density.observed_log_density if missing else density.log_density
            scores[:, c] = log_prior[c] + log_density(chunk.X)
    return scores
