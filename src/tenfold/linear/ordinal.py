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
from tenfold.optim.convergence import Minimum
from tenfold.optim.newton_methods import newton
from tenfold.optim.quasi_newton import lbfgs

_NEWTON_MAX_ENTRIES = (
    200_000  # rows x parameters up to which few costly rounds beat many cheap ones
)
_NEWTON_MAX_PARAMETERS = 256  # parameters up to which Newton's Hessian is made
_PRECONDITIONER_MAX_PARAMETERS = 2000  # parameters up to which L-BFGS starts from a Hessian


class OrdinalRegression(ProbabilisticClassifier):
    r"""Ordinal regression by a cumulative link: proportional odds, or ordered probit.

    .. math:: P(y \le j \mid x) = F(t_j - x \cdot w), \qquad t_1 < \dots < t_{k-1}

    .. math:: \min_{w, t} - \sum_i \omega_i \log P(y_i \mid x_i) + \tfrac\alpha2 \lVert w \rVert^2

    One score x.w orders all rows; thresholds cut it into the classes. With two classes this is
    logistic (or probit) regression. The objective is convex, and the thresholds stay in order by
    themselves: solvers see log(exp(gap) - 1) of each gap between them. Classes are in sorted order:
    give numbers, or names whose alphabet is their order. One pass over the data a round.
    [000, ch. 2, footnote 1]

    Parameters
    ----------
    alpha : float
        Strength of the penalty on the coefficients; 0 for none.
    link : {"logit", "probit"}
        F: the logistic distribution (proportional odds) or the normal one.
    solver : {"auto", "lbfgs", "newton-cholesky"}
        "newton-cholesky" takes few rounds and makes a Hessian each; "lbfgs" takes more, and makes
        one at the start for up to 2000 dense columns. "auto" takes Newton's for small tables of up
        to 256 parameters.
    tol : float
        Converged when no entry of the gradient of the mean objective exceeds this.
    max_iter : int
        Most rounds.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    n_jobs : int, optional
        Number of threads; all by default.

    Attributes
    ----------
    classes_ : (k,) labels, in order
    coef_ : (p,) coefficients
    thresholds_ : (k - 1,) ascending thresholds
    n_iter_, converged_ : rounds, and whether the gradient was small enough at the end
    history_ : mean objective after each round ("objective"), and "seconds"

    Examples
    --------
    >>> from tenfold.linear.ordinal import OrdinalRegression
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> model = OrdinalRegression(alpha=0.1).fit(X, [1, 2, 1, 3, 2, 3])  # stars
    >>> model.predict([[0.0], [2.5], [6.0]]).tolist(), bool(np.diff(model.thresholds_) > 0)
    ([1, 2, 3], True)
    """

    _sparse_ok = True
    _min_classes = 2
    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "link": [StrOptions({"logit", "probit"})],
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
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 100,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.link = link
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        k = len(self.classes_)
        weight = rows.total(class_weight_totals, k)
        n = float(weight.sum())
        objective = CumulativeLinkObjective(rows, self.link, k, self.alpha / n, n)
        found = self._minimum(objective, initial_parameters(self.link, rows.n_features, weight))
        w, t = objective.parts(found.x)
        return {"coef_": w, "thresholds_": t, **found.report}

    def _minimum(self, f: CumulativeLinkObjective, first: np.ndarray) -> Minimum:
        settings = {"tol": self.tol, "max_iter": self.max_iter}
        settings["precision"] = float(np.finfo(f.rows.dtype).eps)
        small = (
            len(first) <= _NEWTON_MAX_PARAMETERS
            and len(first) * f.rows.n_rows <= _NEWTON_MAX_ENTRIES
        )
        if self.solver == "newton-cholesky" or (self.solver == "auto" and small):
            return newton(f.curve, first, **settings)
        known = not f.rows.sparse and len(first) <= min(
            _PRECONDITIONER_MAX_PARAMETERS, f.rows.n_rows
        )
        return lbfgs(
            f.slope,
            first,
            precondition=_hessian_preconditioner(f, first) if known else None,
            **settings,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on classes without an order
        return tags

    def _scorer(self) -> tuple:
        return log_probabilities, self.link, self.coef_, self.thresholds_

    def latent(self, X: Any) -> np.ndarray:
        """The score x.w that the thresholds cut into classes, (n,).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._each(X, _latent_scores, self.coef_)

    def decision_function(self, X: Any) -> np.ndarray:
        """Score above the threshold, (n,), for two classes; else log-probabilities, (n, k).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        if len(self.classes_) == 2:
            return self.latent(X) - self.coef_.dtype.type(self.thresholds_[0])
        return self.predict_log_proba(X)


def _latent_scores(chunk: Chunk, w: np.ndarray) -> np.ndarray:
    """The score of each row, (n,)."""
    return chunk.X @ w


def _hessian_preconditioner(f: CumulativeLinkObjective, first: np.ndarray) -> Any:
    """Multiply by the inverse of the Hessian at the start: it knows scales and correlations."""
    from scipy.linalg import cho_factor, cho_solve

    H = f.curve(first)[2]
    size, eps = H.diagonal(), float(np.finfo(f.rows.dtype).eps)
    H[np.diag_indices(len(H))] += 10 * len(H) * eps * np.where(size > 0, size, 1)  # dependence
    factor = cho_factor(H, lower=True, check_finite=False)
    return lambda v: cho_solve(factor, v, check_finite=False)
