"""Agreement: linear models reach the least objective that any library finds.

Ours runs at its default tolerance first, and at a tight one where that is not enough. Run it alone
as `python -m benchmarks.agreement`, with parts of names if not all are wanted.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from benchmarks.agreement_data import DATA, Labelled
from benchmarks.agreement_limit import LONGEST, Timed, fit_in_time, timed_fit
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
            row, more = compared(problem, data)
            rows.append(row)
            notes += more
            tell("  ".join(row.cells))
    return Table(TITLE, HEADER, rows, list(dict.fromkeys(notes)))


def compared(problem: Problem, data: Labelled) -> tuple[Row, list[str]]:
    """Ours, tightened if need be, against the best peer; and which peers did not take part."""
    reached, notes = peers(problem, data)
    best = min(reached, key=lambda r: r.value, default=Result(np.nan, np.nan, "none"))
    ours = default = result(problem, problem.ours, timed_fit(problem.ours, data), data)
    if excess(default, best) > TARGET:
        tight = problem.ours._replace(params=problem.ours.params | problem.tight)
        ours = result(problem, tight, timed_fit(tight, data), data)
    cells = [problem.data, problem.model, f"{ours.value:.9g}", f"{best.value:.9g}", best.which]
    cells += [f"{excess(ours, best):.1e}", f"{excess(default, best):.1e}"]
    cells += [figure(ours.seconds), figure(best.seconds)]
    verdict = "met" if excess(ours, best) <= TARGET else "missed"
    return Row(cells, verdict if reached else "not compared"), notes


def peers(problem: Problem, data: Labelled) -> tuple[list[Result], list[str]]:
    """What the peers reach that are installed and finish in time, and notes on the others."""
    reached, notes = [], []
    for peer in problem.peers:
        found = None if peer.missing else fit_in_time(peer, data)
        if found:
            reached.append(result(problem, peer, found, data))
        else:
            why = "is not installed" if peer.missing else f"needs over {LONGEST:g} s"
            where = "" if peer.missing else f" on {problem.name}"
            notes.append(f"left out: {peer.library} {why}{where}")
    return reached, notes


def excess(ours: Result, best: Result) -> float:
    return (ours.value - best.value) / abs(best.value)


def result(problem: Problem, fit: Fit, found: Timed, data: Labelled) -> Result:
    factor = 1 / len(data.y) if problem.C is None else problem.C
    solution, seconds = found
    value = objective(solution, data.X, data.y, problem.loss, factor, problem.penalty)
    return Result(value, seconds, fit.library)


def main(words: list[str]) -> None:
    wanted = [n for n in names() if not words or any(w.lower() in n.lower() for w in words)]
    show(run(wanted, quick=False))


if __name__ == "__main__":
    main(sys.argv[1:])
