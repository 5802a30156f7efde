"""Clustering of a table without a target: number of clusters, their profiles, a projection."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

import tenfold
from tenfold.automl import diagnostics
from tenfold.automl.config import LearnCallbacks, LearnConfig
from tenfold.automl.final_model import expected_columns, stamp_metadata
from tenfold.automl.preparation import (
    MIN_ROWS,
    count_selection_rows,
    make_encoder,
    sample_rows,
    useful_columns,
)
from tenfold.automl.result import Attempt, ClusterSummary, NeighborMap, Study
from tenfold.automl.schema import cells_to_records, encode_cells
from tenfold.automl.table_model import TableModel
from tenfold.automl.task_scores import CLUSTERS
from tenfold.automl.value_ranges import infer_finite_kinds
from tenfold.io.columnar import ColumnBatch, DateColumn, TextColumn
from tenfold.math.linalg import to_dense
from tenfold.metrics.silhouette import silhouette_score

Trait = tuple[str, str, float]  # column, words, strength
_MAX_TRAITS = 8  # columns that are reported of a cluster
_MAX_LEVELS = 50  # distinct values up to which a text column is compared


def cluster_traits(cells: ColumnBatch, labels: np.ndarray, k: int) -> list[list[Trait]]:
    """For each cluster the columns that distinguish it, the strongest first.

    The strength is the difference of means in standard deviations; of a category, that of the level
    that differs most.
    """
    traits: list[list[Trait]] = [[] for _ in range(k)]
    for name in cells.names:
        for cluster, found in enumerate(_column_traits(name, cells[name], labels, k)):
            traits[cluster] += found
    return [sorted(part, key=lambda trait: -abs(trait[2]))[:_MAX_TRAITS] for part in traits]


def _column_traits(name: str, column: Any, labels: np.ndarray, k: int) -> list[list[Trait]]:
    """Traits of each cluster in one column."""
    if isinstance(column, TextColumn):
        is_category = len(column.values) <= _MAX_LEVELS
        return [_level_trait(name, column, labels == g) if is_category else [] for g in range(k)]
    if isinstance(column, DateColumn):
        return [[] for _ in range(k)]
    return [_number_trait(name, column.values, labels == g) for g in range(k)]


def _number_trait(name: str, values: np.ndarray, in_cluster: np.ndarray) -> list[Trait]:
    known = ~np.isnan(values)
    deviation = float(values[known].std()) if known.any() else 0.0
    if deviation == 0 or not (in_cluster & known).any():
        return []
    mean, own_mean = float(values[known].mean()), float(values[in_cluster & known].mean())
    side = "higher" if own_mean > mean else "lower"
    words = f"{side}: {own_mean:.4g} on average, against {mean:.4g}"
    return [(name, words, (own_mean - mean) / deviation)]


def _level_trait(name: str, column: TextColumn, in_cluster: np.ndarray) -> list[Trait]:
    levels = len(column.values)
    known = column.codes >= 0
    if levels == 0 or not (in_cluster & known).any():
        return []
    share = np.bincount(column.codes[known], minlength=levels) / known.sum()
    own = in_cluster & known
    own_share = np.bincount(column.codes[own], minlength=levels) / own.sum()
    difference = (own_share - share) / np.sqrt(np.maximum(share * (1 - share), 1e-9))
    top = int(np.abs(difference).argmax())
    words = f"{column.values[top]!r} in {own_share[top]:.0%} of its rows, against {share[top]:.0%}"
    return [(name, words, float(difference[top]))]


_MAX_CLUSTERS = 10
_N_INIT = 5
_MAX_POINTS = 5_000
_MAX_LOADINGS = 3  # columns named of a component
_MIN_MAP_ROWS, _MAX_MAP_ROWS = 30, 1_500  # of t-SNE
_MAP_ITERATIONS = 750
_METRIC = "silhouette"
_WEAK_SILHOUETTE = 0.25  # Kaufman and Rousseeuw (1990): no substantial structure below it


def run_clustering(records: Any, config: LearnConfig, callbacks: LearnCallbacks) -> Study:
    """Study of a table without a target."""
    start = perf_counter()
    if records.n_rows < MIN_ROWS:
        raise ValueError(f"{records.n_rows} rows are too few to look for groups in")
    callbacks.stage("Looking at the columns")
    kinds = infer_finite_kinds(records, None, config.kinds)
    table = records.select(useful_columns(kinds, None))
    encoder = make_encoder(kinds, table.names)
    rows = np.arange(records.n_rows)
    cells = sample_cells(table, count_selection_rows(table, rows, encoder), config.seed)
    callbacks.message(f"There is no target: {len(cells):,} rows are clustered.")
    X = to_dense(encode_cells(encoder.fit(cells_to_records(cells)), cells))
    callbacks.stage("Trying numbers of groups")
    attempts, models = _fit_kmeans_range(X, config, callbacks)
    best = _choose_n_clusters(attempts, callbacks)
    model = _make_model(encoder, models[best.params["n_clusters"]], kinds, best, records.styles)
    findings = diagnostics.check_columns(kinds, records.mixed, None) + _check_silhouette(best)
    sample = sample_rows(records, rows, config.seed)
    result = Study(
        shown=records.shown,
        n_rows=records.n_rows,
        kinds=kinds,
        notes=list(records.notes),
        said=callbacks.messages,
        target=None,
        task=CLUSTERS,
        classes=None,
        metric=_METRIC,
        folds=0,
        seed=config.seed,
        n_train=len(cells),
        n_test=0,
        n_choosing=len(cells),
        attempts=attempts,
        best=best,
        chosen=best,
        test=None,
        test_rows=sample,
        train_rows=sample,
        choosing_y=None,
        choosing_fold=None,
        warnings=findings,
        model=model,
        seconds=perf_counter() - start,
        settings=config.settings(),
        clusters=_summarize_clusters(X, cells, model, encoder),
    )
    if config.output is not None:
        result.save(config.output)
    return result


def _choose_n_clusters(attempts: list[Attempt], callbacks: LearnCallbacks) -> Attempt:
    """The number of groups with the highest silhouette."""
    best = max(attempts, key=lambda attempt: attempt.mean)
    callbacks.message(
        f"{best.title} have the highest silhouette, {best.mean:.2f} (1: far apart, 0: not apart)."
    )
    return best


def sample_cells(table: Any, max_rows: int, seed: int) -> ColumnBatch:
    """At most `max_rows` rows of a table, drawn at random."""
    n = table.n_rows
    rows = np.random.default_rng(seed).permutation(n)[:max_rows] if n > max_rows else np.arange(n)
    return table.take(np.sort(rows)).X


def _fit_kmeans_range(
    X: np.ndarray, config: LearnConfig, callbacks: LearnCallbacks
) -> tuple[list[Attempt], dict[int, Any]]:
    """K-means with 2, 3, ... clusters within the time budget; at least one number is tried."""
    end = perf_counter() + 60 * config.minutes
    attempts, models = [], {}
    counts = range(2, min(_MAX_CLUSTERS, len(np.unique(X, axis=0)) - 1) + 1)
    if not counts:
        raise ValueError("the rows have fewer than three different values: there are no groups")
    for k in counts:
        if attempts and perf_counter() > end:
            break
        start = perf_counter()
        models[k] = tenfold.KMeans(k, n_init=_N_INIT, random_state=config.seed).fit(X)
        score = silhouette_score(X, models[k], seed=config.seed)
        attempts.append(_make_attempt(k, score, models[k].inertia_, perf_counter() - start))
        callbacks.candidate_finished(attempts[-1])
    return attempts, models


def _make_attempt(k: int, score: float, cost: float, seconds: float) -> Attempt:
    scores = np.array([score])
    return Attempt(
        key="kmeans",
        title=f"{k} groups",
        params={"n_clusters": k},
        scores=scores,
        others={_METRIC: scores, "cost": np.array([cost])},
        train=scores,
        seconds=seconds,
        eligible=True,
        simplicity=k,
    )


def _make_model(
    encoder: Any, kmeans: Any, kinds: dict[str, Any], best: Attempt, styles: dict[str, str]
) -> Any:
    model: Any = TableModel()
    model.styles_ = dict(styles)
    model.task_, model.target_, model.classes_ = CLUSTERS, None, None
    model.encoder_, model.model_, model.scale_ = encoder, kmeans, None
    model.columns_ = expected_columns(kinds, encoder.types_, None)
    model.interval_, model.residuals_ = None, 0
    stamp_metadata(model, f"K-means with {best.title}")
    model.scores_ = {"metric": _METRIC, "value": best.mean}
    return model


def _summarize_clusters(
    X: np.ndarray, cells: ColumnBatch, model: Any, encoder: Any
) -> ClusterSummary:
    labels = np.asarray(model.model_.predict(X))
    pca = tenfold.PCA(min(*X.shape, 10)).fit(X)
    step = max(-(-len(X) // _MAX_POINTS), 1)
    points = pca.transform(X[::step])[:, :2]
    if points.shape[1] < 2:
        points = np.column_stack([points, np.zeros(len(points))])
    k = len(model.model_.cluster_centers_)
    names = encoder.get_feature_names_out().tolist()
    return ClusterSummary(
        sizes=np.bincount(labels, minlength=k),
        labels=labels,
        profiles=cluster_traits(cells, labels, k),
        points=points,
        point_labels=labels[::step],
        variance=np.asarray(pca.explained_variance_ratio_),
        names=names,
        loadings=[_largest_weights(names, axis) for axis in pca.components_[:2]],
        map=_map_neighbors(X, labels),
    )


def _largest_weights(names: list[str], axis: np.ndarray) -> list[tuple[str, float]]:
    """Columns with the largest weights in a component."""
    order = np.argsort(-np.abs(axis), kind="stable")[:_MAX_LOADINGS]
    return [(names[j], float(axis[j])) for j in order]


def _map_neighbors(X: np.ndarray, labels: np.ndarray) -> NeighborMap | None:
    """t-SNE of some rows; None for few rows, and where two components show everything."""
    step = max(-(-len(X) // _MAX_MAP_ROWS), 1)
    rows = np.unique(X[::step], axis=0, return_index=True)[1] * step  # equal rows once
    if len(rows) < _MIN_MAP_ROWS or X.shape[1] <= 2:
        return None
    rows = np.sort(rows)
    some = np.ascontiguousarray(X[rows])
    perplexity = min(30.0, (len(rows) - 1) / 3)
    points = tenfold.TSNE(perplexity=perplexity, max_iter=_MAP_ITERATIONS).fit_transform(some)
    trust = tenfold.trustworthiness(some, points, n_neighbors=min(10, (len(rows) - 1) // 2))
    return NeighborMap(np.asarray(points), labels[rows], trust)


def _check_silhouette(best: Attempt) -> list[diagnostics.Finding]:
    if best.mean >= _WEAK_SILHOUETTE:
        return []
    text = (
        f"The best silhouette is {best.mean:.2f}: the rows do not form well separated groups, and "
        "another method may group them differently."
    )
    return [diagnostics.Finding("weak groups", "warning", text)]
