"""A study with a target: climb the ladder, choose, fit, open the sealed test."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from tenfold.rows.cells import Cells
from tenfold.study import choosing, findings
from tenfold.study.asked import Asked
from tenfold.study.climbing import Budget, Climb
from tenfold.study.encoded_folds import EncodedFolds, fold_numbers
from tenfold.study.finishing import finished, table_model
from tenfold.study.journal import Journal, fingerprint
from tenfold.study.ladder import Rung, rungs
from tenfold.study.preparing import Prepared, prepared
from tenfold.study.result import Attempt, Judged, Study
from tenfold.study.table_model import TableModel
from tenfold.study.targets import walk
from tenfold.study.verdict import judged
from tenfold.study.watching import Watch

SHOWN_ROWS = 5_000


def study(records: Any, asked: Asked, watch: Watch) -> Study:
    """Learn to predict the target."""
    start = perf_counter()
    ready = prepared(records, asked, watch)
    data = ready.data
    ladder = rungs(ready.target.task, asked.models)  # a name that is none is told at once
    fold = fold_numbers(data.choosing_y, asked.folds, asked.seed)
    about = asked.what_folds_depend_on() | {"data": fingerprint(records)}
    journal = Journal(asked.journal, about, resume=asked.resume)
    watch.stage("Trying models")
    folds = EncodedFolds(data.cells, data.choosing_y, fold, ready.encoder)
    attempts = _climbed(ready, asked, folds, journal, watch, ladder)
    best, chosen = _chosen(attempts, ready, watch)
    model = _fitted(ready, chosen, asked, watch)
    watch.stage("Opening the sealed test")
    test = _test(model, ready, asked.seed)
    model.scores_ = _scores(ready.scoring.deciding, attempts, chosen, test)
    result = Study(
        shown=records.shown,
        n_rows=records.n_rows,
        kinds=ready.kinds,
        notes=list(records.notes),
        said=watch.sentences,
        target=ready.target.name,
        task=ready.target.task,
        classes=ready.target.classes,
        metric=ready.scoring.deciding,
        folds=asked.folds,
        seed=asked.seed,
        n_train=len(ready.split.train),
        n_test=len(ready.split.test),
        n_choosing=len(ready.split.choosing),
        attempts=attempts,
        best=best,
        chosen=chosen,
        test=test,
        test_rows=some_rows(records, ready.split.test, asked.seed),
        train_rows=some_rows(records, ready.split.train, asked.seed),
        choosing_y=data.choosing_y,
        choosing_fold=fold,
        warnings=[],
        model=model,
        seconds=0.0,
        settings=asked.settings(),
    )
    watch.stage("Looking for leaks and duplicates")
    result.warnings = _findings(ready, result)
    result.seconds = perf_counter() - start
    close(result, journal, asked)
    return result


def _climbed(
    ready: Prepared,
    asked: Asked,
    folds: EncodedFolds,
    journal: Journal,
    watch: Watch,
    ladder: list[Rung],
) -> list[Attempt]:
    budget = Budget(60 * asked.minutes, journal.spent)
    task = ready.target.task
    return Climb(folds, task, ready.scoring, asked.seed, budget, journal, watch).run(ladder)


def _chosen(attempts: list[Attempt], ready: Prepared, watch: Watch) -> tuple[Attempt, Attempt]:
    """The best, and the simplest near it."""
    best = choosing.best_of(attempts)
    chosen = choosing.simplest_near(attempts, best)
    watch.said(choosing.in_words(best, chosen, ready.scoring.deciding))
    return best, chosen


def _fitted(ready: Prepared, chosen: Attempt, asked: Asked, watch: Watch) -> Any:
    watch.stage(f"Fitting {chosen.title} on all {len(ready.data.y):,} rows to learn from")
    task, seed = ready.target.task, asked.seed
    [rung] = [rung for rung in rungs(task) if rung.key == chosen.key]
    done = finished(rung, ready.data, task, ready.scoring, ready.encoder(), seed)
    chosen.params = done.params
    model: Any = table_model(done, chosen, ready.target, ready.kinds, ready.data.choosing_y)
    model.styles_ = dict(ready.records.styles)
    return model


def _test(model: TableModel, ready: Prepared, seed: int) -> Judged:
    """Predict all sealed rows, some at a time, once."""
    sealed = ready.split.test
    said = np.concatenate([model.predict_cells(each) for each in walk(ready.table.pick(sealed))])
    return judged(ready.target.y[sealed], said, ready.scoring, seed)


def _scores(metric: str, attempts: list[Attempt], chosen: Attempt, test: Judged) -> dict[str, Any]:
    """What a model knows of its own quality."""
    at = chosen.interval()
    baseline = next(each for each in attempts if each.key == "baseline")
    return {
        "metric": metric,
        "folds": {"mean": at.value, "low": at.low, "high": at.high, "baseline": baseline.mean},
        "test": {name: float(score) for name, score in test.scores.items()},
        "test_intervals": {name: list(ends) for name, ends in test.intervals.items()},
        "test_rows": len(test.y),
    }


def _findings(ready: Prepared, result: Study) -> list[Any]:
    data, seed = ready.data, result.seed
    learned = ready.records.take(ready.split.choosing).X
    return [
        *findings.of_leaks(data.cells, data.choosing_y, ready.scoring.k, ready.target.name, seed),
        *findings.of_result(result),
        *findings.of_duplicates(learned, result.test_rows),
        *ready.found,
    ]


def some_rows(records: Any, rows: np.ndarray, seed: int) -> Cells:
    """At most 5,000 of the rows, drawn at random."""
    drawn = np.random.default_rng(seed).permutation(len(rows))[:SHOWN_ROWS]
    return records.take(rows[np.sort(drawn)]).X


def close(result: Study, journal: Journal, asked: Asked) -> None:
    """Write what was found; the journal stays while there is something to go on with."""
    if asked.output is None:
        return
    result.save(asked.output)
    if not any(attempt.resumable for attempt in result.attempts):
        journal.remove()
