"""Agreement: linear models reach the least objective that any library finds.

Ours runs at its default tolerance first, and at a tight one where that is not enough. Run it alone
as `python -m benchmarks.agreement`, with parts of names if not all are wanted.
"""

from __future__ import annotations

import sys
import warnings
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.agreement_data import DATA, Labelled
from benchmarks.agreement_objectives import objective
from benchmarks.agreement_problems import Fit, Problem, problems
from benchmarks.report import Row, Table, figure, show, tell

TITLE = "Agreement"
HEADER = ["data set", "model", "ours", "best peer", "which", "difference", "at default tol"]
HEADER += ["ours (s)", "peer (s)"]
TARGET = 1e-6
QUICK_ROWS = 1000


class Result(NamedTuple):
    """What a library reached, and how long it took."""

    value: float
    seconds: float
    which: str


def names() -> list[str]:
    return [problem.name for problem in problems()]


def run(wanted: list[str], *, quick: bool) -> Table:
    chosen = [problem for problem in problems() if problem.name in wanted]
    rows, notes = [], [f"difference: (ours - best peer) / |best peer|; the target is {TARGET:g}"]
    notes.append("ours is tightened to tol=1e-8 where the default tolerance misses the target")
    notes.append(
        "one function evaluates all coefficients in float64; peers run at tight tolerances"
    )
    for name in dict.fromkeys(problem.data for problem in chosen):
        data = DATA[name]().part(QUICK_ROWS) if quick else DATA[name]()
        for problem in (p for p in chosen if p.data == name):
            tell(problem.name)
            notes += [f"left out: {peer.library} is not installed" for peer in absent(problem)]
            rows.append(compared(problem, data))
            tell("  ".join(rows[-1].cells))
    return Table(TITLE, HEADER, rows, list(dict.fromkeys(notes)))


def absent(problem: Problem) -> list[Fit]:
    return [peer for peer in problem.peers if peer.missing]


def compared(problem: Problem, data: Labelled) -> Row:
    """Ours, tightened if need be, against the best peer."""
    reached = [result(problem, peer, data) for peer in problem.peers if not peer.missing]
    best = min(reached, key=lambda r: r.value, default=Result(np.nan, np.nan, "none"))
    ours = default = result(problem, problem.ours, data)
    if excess(default, best) > TARGET:
        tight = problem.ours._replace(params=problem.ours.params | problem.tight)
        ours = result(problem, tight, data)
    cells = [problem.data, problem.model, f"{ours.value:.9g}", f"{best.value:.9g}", best.which]
    cells += [f"{excess(ours, best):.1e}", f"{excess(default, best):.1e}"]
    cells += [figure(ours.seconds), figure(best.seconds)]
    verdict = "met" if excess(ours, best) <= TARGET else "missed"
    return Row(cells, verdict if reached else "")


def excess(ours: Result, best: Result) -> float:
    return (ours.value - best.value) / abs(best.value)


def result(problem: Problem, fit: Fit, data: Labelled) -> Result:
    begin = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that rounds ran out: the objective tells
        found = fit.run(data.X, data.y)
    seconds = perf_counter() - begin
    factor = 1 / len(data.y) if problem.C is None else problem.C
    value = objective(found, data.X, data.y, problem.loss, factor, problem.penalty)
    return Result(value, seconds, fit.library)


def main(words: list[str]) -> Any:
    wanted = [n for n in names() if not words or any(w.lower() in n.lower() for w in words)]
    show(run(wanted, quick=False))


if __name__ == "__main__":
    main(sys.argv[1:])
