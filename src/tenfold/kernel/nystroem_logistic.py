"""Logistic regression on landmarks, for any number of rows."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import ProbabilisticClassifier
from tenfold.engine.arrays import ArraySource
from tenfold.engine.chunk import Chunk, chunk_rows
from tenfold.engine.memory import available_memory
from tenfold.engine.rows import Rows
from tenfold.engine.source import Source
from tenfold.engine.source_wrapper import SourceWrapper
from tenfold.kernel._block import kernel_block
from tenfold.kernel._landmark_objective import LandmarkObjective, minimize_on_landmarks
from tenfold.kernel._landmarks import from_rows
from tenfold.kernel._model_base import KERNEL_CONSTRAINTS
from tenfold.kernel.nystroem_ridge import (
    LANDMARK_CONSTRAINTS,
    LandmarkModel,
    landmark_scores,
)
from tenfold.linear._objective import classification_objective, mean_penalty
from tenfold.math.losses import LogisticLoss, SoftmaxLoss

_MEMORY_SHARE = 0.25  # of free memory: larger tables of kernel values are computed in every pass


class NystroemLogisticRegression(LandmarkModel, ProbabilisticClassifier):
    r"""Kernel logistic regression on landmarks: binary, or softmax over all classes.

    .. math:: \min_{a, b} \ C \sum_i \omega_i \, \ell(y_i, f(x_i)) + \tfrac{1}{2} a^T K_{mm} a,
              \qquad f(x) = a \cdot k_m(x) + b

    This is `LogisticRegression` on the features of `Nystroem`. If the kernel values of all rows
    with the landmarks fit into a quarter of the free memory they are computed once, else in every
    pass: the bits are the same. With all rows as landmarks, `KernelLogisticRegression`.

    Parameters
    ----------
    C : float
        Inverse of the penalty.
    kernel, gamma, degree, coef0, kernel_params : Any
        The kernel, as in `KernelRidge`.
    n_components, landmarks, random_state : Any
        The landmarks, as in `NystroemRidge`.
    fit_intercept : bool
        Whether there is an intercept b, which is not penalized.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    tol, max_iter : float and int
        Of the solver.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    components_ : (m, n_features) landmarks
    dual_coef_ : (m, 1) or (m, n_classes) coefficients a
    intercept_ : (1,) or (n_classes,) intercepts b
    n_iter_, converged_, history_ : of the solver

    See Also
    --------
    KernelLogisticRegression : Exact, for few rows.
    NystroemRidge : Ridge regression, in one pass.

    References
    ----------
    C. K. I. Williams and M. Seeger (2001), Using the Nyström method to speed up kernel machines.

    U. Marteau-Ferey, F. Bach and A. Rudi (2019), Globally convergent Newton methods for
    ill-conditioned generalized self-concordant losses.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import NystroemLogisticRegression
    >>> angle = np.linspace(0, 2 * np.pi, 30, endpoint=False)
    >>> ring = np.c_[np.cos(angle), np.sin(angle)]
    >>> X, y = np.vstack([ring, 3 * ring]), np.repeat(["in", "out"], 30)
    >>> model = NystroemLogisticRegression(gamma=0.5, n_components=20, random_state=0)
    >>> model.fit(X, y).score(X, y)
    1.0
    """

    _sparse_ok = True
    _min_classes = 2
    _law_rows = 5000
    _law_params = {"n_components": 20, "gamma": 0.01, "tol": 1e-10}
    _learned_shapes = {"components_": "m p", "dual_coef_": "m K", "intercept_": "K"}
    _parameter_constraints = {
        "C": [Interval(Real, 0, None, closed="neither")],
        **KERNEL_CONSTRAINTS,
        **LANDMARK_CONSTRAINTS,
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        n_components: int = 100,
        landmarks: Any = "uniform",
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.landmarks = landmarks
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        marks = self._choose_landmarks(rows, rng)
        kernel = self._kernel_object(rows.n_features)
        root = from_rows(marks, kernel).root(rows.dtype)
        values = classification_objective(
            landmark_rows(rows, kernel, marks),
            LogisticLoss() if len(self.classes_) == 2 else SoftmaxLoss(),
            self.classes_,
            class_weight=self.class_weight,
            C=np.inf,
            intercept=self.fit_intercept,
        )
        f = LandmarkObjective(values, root, mean_penalty(self.C, values.n))
        minimum = minimize_on_landmarks(f, tol=self.tol, max_iter=self.max_iter)
        found = f.to_values(minimum.x).reshape(values.shape)
        return {
            "components_": marks.astype(rows.dtype),
            "dual_coef_": found[:, :-1].T.astype(rows.dtype),
            "intercept_": found[:, -1].astype(rows.dtype),
            **minimum.report,
            "n_iter_": np.array([minimum.report["n_iter_"]], np.int32),
        }

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of each row: (n_rows,) for the second of two classes, else (n_rows, n_classes).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        scores = self._map_rows(X, *self._scorer())
        return scores[:, 1] if len(self.classes_) == 2 else scores

    def _scorer(self) -> tuple:
        kernel = self._kernel_object(self.n_features_in_)
        marks, dual = self.components_.astype(np.float64), self.dual_coef_.astype(np.float64)
        return _class_scores, kernel, marks, dual, self.intercept_


def _class_scores(chunk: Chunk, *state: Any) -> np.ndarray:
    """Scores of all classes; of two, 0 for the first."""
    scores = landmark_scores(chunk, *state)
    return scores if scores.shape[1] > 1 else np.hstack([np.zeros_like(scores), scores])


def landmark_rows(rows: Rows, kernel: Any, marks: np.ndarray) -> Rows:
    """Rows whose columns are kernel values with landmarks; kept in memory if there is room."""
    m, dtype = len(marks), rows.dtype
    grid = min(chunk_rows(m, dtype), rows.source.grid)
    plain = rows.source.with_chunk_rows(grid)
    source: Source = LandmarkSource(plain, kernel, marks.astype(dtype))
    found = Rows(source, engine=rows.engine, classes=rows.classes)
    if float(dtype.itemsize) * m * rows.n_rows > _MEMORY_SHARE * available_memory():
        return found
    X = found.each(_chunk_columns)
    others = Rows(plain, engine=rows.engine, classes=rows.classes)  # without the values again
    y = others.each(_chunk_target)
    w = others.each(_chunk_weights) if rows.source.has_weight else None
    kept = ArraySource(X, y, w).with_chunk_rows(grid)
    return Rows(kept, engine=rows.engine)


def _chunk_columns(chunk: Chunk) -> np.ndarray:
    return chunk.X


def _chunk_target(chunk: Chunk) -> np.ndarray:
    return np.array(chunk.y)


def _chunk_weights(chunk: Chunk) -> np.ndarray:
    return np.array(chunk.w)


class LandmarkSource(SourceWrapper):
    """The rows of another source, with kernel values with landmarks as columns."""

    def __init__(self, source: Source, kernel: Any, marks: np.ndarray) -> None:
        self.source, self.kernel, self.marks = source, kernel, marks
        self.n_rows, self.dtype = source.n_rows, source.dtype
        self.n_features = len(marks)
        self.has_target, self.has_weight = source.has_target, source.has_weight
        self.shippable = source.shippable

    def chunks(self, run: range) -> Iterator[Chunk]:
        return (self._map(chunk) for chunk in self.source.chunks(run))

    def take(self, rows: np.ndarray) -> Chunk:
        return self._map(self.source.take(rows))

    def _map(self, chunk: Chunk) -> Chunk:
        return chunk._replace(X=kernel_block(chunk.X, self.marks, self.kernel))
