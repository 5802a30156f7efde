"""From a table to a judged model: `tenfold.learn`."""

from __future__ import annotations

from typing import Any

from tenfold.rows.files.records import open_records
from tenfold.study.asked import Asked
from tenfold.study.result import Study
from tenfold.study.watching import Watch


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
    asked = Asked.of(
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
    seen = Watch(watch)
    seen.stage("Reading the table")
    records = open_records(data, target=target)
    for name in asked.drop:
        records.assert_column(name)
    if target in asked.drop:
        raise ValueError(f"{target!r} is the target and cannot be dropped")
    records = records.select([name for name in records.names if name not in asked.drop])
    if target is None:
        from tenfold.study.unsupervised import study
    else:
        from tenfold.study.supervised import study
    return study(records, asked, seen)
