"""Ordinal regression: classes with an order, as intervals of one latent score."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import ProbabilisticClassifier
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear._cumulative_link import (
    CumulativeLinkObjective,
    class_weight_totals,
    initial_parameters,
    log_probabilities,
)
from tenfold.linear._separation import (
    MAX_RELATIVE_VIOLATION,
    SEPARATION_MESSAGE,
    Margins,
)
from tenfold.linear._smooth_solvers import inverse_product
from tenfold.linear._thresholds import (
    NEWTON_MAX_PARAMETERS,
    ORDINAL_NEWTON_MAX_ENTRIES,
    PRECONDITIONER_MAX_PARAMETERS,
)
from tenfold.math.linalg import solve_psd
from tenfold.optim.convergence import Minimum
from tenfold.optim.newton_methods import newton
from tenfold.optim.quasi_newton import lbfgs

_REFINEMENTS = 8  # Newton steps that free the direction of separation from all others


class OrdinalRegression(ProbabilisticClassifier):
    r"""Ordinal regression by a cumulative link: proportional odds, or ordered probit.

    .. math:: P(y \le j \mid x) = F(t_j - x \cdot w), \qquad t_1 < \dots < t_{k-1}

    .. math:: \min_{w, t} - \sum_i \omega_i \log P(y_i \mid x_i) + \tfrac\alpha2 \lVert w \rVert^2

    One score x.w orders all rows; thresholds cut it into the classes. With two classes this is
    logistic (or probit) regression. The objective is convex. Solvers work on log(exp(gap) - 1) of
    each gap between thresholds, which keeps these in order. One pass over the data per iteration.

    The order of the classes is that of `classes`, or of an ordered categorical target (pandas,
    polars or Arrow, in memory); other labels are in sorted order, words alphabetically.

    Parameters
    ----------
    alpha : float
        Strength of the penalty on the coefficients; 0 for none.
    link : {"logit", "probit"}
        F: the logistic distribution (proportional odds) or the normal one.
    classes : (n_classes,) array, optional
        The labels in their order, such as ``["low", "medium", "high"]``.
    solver : {"auto", "lbfgs", "newton-cholesky"}
        "newton-cholesky" takes few iterations with a Hessian each; "lbfgs" takes more, with one
        Hessian at the start for up to 2000 dense columns. "auto" takes Newton's method for small
        tables of up to 256 parameters.
    tol : float
        Converged when no entry of the gradient of the mean objective exceeds this.
    max_iter : int
        Maximum number of iterations.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    n_jobs : int, optional
        Number of threads; all by default.

    Attributes
    ----------
    classes_ : (n_classes,) labels, in order
    coef_ : (n_features,) coefficients
    thresholds_ : (n_classes - 1,) ascending thresholds
    n_iter_, converged_ : iterations, and whether the gradient was small enough at the end
    history_ : mean objective after each iteration ("objective"), and "seconds"

    See Also
    --------
    LogisticRegression : Classes without an order.
    ProbitRegression : Two classes.

    References
    ----------
    * P. McCullagh (1980). Regression models for ordinal data. Journal of the Royal Statistical
      Society B 42.

    Examples
    --------
    >>> from tenfold.linear.ordinal import OrdinalRegression
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> model = OrdinalRegression(alpha=0.1).fit(X, [1, 2, 1, 3, 2, 3])  # stars
    >>> model.predict([[0.0], [2.5], [6.0]]).tolist(), bool(np.diff(model.thresholds_) > 0)
    ([1, 2, 3], True)

    Words need their order:

    >>> sizes = ["small", "small", "medium", "medium", "large", "large"]
    >>> OrdinalRegression(classes=["small", "medium", "large"]).fit(X, sizes).classes_.tolist()
    ['small', 'medium', 'large']
    """

    _sparse_ok = True
    _min_classes = 2
    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "link": [StrOptions({"logit", "probit"})],
        "classes": ["array-like", None],
        "solver": [StrOptions({"auto", "lbfgs", "newton-cholesky"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "verbose": ["verbose"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        link: str = "logit",
        classes: Any = None,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 100,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.link = link
        self.classes = classes
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _training_rows(self, X: Any, y: Any, w: Any) -> Rows:
        rows = super()._training_rows(X, y, w)
        order = category_order(X, y) if self.classes is None else np.asarray(self.classes)
        if order is None or rows.label_encoding() is not None:  # parts of rows are in order
            return rows
        found = self.classes_
        unknown = [label for label in found.tolist() if label not in order.tolist()]
        if unknown or len(set(order.tolist())) < len(order):
            raise ValueError(
                f"classes={order.tolist()} must list every label once, but y holds {found.tolist()}"
            )
        self.classes_ = order[np.isin(order, found)].astype(found.dtype)
        codes = np.searchsorted(found, self.classes_)
        return rows.with_classes(codes if rows.classes is None else self.classes_)

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        k = len(self.classes_)
        totals = rows.total(class_weight_totals, k)
        _check_outer_classes(self.classes_, totals)
        n = float(totals.sum())
        f = CumulativeLinkObjective(rows, self.link, k, self.alpha / n, n)
        minimum = self._minimize(f, initial_parameters(self.link, rows.n_features, totals))
        report = minimum.report
        if self.alpha == 0 and is_separated(f, minimum.x):
            warning = f"did not converge: {SEPARATION_MESSAGE} Set alpha."
            report = {**report, "converged_": False, "warning_": warning}
        w, t = f.split_parameters(minimum.x)
        return {"coef_": w, "thresholds_": t, **report}

    def _minimize(self, f: CumulativeLinkObjective, start: np.ndarray) -> Minimum:
        settings: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        settings["precision"] = float(np.finfo(f.rows.dtype).eps)
        n, size = f.rows.n_rows, len(start)
        small = size <= NEWTON_MAX_PARAMETERS and size * n <= ORDINAL_NEWTON_MAX_ENTRIES
        if self.solver == "newton-cholesky" or (self.solver == "auto" and small):
            return newton(f.value_gradient_hessian, start, **settings)
        if not f.rows.sparse and size <= min(PRECONDITIONER_MAX_PARAMETERS, n):
            settings["precondition"] = _hessian_preconditioner(f, start)
        return lbfgs(f.value_and_gradient, start, **settings)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on classes without an order
        return tags

    def _scorer(self) -> tuple:
        return log_probabilities, self.link, self.coef_, self.thresholds_

    def latent(self, X: Any) -> np.ndarray:
        """The score x.w that the thresholds cut into classes, (n_rows,).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._map_rows(X, _latent_scores, self.coef_)

    def decision_function(self, X: Any) -> np.ndarray:
        """Score less threshold for two classes, (n_rows,); else log-probabilities, as a matrix.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        if len(self.classes_) == 2:
            return self.latent(X) - self.coef_.dtype.type(self.thresholds_[0])
        return self.predict_log_proba(X)


def category_order(X: Any, y: Any) -> np.ndarray | None:
    """The categories of an ordered categorical target, in their order; None of any other.

    Parameters
    ----------
    X : array or table
        The rows.
    y : array or str
        The target, or the name of its column in X.

    Examples
    --------
    >>> import pandas as pd
    >>> grades = pd.Categorical(["high", "low"], ["low", "medium", "high"], ordered=True)
    >>> category_order(None, grades).tolist()
    ['low', 'medium', 'high']
    """
    if isinstance(y, str):
        y = X[y] if hasattr(X, "columns") and hasattr(X, "__getitem__") else None
    kind: Any = getattr(y, "dtype", getattr(y, "type", None))
    if type(kind).__name__ == "Enum":  # polars
        return np.asarray(kind.categories.to_list())
    if not getattr(kind, "ordered", False):
        return None
    if hasattr(kind, "categories"):  # pandas
        return np.asarray(kind.categories.tolist())
    chunk = y.chunk(0) if hasattr(y, "chunks") else y  # Arrow
    return np.asarray(chunk.dictionary.to_pylist())


def _check_outer_classes(classes: np.ndarray, totals: np.ndarray) -> None:
    """Raise an error if the first or the last class has no weight: its threshold is infinite."""
    for end in (0, -1):
        if totals[end] == 0:
            raise ValueError(
                f"all rows of the class {classes.tolist()[end]!r} have weight 0, so nothing bounds "
                "its threshold: leave these rows out"
            )


def is_separated(f: CumulativeLinkObjective, theta: np.ndarray) -> bool:
    """Whether the likelihood has no maximum: the thresholds separate the classes.

    The likelihood grows without end along a direction in which no row comes nearer to an end of
    its interval: the point itself, if every row lies inside, or Newton's further steps.
    """
    w, t = f.split_parameters(theta)
    if f.rows.total(interval_margins, w, t).smallest > 0:
        return True
    if len(theta) > NEWTON_MAX_PARAMETERS:
        return False
    direction = w, t
    for _ in range(_REFINEMENTS):
        _, gradient, hessian = f.value_gradient_hessian(theta)
        theta = theta - solve_psd(hessian, gradient)
        if not np.isfinite(theta).all():
            return False
        following = f.split_parameters(theta)
        direction = following[0] - w, following[1] - t
        w, t = following
    found = f.rows.total(interval_margins, *direction)
    return found.largest > 0 and found.smallest >= -MAX_RELATIVE_VIOLATION * found.largest


def interval_margins(chunk: Chunk, w: np.ndarray, t: np.ndarray) -> Margins:
    """How far rows with weight lie inside the intervals of their classes, at the nearer end."""
    z = (chunk.X @ w).astype(np.float64)
    edges = np.concatenate([[-np.inf], t, [np.inf]])
    inside = np.minimum(np.take(edges, chunk.y + 1) - z, z - np.take(edges, chunk.y))
    inside = inside[chunk.weights() > 0]
    return Margins(float(inside.min(initial=np.inf)), float(inside.max(initial=-np.inf)))


def _latent_scores(chunk: Chunk, w: np.ndarray) -> np.ndarray:
    """The score of each row, (n,)."""
    return chunk.X @ w


def _hessian_preconditioner(f: CumulativeLinkObjective, start: np.ndarray) -> Any:
    """Multiplication by the inverse of the initial Hessian: removes scales and correlations."""
    H = f.value_gradient_hessian(start)[2]
    diagonal, eps = H.diagonal(), float(np.finfo(f.rows.dtype).eps)
    # a ridge, in case columns are dependent
    H[np.diag_indices(len(H))] += 10 * len(H) * eps * np.where(diagonal > 0, diagonal, 1)
    return inverse_product(H)
