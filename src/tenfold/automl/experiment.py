"""From a table to an evaluated model: `tenfold.learn`."""

from __future__ import annotations

from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from tenfold.automl import diagnostics, final_model
from tenfold.automl.candidate_runner import CandidateRunner, TimeBudget
from tenfold.automl.candidates import CandidateModel, select_candidates
from tenfold.automl.clusters import run_clustering
from tenfold.automl.config import LearnCallbacks, LearnConfig
from tenfold.automl.encoded_folds import EncodedFolds, assign_folds
from tenfold.automl.ensemble_selection import KEY as ENSEMBLE
from tenfold.automl.ensemble_selection import evaluate_ensemble
from tenfold.automl.final_model import combine_fits, fit_final, make_table_model
from tenfold.automl.fold_store import FoldStore
from tenfold.automl.hyperparameter_search import (
    HyperparameterSearch,
    run_searches,
    start_searches,
    start_with_defaults,
)
from tenfold.automl.preparation import PreparedTable, prepare_table, sample_rows
from tenfold.automl.recommender_study import is_rating_table, run_recommenders
from tenfold.automl.result import Attempt, HoldoutEvaluation, Study
from tenfold.automl.table_model import TableModel
from tenfold.automl.target import iterate_cells
from tenfold.automl.task_scores import evaluate_predictions
from tenfold.io.table_opener import open_table


def run_supervised(records: Any, config: LearnConfig, callbacks: LearnCallbacks) -> Study:
    """Study of a table with a target."""
    start = perf_counter()
    prepared = prepare_table(records, config, callbacks)
    data = prepared.data
    task = prepared.target.task
    candidates = select_candidates(task, config.models, yardstick=config.yardstick)
    if config.prefer == "best":
        candidates = [start_with_defaults(candidate) for candidate in candidates]
    fold = assign_folds(data.choosing_y, config.folds, config.seed)
    store = FoldStore(config.journal, config.fold_settings(), records, resume=config.resume)
    callbacks.stage("Trying models")
    folds = EncodedFolds(data.cells, data.choosing_y, fold, prepared.encoder)
    found = _run_candidates(prepared, config, folds, store, callbacks, candidates)
    attempts = found.attempts
    if config.models is None or ENSEMBLE in config.models:
        attempts += _try_ensemble(attempts + found.members, prepared, fold, config, callbacks)
    best, chosen = _choose_model(attempts, prepared, config, callbacks)
    model = _fit_chosen(prepared, chosen, config, callbacks, found.candidates)
    callbacks.stage("Evaluating on the test rows")
    test = _evaluate_test(model, prepared, config.seed)
    model.scores_ = _summarize_scores(prepared.scoring.deciding, attempts, chosen, test)
    result = Study(
        **_describe_table(records, prepared, config),
        said=callbacks.messages,
        attempts=attempts,
        best=best,
        chosen=chosen,
        test=test,
        choosing_fold=fold,
        warnings=[],
        model=model,
        seconds=0.0,
    )
    callbacks.stage("Looking for leaks and duplicates")
    result.warnings = _collect_findings(prepared, result)
    result.seconds = perf_counter() - start
    save_study(result, store, config)
    return result


def _describe_table(records: Any, prepared: PreparedTable, config: LearnConfig) -> dict[str, Any]:
    """What a study says about its table, target, split and settings."""
    split = prepared.split
    return dict(
        shown=records.shown,
        n_rows=records.n_rows,
        kinds=prepared.kinds,
        notes=list(records.notes),
        target=prepared.target.name,
        task=prepared.target.task,
        classes=prepared.target.classes,
        metric=prepared.scoring.deciding,
        folds=config.folds,
        seed=config.seed,
        n_train=len(split.train),
        n_test=len(split.test),
        n_choosing=len(split.choosing),
        test_rows=sample_rows(records, split.test, config.seed),
        train_rows=sample_rows(records, split.train, config.seed),
        choosing_y=prepared.data.choosing_y,
        settings=config.settings(),
    )


class Trials(NamedTuple):
    """What was evaluated on the folds.

    Attributes
    ----------
    attempts : of the candidates, each with the best settings that were found
    members : further settings, which an ensemble may use
    candidates : of all these, with their settings
    """

    attempts: list[Attempt]
    members: list[Attempt]
    candidates: list[CandidateModel]


def _run_candidates(
    prepared: PreparedTable,
    config: LearnConfig,
    folds: EncodedFolds,
    store: FoldStore,
    callbacks: LearnCallbacks,
    candidates: list[CandidateModel],
) -> Trials:
    """Evaluate the candidates, and search settings where the best model is preferred."""
    budget = TimeBudget(60 * config.minutes, store.spent)
    settings = (prepared.target.task, prepared.scoring, config.seed)
    n = len(prepared.data.y)
    runner = CandidateRunner(folds, *settings, budget, store, callbacks, n)
    runner.races = config.prefer == "best"
    found: list[HyperparameterSearch] = []

    def search(attempts: list[Attempt]) -> None:
        found.extend(start_searches(runner, candidates, attempts))
        run_searches(runner, found)

    runner.search = search if config.prefer == "best" else None
    attempts = runner.run(candidates)
    searches = {each.candidate.key: each for each in found}
    members = [pair for each in found for pair in each.members]
    tuned = [searches[c.key].tuned_candidate if c.key in searches else c for c in candidates]
    return Trials(
        [searches[a.key].attempt if a.key in searches else a for a in attempts],
        [attempt for _, attempt in members],
        tuned + [candidate for candidate, _ in members],
    )


def _try_ensemble(
    attempts: list[Attempt],
    prepared: PreparedTable,
    fold: np.ndarray,
    config: LearnConfig,
    callbacks: LearnCallbacks,
) -> list[Attempt]:
    """The ensemble of the finished candidates, if there are two."""
    y = prepared.data.choosing_y
    found = evaluate_ensemble(attempts, prepared.scoring, y, fold, config.seed)
    if found is None:
        return []
    callbacks.candidate_finished(found)
    return [found]


def _choose_model(
    attempts: list[Attempt], prepared: PreparedTable, config: LearnConfig, callbacks: LearnCallbacks
) -> tuple[Attempt, Attempt]:
    """The best model, and the one that is chosen by what the user prefers."""
    best = final_model.best_attempt(attempts)
    chosen = best
    if config.prefer == "simple":
        chosen = final_model.simplest_within_one_se(attempts, best)
    callbacks.message(final_model.explain_choice(best, chosen, prepared.scoring.deciding))
    return best, chosen


def _fit_chosen(
    prepared: PreparedTable,
    chosen: Attempt,
    config: LearnConfig,
    callbacks: LearnCallbacks,
    candidates: list[CandidateModel],
) -> Any:
    callbacks.stage(f"Fitting {chosen.title} on all {len(prepared.data.y):,} training rows")
    task, seed = prepared.target.task, config.seed
    weights = chosen.params if chosen.key == ENSEMBLE else {chosen.key: 1.0}
    fits = {
        candidate.key: fit_final(
            candidate, prepared.data, task, prepared.scoring, prepared.encoder(), seed
        )
        for candidate in candidates
        if candidate.key in weights
    }
    fit = fits[chosen.key] if chosen.key in fits else combine_fits(fits, weights)
    chosen.params = fit.params
    y = prepared.data.choosing_y
    model: Any = make_table_model(fit, chosen, prepared.target, prepared.kinds, y)
    model.styles_ = dict(prepared.records.styles)
    return model


def _evaluate_test(model: TableModel, prepared: PreparedTable, seed: int) -> HoldoutEvaluation:
    """Predict all test rows, chunk by chunk."""
    test = prepared.split.test
    chunks = iterate_cells(prepared.table.pick(test))
    predictions = np.concatenate([model.predict_cells(cells) for cells in chunks])
    return evaluate_predictions(prepared.target.y[test], predictions, prepared.scoring, seed)


def _summarize_scores(
    metric: str, attempts: list[Attempt], chosen: Attempt, test: HoldoutEvaluation
) -> dict[str, Any]:
    """Scores that are stored in the model."""
    interval = chosen.interval()
    baseline = next(attempt for attempt in attempts if attempt.key == "baseline")
    folds = {"mean": interval.value, "low": interval.low, "high": interval.high}
    return {
        "metric": metric,
        "folds": folds | {"baseline": baseline.mean},
        "test": {name: float(score) for name, score in test.scores.items()},
        "test_intervals": {name: list(ends) for name, ends in test.intervals.items()},
        "test_rows": len(test.y),
    }


def _collect_findings(prepared: PreparedTable, result: Study) -> list[Any]:
    data, seed = prepared.data, result.seed
    train = prepared.records.take(prepared.split.choosing).X
    return [
        *diagnostics.check_leakage(
            data.cells, data.choosing_y, prepared.scoring.k, prepared.target.name, seed
        ),
        *diagnostics.check_result(result),
        *diagnostics.check_duplicates(train, result.test_rows),
        *prepared.findings,
    ]


def save_study(result: Study, store: FoldStore, config: LearnConfig) -> None:
    """Write the result; finished folds stay on disk while the study can be resumed."""
    if config.output is None:
        return
    result.save(config.output)
    if not any(attempt.resumable for attempt in result.attempts):
        store.remove()


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
    prefer: str = "simple",
    yardstick: bool = False,
    seed: int = 0,
    output: Any = None,
    resume: bool = False,
    watch: Any = None,
) -> Any:
    """Select a model for a table by cross-validation, and evaluate it once on held-out rows.

    A part of the rows is held out for the test. On the others, candidate models, from a baseline to
    boosted trees and an ensemble of all, are compared by cross-validation; encoding and
    hyperparameters are learned within each fold. The simplest model within one standard error of
    the best, or the best, is fitted on all training rows, and evaluated once on the test rows.

    Parameters
    ----------
    data : path, DataFrame, dict of columns, list of dicts, or records
        The table: CSV, Parquet, Arrow, JSON lines or Excel files, of any size.
    target : str, optional
        The column to be predicted. Without one, the rows are clustered.
    task : {"regression", "two-class", "multi-class", "classification", "clusters", \
            "recommendation"}, optional
        Inferred from the target by default. A table of users, items and ratings (and times) gets
        a recommender, and the result is a `RecommenderStudy`.
    kinds : dict, name -> kind, optional
        "number", "category", "text", "date" or "identifier", for columns that are misclassified.
    drop : list of str
        Columns to exclude.
    metric : str, optional
        The score that decides. By default R² for regression, accuracy for classes, and the area
        under the ROC curve if the larger of two classes has more than 80 % of the rows.
    folds : int
        Number of folds of the cross-validation.
    test_share : float
        Fraction of the rows that is held out for the test, at most 200,000 rows.
    minutes : float
        Time budget for the candidates. Simple models come first; of many rows, those that do best
        on few rows. The baseline and one model always run; one that falls far behind is dropped.
    models : list of str, optional
        Keys of the candidates, such as "ridge"; all that suit the table by default.
    prefer : {"simple", "best"}
        Choose the simplest model within one standard error of the best, or the best. For the best,
        models run one fold before any runs the others, and half of the time is kept for a search
        of settings of the best ones, which ends without progress.
    yardstick : bool
        Whether to evaluate boosted trees of scikit-learn as well, for comparison only.
    seed : int
        The same seed, data and settings give the same result, time permitting.
    output : path, optional
        A folder for `model.tenfold` and `metrics.json`; during the study it also holds the finished
        folds.
    resume : bool
        Whether to resume an interrupted study from the finished folds in `output`.
    watch : object, optional
        Callbacks: its methods `stage(text)`, `message(text)`, `candidate_started(candidate, number,
        of)`, `fold_finished(candidate, fold, score)` and `candidate_finished(attempt)` are called,
        if it has them.

    Returns
    -------
    Study

    See Also
    --------
    Search, cross_validate

    References
    ----------
    L. Breiman, J. H. Friedman, R. A. Olshen, C. J. Stone (1984), "Classification and regression
    trees" (one-standard-error rule).
    S. Varma, R. Simon (2006), "Bias in error estimation when using cross-validation for model
    selection".

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
    config = LearnConfig.of(
        target=target,
        task=task,
        kinds=kinds,
        drop=drop,
        metric=metric,
        folds=folds,
        test_share=test_share,
        minutes=minutes,
        models=models,
        prefer=prefer,
        yardstick=yardstick,
        seed=seed,
        output=output,
        resume=resume,
    )
    callbacks = LearnCallbacks(watch)
    callbacks.stage("Reading the table")
    records = open_table(data, target=target)
    for name in config.drop:
        records.assert_column(name)
    if target in config.drop:
        raise ValueError(f"{target!r} is the target and cannot be dropped")
    records = records.select([name for name in records.names if name not in config.drop])
    if is_rating_table(records, config):
        return run_recommenders(records, config, callbacks)
    run = run_clustering if target is None else run_supervised
    return run(records, config, callbacks)
