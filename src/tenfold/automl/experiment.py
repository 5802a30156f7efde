"""From a table to an evaluated model: `tenfold.learn`."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from tenfold.automl import diagnostics, final_model
from tenfold.automl.candidates import CandidateModel, select_candidates
from tenfold.automl.config import LearnCallbacks, LearnConfig
from tenfold.automl.final_model import fit_final, make_table_model
from tenfold.automl.fold_store import FoldStore, fingerprint_table
from tenfold.automl.preparation import PreparedTable, prepare_table, sample_rows
from tenfold.automl.result import Attempt, HoldoutEvaluation, Study
from tenfold.automl.runner import CandidateRunner, EncodedFolds, TimeBudget, assign_folds
from tenfold.automl.table_model import TableModel
from tenfold.automl.target import iterate_cells
from tenfold.automl.task_scores import evaluate_predictions
from tenfold.io.table_opener import open_table


def run_supervised(records: Any, asked: LearnConfig, watch: LearnCallbacks) -> Study:
    """Learn to predict the target."""
    start = perf_counter()
    ready = prepare_table(records, asked, watch)
    data = ready.data
    ladder = select_candidates(
        ready.target.task, asked.models
    )  # a name that is none is told at once
    fold = assign_folds(data.choosing_y, asked.folds, asked.seed)
    about = asked.what_folds_depend_on() | {"data": fingerprint_table(records)}
    journal = FoldStore(asked.journal, about, resume=asked.resume)
    watch.stage("Trying models")
    folds = EncodedFolds(data.cells, data.choosing_y, fold, ready.encoder)
    attempts = _run_candidates(ready, asked, folds, journal, watch, ladder)
    best, chosen = _choose_model(attempts, ready, watch)
    model = _fit_chosen(ready, chosen, asked, watch)
    watch.stage("Opening the sealed test")
    test = _evaluate_test(model, ready, asked.seed)
    model.scores_ = _summarize_scores(ready.scoring.deciding, attempts, chosen, test)
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
        test_rows=sample_rows(records, ready.split.test, asked.seed),
        train_rows=sample_rows(records, ready.split.train, asked.seed),
        choosing_y=data.choosing_y,
        choosing_fold=fold,
        warnings=[],
        model=model,
        seconds=0.0,
        settings=asked.settings(),
    )
    watch.stage("Looking for leaks and duplicates")
    result.warnings = _collect_findings(ready, result)
    result.seconds = perf_counter() - start
    save_study(result, journal, asked)
    return result


def _run_candidates(
    ready: PreparedTable,
    asked: LearnConfig,
    folds: EncodedFolds,
    journal: FoldStore,
    watch: LearnCallbacks,
    ladder: list[CandidateModel],
) -> list[Attempt]:
    budget = TimeBudget(60 * asked.minutes, journal.spent)
    task = ready.target.task
    return CandidateRunner(folds, task, ready.scoring, asked.seed, budget, journal, watch).run(
        ladder
    )


def _choose_model(
    attempts: list[Attempt], ready: PreparedTable, watch: LearnCallbacks
) -> tuple[Attempt, Attempt]:
    """The best, and the simplest near it."""
    best = final_model.best_attempt(attempts)
    chosen = final_model.simplest_within_one_se(attempts, best)
    watch.said(final_model.explain_choice(best, chosen, ready.scoring.deciding))
    return best, chosen


def _fit_chosen(
    ready: PreparedTable, chosen: Attempt, asked: LearnConfig, watch: LearnCallbacks
) -> Any:
    watch.stage(f"Fitting {chosen.title} on all {len(ready.data.y):,} rows to learn from")
    task, seed = ready.target.task, asked.seed
    [rung] = [rung for rung in select_candidates(task) if rung.key == chosen.key]
    done = fit_final(rung, ready.data, task, ready.scoring, ready.encoder(), seed)
    chosen.params = done.params
    model: Any = make_table_model(done, chosen, ready.target, ready.kinds, ready.data.choosing_y)
    model.styles_ = dict(ready.records.styles)
    return model


def _evaluate_test(model: TableModel, ready: PreparedTable, seed: int) -> HoldoutEvaluation:
    """Predict all sealed rows, some at a time, once."""
    sealed = ready.split.test
    said = np.concatenate(
        [model.predict_cells(each) for each in iterate_cells(ready.table.pick(sealed))]
    )
    return evaluate_predictions(ready.target.y[sealed], said, ready.scoring, seed)


def _summarize_scores(
    metric: str, attempts: list[Attempt], chosen: Attempt, test: HoldoutEvaluation
) -> dict[str, Any]:
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


def _collect_findings(ready: PreparedTable, result: Study) -> list[Any]:
    data, seed = ready.data, result.seed
    learned = ready.records.take(ready.split.choosing).X
    return [
        *diagnostics.check_leakage(
            data.cells, data.choosing_y, ready.scoring.k, ready.target.name, seed
        ),
        *diagnostics.check_result(result),
        *diagnostics.check_duplicates(learned, result.test_rows),
        *ready.found,
    ]


def save_study(result: Study, journal: FoldStore, asked: LearnConfig) -> None:
    """Write what was found; the journal stays while there is something to go on with."""
    if asked.output is None:
        return
    result.save(asked.output)
    if not any(attempt.resumable for attempt in result.attempts):
        journal.remove()


def learn(
    data: Any,
    target: str | None = None,
    *,
    task: str | None = None,
    kinds: dict[str, str] | None = None,
    drop: Any = (),
    metric: str | None = None,
    folds: int = 5,
    test_share: float = 0.2,
    minutes: float = 2.0,
    models: list[str] | None = None,
    seed: int = 0,
    output: Any = None,
    resume: bool = False,
    watch: Any = None,
) -> Study:
    """Try models on a table, choose one honestly, and judge it once on rows it never saw.

    A part of the rows is sealed. On the rest a ladder of models, from a baseline to kernel
    features, is judged by cross-validation; encoding and settings are learned within each fold. The
    simplest model within one standard error of the best is fitted on all rows to learn from, and
    the sealed part says how good it is. [000, 1.4; 002, ch. 3]

    Parameters
    ----------
    data : path, DataFrame, dict of columns, list of dicts, or records
        The table: CSV, Parquet, Arrow, JSON lines or Excel files, of any size.
    target : str, optional
        The column to be predicted. Without one, groups of rows are looked for.
    task : {"regression", "two-class", "multi-class", "classification", "clusters"}, optional
        What to learn; inferred from the target by default.
    kinds : dict, name -> kind, optional
        "number", "category", "text", "date" or "identifier", for columns that are judged wrongly.
    drop : list of str
        Columns to leave out.
    metric : str, optional
        The deciding score. By default R² for regression, accuracy for classes, and the area under
        the ROC curve if the larger of two classes has more than 80 % of the rows.
    folds : int
        Of the cross-validation.
    test_share : float
        Share of the rows that is sealed, 200,000 rows at most.
    minutes : float
        Time for the ladder; simple models come first, and the baseline always runs.
    models : list of str, optional
        Keys of the models to try, such as "ridge"; all that suit by default.
    seed : int
        The same seed, data and settings give the same result, time permitting.
    output : path, optional
        A folder for `model.tenfold` and `metrics.json`; while the study runs it also keeps a
        journal of what is finished.
    resume : bool
        Whether to go on with the journal in `output`.
    watch : object, optional
        Whose methods `stage(text)`, `said(text)`, `rung_begins(rung, number, of)`,
        `fold_done(rung, fold, score)` and `rung_done(attempt)` are called, if it has them.

    Returns
    -------
    Study

    Examples
    --------
    >>> import tenfold
    >>> from sklearn.datasets import load_iris
    >>> table = load_iris(as_frame=True).frame
    >>> study = tenfold.learn(table, "target", models=["lda", "naive_bayes"])
    >>> study.task, study.chosen.title
    ('multi-class', 'Naive Bayes')
    >>> study.test.scores["accuracy"] > 0.85
    True
    """
    asked = LearnConfig.of(
        target=target,
        task=task,
        kinds=kinds,
        drop=drop,
        metric=metric,
        folds=folds,
        test_share=test_share,
        minutes=minutes,
        models=models,
        seed=seed,
        output=output,
        resume=resume,
    )
    seen = LearnCallbacks(watch)
    seen.stage("Reading the table")
    records = open_table(data, target=target)
    for name in asked.drop:
        records.assert_column(name)
    if target in asked.drop:
        raise ValueError(f"{target!r} is the target and cannot be dropped")
    records = records.select([name for name in records.names if name not in asked.drop])
    if target is None:
        pass
    else:
        pass
    return run_supervised(records, asked, seen)
