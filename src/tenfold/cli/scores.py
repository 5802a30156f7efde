"""Scores with their intervals, as the report writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def ends(metric: str, low: float, high: float) -> str:
    """The ends of an interval, the smaller number first.

    Examples
    --------
    >>> ends("neg_log_loss", -0.5, -0.25)
    '0.250 to 0.500'
    """
    from tenfold.report.scores import lined_up

    low, high = within(metric, low, high)
    first, last = (high, low) if metric.startswith("neg_") else (low, high)
    return f"{lined_up(metric, first)} to {lined_up(metric, last)}"


def within(metric: str, low: float, high: float) -> tuple[float, float]:
    """The part of an interval that a score can reach: no accuracy is above 1.

    Examples
    --------
    >>> within("accuracy", 0.9, 1.03)
    (0.9, 1.0)
    """
    from tenfold.report.scores import natural, score_of

    perfect = score_of(metric).perfect
    return (low, high) if perfect is None else (low, min(high, natural(metric, perfect)))


def score_table(scores: Mapping[str, float], intervals: Mapping[str, Any]) -> Any:
    """Scores with their intervals as a table, the deciding one first."""
    from rich.table import Table

    from tenfold.report.scores import lined_up, title_of

    table = Table(box=None, pad_edge=False)
    table.add_column("score")
    table.add_column("", justify="right")
    table.add_column("95 % interval", justify="right")
    for name, score in scores.items():
        table.add_row(title_of(name), lined_up(name, score), ends(name, *intervals[name]))
    return table
