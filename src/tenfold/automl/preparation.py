"""Preparation of a table: read the target, classify the columns, hold out the test part."""

from __future__ import annotations

from math import ceil
from typing import Any, NamedTuple

import numpy as np

from tenfold.automl import diagnostics
from tenfold.automl.config import LearnCallbacks, LearnConfig
from tenfold.automl.result import Finding
from tenfold.automl.target import Target, drop_rare_classes, read_target
from tenfold.automl.task_scores import TaskScoring, make_scoring
from tenfold.automl.value_ranges import infer_finite_kinds
from tenfold.io.columnar import ColumnBatch
from tenfold.preprocessing.table_encoder import TableEncoder

_SELECTION_ROWS = 50_000  # rows of cross-validation, at most
_SELECTION_BYTES = 2**25  # of encoded rows
_MIN_SELECTION_ROWS = 5_000  # even if they take more bytes
_MAX_TEST_ROWS = 200_000  # beyond it, confidence intervals hardly shrink
MIN_ROWS = 10
_WIDTH_ROWS = 2_000  # rows from which the width of the encoded table is estimated


class TableSplit(NamedTuple):
    """Indices of rows: training rows, those of them for model selection, and test rows."""

    train: np.ndarray
    choosing: np.ndarray
    test: np.ndarray


class PreparedTable(NamedTuple):
    """A table, ready for models.

    Attributes
    ----------
    records : the whole table
    table : the same without the target
    kinds : kinds of the columns
    target, scoring, split, data : target column, scores, split of the rows, training data
    findings : about columns and rows
    """

    records: Any
    table: Any
    kinds: dict[str, Any]
    target: Target
    scoring: TaskScoring
    split: TableSplit
    data: TrainingData
    findings: list[Finding]

    def encoder(self) -> TableEncoder:
        """An unfitted encoder for the kinds of the columns."""
        return make_encoder(self.kinds, self.table.names)


def prepare_table(records: Any, config: LearnConfig, callbacks: LearnCallbacks) -> PreparedTable:
    """Read the target, classify the columns, split the rows."""
    callbacks.stage("Looking at the columns")
    target, rare, missing = _read_target(records, config)
    callbacks.message(f"{target.why}.")
    kinds = infer_finite_kinds(records, target.name, config.kinds)
    table = drop_target(records, useful_columns(kinds, target.name))
    rows = target.known_rows
    findings = diagnostics.check_columns(kinds, records.mixed, target.name)
    findings += diagnostics.check_rows(target, len(rows), missing, rare)
    split = _split_rows(table, target, config, make_encoder(kinds, table.names))
    scoring = make_scoring(target.task, target.y[split.train], _n_classes(target), config.metric)
    callbacks.message(_describe_plan(split, scoring, config))
    cells, y = table.take(split.choosing).X, target.y
    data = TrainingData(table, split.train, y[split.train], cells, y[split.choosing])
    return PreparedTable(records, table, kinds, target, scoring, split, data, findings)


def drop_target(records: Any, names: list[str]) -> Any:
    """Some columns of a table, without its target."""
    table = records.select(names)
    table.target = None
    return table


def make_encoder(kinds: dict[str, Any], names: list[str]) -> TableEncoder:
    """An unfitted encoder of some columns.

    In float64: indicators of all levels are collinear with the intercept, and the normal equations
    that serve a grid of penalties would lose too many digits in float32.
    """
    return TableEncoder({name: kinds[name].kind for name in names}, dtype=np.float64)


def useful_columns(kinds: dict[str, Any], target: str | None) -> list[str]:
    """Input columns: neither target nor identifiers nor constants."""
    excluded = {"identifier", "constant"}
    useful = [name for name, kind in kinds.items() if name != target and kind.kind not in excluded]
    if not useful:
        others = ", ".join(f"{n!r} ({k.kind})" for n, k in kinds.items() if n != target)
        raise ValueError(
            f"there is no column to learn from, only {others or 'the target'}: give more columns, "
            "or say what they are with kinds="
        )
    return useful


def _read_target(records: Any, config: LearnConfig) -> tuple[Target, list[tuple[Any, int]], int]:
    """The target without rare classes, the rare classes, and the number of rows without target."""
    target = read_target(records, str(config.target), config.task)
    n_known = len(target.known_rows)
    if n_known < MIN_ROWS:
        raise ValueError(
            f"{n_known} rows with a target are too few to train and test a model: give at least "
            f"{MIN_ROWS}, better some hundreds"
        )
    min_rows = ceil(config.folds / (1 - config.test_share))
    target, rare = drop_rare_classes(target, min_rows)
    return target, rare, records.n_rows - n_known


def _split_rows(
    table: Any, target: Target, config: LearnConfig, encoder: TableEncoder
) -> TableSplit:
    """Hold out the test rows; of the others draw those for model selection."""
    rows = target.known_rows
    labels = None if target.classes is None else target.y
    rng = np.random.default_rng(config.seed)
    train, test = stratified_split(
        rows, labels, min(config.test_share, _MAX_TEST_ROWS / len(rows)), rng
    )
    if len(train) < config.folds or not len(test):
        raise ValueError(
            f"{len(rows)} rows cannot make {config.folds} folds and a test part: give more rows"
        )
    max_rows = count_selection_rows(table, train, encoder)
    if len(train) <= max_rows:
        return TableSplit(train, train, test)
    selection = stratified_split(train, labels, max_rows / len(train), rng)[1]
    return TableSplit(train, selection, test)


def stratified_split(
    rows: np.ndarray, labels: np.ndarray | None, share: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Rows that stay and rows that are drawn, both ascending, stratified by class.

    Parameters
    ----------
    rows : (m,) array
        Ascending row indices.
    labels : (n_rows,) array or None
        Class index of each row of the table.
    share : float
        Fraction that is drawn.
    rng : Generator
        Random generator.

    Examples
    --------
    >>> labels = np.array([0, 1] * 10)
    >>> stay, drawn = stratified_split(np.arange(20), labels, 0.2, np.random.default_rng(0))
    >>> len(stay), np.bincount(labels[drawn]).tolist()
    (16, [2, 2])
    """
    row_labels = np.zeros(len(rows), np.int8) if labels is None else labels[rows]
    is_drawn = np.zeros(len(rows), bool)
    for label in range(int(row_labels.max()) + 1):
        indices = np.flatnonzero(row_labels == label).astype(rows.dtype)
        rng.shuffle(indices)
        is_drawn[indices[: round(share * len(indices))]] = True
    return rows[~is_drawn], rows[is_drawn]


def count_selection_rows(table: Any, rows: np.ndarray, encoder: TableEncoder) -> int:
    """Number of rows for model selection: fewer if encoded rows are wide."""
    if len(rows) <= _MIN_SELECTION_ROWS:
        return len(rows)
    step = max(len(rows) // _WIDTH_ROWS, 1)
    encoder.fit(table.pick(rows[::step]))
    if encoder.sparse_:
        return _SELECTION_ROWS
    fitting = _SELECTION_BYTES // (8 * max(len(encoder.origin_), 1))
    return int(np.clip(fitting, _MIN_SELECTION_ROWS, _SELECTION_ROWS))


def _n_classes(target: Target) -> int | None:
    return None if target.classes is None else len(target.classes)


def _describe_plan(split: TableSplit, scoring: TaskScoring, config: LearnConfig) -> str:
    on_sample = "" if len(split.choosing) == len(split.train) else f" (on {len(split.choosing):,})"
    return (
        f"{len(split.train):,} training rows, {len(split.test):,} held out for the final test; "
        f"models are chosen by {scoring.deciding} in {config.folds} folds{on_sample}."
    )


class TrainingData(NamedTuple):
    """Training rows.

    Attributes
    ----------
    records : all rows, without the target
    rows : indices of the training rows
    y : their target
    cells, choosing_y : those of them for model selection
    """

    records: Any
    rows: np.ndarray
    y: np.ndarray
    cells: ColumnBatch
    choosing_y: np.ndarray

    @property
    def in_memory(self) -> bool:
        """Whether model selection uses all training rows."""
        return len(self.choosing_y) == len(self.y)


_SHOWN_ROWS = 5_000  # rows that a report shows


def sample_rows(records: Any, rows: np.ndarray, seed: int) -> ColumnBatch:
    """At most 5,000 of the rows, drawn at random."""
    drawn = np.random.default_rng(seed).permutation(len(rows))[:_SHOWN_ROWS]
    return records.take(rows[np.sort(drawn)]).X
