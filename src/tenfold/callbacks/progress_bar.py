"""Progress of fits: a bar on a terminal, a line every ten seconds elsewhere.

On a terminal it is a bar that rich redraws ten times a second; elsewhere (a log file, a notebook)
a plain line every ten seconds. Fits that end at once show nothing.
"""

from __future__ import annotations

import os
import sys
import threading
from time import perf_counter
from typing import Any
from weakref import ref

from tenfold.engine.chunk import Chunk
from tenfold.engine.merge_tree import MergeTree
from tenfold.engine.task import FoldTask

_SECONDS_BEFORE_BAR = 0.5  # seconds without a bar
_SECONDS_BETWEEN_LINES = 10.0  # seconds, where there is no terminal
_SLOW_PASS_SECONDS = 1.0  # seconds: shorter passes would make a bar flicker, so it only pulses


class _ProgressState:
    on = os.environ.get("TENFOLD_PROGRESS", "") not in ("", "0")
    lock = threading.Lock()
    shown: ref[FitProgress] | None = None  # the one bar that may be on the screen


def progress(on: bool = True) -> ProgressSwitch:
    """Show how far fits are, in this process from now on, or within a `with` block.

    A fit then shows its model, the number of the pass over the rows, how much of the pass is done,
    rows per second, the time left for the pass, the objective, and the time since it began. The
    default is off, and on where the environment has TENFOLD_PROGRESS=1. All goes to stderr: a bar
    on a terminal, a line every ten seconds elsewhere.

    Examples
    --------
    >>> import tenfold
    >>> tenfold.progress(False)
    progress is off
    >>> with tenfold.progress():  # on in this block
    ...     print(tenfold.progress(True))
    progress is on
    """
    before, _ProgressState.on = _ProgressState.on, on
    return ProgressSwitch(before)


def is_progress_on() -> bool:
    """Whether fits show how far they are."""
    return _ProgressState.on


class ProgressSwitch:
    """The switch after it was turned; as a context manager it turns back at the end."""

    def __init__(self, before: bool) -> None:
        self.before = before

    def __repr__(self) -> str:
        return f"progress is {'on' if _ProgressState.on else 'off'}"

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        _ProgressState.on = self.before


class FitProgress:
    """The line of one fit. Threads that fold only count; drawing happens elsewhere."""

    def __init__(self, title: str) -> None:
        from rich.console import Console

        self.title = title
        self.console = Console(stderr=True)
        self.live: Any = None
        self.lock = threading.Lock()
        self.start = self.pass_start = perf_counter()
        self.next = self.start + (
            _SECONDS_BEFORE_BAR if self.console.is_terminal else _SECONDS_BETWEEN_LINES
        )
        self.passes = self.total = 0  # number of the pass, and its rows
        self.rows = self.covered = self.all_rows = 0  # done: in this pass, before it, in all
        self.slow = False  # passes are slow enough for a bar of their own
        self.objective: float | None = None
        self.lines = 0  # written, where there is no terminal
        self.over = False

    def begin(self, task: FoldTask, tree: MergeTree) -> None:
        """A pass begins, perhaps with chunks of a checkpoint."""
        grid, self.total = task.source.grid, task.source.n_rows
        known = sum(grid << level for level, _ in tree.nodes)
        self.rows = self.covered = min(known, self.total)
        self.passes += 1
        self.pass_start = perf_counter()
        self._look(self.pass_start)

    def done(self, chunk: Chunk) -> None:
        """A chunk was folded, in any thread."""
        with self.lock:
            self.rows += chunk.rows
            self.all_rows += chunk.rows
        self._look(perf_counter())

    def end(self) -> None:
        """The pass has ended."""
        now = perf_counter()
        self.slow = now - self.pass_start > _SLOW_PASS_SECONDS
        self._look(now)

    def _look(self, now: float) -> None:
        """Draw for the first time, or write the next line, if it is time."""
        if now < self.next:
            return
        with self.lock:
            if now < self.next:
                return
            self.next = now + _SECONDS_BETWEEN_LINES
            if not self.console.is_terminal:
                self._write()
            elif self.live is None:
                self.live = self._start_live()

    def _write(self) -> None:
        self.lines += 1
        self.console.print(*self.head(), *self.tail(), sep="  ", soft_wrap=True, highlight=False)

    def _start_live(self) -> Any:
        from rich.live import Live

        live = Live(
            get_renderable=self.drawn,
            console=self.console,
            refresh_per_second=10,
            redirect_stdout=sys.stdout.isatty(),  # what goes to a file must still go there
        )
        live.start(refresh=True)
        return live

    def close(self) -> None:
        """The fit has ended: a bar that was shown turns into a summary."""
        self.over = True
        if self.live is not None:
            self.live.stop()
        elif self.lines:
            self._write()

    def drawn(self) -> Any:
        """The line as rich draws it: the bar fills the space between the texts."""
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        head, words = "  ".join(self.head()), self.tail()
        if self.is_slow() and len("  ".join([head, *words])) + 6 > self.console.width:
            words = words[1:]  # the bar says how much is done
        tail = "  ".join(words)
        if self.over:
            return Text(f"{head}  {tail}", no_wrap=True, overflow="ellipsis")
        width = min(max(self.console.width - len(head) - len(tail) - 2, 4), 30)
        bar = ProgressBar(self.total or 1, self.rows, width, pulse=not self.is_slow())
        line = Table.grid(padding=(0, 1))
        line.add_row(Text(head, no_wrap=True), bar, Text(tail, no_wrap=True))
        return line

    def is_slow(self) -> bool:
        """Whether the pass takes so long that one wants to know how far it is."""
        return not self.over and (
            self.slow or perf_counter() - self.pass_start > _SLOW_PASS_SECONDS
        )

    def head(self) -> list[str]:
        """The text before the bar."""
        if not self.over:
            return [self.title, f"pass {self.passes}"]
        return [self.title, f"{self.passes} pass{'es' * (self.passes != 1)}"]

    def tail(self) -> list[str]:
        """The text after the bar: of the pass if it is slow, else of the fit so far."""
        now = perf_counter()
        shown = (
            self._pace(now) if self.is_slow() else [_format_speed(self.all_rows, now - self.start)]
        )
        if self.objective is not None:
            shown.append(f"objective {self.objective:.6g}")
        return [*shown, format_duration(now - self.start)]

    def _pace(self, now: float) -> list[str]:
        seconds, rows = now - self.pass_start, self.rows - self.covered
        left = format_duration((self.total - self.rows) * seconds / rows) if rows else "?"
        done = f"{format_count(self.rows)}/{format_count(self.total)}"
        return [done, _format_speed(rows, seconds), f"{left} left"]


def _format_speed(rows: int, seconds: float) -> str:
    return f"{format_count(rows / max(seconds, 1e-9))} rows/s"


def open_bar(title: str) -> FitProgress | None:
    """A bar for a fit, if progress is on and no other fit has one."""
    if not _ProgressState.on:
        return None
    with _ProgressState.lock:
        if has_bar():
            return None
        bar = FitProgress(title)
        _ProgressState.shown = ref(bar)
        return bar


def has_bar() -> bool:
    """Whether some fit has a bar now."""
    bar = None if _ProgressState.shown is None else _ProgressState.shown()
    return bar is not None and not bar.over


def format_count(number: float) -> str:
    """A count in at most five letters.

    Examples
    --------
    >>> format_count(950), format_count(12_345), format_count(4e6), format_count(2.44e9)
    ('950', '12.3k', '4.00M', '2.44G')
    """
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            scaled = number / size
            digits = 2 if scaled < 10 else 1 if scaled < 100 else 0
            return f"{scaled:.{digits}f}{unit}"
    return f"{number:.0f}"


def format_duration(seconds: float) -> str:
    """Seconds as a clock shows them.

    Examples
    --------
    >>> format_duration(75), format_duration(3700)
    ('1:15', '1:01:40')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
