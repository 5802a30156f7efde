r"""Base class of naive Bayes for discrete features: smoothed counts of each class.

The log of prior times density is linear in the row, :math:`x \cdot w_c + b_c`, for multinomial,
Bernoulli and Poisson features alike.
"""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tenfold._compiled.reductions import class_sums
from tenfold.base._sklearn import Interval
from tenfold.base.bayes_rule import BayesRuleClassifier, safe_log
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.stats.class_moments import expand_to_classes
from tenfold.stats.decorators import propagates_nan

DISCRETE_NB_CONSTRAINTS: dict[str, Any] = {
    "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
    "force_alpha": ["boolean"],
    "fit_prior": ["boolean"],
    "class_prior": ["array-like", None],
}
_MIN_ALPHA = 1e-10  # smaller smoothing is raised to it unless `force_alpha`


class ClassCounts(NamedTuple):
    """Sums of the rows of each of k classes.

    Attributes
    ----------
    n : (k,) weight of each class
    sums : (k, p) weighted sum of its rows
    """

    n: np.ndarray
    sums: np.ndarray

    def expand_to_classes(self, positions: np.ndarray, k: int) -> ClassCounts:
        """The same statistic among k classes, of which these are at `positions`."""
        return ClassCounts(*(expand_to_classes(part, positions, k) for part in self))


class DiscreteNB(BayesRuleClassifier):
    """Smoothing, priors and a linear score of naive Bayes models of discrete features."""

    _sparse_ok = True
    _positive_only = True
    _parameter_constraints: dict[str, Any] = DISCRETE_NB_CONSTRAINTS

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self._positive_only
        tags.classifier_tags.poor_score = True
        return tags

    def _statistic(self, rows: Rows) -> Any:
        count = _count_sparse if rows.sparse else _count_dense
        return rows.total(count, len(self.classes_), type(self).__name__)

    def _finalize(self, s: Any, dtype: np.dtype) -> dict[str, Any]:
        features = self._features(s, self._check_alpha())
        return {
            "class_count_": s.n,
            "class_log_prior_": self._log_prior(s.n),
            "feature_count_": s.sums.astype(dtype, copy=False),
            **{name: value.astype(dtype, copy=False) for name, value in features.items()},
        }

    def _features(self, s: ClassCounts, alpha: Any) -> dict[str, np.ndarray]:
        """Learned attributes of the features, from counts and smoothing."""
        raise NotImplementedError(f"{type(self).__name__} has to define _features(s, alpha)")

    def _log_prior(self, n: np.ndarray) -> np.ndarray:
        if self.class_prior is not None:
            if len(self.class_prior) != len(n):
                raise ValueError(f"Number of priors must match number of classes: {len(n)}.")
            return safe_log(np.asarray(self.class_prior, dtype=np.float64))
        return safe_log(n / n.sum()) if self.fit_prior else np.full(len(n), -np.log(len(n)))

    def _check_alpha(self) -> Any:
        """The validated smoothing."""
        alpha: Any = np.asarray(self.alpha, np.float64)
        if alpha.ndim:
            if alpha.shape != (self.n_features_in_,):
                raise ValueError(
                    "When alpha is an array, it should contains `n_features`. "
                    f"Got {alpha.shape[0]} elements instead of {self.n_features_in_}."
                )
            if (alpha < 0).any():
                raise ValueError("All values in alpha must be greater than 0.")
        if np.min(alpha) >= _MIN_ALPHA or self.force_alpha:
            return alpha
        warnings.warn(
            "alpha too small will result in numeric errors, setting alpha = "
            f"{_MIN_ALPHA:.1e}. Use `force_alpha=True` to keep alpha unchanged.",
            stacklevel=5,
        )
        return np.maximum(alpha, _MIN_ALPHA)

    def _class_probabilities(self) -> np.ndarray:
        return np.exp(self.class_log_prior_)

    def _linear(self, W: np.ndarray, b: np.ndarray, required: np.ndarray | None = None) -> tuple:
        """Arguments of `linear_log_joint` from coefficients (k, p), of which some may be -inf.

        `required` (k, p) marks features that a class always has: rows required one are impossible.
        """
        dtype = self.feature_count_.dtype
        n_required = np.zeros(len(W), dtype)
        if required is None and np.isfinite(W.min()):
            return W.T.astype(dtype, copy=False), b.astype(dtype), None, n_required
        forbidden = np.isneginf(W).astype(dtype)
        if required is not None:
            forbidden = forbidden - required
            n_required = required.sum(axis=1).astype(dtype)
        W = np.where(np.isfinite(W), W, 0).astype(dtype)
        return W.T, b.astype(dtype), forbidden.T, n_required


def linear_log_joint(
    chunk: Chunk,
    W: np.ndarray,
    b: np.ndarray,
    forbidden: np.ndarray | None,
    n_required: np.ndarray,
) -> np.ndarray:
    """X W + b, (n, k); minus infinity where X forbidden + n_required > 0, since 0 log 0 is 0."""
    scores = chunk.X @ W + b
    if forbidden is not None:
        scores[chunk.X @ forbidden + n_required > 0] = -np.inf
    return scores


def log_counts(counts: np.ndarray) -> np.ndarray:
    """Logarithm of (k, p) in column-major order, in which predictions read it."""
    with np.errstate(divide="ignore"):
        return np.log(counts.T, order="C").T


def _count_sparse(chunk: Chunk, k: int, model_name: str) -> ClassCounts:
    """Weight and sum of the CSR rows of each class; negative entries are an error."""
    check_non_negative(chunk, model_name)
    return class_totals(chunk, k)


@propagates_nan
def _count_dense(chunk: Chunk, k: int, model_name: str) -> ClassCounts:
    """Weight and sum of the dense rows of each class; negative entries are an error."""
    return _count_sparse(chunk, k, model_name)


def class_totals(chunk: Chunk, k: int) -> ClassCounts:
    """Weight and sum of the rows of each class, dense or CSR."""
    X, w = chunk.X, chunk.weights().astype(np.float64)
    if isinstance(X, np.ndarray):
        return ClassCounts(*class_sums(X, chunk.y, w, k))
    return ClassCounts(*_sparse_class_sums(X.data, X.indices, X.indptr, chunk.y, w, k, X.shape[1]))


def check_non_negative(chunk: Chunk, model_name: str) -> None:
    """Raise an error that names the position of a negative entry."""
    values = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.data
    if not values.size or values.min() >= 0:
        return
    if not (values < 0).any():  # NaN hid the minimum
        return
    if isinstance(chunk.X, np.ndarray):
        row, column = np.argwhere(values < 0)[0]
    else:
        entry = int(np.argmax(values < 0))
        row = np.searchsorted(chunk.X.indptr, entry, "right") - 1
        column = chunk.X.indices[entry]
    raise ValueError(
        f"Negative values in data passed to {model_name} (input X): row {chunk.first + row}, "
        f"column {column}. Counts are not negative: use GaussianNB for columns that can be."
    )


@njit(cache=True, nogil=True)
def _sparse_class_sums(data, indices, indptr, y, w, k, p):  # noqa: ANN001, ANN202
    """Weight and weighted sum of the CSR rows of each class, in float64: (k,), (k, p)."""
    weight, sums = np.zeros(k), np.zeros((k, p))
    for i in range(len(y)):
        c = y[i]
        weight[c] += w[i]
        for at in range(indptr[i], indptr[i + 1]):
            sums[c, indices[at]] += w[i] * data[at]
    return weight, sums
