"""Classification by support vector machines: one problem for each pair of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.utils import deprecated
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import StrOptions
from tenfold.base.mixins import Classifier
from tenfold.engine.rows import Rows
from tenfold.engine.thread_pool import map_threads
from tenfold.svm._base import (
    KERNEL_CONSTRAINTS,
    SupportVectorData,
    SupportVectorMachine,
    support_scores,
)
from tenfold.svm._blocked_smo import DualSolution, solve_dual
from tenfold.svm._calibration import (
    N_PARTS,
    calibrate_slopes,
    class_probabilities,
    part_of_rows,
)
from tenfold.svm._dual_problem import DualProblem
from tenfold.svm._kernel_access import kernel_matrix
from tenfold.svm._one_vs_one import (
    class_pairs,
    confidence_winners,
    confidences,
    dual_table,
    pair_coefficients,
    vote_winners,
)
from tenfold.svm._thresholds import FULL_MATRIX_ROWS, MIN_PARALLEL_ROWS

CLASSIFIER_CONSTRAINTS: dict[str, Any] = KERNEL_CONSTRAINTS | {
    "probability": ["boolean", StrOptions({"deprecated"})],
    "class_weight": [StrOptions({"balanced"}), dict, None],
    "decision_function_shape": [StrOptions({"ovr", "ovo"})],
    "break_ties": ["boolean"],
    "random_state": ["random_state"],
}


_DEPRECATED = (
    "Attribute `{}` was deprecated in version 1.9 of scikit-learn and will be removed in 1.11; "
    "`probability_slopes_` has the slopes of both sides"
)


def _has_probabilities(model: Any) -> bool:
    if model.probability is not True:
        raise AttributeError("predict_proba is not available when probability=False")
    return True


class KernelClassifier(SupportVectorMachine, Classifier):
    """What `SVC` and `NuSVC` share; they say what the problem of a pair of classes is."""

    def _training_rows(self, X: Any, y: Any, w: Any) -> Rows:
        rows = super()._training_rows(X, y, w)
        if len(self.classes_) < 2:
            raise ValueError(
                "The number of classes has to be greater than one; got 1 class: "
                f"{self.classes_.tolist()[0]!r}"
            )
        return rows

    def _pair_problem(
        self, sign: np.ndarray, weight: np.ndarray, class_weight: np.ndarray
    ) -> DualProblem:
        """The problem of rows with signs and weights; weights of the classes of each row."""
        raise NotImplementedError

    def _pair_multipliers(self, solution: DualSolution) -> tuple[float, float]:
        """Intercept of the score, and the factor of multipliers and intercept."""
        return -float(solution.optimality.multipliers[0]), 1.0

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        data = self._training_data(rows)
        y = data.y.astype(np.int64)
        self._check_classes(y)
        weights = self._class_weights(y, data.weight)
        parts, solutions = self._solve_pairs(data, y, weights)
        learned = self._learned_attributes(data, y, parts, solutions, rows) | {
            "class_weight_": weights
        }
        if self.probability is True:
            learned["probability_slopes_"] = self._calibrate(data, y, weights)
        return learned

    def _learned_sizes(self, k: int) -> tuple[int, int, int]:
        return k, k - 1, k * (k - 1) // 2

    def _check_classes(self, y: np.ndarray) -> None:
        counts = np.bincount(y, minlength=len(self.classes_))
        if (counts == 0).any():
            missing = self.classes_[counts == 0].tolist()
            raise ValueError(
                f"Invalid input - all samples with positive weights belong to the same class, or "
                f"class {missing[0]!r} has none of them: leave its rows out, or give them a weight"
            )

    def _class_weights(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        if self.class_weight is None:
            return np.ones(len(self.classes_))
        labels = self.classes_[y]
        return np.asarray(
            compute_class_weight(
                self.class_weight, classes=self.classes_, y=labels, sample_weight=weight
            ),
            np.float64,
        )

    def _solve_pairs(
        self, data: SupportVectorData, y: np.ndarray, weights: np.ndarray
    ) -> tuple[list[tuple[np.ndarray, np.ndarray]], list[DualSolution]]:
        """For each pair of classes positions and coefficients of its rows, and the solutions."""
        pairs, starts = class_pairs(len(self.classes_)), self._start_coefficients(data, y)
        gram = None
        if len(y) <= FULL_MATRIX_ROWS:
            gram = kernel_matrix(data.access, data.numbers)
        parts: list[Any] = [None] * len(pairs)
        solutions: list[Any] = [None] * len(pairs)

        def solve(p: int) -> None:
            i, j = pairs[p]
            rows = np.flatnonzero((y == i) | (y == j))
            sign = np.where(y[rows] == i, 1, -1)
            problem = self._pair_problem(sign, data.weight[rows], weights[y[rows]])
            start = None if starts is None else starts[p][rows]
            problem = self._warm_started(problem, start)
            numbers = data.numbers[rows]
            if gram is not None:  # one matrix for all pairs
                problem, numbers = problem._replace(row=rows, n_rows=len(y)), data.numbers
            solutions[p] = solve_dual(problem, data.access, numbers, self._options(), gram=gram)
            parts[p] = rows, solutions[p].beta

        if len(pairs) > 1 and gram is not None and len(y) >= MIN_PARALLEL_ROWS:
            map_threads(solve, len(pairs))
        else:
            for p in range(len(pairs)):
                solve(p)
        return parts, solutions

    def _calibrate(self, data: SupportVectorData, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Slopes of the probabilities of each pair, from scores of rows that no fit has seen."""
        slopes = []
        for i, j in class_pairs(len(self.classes_)):
            rows = np.flatnonzero((y == i) | (y == j))
            sign = np.where(y[rows] == i, 1, -1)
            part, scores = part_of_rows(sign), np.zeros(len(rows))
            for number in range(N_PARTS):
                inside, outside = rows[part != number], rows[part == number]
                known = sign[part != number]
                if not len(outside):
                    continue
                if len(np.unique(known)) < 2:  # as libsvm: what is known is one class
                    scores[part == number] = known[0] if len(known) else 0.0
                    continue
                problem = self._pair_problem(known, data.weight[inside], weights[y[inside]])
                numbers = data.numbers[inside]
                solution = solve_dual(problem, data.access, numbers, self._options())
                intercept, factor = self._pair_multipliers(solution)
                used = np.flatnonzero(solution.beta)
                F = data.access.product(
                    data.access.take(numbers[used]), solution.beta[used], data.numbers[outside]
                )
                scores[part == number] = factor * (F + intercept)
            slopes.append(calibrate_slopes(scores, sign, data.weight[rows]))
        return np.array(slopes)

    def _start_coefficients(
        self, data: SupportVectorData, y: np.ndarray
    ) -> list[np.ndarray] | None:
        """Coefficients of the rows in the last fit, for each pair; None to begin anew."""
        k = len(self.classes_)
        if not (getattr(self, "warm_start", False) and len(getattr(self, "n_support_", ())) == k):
            return None
        places = np.searchsorted(data.numbers, self.support_)
        if (data.numbers[np.minimum(places, len(y) - 1)] != self.support_).any():
            return None  # other rows
        starts = np.zeros((k * (k - 1) // 2, len(y)))
        starts[:, places] = self._pair_coefficients().T
        return list(starts)

    def _learned_attributes(
        self,
        data: SupportVectorData,
        y: np.ndarray,
        parts: list[tuple[np.ndarray, np.ndarray]],
        solutions: list[DualSolution],
        rows: Rows,
    ) -> dict[str, Any]:
        """Learned attributes in the layout of libsvm; of two classes, the second is positive."""
        k = len(self.classes_)
        scaled, intercepts = [], []
        for (positions, beta), solution in zip(parts, solutions, strict=True):
            intercept, factor = self._pair_multipliers(solution)
            scaled.append((positions, factor * beta))
            intercepts.append(factor * intercept)
        support, dual_coef, n_support = dual_table(scaled, y, k)
        sign = -1.0 if k == 2 else 1.0
        numbers = data.numbers[support]
        dual_coef = sign * dual_coef
        return {
            "support_": numbers.astype(np.int32),
            "support_vectors_": self._support_rows(data, numbers),
            "n_support_": n_support,
            "dual_coef_": csr_array(dual_coef) if data.sparse else dual_coef,
            "intercept_": sign * np.array(intercepts),
            **self._report(solutions, rows),
        }

    def _pair_coefficients(self) -> np.ndarray:
        """Coefficients (n_support_vectors, n_pairs), positive for the first class of a pair."""
        sign = -1.0 if len(self.n_support_) == 2 else 1.0
        return sign * pair_coefficients(_dense(self.dual_coef_), self.n_support_)

    def _score_state(self) -> tuple[Any, ...]:
        """State of `support_scores`: scores of all pairs, positive for the first class."""
        V = self._pair_coefficients()
        sign = -1.0 if len(self.n_support_) == 2 else 1.0
        return self._prediction_state(V, sign * self.intercept_)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the rows.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for a precomputed kernel their values with the rows of the fit.

        Returns
        -------
        (n,) array for two classes, positive for the second; for more classes (n, n_classes)
        confidences (``decision_function_shape="ovr"``), or (n, n_pairs) scores ("ovo"), positive
        for the first class of the pairs (0, 1), (0, 2), ...
        """
        check_is_fitted(self)
        k = len(self.classes_)
        if k == 2:
            return -self._map_rows(X, support_scores, *self._score_state())[:, 0]
        if self.decision_function_shape == "ovo":
            return self._map_rows(X, support_scores, *self._score_state())
        return self._map_rows(X, confidences, k, *self._score_state())

    def predict(self, X: Any) -> np.ndarray:
        """The label with the most votes of all pairs of classes, for each row.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for a precomputed kernel their values with the rows of the fit.

        Returns
        -------
        (n,) array of labels; of classes with equally many votes the first, or the one of largest
        confidence if `break_ties`
        """
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        k = len(self.classes_)
        f = confidence_winners if self.break_ties and k > 2 else vote_winners
        return self.classes_[self._map_rows(X, f, k, *self._score_state())]

    @deprecated(_DEPRECATED.format("probA_"))
    @property
    def probA_(self) -> np.ndarray:  # noqa: N802
        """Minus the mean of the two slopes of each pair; empty without probabilities."""
        slopes = getattr(self, "probability_slopes_", np.zeros((0, 2)))
        return -slopes.mean(axis=1)

    @deprecated(_DEPRECATED.format("probB_"))
    @property
    def probB_(self) -> np.ndarray:  # noqa: N802
        """Zeros: a score of zero has the probability one half; empty without probabilities."""
        return np.zeros(len(getattr(self, "probability_slopes_", ())))

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, (n, n_classes); the largest is that of `predict`.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for a precomputed kernel their values with the rows of the fit.
        """
        check_is_fitted(self)
        if not hasattr(self, "probability_slopes_"):
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False"
            )
        state = (len(self.classes_), self.probability_slopes_, bool(self.break_ties))
        return self._map_rows(X, class_probabilities, *state, *self._score_state())

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log-probability of each class, (n, n_classes).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for a precomputed kernel their values with the rows of the fit.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _linear_coef(self) -> Any:
        if len(self.n_support_) == 2:
            return super()._linear_coef()
        coef = pair_coefficients(_dense(self.dual_coef_), self.n_support_).T @ self.support_vectors_
        return csr_array(coef) if hasattr(self.support_vectors_, "tocsr") else coef


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix
