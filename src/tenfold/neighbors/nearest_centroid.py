"""Nearest-centroid classification."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.one_pass import OnePassClassifier
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.math.distances import squared_distances
from tenfold.math.linalg import to_dense
from tenfold.math.links import log_softmax
from tenfold.stats.moments import ClassMoments, class_moments

_BLOCK = 256  # rows or columns that are dense at a time, where all would take much memory


def _has_probabilities(model: NearestCentroid) -> bool:
    if model.metric == "euclidean":
        return True
    raise AttributeError("metric='manhattan' has no discriminant scores: take metric='euclidean'")


class NearestCentroid(OnePassClassifier):
    r"""Predict the class whose mean is nearest: :math:`\arg\min_c \lVert x - \mu_c \rVert`.

    Probabilities and unequal priors come from the discriminant scores
    :math:`-\sum_j (x_j - \mu_{cj})^2 / s_j^2 + 2 \log \pi_c`, with s the deviation within classes.
    Parameters and attributes are those of `sklearn.neighbors.NearestCentroid`.

    Parameters
    ----------
    metric : {"euclidean", "manhattan"}
        Distance; for "manhattan" the centroids are medians by column, for which `fit` gathers all
        rows in memory, and there is no `partial_fit`.
    shrink_threshold : float, optional
        Shrink each class mean towards the overall mean by this many standard errors, by column.
    priors : {"uniform", "empirical"} or (n_classes,) array
        Probability of each class before its row is seen; "empirical": its share of the weights.

    Attributes
    ----------
    centroids_ : (n_classes, n_features) class means or medians, shrunken if a threshold is given
    classes_ : (n_classes,) class labels
    class_prior_ : (n_classes,) priors
    deviations_ : (n_classes, n_features) centroids less the overall mean, in (shrunken) standard
        errors
    within_class_std_dev_ : (n_features,) standard deviation within the classes

    See Also
    --------
    LinearDiscriminantAnalysis : nearest centroid in the metric of the pooled covariance.
    GaussianNB : with a variance for each class and column.

    References
    ----------
    R. Tibshirani, T. Hastie, B. Narasimhan and G. Chu (2002), Diagnosis of multiple cancer types by
    shrunken centroids of gene expression.

    Examples
    --------
    >>> from tenfold import NearestCentroid
    >>> model = NearestCentroid().fit([[0.0], [1.0], [8.0], [9.0]], ["low", "low", "high", "high"])
    >>> model.predict([[3.0], [6.0]]).tolist()
    ['low', 'high']
    """

    _sparse_ok = True
    _min_classes = 2
    _parameter_constraints = {
        "metric": [StrOptions({"euclidean", "manhattan"})],
        "shrink_threshold": [Interval(Real, 0, None, closed="neither"), None],
        "priors": ["array-like", StrOptions({"uniform", "empirical"})],
    }

    def __init__(
        self,
        metric: str = "euclidean",
        *,
        shrink_threshold: float | None = None,
        priors: Any = "uniform",
    ) -> None:
        self.metric = metric
        self.shrink_threshold = shrink_threshold
        self.priors = priors

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        if self.metric == "euclidean":
            return super()._fit(rows, rng)
        s = rows.total(sparse_class_moments, len(self.classes_))
        medians = _class_medians(rows.gather(), len(self.classes_))
        return {**self._centroids(s, medians, rows.dtype), "statistic_": None, "dtype_": rows.dtype}

    def _has_statistic(self, rows: Rows) -> bool:
        return self.metric == "euclidean"

    def _statistic(self, rows: Rows) -> ClassMoments:
        if self.metric != "euclidean":
            raise ValueError("medians do not merge: use fit, or metric='euclidean'")
        return rows.total(sparse_class_moments, len(self.classes_))

    def _finalize(self, s: ClassMoments, dtype: np.dtype) -> dict[str, Any]:
        return self._centroids(s, s.mean, dtype)

    def _centroids(self, s: ClassMoments, centroids: np.ndarray, dtype: np.dtype) -> dict[str, Any]:
        center = (s.n / s.n.sum()) @ s.mean
        offset = centroids - center
        about = s.scatter + s.n[:, None] * (s.mean - centroids) ** 2
        deviation = np.sqrt(about.sum(axis=0) / max(s.n.sum() - (s.n > 0).sum(), 1))
        shares = np.maximum(1 / np.maximum(s.n, 1) - 1 / s.n.sum(), 0)
        error = np.sqrt(shares)[:, None] * (deviation + np.median(deviation))
        if self.shrink_threshold is not None:
            shrunken = np.maximum(np.abs(offset) - self.shrink_threshold * error, 0)
            offset = np.sign(offset) * shrunken
        deviations = np.divide(offset, error, out=np.zeros_like(offset), where=error > 0)
        return {
            "centroids_": (center + offset).astype(dtype),
            "class_prior_": self._class_prior(s.n),
            "deviations_": deviations.astype(dtype),
            "within_class_std_dev_": deviation.astype(dtype),
        }

    def _class_prior(self, n: np.ndarray) -> np.ndarray:
        if isinstance(self.priors, str):
            return np.full(len(n), 1 / len(n)) if self.priors == "uniform" else n / n.sum()
        priors = np.array(self.priors, np.float64)
        if priors.shape != n.shape:
            raise ValueError(f"priors has the shape {priors.shape}, but there are {len(n)} classes")
        if (priors < 0).any():
            raise ValueError("priors must be non-negative")
        if not np.isclose(priors.sum(), 1.0):
            warnings.warn(
                "The priors do not sum to 1. Normalizing such that it sums to one.", stacklevel=2
            )
            priors = priors / priors.sum()
        return priors

    def _scorer(self) -> tuple:
        k = len(self.classes_)
        priors = getattr(self, "class_prior_", np.full(k, 1 / k))
        if not np.isclose(priors, 1 / k).all():
            return self._discriminant()
        s = getattr(self, "statistic_", None)
        has_rows = np.ones(k, bool) if s is None else s.n > 0
        if self.metric == "manhattan":
            return negative_manhattan_distances, self.centroids_
        return negative_squared_distances, self.centroids_, has_rows

    def _discriminant(self) -> tuple:
        deviation = self.within_class_std_dev_
        scale = np.where(deviation > 0, deviation, deviation.dtype.type(1))
        with np.errstate(divide="ignore"):
            log_prior = 2 * np.log(self.class_prior_).astype(scale.dtype)
        centroids = self.centroids_ / scale
        return discriminant_scores, centroids, scale, log_prior, self.metric == "manhattan"

    @available_if(_has_probabilities)
    def decision_function(self, X: Any) -> np.ndarray:
        """Discriminant score of each class, (n_rows, n_classes); of two, the difference, (n_rows,).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        scores = self._map_rows(X, *self._discriminant())
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class for each row, (n_rows, n_classes).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        return np.exp(self.predict_log_proba(X))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log-probability of each class for each row, (n_rows, n_classes).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return log_softmax(self._map_rows(X, *self._discriminant()))


def sparse_class_moments(chunk: Chunk, k: int) -> ClassMoments:
    """Weight, mean and sum of squares about the mean of each class; sparse rows stay sparse."""
    if isinstance(chunk.X, np.ndarray):
        return class_moments(chunk, k)
    w = chunk.weights().astype(np.float64)
    shape = k, chunk.rows
    member = sparse.csr_array((w, (chunk.y, np.arange(chunk.rows))), shape=shape)
    n = np.asarray(member.sum(axis=1), np.float64).ravel()
    X = chunk.X.astype(np.float64)
    mean = (member @ X).toarray() / np.where(n > 0, n, 1)[:, None]
    squares = (member @ X.power(2)).toarray()
    return ClassMoments(n, mean, np.maximum(squares - n[:, None] * mean**2, 0.0))


def _class_medians(chunk: Chunk, k: int) -> np.ndarray:
    """Weighted median of each class and column, (n_classes, n_features)."""
    w = chunk.weights().astype(np.float64)
    medians = np.zeros((k, chunk.X.shape[1]))
    for c in range(k):
        members = np.flatnonzero((chunk.y == c) & (w > 0))
        part = chunk.X[members] if isinstance(chunk.X, np.ndarray) else chunk.X[members].tocsc()
        for j in range(0, part.shape[1], _BLOCK):
            columns = slice(j, j + _BLOCK)
            medians[c, columns] = _weighted_medians(to_dense(part[:, columns]), w[members])
    return medians


def _weighted_medians(X: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Median of each column; the middle of two values where the weights are halved between them."""
    if not len(X):
        return np.zeros(X.shape[1])
    order = X.argsort(axis=0, kind="stable")
    below = np.cumsum(w[order], axis=0)
    half = w.sum() / 2
    lower, upper = (below >= half).argmax(axis=0), (below > half).argmax(axis=0)
    values = np.take_along_axis(X, order, axis=0)
    columns = np.arange(X.shape[1])
    return (values[lower, columns] + values[upper, columns]) / 2


def negative_squared_distances(
    chunk: Chunk, centroids: np.ndarray, has_rows: np.ndarray
) -> np.ndarray:
    """Minus the squared distance to each centroid; -inf for classes without rows."""
    return np.where(has_rows, -_squared_distances(chunk.X, centroids), -np.inf)


def _squared_distances(X: Any, centroids: np.ndarray) -> np.ndarray:
    """Squared distances (n_rows, n_classes); sparse rows stay sparse."""
    if isinstance(X, np.ndarray):
        return squared_distances(X, centroids)
    squares = np.asarray(X.power(2).sum(axis=1)).reshape(-1, 1)
    return np.maximum(squares - 2 * (X @ centroids.T) + (centroids**2).sum(axis=1), 0)


def negative_manhattan_distances(chunk: Chunk, centroids: np.ndarray) -> np.ndarray:
    """Minus the sum of absolute differences to each centroid."""
    scores = np.empty((chunk.rows, len(centroids)), np.result_type(chunk.X.dtype, centroids))
    for i in range(0, chunk.rows, _BLOCK):
        X = to_dense(chunk.X[i : i + _BLOCK])
        for c, centroid in enumerate(centroids):
            scores[i : i + _BLOCK, c] = -np.abs(X - centroid).sum(axis=1)
    return scores


def discriminant_scores(
    chunk: Chunk,
    centroids: np.ndarray,
    scale: np.ndarray,
    log_prior: np.ndarray,
    manhattan: bool,
) -> np.ndarray:
    """Minus the squared distance to each centroid, in units of `scale`, plus the log-prior."""
    dense = isinstance(chunk.X, np.ndarray)
    X: Any = chunk.X / scale if dense else (chunk.X @ sparse.diags_array(1 / scale)).tocsr()
    if manhattan:
        return log_prior - negative_manhattan_distances(chunk._replace(X=X), centroids) ** 2
    return log_prior - _squared_distances(X, centroids)
