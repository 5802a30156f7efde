"""Gaussian classes with a choice of covariance structure."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from tenfold._compiled.likelihoods import diagonal_gaussian_scores
from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.bayes_rule import (
    BayesRuleClassifier,
    check_no_infinity,
    class_priors,
    safe_log,
)
from tenfold.discriminant._covariance import (
    compute_class_moments,
    fill_in_moments,
    principal_axes,
    score_incomplete_rows,
)
from tenfold.discriminant.qda import quadratic_log_joint
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.naive_bayes._column_distributions import ColumnDistributions, column_log_joint
from tenfold.stats.missing_values import ObservedMoments, observed_moments
from tenfold.stats.moments import class_moments

COVARIANCE_STRUCTURES = ("full", "tied", "diagonal", "spherical")


class GaussianClassifier(BayesRuleClassifier):
    r"""Gaussian classes with a choice of covariance structure.

    .. math:: \log p(y = c \mid x) = \log \pi_c + \log \mathcal N(x; \mu_c, \Sigma_c)
              + \text{const}

    =============  ============================================  =============================
    `covariance`   :math:`\Sigma_c`                              the same as
    =============  ============================================  =============================
    "full"         any; boundaries are quadrics                  quadratic discriminants
    "tied"         any, one for all; boundaries are planes       linear discriminants
    "diagonal"     a variance for each class and column          Gaussian naive Bayes
    "spherical"    a variance for each class                     scaled distances to means
    =============  ============================================  =============================

    All estimates are maximum likelihood. One pass over the data.

    NaN is a missing entry: estimates maximize the likelihood of the observed entries, and the
    posterior is that given the observed entries of a row (their marginal density). Without
    correlations these are means and variances of the observed entries. With correlations EM finds
    them from a statistic that still merges: the moments of the observed columns for each class and
    set of missing columns, so that its memory grows with the number of such sets, at most with the
    incomplete rows; the first pass finds that entries are missing, a second one gathers them.

    Parameters
    ----------
    covariance : {"full", "tied", "diagonal", "spherical"}
        Structure of the covariances.
    reg_covar : float
        Added to all variances.
    priors : (n_classes,) array, optional
        Prior probabilities of the classes; by default their relative weights.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    means_, priors_ : (n_classes, n_features) and (n_classes,)
    covariances_ : (n_classes, n_features, n_features), (n_features, n_features),
        (n_classes, n_features) or (n_classes,), by `covariance`
    statistic_ : class moments of the training rows

    See Also
    --------
    LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis : Shrinkage and projections.
    GaussianMixture : The same components without labels.

    References
    ----------
    T. Hastie, R. Tibshirani and J. Friedman (2009), The Elements of Statistical Learning,
    section 4.3.

    R. J. A. Little and D. B. Rubin (2002), Statistical Analysis with Missing Data, chapter 11.

    Examples
    --------
    >>> from tenfold import GaussianClassifier
    >>> X = [[0.0, 0.0], [2.0, 0.0], [4.0, 6.0], [6.0, 6.0]]
    >>> model = GaussianClassifier("spherical", reg_covar=0).fit(X, ["a", "a", "b", "b"])
    >>> model.covariances_.tolist(), model.predict([[3.0, 1.0]]).tolist()
    ([0.5, 0.5], ['a'])
    """

    _nan_ok = True
    _statistic_depends_on = ("covariance",)
    _parameter_constraints: dict[str, Any] = {
        "covariance": [StrOptions(set(COVARIANCE_STRUCTURES))],
        "reg_covar": [Interval(Real, 0, None, closed="left")],
        "priors": ["array-like", None],
    }

    def __init__(
        self, covariance: str = "full", *, reg_covar: float = 1e-6, priors: Any = None
    ) -> None:
        self.covariance = covariance
        self.reg_covar = reg_covar
        self.priors = priors

    @property
    def _column_matrices(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return 5 if self.covariance in ("full", "tied") else 0

    def _statistic(self, rows: Rows) -> Any:
        k = len(self.classes_)
        if self.covariance in ("full", "tied"):
            return compute_class_moments(rows, k, by_class=self.covariance == "full", fourth=False)
        s = rows.total(class_moments, k)
        return s if np.isfinite(s.scatter).all() else rows.total(_observed_class_moments, k)

    def _finalize(self, s: Any, dtype: np.dtype) -> dict[str, Any]:
        s = fill_in_moments(self, s)
        mean = s.estimates()[0] if isinstance(s, ObservedMoments) else s.mean
        return {
            "means_": mean.astype(dtype),
            "priors_": class_priors(self.priors, s.n).astype(dtype),
            "covariances_": self._covariances(s).astype(dtype),
        }

    def _covariances(self, s: Any) -> np.ndarray:
        if self.covariance in ("full", "tied"):
            C = s.covariances() + self.reg_covar * np.eye(s.mean.shape[1])
            return C if self.covariance == "full" else C[0]
        if isinstance(s, ObservedMoments):
            return self._observed_variances(s) + self.reg_covar
        variances = s.scatter / np.where(s.n > 0, s.n, 1)[:, None] + self.reg_covar
        return variances if self.covariance == "diagonal" else variances.mean(axis=1)

    def _observed_variances(self, s: ObservedMoments) -> np.ndarray:
        """Variances of the observed entries: of each column, or of all in one."""
        if self.covariance == "diagonal":
            return s.estimates()[1]
        observed = s.observed.sum(axis=1)
        return s.scatter.sum(axis=1) / np.where(observed > 0, observed, 1)

    def _axes(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Positive variances and principal axes of each class, or of all."""
        C, limits = self.covariances_.astype(np.float64), np.finfo(self.covariances_.dtype)
        pairs = [principal_axes(part) for part in (C if C.ndim == 3 else C[None])]
        return [(np.maximum(v, max(limits.eps * v[0], limits.tiny)), V) for v, V in pairs]

    def _variances(self) -> np.ndarray:
        """Variances of each class and feature, (k, p), of independent features."""
        C = np.maximum(self.covariances_.astype(np.float64), np.finfo(self.means_.dtype).tiny)
        return C if C.ndim == 2 else np.repeat(C[:, None], self.means_.shape[1], axis=1)

    def _scorer(self) -> tuple:
        dtype, prior = self.means_.dtype, safe_log(self.priors_.astype(np.float64))
        if self.covariance in ("diagonal", "spherical"):
            v = self._variances()
            offset = prior - 0.5 * np.log(2 * np.pi * v).sum(axis=1)
            return _diagonal_log_joint, prior, offset, self.means_.T, 1 / v.T
        pairs = self._axes()
        offset = prior - [0.5 * np.log(2 * np.pi * v).sum() for v, _ in pairs]
        roots = np.stack([V / np.sqrt(v) for v, V in pairs]).astype(dtype)
        C = self.covariances_.astype(np.float64)
        marginal = prior, self.means_.astype(np.float64), C if C.ndim == 3 else C[None]
        if self.covariance == "full":
            return quadratic_log_joint, offset.astype(dtype), self.means_, roots, marginal
        center = self.means_.mean(axis=0)
        means = (self.means_ - center) @ roots[0]
        return _tied_log_joint, offset, center, roots[0], means, marginal

    def _class_probabilities(self) -> np.ndarray:
        return self.priors_

    def _draw(self, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        normals = rng.normal(size=(len(y), self.means_.shape[1]))
        if self.covariance in ("diagonal", "spherical"):
            return self.means_[y] + normals * np.sqrt(self._variances()[y])
        roots = np.stack([V * np.sqrt(v) for v, V in self._axes()])
        roots = roots[y] if len(roots) > 1 else np.repeat(roots, len(y), axis=0)
        return self.means_[y] + np.einsum("nij,nj->ni", roots, normals)


def _observed_class_moments(chunk: Chunk, k: int) -> ObservedMoments:
    """Moments of the observed entries of each class; infinities are an error."""
    check_no_infinity(chunk)
    return observed_moments(chunk, k)


def _diagonal_log_joint(
    chunk: Chunk,
    log_prior: np.ndarray,
    offset: np.ndarray,
    mean: np.ndarray,
    precision: np.ndarray,
) -> np.ndarray:
    """Log of prior times density, (n, k), of independent columns; mean and precision are (p, k)."""
    scores = diagonal_gaussian_scores(chunk.X, offset, mean, precision)
    if not np.isfinite(scores).all():  # some entry is missing, or infinite
        return column_log_joint(chunk, log_prior, ColumnDistributions.gaussian(mean, precision))
    return scores


def _tied_log_joint(
    chunk: Chunk,
    offset: np.ndarray,
    center: np.ndarray,
    root: np.ndarray,
    means: np.ndarray,
    marginal: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> np.ndarray:
    """Log of prior times density, (n, k), with one covariance, in whitened coordinates."""
    with np.errstate(invalid="ignore"):
        Z = (chunk.X - center) @ root
    scores = diagonal_gaussian_scores(
        Z, offset, np.ascontiguousarray(means.T), np.ones(means.shape[::-1])
    )
    score_incomplete_rows(chunk, scores, *marginal)
    return scores
