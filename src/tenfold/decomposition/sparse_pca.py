"""Sparse principal components, from second moments alone."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_array, check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import Transformer
from tenfold.base.one_pass import OnePass
from tenfold.decomposition._eigensolvers import fix_signs
from tenfold.decomposition.dictionary import DictionaryLearning, fit_rule
from tenfold.decomposition.online_dictionary import MiniBatchDictionaryLearning
from tenfold.decomposition.pca import project_rows
from tenfold.decomposition.sparse_coder import Dictionary, encode_products
from tenfold.engine.rows import Rows
from tenfold.engine.second_moments import second_moments
from tenfold.stats.moments import Moments

_ROUNDING = 1e-13  # of the largest eigenvalue: smaller ones are zeros


class SparseComponentModel(ClassNamePrefixFeaturesOutMixin, OnePass, Transformer):
    """Sparse components of a scatter matrix. Derive `SparsePCA` or its mini-batch form from it."""

    _learned_shapes = {"components_": "m p", "mean_": "p"}
    _parameter_constraints = {
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "ridge_alpha": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "method": [StrOptions({"lars", "cd"})],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _statistic(self, rows: Rows) -> Moments:
        return second_moments(rows)

    def _finalize(self, s: Moments, dtype: np.dtype) -> dict[str, Any]:
        """Learn a dictionary whose codes are the components; a row of it is a column of X.

        The objective sees X only through X'X, so that a square root of this takes its place.
        """
        root = _square_root(s.scatter)
        learner = self._learner(root)
        rows = learner._rows(root, None, None, reset=True)  # noqa: SLF001
        learned = learner._fit(rows, learner._rng())  # noqa: SLF001
        D = Dictionary.of(learned.pop("components_"))
        V = encode_products(root @ D.atoms.T, D.gram, fit_rule(learner, D.atoms.shape)).T
        if self.max_iter == 0 and getattr(self, "V_init", None) is not None:
            V = self.V_init.astype(np.float64)
        V = fix_signs(np.ascontiguousarray(V))
        lengths = np.linalg.norm(V, axis=1, keepdims=True)
        report = {name: learned[name] for name in ("n_iter_", "converged_", "history_")}
        return {
            "components_": (V / np.where(lengths > 0, lengths, 1.0)).astype(dtype),
            "n_components_": len(V),
            "mean_": s.mean.astype(dtype),
            "error_": np.array(report["history_"]["objective"]),
            "warning_": learned.get("warning_"),
            **report,
        }

    def _learner(self, root: np.ndarray) -> Any:
        """The model that learns the dictionary from the square root of the scatter matrix."""
        raise NotImplementedError

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of each row, (n_rows, n_components), by ridge regression on the components.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        C = self.components_.astype(np.float64)
        inverse = np.linalg.pinv(C @ C.T + self.ridge_alpha * np.eye(len(C)), hermitian=True)
        W = np.ascontiguousarray((inverse @ C).T).astype(self.components_.dtype)
        return self._map_rows(X, project_rows, W, self.mean_)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Rows with these coordinates, (n_rows, n_features).

        Parameters
        ----------
        X : (n_rows, n_components) array
            Coordinates, as `transform` returns them.
        """
        check_is_fitted(self)
        return check_array(X) @ self.components_ + self.mean_


class SparsePCA(SparseComponentModel):
    r"""Principal components with few entries.

    .. math:: \min_{U, V} \; \tfrac12 \lVert X - \mathbf{1} \mu^\top - U V \rVert_F^2
              + \alpha \lVert V \rVert_1 \quad \text{subject to } \lVert u_k \rVert \le 1

    The rows of V, scaled to length 1, are the components. Columns of X are coded by the columns of
    U, which dictionary learning finds. The objective depends on X through its second moments alone:
    one pass over the rows is enough, further rows come by `partial_fit`, and models that were
    trained apart merge. Parameters and attributes are those of `sklearn.decomposition.SparsePCA`.

    Parameters
    ----------
    n_components : int, optional
        Number of components; by default the number of columns.
    alpha : float
        Penalty: larger ones give fewer entries. It is compared with sums over rows: twice the rows
        need about :math:`\sqrt 2` times the penalty.
    ridge_alpha : float
        Penalty of the ridge regression in `transform`.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Stop when the objective decreases by less than this fraction.
    method : {"lars", "cd"}
        How columns are coded: the lasso by its path, or with coordinate descent after it.
    n_jobs : int, optional
        Number of threads.
    U_init : (n_rows, n_components) array, optional
        Not used, with a warning: the best U follows from V, and `fit` does not keep the rows.
    V_init : (n_components, n_features) array, optional
        Components to begin with; by default the principal components.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    random_state : int, optional
        Seed of what fills up more components than the rows have directions.

    Attributes
    ----------
    components_ : (n_components, n_features) rows of length 1, most entries zero
    n_components_ : number of components
    mean_ : (n_features,) mean of the rows
    error_ : objective after each iteration
    n_iter_, converged_, history_ : iterations, whether `tol` was reached, objective and seconds

    See Also
    --------
    PCA : Without a penalty.
    MiniBatchSparsePCA : From batches of columns.
    DictionaryLearning : Sparse codes of rows.

    References
    ----------
    R. Jenatton, G. Obozinski and F. Bach (2010), Structured sparse principal component analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import SparsePCA
    >>> rng = np.random.default_rng(0)
    >>> parts = np.array([[1.0, 1.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0, 1.0]])
    >>> X = rng.normal(size=(200, 2)) @ parts + 0.1 * rng.normal(size=(200, 6))
    >>> model = SparsePCA(2, alpha=3).fit(X)
    >>> (model.components_ != 0).astype(int).tolist()
    [[1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1]]
    """

    _law_params = {"n_components": 2, "tol": 1e-5}
    _law_rows = 1500
    _parameter_constraints = {
        **SparseComponentModel._parameter_constraints,  # noqa: SLF001
        "U_init": [np.ndarray, None],
        "V_init": [np.ndarray, None],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alpha: float = 1,
        ridge_alpha: float = 0.01,
        max_iter: int = 1000,
        tol: float = 1e-8,
        method: str = "lars",
        n_jobs: int | None = None,
        U_init: Any = None,
        V_init: Any = None,
        verbose: int | bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.ridge_alpha = ridge_alpha
        self.max_iter = max_iter
        self.tol = tol
        self.method = method
        self.n_jobs = n_jobs
        self.U_init = U_init
        self.V_init = V_init
        self.verbose = verbose
        self.random_state = random_state

    def _learner(self, root: np.ndarray) -> DictionaryLearning:
        if self.U_init is not None:
            warnings.warn(
                "U_init has no effect: the best U for given components follows from them. Give "
                "V_init alone",
                UserWarning,
                stacklevel=2,
            )
        return DictionaryLearning(
            self.n_components or len(root),
            alpha=self.alpha,
            max_iter=self.max_iter,
            tol=self.tol,
            fit_algorithm=self.method,
            dict_init=None if self.V_init is None else _best_atoms(self.V_init, root),
            random_state=self.random_state,
        )


class MiniBatchSparsePCA(SparseComponentModel):
    r"""Principal components with few entries, from batches of columns.

    The objective of `SparsePCA`, whose dictionary follows batches of columns. Parameters and
    attributes are those of `sklearn.decomposition.MiniBatchSparsePCA`. One pass over the rows is
    enough; `partial_fit` and merges work as for `SparsePCA`.

    Parameters
    ----------
    n_components, alpha, ridge_alpha, method, n_jobs, verbose, random_state : see `SparsePCA`
    max_iter : int
        Maximum number of epochs, each column once.
    callback : callable, optional
        Called after every fifth epoch.
    batch_size : int
        Columns of a batch.
    shuffle : bool
        Whether columns come in random order.
    tol : float
        Stop when a batch moves the dictionary by at most this; 0 turns it off.
    max_no_improvement : int or None
        Stop after so many batches without a new minimum of the running cost.

    Attributes
    ----------
    components_, n_components_, mean_, error_ : see `SparsePCA`
    n_iter_, converged_, history_ : epochs, whether a criterion stopped the fit, running cost and
        seconds

    See Also
    --------
    SparsePCA : All columns in each iteration.

    References
    ----------
    J. Mairal et al. (2009), Online dictionary learning for sparse coding.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MiniBatchSparsePCA
    >>> X = np.random.default_rng(0).normal(size=(200, 30))
    >>> model = MiniBatchSparsePCA(5, alpha=10, batch_size=10, max_iter=10, random_state=0).fit(X)
    >>> model.components_.shape
    (5, 30)
    """

    _has_momentum = True  # batches of columns decrease the objective in the long run only
    _law_params = {"n_components": 2, "max_iter": 20, "tol": 1e-2}
    _law_rows = 1500
    _parameter_constraints = {
        **SparseComponentModel._parameter_constraints,  # noqa: SLF001
        "callback": [callable, None],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "max_no_improvement": [Interval(Integral, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alpha: float = 1,
        ridge_alpha: float = 0.01,
        max_iter: int = 1000,
        callback: Any = None,
        batch_size: int = 3,
        verbose: int | bool = False,
        shuffle: bool = True,
        n_jobs: int | None = None,
        method: str = "lars",
        random_state: Any = None,
        tol: float = 1e-3,
        max_no_improvement: int | None = 10,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.ridge_alpha = ridge_alpha
        self.max_iter = max_iter
        self.callback = callback
        self.batch_size = batch_size
        self.verbose = verbose
        self.shuffle = shuffle
        self.n_jobs = n_jobs
        self.method = method
        self.random_state = random_state
        self.tol = tol
        self.max_no_improvement = max_no_improvement

    def _learner(self, root: np.ndarray) -> MiniBatchDictionaryLearning:
        return MiniBatchDictionaryLearning(
            self.n_components or len(root),
            alpha=self.alpha,
            max_iter=self.max_iter,
            fit_algorithm=self.method,
            batch_size=self.batch_size,
            shuffle=self.shuffle,
            callback=self.callback,
            random_state=self.random_state,
            tol=self.tol,
            max_no_improvement=self.max_no_improvement,
        )


def _square_root(scatter: np.ndarray) -> np.ndarray:
    """A (p, r) matrix R with R R' = X'X: each row stands for a column of X."""
    values, vectors = np.linalg.eigh(scatter)
    there = values > _ROUNDING * max(float(values[-1]), np.finfo(float).tiny)
    if not there.any():
        return np.zeros((len(values), 1))
    vectors = fix_signs(np.ascontiguousarray(vectors[:, there].T)).T
    return np.ascontiguousarray(vectors * np.sqrt(values[there]))


def _best_atoms(V: np.ndarray, root: np.ndarray) -> np.ndarray:
    """The dictionary of least squares for codes V (k, p), with atoms of length at most 1."""
    if V.ndim != 2 or V.shape[1] != len(root):
        raise ValueError(f"V_init has shape {V.shape}: give {len(root)} columns, one per feature")
    D = np.linalg.lstsq(V.T.astype(np.float64), root, rcond=None)[0]
    return D / np.maximum(np.linalg.norm(D, axis=1, keepdims=True), 1.0)
