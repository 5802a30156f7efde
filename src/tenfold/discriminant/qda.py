"""Quadratic discriminant analysis: Gaussian classes with covariances of their own, in one pass."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import HasMethods, Interval, StrOptions
from tenfold.base.bayes_rule import BayesRuleClassifier, safe_log
from tenfold.discriminant._covariance import (
    AxisCovariances,
    can_share_moments,
    check_covariance_parameters,
    compute_class_moments,
    fill_in_moments,
    fit_class_covariances,
    gather_for_estimator,
    normalize_priors,
    principal_axes,
    score_incomplete_rows,
    shrunk_class_covariances,
)
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows


class QuadraticDiscriminantAnalysis(BayesRuleClassifier):
    r"""Quadratic discriminant analysis: Gaussian classes with a covariance each.

    .. math:: \log p(y = c \mid x) = \log \pi_c - \tfrac12 \log \lvert \Sigma_c \rvert
              - \tfrac12 (x - \mu_c)^\top \Sigma_c^{-1} (x - \mu_c) + \text{const}

    Decision boundaries are quadrics. One pass over the data: mean and scatter of each class; a
    `covariance_estimator` needs all rows in memory. Parameters and attributes are those of
    `sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis`, but `reg_param` also regularizes
    classes with fewer rows than features. NaN is a missing entry, as in `GaussianClassifier`: the
    fit maximizes the likelihood of the observed entries, by EM on a statistic that merges, and a
    row is classified by its observed entries; ``shrinkage="auto"`` and a `covariance_estimator`
    need complete rows.

    Parameters
    ----------
    solver : {"svd", "eigen"}
        "svd" can be regularized by `reg_param`, "eigen" by `shrinkage`; otherwise they are equal.
    shrinkage : "auto" or float, optional
        Intensity of shrinkage of each covariance towards a multiple of the identity.
    priors : (n_classes,) array, optional
        Prior probabilities of the classes; by default their relative weights.
    reg_param : float
        Intensity of shrinkage of each covariance towards the identity.
    store_covariance : bool
        Whether `covariance_` is kept.
    tol : float
        A class whose smallest variance along its principal axes is not above it is an error.
    covariance_estimator : estimator with `fit` and `covariance_`, optional
        Estimates the covariance of each class, instead of `shrinkage` (not for "svd"), such as
        those of `sklearn.covariance`. It is cloned and needs rows in memory.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    means_, priors_ : (n_classes, n_features) and (n_classes,)
    rotations_ : for each class (n_features, n_features), its principal axes as columns
    scalings_ : for each class (n_features,), the variances along them, largest first
    covariance_ : for each class (n_features, n_features)
    statistic_ : class moments of the training rows; None with a `covariance_estimator`

    See Also
    --------
    LinearDiscriminantAnalysis : One covariance for all classes.
    GaussianClassifier : A choice of covariance structures, and weights.

    References
    ----------
    T. Hastie, R. Tibshirani and J. Friedman (2009), The Elements of Statistical Learning,
    section 4.3.

    Examples
    --------
    A narrow class inside of a wide one, which no linear boundary separates:

    >>> from tenfold import QuadraticDiscriminantAnalysis
    >>> X = [[-0.1], [0.0], [0.1], [-3.0], [0.0], [3.0]]
    >>> model = QuadraticDiscriminantAnalysis().fit(X, ["in"] * 3 + ["out"] * 3)
    >>> model.predict([[-2.0], [0.05], [2.0]]).tolist()
    ['out', 'in', 'out']
    """

    _nan_ok = True
    _min_classes = 2
    _column_matrices = 6
    _parameter_constraints: dict[str, Any] = {
        "solver": [StrOptions({"svd", "eigen"})],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both"), None],
        "priors": ["array-like", None],
        "reg_param": [Interval(Real, 0, 1, closed="both")],
        "store_covariance": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "covariance_estimator": [HasMethods("fit"), None],
    }

    def __init__(
        self,
        *,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        reg_param: float = 0.0,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def fit(self, X: Any, y: Any = None) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Fit the model; for rows with weights see `partial_fit`, or `GaussianClassifier`.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array or column name
            Their labels.

        Returns
        -------
        self
        """
        return super().fit(X, y)

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        if self.covariance_estimator is None:
            return super()._fit(rows, rng)
        chunk, k = gather_for_estimator(self, rows), len(self.classes_)
        for c in np.flatnonzero(np.bincount(chunk.y, minlength=k) == 1):
            self._raise_single_row(int(c))
        s = fit_class_covariances(chunk, k, self.covariance_estimator, with_total=False)
        return self._from_statistic(s, rows.dtype) | {"statistic_": None}

    def _statistic(self, rows: Rows) -> Any:
        auto = self.shrinkage == "auto"
        return compute_class_moments(rows, len(self.classes_), by_class=True, fourth=auto)

    def _statistic_suffices(
        self, statistic: Any, n_rows: int, dtype: np.dtype, settings: list[dict]
    ) -> bool:
        return can_share_moments(self, settings) and super()._statistic_suffices(
            statistic, n_rows, dtype, settings
        )

    def _finalize(self, s: Any, dtype: np.dtype) -> dict[str, Any]:
        check_covariance_parameters(self, s)
        s = fill_in_moments(self, s)
        pairs = [
            self._axes(c, C, s) for c, C in enumerate(shrunk_class_covariances(s, self.shrinkage))
        ]
        learned: dict[str, Any] = {
            "means_": s.mean.astype(dtype),
            "priors_": normalize_priors(self.priors, s.n).astype(dtype),
            "scalings_": [variances.astype(dtype) for variances, _ in pairs],
            "rotations_": [V.astype(dtype) for _, V in pairs],
        }
        if self.store_covariance:
            learned["covariance_"] = [((V * v) @ V.T).astype(dtype) for v, V in pairs]
        return learned

    def _axes(self, c: int, covariance: np.ndarray, s: Any) -> tuple[np.ndarray, np.ndarray]:
        """Variances and principal axes of a class, regularized; an error if it is singular."""
        if s.n[c] == 0:  # a declared class without rows: its prior is 0
            return np.ones(len(covariance)), np.eye(len(covariance))
        if s.rows[c] == 1:
            self._raise_single_row(int(c))
        variances, V = principal_axes(covariance)
        if self.solver == "svd":
            variances = (1 - self.reg_param) * variances + self.reg_param
        if (variances > self.tol).all():
            return variances, V
        size = f" it has {int(s.rows[c])} samples and {len(V)} features."
        raise np.linalg.LinAlgError(
            f"The covariance matrix of class {self.classes_[c]} is not full rank."
            f" When using `solver={self.solver!r}` it must be:{size} Set `reg_param` (solver "
            "'svd') or `shrinkage` (solver 'eigen'), or drop columns that the others determine."
        )

    def _raise_single_row(self, c: int) -> None:
        raise ValueError(
            f"y has only 1 sample in class {self.classes_[c]}, covariance is ill defined."
        )

    def _scorer(self) -> tuple:
        scalings = [variances.astype(np.float64) for variances in self.scalings_]
        offset = safe_log(self.priors_) - [0.5 * np.log(variances).sum() for variances in scalings]
        pairs = zip(self.rotations_, scalings, strict=True)
        roots = np.stack([(V / np.sqrt(v)).astype(V.dtype) for V, v in pairs])
        marginal = (
            safe_log(self.priors_.astype(np.float64)),
            self.means_.astype(np.float64),
            AxisCovariances(list(self.rotations_), scalings),
        )
        return quadratic_log_joint, offset.astype(self.means_.dtype), self.means_, roots, marginal

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of each row, (n_samples, n_classes); for two classes the log-odds, (n_samples,).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        Z = self._map_rows(X, *self._scorer())
        return Z[:, 1] - Z[:, 0] if Z.shape[1] == 2 else Z

    def _class_probabilities(self) -> np.ndarray:
        return self.priors_

    def _draw(self, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        normals = rng.normal(size=(len(y), self.means_.shape[1]))
        pairs = zip(self.rotations_, self.scalings_, strict=True)
        roots = np.stack([V * np.sqrt(v) for V, v in pairs])
        return self.means_[y] + np.einsum("nij,nj->ni", roots[y], normals)


def quadratic_log_joint(
    chunk: Chunk,
    offset: np.ndarray,
    means: np.ndarray,
    roots: np.ndarray,
    marginal: tuple[np.ndarray, np.ndarray, Any],
) -> np.ndarray:
    """offset_c - 1/2 |(x - mean_c) root_c|^2, (n, k); `marginal` scores rows with missing entries.

    The marginal holds log priors, means and covariances of the classes.
    """
    scores = np.empty((chunk.rows, len(means)), chunk.X.dtype)
    with np.errstate(invalid="ignore"):
        for c, (mean, root) in enumerate(zip(means, roots, strict=True)):
            Z = (chunk.X - mean) @ root
            scores[:, c] = offset[c] - 0.5 * (Z * Z).sum(axis=1)
    score_incomplete_rows(chunk, scores, *marginal)
    return scores
