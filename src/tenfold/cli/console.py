"""The console: results on stdout, messages on stderr, score tables and the leaderboard."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from io import TextIOWrapper
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_FILE_WIDTH = 100  # characters of a line that is not printed on a terminal


def sanitize(text: object) -> str:
    r"""Text in one line without control characters, which cells and file names may contain.

    Examples
    --------
    >>> sanitize("a\x1b[31m b")
    'a [31m b'
    """
    return " ".join(_replace_control_characters(str(text)).split())


def _replace_control_characters(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)


class ClosedOutput(TextIOWrapper):
    """Stands for a standard stream that is closed; what is written to it is lost."""

    def __init__(self) -> None:
        super().__init__(Path(os.devnull).open("wb"), encoding="utf-8")  # noqa: SIM115


def require_stdout() -> None:
    """Raise an error if the standard output is closed, so that a result would be lost."""
    is_closed = isinstance(sys.stdout, ClosedOutput)
    if is_closed:
        raise ValueError("the standard output is closed: the result cannot be printed")


@dataclass(frozen=True)
class CommandConsole:
    """Output of one command.

    Parameters
    ----------
    json : bool
        Whether the result is one JSON document.
    quiet : bool
        Whether nothing but errors is printed.
    """

    json: bool = False
    quiet: bool = False

    @cached_property
    def out(self) -> Console:
        """Console of results, stdout."""
        return make_console(stderr=False)

    @cached_property
    def err(self) -> Console:
        """Console of messages, stderr."""
        return make_console(stderr=True)

    def log(self, text: str, style: str = "") -> None:
        """Print a message."""
        if not self.quiet:
            self.err.print(sanitize(text), style=style or None, soft_wrap=True)

    def log_all(self, texts: Iterable[str]) -> None:
        """Print several messages."""
        for text in texts:
            self.log(text)

    def print(self, *parts: RenderableType) -> None:
        """Print the result, or parts of it, as text."""
        if not (self.quiet or self.json):
            require_stdout()
            texts = map(_sanitize_part, parts)
            self.out.print(*texts, sep="\n", soft_wrap=_is_text(parts))

    def print_json(self, document: Mapping[str, Any]) -> None:
        """Print the result as JSON, if --json was given."""
        if self.json:
            require_stdout()
            text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
            sys.stdout.write(text + "\n")


def make_console(*, stderr: bool) -> Console:
    """A console without markup; files get a fixed width."""
    from rich.console import Console

    console = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = _FILE_WIDTH
    return console


def _sanitize_part(part: RenderableType) -> RenderableType:
    if not isinstance(part, str):
        return part
    return "\n".join(map(_replace_control_characters, part.split("\n")))


def _is_text(parts: tuple[RenderableType, ...]) -> bool:
    return all(isinstance(part, str) for part in parts)


def make_score_table(scores: Mapping[str, float], intervals: Mapping[str, Any]) -> Any:
    """Scores with their intervals, the deciding one first."""
    from rich.table import Table

    from tenfold.report.format import format_aligned, format_interval, metric_title

    table = Table(box=None, pad_edge=False)
    table.add_column("metric")
    table.add_column("score", justify="right")
    table.add_column("95 % interval", justify="right")
    for name, score in scores.items():
        interval = format_interval(name, *intervals[name])
        table.add_row(metric_title(name), format_aligned(name, score), interval)
    return table


WIDE_BAR, NARROW_BAR = 25, 13  # characters of a drawn interval
_WIDE_TERMINAL = 95  # characters of a line, from which on the wide bar is used


def make_leaderboard(study: Any, width: int) -> Any:
    """The models of a study as a table, the best first; the chosen one has a star."""
    from rich.table import Table

    from tenfold.report.format import metric_title
    from tenfold.report.leaderboard import leaderboard_limits, leaderboard_rows

    table = Table(box=None, pad_edge=False)
    score = metric_title(study.metric)
    for heading in ("", "model", score, "", "95 % interval", "time"):
        right = heading in {score, "95 % interval", "time"}
        table.add_column(heading, justify="right" if right else "left", no_wrap=heading != "model")
    limits, n_chars = leaderboard_limits(study), WIDE_BAR if width >= _WIDE_TERMINAL else NARROW_BAR
    for row in leaderboard_rows(study):
        bar = "" if row.ends is None else draw_interval(row.ends, row.score[1], limits, n_chars)
        title = sanitize(row.title) + (" (reference)" if row.is_reference else "")
        mark, style = ("*", "bold green") if row.is_chosen else ("", None)
        cells = [mark, title, row.score[0], bar, row.interval, row.time[0]]
        table.add_row(*cells, style="dim" if row.is_reference else style)
    return table


def draw_interval(
    ends: tuple[float, float], mean: float, limits: tuple[float, float], width: int = WIDE_BAR
) -> str:
    """A mean and its interval on a scale; an arrow if it lies below the limits.

    Examples
    --------
    >>> draw_interval((0.25, 0.75), 0.5, (0, 1))
    '      ├─────●─────┤      '
    >>> draw_interval((-2, -1), -1.5, (0, 1))
    '‹                        '
    """
    first, last = limits
    if not all(map(isfinite, (*ends, mean, *limits))):
        return " " * width

    def column(value: float) -> int:
        share = (value - first) / (last - first) if last > first else 0.5
        return round(share * (width - 1))

    chars = [" "] * width
    low, high = ends
    for i in range(max(column(low), 0), min(column(high), width - 1) + 1):
        chars[i] = "─"
    for value, char in ((low, "├"), (high, "┤"), (mean, "●")):
        if 0 <= column(value) < width:
            chars[column(value)] = char
    if column(mean) < 0:
        chars[0] = "‹"
    return "".join(chars)


_SEVERITY_STYLES = {"alarm": "bold red", "warning": "yellow", "note": "dim"}


def summarize_study(study: Any) -> Any:
    """The test score and the warnings, one per line."""
    from rich.text import Text

    lines = [Text(_summarize_clusters(study) if study.test is None else _summarize_test(study))]
    lines += [
        Text(
            f"{finding.severity}: {sanitize(finding.text)}",
            _SEVERITY_STYLES.get(finding.severity, ""),
        )
        for finding in study.warnings
    ]
    return Text("\n").join(lines)


def _summarize_clusters(study: Any) -> str:
    from tenfold.report.format import format_count, join_names

    sizes = [format_count(size) for size in study.clusters.sizes]
    return f"The rows form {len(sizes)} clusters, of {join_names(sizes, most=len(sizes))} rows."


def _summarize_test(study: Any) -> str:
    from tenfold.report.format import format_aligned, format_interval, metric_title

    name, title = study.metric, sanitize(study.chosen.title)
    score = f"{metric_title(name)} {format_aligned(name, study.test.scores[name])}"
    baseline = format_aligned(name, study.attempt("baseline").mean)
    return (
        f"{title} on {study.n_test:,} test rows: {score} "
        f"({format_interval(name, *study.test.intervals[name])}); baseline {baseline}."
    )
