r"""Empirical risk minimization: the average cost of imitating a reference on a sample.

.. math:: \min_{M \in H} \; E_{x \sim p} \, \Delta(M^*(x), M(x)) + \lambda C(M)
          \;\approx\; \frac1N \sum_n \Delta(M^*(x_n), M(x_n)) + \lambda C(M) + \epsilon

The reference :math:`M^*`, such as an expert, is expensive and evaluated once per example;
:math:`\Delta` is the cost of an error and :math:`C` that of running a model. The error of the
empirical risk decreases as :math:`1 / \sqrt N`.

Reference: V. Vapnik (1991), Principles of risk minimization for learning theory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

Predictor = Any  # a fitted model, or a function of rows
CostSpec = str | np.ndarray | Callable[[np.ndarray, np.ndarray], np.ndarray]
_COSTS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "zero_one": lambda y, answer: (y != answer).astype(float),
    "squared": lambda y, answer: (y - answer) ** 2,
    "absolute": lambda y, answer: np.abs(y - answer),
}


class MemoizedOracle:
    """A reference function that is evaluated once per example.

    Parameters
    ----------
    machine : callable
        Function of rows X, such as an expert or a simulation.

    Attributes
    ----------
    asked : int
        Number of examples that were evaluated.

    Examples
    --------
    >>> import numpy as np
    >>> reference = MemoizedOracle(lambda X: X.sum(axis=1))
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    >>> reference(X).tolist(), reference(X[:2]).tolist(), reference.asked
    ([3.0, 7.0, 3.0], [3.0, 7.0], 2)
    """

    def __init__(self, machine: Callable[[np.ndarray], np.ndarray]) -> None:
        self.machine = machine
        self._answers: dict[bytes, Any] = {}

    @property
    def asked(self) -> int:
        """Number of examples that were evaluated."""
        return len(self._answers)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        X = np.ascontiguousarray(X)  # also of lists
        names = [row.tobytes() for row in X]
        new = {name: i for i, name in enumerate(names) if name not in self._answers}
        if new:
            self._answers.update(zip(new, self.machine(X[list(new.values())]), strict=True))
        return np.array([self._answers[name] for name in names])


def per_example_cost(cost: CostSpec, y: Any, answers: Any, classes: Any = None) -> np.ndarray:
    """Cost of each prediction.

    Parameters
    ----------
    cost : {"zero_one", "squared", "absolute"}, matrix or callable
        A matrix has a row for each true class and a column for each predicted class.
    y, answers : (n,) arrays
        Target, and predictions.
    classes : sequence, optional
        Label of each row and column of a matrix. By default 0 to k - 1; for other labels, such as
        -1 and +1 or words, those that occur, in ascending order, if there are k of them.

    Examples
    --------
    A false alarm costs 10, a missed case 100:

    >>> per_example_cost([[0, 10], [100, 0]], [0, 0, 1, 1], [0, 1, 0, 1]).tolist()
    [0.0, 10.0, 100.0, 0.0]
    >>> per_example_cost([[0, 10], [100, 0]], [-1, -1, 1, 1], [-1, 1, -1, 1]).tolist()
    [0.0, 10.0, 100.0, 0.0]
    """
    y, answers = np.asarray(y), np.asarray(answers)
    if callable(cost):
        return np.asarray(cost(y, answers), float)
    if not isinstance(cost, str):
        matrix = np.asarray(cost, float)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"a cost matrix must be square, got the shape {matrix.shape}")
        labels = _matrix_labels(y, answers, len(matrix), classes)
        return matrix[_label_places(y, labels), _label_places(answers, labels)]
    if cost not in _COSTS:
        raise ValueError(
            f"cost={cost!r}: choose one of {list(_COSTS)}, or give a matrix or a function"
        )
    return _COSTS[cost](y, answers)


def _matrix_labels(y: np.ndarray, answers: np.ndarray, k: int, classes: Any) -> np.ndarray:
    """The label of each row of a cost matrix."""
    if classes is not None:
        labels = np.asarray(classes)
        if labels.shape != (k,) or len(np.unique(labels)) < k:
            raise ValueError(f"classes must be {k} different labels, one for each row of the cost")
        return labels
    present = np.union1d(y, answers)
    if present.dtype.kind in "biuf" and np.isin(present, np.arange(k)).all():
        return np.arange(k)
    if present.dtype.kind in "if" and k == 2 and np.isin(present, [-1, 1]).all():
        return np.array([-1, 1])
    if len(present) != k:
        raise ValueError(
            f"the cost has {k} rows and the labels are {present.tolist()[:10]}: name the label of "
            "each row by classes="
        )
    return present


def _label_places(y: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The place of each entry of y among the labels."""
    order = labels.argsort()
    places = order[np.minimum(np.searchsorted(labels, y, sorter=order), len(labels) - 1)]
    unknown = labels[places] != y
    if unknown.any():
        raise ValueError(f"label {y[unknown][0]!r} is none of classes={labels.tolist()}")
    return places


def empirical_risk(
    machine: Predictor,
    X: Any,
    y: Any,
    *,
    cost: CostSpec = "zero_one",
    classes: Any = None,
    weights: Any = None,
    complexity: Callable[[Predictor], float] | None = None,
    strength: float = 0.0,
) -> float:
    r"""Mean cost of a model on examples, :math:`\sum_n p_n \Delta_n + \lambda C(M)`.

    Parameters
    ----------
    machine : fitted model or callable
        The model.
    X, y : arrays of n rows
        Examples, and their target.
    cost : str, matrix or callable
        As in `per_example_cost`.
    classes : sequence, optional
        Label of each row and column of a matrix of costs, as in `per_example_cost`.
    weights : (n,) array, optional
        Weights of the examples, such as probabilities; equal by default.
    complexity : callable, optional
        C, the cost of running the model.
    strength : float
        Its factor, lambda.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.arange(4.0)[:, None], np.array([0, 0, 1, 1])
    >>> empirical_risk(lambda X: (X[:, 0] > 0.5).astype(int), X, y)
    0.25
    """
    each = per_example_cost(cost, y, _predict(machine, X), classes)
    extra = strength * complexity(machine) if complexity else 0.0
    return float(np.average(each, weights=weights)) + extra


def expected_risk(
    machine: Predictor,
    reference: Callable[[np.ndarray], np.ndarray],
    inputs: Any,
    *,
    rows: int = 100_000,
    seed: int = 0,
    **options: Any,
) -> float:
    """Expected cost of a model: exact for finitely many inputs, else by simulation.

    Parameters
    ----------
    machine : fitted model or callable
        The model.
    reference : callable
        The reference function.
    inputs : pair of arrays, or callable
        All inputs and their probabilities, or ``draw(n, rng)``.
    rows : int
        Number of simulated inputs.
    seed : int
        Seed of the simulation.
    **options
        As in `empirical_risk`.

    Examples
    --------
    >>> import numpy as np
    >>> X, p = np.array([[0.0], [1.0]]), np.array([0.9, 0.1])
    >>> expected_risk(lambda X: np.zeros(len(X)), lambda X: X[:, 0], (X, p))
    0.1
    """
    if callable(inputs):
        X, p = _draw_inputs(inputs, rows, np.random.default_rng(seed)), None
    else:
        X, p = map(np.asarray, inputs)
    return empirical_risk(machine, X, reference(X), weights=p, **options)


def minimize_empirical_risk(
    machines: Iterable[Predictor], X: Any, y: Any, **options: Any
) -> Predictor:
    """The model of least empirical risk among finitely many; the first of equally good ones.

    Parameters
    ----------
    machines : iterable
        Fitted models or callables.
    X, y : arrays of n rows
        Examples, and their target.
    **options
        As in `empirical_risk`.
    """
    return min(machines, key=lambda machine: empirical_risk(machine, X, y, **options))


def empirical_risk_experiment(
    machine: Predictor,
    reference: Callable[[np.ndarray], np.ndarray],
    inputs: Any,
    sizes: Sequence[int],
    *,
    repeats: int = 200,
    seed: int = 0,
    **options: Any,
) -> np.ndarray:
    r"""Empirical risk of growing samples: its deviation decreases as :math:`1 / \sqrt N`.

    Parameters
    ----------
    machine, reference, inputs
        As in `expected_risk`.
    sizes : sequence of int
        Numbers of examples, N.
    repeats : int
        Number of samples of each size.
    seed : int
        Seed of the samples.
    **options
        As in `empirical_risk`.

    Returns
    -------
    (sizes, repeats) array
        The standard deviation of a row is that of one cost over the square root of N.
    """
    rng = np.random.default_rng(seed)
    draws = ([_draw_inputs(inputs, n, rng) for _ in range(repeats)] for n in sizes)
    return np.array(
        [[empirical_risk(machine, X, reference(X), **options) for X in each] for each in draws]
    )


def _draw_inputs(inputs: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    """Random inputs."""
    if callable(inputs):
        return np.asarray(inputs(n, rng))
    X, p = map(np.asarray, inputs)
    return X[rng.choice(len(X), n, p=p)]


def _predict(machine: Predictor, X: Any) -> np.ndarray:
    """Predictions of a fitted model or a function."""
    return np.asarray(machine.predict(X) if hasattr(machine, "predict") else machine(X))
