"""Climb the ladder: judge every rung fold by fold, within a budget of time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from tenfold.study.encoded_folds import EncodedFold, EncodedFolds
from tenfold.study.facts import Facts
from tenfold.study.journal import FoldResult, Journal
from tenfold.study.ladder import Rung
from tenfold.study.result import Attempt
from tenfold.study.scoring import Scoring, predictions_of
from tenfold.study.tuning import Problem, fitted, tuned
from tenfold.study.watching import Watch

PILOTS = (1000, 3000)  # rows of the trials that tell how time grows
OVERRUN = 0.25  # share of the budget by which a rung under way may exceed it
FAILURES = (ValueError, ArithmeticError, np.linalg.LinAlgError, MemoryError, TypeError)


class Budget:
    """Time for the ladder.

    Parameters
    ----------
    seconds : float
        All of it.
    spent : float
        What was spent before an interruption.
    """

    def __init__(self, seconds: float, spent: float = 0.0) -> None:
        self.seconds, self.start = seconds, perf_counter() - spent

    @property
    def left(self) -> float:
        """Seconds until no rung begins."""
        return self.seconds - (perf_counter() - self.start)

    def allows(self, seconds: float) -> bool:
        """Whether so much more may be spent on a rung under way."""
        return seconds <= max(self.left, 0.0) + OVERRUN * self.seconds


@dataclass
class Climb:
    """All that a rung needs to be judged.

    Attributes
    ----------
    folds : the encoded folds
    task, scoring, seed : of the study
    budget, journal, watch : time; what is finished; who looks on
    """

    folds: EncodedFolds
    task: str
    scoring: Scoring
    seed: int
    budget: Budget
    journal: Journal
    watch: Watch

    def run(self, rungs: list[Rung]) -> list[Attempt]:
        """Judge the rungs, one after the other; Ctrl-C stops after the baseline was judged."""
        attempts: list[Attempt] = []
        for number, rung in enumerate(rungs):
            try:
                self.watch.rung_begins(rung, number, len(rungs))
                attempts.append(self.attempt(rung))
                self.watch.rung_done(attempts[-1])
            except KeyboardInterrupt:
                if not attempts:
                    raise
                self.watch.said("Stopped: going on with the models that are done.")
                left = rungs[len(attempts) :]
                return attempts + [self._attempt(each, [], "stopped by hand") for each in left]
        return attempts

    def attempt(self, rung: Rung) -> Attempt:
        """Judge one rung, unless the table does not suit it or time is up."""
        done: list[FoldResult] = []
        try:
            note = self._obstacle(rung)
            while note is None and len(done) < self.folds.k:
                done.append(self._fold(rung, len(done)))
                note = self._out_of_time(rung, done)
        except FAILURES as problem:
            note = f"failed: {problem}"
        return self._attempt(rung, done, note)

    def _obstacle(self, rung: Rung) -> str | None:
        """Why the rung is not tried, or None; what is finished is never in the way."""
        if self.journal.find(rung.key, self.folds.k - 1) is not None:
            return None
        first = self.folds[0]
        facts = self._facts(first)
        if (why := rung.unfit(facts)) is not None or rung.key == "baseline":
            return why
        if self.budget.left <= 0:
            return "skipped: the time is up"
        needed = self.folds.k * self._estimate(rung, first)
        if not self.budget.allows(needed):
            left = max(self.budget.left, 0)
            return f"skipped: it would take about {needed:,.0f} s, and {left:.0f} s are left"
        return None

    def _out_of_time(self, rung: Rung, done: list[FoldResult]) -> str | None:
        left = self.folds.k - len(done)
        needed = left * float(np.mean([result.seconds for result in done]))
        if left == 0 or rung.key == "baseline" or self.budget.allows(needed):
            return None
        return f"stopped after {len(done)} of {self.folds.k} folds: the time was up"

    def _fold(self, rung: Rung, number: int) -> FoldResult:
        result = self.journal.find(rung.key, number)
        if result is None:
            result = self._judged(rung, self.folds[number])
            self.journal.keep(rung.key, number, result)
        self.watch.fold_done(rung, number, result.scores[self.scoring.deciding])
        return result

    def _judged(self, rung: Rung, fold: EncodedFold) -> FoldResult:
        start = perf_counter()
        choice = tuned(rung.make(self._facts(fold)), self._problem(fold))
        model = fitted(choice, fold.X, fold.y)
        said = fold.seen(predictions_of(model, fold.held, self.scoring.k))
        own = fold.seen(predictions_of(model, fold.X, self.scoring.k))
        y = self.folds.y
        return FoldResult(
            self.scoring.scores(y[fold.held_rows], said),
            self.scoring.score(y[fold.rows], own),
            choice.said,
            perf_counter() - start,
            said,
        )

    def _estimate(self, rung: Rung, fold: EncodedFold) -> float:
        """Seconds of a fold, from two trials on few rows; 0 if all rows are few."""
        n = fold.X.shape[0]
        if n < 2 * PILOTS[-1]:
            return 0.0
        few = self._timed(rung, fold, PILOTS[0])
        if not self.budget.allows(self.folds.k * few):
            return few * (n / PILOTS[0]) ** rung.growth
        more = self._timed(rung, fold, PILOTS[1])
        slope = max(more - few, more / 10) / (PILOTS[1] ** rung.growth - PILOTS[0] ** rung.growth)
        return more + slope * (n**rung.growth - PILOTS[1] ** rung.growth)

    def _timed(self, rung: Rung, fold: EncodedFold, rows: int) -> float:
        some = np.sort(np.random.default_rng(self.seed).permutation(fold.X.shape[0])[:rows])
        part = fold._replace(X=fold.X[some], y=fold.y[some])
        start = perf_counter()
        fitted(tuned(rung.make(self._facts(part)), self._problem(part)), part.X, part.y)
        return perf_counter() - start

    def _facts(self, fold: EncodedFold) -> Facts:
        return Facts(fold.X, self.task, self.scoring.k, self.seed)

    def _problem(self, fold: EncodedFold) -> Problem:
        return Problem(fold.X, fold.y, self.scoring.tuning, self.seed)

    def _attempt(self, rung: Rung, done: list[FoldResult], note: str | None) -> Attempt:
        names = self.scoring.names
        others = {name: np.array([result.scores[name] for result in done]) for name in names}
        return Attempt(
            key=rung.key,
            title=rung.title,
            params=_usual([result.params for result in done]),
            scores=others[self.scoring.deciding],
            others=others,
            train=np.array([result.train for result in done]),
            seconds=sum(result.seconds for result in done),
            eligible=rung.eligible and note is None,
            simplicity=rung.simplicity,
            note=note,
            predictions=None if note else self._together(done),
            fold_params=[result.params for result in done],
            yardstick=rung.yardstick,
        )

    def _together(self, done: list[FoldResult]) -> np.ndarray:
        """Predictions of all folds in the order of the choosing rows."""
        order = np.argsort(np.concatenate([np.flatnonzero(self.folds.fold == i)
                                           for i in range(self.folds.k)]))  # fmt: skip
        return np.concatenate([result.predictions for result in done])[order]


def _usual(params: list[dict[str, Any]]) -> dict[str, Any]:
    """The settings that most folds chose; the first of equals."""
    if not params:
        return {}
    most, _ = Counter(map(repr, params)).most_common(1)[0]
    return next(each for each in params if repr(each) == most)
