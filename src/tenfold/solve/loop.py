"""One loop for everything that repeats until it stands still."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any, Generic, TypeVar

import numpy as np

from tenfold.rows.watching.watch import end_loop, mark_loop, note, resume_loop

State = TypeVar("State")


class until_still(Generic[State]):  # noqa: N801  reads as a word in `for ... in until_still(...)`
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

    >>> loop = until_still(1.0, tol=1e-12, max_iter=20)
    >>> for x in loop:
    ...     better = (x + 2 / x) / 2
    ...     loop.tell(better, objective=(better**2 - 2) ** 2, change=abs(better - x))
    >>> loop.converged, loop.n_iter, round(loop.state, 6)
    (True, 6, 1.414214)
    """

    def __init__(self, state: State, *, tol: float, max_iter: int) -> None:
        self.state, self.tol, self.max_iter = state, tol, max_iter
        self.n_iter, self.change, self.converged, self.stuck = 0, np.inf, False, False
        self.objectives: list[float] = []
        self.seconds: list[float] = []

    def __iter__(self) -> Iterator[State]:
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

    def tell(self, state: State, *, objective: float, change: float, stuck: bool = False) -> None:
        """Say where the round has led, what it is worth, and how far it moved.

        A round that is `stuck` is the last one, and the loop has not converged.
        """
        self.state, self.change = state, float(change)
        self.n_iter += 1
        self.objectives.append(float(objective))
        self.seconds.append(perf_counter() - self.start)
        self.stuck = stuck
        self.converged = bool(self.change <= self.tol) and not stuck
        note(float(objective))
        mark_loop(self.n_iter, lambda: (state, self.change, self._columns()))

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
