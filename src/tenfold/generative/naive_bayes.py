"""Gaussian naive Bayes: one pass of class moments, then Bayes' rule."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from tenfold.estimator import OnePassClassifier, ProbabilisticClassifier
from tenfold.maths.leaves import gaussian_scores
from tenfold.maths.moments import ClassMoments, class_moments
from tenfold.rows import Chunk, Rows


class GaussianNB(OnePassClassifier, ProbabilisticClassifier):
    r"""Classes are Gaussian and, within a class, columns are independent.

    .. math:: \log p(y = c \mid x) = \log \pi_c
              - \tfrac12 \sum_j \Big[\log 2\pi\sigma_{cj}^2
              + \frac{(x_j - \mu_{cj})^2}{\sigma_{cj}^2}\Big] + \text{const}

    One pass over the data: weight, mean and sum of squares of each column within each class. The
    parameters and attributes are those of `sklearn.naive_bayes.GaussianNB`. [002, ch. 5; 004, 3.6]

    Parameters
    ----------
    priors : (k,) array, optional
        Probabilities of the classes; by default their shares of the weight.
    var_smoothing : float
        Share of the largest column variance that is added to all variances.

    Attributes
    ----------
    classes_ : (k,) labels
    class_prior_, class_count_ : (k,) probability and weight of each class
    theta_, var_ : (k, p) mean and variance of each column within each class
    epsilon_ : the variance that was added
    statistic_ : the moments that all this was computed from

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> round(GaussianNB().fit(X, y).score(X, y), 3)
    0.96
    """

    _parameter_constraints = {
        "priors": ["array-like", None],
        "var_smoothing": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, *, priors: Any = None, var_smoothing: float = 1e-9) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing

    def _statistic(self, rows: Rows) -> ClassMoments:
        return rows.total(class_moments, len(self.classes_))

    def _learned(self, s: ClassMoments, dtype: np.dtype) -> dict[str, Any]:
        largest = column_variance(s).max()
        epsilon = self.var_smoothing * (largest if largest > 0 else 1.0)
        weight = np.where(s.n > 0, s.n, 1)[:, None]  # a class announced but not seen yet
        return {
            "class_count_": s.n,
            "class_prior_": self._prior(s.n),
            "theta_": s.mean.astype(dtype),
            "var_": (s.scatter / weight + epsilon).astype(dtype),
            "epsilon_": epsilon,
        }

    def _prior(self, n: np.ndarray) -> np.ndarray:
        if self.priors is None:
            return n / n.sum()
        priors = np.asarray(self.priors, dtype=np.float64)
        if len(priors) != len(n):
            raise ValueError(f"Number of priors must match number of classes: {len(n)}.")
        if not np.isclose(priors.sum(), 1.0):
            raise ValueError(f"The sum of the priors should be 1, not {priors.sum()}.")
        if (priors < 0).any():
            raise ValueError("Priors must be non-negative.")
        return priors

    def _scorer(self) -> tuple:
        var = self.var_.astype(np.float64)
        with np.errstate(divide="ignore"):
            offset = np.log(self.class_prior_) - 0.5 * np.log(2 * np.pi * var).sum(axis=1)
        return log_joint, offset, self.theta_.T, 1 / var.T

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Log of the joint density of each row and each class, (n, k).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._each(X, *self._scorer())


def column_variance(s: ClassMoments) -> np.ndarray:
    """Variance of each column over all classes."""
    share = s.n[:, None] / s.n.sum()
    between = (share * (s.mean - (share * s.mean).sum(axis=0)) ** 2).sum(axis=0)
    return s.scatter.sum(axis=0) / s.n.sum() + between


def log_joint(
    chunk: Chunk, offset: np.ndarray, mean: np.ndarray, precision: np.ndarray
) -> np.ndarray:
    """Log of prior times density, (n, k)."""
    return gaussian_scores(chunk.X, offset, mean, precision)
