"""Evaluate candidate models fold by fold, within a time budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from tenfold._compiled.compile_time import time_compilation
from tenfold.automl.candidates import CandidateModel
from tenfold.automl.config import LearnCallbacks
from tenfold.automl.feature_maps import EncodedTable
from tenfold.automl.fold_store import FoldResult, FoldStore
from tenfold.automl.hyperparameter_tuner import TuningProblem, fit_tuned, tune_models
from tenfold.automl.result import Attempt
from tenfold.automl.schema import cells_to_records, encode_cells
from tenfold.automl.target import TargetScale
from tenfold.automl.task_scores import TaskScoring, predict_outputs
from tenfold.engine.interrupts import unwrap_interrupts

_CACHE_BYTES = 2**26  # bytes of encoded folds in memory; beyond it they are encoded again


class EncodedFold(NamedTuple):
    """Encoded rows of one fold.

    Attributes
    ----------
    X, y : training rows, and their standardized target
    held_out, held_out_rows : rows held out, and their indices among the selection rows
    rows : indices of the training rows
    scale : of the target of a regression, else None
    """

    X: Any
    y: np.ndarray
    held_out: Any
    held_out_rows: np.ndarray
    rows: np.ndarray
    scale: TargetScale | None

    @property
    def nbytes(self) -> int:
        """Memory of the encoded rows."""
        return _nbytes(self.X) + _nbytes(self.held_out)

    def unscale(self, predictions: np.ndarray) -> np.ndarray:
        """Predictions of a model in the scale of the target."""
        return predictions if self.scale is None else self.scale.backward(predictions)


class EncodedFolds:
    """The folds of a study; an encoder is fitted on the training rows of each.

    Parameters
    ----------
    cells : ColumnBatch
        The selection rows, without the target.
    y : (n_rows,) array
        Values, or class indices.
    fold : (n_rows,) array
        The fold in which each row is held out.
    encoder : callable
        Returns an unfitted encoder.
    """

    def __init__(
        self, cells: Any, y: np.ndarray, fold: np.ndarray, encoder: Callable[[], Any]
    ) -> None:
        self.cells, self.y, self.fold, self.encoder = cells, y, fold, encoder
        self.k = int(fold.max()) + 1
        self._cache: dict[int, EncodedFold] = {}

    def __getitem__(self, i: int) -> EncodedFold:
        if i not in self._cache:
            fold = self._encode(i)
            if sum(f.nbytes for f in self._cache.values()) + fold.nbytes > _CACHE_BYTES:
                self._cache.clear()
            self._cache[i] = fold
        return self._cache[i]

    def _encode(self, i: int) -> EncodedFold:
        rows, held_out = np.flatnonzero(self.fold != i), np.flatnonzero(self.fold == i)
        train = self.cells.take(rows)
        encoder = self.encoder().fit(cells_to_records(train))
        y = self.y[rows]
        scale = TargetScale.of(y) if y.dtype.kind == "f" else None
        target = y if scale is None else scale.forward(y)
        test = encode_cells(encoder, self.cells.take(held_out))
        return EncodedFold(encode_cells(encoder, train), target, test, held_out, rows, scale)


def assign_folds(y: np.ndarray, k: int, seed: int) -> np.ndarray:
    """The fold of each row: random, and stratified for classes."""
    splitter: Any = KFold if y.dtype.kind == "f" else StratifiedKFold
    fold = np.empty(len(y), np.int8)
    parts = splitter(k, shuffle=True, random_state=seed).split(np.zeros((len(y), 0)), y)
    for i, (_, held_out) in enumerate(parts):
        fold[held_out] = i
    return fold


def _nbytes(X: Any) -> int:
    return X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes


_PILOT_ROWS = (1000, 3000)  # rows of two pilot fits, from which time is extrapolated
_MAX_OVERRUN = 0.25  # fraction of the budget by which a running candidate may exceed it
_MIN_RACED_SHARE = 0.02  # of the budget: a candidate that needs less is not dropped
_DROPPED_DEVIATIONS = 3  # standard deviations of the folds below the best: it cannot win
_OFTEN_BEST = ("ridge", "logistic", "boosting", "kernel_svm", "forest")
_LATE_NOTES = ("skipped: the time is up", "skipped: it would take", "stopped after")
_FIT_ERRORS = (ValueError, ArithmeticError, np.linalg.LinAlgError, MemoryError, TypeError)


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
                    candidate = waiting[0]
                    self.callbacks.candidate_started(candidate, len(attempts), len(candidates))
                    attempts[candidate.key] = self.evaluate(candidate, list(attempts.values()))
                    self.callbacks.candidate_finished(attempts[candidate.key])
                waiting = waiting[1:] or self._late_candidate(candidates, attempts)
            except KeyboardInterrupt:
                if not attempts:
                    raise
                self.callbacks.message("Interrupted: continuing with the finished models.")
                left = (c for c in candidates if c.key not in attempts)
                attempts |= {c.key: self._attempt(c, [], "stopped by hand") for c in left}
                waiting = []
        return [attempts[candidate.key] for candidate in candidates]

    def _late_candidate(
        self, candidates: list[CandidateModel], attempts: dict[str, Attempt]
    ) -> list[CandidateModel]:
        """A candidate that had no time, if none but the baseline has finished."""
        late = [
            c
            for c in candidates
            if c.eligible and (attempts[c.key].note or "").startswith(_LATE_NOTES)
        ]
        if not late or any(a.eligible and key != "baseline" for key, a in attempts.items()):
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
        """Fit all candidates to few rows."""
        fold = self.folds[0]
        self.callbacks.stage(f"Trying all models on {_PILOT_ROWS[-1]:,} rows")
        table = self._encoded_table(fold)
        for candidate in candidates:
            is_done = self.store.find(candidate.key, self.folds.k - 1) is not None
            if is_done or candidate.find_obstacle(table) is not None:
                self.pilots[candidate.key] = Pilot(0.0, np.inf if is_done else -np.inf)
            elif self.budget.left > 0:
                self.pilots[candidate.key] = self._pilot(candidate, fold)
        self.callbacks.stage("Trying models")

    def _run_first_folds(self, candidates: list[CandidateModel]) -> None:
        """Run one fold of all candidates, those that often win first, in half of the time."""
        self.callbacks.stage("Trying all models on one fold")
        table = self._encoded_table(self.folds[0])
        for candidate in sorted(candidates, key=lambda c: c.key not in _OFTEN_BEST):
            key, late = candidate.key, self.budget.left < self.budget.seconds / 2
            if late or candidate.is_reference or candidate.find_obstacle(table) is not None:
                continue
            try:
                result = self.store.find(key, 0) or self._evaluate_fold(candidate, self.folds[0])
            except _FIT_ERRORS:  # `evaluate` will tell
                continue
            self.store.save(key, 0, result)
            self.first_folds[key] = result
            self.pilots[key] = Pilot(result.seconds, result.scores[self.scoring.deciding])
        self.callbacks.stage("Trying models")

    def evaluate(self, candidate: CandidateModel, others: list[Attempt]) -> Attempt:
        """Evaluate a candidate, unless the table does not suit it or the time is up.

        It is dropped after a few folds if it cannot reach the best of the other attempts.
        """
        done: list[FoldResult] = []
        try:
            note = self._find_obstacle(candidate)
            while note is None and len(done) < self.folds.k:
                done.append(self._run_fold(candidate, len(done)))
                note = self._out_of_time(candidate, done) or self._reason_to_drop(
                    candidate, done, others
                )
        except _FIT_ERRORS as error:
            note = f"failed: {error}"
        return self._attempt(candidate, done, note)

    def _find_obstacle(self, candidate: CandidateModel) -> str | None:
        """Why the candidate is skipped, or None; a finished one never is."""
        if self.store.find(candidate.key, self.folds.k - 1) is not None:
            return None
        first = self.folds[0]
        why = candidate.find_obstacle(self._encoded_table(first))
        if why is not None or candidate.key == "baseline" or not self.hurries:
            return why
        if self.budget.left <= 0:
            return "skipped: the time is up"
        pilot = self.pilots.get(candidate.key)
        needed = self.folds.k * (0.0 if pilot is None else pilot.seconds)
        if not self.budget.allows(needed):
            left = max(self.budget.left, 0)
            return f"skipped: it would take about {needed:,.0f} s, and {left:.0f} s are left"
        return None

    def _out_of_time(self, candidate: CandidateModel, done: list[FoldResult]) -> str | None:
        left = self.folds.k - len(done)
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
        left = self.folds.k - len(done)
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

    def _run_fold(self, candidate: CandidateModel, number: int) -> FoldResult:
        known = self.first_folds.get(candidate.key) if number == 0 else None
        result = known or self.store.find(candidate.key, number)
        if result is None:
            result = self._evaluate_fold(candidate, self.folds[number])
            self.store.save(candidate.key, number, result)
        self.callbacks.fold_finished(candidate, number, result.scores[self.scoring.deciding])
        return result

    def _evaluate_fold(self, candidate: CandidateModel, fold: EncodedFold) -> FoldResult:
        with self.budget.clock() as clock:
            configs = candidate.make_configs(self._encoded_table(fold))
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
        except _FIT_ERRORS:  # the fit to all rows will tell
            return Pilot(0.0, -np.inf)
        rate = max(more.seconds - few.seconds, more.seconds / 10) / (large**growth - small**growth)
        return more._replace(seconds=more.seconds + rate * (n**growth - large**growth))

    def _run_pilot(self, candidate: CandidateModel, fold: EncodedFold, rows: int) -> Pilot:
        rng = np.random.default_rng(self.seed)
        sample = np.sort(rng.permutation(fold.X.shape[0])[:rows])
        part = fold._replace(X=fold.X[sample], y=fold.y[sample])
        with self.budget.clock() as clock:
            configs = candidate.make_configs(self._encoded_table(part))
            model = fit_tuned(tune_models(configs, self._problem(part)), part.X, part.y)
        tested = np.sort(rng.permutation(len(fold.held_out_rows))[: _PILOT_ROWS[-1]])
        predictions = fold.unscale(predict_outputs(model, fold.held_out[tested], self.scoring.k))
        truth = self.folds.y[fold.held_out_rows[tested]]
        return Pilot(clock.seconds, self.scoring.score(truth, predictions, self.scoring.tuning))

    def _encoded_table(self, fold: EncodedFold) -> EncodedTable:
        return EncodedTable(fold.X, self.task, self.scoring.k, self.seed, self.n_training)

    def _problem(self, fold: EncodedFold) -> TuningProblem:
        return TuningProblem(fold.X, fold.y, self.scoring.tuning, self.seed)

    def _attempt(
        self, candidate: CandidateModel, done: list[FoldResult], note: str | None
    ) -> Attempt:
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


def _most_frequent_params(params: list[dict[str, Any]]) -> dict[str, Any]:
    """The hyperparameters that most folds chose; the first of equals."""
    if not params:
        return {}
    top, _ = Counter(map(repr, params)).most_common(1)[0]
    return next(p for p in params if repr(p) == top)
