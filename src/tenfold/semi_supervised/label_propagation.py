"""Labels that go along a graph of similar rows."""

from __future__ import annotations

import warnings
from typing import Any, Self, cast

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn import semi_supervised
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.engine.blas_threads import one_blas_thread
from tenfold.engine.memory import check_memory
from tenfold.ensemble._members import Saveable
from tenfold.kernel._block import kernel_product
from tenfold.kernel.stationary import RBF
from tenfold.neighbors.nearest_neighbors import NearestNeighbors
from tenfold.semi_supervised._labels import mark_unlabeled, number_labels, split_rows

_BLOCK_BYTES = 2**26  # of kernel values between rows of the fit and of a prediction


class GraphLabels(Saveable):
    """What label propagation and label spreading share beside scikit-learn's iteration."""

    kernel: Any
    n_neighbors: int
    max_iter: int

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to rows of which some have a label.

        Parameters
        ----------
        X : array or sparse matrix
            The rows.
        y : (n,) array
            Labels; -1, None or NaN for rows without.

        Returns
        -------
        self
        """
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if not self._is("knn"):
            check_memory(
                16.0 * n * n,
                f"{type(self).__name__} on {n:,} rows (a kernel matrix of {n:,} x {n:,})",
                "kernel='knn' has a sparse graph of n_neighbors for each row",
            )
        y = mark_unlabeled(y)
        classes, numbers = number_labels(y)
        super().fit(X, numbers)  # type: ignore[misc]
        if classes is not None:
            self.classes_, self.transduction_ = classes, classes[self.transduction_]
        self.label_distributions_ = np.ascontiguousarray(self.label_distributions_)
        self.converged_ = self.n_iter_ < self.max_iter
        self.unreached_ = self._find_unreached(y)
        if self.unreached_.any():
            warnings.warn(
                f"{int(self.unreached_.sum())} rows are connected to no row with a label, so their "
                "label says nothing (unreached_): raise n_neighbors, or lower gamma",
                stacklevel=2,
            )
        return self

    def _is(self, kernel: str) -> bool:
        return isinstance(self.kernel, str) and self.kernel == kernel

    def _find_unreached(self, y: np.ndarray) -> np.ndarray:
        """Which rows are in no component of the graph with a labeled row."""
        labeled, _ = split_rows(y)
        if self._is("knn"):
            # a row takes the labels of its neighbors: follow edges from row to neighbor
            graph = csr_array(self._get_kernel(self.X_))
        else:
            values = self._get_kernel(self.X_)
            graph = csr_array(values if issparse(values) else values > 0)
        return ~_can_reach(graph, labeled)

    @property
    def nn_fit(self) -> NearestNeighbors | None:
        """Neighbors of the rows, under scikit-learn's name."""
        return self._neighbors

    @nn_fit.setter
    def nn_fit(self, value: NearestNeighbors | None) -> None:
        self._neighbors = value

    def _get_kernel(self, X: Any, y: Any = None) -> Any:
        if not self._is("knn"):
            return super()._get_kernel(X, y)  # type: ignore[misc]
        if self.nn_fit is None:
            self.nn_fit = NearestNeighbors(n_neighbors=self.n_neighbors, n_jobs=self.n_jobs).fit(X)
        if y is None:
            return self.nn_fit.kneighbors_graph(X, self.n_neighbors, mode="connectivity")
        return self.nn_fit.kneighbors(y, return_distance=False)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class for each row, (n, n_classes): shares of the similar rows.

        Parameters
        ----------
        X : array or sparse matrix
            The rows. One that is similar to no row of the fit has the shares of all of them.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        known = cast("Any", self.X_)
        step = max(_BLOCK_BYTES // (8 * known.shape[0]), 1)
        parts = [self._shares(X[first : first + step]) for first in range(0, X.shape[0], step)]
        return np.concatenate(parts)

    def _shares(self, X: Any) -> np.ndarray:
        labels = cast("Any", self.label_distributions_)
        if self._is("knn"):
            shares = labels[self._get_kernel(self.X_, X)].sum(axis=1)
        elif self._is("rbf"):
            with one_blas_thread():
                shares = kernel_product(X, self.X_, RBF.from_gamma(self.gamma), labels)
        else:
            shares = np.asarray(self._get_kernel(self.X_, X).T @ labels)
        total = shares.sum(axis=1, keepdims=True)
        nowhere = total[:, 0] == 0
        shares[nowhere] = labels.sum(axis=0)
        total[nowhere] = shares[nowhere].sum(axis=1, keepdims=True)
        return shares / total


def _can_reach(graph: Any, targets: np.ndarray) -> np.ndarray:
    """Which nodes have a path along edges to one of the targets."""
    n = graph.shape[0]
    hub = csr_array((np.ones(len(targets)), (targets, np.full(len(targets), n))), (n + 1, n + 1))
    rows, columns = graph.nonzero()
    edges = csr_array((np.ones(len(rows)), (rows, columns)), (n + 1, n + 1))
    # search backwards from a node behind all targets
    backwards = csr_array((edges + hub).T)
    reached = np.zeros(n + 1, bool)
    reached[n], front = True, np.array([n])
    while len(front):
        following = np.unique(backwards[front].indices)
        front = following[~reached[following]]
        reached[front] = True
    return reached[:n]


class LabelPropagation(GraphLabels, semi_supervised.LabelPropagation):
    r"""Rows take the mean label of similar rows; given labels stay.

    With affinities W and :math:`P = D^{-1} W`, iterate
    :math:`F \leftarrow P F`, then set the rows with labels to theirs. The fixed point is the
    harmonic function on the graph:

    .. math:: F_U = (I - P_{UU})^{-1} P_{UL} Y_L

    This is scikit-learn's class with neighbors from `tenfold.NearestNeighbors`; `converged_` and
    `unreached_` say what scikit-learn leaves open; predictions take bounded memory; a kernel matrix
    that does not fit into memory is refused before it is made; it can be saved.

    Parameters
    ----------
    kernel : {"rbf", "knn"} or callable
        Affinity of two rows: :math:`\exp(-\gamma \lVert x - z \rVert^2)`, 1 for the nearest
        neighbors, or a function of two arrays.
    gamma : float
        Of the kernel "rbf".
    n_neighbors : int
        Of the kernel "knn".
    max_iter : int
        Most iterations.
    tol : float
        Sum of absolute changes below which iterations end.
    n_jobs : int, optional
        Threads of the neighbor search.

    Attributes
    ----------
    X_ : the rows
    classes_ : (n_classes,) labels
    label_distributions_ : (n, n_classes) shares of the classes for each row
    transduction_ : (n,) label of each row
    unreached_ : (n,) bool, rows that no path of the graph connects to a label
    n_iter_ : number of iterations
    converged_ : whether the last change was below `tol`

    See Also
    --------
    LabelSpreading : Given labels may be overruled.

    References
    ----------
    Zhu, X. and Ghahramani, Z. (2002). Learning from labeled and unlabeled data with label
    propagation.

    Examples
    --------
    >>> from tenfold import LabelPropagation
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> model = LabelPropagation(gamma=10).fit(X, [0, -1, -1, -1, -1, 1])
    >>> model.transduction_.tolist(), model.converged_
    ([0, 0, 0, 1, 1, 1], True)
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float = 20,
        n_neighbors: int = 7,
        max_iter: int = 1000,
        tol: float = 1e-3,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs


class LabelSpreading(GraphLabels, semi_supervised.LabelSpreading):
    r"""Rows take labels of similar rows; given labels count by a share and can be overruled.

    With :math:`S = D^{-1/2} W D^{-1/2}`, iterate
    :math:`F \leftarrow \alpha S F + (1 - \alpha) Y`; the fixed point is
    :math:`F = (1 - \alpha)(I - \alpha S)^{-1} Y`. Wrong labels among many right ones are overruled.

    This is scikit-learn's class with what `LabelPropagation` adds to it.

    Parameters
    ----------
    kernel : {"rbf", "knn"} or callable
        Affinity of two rows, as in `LabelPropagation`.
    gamma : float
        Of the kernel "rbf".
    n_neighbors : int
        Of the kernel "knn".
    alpha : float
        Share of the neighbors' labels, between 0 and 1.
    max_iter : int
        Most iterations.
    tol : float
        Sum of absolute changes below which iterations end.
    n_jobs : int, optional
        Threads of the neighbor search.

    Attributes
    ----------
    X_ : the rows
    classes_ : (n_classes,) labels
    label_distributions_ : (n, n_classes) shares of the classes for each row
    transduction_ : (n,) label of each row
    unreached_ : (n,) bool, rows that no path of the graph connects to a label
    n_iter_ : number of iterations
    converged_ : whether the last change was below `tol`

    See Also
    --------
    LabelPropagation : Given labels stay.

    References
    ----------
    Zhou, D. et al. (2004). Learning with local and global consistency.

    Examples
    --------
    >>> from tenfold import LabelSpreading
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> LabelSpreading(gamma=10).fit(X, [0, -1, -1, -1, -1, 1]).transduction_.tolist()
    [0, 0, 0, 1, 1, 1]
    """
