"""Elastic net and lasso: least squares with an L1 penalty."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils.metadata_routing import UNUSED

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.rows import Rows
from tenfold.linear._base import LinearRegressor
from tenfold.linear._lasso_gram import GramMatrix, make_gram
from tenfold.linear._lasso_path import follow_path
from tenfold.linear._lasso_working_set import (
    L1L2Penalty,
    LassoSettings,
    LassoSolution,
    initial_solution,
    minimize_lasso,
    warn_unless_converged,
)

LASSO_CONSTRAINTS = {
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

    Here n is the total weight, :math:`\rho` is `l1_ratio`, and the intercept b is not penalized.
    Coordinate descent on the second moments of the columns of a working set: one pass over the
    data for up to 512 columns; of more, columns enter in batches, each by a pass.
    Several targets are fitted one by one on the same moments. Parameters, attributes and stopping
    rule are those of `sklearn.linear_model.ElasticNet`.

    Parameters
    ----------
    alpha : float
        Weight of the penalty.
    l1_ratio : float
        Share of the L1 penalty; 1 is the lasso, 0 ridge regression.
    fit_intercept : bool
        Whether there is an intercept b.
    precompute : bool or (n_features, n_features) array
        Whether to make the second moments of all columns at once; or X'X itself, of centered
        columns if there is an intercept, with weights that sum to the number of rows.
    max_iter : int
        Maximum number of sweeps over the coefficients.
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
    coef_ : (n_features,) or (n_targets, n_features) coefficients
    sparse_coef_ : the same as a sparse array
    intercept_ : float or (n_targets,) intercept, 0.0 if `fit_intercept` is False
    n_iter_ : sweeps, one number a target
    dual_gap_ : how far at most the objective is above its minimum, one number a target

    See Also
    --------
    Lasso : The L1 penalty alone.
    Ridge : The L2 penalty alone.
    enet_path : All penalties of a sequence.

    References
    ----------
    * H. Zou, T. Hastie (2005). Regularization and variable selection via the elastic net. Journal
      of the Royal Statistical Society B 67.
    * J. Friedman, T. Hastie, R. Tibshirani (2010). Regularization paths for generalized linear
      models via coordinate descent. Journal of Statistical Software 33.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import ElasticNet
    >>> X, y = np.array([[0.0, 0], [1, 1], [2, 0]]), np.array([0.0, 1, 2])
    >>> ElasticNet(alpha=0.1).fit(X, y).coef_.round(3).tolist()
    [0.86, 0.0]
    """

    __metadata_request__fit = {"check_input": UNUSED}
    _sparse_ok = True
    _multi_output = True
    _parameter_constraints = {
        **LASSO_CONSTRAINTS,
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
    }

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

    def fit(  # pyright: ignore[reportIncompatibleMethodOverride] - scikit-learn's signature
        self, X: Any, y: Any = None, sample_weight: Any = None, check_input: bool = True
    ) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array or column name
            Target; a name when X is a table or a file.
        sample_weight : array or column name, optional
            Weight of each row; a weight of two is the row twice.
        check_input : bool
            Ignored: the input is always checked, while its rows are read.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight)

    @staticmethod
    def path(X: Any, y: Any, **settings: Any) -> tuple:
        """Coefficients for a sequence of penalties: see `tenfold.enet_path`."""
        from tenfold.linear.elastic_net_path import enet_path

        return enet_path(X, y, **settings)

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        return self._fit_gram(self._gram(rows), rows, rng)

    def _fit_gram(self, gram: GramMatrix, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        """The learned attributes, from the Gram matrix of the rows."""
        settings, penalty = self._settings(rng), self._penalty(self.alpha)
        solutions = []
        for target, w in enumerate(self._initial_coef(gram)):
            start = initial_solution(gram, target, w)
            solutions.append(minimize_lasso(gram, target, penalty, start, settings))
        warn_unless_converged(solutions, settings)
        return self._shape_attributes(solutions, gram, rows.dtype, rows.target_shape)

    def _follow(
        self, gram: GramMatrix, penalties: list[L1L2Penalty], w: Any, settings: LassoSettings
    ) -> Iterator[LassoSolution]:
        """The solutions of a sequence of penalties for one target, from initial coefficients."""
        w = np.zeros(len(gram.xy)) if w is None else np.array(w, np.float64)
        return follow_path(gram, penalties, w, settings)

    def _gram(self, rows: Rows) -> GramMatrix:
        return make_gram(rows, intercept=self.fit_intercept, precompute=self.precompute)

    def _settings(self, rng: np.random.Generator) -> LassoSettings:
        seed = int(rng.integers(1, 2**63)) if self.selection == "random" else 0
        return LassoSettings(self.tol, 1000 if self.max_iter is None else self.max_iter, seed)

    def _penalty(self, alpha: float) -> L1L2Penalty:
        return L1L2Penalty(alpha * self.l1_ratio, alpha * (1.0 - self.l1_ratio), self.positive)

    def _initial_coef(self, gram: GramMatrix) -> np.ndarray:
        p, q = gram.xy.shape
        if self.warm_start and hasattr(self, "coef_") and self.coef_.size == p * q:
            return self.coef_.reshape(q, p).astype(np.float64)
        return np.zeros((q, p))

    def _shape_attributes(
        self,
        solutions: list[LassoSolution],
        gram: GramMatrix,
        dtype: np.dtype,
        target_shape: tuple[int, ...],
    ) -> dict[str, Any]:
        """Attributes as scikit-learn shapes them: no axis for a single target."""
        p, single = len(gram.xy), len(solutions) == 1
        W = np.stack([s.w for s in solutions])
        b = (gram.mean[p:] - W @ gram.mean[:p]).astype(dtype)
        gaps, sweeps = np.array([s.gap for s in solutions]), [s.n_iter for s in solutions]
        learned: dict[str, Any] = {"coef_": W.astype(dtype), "dual_gap_": gaps}
        learned |= {"n_iter_": sweeps, "intercept_": b if self.fit_intercept else 0.0}
        if single:
            learned |= {name: learned[name][0] for name in ("coef_", "dual_gap_", "n_iter_")}
        if self.fit_intercept and not target_shape:
            learned["intercept_"] = b[0]
        return learned

    @property
    def sparse_coef_(self) -> Any:
        """The coefficients as a sparse array (n_targets, n_features)."""
        from scipy.sparse import csr_array

        return csr_array(np.atleast_2d(self.coef_))


class Lasso(ElasticNet):
    r"""Least squares with an L1 penalty: many coefficients become exactly zero.

    .. math:: \min_{w, b} \frac{1}{2n} \sum_i \omega_i (y_i - x_i \cdot w - b)^2
              + \alpha \lVert w \rVert_1

    This is `ElasticNet` with `l1_ratio=1`.

    Parameters
    ----------
    alpha : float
        Weight of the penalty.
    fit_intercept : bool
        Whether there is an intercept b.
    precompute : bool or (n_features, n_features) array
        Whether to make the second moments of all columns at once; or X'X itself, of centered
        columns if there is an intercept, with weights that sum to the number of rows.
    copy_X : bool
        X is never overwritten, whatever is given here.
    max_iter : int
        Maximum number of sweeps over the coefficients.
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
    coef_ : (n_features,) or (n_targets, n_features) coefficients
    sparse_coef_ : the same as a sparse array
    intercept_ : float or (n_targets,) intercept, 0.0 if `fit_intercept` is False
    n_iter_ : sweeps, one number a target
    dual_gap_ : how far at most the objective is above its minimum, one number a target

    See Also
    --------
    ElasticNet : With an L2 penalty beside.
    lasso_path : All penalties of a sequence.

    References
    ----------
    * R. Tibshirani (1996). Regression shrinkage and selection via the lasso. Journal of the Royal
      Statistical Society B 58.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import Lasso
    >>> X, y = np.array([[0.0, 0], [1, 1], [2, 0]]), np.array([0.0, 1, 2])
    >>> Lasso(alpha=0.1).fit(X, y).coef_.round(3).tolist()
    [0.85, 0.0]
    """

    _parameter_constraints = LASSO_CONSTRAINTS
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
        from tenfold.linear.elastic_net_path import lasso_path

        return lasso_path(X, y, **settings)
