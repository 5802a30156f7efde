r"""Base class of naive Bayes for discrete features: smoothed counts of each class.

The log of prior times density is linear in the row, :math:`x \cdot w_c + b_c`, for multinomial,
Bernoulli and Poisson features alike. NaN is a missing entry: `_missing_counts` has what the rows
with missing entries need.
"""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
from numba import njit

from tenfold._compiled.reductions import class_sums
from tenfold.base._sklearn import Interval
from tenfold.base.bayes_rule import BayesRuleClassifier, check_no_infinity, safe_log
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.naive_bayes._missing_counts import (
    ClassCounts,
    ObservedCounts,
    observed_class_totals,
    score_incomplete_rows,
)

DISCRETE_NB_CONSTRAINTS: dict[str, Any] = {
    "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
    "force_alpha": ["boolean"],
    "fit_prior": ["boolean"],
    "class_prior": ["array-like", None],
}
_MIN_ALPHA = 1e-10  # smaller smoothing is raised to it unless `force_alpha`


class DiscreteNB(BayesRuleClassifier):
    """Smoothing, priors and a linear score of naive Bayes models of discrete features."""

    _nan_ok = True
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
        state = len(self.classes_), *self._count_state()
        n, sums = rows.total(_count, *state)
        if np.isfinite(sums).all():
            return ClassCounts(n, sums)
        return ObservedCounts(*rows.total(_count_observed, *state))

    def _count_state(self) -> tuple[Any, ...]:
        """Name of the model if it refuses negative entries, and threshold of binary ones."""
        return type(self).__name__ if self._positive_only else "", None

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


class LinearNB(DiscreteNB):
    r"""Naive Bayes whose log of prior times density is linear in the row.

    .. math:: \log \frac{p(y = 1 \mid x)}{p(y = 0 \mid x)} = x \cdot (w_1 - w_0) + (b_1 - b_0),
              \qquad b_c = \log \pi_c + \dots
    """

    @property
    def coef_(self) -> np.ndarray:
        """Slopes of the log of prior times density, (n_classes, n_features).

        For two classes those of the log-odds of the second, (1, n_features), as in linear models.
        """
        return _log_ratio(self._slopes())

    @property
    def intercept_(self) -> np.ndarray:
        """Offsets, which include the log priors: (n_classes,), or (1,) for two classes."""
        return _log_ratio(self._offsets())

    def _slopes(self) -> np.ndarray:
        """Slopes of the log-joint, (n_classes, n_features); some may be -inf."""
        raise NotImplementedError(f"{type(self).__name__} has to define _slopes()")

    def _offsets(self) -> np.ndarray:
        """Offsets of the log-joint, (n_classes,)."""
        raise NotImplementedError(f"{type(self).__name__} has to define _offsets()")

    def _linear_scorer(self, marginal: Any, required: np.ndarray | None = None) -> tuple:
        """Arguments of `_map_rows` from the slopes, of which some may be -inf, and the offsets.

        `marginal` scores rows with missing entries. `required` (k, p) marks features that a class
        always has: rows without one are impossible.
        """
        W, b, dtype = self._slopes(), self._offsets(), self.feature_count_.dtype
        n_required = np.zeros(len(W), dtype)
        forbidden = None
        if required is not None or not np.isfinite(W.min()):
            forbidden = np.isneginf(W).astype(dtype)
            if required is not None:
                forbidden = forbidden - required
                n_required = required.sum(axis=1).astype(dtype)
            W, forbidden = np.where(np.isfinite(W), W, 0).astype(dtype), forbidden.T
        state = W.T.astype(dtype, copy=False), b.astype(dtype), forbidden, n_required
        return linear_log_joint, *self._count_state(), *state, marginal


def _log_ratio(part: np.ndarray) -> np.ndarray:
    """A part of the log-joint of each class; for two classes the second less the first."""
    if len(part) != 2:
        return part.copy()
    with np.errstate(invalid="ignore"):
        return np.where(part[1:] == part[:1], 0.0, part[1:] - part[:1]).astype(part.dtype)


def linear_log_joint(
    chunk: Chunk,
    positive_name: str,
    threshold: float | None,
    W: np.ndarray,
    b: np.ndarray,
    forbidden: np.ndarray | None,
    n_required: np.ndarray,
    marginal: Any,
) -> np.ndarray:
    """X W + b, (n, k); minus infinity where X forbidden + n_required > 0, since 0 log 0 is 0.

    Rows with missing entries are scored by `marginal`.
    """
    X = _prepare_entries(chunk, positive_name, threshold)
    with np.errstate(invalid="ignore"):  # of infinities, which are looked for below
        scores = X @ W + b
    finite = np.isfinite(scores)
    if forbidden is not None:
        scores[X @ forbidden + n_required > 0] = -np.inf
    if not finite.all():
        check_no_infinity(chunk)
        score_incomplete_rows(X, scores, marginal, W, b, forbidden)
    return scores


def log_counts(counts: np.ndarray) -> np.ndarray:
    """Logarithm of (k, p) in column-major order, in which predictions read it."""
    with np.errstate(divide="ignore"):
        return np.log(counts.T, order="C").T


def _count(
    chunk: Chunk, k: int, positive_name: str, threshold: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """Weight and sum of the rows of each class, dense or CSR; NaN where an entry is missing."""
    X, w = _prepare_entries(chunk, positive_name, threshold), chunk.weights().astype(np.float64)
    if isinstance(X, np.ndarray):
        return class_sums(X, chunk.y, w, k)
    return _sparse_class_sums(X.data, X.indices, X.indptr, chunk.y, w, k, X.shape[1])


def _count_observed(
    chunk: Chunk, k: int, positive_name: str, threshold: float | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weight of each class, of its observed entries, and their sums; infinities are an error."""
    X = _prepare_entries(chunk, positive_name, threshold)
    check_no_infinity(chunk)
    return observed_class_totals(chunk._replace(X=X), k)


def _prepare_entries(chunk: Chunk, positive_name: str, threshold: float | None) -> Any:
    """The rows, checked to be non-negative or binarized; NaN stays NaN."""
    if positive_name:
        check_non_negative(chunk, positive_name)
    if threshold is None:
        return chunk.X
    check_no_infinity(chunk)
    return _binarize_rows(chunk.X, threshold)


def _binarize_rows(X: Any, threshold: float) -> Any:
    """1 where an entry is above the threshold, NaN where it is missing, else 0; dense or CSR."""
    entries = X if isinstance(X, np.ndarray) else X.data
    binary = np.greater(entries, threshold).astype(entries.dtype)
    if np.isnan(entries.sum()):
        binary[np.isnan(entries)] = np.nan
    if isinstance(X, np.ndarray):
        return binary
    return type(X)((binary, X.indices, X.indptr), shape=X.shape)


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
