"""Linear discriminant analysis: Gaussian classes with one covariance, in one pass."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from tenfold.generative.bayes_rule import BayesRule
from tenfold.generative.covariances import (
    alike,
    axes,
    class_statistic,
    estimated,
    normalised_priors,
    refuse_contradictions,
    rows_at_once,
    shrunk_classes,
    shrunk_total,
)
from tenfold.generative.directions import (
    Solution,
    along,
    by_eigen,
    by_least_squares,
    by_svd,
    discriminants,
    linear_scores,
    n_directions,
    white_by_moments,
    white_by_rows,
)
from tenfold.maths.class_moments import ClassScatters, residuals
from tenfold.rows import Rows


class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BayesRule):
    r"""Classes are Gaussian with means of their own and one covariance: boundaries are planes.

    .. math:: p(x \mid c) = \mathcal N(x; \mu_c, \Sigma), \qquad
              \log p(y = c \mid x) = x^\top \Sigma^{-1} \mu_c
              - \tfrac12 \mu_c^\top \Sigma^{-1} \mu_c + \log \pi_c + \text{const}

    For two classes the posterior is a logistic function of a linear score. One pass over the data:
    means of classes and the scatter within them; with ``shrinkage="auto"`` also sums of fourth
    order, so that even the share of Ledoit and Wolf is learned from one pass and merges; a
    `covariance_estimator` needs all rows in memory at once. Parameters and attributes are those of
    `sklearn.discriminant_analysis.LinearDiscriminantAnalysis`. [004, 3.6]

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}
        "svd" drops directions in which nothing varies; "lsqr" solves for the discriminants alone;
        "eigen" solves the generalised eigenproblem. The last two can shrink.
    shrinkage : "auto" or float, optional
        Share by which the covariance of each class moves towards a multiple of the unit matrix.
    priors : (k,) array, optional
        Probabilities of the classes; by default their shares of the weight.
    n_components : int, optional
        Columns of `transform`; by default, and at most, min(k - 1, p).
    store_covariance : bool
        Whether "svd" keeps `covariance_` too.
    tol : float
        Singular values of the standardised rows below this do not count (solver "svd").
    covariance_estimator : estimator with `fit` and `covariance_`, optional
        Who finds the covariance of each class, instead of `shrinkage` (not for "svd"), such as
        those of `sklearn.covariance`. It is copied, takes no weights, and needs rows in memory.

    Attributes
    ----------
    classes_ : (k,) labels
    coef_, intercept_ : (k, p) and (k,); of two classes (1, p) and (1,), for the second
    means_, priors_ : (k, p) and (k,)
    covariance_ : (p, p), that within classes
    scalings_ : (p, r) directions that tell the classes apart ("svd", "eigen")
    explained_variance_ratio_ : share of the variance between classes along each ("svd", "eigen")
    xbar_ : (p,) mean of all rows ("svd")
    statistic_ : the moments that all this was computed from; None with a `covariance_estimator`,
        and if "svd" had more columns than rows, which it then decomposes as they are

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold.generative.discriminant import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis(n_components=1).fit(X, y)
    >>> round(model.score(X, y), 3), model.transform(X).shape
    (0.98, (150, 1))
    """

    _min_classes = 2
    _statistic_depends_on = ("solver", "priors", "store_covariance")
    _parameter_constraints: dict[str, Any] = {
        "solver": [StrOptions({"svd", "lsqr", "eigen"})],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both"), None],
        "priors": ["array-like", None],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "store_covariance": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "covariance_estimator": [HasMethods("fit"), None],
    }

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        n_components: int | None = None,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        n, k = rows.n_rows, len(self.classes_)
        if n <= k:
            text = "The number of samples must be more than the number of classes"
            raise ValueError(f"{text}: {n} rows and {k} classes.")
        if self.covariance_estimator is not None:
            chunk, whole = rows_at_once(self, rows), self.solver == "eigen"
            s = estimated(chunk, k, self.covariance_estimator, whole=whole)
            return self._from_statistic(s, rows.dtype) | {"statistic_": None}
        wide = n < rows.n_features and self.shrinkage is None
        if self.solver == "svd" and wide and not self.store_covariance:
            return {**self._from_rows(rows), "statistic_": None, "dtype_": rows.dtype}
        return super()._fit(rows, rng)

    @property
    def _needs_own(self) -> bool:
        """Whether classes need covariances of their own: their mean is weighed by given priors."""
        used = self.solver != "svd" or self.store_covariance
        return used and self.priors is not None

    def _statistic(self, rows: Rows) -> Any:
        auto = self.shrinkage == "auto"
        return class_statistic(rows, len(self.classes_), own=self._needs_own, fourths=auto)

    def _suffices(self, statistic: Any, n_rows: int, dtype: np.dtype, settings: list[dict]) -> bool:
        return alike(self, settings) and super()._suffices(statistic, n_rows, dtype, settings)

    def _learned(self, s: Any, dtype: np.dtype) -> dict[str, Any]:
        refuse_contradictions(self, s)
        priors = normalised_priors(self.priors, s.n)
        most = n_directions(self.n_components, *s.mean.shape)
        if self.solver == "svd":
            white = white_by_moments(s.within() / s.n.sum(), self.tol)
            found = by_svd(s, priors, white, self.tol, most)
        elif self.solver == "lsqr":
            found = by_least_squares(s.mean, priors, self._covariance(s, priors))
        else:
            total = shrunk_total(s, self.shrinkage)
            found = by_eigen(s.mean, priors, self._covariance(s, priors), total, most)
        if self.solver == "svd" and self.store_covariance:
            found.more["covariance_"] = self._covariance(s, priors)
        return self._named(found, s.mean, priors, dtype)

    def _from_rows(self, rows: Rows) -> dict[str, Any]:
        """The svd solver on the rows as they are: fewer than columns."""
        chunk = rows.gather()
        n, mean, D, counts = residuals(chunk, len(self.classes_))
        D = D * np.sqrt(chunk.weights().astype(np.float64) / n.sum())[:, None]
        s = ClassScatters(n, mean, np.empty((0, 0, 0)), counts)
        priors = normalised_priors(self.priors, n)
        most = n_directions(self.n_components, *mean.shape)
        found = by_svd(s, priors, white_by_rows(D, self.tol), self.tol, most)
        return self._named(found, mean, priors, rows.dtype)

    def _covariance(self, s: Any, priors: np.ndarray) -> np.ndarray:
        """Covariance within classes: the mean of theirs, weighed by the priors."""
        parts = shrunk_classes(s, self.shrinkage)
        return parts[0] if len(parts) < len(priors) else np.tensordot(priors, parts, 1)

    def _named(
        self, found: Solution, means: np.ndarray, priors: np.ndarray, dtype: np.dtype
    ) -> dict[str, Any]:
        coef, intercept = found.coef, found.intercept
        if len(coef) == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        learned = {"coef_": coef, "intercept_": intercept, "means_": means, "priors_": priors}
        return {name: value.astype(dtype) for name, value in (learned | found.more).items()}

    def _scorer(self) -> tuple:
        return discriminants, self.coef_, self.intercept_

    def decision_function(self, X: Any) -> np.ndarray:
        """Discriminants of each row, (n, k); of two classes the log-odds of the second, (n,).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        Z = self._each(X, linear_scores, self.coef_, self.intercept_)
        return Z[:, 0] if len(self.coef_) == 1 else Z

    @property
    def _n_features_out(self) -> int:
        return self._directions().shape[1]

    def _directions(self) -> np.ndarray:
        if self.solver == "lsqr":
            message = "transform not implemented for 'lsqr' solver (use 'svd' or 'eigen')."
            raise NotImplementedError(message)
        check_is_fitted(self)
        return self.scalings_[:, : n_directions(self.n_components, *self.means_.shape)]

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of each row along the directions that tell the classes apart.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Returns
        -------
        (n, n_components) array; fewer columns if the means span less
        """
        directions = self._directions()
        center = self.xbar_ if self.solver == "svd" else np.zeros_like(self.means_[0])
        return self._each(X, along, directions, center)

    def _shares(self) -> np.ndarray:
        return self.priors_

    def _draw(self, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if self.statistic_ is not None:
            C = self._covariance(self.statistic_, self.priors_.astype(np.float64))
        elif self.covariance_estimator is not None:
            C = self.covariance_.astype(np.float64)
        else:
            raise ValueError("fewer rows than columns have no covariance: begin with partial_fit")
        variances, V = axes(C)
        steps = rng.normal(size=(len(y), len(variances))) * np.sqrt(variances)
        return self.means_[y] + steps @ V.T
