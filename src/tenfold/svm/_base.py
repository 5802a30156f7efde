"""What all support vector machines share: the kernel, the fit to a problem, scores of rows."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.estimator import Estimator
from tenfold.engine.chunk import Chunk
from tenfold.engine.memory import check_memory
from tenfold.engine.rows import Rows
from tenfold.kernel._block import check_symmetry, kernel_product
from tenfold.kernel._object_rows import ObjectKernelMixin
from tenfold.kernel._value_moments import ValueMoments, value_moments
from tenfold.kernel.dot_product import SigmoidKernel
from tenfold.kernel.kernels import KERNEL_NAMES, resolve_kernel
from tenfold.kernel.object_kernels import is_precomputed, takes_objects
from tenfold.math.linalg import to_dense
from tenfold.svm._blocked_smo import DualSolution, SolverOptions
from tenfold.svm._centered_rows import CenteredRBF, center_kernel, prepare_rows
from tenfold.svm._dual_problem import DualProblem
from tenfold.svm._kernel_access import KernelAccess, MemoryKernel, open_kernel

_INFINITE_COST = 1e10  # what C=inf stands for: multipliers that no tolerance can tell apart
_ROW_BYTES = 200  # of vectors with an entry for each row that a fit holds
KERNEL_CONSTRAINTS: dict[str, Any] = {
    "kernel": [StrOptions(set(KERNEL_NAMES)), callable],
    "degree": [Interval(Integral, 0, None, closed="left")],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "tol": [Interval(Real, 0.0, None, closed="neither")],
    "shrinking": ["boolean"],
    "cache_size": [Interval(Real, 0, None, closed="neither")],
    "verbose": ["verbose"],
    "max_iter": [Interval(Integral, -1, None, closed="left")],
    "warm_start": ["boolean"],
}


class SupportVectorData(NamedTuple):
    """The rows of a fit as the solver takes them.

    Attributes
    ----------
    access : kernel values
    numbers : (n,) global numbers of the rows of positive weight, ascending
    y : (n,) their targets, or class numbers
    weight : (n,) their weights
    sparse : whether the rows came as a sparse matrix
    """

    access: KernelAccess
    numbers: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    sparse: bool


def target_and_weight(chunk: Chunk) -> np.ndarray:
    """Target (zero without one) and weight of each row."""
    y = np.zeros(chunk.rows) if chunk.y is None else chunk.y
    return np.column_stack([y, chunk.weights()]).astype(np.float64, copy=False)


class SupportVectorMachine(ObjectKernelMixin, Estimator):
    """What all support vector machines share."""

    _has_quadratic_time = True
    _chunk_rows = 1024  # pieces of kernel columns
    _law_rows = 2200
    _law_params = {"tol": 1e-8}
    _learned_shapes = {
        "coef_": "r p",
        "dual_coef_": "_ n",
        "intercept_": "r",
        "probability_slopes_": "r 2",
        "support_": "n : index",
        "support_vectors_": "n p | 0 0",
        "n_support_": "_",
        "offset_": "1",
    }
    _float64_learned = ("dual_coef_",)  # large multipliers of float32 rows need the digits
    _parameter_constraints = KERNEL_CONSTRAINTS

    def _check_learned(self) -> None:
        """Raise an error if the arrays of a loaded model do not fit each other."""
        k = len(self.classes_) if hasattr(self, "classes_") else 1
        groups, rows, scores = self._learned_sizes(k)
        shape, found = np.shape(self.dual_coef_), np.shape(self.n_support_)
        intercepts = np.shape(getattr(self, "intercept_", np.zeros(scores)))
        fits = shape[0] == rows and found == (groups,) and intercepts == (scores,)
        if not fits or np.sum(self.n_support_) != shape[1] or np.min(self.n_support_) < 0:
            raise ValueError(
                f"coefficients of shape {shape}, counts of support vectors of shape {found} and "
                f"intercepts of shape {intercepts} do not fit {k} class{'es' * (k > 1)}"
            )

    def _learned_sizes(self, k: int) -> tuple[int, int, int]:
        """Counts of support vectors, rows of coefficients and intercepts, for so many classes."""
        return 1, 1, 1

    @property
    def _sparse_ok(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return not is_precomputed(self.kernel)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.positive_only = self.kernel in ("chi2", "additive_chi2")
        return tags

    def _checked_rows(self, X: Any, y: Any, w: Any, *, reset: bool) -> Rows:
        if is_precomputed(self.kernel) and issparse(X):
            raise TypeError(
                "Sparse precomputed kernels are not supported: give the matrix of kernel values "
                "as an array (X.toarray())"
            )
        return super()._checked_rows(X, y, w, reset=reset)

    def _check_memory(self, rows: Rows) -> None:
        check_memory(
            1e6 * self.cache_size + float(_ROW_BYTES) * rows.n_rows,
            f"{type(self).__name__} on {rows.n_rows:,} rows with cache_size={self.cache_size:g}",
            "give a smaller cache_size, or fit LinearSVC or SGDClassifier(loss='hinge') after "
            "Nystroem, whose memory does not grow with the rows",
        )

    def _training_data(self, rows: Rows) -> SupportVectorData:
        """Look at all rows once, and open their kernel."""
        if is_precomputed(self.kernel) and rows.n_rows != rows.n_features:
            raise ValueError(
                "Precomputed matrix must be a square matrix. Input is a "
                f"{rows.n_rows}x{rows.n_features} matrix."
            )
        moments = rows.total(value_moments)  # finds missing values as well
        self.gamma_ = self._gamma_of(moments, rows.n_features)
        table = rows.each(target_and_weight)
        numbers = np.flatnonzero(table[:, 1])
        spread = 2 * self.gamma_ * rows.n_features * moments.variance
        access = open_kernel(rows, self._kernel(), spread)
        if access.kernel is None and isinstance(access, MemoryKernel):
            check_symmetry(access.X)
        y, weight = table[numbers].T.copy()
        return SupportVectorData(access, numbers, y, weight, bool(rows.sparse))

    def _gamma_of(self, moments: ValueMoments, n_features: int) -> float:
        if is_precomputed(self.kernel) or callable(self.kernel):
            return 0.0
        if self.gamma == "scale":
            if not np.isfinite(moments.variance):
                raise OverflowError("the variance of all values is not finite")
            return 1.0 / (n_features * moments.variance) if moments.variance > 0 else 1.0
        return 1.0 / n_features if self.gamma == "auto" else float(self.gamma)

    def _kernel(self) -> Any:
        """The kernel object; None where the rows are kernel values."""
        if is_precomputed(self.kernel) or takes_objects(self.kernel):
            return None
        return resolve_kernel(
            self.kernel, gamma=self.gamma_, degree=self.degree, coef0=self.coef0, of="matrices"
        )

    def _bounded_cost(self) -> float:
        """C, or a number that is as good as infinite."""
        return min(float(self.C), _INFINITE_COST)

    def _options(self) -> SolverOptions:
        return SolverOptions(self.tol, self.max_iter, 1e6 * self.cache_size, bool(self.shrinking))

    def _support_rows(self, data: SupportVectorData, support: np.ndarray) -> Any:
        """The support vectors; none where the rows are kernel values."""
        if data.access.kernel is None:
            return np.empty((0, 0))
        order = np.argsort(support)  # by classes here, and rows are taken in ascending order
        numbers = support[order] if len(support) else data.numbers[:1]
        vectors = data.access.rows_at(numbers)[: len(support)]
        if (support[1:] < support[:-1]).any():
            vectors = vectors[np.argsort(order)]
        return csr_array(vectors) if data.sparse else vectors

    def _report(self, solutions: list[DualSolution], rows: Rows) -> dict[str, Any]:
        """Learned attributes that tell how the fit went."""
        certified = self._find_certified(solutions)
        converged = all(s.converged for s in solutions)
        report = {
            "fit_status_": 0 if converged else 1,
            "shape_fit_": (rows.n_rows, rows.n_features),
            "duality_gap_": np.where(certified, [s.optimality.gap for s in solutions], np.inf),
            "objective_": np.array([s.optimality.objective for s in solutions]),
            "n_iter_": np.array([s.n_steps for s in solutions], np.int32),
            "converged_": converged,
            "history_": merge_histories(solutions),
        }
        if not converged:
            report["warning_"] = self._warning(solutions)
        return report

    def _find_certified(self, solutions: list[DualSolution]) -> np.ndarray:
        """Which duality gaps bound something: those of kernels without negative curvature.

        A sigmoid is no kernel in general; of others the solver sees pairs of rows that show it.
        """
        scales = np.array([max(float(np.abs(s.F).max(initial=0.0)), 1.0) for s in solutions])
        least = np.array([s.least_curvature for s in solutions])
        seen = least < -1e-6 * scales  # by more than rounding
        if seen.any():
            warnings.warn(
                f"{type(self).__name__}: the kernel is not positive semi-definite (two rows have "
                f"the squared distance {least.min():.3g}): the fit is a stationary point, of which "
                "there may be several, and duality_gap_ is inf, since nothing bounds the distance "
                "from the minimum. `tenfold.kernel.check_gram` shows where",
                UserWarning,
                stacklevel=2,
            )
        is_sigmoid = self.kernel == "sigmoid" or isinstance(self.kernel, SigmoidKernel)
        return ~seen & (not is_sigmoid)

    def _warning(self, solutions: list[DualSolution]) -> str:
        """What to do about a fit that did not converge."""
        gap = max(s.optimality.gap for s in solutions)
        violation = max(s.optimality.violation for s in solutions)
        if any(s.stuck for s in solutions):
            return (
                f"cannot come closer to the optimum in float64: the largest violation is "
                f"{violation:.3g} (tol={self.tol:g}), the duality gap {gap:.3g}. Solver terminated "
                "early. Consider pre-processing your data with StandardScaler or MinMaxScaler, "
                "a smaller C, or a larger tol."
            )
        return (
            f"did not converge. Solver terminated early (max_iter={self.max_iter}).  Consider "
            "pre-processing your data with StandardScaler or MinMaxScaler, or raise max_iter; the "
            f"largest violation is {violation:.3g}, the duality gap {gap:.3g}."
        )

    def _warm_started(self, problem: DualProblem, coefficients: Any) -> DualProblem:
        """The problem with a start from coefficients of its rows, where they are feasible."""
        if coefficients is None or problem.group.any():
            return problem
        share = coefficients[problem.row]
        start = np.where(problem.upper > 0, np.maximum(share, 0.0), np.minimum(share, 0.0))
        bounds = np.where(start > 0, problem.upper, -problem.lower)
        moved = start != 0
        if not moved.any():
            return problem
        ratio = bounds[moved] / np.abs(start[moved])
        at_bound = np.count_nonzero(ratio <= ratio.min() * (1 + 1e-9))
        start *= ratio.min() if at_bound > 1 else min(ratio.min(), 1.0)  # bounds stay bounds
        start = np.clip(start, problem.lower, problem.upper)
        excess = start.sum() - problem.start.sum()
        feasible = abs(excess) <= 1e-12 * np.abs(start).sum()
        return problem._replace(start=start) if feasible else problem

    def _prediction_state(self, V: np.ndarray, intercept: np.ndarray) -> tuple[Any, ...]:
        """State of `support_scores`, in float32 where that is accurate enough for the scores."""
        check_support(self)
        kernel = self._kernel()
        support = self.support_ if kernel is None else self.support_vectors_
        rounding = np.abs(V).max(initial=0.0) * np.finfo(np.float32).eps
        narrow = kernel is not None and support.dtype == np.float32 and rounding <= self.tol
        dtype = np.float32 if narrow else np.float64
        if kernel is not None and support.shape[0]:
            kernel = center_kernel(kernel, support)
            support = prepare_rows(kernel, support, dtype)
        return kernel, support, V.astype(dtype), intercept.astype(dtype)

    def _score_state(self) -> tuple[Any, ...]:
        """State of `support_scores`."""
        dual_coef = self.dual_coef_
        dual_coef = dual_coef.toarray() if hasattr(dual_coef, "toarray") else dual_coef
        return self._prediction_state(dual_coef.T, self.intercept_)

    def _last_coefficients(self, numbers: np.ndarray) -> np.ndarray | None:
        """Coefficients of the rows in the last fit, to begin at; None to begin anew."""
        if not (getattr(self, "warm_start", False) and hasattr(self, "support_")):
            return None
        places = np.searchsorted(numbers, self.support_)
        if (numbers[np.minimum(places, len(numbers) - 1)] != self.support_).any():
            return None  # other rows
        coefficients = np.zeros(len(numbers))
        coefficients[places] = np.ravel(self._score_state()[2])
        return coefficients

    def _single_machine(
        self, data: SupportVectorData, problem: DualProblem, solution: DualSolution, rows: Rows
    ) -> dict[str, Any]:
        """Learned attributes of a model with one score."""
        sums = problem.row_sums(solution.beta)
        positions = np.flatnonzero(sums)
        numbers, dual_coef = data.numbers[positions], sums[None, positions]
        report = self._report([solution], rows)
        return report | {
            "support_": numbers.astype(np.int32),
            "support_vectors_": self._support_rows(data, numbers),
            "n_support_": np.array([len(numbers)], np.int32),
            "dual_coef_": csr_array(dual_coef) if data.sparse else dual_coef,
            "n_iter_": int(report["n_iter_"][0]),
        }

    @property
    def _gamma(self) -> float:
        return self.gamma_

    @property
    def coef_(self) -> Any:
        """Weights of the features, for a linear kernel."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self, "dual_coef_")
        coef = self._linear_coef()
        (coef.data if hasattr(coef, "tocsr") else coef).flags.writeable = False
        return coef

    def _linear_coef(self) -> Any:
        return self.dual_coef_ @ self.support_vectors_


def merge_histories(solutions: list[DualSolution]) -> dict[str, np.ndarray]:
    """Rounds of all problems, one after the other; the objective is the sum over all problems."""
    lengths = [len(s.history["objective"]) for s in solutions]
    ends = [
        s.history["objective"][[0, -1]] if len(s.history["objective"]) else np.zeros(2)
        for s in solutions
    ]
    total, objective = sum(end[0] for end in ends), []
    for solution, (first, last) in zip(solutions, ends, strict=True):
        objective.append(total - first + solution.history["objective"])
        total += last - first
    names = ("violation", "seconds")
    return {
        "objective": np.concatenate(objective),
        **{name: np.concatenate([s.history[name] for s in solutions]) for name in names},
        "problem": np.repeat(np.arange(len(solutions)), lengths),
    }


def support_scores(
    chunk: Chunk, kernel: Any, support: Any, V: np.ndarray, intercept: np.ndarray
) -> np.ndarray:
    """Kernel values with the support vectors times coefficients, plus intercepts: (n, m)."""
    if not len(V):
        return np.tile(intercept, (chunk.rows, 1)).astype(chunk.X.dtype)
    if kernel is None:
        scores = np.take(chunk.X, support, axis=1) @ V
    else:
        X = to_dense(chunk.X) if isinstance(kernel, CenteredRBF) else chunk.X
        scores = kernel_product(prepare_rows(kernel, X, V.dtype), support, kernel, V)
    return (scores + intercept).astype(chunk.X.dtype, copy=False)


def check_support(model: Any) -> None:
    """Refuse a model whose arrays were changed by hand."""
    vectors = model.support_vectors_
    if vectors.shape[0] and np.sum(model.n_support_) != vectors.shape[0]:
        raise ValueError(f"The internal representation of {type(model).__name__} was altered")
