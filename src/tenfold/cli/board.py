"""The leaderboard on a terminal: scores, intervals drawn as bars, times."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tenfold.cli.scores import ends, within
from tenfold.cli.speaking import printable

WIDE, NARROW = 25, 13  # letters of a drawn interval


def board(study: Any, width: int) -> Any:
    """The attempts of a study as a table, the best first; the chosen one has a star."""
    from rich.table import Table

    from tenfold.report.scores import title_of

    table = Table(box=None, pad_edge=False)
    score = title_of(study.metric)
    for heading in ("", "model", score, "", "95 % interval", "time"):
        right = heading in {score, "95 % interval", "time"}
        table.add_column(heading, justify="right" if right else "left", no_wrap=heading != "model")
    low, high = _scale(study)
    letters = WIDE if width >= 95 else NARROW
    for attempt in study.ranked:
        row = _row(study, attempt, partial(bar, first=low, last=high, width=letters))
        table.add_row(*row, style=_style(study, attempt))
    return table


def _row(study: Any, attempt: Any, drawn: Callable[..., str]) -> list[str]:
    from tenfold.report.numbers import seconds
    from tenfold.report.scores import lined_up

    mark = "*" if attempt is study.chosen else ""
    score, took = lined_up(study.metric, attempt.mean), seconds(attempt.seconds)
    if len(attempt.scores) < 2:
        return [mark, _name(attempt), score, "", "", took]
    low, high = _ends(study, attempt)
    line = drawn(low, attempt.mean, high)
    return [mark, _name(attempt), score, line, ends(study.metric, low, high), took]


def _name(attempt: Any) -> str:
    """The title; of the yardstick without the words that say whose it is."""
    title = printable(attempt.title)
    return f"{title.partition(':')[0]} (yardstick)" if attempt.yardstick else title


def _ends(study: Any, attempt: Any) -> tuple[float, float]:
    at = attempt.interval()
    return within(study.metric, at.low, at.high)


def _style(study: Any, attempt: Any) -> str | None:
    if attempt is study.chosen:
        return "bold green"
    return "dim" if attempt.yardstick else None


def _scale(study: Any) -> tuple[float, float]:
    """Where the bars begin and end; the baseline may lie to the left of it."""
    tried = [each for each in study.ranked if len(each.scores) > 1]
    best = [each for each in tried if each.key != "baseline"] or tried
    intervals = [_ends(study, each) for each in best]
    if not intervals:
        return 0.0, 1.0
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def bar(
    low: float, middle: float, high: float, first: float, last: float, width: int = WIDE
) -> str:
    """An interval on a scale.

    Examples
    --------
    >>> bar(0.25, 0.5, 0.75, 0, 1)
    '      ├─────●─────┤      '
    >>> bar(-2, -1.5, -1, 0, 1)
    '‹                        '
    """

    def place(value: float) -> int:
        share = (value - first) / (last - first) if last > first else 0.5
        return round(share * (width - 1))

    letters = [" "] * width
    for at in range(max(place(low), 0), min(place(high), width - 1) + 1):
        letters[at] = "─"
    for value, letter in ((low, "├"), (high, "┤"), (middle, "●")):
        if 0 <= place(value) < width:
            letters[place(value)] = letter
    if place(middle) < 0:
        letters[0] = "‹"
    return "".join(letters)
