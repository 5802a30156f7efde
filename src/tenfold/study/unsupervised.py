"""A study without a target: how many groups the rows fall into, what they are like, a map."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

import tenfold
from tenfold.metrics.clusters import silhouette
from tenfold.rows.cells import Cells
from tenfold.study import findings
from tenfold.study.asked import Asked
from tenfold.study.encoding import as_records, encoded
from tenfold.study.finishing import expected_columns, signed
from tenfold.study.preparing import FEWEST_ROWS, choosing_rows, encoder_of, useful_columns
from tenfold.study.profiles import profiles
from tenfold.study.result import Attempt, Clusters, Study
from tenfold.study.scoring import CLUSTERS
from tenfold.study.supervised import some_rows
from tenfold.study.table_model import TableModel
from tenfold.study.watching import Watch
from tenfold.tables.kinds import column_kinds

MOST_GROUPS = 10
STARTS = 5
SHOWN_POINTS = 5_000
METRIC = "silhouette"
WEAK = 0.25  # a silhouette below it: the groups are no islands


def study(records: Any, asked: Asked, watch: Watch) -> Study:
    """Look for groups of rows."""
    start = perf_counter()
    if records.n_rows < FEWEST_ROWS:
        raise ValueError(f"{records.n_rows} rows are too few to look for groups in")
    watch.stage("Looking at the columns")
    kinds = column_kinds(records, None, asked.kinds)
    table = records.select(useful_columns(kinds, None))
    encoder = encoder_of(kinds, table.names)
    rows = np.arange(records.n_rows)
    cells = some_cells(table, choosing_rows(table, rows, encoder), asked.seed)
    watch.said(f"There is no target: {len(cells):,} rows are put into groups that are alike.")
    X = _dense(encoded(encoder.fit(as_records(cells)), cells))
    watch.stage("Trying numbers of groups")
    attempts, models = _tried(X, asked, watch)
    best = _best(attempts, watch)
    model = _model(encoder, models[best.params["n_clusters"]], kinds, best, records.styles)
    found = findings.of_columns(kinds, records.mixed, None) + _weak(best)
    shown = some_rows(records, rows, asked.seed)
    result = Study(
        shown=records.shown,
        n_rows=records.n_rows,
        kinds=kinds,
        notes=list(records.notes),
        said=watch.sentences,
        target=None,
        task=CLUSTERS,
        classes=None,
        metric=METRIC,
        folds=0,
        seed=asked.seed,
        n_train=len(cells),
        n_test=0,
        n_choosing=len(cells),
        attempts=attempts,
        best=best,
        chosen=best,
        test=None,
        test_rows=shown,
        train_rows=shown,
        choosing_y=None,
        choosing_fold=None,
        warnings=found,
        model=model,
        seconds=perf_counter() - start,
        settings=asked.settings(),
        clusters=_described(X, cells, model, encoder),
    )
    if asked.output is not None:
        result.save(asked.output)
    return result


def _best(attempts: list[Attempt], watch: Watch) -> Attempt:
    """The number of groups with the highest silhouette."""
    best = max(attempts, key=lambda attempt: attempt.mean)
    watch.said(
        f"{best.title} have the highest silhouette, {best.mean:.2f} (1: far apart, 0: not apart)."
    )
    return best


def some_cells(table: Any, most: int, seed: int) -> Cells:
    """At most so many rows of a table, drawn at random."""
    n = table.n_rows
    rows = np.random.default_rng(seed).permutation(n)[:most] if n > most else np.arange(n)
    return table.take(np.sort(rows)).X


def _tried(X: np.ndarray, asked: Asked, watch: Watch) -> tuple[list[Attempt], dict[int, Any]]:
    """K-means with two groups and more, while there is time; at least one number is tried."""
    end = perf_counter() + 60 * asked.minutes
    attempts, models = [], {}
    counts = range(2, min(MOST_GROUPS, len(np.unique(X, axis=0)) - 1) + 1)
    if not counts:
        raise ValueError("the rows have fewer than three different values: there are no groups")
    for k in counts:
        if attempts and perf_counter() > end:
            break
        begun = perf_counter()
        models[k] = tenfold.KMeans(k, n_init=STARTS, random_state=asked.seed).fit(X)
        score = silhouette(X, models[k], seed=asked.seed)
        attempts.append(_attempt(k, score, models[k].inertia_, perf_counter() - begun))
        watch.rung_done(attempts[-1])
    return attempts, models


def _attempt(k: int, score: float, cost: float, seconds: float) -> Attempt:
    scores = np.array([score])
    return Attempt(
        key="kmeans",
        title=f"{k} groups",
        params={"n_clusters": k},
        scores=scores,
        others={METRIC: scores, "cost": np.array([cost])},
        train=scores,
        seconds=seconds,
        eligible=True,
        simplicity=k,
    )


def _model(
    encoder: Any, kmeans: Any, kinds: dict[str, Any], best: Attempt, styles: dict[str, str]
) -> Any:
    model: Any = TableModel()
    model.styles_ = dict(styles)
    model.task_, model.target_, model.classes_ = CLUSTERS, None, None
    model.encoder_, model.model_, model.scale_ = encoder, kmeans, None
    model.columns_ = expected_columns(kinds, encoder.types_, None)
    model.interval_, model.residuals_ = None, 0
    signed(model, f"K-means with {best.title}")
    model.scores_ = {"metric": METRIC, "value": best.mean}
    return model


def _described(X: np.ndarray, cells: Cells, model: Any, encoder: Any) -> Clusters:
    labels = np.asarray(model.model_.predict(X))
    pca = tenfold.PCA(min(*X.shape, 10)).fit(X)
    step = max(-(-len(X) // SHOWN_POINTS), 1)
    points = pca.transform(X[::step])[:, :2]
    if points.shape[1] < 2:
        points = np.column_stack([points, np.zeros(len(points))])
    k = len(model.model_.cluster_centers_)
    return Clusters(
        sizes=np.bincount(labels, minlength=k),
        labels=labels,
        profiles=profiles(cells, labels, k),
        points=points,
        point_labels=labels[::step],
        variance=np.asarray(pca.explained_variance_ratio_),
        names=encoder.get_feature_names_out().tolist(),
    )


def _weak(best: Attempt) -> list[findings.Finding]:
    if best.mean >= WEAK:
        return []
    text = (
        f"The best silhouette is {best.mean:.2f}: the rows do not fall into groups that lie apart, "
        "and another method may cut them elsewhere."
    )
    return [findings.Finding("weak groups", "warning", text)]


def _dense(X: Any) -> np.ndarray:
    return X if isinstance(X, np.ndarray) else X.toarray()
