"""Evaluate candidate models fold by fold, within a time budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from tenfold._compiled.compile_time import time_compilation
from tenfold.automl.candidates import CandidateModel
from tenfold.automl.config import LearnCallbacks
from tenfold.automl.encoded_folds import EncodedFold, EncodedFolds
from tenfold.automl.feature_maps import EncodedTable
from tenfold.automl.fold_store import FoldResult, FoldStore
from tenfold.automl.hyperparameter_tuner import TuningProblem, fit_tuned, tune_models
from tenfold.automl.result import Attempt
from tenfold.automl.task_scores import TaskScoring, predict_outputs
from tenfold.engine.interrupts import unwrap_interrupts

_PILOT_ROWS = (1000, 3000)  # rows of two pilot fits, from which time is extrapolated
_MAX_OVERRUN = 0.25  # fraction of the budget by which a running candidate may exceed it
_MIN_RACED_SHARE = 0.02  # of the budget: a candidate that needs less is not dropped
_DROPPED_DEVIATIONS = 3  # standard deviations of the folds below the best: it cannot win
_OFTEN_BEST = ("ridge", "logistic", "boosting", "kernel_svm", "linear_splines", "forest")
_TRIAL_SHARE = 0.3  # of the budget, after which no further candidate is tried on few rows
_SEARCH_SHARE = 0.5  # of the budget, for the search of settings
_LATE_NOTES = ("skipped: the time is up", "skipped: it would take", "stopped after")
FIT_ERRORS = (ValueError, ArithmeticError, np.linalg.LinAlgError, MemoryError, TypeError)


class Pilot(NamedTuple):
    """A fit of a candidate to few rows: estimated seconds of a fold, and held-out score."""

    seconds: float
    score: float


@dataclass
class Clock:
    """Seconds that something took, known at its end."""

    seconds: float = 0.0


class TimeBudget:
    """Time budget of the candidates.

    Parameters
    ----------
    seconds : float
        The budget.
    spent : float
        Time spent before an interruption.
    """

    def __init__(self, seconds: float, spent: float = 0.0) -> None:
        self.seconds, self.start = seconds, perf_counter() - spent

    @contextmanager
    def clock(self) -> Iterator[Clock]:
        """The time of what is done within, without that of compiling, which comes once for all.

        The budget is lengthened by the time of compiling.
        """
        clock, start = Clock(), perf_counter()
        with time_compilation() as compiling:
            try:
                yield clock
            finally:
                elapsed = perf_counter() - start
                compiled = min(compiling.seconds, elapsed)  # threads may compile side by side
                clock.seconds = elapsed - compiled
                self.start += compiled

    @property
    def left(self) -> float:
        """Remaining seconds; when they are over, no candidate starts."""
        return self.seconds - (perf_counter() - self.start)

    def allows(self, seconds: float) -> bool:
        """Whether so much more time may be spent on a running candidate."""
        return seconds <= max(self.left, 0.0) + _MAX_OVERRUN * self.seconds


@dataclass
class CandidateRunner:
    """Evaluates candidates on the folds of a study.

    Attributes
    ----------
    folds : the encoded folds
    task, scoring, seed : of the study
    budget, store, callbacks : time budget, finished folds, progress callbacks
    n_training : rows on which the chosen model will be fitted; those of a fold if it is None
    pilots : fits to few rows, by the keys of candidates
    first_folds : results of the first fold, by the keys of candidates
    races : whether all candidates run one fold before any runs the others
    search : searches settings of the candidates that are done; called once, when its share of the
        budget is left, or all are done
    hurries : whether the budget counts: it does, until it is over and nothing is learned
    """

    folds: EncodedFolds
    task: str
    scoring: TaskScoring
    seed: int
    budget: TimeBudget
    store: FoldStore
    callbacks: LearnCallbacks
    n_training: int | None = None
    pilots: dict[str, Pilot] = field(default_factory=dict)
    first_folds: dict[str, FoldResult] = field(default_factory=dict)
    races: bool = False
    search: Callable[[list[Attempt]], None] | None = None
    hurries: bool = True

    def run(self, candidates: list[CandidateModel]) -> list[Attempt]:
        """Evaluate the candidates; after the baseline, Ctrl-C stops without an error.

        Of many rows, few are tried first, and one fold where candidates race; those that do best
        come first, so that none that would win is left out for want of time.
        """
        attempts: dict[str, Attempt] = {}
        waiting = list(candidates)
        while waiting:
            try:
                with unwrap_interrupts():
                    if len(attempts) == 1:
                        waiting = self._sort_by_promise(waiting)
                    candidate = self._next_candidate(waiting, attempts)
                    self.callbacks.candidate_started(candidate, len(attempts), len(candidates))
                    attempts[candidate.key] = self.evaluate(candidate, list(attempts.values()))
                    self.callbacks.candidate_finished(attempts[candidate.key])
                    waiting.remove(candidate)
                    waiting = waiting or self._late_candidate(candidates, attempts)
                    if not waiting:
                        self._search_once(attempts)
            except KeyboardInterrupt:
                if not attempts:
                    raise
                self.callbacks.message("Interrupted: continuing with the finished models.")
                left = (c for c in candidates if c.key not in attempts)
                attempts |= {c.key: self.make_attempt(c, [], "stopped by hand") for c in left}
                waiting = []
        return [attempts[candidate.key] for candidate in candidates]

    def _next_candidate(
        self, waiting: list[CandidateModel], attempts: dict[str, Attempt]
    ) -> CandidateModel:
        """The first that leaves time for the search of settings; after the search, the first."""
        if self.search is None or not attempts:
            return waiting[0]
        candidate = next(filter(self._leaves_time, waiting), None)
        if candidate is None and _has_model(attempts):
            self._search_once(attempts)
        return candidate or waiting[0]

    def _leaves_time(self, candidate: CandidateModel) -> bool:
        """Whether it was tried and leaves the search its share, unless it will be searched.

        A model for comparison was asked for, so it comes before the search.
        """
        if candidate.is_reference:
            return True
        pilot = self.pilots.get(candidate.key)
        share = _SEARCH_SHARE if candidate.find_ranges is None else 0.0
        left = self.budget.left - share * self.budget.seconds
        return pilot is not None and self.folds.k * pilot.seconds < left

    def _search_once(self, attempts: dict[str, Attempt]) -> None:
        if self.search is not None:
            search, self.search = self.search, None
            search(list(attempts.values()))

    def _needed(self, candidate: CandidateModel) -> float:
        """Seconds of all folds, as far as they are known."""
        pilot = self.pilots.get(candidate.key)
        return self.folds.k * (0.0 if pilot is None else pilot.seconds)

    def _late_candidate(
        self, candidates: list[CandidateModel], attempts: dict[str, Attempt]
    ) -> list[CandidateModel]:
        """A candidate that had no time, if none but the baseline has finished."""
        late = [
            c
            for c in candidates
            if c.eligible and (attempts[c.key].note or "").startswith(_LATE_NOTES)
        ]
        if not late or _has_model(attempts):
            return []
        self.hurries = False
        first = min(late, key=self._order_of_late)
        self.callbacks.message(
            f"The time is up and no model has finished: {first.title} runs nevertheless."
        )
        return [first]

    def _order_of_late(self, candidate: CandidateModel) -> tuple[bool, float]:
        """The best of those that take no longer than the budget first, else the quickest."""
        pilot = self.pilots.get(candidate.key, Pilot(np.inf, -np.inf))
        is_long = self.folds.k * pilot.seconds > self.budget.seconds
        return is_long, pilot.seconds if is_long else -pilot.score

    def _sort_by_promise(self, candidates: list[CandidateModel]) -> list[CandidateModel]:
        """The candidates by their scores on few rows or one fold, the best first.

        Few rows are as they are, unless candidates race.
        """
        if self.folds[0].X.shape[0] >= 2 * _PILOT_ROWS[-1]:
            self._run_pilots(candidates)
        elif self.races:
            self._run_first_folds(candidates)
        else:
            return candidates
        scores = {key: pilot.score for key, pilot in self.pilots.items()}
        return sorted(candidates, key=lambda c: -scores.get(c.key, -np.inf))

    def _run_pilots(self, candidates: list[CandidateModel]) -> None:
        """Fit all candidates to few rows, those that often win first."""
        fold = self.folds[0]
        self.callbacks.stage(f"Trying all models on {_PILOT_ROWS[-1]:,} rows")
        table = self.describe_fold(fold)
        for candidate in sorted(candidates, key=_order_often_best):
            is_done = self.store.find(candidate.key, self.folds.k - 1) is not None
            if is_done or candidate.find_obstacle(table) is not None:
                self.pilots[candidate.key] = Pilot(0.0, np.inf if is_done else -np.inf)
            elif not self._has_tried_enough():
                self.pilots[candidate.key] = self._pilot(candidate, fold)
        self.callbacks.stage("Trying models")

    def _run_first_folds(self, candidates: list[CandidateModel]) -> None:
        """Run one fold of all candidates, those that often win first."""
        self.callbacks.stage("Trying all models on one fold")
        table = self.describe_fold(self.folds[0])
        for candidate in sorted(candidates, key=_order_often_best):
            key, late = candidate.key, self._has_tried_enough()
            if late or candidate.is_reference or candidate.find_obstacle(table) is not None:
                continue
            try:
                result = self.store.find(key, 0) or self._evaluate_fold(candidate, self.folds[0])
            except FIT_ERRORS:  # `evaluate` will tell
                continue
            self.store.save(key, 0, result)
            self.first_folds[key] = result
            self.pilots[key] = Pilot(result.seconds, result.scores[self.scoring.deciding])
        self.callbacks.stage("Trying models")

    def _has_tried_enough(self) -> bool:
        return self.budget.left < (1 - _TRIAL_SHARE) * self.budget.seconds

    def evaluate(self, candidate: CandidateModel, others: list[Attempt]) -> Attempt:
        """Evaluate a candidate, unless the table does not suit it or the time is up.

        It is dropped after a few folds if it cannot reach the best of the other attempts.
        """
        done: list[FoldResult] = []
        try:
            note = self._find_obstacle(candidate)
            while note is None and len(done) < self.folds.k:
                done.append(self.run_fold(candidate, len(done)))
                score = done[-1].scores[self.scoring.deciding]
                self.callbacks.fold_finished(candidate, len(done) - 1, score)
                note = self._out_of_time(candidate, done) or self._reason_to_drop(
                    candidate, done, others
                )
        except FIT_ERRORS as error:
            note = f"failed: {error}"
        return self.make_attempt(candidate, done, note)

    def _find_obstacle(self, candidate: CandidateModel) -> str | None:
        """Why the candidate is skipped, or None; a finished one never is."""
        if self.store.find(candidate.key, self.folds.k - 1) is not None:
            return None
        first = self.folds[0]
        why = candidate.find_obstacle(self.describe_fold(first))
        if why is not None or candidate.key == "baseline" or not self.hurries:
            return why
        if self.budget.left <= 0:
            return "skipped: the time is up"
        needed = self._needed(candidate)
        if not self.budget.allows(needed):
            left = max(self.budget.left, 0)
            return f"skipped: it would take about {needed:,.0f} s, and {left:.0f} s are left"
        return None

    def _open_folds(self, candidate: CandidateModel, done: list[FoldResult]) -> int:
        """How many folds are to be run yet; those that a resumed study has stored cost no time."""
        waiting = range(len(done), self.folds.k)
        return sum(self.store.find(candidate.key, number) is None for number in waiting)

    def _out_of_time(self, candidate: CandidateModel, done: list[FoldResult]) -> str | None:
        left = self._open_folds(candidate, done)
        needed = left * float(np.mean([result.seconds for result in done]))
        is_free = candidate.key == "baseline" or not self.hurries
        if left == 0 or is_free or self.budget.allows(needed):
            return None
        return f"stopped after {len(done)} of {self.folds.k} folds: the time was up"

    def _reason_to_drop(
        self, candidate: CandidateModel, done: list[FoldResult], others: list[Attempt]
    ) -> str | None:
        """Why the remaining folds would be time wasted, or None."""
        finished = [a for a in others if a.eligible and len(a.scores) == self.folds.k]
        left = self._open_folds(candidate, done)
        if len(done) < 2 or left == 0 or candidate.is_reference or not finished:
            return None
        needed = left * float(np.mean([result.seconds for result in done]))
        if needed < _MIN_RACED_SHARE * self.budget.seconds:
            return None
        best = max(finished, key=lambda attempt: attempt.mean)
        scores = np.array([result.scores[self.scoring.deciding] for result in done])
        behind = float(np.mean(best.scores[: len(done)] - scores))
        if behind <= _DROPPED_DEVIATIONS * float(np.std(best.scores, ddof=1)):
            return None
        return f"dropped after {len(done)} of {self.folds.k} folds: far behind {best.title}"

    def run_fold(self, candidate: CandidateModel, number: int) -> FoldResult:
        """Evaluate a candidate on one fold, unless that is done already."""
        known = self.first_folds.get(candidate.key) if number == 0 else None
        result = known or self.store.find(candidate.key, number)
        if result is None:
            result = self._evaluate_fold(candidate, self.folds[number])
            self.store.save(candidate.key, number, result)
        return result

    def _evaluate_fold(self, candidate: CandidateModel, fold: EncodedFold) -> FoldResult:
        with self.budget.clock() as clock:
            configs = candidate.make_configs(self.describe_fold(fold))
            tuned = tune_models(configs, self._problem(fold))
            model = fit_tuned(tuned, fold.X, fold.y)
            predictions = fold.unscale(predict_outputs(model, fold.held_out, self.scoring.k))
            train_predictions = fold.unscale(predict_outputs(model, fold.X, self.scoring.k))
        y = self.folds.y
        return FoldResult(
            self.scoring.scores(y[fold.held_out_rows], predictions),
            self.scoring.score(y[fold.rows], train_predictions),
            tuned.description,
            clock.seconds,
            predictions,
        )

    def _pilot(self, candidate: CandidateModel, fold: EncodedFold) -> Pilot:
        """Time of a fold, extrapolated from fits to few rows, and the score of the larger one."""
        n, growth = fold.X.shape[0], candidate.growth
        small, large = _PILOT_ROWS
        try:
            few = self._run_pilot(candidate, fold, small)
            if not self.budget.allows(self.folds.k * few.seconds):
                return few._replace(seconds=few.seconds * (n / small) ** growth)
            more = self._run_pilot(candidate, fold, large)
        except FIT_ERRORS:  # the fit to all rows will tell
            return Pilot(0.0, -np.inf)
        rate = max(more.seconds - few.seconds, more.seconds / 10) / (large**growth - small**growth)
        return more._replace(seconds=more.seconds + rate * (n**growth - large**growth))

    def _run_pilot(self, candidate: CandidateModel, fold: EncodedFold, rows: int) -> Pilot:
        rng = np.random.default_rng(self.seed)
        sample = np.sort(rng.permutation(fold.X.shape[0])[:rows])
        part = fold._replace(X=fold.X[sample], y=fold.y[sample])
        with self.budget.clock() as clock:
            configs = candidate.make_configs(self.describe_fold(part))
            model = fit_tuned(tune_models(configs, self._problem(part)), part.X, part.y)
        tested = np.sort(rng.permutation(len(fold.held_out_rows))[: _PILOT_ROWS[-1]])
        predictions = fold.unscale(predict_outputs(model, fold.held_out[tested], self.scoring.k))
        truth = self.folds.y[fold.held_out_rows[tested]]
        return Pilot(clock.seconds, self.scoring.score(truth, predictions, self.scoring.tuning))

    def describe_fold(self, fold: EncodedFold) -> EncodedTable:
        """Properties of the training rows of a fold."""
        return EncodedTable(fold.X, self.task, self.scoring.k, self.seed, self.n_training)

    def _problem(self, fold: EncodedFold) -> TuningProblem:
        return TuningProblem(fold.X, fold.y, self.scoring.tuning, self.seed)

    def make_attempt(
        self, candidate: CandidateModel, done: list[FoldResult], note: str | None
    ) -> Attempt:
        """The attempt of a candidate with these folds; a note says why they are not all."""
        names = self.scoring.names
        others = {name: np.array([result.scores[name] for result in done]) for name in names}
        return Attempt(
            key=candidate.key,
            title=candidate.title,
            params=_most_frequent_params([result.params for result in done]),
            scores=others[self.scoring.deciding],
            others=others,
            train=np.array([result.train for result in done]),
            seconds=sum(result.seconds for result in done),
            eligible=candidate.eligible and note is None,
            simplicity=candidate.simplicity,
            note=note,
            predictions=None if note else self._out_of_fold(done),
            fold_params=[result.params for result in done],
            is_reference=candidate.is_reference,
        )

    def _out_of_fold(self, done: list[FoldResult]) -> np.ndarray:
        """Predictions of all folds in the order of the selection rows."""
        order = np.argsort(np.concatenate([np.flatnonzero(self.folds.fold == i)
                                           for i in range(self.folds.k)]))  # fmt: skip
        return np.concatenate([result.predictions for result in done])[order]


def _has_model(attempts: dict[str, Attempt]) -> bool:
    """Whether a candidate beside the baseline has finished."""
    return any(attempt.eligible and key != "baseline" for key, attempt in attempts.items())


def _order_often_best(candidate: CandidateModel) -> int:
    key = candidate.key
    return _OFTEN_BEST.index(key) if key in _OFTEN_BEST else len(_OFTEN_BEST)


def _most_frequent_params(params: list[dict[str, Any]]) -> dict[str, Any]:
    """The hyperparameters that most folds chose; the first of equals."""
    if not params:
        return {}
    top, _ = Counter(map(repr, params)).most_common(1)[0]
    return next(p for p in params if repr(p) == top)
