"""Paths of the lasso and the elastic net: all penalties of a sequence, each from the one before."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np

from tenfold.linear.lasso.elastic_net import ElasticNet
from tenfold.linear.lasso.lazy_gram import Gram
from tenfold.linear.lasso.working_set import (
    Fit,
    Penalty,
    Rule,
    minimise,
    objective,
    started,
    warn_unless_converged,
)

NO_PENALTY = np.finfo(np.float64).resolution  # what a path has where every coefficient is zero


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
    model = Path(l1_ratio=l1_ratio, **settings)
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


class Path(ElasticNet):
    """An elastic net of many penalties."""

    def follow(
        self, X: Any, y: Any, weight: Any, asked: tuple[Any, float], coef: Any
    ) -> tuple[np.ndarray, list[Fit], np.dtype]:
        """The penalties asked for (themselves, or how many and how far), and their fits."""
        self._validate_params()
        with self._at_work():
            rows = self._training_rows(X, y, weight)
            if rows.target_shape:
                raise ValueError("y has several columns: call the path once for each of them")
            gram, rule = self._gram(rows), self._rule(self._rng())
            sequence = penalties(gram.c[:, 0], self.l1_ratio, *asked, positive=self.positive)
            w = np.zeros(len(gram.c)) if coef is None else np.array(coef, np.float64)
            fits = list(followed(gram, [self._penalty(a) for a in sequence], w, rule))
        warn_unless_converged(fits, rule)
        return sequence, fits, rows.dtype


def penalties(
    c: np.ndarray, l1_ratio: float, alphas: Any, eps: float, *, positive: bool
) -> np.ndarray:
    """The penalties of a path, descending; c has the products of columns and target."""
    if not isinstance(alphas, Integral):
        return np.sort(np.asarray(alphas, np.float64))[::-1]
    if l1_ratio == 0:
        raise ValueError("without an L1 penalty there is no largest alpha: give alphas=[...]")
    largest = max(float((c if positive else np.abs(c)).max()), 0.0) / l1_ratio
    if largest <= NO_PENALTY:
        return np.full(int(alphas), NO_PENALTY)
    return np.geomspace(largest, largest * eps, int(alphas))


def followed(gram: Gram, sequence: list[Penalty], w: np.ndarray, rule: Rule) -> Iterator[Fit]:
    """The fit of each penalty in turn, each from a start that the two before it suggest."""
    last, before, past = started(gram, 0, w), None, []
    for penalty in sequence:
        start = last
        if before is not None:
            start = better_start(gram, penalty, last, ahead(penalty, past, last, before))
        before, last = (last if past else None), minimise(gram, 0, penalty, start, rule)
        past = [*past[-1:], penalty]
        yield last._replace(slope=last.slope[:0])  # nobody asks for it; it may be long


def ahead(penalty: Penalty, past: list[Penalty], last: Fit, before: Fit) -> Fit:
    """Where a line through the last two fits points to: between two events a path is a line."""
    weight = [p.l1 + p.l2 for p in (*past, penalty)]
    share = (weight[1] - weight[2]) / (weight[0] - weight[1]) if weight[0] > weight[1] else 0.0
    w, slope = (new + share * (new - old) for new, old in zip(last[:2], before[:2], strict=True))
    return last._replace(w=w, slope=slope)


def better_start(gram: Gram, penalty: Penalty, plain: Fit, bold: Fit) -> Fit:
    """The one of two starts with the lower objective; never one with a forbidden sign."""
    if penalty.positive and bold.w.min() < 0:
        return plain
    values = [objective(gram.c[:, 0], penalty, start.w, start.slope) for start in (plain, bold)]
    return bold if values[1] < values[0] else plain
