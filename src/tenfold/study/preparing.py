"""Before any model is tried: read the target, judge the columns, seal the test part."""

from __future__ import annotations

from math import ceil
from typing import Any, NamedTuple

import numpy as np

from tenfold.study import findings
from tenfold.study.asked import Asked
from tenfold.study.finishing import Learning
from tenfold.study.result import Finding
from tenfold.study.scoring import Scoring, scoring_of
from tenfold.study.targets import Target, read_target, without_rare
from tenfold.study.watching import Watch
from tenfold.tables.encoder import TableEncoder
from tenfold.tables.kinds import column_kinds

CHOOSING_ROWS = 50_000
CHOOSING_BYTES = 2**25  # of encoded rows
FEWEST_CHOOSING = 5_000
MOST_TEST = 200_000  # more rows would make no interval visibly shorter
FEWEST_ROWS = 10
WIDTH_ROWS = 2_000  # rows that tell how wide the encoded table is


class Split(NamedTuple):
    """Numbers of rows: to learn from, to choose by (some of them), and sealed."""

    train: np.ndarray
    choosing: np.ndarray
    test: np.ndarray


class Prepared(NamedTuple):
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
    scoring: Scoring
    split: Split
    data: Learning
    found: list[Finding]

    def encoder(self) -> TableEncoder:
        """An unfitted encoder that knows the kinds of the columns."""
        return encoder_of(self.kinds, self.table.names)


def prepared(records: Any, asked: Asked, watch: Watch) -> Prepared:
    """Read the target, judge the columns, split the rows."""
    watch.stage("Looking at the columns")
    target, rare, missing = _target(records, asked)
    watch.said(f"{target.why}.")
    kinds = column_kinds(records, target.name, asked.kinds)
    table = without_target(records, useful_columns(kinds, target.name))
    rows = target.there
    found = findings.of_columns(kinds, records.mixed, target.name)
    found += findings.of_rows(target, len(rows), missing, rare)
    split = _split(table, target, asked, encoder_of(kinds, table.names))
    scoring = scoring_of(target.task, target.y[split.train], _k(target), asked.metric)
    watch.said(_plan(split, scoring, asked))
    cells, y = table.take(split.choosing).X, target.y
    data = Learning(table, split.train, y[split.train], cells, y[split.choosing])
    return Prepared(records, table, kinds, target, scoring, split, data, found)


def without_target(records: Any, names: list[str]) -> Any:
    """Some columns of a table, none of which is to be predicted."""
    table = records.select(names)
    table.target = None
    return table


def encoder_of(kinds: dict[str, Any], names: list[str]) -> TableEncoder:
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


def _target(records: Any, asked: Asked) -> tuple[Target, list[tuple[Any, int]], int]:
    """The target without classes that are too rare; these; and how many rows have no target."""
    target = read_target(records, str(asked.target), asked.task)
    there = len(target.there)
    if there < FEWEST_ROWS:
        raise ValueError(
            f"{there} rows with a target are too few to learn from and to judge by: give at least "
            f"{FEWEST_ROWS}, better some hundreds"
        )
    least = ceil(asked.folds / (1 - asked.test_share))
    target, rare = without_rare(target, least)
    return target, rare, records.n_rows - there


def _split(table: Any, target: Target, asked: Asked, encoder: TableEncoder) -> Split:
    """Seal the test part; of the rest draw those that models are chosen by."""
    rows = target.there
    labels = None if target.classes is None else target.y
    rng = np.random.default_rng(asked.seed)
    train, test = parted(rows, labels, min(asked.test_share, MOST_TEST / len(rows)), rng)
    if len(train) < asked.folds or not len(test):
        raise ValueError(
            f"{len(rows)} rows cannot make {asked.folds} folds and a test part: give more rows"
        )
    most = choosing_rows(table, train, encoder)
    if len(train) <= most:
        return Split(train, train, test)
    return Split(train, parted(train, labels, most / len(train), rng)[1], test)


def parted(
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
    >>> stay, drawn = parted(np.arange(20), labels, 0.2, np.random.default_rng(0))
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


def choosing_rows(table: Any, rows: np.ndarray, encoder: TableEncoder) -> int:
    """How many rows models are chosen by: fewer if they are wide."""
    if len(rows) <= FEWEST_CHOOSING:
        return len(rows)
    step = max(len(rows) // WIDTH_ROWS, 1)
    encoder.fit(table.pick(rows[::step]))
    if encoder.sparse_:
        return CHOOSING_ROWS
    wide = CHOOSING_BYTES // (8 * max(len(encoder.origin_), 1))
    return int(np.clip(wide, FEWEST_CHOOSING, CHOOSING_ROWS))


def _k(target: Target) -> int | None:
    return None if target.classes is None else len(target.classes)


def _plan(split: Split, scoring: Scoring, asked: Asked) -> str:
    some = "" if len(split.choosing) == len(split.train) else f" (on {len(split.choosing):,})"
    return (
        f"{len(split.train):,} rows to learn from, {len(split.test):,} sealed for the final test; "
        f"models are chosen by {scoring.deciding} in {asked.folds} folds{some}."
    )
