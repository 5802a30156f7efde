"""The perceptron in the feature space of a kernel."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval
from tenfold.base.mixins import Classifier
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.kernel._block import kernel_matrix
from tenfold.kernel._model_base import KERNEL_CONSTRAINTS, KernelParameters, kernel_scores
from tenfold.kernel._perceptron_numba import perceptron_block
from tenfold.kernel.object_kernels import PrecomputedKernel
from tenfold.optim.convergence import until_converged

_BLOCK_ROWS = 256  # rows whose kernel values are computed together


class PerceptronState(NamedTuple):
    """Coefficients of all rows for each score, and what was counted on the way."""

    dual: np.ndarray  # (s, n) weight times sign of each mistake that is not forgotten
    counts: np.ndarray  # (s, n) mistakes of each row
    late: np.ndarray  # (s, n) changes times the number of their step
    steps: int


class KernelPerceptron(KernelParameters, Classifier):
    r"""The kernel perceptron: a row on which a mistake is made counts once more.

    .. math:: f(x) = \sum_j \alpha_j y_j \, k(x_j, x), \qquad
              \text{if } y_i f(x_i) \le 0: \ \alpha_i \leftarrow \alpha_i + 1

    These are the mistakes of the perceptron on the explicit features of the kernel, without an
    intercept (add 1 to the kernel for one). The fit ends after an epoch without a mistake; with an
    RBF kernel and different rows, which it separates whatever their labels, it always ends. Rows
    are visited one after the other, their kernel values computed by blocks. More than two classes
    are learned one against the rest.

    Parameters
    ----------
    kernel, gamma, degree, coef0, kernel_params : Any
        The kernel, as in `KernelRidge`.
    max_iter : int
        Maximum number of epochs.
    shuffle : bool
        Whether each epoch has a random order; else the order of the rows.
    average : bool
        Whether to average the coefficients after all steps, mistake or not; without a budget.
    budget : int, optional
        Most support vectors of a score: beyond, the one with the smallest coefficient is
        forgotten. There may then be no epoch without a mistake.
    random_state : int, optional
        Seed of the orders.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    mistake_counts_ : (1, n_samples) or (n_classes, n_samples) the alphas: mistakes on each row
    mistakes_ : number of mistakes of all scores
    support_ : (n_support,) numbers of the rows with a coefficient
    support_vectors_ : (n_support, n_features) these rows; for a precomputed kernel their numbers
    dual_coef_ : (1, n_support) or (n_classes, n_support) coefficients
    n_iter_, converged_ : epochs, and whether the last one had no mistake
    history_ : mistakes of each epoch ("objective"), and "seconds"

    See Also
    --------
    Perceptron : On the columns themselves, or on explicit features.
    KernelLogisticRegression : With probabilities.

    References
    ----------
    M. A. Aizerman, E. M. Braverman and L. I. Rozonoer (1964), Theoretical foundations of the
    potential function method in pattern recognition learning.

    Y. Freund and R. E. Schapire (1999), Large margin classification using the perceptron algorithm.

    O. Dekel, S. Shalev-Shwartz and Y. Singer (2008), The Forgetron: a kernel-based perceptron on a
    budget.

    Examples
    --------
    Four points that no line separates:

    >>> from tenfold import KernelPerceptron
    >>> from tenfold.kernel import QuadraticKernel
    >>> X, y = [[2, 2], [-2, 2], [-2, -2], [2, -2]], [1, -1, 1, -1]
    >>> model = KernelPerceptron(kernel=QuadraticKernel(), shuffle=False).fit(X, y)
    >>> model.mistake_counts_.tolist(), model.n_iter_
    ([[1, 1, 0, 0]], 2)
    """

    _sparse_ok = True
    _min_classes = 2
    _samples_rows = _learns_in_row_order = True
    _has_quadratic_time = True
    _law_rows = 600
    _law_params = {"max_iter": 200}
    _chunk_rows = 512  # a chunk of queries meets all support vectors
    _learned_shapes = {
        "dual_coef_": "K s",
        "mistake_counts_": "K n",
        "support_": "s : index",
        "support_vectors_": "s p | s",
    }
    _parameter_constraints = {
        **KERNEL_CONSTRAINTS,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "average": ["boolean"],
        "budget": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        max_iter: int = 1000,
        shuffle: bool = True,
        average: bool = False,
        budget: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.average = average
        self.budget = budget
        self.random_state = random_state

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        if self.average and self.budget is not None:
            raise ValueError("average=True needs all support vectors: give budget=None")
        train = self._gather_rows(rows, copies=0, cure="")
        k = len(self.classes_)
        signs = np.where(train.y == np.arange(k)[:, None], 1.0, -1.0)[1 if k == 2 else 0 :]
        weights = np.ones(rows.n_rows) if train.w is None else train.w
        X = train.X.astype(np.float64)
        seed = int(rng.integers(2**31))
        zeros = np.zeros(signs.shape)
        start = PerceptronState(zeros, zeros.astype(np.int64), zeros.copy(), 0)
        loop = until_converged(start, tol=0, max_iter=self.max_iter)
        for state in loop:
            order = np.arange(rows.n_rows)
            if self.shuffle:
                order = np.random.default_rng([seed, loop.n_iter]).permutation(rows.n_rows)
            state, mistakes = self._epoch(state, train.kernel, X, signs, weights, order)
            loop.update(state, objective=mistakes, change=mistakes)
        return self._attributes(loop.state, train.X, rows.dtype) | loop.report

    def _epoch(
        self,
        state: PerceptronState,
        kernel: Any,
        X: Any,
        signs: np.ndarray,
        weights: np.ndarray,
        order: np.ndarray,
    ) -> tuple[PerceptronState, int]:
        """Visit every row once; the next state and the number of mistakes."""
        dual, counts, late = (part.copy() for part in state[:3])
        steps, mistakes = state.steps, 0
        inside = np.zeros(len(weights), bool)
        for first in range(0, len(order), _BLOCK_ROWS):
            block = order[first : first + _BLOCK_ROWS]
            inside[block] = True
            others = np.flatnonzero(dual.any(axis=0) & ~inside)
            KS, KB = (_values(kernel, X, block, some) for some in (others, block))
            for s, y in enumerate(signs):
                far, near = dual[s, others], dual[s, block]
                count, when = counts[s, block], late[s, block]
                mistakes += perceptron_block(
                    KS, KB, y[block], weights[block], far, near, count, when, steps,
                    self.budget or 0,
                )  # fmt: skip
                dual[s, others], dual[s, block] = far, near
                counts[s, block], late[s, block] = count, when
            inside[block] = False
            steps += len(block)
        return PerceptronState(dual, counts, late, steps), mistakes

    def _attributes(self, state: PerceptronState, X: Any, dtype: np.dtype) -> dict[str, Any]:
        dual = state.dual
        if self.average:  # a change at step t (from 0) is part of the steps t, ..., T - 1
            dual = dual - np.where(dual != 0, state.late / max(state.steps, 1), 0.0)
        support = np.flatnonzero(dual.any(axis=0))
        precomputed = isinstance(self._kernel_object(X.shape[1]), PrecomputedKernel)
        return {
            "mistake_counts_": state.counts,
            "mistakes_": int(state.counts.sum()),
            "support_": support,
            "support_vectors_": support if precomputed else X[support],
            "dual_coef_": dual[:, support].astype(dtype),
        }

    def _convergence_words(self) -> str:
        return "Rows that no function of the kernel separates have mistakes for ever."

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of each row: (n_rows,) for the second of two classes, else (n_rows, n_classes).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for a precomputed kernel their values with all rows of the fit.
        """
        check_is_fitted(self)
        scores = self._map_rows(X, *self._support())
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def _support(self) -> tuple:
        """Chunk function of the scores, kernel, support vectors and coefficients."""
        kernel = self._kernel_object(self.n_features_in_)
        vectors = self.support_vectors_
        vectors = vectors if isinstance(kernel, PrecomputedKernel) else vectors.astype(np.float64)
        return support_scores, kernel, vectors, self.dual_coef_.T.astype(np.float64)

    def _scorer(self) -> tuple:
        two = len(self.classes_) == 2
        return (_both_scores, *self._support()[1:]) if two else self._support()


def _values(kernel: Any, X: Any, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Kernel values of some rows with others."""
    if isinstance(kernel, PrecomputedKernel):
        return X[np.ix_(rows, others)]
    return kernel_matrix(X[rows], X[others], kernel)


def support_scores(chunk: Chunk, kernel: Any, vectors: np.ndarray, dual: np.ndarray) -> np.ndarray:
    """Scores of rows: sums of kernel values with support vectors."""
    if isinstance(kernel, PrecomputedKernel):
        values = np.take(chunk.X, vectors, axis=1).astype(np.float64)
        return (values @ dual).astype(chunk.X.dtype)
    return kernel_scores(chunk, kernel, vectors, dual)


def _both_scores(chunk: Chunk, *state: Any) -> np.ndarray:
    """Scores of two classes: a row with the score 0 belongs to the first."""
    score = support_scores(chunk, *state)
    return np.hstack([np.zeros_like(score), score])
