"""Lasso: the elastic net with an L1 penalty alone."""

from __future__ import annotations

from typing import Any

from tenfold.linear.lasso.elastic_net import SETTINGS, ElasticNet


class Lasso(ElasticNet):
    r"""Least squares with an L1 penalty: many coefficients become exactly zero.

    .. math:: \min_{w, b} \frac{1}{2n} \sum_i \omega_i (y_i - x_i \cdot w - b)^2
              + \alpha \lVert w \rVert_1

    This is `ElasticNet` with `l1_ratio=1`. [001, 1.2; 002, 3.4.3; 004, ch. 2.7]

    Parameters
    ----------
    alpha : float
        Weight of the penalty.
    fit_intercept : bool
        Whether there is a constant b.
    precompute : bool or (p, p) array
        Whether to make the second moments of all columns at once; or X'X itself, of centred
        columns if there is a constant, with weights that sum to the number of rows.
    copy_X : bool
        X is never overwritten, whatever is given here.
    max_iter : int
        Most sweeps over the coefficients.
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
    >>> from tenfold import Lasso
    >>> X, y = np.array([[0.0, 0], [1, 1], [2, 0]]), np.array([0.0, 1, 2])
    >>> Lasso(alpha=0.1).fit(X, y).coef_.round(3).tolist()
    [0.85, 0.0]
    """

    _parameter_constraints = SETTINGS
    l1_ratio = 1.0

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: Any = False,
        copy_X: bool = True,
        max_iter: int | None = 1000,
        tol: float = 1e-4,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

    @staticmethod
    def path(X: Any, y: Any, **settings: Any) -> tuple:
        """Coefficients for a sequence of penalties: see `tenfold.lasso_path`."""
        from tenfold.linear.lasso.path import lasso_path

        return lasso_path(X, y, **settings)
