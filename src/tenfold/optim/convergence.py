"""The loop of every iterative solver, the result it returns, and the detection of divergence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from tenfold.engine.hooks import end_loop, record_loop_state, report_objective, resume_loop

ValueAndGradient = Callable[[np.ndarray], tuple[float, np.ndarray]]
LoopState = TypeVar("LoopState")

_POWER_ITERATIONS = 30
_DIVERGED_GRADIENT_RATIO = 1e8  # of the gradient norm to the initial one: diverged


class Minimum(NamedTuple):
    """The result of a minimizer.

    Attributes
    ----------
    x : array of shape (n_params,)
        The last point.
    value : float
        Objective there.
    gradient : array of shape (n_params,)
        Gradient there.
    report : dict
        With ``n_iter_``, ``converged_`` and ``history_``.
    """

    x: np.ndarray
    value: float
    gradient: np.ndarray
    report: dict[str, Any]


class until_converged(Generic[LoopState]):  # noqa: N801  reads as a word in a `for` statement
    """Iterate until convergence: yield the state; the body of the loop calls `update`.

    Keeps the history, reports progress and saves checkpoints.

    Parameters
    ----------
    state : number, array, or (named) tuple, list or dict of them
        Initial state. It must hold all that an iteration needs, because a checkpoint saves it.
    tol : float
        Converged when the change passed to `update` is at most this.
    max_iter : int
        Maximum number of iterations.

    Attributes
    ----------
    state : the latest state
    n_iter : number of iterations done
    converged : whether the last change was at most `tol`
    history : dict with the arrays "objective" and "seconds", one entry per iteration

    Examples
    --------
    The square root of two by Newton's method:

    >>> loop = until_converged(1.0, tol=1e-12, max_iter=20)
    >>> for x in loop:
    ...     better = (x + 2 / x) / 2
    ...     loop.update(better, objective=(better**2 - 2) ** 2, change=abs(better - x))
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
                    raise RuntimeError("the body of an until_converged loop must call update()")
        finally:
            end_loop()

    def update(
        self, state: LoopState, *, objective: float, change: float, stuck: bool = False
    ) -> None:
        """Set the next state, its objective, and the change that `tol` is compared with.

        An iteration that is `stuck` is the last one, and the loop has not converged.
        """
        self.state, self.change = state, float(change)
        self.n_iter += 1
        self.objectives.append(float(objective))
        self.seconds.append(perf_counter() - self.start)
        self.stuck = stuck
        self.converged = bool(self.change <= self.tol) and not stuck
        report_objective(float(objective))
        record_loop_state(self.n_iter, lambda: (state, self.change, self._history_columns()))

    @property
    def history(self) -> dict[str, np.ndarray]:
        return {"objective": np.array(self.objectives), "seconds": np.array(self.seconds)}

    @property
    def report(self) -> dict[str, Any]:
        """The fitted attributes that all iterative models share."""
        return {"n_iter_": self.n_iter, "converged_": self.converged, "history_": self.history}

    def _history_columns(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array(self.objectives), np.array(self.seconds)

    def _resume(self) -> None:
        done, saved = resume_loop((self.state, self.change, self._history_columns()))
        if done:
            self.n_iter, (self.state, self.change, columns) = done, saved
            self.objectives, self.seconds = (list(column) for column in columns)
            self.converged = bool(self.change <= self.tol)


class DivergenceError(ArithmeticError):
    """Gradient descent diverged.

    Attributes
    ----------
    rate : a learning rate that converges near the initial point, 1 / (largest curvature there)
    """

    def __init__(self, message: str, rate: float) -> None:
        super().__init__(message)
        self.rate = rate


def largest_curvature(f: ValueAndGradient, x: np.ndarray) -> float:
    """Largest curvature of a smooth function at a point, from gradients alone.

    Power iteration on the Hessian; Hessian-vector products are differences of gradients. Gradient
    descent with the learning rate eta multiplies the error along an eigenvector of curvature c by
    1 - eta c, so it converges near a minimum if eta < 2 / (largest curvature).

    Parameters
    ----------
    f : callable
        Returns (value, gradient) at a flat point.
    x : array of shape (n_params,)
        The point.

    Returns
    -------
    float
        Largest absolute eigenvalue of the Hessian (up to rounding, a lower bound).

    Examples
    --------
    >>> import numpy as np
    >>> A = np.diag([1.0, 5.0])
    >>> round(largest_curvature(lambda x: (x @ A @ x / 2, A @ x), np.ones(2)), 4)
    5.0
    """
    gradient = f(x)[1]
    step = np.sqrt(np.finfo(float).eps) * max(1.0, float(np.linalg.norm(x)))
    v, curvature = np.random.default_rng(0).normal(size=x.shape), 0.0
    for _ in range(_POWER_ITERATIONS):
        v = v / np.linalg.norm(v)
        v = (f(x + step * v)[1] - gradient) / step
        curvature = float(np.linalg.norm(v))
        if not 0 < curvature < np.inf:
            break
    return curvature


def has_diverged(value: float, gradient: np.ndarray, initial_norm: float) -> bool:
    """Whether the value is not finite, or the gradient far longer than the initial one."""
    return not (
        np.isfinite(value)
        and np.linalg.norm(gradient) <= _DIVERGED_GRADIENT_RATIO * max(initial_norm, 1e-300)
    )


def as_point(x0: Any) -> Any:
    """A starting point given as a list, or as whole numbers, in floating-point numbers.

    Examples
    --------
    >>> as_point([1, 2])
    array([1., 2.])
    """
    if isinstance(x0, list | tuple):
        x0 = np.asarray(x0)
    is_whole = isinstance(x0, np.ndarray) and x0.dtype.kind in "iub"
    return x0.astype(np.float64) if is_whole else x0


def suggest_learning_rate(f: ValueAndGradient, x0: np.ndarray) -> tuple[float, str]:
    """A learning rate for gradient descent from `x0`, and a sentence that recommends it."""
    curvature = largest_curvature(f, x0)
    if not 0 < curvature < np.inf:
        return np.nan, "Try a smaller learning rate, or 'backtracking'."
    rate = 1 / curvature
    return rate, (
        f"The largest curvature at the initial point is {curvature:.4g}, so rates below "
        f"{2 * rate:.4g} converge there: try the learning rate {rate:.4g}, or 'backtracking'."
    )
