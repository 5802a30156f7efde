"""The console: results on stdout, messages on stderr, score tables and the leaderboard."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_FILE_WIDTH = 100  # columns of a table that goes to a file


def sanitize(text: object) -> str:
    r"""Text in one line without control characters: cells and file names are not to be trusted.

    Examples
    --------
    >>> sanitize("a\x1b[31m b")
    'a [31m b'
    """
    return " ".join(_replace_control_characters(str(text)).split())


def _replace_control_characters(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


@dataclass(frozen=True)
class CommandConsole:
    """How one command speaks."""

    json: bool = False
    quiet: bool = False

    @cached_property
    def out(self) -> Console:
        """Where results go."""
        return make_console(stderr=False)

    @cached_property
    def err(self) -> Console:
        """Where talk goes."""
        return make_console(stderr=True)

    def log(self, text: str, style: str = "") -> None:
        """Talk while working."""
        if not self.quiet:
            self.err.print(sanitize(text), style=style or None, soft_wrap=True)

    def log_all(self, texts: Iterable[str]) -> None:
        """Several sentences of talk."""
        for text in texts:
            self.log(text)

    def print(self, *shown: RenderableType) -> None:
        """Give a person the result, or parts of it."""
        if not (self.quiet or self.json):
            self.out.print(
                *(_sanitize_part(part) for part in shown), sep="\n", soft_wrap=_is_text(shown)
            )

    def print_json(self, document: Mapping[str, Any]) -> None:
        """Give a machine the result, if that was asked for."""
        if self.json:
            text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
            sys.stdout.write(text + "\n")


def make_console(*, stderr: bool) -> Console:
    """A console that takes text literally, and is wide enough for a table in a file."""
    from rich.console import Console

    made = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not made.is_terminal:
        made.width = _FILE_WIDTH
    return made


def _sanitize_part(part: RenderableType) -> RenderableType:
    return (
        "\n".join(map(_replace_control_characters, part.split("\n")))
        if isinstance(part, str)
        else part
    )


def _is_text(shown: tuple[RenderableType, ...]) -> bool:
    return all(isinstance(part, str) for part in shown)


def format_interval(metric: str, low: float, high: float) -> str:
    """The ends of an interval, the smaller number first.

    Examples
    --------
    >>> format_interval("neg_log_loss", -0.5, -0.25)
    '0.250 to 0.500'
    """
    from tenfold.report.format import format_aligned

    low, high = clip_interval(metric, low, high)
    first, last = (high, low) if metric.startswith("neg_") else (low, high)
    return f"{format_aligned(metric, first)} to {format_aligned(metric, last)}"


def clip_interval(metric: str, low: float, high: float) -> tuple[float, float]:
    """The part of an interval that a score can reach: no accuracy is above 1.

    Examples
    --------
    >>> clip_interval("accuracy", 0.9, 1.03)
    (0.9, 1.0)
    """
    from tenfold.report.format import display_value, metric_label

    perfect = metric_label(metric).perfect
    return (low, high) if perfect is None else (low, min(high, display_value(metric, perfect)))


def make_score_table(scores: Mapping[str, float], intervals: Mapping[str, Any]) -> Any:
    """Scores with their intervals as a table, the deciding one first."""
    from rich.table import Table

    from tenfold.report.format import format_aligned, metric_title

    table = Table(box=None, pad_edge=False)
    table.add_column("score")
    table.add_column("", justify="right")
    table.add_column("95 % interval", justify="right")
    for name, score in scores.items():
        table.add_row(
            metric_title(name), format_aligned(name, score), format_interval(name, *intervals[name])
        )
    return table


WIDE_BAR, NARROW_BAR = 25, 13  # letters of a drawn interval


def make_leaderboard(study: Any, width: int) -> Any:
    """The attempts of a study as a table, the best first; the chosen one has a star."""
    from rich.table import Table

    from tenfold.report.format import metric_title

    table = Table(box=None, pad_edge=False)
    score = metric_title(study.metric)
    for heading in ("", "model", score, "", "95 % interval", "time"):
        right = heading in {score, "95 % interval", "time"}
        table.add_column(heading, justify="right" if right else "left", no_wrap=heading != "model")
    low, high = _bar_limits(study)
    letters = WIDE_BAR if width >= 95 else NARROW_BAR
    for attempt in study.ranked:
        row = _leaderboard_row(
            study, attempt, partial(draw_interval, first=low, last=high, width=letters)
        )
        table.add_row(*row, style=_row_style(study, attempt))
    return table


def _leaderboard_row(study: Any, attempt: Any, drawn: Callable[..., str]) -> list[str]:
    from tenfold.report.format import format_aligned, format_duration

    mark = "*" if attempt is study.chosen else ""
    score, took = format_aligned(study.metric, attempt.mean), format_duration(attempt.seconds)
    if len(attempt.scores) < 2:
        return [mark, _attempt_title(attempt), score, "", "", took]
    low, high = _attempt_interval(study, attempt)
    line = drawn(low, attempt.mean, high)
    return [
        mark,
        _attempt_title(attempt),
        score,
        line,
        format_interval(study.metric, low, high),
        took,
    ]


def _attempt_title(attempt: Any) -> str:
    """The title; of the yardstick without the words that say whose it is."""
    title = sanitize(attempt.title)
    return f"{title.partition(':')[0]} (yardstick)" if attempt.yardstick else title


def _attempt_interval(study: Any, attempt: Any) -> tuple[float, float]:
    at = attempt.interval()
    return clip_interval(study.metric, at.low, at.high)


def _row_style(study: Any, attempt: Any) -> str | None:
    if attempt is study.chosen:
        return "bold green"
    return "dim" if attempt.yardstick else None


def _bar_limits(study: Any) -> tuple[float, float]:
    """Where the bars begin and end; the baseline may lie to the left of it."""
    tried = [each for each in study.ranked if len(each.scores) > 1]
    best = [each for each in tried if each.key != "baseline"] or tried
    intervals = [_attempt_interval(study, each) for each in best]
    if not intervals:
        return 0.0, 1.0
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def draw_interval(
    low: float, middle: float, high: float, first: float, last: float, width: int = WIDE_BAR
) -> str:
    """An interval on a scale.

    Examples
    --------
    >>> draw_interval(0.25, 0.5, 0.75, 0, 1)
    '      ├─────●─────┤      '
    >>> draw_interval(-2, -1.5, -1, 0, 1)
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


_SEVERITY_STYLES = {"alarm": "bold red", "warning": "yellow", "note": "dim"}


def summarize_study(study: Any) -> Any:
    """The sentences, each a line."""
    from rich.text import Text

    said = [Text(_summarize_clusters(study) if study.test is None else _summarize_test(study))]
    said += [
        Text(
            f"{finding.severity}: {sanitize(finding.text)}",
            _SEVERITY_STYLES.get(finding.severity, ""),
        )
        for finding in study.warnings
    ]
    return Text("\n").join(said)


def _summarize_clusters(study: Any) -> str:
    *others, last = (f"{int(size):,}" for size in study.clusters.sizes)
    sizes = f"{', '.join(others)} and {last}" if others else last
    return f"The rows fall into {len(study.clusters.sizes)} groups, of {sizes} rows."


def _summarize_test(study: Any) -> str:
    from tenfold.report.format import format_aligned, metric_title

    name, title = study.metric, sanitize(study.chosen.title)
    score = f"{metric_title(name)} {format_aligned(name, study.test.scores[name])}"
    base = format_aligned(name, study.attempt("baseline").mean)
    return (
        f"{title} on {study.n_test:,} rows that no model had seen: {score} "
        f"({format_interval(name, *study.test.intervals[name])}); the baseline has {base}."
    )
