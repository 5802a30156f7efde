"""Evaluate candidate models fold by fold, within a time budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from tenfold.automl.candidates import CandidateModel
from tenfold.automl.config import LearnCallbacks
from tenfold.automl.feature_maps import EncodedTable
from tenfold.automl.fold_store import FoldResult, FoldStore
from tenfold.automl.result import Attempt
from tenfold.automl.schema import cells_to_records, encode_cells
from tenfold.automl.target import TargetScale
from tenfold.automl.task_scores import TaskScoring, predict_outputs
from tenfold.automl.tuner import TuningProblem, fit_tuned, tune_models

_CACHE_BYTES = 2**26  # encoded folds that are kept; beyond it they are encoded anew when needed


class EncodedFold(NamedTuple):
    """Encoded rows of one fold.

    Attributes
    ----------
    X, y : rows to learn from, and the target as models see it
    held, held_rows : rows to be judged by, and their numbers among the choosing rows
    rows : numbers of the rows to learn from
    scale : of the target of a regression, else None
    """

    X: Any
    y: np.ndarray
    held: Any
    held_rows: np.ndarray
    rows: np.ndarray
    scale: TargetScale | None

    @property
    def nbytes(self) -> int:
        """Memory of the encoded rows."""
        return _nbytes(self.X) + _nbytes(self.held)

    def seen(self, said: np.ndarray) -> np.ndarray:
        """Predictions of a model as people see them."""
        return said if self.scale is None else self.scale.backward(said)


class EncodedFolds:
    """The folds of a study; an encoder learns from the training rows of each.

    Parameters
    ----------
    cells : Cells
        The choosing rows, without the target.
    y : (n,) array
        Values, or class numbers.
    fold : (n,) array
        The fold in which each row is held out.
    encoder : callable
        Makes an unfitted encoder.
    """

    def __init__(
        self, cells: Any, y: np.ndarray, fold: np.ndarray, encoder: Callable[[], Any]
    ) -> None:
        self.cells, self.y, self.fold, self.encoder = cells, y, fold, encoder
        self.k = int(fold.max()) + 1
        self._kept: dict[int, EncodedFold] = {}

    def __getitem__(self, i: int) -> EncodedFold:
        if i not in self._kept:
            made = self._encoded(i)
            if sum(each.nbytes for each in self._kept.values()) + made.nbytes > _CACHE_BYTES:
                self._kept.clear()
            self._kept[i] = made
        return self._kept[i]

    def _encoded(self, i: int) -> EncodedFold:
        rows, held = np.flatnonzero(self.fold != i), np.flatnonzero(self.fold == i)
        learn = self.cells.take(rows)
        encoder = self.encoder().fit(cells_to_records(learn))
        y = self.y[rows]
        scale = TargetScale.of(y) if y.dtype.kind == "f" else None
        target = y if scale is None else scale.forward(y)
        judge = encode_cells(encoder, self.cells.take(held))
        return EncodedFold(encode_cells(encoder, learn), target, judge, held, rows, scale)


def assign_folds(y: np.ndarray, k: int, seed: int) -> np.ndarray:
    """The fold of each row: at random, and stratified for classes."""
    splitter: Any = KFold if y.dtype.kind == "f" else StratifiedKFold
    fold = np.empty(len(y), np.int8)
    parts = splitter(k, shuffle=True, random_state=seed).split(np.zeros((len(y), 0)), y)
    for i, (_, held) in enumerate(parts):
        fold[held] = i
    return fold


def _nbytes(X: Any) -> int:
    return X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes


_PILOT_ROWS = (1000, 3000)  # rows of the trials that tell how time grows
_MAX_OVERRUN = 0.25  # share of the budget by which a rung under way may exceed it
_FIT_ERRORS = (ValueError, ArithmeticError, np.linalg.LinAlgError, MemoryError, TypeError)


class TimeBudget:
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
        return seconds <= max(self.left, 0.0) + _MAX_OVERRUN * self.seconds


@dataclass
class CandidateRunner:
    """All that a rung needs to be judged.

    Attributes
    ----------
    folds : the encoded folds
    task, scoring, seed : of the study
    budget, journal, watch : time; what is finished; who looks on
    """

    folds: EncodedFolds
    task: str
    scoring: TaskScoring
    seed: int
    budget: TimeBudget
    journal: FoldStore
    watch: LearnCallbacks

    def run(self, rungs: list[CandidateModel]) -> list[Attempt]:
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

    def attempt(self, rung: CandidateModel) -> Attempt:
        """Judge one rung, unless the table does not suit it or time is up."""
        done: list[FoldResult] = []
        try:
            note = self._obstacle(rung)
            while note is None and len(done) < self.folds.k:
                done.append(self._fold(rung, len(done)))
                note = self._out_of_time(rung, done)
        except _FIT_ERRORS as problem:
            note = f"failed: {problem}"
        return self._attempt(rung, done, note)

    def _obstacle(self, rung: CandidateModel) -> str | None:
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

    def _out_of_time(self, rung: CandidateModel, done: list[FoldResult]) -> str | None:
        left = self.folds.k - len(done)
        needed = left * float(np.mean([result.seconds for result in done]))
        if left == 0 or rung.key == "baseline" or self.budget.allows(needed):
            return None
        return f"stopped after {len(done)} of {self.folds.k} folds: the time was up"

    def _fold(self, rung: CandidateModel, number: int) -> FoldResult:
        result = self.journal.find(rung.key, number)
        if result is None:
            result = self._judged(rung, self.folds[number])
            self.journal.keep(rung.key, number, result)
        self.watch.fold_done(rung, number, result.scores[self.scoring.deciding])
        return result

    def _judged(self, rung: CandidateModel, fold: EncodedFold) -> FoldResult:
        start = perf_counter()
        choice = tune_models(rung.make(self._facts(fold)), self._problem(fold))
        model = fit_tuned(choice, fold.X, fold.y)
        said = fold.seen(predict_outputs(model, fold.held, self.scoring.k))
        own = fold.seen(predict_outputs(model, fold.X, self.scoring.k))
        y = self.folds.y
        return FoldResult(
            self.scoring.scores(y[fold.held_rows], said),
            self.scoring.score(y[fold.rows], own),
            choice.said,
            perf_counter() - start,
            said,
        )

    def _estimate(self, rung: CandidateModel, fold: EncodedFold) -> float:
        """Seconds of a fold, from two trials on few rows; 0 if all rows are few."""
        n = fold.X.shape[0]
        if n < 2 * _PILOT_ROWS[-1]:
            return 0.0
        few = self._timed(rung, fold, _PILOT_ROWS[0])
        if not self.budget.allows(self.folds.k * few):
            return few * (n / _PILOT_ROWS[0]) ** rung.growth
        more = self._timed(rung, fold, _PILOT_ROWS[1])
        slope = max(more - few, more / 10) / (
            _PILOT_ROWS[1] ** rung.growth - _PILOT_ROWS[0] ** rung.growth
        )
        return more + slope * (n**rung.growth - _PILOT_ROWS[1] ** rung.growth)

    def _timed(self, rung: CandidateModel, fold: EncodedFold, rows: int) -> float:
        some = np.sort(np.random.default_rng(self.seed).permutation(fold.X.shape[0])[:rows])
        part = fold._replace(X=fold.X[some], y=fold.y[some])
        start = perf_counter()
        fit_tuned(tune_models(rung.make(self._facts(part)), self._problem(part)), part.X, part.y)
        return perf_counter() - start

    def _facts(self, fold: EncodedFold) -> EncodedTable:
        return EncodedTable(fold.X, self.task, self.scoring.k, self.seed)

    def _problem(self, fold: EncodedFold) -> TuningProblem:
        return TuningProblem(fold.X, fold.y, self.scoring.tuning, self.seed)

    def _attempt(self, rung: CandidateModel, done: list[FoldResult], note: str | None) -> Attempt:
        names = self.scoring.names
        others = {name: np.array([result.scores[name] for result in done]) for name in names}
        return Attempt(
            key=rung.key,
            title=rung.title,
            params=_most_frequent_params([result.params for result in done]),
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


def _most_frequent_params(params: list[dict[str, Any]]) -> dict[str, Any]:
    """The settings that most folds chose; the first of equals."""
    if not params:
        return {}
    most, _ = Counter(map(repr, params)).most_common(1)[0]
    return next(each for each in params if repr(each) == most)
