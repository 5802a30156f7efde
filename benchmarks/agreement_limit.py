"""A peer that would take too long is stopped: it fits in a process of its own."""

from __future__ import annotations

import multiprocessing
import warnings
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any

from benchmarks.agreement_data import Labelled
from benchmarks.agreement_objectives import Solution
from benchmarks.agreement_problems import Fit

LONGEST = 90.0  # seconds, from the start of the process

Timed = tuple[Solution, float]


def timed_fit(fit: Fit, data: Labelled) -> Timed:
    """What a model learns, and in how many seconds."""
    begin = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that rounds ran out: the objective tells
        found = fit.run(data.X, data.y)
    return found, perf_counter() - begin


def fit_in_time(fit: Fit, data: Labelled) -> Timed | None:
    """The same in another process; None if it takes longer than `LONGEST`."""
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    process = spawn.Process(target=_answer, args=(there, fit, data), daemon=True)
    process.start()
    there.close()
    try:
        return _received(here, fit) if here.poll(LONGEST) else None
    finally:
        process.kill()
        process.join()


def _answer(there: Connection, fit: Fit, data: Labelled) -> None:
    there.send(timed_fit(fit, data))


def _received(here: Connection, fit: Fit) -> Any:
    try:
        return here.recv()
    except EOFError:
        raise RuntimeError(f"{fit.name} failed: its error is above") from None
