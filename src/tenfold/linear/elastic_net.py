"""Elastic net and lasso: least squares with an L1 penalty, for one penalty or along a path of them."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.rows import Rows
from tenfold.linear._base import LinearRegressor
from tenfold.linear._lasso_gram import GramMatrix, make_gram
from tenfold.linear._lasso_working_set import (
    L1L2Penalty,
    LassoSettings,
    LassoSolution,
    initial_solution,
    lasso_objective,
    minimize_lasso,
    warn_unless_converged,
)

_SHARED_CONSTRAINTS = {
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
    _multi_output = True
    _parameter_constraints = {
        **_SHARED_CONSTRAINTS,
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

    @staticmethod
    def path(X: Any, y: Any, **settings: Any) -> tuple:
        """Coefficients for a sequence of penalties: see `tenfold.enet_path`."""
        return enet_path(X, y, **settings)

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        gram, rule = self._gram(rows), self._rule(rng)
        penalty = self._penalty(self.alpha)
        fits = []
        for target, w in enumerate(self._starts(gram)):
            fits.append(
                minimize_lasso(gram, target, penalty, initial_solution(gram, target, w), rule)
            )
        warn_unless_converged(fits, rule)
        return self._shaped(fits, gram, rows)

    def _gram(self, rows: Rows) -> GramMatrix:
        return make_gram(rows, intercept=self.fit_intercept, precompute=self.precompute)

    def _rule(self, rng: np.random.Generator) -> LassoSettings:
        seed = int(rng.integers(1, 2**63)) if self.selection == "random" else 0
        return LassoSettings(self.tol, 1000 if self.max_iter is None else self.max_iter, seed)

    def _penalty(self, alpha: float) -> L1L2Penalty:
        return L1L2Penalty(alpha * self.l1_ratio, alpha * (1.0 - self.l1_ratio), self.positive)

    def _starts(self, gram: GramMatrix) -> np.ndarray:
        p, q = gram.c.shape
        if self.warm_start and hasattr(self, "coef_") and self.coef_.size == p * q:
            return self.coef_.reshape(q, p).astype(np.float64)
        return np.zeros((q, p))

    def _shaped(self, fits: list[LassoSolution], gram: GramMatrix, rows: Rows) -> dict[str, Any]:
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

    _parameter_constraints = _SHARED_CONSTRAINTS
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
        return lasso_path(X, y, **settings)


_MIN_ALPHA = np.finfo(np.float64).resolution  # what a path has where every coefficient is zero


def enet_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    alphas: Any = 100,
    coef_init: Any = None,
    sample_weight: Any = None,
    return_n_iter: bool = False,
    **settings: Any,
) -> tuple:
    """Elastic nets for a sequence of penalties, from the largest to the smallest.

    The second moments are made once for all penalties, and each starts where the last two point
    to. As in scikit-learn there is no constant unless `fit_intercept=True` is given.

    Parameters
    ----------
    X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
        The rows.
    y : (n,) array or column name
        The target.
    l1_ratio : float
        Share of the L1 penalty, between 0 and 1.
    eps : float
        Smallest penalty as a share of the largest, for a sequence made here.
    alphas : int or array
        The penalties; or how many, equally spaced in their logarithm, from the least one for
        which all coefficients are zero.
    coef_init : (p,) array, optional
        Coefficients to begin with.
    sample_weight : array or column name, optional
        Weight of each row.
    return_n_iter : bool
        Whether to return the number of sweeps as well.
    **settings
        Further parameters of `ElasticNet`: `fit_intercept`, `precompute`, `positive`, `tol`,
        `max_iter`, `selection`, `random_state`.

    Returns
    -------
    alphas : (k,) penalties, descending
    coefs : (p, k) coefficients
    dual_gaps : (k,) how far at most each objective is above its minimum
    n_iters : list of sweeps, if asked for

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import enet_path
    >>> X, y = np.eye(3), np.array([3.0, 2.0, 1.0])
    >>> alphas, coefs, gaps = enet_path(X, y, l1_ratio=1.0, alphas=[0.5])
    >>> coefs.round(9).T.tolist()
    [[1.5, 0.5, 0.0]]
    """
    settings = {"fit_intercept": False, **settings}
    if isinstance(settings.get("precompute"), str):  # scikit-learn's "auto": as we think best
        del settings["precompute"]
    model = ElasticNetPath(l1_ratio=l1_ratio, **settings)
    sequence, fits, dtype = model.follow(X, y, sample_weight, (alphas, eps), coef_init)
    coefs = np.stack([fit.w for fit in fits], axis=1).astype(dtype)
    found = sequence, coefs, np.array([fit.gap for fit in fits])
    return (*found, [fit.n_iter for fit in fits]) if return_n_iter else found


def lasso_path(X: Any, y: Any, **settings: Any) -> tuple:
    """Lassos for a sequence of penalties: `enet_path` with `l1_ratio=1`.

    Parameters
    ----------
    X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
        The rows.
    y : (n,) array or column name
        The target.
    **settings
        Those of `enet_path`.

    Returns
    -------
    alphas : (k,) penalties, descending
    coefs : (p, k) coefficients
    dual_gaps : (k,) how far at most each objective is above its minimum
    n_iters : list of sweeps, if asked for

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import lasso_path
    >>> alphas, coefs, gaps = lasso_path(np.eye(2), np.array([4.0, 1.0]), alphas=[1.0, 0.25])
    >>> coefs.T.round(9).tolist()
    [[2.0, 0.0], [3.5, 0.5]]
    """
    return enet_path(X, y, l1_ratio=1.0, **settings)


class ElasticNetPath(ElasticNet):
    """An elastic net of many penalties."""

    def follow(
        self, X: Any, y: Any, weight: Any, asked: tuple[Any, float], coef: Any
    ) -> tuple[np.ndarray, list[LassoSolution], np.dtype]:
        """The penalties asked for (themselves, or how many and how far), and their fits."""
        self._validate_params()
        with self._work_context():
            rows = self._training_rows(X, y, weight)
            if rows.target_shape:
                raise ValueError("y has several columns: call the path once for each of them")
            gram, rule = self._gram(rows), self._rule(self._rng())
            sequence = _alpha_sequence(gram.c[:, 0], self.l1_ratio, *asked, positive=self.positive)
            w = np.zeros(len(gram.c)) if coef is None else np.array(coef, np.float64)
            fits = list(_fit_path(gram, [self._penalty(a) for a in sequence], w, rule))
        warn_unless_converged(fits, rule)
        return sequence, fits, rows.dtype


def _alpha_sequence(
    c: np.ndarray, l1_ratio: float, alphas: Any, eps: float, *, positive: bool
) -> np.ndarray:
    """The penalties of a path, descending; c has the products of columns and target."""
    if not isinstance(alphas, Integral):
        return np.sort(np.asarray(alphas, np.float64))[::-1]
    if l1_ratio == 0:
        raise ValueError("without an L1 penalty there is no largest alpha: give alphas=[...]")
    largest = max(float((c if positive else np.abs(c)).max()), 0.0) / l1_ratio
    if largest <= _MIN_ALPHA:
        return np.full(int(alphas), _MIN_ALPHA)
    return np.geomspace(largest, largest * eps, int(alphas))


def _fit_path(
    gram: GramMatrix, sequence: list[L1L2Penalty], w: np.ndarray, rule: LassoSettings
) -> Iterator[LassoSolution]:
    """The fit of each penalty in turn, each from a start that the two before it suggest."""
    last, before, past = initial_solution(gram, 0, w), None, []
    for penalty in sequence:
        start = last
        if before is not None:
            start = _choose_start(gram, penalty, last, _extrapolate(penalty, past, last, before))
        before, last = (last if past else None), minimize_lasso(gram, 0, penalty, start, rule)
        past = [*past[-1:], penalty]
        yield last._replace(slope=last.slope[:0])  # nobody asks for it; it may be long


def _extrapolate(
    penalty: L1L2Penalty, past: list[L1L2Penalty], last: LassoSolution, before: LassoSolution
) -> LassoSolution:
    """Where a line through the last two fits points to: between two events a path is a line."""
    weight = [p.l1 + p.l2 for p in (*past, penalty)]
    share = (weight[1] - weight[2]) / (weight[0] - weight[1]) if weight[0] > weight[1] else 0.0
    w, slope = (new + share * (new - old) for new, old in zip(last[:2], before[:2], strict=True))
    return last._replace(w=w, slope=slope)


def _choose_start(
    gram: GramMatrix, penalty: L1L2Penalty, plain: LassoSolution, bold: LassoSolution
) -> LassoSolution:
    """The one of two starts with the lower objective; never one with a forbidden sign."""
    if penalty.positive and bold.w.min() < 0:
        return plain
    values = [
        lasso_objective(gram.c[:, 0], penalty, start.w, start.slope) for start in (plain, bold)
    ]
    return bold if values[1] < values[0] else plain
