"""Lassos and elastic nets for a sequence of penalties."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np

from tenfold.linear._lasso_path import alpha_sequence
from tenfold.linear._lasso_working_set import LassoSolution, warn_unless_converged
from tenfold.linear.elastic_net import ElasticNet
from tenfold.linear.multi_task import MultiTaskElasticNet

_SKLEARN_ALONE = ("n_alphas", "Xy", "check_input", "verbose")  # parameters of its path functions


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
    y : (n_rows,) or (n_rows, n_targets) array, or column name
        The target; several are a multi-task path, on which a column has coefficients for all
        targets or for none.
    l1_ratio : float
        Share of the L1 penalty, between 0 and 1.
    eps : float
        Smallest penalty as a share of the largest, where `alphas` is a number.
    alphas : int or array
        The penalties; or how many, equally spaced in their logarithm, from the smallest for which
        all coefficients are zero.
    coef_init : (n_features,) or (n_targets, n_features) array, optional
        Initial coefficients.
    sample_weight : array or column name, optional
        Weight of each row.
    return_n_iter : bool
        Whether to return the number of sweeps as well.
    **settings
        Further parameters of `ElasticNet`: `fit_intercept`, `precompute`, `positive`, `tol`,
        `max_iter`, `selection`, `random_state`; and those of scikit-learn's function: `n_alphas` is
        a number for `alphas`, `Xy`, `check_input` and `verbose` are ignored.

    Returns
    -------
    alphas : (n_alphas,) penalties, descending
    coefs : (n_features, n_alphas) or (n_targets, n_features, n_alphas) coefficients
    dual_gaps : (n_alphas,) how far at most each objective is above its minimum
    n_iters : list of sweeps, if asked for

    See Also
    --------
    ElasticNet, MultiTaskElasticNet : The model of one penalty.
    ElasticNetCV : The best penalty of a path by cross-validation.
    lasso_path : With `l1_ratio=1`.

    References
    ----------
    * J. Friedman, T. Hastie, R. Tibshirani (2010). Regularization paths for generalized linear
      models via coordinate descent. Journal of Statistical Software 33.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import enet_path
    >>> X, y = np.eye(3), np.array([3.0, 2.0, 1.0])
    >>> alphas, coefs, gaps = enet_path(X, y, l1_ratio=1.0, alphas=[0.5])
    >>> coefs.round(9).T.tolist()
    [[1.5, 0.5, 0.0]]
    """
    given = {"fit_intercept": False, "n_alphas": "deprecated", **settings}
    settings = {name: value for name, value in given.items() if name not in _SKLEARN_ALONE}
    if alphas is None or isinstance(alphas, str):  # scikit-learn's default "warn"
        alphas = 100
    alphas = alphas if given["n_alphas"] == "deprecated" else given["n_alphas"]
    if isinstance(settings.get("precompute"), str):  # scikit-learn's "auto": our default
        del settings["precompute"]
    unknown = settings.keys() - signature(ElasticNet).parameters.keys()
    if unknown:
        raise ValueError(f"Unexpected parameters in params: {sorted(unknown)}")
    several = np.ndim(y) == 2 and not isinstance(y, str)
    if several and settings.pop("positive", False):
        raise ValueError(
            "positive=True is not allowed for multi-output (y.ndim != 1): call the path once for "
            "each column of y"
        )
    model = (MultiTaskPath if several else ElasticNetPath)(l1_ratio=l1_ratio, **settings)
    sequence, solutions, dtype = model.fit_path(X, y, sample_weight, (alphas, eps), coef_init)
    coefs = np.stack([s.w.T for s in solutions], axis=-1).astype(dtype)
    path = sequence, coefs, np.array([s.gap for s in solutions])
    return (*path, [s.n_iter for s in solutions]) if return_n_iter else path


def lasso_path(X: Any, y: Any, **settings: Any) -> tuple:
    """Lassos for a sequence of penalties: `enet_path` with `l1_ratio=1`.

    Parameters
    ----------
    X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
        The rows.
    y : (n_rows,) array or column name
        The target.
    **settings
        Those of `enet_path`.

    Returns
    -------
    alphas : (n_alphas,) penalties, descending
    coefs : (n_features, n_alphas) or (n_targets, n_features, n_alphas) coefficients
    dual_gaps : (n_alphas,) how far at most each objective is above its minimum
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


class PathFitter(ElasticNet):
    """Fits of a sequence of penalties to the same rows."""

    def fit_path(
        self, X: Any, y: Any, sample_weight: Any, alphas_and_eps: tuple[Any, float], coef_init: Any
    ) -> tuple[np.ndarray, list[LassoSolution], np.dtype]:
        """The penalties, the solution of each, and the dtype of the rows."""
        self._validate_params()
        with self._work_context():
            rows = self._training_rows(X, y, sample_weight)
            gram, settings = self._gram(rows), self._settings(self._rng())
            positive = getattr(self, "positive", False)
            sequence = alpha_sequence(gram.xy, self.l1_ratio, *alphas_and_eps, positive=positive)
            penalties = [self._penalty(a) for a in sequence]
            solutions = list(self._follow(gram, penalties, coef_init, settings))
        warn_unless_converged(solutions, settings)
        return sequence, solutions, rows.dtype


class ElasticNetPath(PathFitter):
    """Elastic nets for a sequence of penalties."""

    _multi_output = False


class MultiTaskPath(PathFitter, MultiTaskElasticNet):
    """Multi-task elastic nets for a sequence of penalties."""
