"""Naive Bayes with a distribution for each column."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.bayes_rule import BayesRuleClassifier, class_priors, safe_log
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.naive_bayes._column_distributions import (
    BERNOULLI,
    CATEGORICAL,
    GAUSSIAN,
    POISSON,
    CategoryCounts,
    ColumnDistributions,
    check_finite_moments,
    column_log_joint,
    count_categories,
)
from tenfold.naive_bayes._discrete_base import check_non_negative
from tenfold.naive_bayes.categorical import draw_categories
from tenfold.stats.missing_values import ObservedMoments, observed_moments

DISTRIBUTION_CODES = {
    "gaussian": GAUSSIAN,
    "bernoulli": BERNOULLI,
    "poisson": POISSON,
    "categorical": CATEGORICAL,
}


class MixedStatistics(NamedTuple):
    """Moments of the numeric columns, and counts of the categorical ones."""

    numbers: ObservedMoments
    categories: CategoryCounts

    @property
    def n(self) -> np.ndarray:
        """Weight of each class, (k,)."""
        return self.numbers.n

    def expand_to_classes(self, positions: np.ndarray, k: int) -> MixedStatistics:
        """The same statistic among k classes, of which these are at `positions`."""
        return MixedStatistics(
            self.numbers.expand_to_classes(positions, k),
            self.categories.expand_to_classes(positions, k),
        )


class MixedNB(BayesRuleClassifier):
    r"""Naive Bayes with a distribution of its own kind for each feature.

    .. math:: \log p(y = c \mid x) = \log \pi_c + \sum_{j \text{ not missing}} \log p_j(x_j \mid c)
              + \text{const}

    One pass. A Gaussian feature is learned as in `GaussianNB`, a Bernoulli feature (1 if above 0)
    as in `BernoulliNB`, a categorical one (0, 1, ...) as in `CategoricalNB`, a Poisson one as in
    `PoissonNB`; the log-likelihood of a row is the sum over its features. NaN is a missing value
    everywhere: the fit learns from the observed entries, a prediction omits missing ones.

    Parameters
    ----------
    distributions : {"gaussian", "bernoulli", "categorical", "poisson"}, or a list of them
        One for all features, or one for each.
    alpha : float
        Smoothing of counts, as in the models of a single kind; 0 is none.
    var_smoothing : float
        Fraction of the largest variance of a Gaussian feature that is added to all of them.
    priors : (n_classes,) array, optional
        Prior probabilities of the classes; by default their relative weights.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    class_count_, class_prior_ : (n_classes,) weight and prior probability of each class
    mean_, var_ : (n_classes, n_features) mean and variance (Gaussian), probability of 1
        (Bernoulli) or rate (Poisson) without a variance; NaN where the distribution has none
    feature_log_prob_ : for each categorical feature (n_classes, n_categories) log probabilities
    statistic_ : `MixedStatistics` of the training rows

    See Also
    --------
    GaussianNB, BernoulliNB, CategoricalNB, PoissonNB : One distribution for all features.
    GenerativeClassifier : Any density for each class.

    Examples
    --------
    Height in meters, whether a person likes cats, and the town, of two groups of people:

    >>> from tenfold import MixedNB
    >>> X = [[1.7, 1, 0], [1.6, 1, 1], [1.9, 0, 2], [1.8, 0, 2]]
    >>> model = MixedNB(["gaussian", "bernoulli", "categorical"]).fit(X, ["a", "a", "b", "b"])
    >>> model.predict([[1.75, 1, float("nan")]]).tolist()
    ['a']
    """

    _nan_ok = True
    _learns_nan = True
    _statistic_depends_on = ("distributions",)
    _parameter_constraints: dict[str, Any] = {
        "distributions": [StrOptions(set(DISTRIBUTION_CODES)), "array-like"],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "var_smoothing": [Interval(Real, 0, None, closed="left")],
        "priors": ["array-like", None],
    }

    def __init__(
        self,
        distributions: Any = "gaussian",
        *,
        alpha: float = 1.0,
        var_smoothing: float = 1e-9,
        priors: Any = None,
    ) -> None:
        self.distributions = distributions
        self.alpha = alpha
        self.var_smoothing = var_smoothing
        self.priors = priors

    def _kinds(self) -> np.ndarray:
        """The distribution code of each feature, (n_features,)."""
        p, given = self.n_features_in_, self.distributions
        names = [given] * p if isinstance(given, str) else list(given)
        if len(names) != p or not set(names) <= set(DISTRIBUTION_CODES):
            raise ValueError(
                f"distributions={given!r}: give one of {sorted(DISTRIBUTION_CODES)}, or a list of "
                f"one for each of the {p} columns"
            )
        return np.array([DISTRIBUTION_CODES[name] for name in names], dtype=np.int64)

    def _statistic(self, rows: Rows) -> MixedStatistics:
        s = rows.total(_mixed_statistics, len(self.classes_), self._kinds())
        check_finite_moments(s.numbers)
        return s

    def _finalize(self, s: MixedStatistics, dtype: np.dtype) -> dict[str, Any]:
        mean, var = (np.full((len(s.n), self.n_features_in_), np.nan) for _ in range(2))
        kinds = self._kinds()
        mean[:, kinds != CATEGORICAL], var[:, kinds == GAUSSIAN] = self._estimate_numeric(s.numbers)
        logs = s.categories.log_probabilities(self.alpha)
        return {
            "class_count_": s.n,
            "class_prior_": class_priors(self.priors, s.n),
            "mean_": mean.astype(dtype),
            "var_": var.astype(dtype),
            "feature_log_prob_": [table.astype(dtype) for table in logs],
        }

    def _estimate_numeric(self, s: ObservedMoments) -> tuple[np.ndarray, np.ndarray]:
        """Mean, probability or rate of each numeric feature; variances of the Gaussian ones."""
        kinds = self._kinds()
        kinds = kinds[kinds != CATEGORICAL]
        mean, var = s.estimates()
        count = s.observed * s.mean
        pseudocount = np.where(kinds == BERNOULLI, 2, 1) * self.alpha
        total = s.observed + pseudocount
        smoothed = np.where(total > 0, (count + self.alpha) / np.where(total > 0, total, 1), mean)
        var, column_var = var[:, kinds == GAUSSIAN], s.columns()[1][kinds == GAUSSIAN]
        largest = column_var.max(initial=0.0)
        epsilon = self.var_smoothing * (largest if largest > 0 else 1.0)
        return np.where(kinds == GAUSSIAN, mean, smoothed), var + epsilon

    def _scorer(self) -> tuple:
        return column_log_joint, safe_log(self.class_prior_), self._columns()

    def _columns(self) -> ColumnDistributions:
        kinds, mean, var = self._kinds(), self.mean_.astype(np.float64).T, self.var_.T
        kind, tiny = kinds[:, None], np.finfo(var.dtype).tiny
        precision = 1 / np.where(kind == GAUSSIAN, np.maximum(var.astype(np.float64), tiny), 1)
        p_one = np.where(kind == BERNOULLI, mean, 0.5)
        rate = np.where(kind == POISSON, mean, 1)
        a = np.select([kind == BERNOULLI, kind == POISSON], [safe_log(p_one), safe_log(rate)], mean)
        b = np.select([kind == BERNOULLI, kind == POISSON], [safe_log(1 - p_one), rate], precision)
        sizes = np.zeros(len(kinds) + 1, np.int64)
        sizes[1:][kinds == CATEGORICAL] = [t.shape[1] for t in self.feature_log_prob_]
        tables = [t.T.astype(np.float64) for t in self.feature_log_prob_]
        table = np.concatenate([np.empty((0, len(self.classes_))), *tables])
        log_factor = 0.5 * np.log(precision / (2 * np.pi))
        return ColumnDistributions(kinds, a, b, log_factor, table, np.cumsum(sizes))

    def _class_probabilities(self) -> np.ndarray:
        return self.class_prior_

    def _draw(self, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        kinds, mean = self._kinds(), self.mean_.astype(np.float64)[y]
        deviation = np.sqrt(self.var_.astype(np.float64)[y])
        X, tables = np.empty(mean.shape), iter(self.feature_log_prob_)
        for j, kind in enumerate(kinds):
            if kind == GAUSSIAN:
                X[:, j] = rng.normal(mean[:, j], deviation[:, j])
            elif kind == BERNOULLI:
                X[:, j] = rng.random(len(y)) < mean[:, j]
            elif kind == POISSON:
                X[:, j] = rng.poisson(mean[:, j])
            else:
                X[:, j] = draw_categories(next(tables), y, rng)
        return X


def _mixed_statistics(chunk: Chunk, k: int, kinds: np.ndarray) -> MixedStatistics:
    """Moments and counts of the columns of a chunk, by their kinds."""
    X = chunk.X
    check_non_negative(chunk._replace(X=np.where(kinds == POISSON, X, 0)), "MixedNB")
    numbers = np.take(X, np.flatnonzero(kinds != CATEGORICAL), axis=1)
    binary = kinds[kinds != CATEGORICAL] == BERNOULLI
    if binary.any():
        numbers = np.where(binary & ~np.isnan(numbers), numbers > 0, numbers).astype(X.dtype)
    categories = np.take(X, np.flatnonzero(kinds == CATEGORICAL), axis=1)
    return MixedStatistics(
        observed_moments(chunk._replace(X=numbers), k),
        count_categories(chunk._replace(X=categories), k, "MixedNB"),
    )
