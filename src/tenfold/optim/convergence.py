"""The loop of every iterative solver, the result it returns, and the detection of divergence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from tenfold.engine.hooks import end_loop, record_loop_state, report_objective, resume_loop

LoopState = TypeVar("LoopState")


class until_converged(Generic[LoopState]):  # noqa: N801  reads as a word in `for ... in until_still(...)`
    """Yield the state until it stops changing; the body tells the next one.

    Parameters
    ----------
    state : number, array, or (named) tuple, list or dict of them
        Where the loop starts. It must hold all that a round needs: a checkpoint keeps it.
    tol : float
        The loop has converged when the change that the body tells is at most this.
    max_iter : int
        Most rounds.

    Attributes
    ----------
    state : the newest state
    n_iter : rounds done
    converged : whether the last change was at most `tol`
    history : dict with the arrays "objective" and "seconds", one entry a round

    Examples
    --------
    Newton's square root of two:

    >>> loop = until_converged(1.0, tol=1e-12, max_iter=20)
    >>> for x in loop:
    ...     better = (x + 2 / x) / 2
    ...     loop.tell(better, objective=(better**2 - 2) ** 2, change=abs(better - x))
    >>> loop.converged, loop.n_iter, round(loop.state, 6)
    (True, 6, 1.414214)
    """

    def __init__(self, state: LoopState, *, tol: float, max_iter: int) -> None:
        self.state, self.tol, self.max_iter = state, tol, max_iter
        self.n_iter, self.change, self.converged, self.stuck = 0, np.inf, False, False
        self.objectives: list[float] = []
        self.seconds: list[float] = []

    def __iter__(self) -> Iterator[LoopState]:
        self._resume()
        self.start = perf_counter()
        try:
            while self.n_iter < self.max_iter and not (self.converged or self.stuck):
                before = self.n_iter
                yield self.state
                if self.n_iter == before:
                    raise RuntimeError("the body of an until_still loop must call tell()")
        finally:
            end_loop()

    def update(
        self, state: LoopState, *, objective: float, change: float, stuck: bool = False
    ) -> None:
        """Say where the round has led, what it is worth, and how far it moved.

        A round that is `stuck` is the last one, and the loop has not converged.
        """
        self.state, self.change = state, float(change)
        self.n_iter += 1
        self.objectives.append(float(objective))
        self.seconds.append(perf_counter() - self.start)
        self.stuck = stuck
        self.converged = bool(self.change <= self.tol) and not stuck
        report_objective(float(objective))
        record_loop_state(self.n_iter, lambda: (state, self.change, self._columns()))

    @property
    def history(self) -> dict[str, np.ndarray]:
        return {"objective": np.array(self.objectives), "seconds": np.array(self.seconds)}

    @property
    def report(self) -> dict[str, Any]:
        """The learned attributes that every iterative model has."""
        return {"n_iter_": self.n_iter, "converged_": self.converged, "history_": self.history}

    def _columns(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array(self.objectives), np.array(self.seconds)

    def _resume(self) -> None:
        done, kept = resume_loop((self.state, self.change, self._columns()))
        if done:
            self.n_iter, (self.state, self.change, columns) = done, kept
            self.objectives, self.seconds = (list(column) for column in columns)
            self.converged = bool(self.change <= self.tol)


ValueAndGradient = Callable[[np.ndarray], tuple[float, np.ndarray]]

_POWER_ITERATIONS = 30  # of power iteration
_DIVERGED_GRADIENT_RATIO = 1e8  # times the first slope: no descent comes back from there


class DivergenceError(ArithmeticError):
    """Descent ran away.

    Attributes
    ----------
    rate : a constant rate that works around the start, 1 / (largest curvature there)
    """

    def __init__(self, message: str, rate: float) -> None:
        super().__init__(message)
        self.rate = rate


def largest_curvature(f: ValueAndGradient, x: np.ndarray) -> float:
    """Largest curvature of a smooth function at a point, from slopes alone.

    Power iteration on the Hessian, whose products with a vector are differences of slopes.

    Parameters
    ----------
    f : callable
        Returns (value, slope) at a flat point.
    x : array
        Where.

    Returns
    -------
    float
        Absolute value of the largest eigenvalue of the Hessian (from below, nearly).

    Examples
    --------
    >>> import numpy as np
    >>> A = np.diag([1.0, 5.0])
    >>> round(largest_curvature(lambda x: (x @ A @ x / 2, A @ x), np.ones(2)), 4)
    5.0
    """
    slope = f(x)[1]
    reach = np.sqrt(np.finfo(float).eps) * max(1.0, float(np.linalg.norm(x)))
    v, curvature = np.random.default_rng(0).normal(size=x.shape), 0.0
    for _ in range(_POWER_ITERATIONS):
        v = v / np.linalg.norm(v)
        v = (f(x + reach * v)[1] - slope) / reach
        curvature = float(np.linalg.norm(v))
        if not 0 < curvature < np.inf:
            break
    return curvature


def has_diverged(value: float, slope: np.ndarray, first: float) -> bool:
    """Whether a value is no number, or the slope out of all proportion to its `first` length."""
    return not (
        np.isfinite(value)
        and np.linalg.norm(slope) <= _DIVERGED_GRADIENT_RATIO * max(first, 1e-300)
    )


def suggest_learning_rate(f: ValueAndGradient, start: np.ndarray) -> tuple[float, str]:
    """A rate for descent from `start`, and a sentence that says so."""
    curvature = largest_curvature(f, start)
    if not 0 < curvature < np.inf:
        return np.nan, "Try a smaller rate, or let backtracking find it."
    rate = 1 / curvature
    return rate, (
        f"The largest curvature at the start is {curvature:.4g}, so rates below {2 * rate:.4g} "
        f"converge there: try rate={rate:.4g}, or let backtracking find it."
    )


class Minimum(NamedTuple):
    """Where a solver stopped: the point, its value and slope, and the report of the loop."""

    x: np.ndarray
    value: float
    slope: np.ndarray
    report: dict[str, Any]
