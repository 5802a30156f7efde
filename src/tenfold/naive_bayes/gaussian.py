"""Gaussian naive Bayes: one pass of class moments, then Bayes' rule."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from tenfold._compiled.likelihoods import diagonal_gaussian_scores
from tenfold.base._sklearn import Interval
from tenfold.base.bayes_rule import BayesRuleClassifier, class_priors, safe_log
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.naive_bayes._column_distributions import (
    ColumnDistributions,
    check_finite_moments,
    column_log_joint,
)
from tenfold.stats.missing_values import ObservedMoments, observed_moments


class GaussianNB(BayesRuleClassifier):
    r"""Gaussian naive Bayes: within a class, features are independent Gaussians.

    .. math:: \log p(y = c \mid x) = \log \pi_c
              - \tfrac12 \sum_j \Big[\log 2\pi\sigma_{cj}^2
              + \frac{(x_j - \mu_{cj})^2}{\sigma_{cj}^2}\Big] + \text{const}

    One pass over the data: weight, mean and sum of squares of each feature within each class. The
    parameters and attributes are those of `sklearn.naive_bayes.GaussianNB`. Entries that are NaN
    are missing: the fit learns from the observed entries, and a prediction omits the terms of
    missing ones, which is the exact posterior given the observed ones.

    Parameters
    ----------
    priors : (n_classes,) array, optional
        Prior probabilities of the classes; by default their relative weights.
    var_smoothing : float
        Fraction of the largest feature variance that is added to all variances.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    class_prior_, class_count_ : (n_classes,) prior probability and weight of each class
    theta_, var_ : (n_classes, n_features) mean and variance of each feature within each class;
        those of all rows where a class has no observed entry
    epsilon_ : the variance that was added
    statistic_ : `ObservedMoments` of the training rows

    See Also
    --------
    MixedNB : A distribution of its own for each feature.
    GaussianClassifier : Gaussian classes with other covariances.

    References
    ----------
    T. F. Chan, G. H. Golub and R. J. LeVeque (1983), Algorithms for computing the sample variance:
    analysis and recommendations.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianNB().fit(X, y)
    >>> round(model.score(X, y), 3)
    0.96

    Missing entries are omitted:

    >>> model.predict([[float("nan"), 3.0, 1.4, 0.2]]).tolist()
    [0]

    Samples of the fitted model:

    >>> new_X, new_y = model.sample(5, random_state=0)
    >>> new_X.shape, new_y.shape
    ((5, 4), (5,))
    """

    _nan_ok = True
    _parameter_constraints = {
        "priors": ["array-like", None],
        "var_smoothing": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, *, priors: Any = None, var_smoothing: float = 1e-9) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing

    def _statistic(self, rows: Rows) -> ObservedMoments:
        s = rows.total(observed_moments, len(self.classes_))
        check_finite_moments(s)
        return s

    def _finalize(self, s: ObservedMoments, dtype: np.dtype) -> dict[str, Any]:
        largest = s.columns()[1].max()
        epsilon = self.var_smoothing * (largest if largest > 0 else 1.0)
        mean, variance = s.estimates()
        return {
            "class_count_": s.n,
            "class_prior_": class_priors(self.priors, s.n),
            "theta_": mean.astype(dtype),
            "var_": (variance + epsilon).astype(dtype),
            "epsilon_": epsilon,
        }

    def _scorer(self) -> tuple:
        var = np.maximum(self.var_.astype(np.float64), np.finfo(self.var_.dtype).tiny)
        offset = safe_log(self.class_prior_)
        return _gaussian_log_joint, offset, self.theta_.T, 1 / var.T

    def _class_probabilities(self) -> np.ndarray:
        return self.class_prior_

    def _draw(self, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.normal(self.theta_[y], np.sqrt(self.var_[y]))


def _gaussian_log_joint(
    chunk: Chunk, log_prior: np.ndarray, mean: np.ndarray, precision: np.ndarray
) -> np.ndarray:
    """Log of prior times density, (n, k); mean and precision are (p, k)."""
    offset = log_prior + 0.5 * np.log(precision / (2 * np.pi)).sum(axis=0)
    scores = diagonal_gaussian_scores(chunk.X, offset, mean, precision)
    if not np.isfinite(scores).all():  # some entry is missing, or infinite
        return column_log_joint(chunk, log_prior, ColumnDistributions.gaussian(mean, precision))
    return scores
