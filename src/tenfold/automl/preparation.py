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
from tenfold.io.columnar import ColumnBatch
from tenfold.preprocessing.column_kinds import infer_column_kinds
from tenfold.preprocessing.table_encoder import TableEncoder

_SELECTION_ROWS = 50_000
_SELECTION_BYTES = 2**25  # of encoded rows
_MIN_SELECTION_ROWS = 5_000
_MAX_TEST_ROWS = 200_000  # more rows would make no interval visibly shorter
MIN_ROWS = 10
_WIDTH_ROWS = 2_000  # rows that tell how wide the encoded table is


class TableSplit(NamedTuple):
    """Numbers of rows: to learn from, to choose by (some of them), and sealed."""

    train: np.ndarray
    choosing: np.ndarray
    test: np.ndarray


class PreparedTable(NamedTuple):
    """A table, ready for models.

    Attributes
    ----------
    records : the whole table
    table : the same without the target
    kinds : what the columns are
    target, scoring, split, data : what is predicted, how it is judged, from which rows
    found : what is to be said of columns and rows
    """

    records: Any
    table: Any
    kinds: dict[str, Any]
    target: Target
    scoring: TaskScoring
    split: TableSplit
    data: TrainingData
    found: list[Finding]

    def encoder(self) -> TableEncoder:
        """An unfitted encoder that knows the kinds of the columns."""
        return make_encoder(self.kinds, self.table.names)


def prepare_table(records: Any, asked: LearnConfig, watch: LearnCallbacks) -> PreparedTable:
    """Read the target, judge the columns, split the rows."""
    watch.stage("Looking at the columns")
    target, rare, missing = _read_target(records, asked)
    watch.said(f"{target.why}.")
    kinds = infer_column_kinds(records, target.name, asked.kinds)
    table = drop_target(records, useful_columns(kinds, target.name))
    rows = target.there
    found = diagnostics.check_columns(kinds, records.mixed, target.name)
    found += diagnostics.check_rows(target, len(rows), missing, rare)
    split = _split_rows(table, target, asked, make_encoder(kinds, table.names))
    scoring = make_scoring(target.task, target.y[split.train], _n_classes(target), asked.metric)
    watch.said(_describe_plan(split, scoring, asked))
    cells, y = table.take(split.choosing).X, target.y
    data = TrainingData(table, split.train, y[split.train], cells, y[split.choosing])
    return PreparedTable(records, table, kinds, target, scoring, split, data, found)


def drop_target(records: Any, names: list[str]) -> Any:
    """Some columns of a table, none of which is to be predicted."""
    table = records.select(names)
    table.target = None
    return table


def make_encoder(kinds: dict[str, Any], names: list[str]) -> TableEncoder:
    """An unfitted encoder of some columns.

    In float64: indicators of all levels add up to one, and the one pass that a grid of penalties
    needs would lose too many digits of float32.
    """
    return TableEncoder({name: kinds[name].kind for name in names}, dtype=np.float64)


def useful_columns(kinds: dict[str, Any], target: str | None) -> list[str]:
    """Columns to learn from: neither target nor identifiers nor constants."""
    dull = {"identifier", "constant"}
    useful = [name for name, kind in kinds.items() if name != target and kind.kind not in dull]
    if not useful:
        others = ", ".join(f"{n!r} ({k.kind})" for n, k in kinds.items() if n != target)
        raise ValueError(
            f"there is no column to learn from, only {others or 'the target'}: give more columns, "
            "or say what they are with kinds="
        )
    return useful


def _read_target(records: Any, asked: LearnConfig) -> tuple[Target, list[tuple[Any, int]], int]:
    """The target without classes that are too rare; these; and how many rows have no target."""
    target = read_target(records, str(asked.target), asked.task)
    there = len(target.there)
    if there < MIN_ROWS:
        raise ValueError(
            f"{there} rows with a target are too few to learn from and to judge by: give at least "
            f"{MIN_ROWS}, better some hundreds"
        )
    least = ceil(asked.folds / (1 - asked.test_share))
    target, rare = drop_rare_classes(target, least)
    return target, rare, records.n_rows - there


def _split_rows(
    table: Any, target: Target, asked: LearnConfig, encoder: TableEncoder
) -> TableSplit:
    """Seal the test part; of the rest draw those that models are chosen by."""
    rows = target.there
    labels = None if target.classes is None else target.y
    rng = np.random.default_rng(asked.seed)
    train, test = stratified_split(
        rows, labels, min(asked.test_share, _MAX_TEST_ROWS / len(rows)), rng
    )
    if len(train) < asked.folds or not len(test):
        raise ValueError(
            f"{len(rows)} rows cannot make {asked.folds} folds and a test part: give more rows"
        )
    most = count_selection_rows(table, train, encoder)
    if len(train) <= most:
        return TableSplit(train, train, test)
    return TableSplit(train, stratified_split(train, labels, most / len(train), rng)[1], test)


def stratified_split(
    rows: np.ndarray, labels: np.ndarray | None, share: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Rows that stay and rows that are drawn, both ascending; of each class the same share.

    Parameters
    ----------
    rows : (m,) array
        Ascending row numbers.
    labels : (n,) array or None
        Class number of each row of the table.
    share : float
        How many are drawn.
    rng : Generator
        Draws them.

    Examples
    --------
    >>> labels = np.array([0, 1] * 10)
    >>> stay, drawn = stratified_split(np.arange(20), labels, 0.2, np.random.default_rng(0))
    >>> len(stay), np.bincount(labels[drawn]).tolist()
    (16, [2, 2])
    """
    own = np.zeros(len(rows), np.int8) if labels is None else labels[rows]
    is_drawn = np.zeros(len(rows), bool)
    for label in range(int(own.max()) + 1):
        places = np.flatnonzero(own == label).astype(rows.dtype)
        rng.shuffle(places)
        is_drawn[places[: round(share * len(places))]] = True
    return rows[~is_drawn], rows[is_drawn]


def count_selection_rows(table: Any, rows: np.ndarray, encoder: TableEncoder) -> int:
    """How many rows models are chosen by: fewer if they are wide."""
    if len(rows) <= _MIN_SELECTION_ROWS:
        return len(rows)
    step = max(len(rows) // _WIDTH_ROWS, 1)
    encoder.fit(table.pick(rows[::step]))
    if encoder.sparse_:
        return _SELECTION_ROWS
    wide = _SELECTION_BYTES // (8 * max(len(encoder.origin_), 1))
    return int(np.clip(wide, _MIN_SELECTION_ROWS, _SELECTION_ROWS))


def _n_classes(target: Target) -> int | None:
    return None if target.classes is None else len(target.classes)


def _describe_plan(split: TableSplit, scoring: TaskScoring, asked: LearnConfig) -> str:
    some = "" if len(split.choosing) == len(split.train) else f" (on {len(split.choosing):,})"
    return (
        f"{len(split.train):,} rows to learn from, {len(split.test):,} sealed for the final test; "
        f"models are chosen by {scoring.deciding} in {asked.folds} folds{some}."
    )


class TrainingData(NamedTuple):
    """Rows to learn from.

    Attributes
    ----------
    records : all rows, without the target
    rows : numbers of the rows to learn from
    y : their target
    cells, choosing_y : those of them that models were chosen by
    """

    records: Any
    rows: np.ndarray
    y: np.ndarray
    cells: ColumnBatch
    choosing_y: np.ndarray

    @property
    def in_memory(self) -> bool:
        """Whether models were chosen by all rows to learn from."""
        return len(self.choosing_y) == len(self.y)


_SHOWN_ROWS = 5_000


def sample_rows(records: Any, rows: np.ndarray, seed: int) -> ColumnBatch:
    """At most 5,000 of the rows, drawn at random."""
    drawn = np.random.default_rng(seed).permutation(len(rows))[:_SHOWN_ROWS]
    return records.take(rows[np.sort(drawn)]).X
