"""Elastic net: least squares with a penalty that makes coefficients exactly zero."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from tenfold.linear.lasso.lazy_gram import Gram, gram_of
from tenfold.linear.lasso.working_set import (
    Fit,
    Penalty,
    Rule,
    minimise,
    started,
    warn_unless_converged,
)
from tenfold.linear.scores import LinearRegressor
from tenfold.rows import Rows

SETTINGS = {
    "alpha": [Interval(Real, 0, None, closed="left")],
    "fit_intercept": ["boolean"],
    "precompute": ["boolean", "array-like"],
    "max_iter": [Interval(Integral, 1, None, closed="left"), None],
    "copy_X": ["boolean"],
    "tol": [Interval(Real, 0, None, closed="left")],
    "warm_start": ["boolean"],
    "positive": ["boolean"],
    "random_state": ["random_state"],
    "selection": [StrOptions({"cyclic", "random"})],
}


class ElasticNet(LinearRegressor):
    r"""Least squares with an L1 and an L2 penalty.

    .. math:: \min_{w, b} \frac{1}{2n} \sum_i \omega_i (y_i - x_i \cdot w - b)^2
              + \alpha \rho \lVert w \rVert_1 + \frac{\alpha (1 - \rho)}{2} \lVert w \rVert^2

    Here n is the total weight, :math:`\rho` is `l1_ratio`, and the constant b is not penalised.
    Coordinate descent on the second moments of those columns that can matter: one pass over the
    data for up to 512 columns; of more columns, some at a time enter, each batch by a pass.
    Several targets are fitted one by one on the same moments. Parameters, attributes and stopping
    rule are those of `sklearn.linear_model.ElasticNet`. [002, 3.4.3; 004, ch. 2.7]

    Parameters
    ----------
    alpha : float
        Weight of the penalty.
    l1_ratio : float
        Share of the L1 penalty; 1 is the lasso, 0 ridge regression.
    fit_intercept : bool
        Whether there is a constant b.
    precompute : bool or (p, p) array
        Whether to make the second moments of all columns at once; or X'X itself, of centred
        columns if there is a constant, with weights that sum to the number of rows.
    max_iter : int
        Most sweeps over the coefficients.
    copy_X : bool
        X is never overwritten, whatever is given here.
    tol : float
        Converged when the duality gap is at most `tol` times the mean square of y about its mean.
    warm_start : bool
        Whether to start from the coefficients of the last fit.
    positive : bool
        Whether coefficients must not be negative.
    random_state : int, optional
        Seed of a random order.
    selection : {"cyclic", "random"}
        Order in which coefficients are visited.

    Attributes
    ----------
    coef_ : (p,) or (q, p) coefficients
    sparse_coef_ : the same as a sparse array
    intercept_ : constant, 0.0 if `fit_intercept` is False
    n_iter_ : sweeps, one number a target
    dual_gap_ : how far at most the objective is above its minimum, one number a target

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import ElasticNet
    >>> X, y = np.array([[0.0, 0], [1, 1], [2, 0]]), np.array([0.0, 1, 2])
    >>> ElasticNet(alpha=0.1).fit(X, y).coef_.round(3).tolist()
    [0.86, 0.0]
    """

    _sparse_ok = True
    _many_targets = True
    _parameter_constraints = {**SETTINGS, "l1_ratio": [Interval(Real, 0, 1, closed="both")]}

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        precompute: Any = False,
        max_iter: int | None = 1000,
        copy_X: bool = True,
        tol: float = 1e-4,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

    @staticmethod
    def path(X: Any, y: Any, **settings: Any) -> tuple:
        """Coefficients for a sequence of penalties: see `tenfold.enet_path`."""
        from tenfold.linear.lasso.path import enet_path

        return enet_path(X, y, **settings)

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        gram, rule = self._gram(rows), self._rule(rng)
        penalty = self._penalty(self.alpha)
        fits = []
        for target, w in enumerate(self._starts(gram)):
            fits.append(minimise(gram, target, penalty, started(gram, target, w), rule))
        warn_unless_converged(fits, rule)
        return self._shaped(fits, gram, rows)

    def _gram(self, rows: Rows) -> Gram:
        return gram_of(rows, intercept=self.fit_intercept, precompute=self.precompute)

    def _rule(self, rng: np.random.Generator) -> Rule:
        seed = int(rng.integers(1, 2**63)) if self.selection == "random" else 0
        return Rule(self.tol, 1000 if self.max_iter is None else self.max_iter, seed)

    def _penalty(self, alpha: float) -> Penalty:
        return Penalty(alpha * self.l1_ratio, alpha * (1.0 - self.l1_ratio), self.positive)

    def _starts(self, gram: Gram) -> np.ndarray:
        p, q = gram.c.shape
        if self.warm_start and hasattr(self, "coef_") and self.coef_.size == p * q:
            return self.coef_.reshape(q, p).astype(np.float64)
        return np.zeros((q, p))

    def _shaped(self, fits: list[Fit], gram: Gram, rows: Rows) -> dict[str, Any]:
        """Attributes as scikit-learn shapes them: no axis for a single target."""
        p, single = rows.n_features, len(fits) == 1
        W = np.stack([fit.w for fit in fits])
        b = (gram.mean[p:] - W @ gram.mean[:p]).astype(rows.dtype)
        gaps, sweeps = np.array([fit.gap for fit in fits]), [fit.n_iter for fit in fits]
        learned: dict[str, Any] = {"coef_": W.astype(rows.dtype), "dual_gap_": gaps}
        learned |= {"n_iter_": sweeps, "intercept_": b if self.fit_intercept else 0.0}
        if single:
            learned |= {name: learned[name][0] for name in ("coef_", "dual_gap_", "n_iter_")}
        if self.fit_intercept and not rows.target_shape:
            learned["intercept_"] = b[0]
        return learned

    @property
    def sparse_coef_(self) -> Any:
        """The coefficients as a sparse array (q, p)."""
        from scipy.sparse import csr_array

        return csr_array(np.atleast_2d(self.coef_))
