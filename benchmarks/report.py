"""Tables on the terminal and in RESULTS.md."""

from __future__ import annotations

import os
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from benchmarks.timing import Times

RESULTS = Path(__file__).with_name("RESULTS.md")
HEAD = """# Benchmarks

Written by `make bench`; `python -m benchmarks --list` names the parts that run alone. Ours and the
peers run in turns in one process; times are medians, ± half their range. A ratio is the peer's time
over ours, and counts only when our result is as good. The limit is work that no program avoids, as
BLAS or a plain read does it in the same run on the same cores; kernels of our own may beat BLAS.
"""


class Row(NamedTuple):
    """Cells, and for a row with a target whether it was met."""

    cells: list[str]
    verdict: str = ""


class Table(NamedTuple):
    """What a group of benchmarks has to say."""

    title: str
    header: list[str]
    rows: list[Row]
    notes: list[str]

    @property
    def summary(self) -> str:
        judged = [row for row in self.rows if row.verdict]
        met = sum(row.verdict == "met" for row in judged)
        return f"{self.title}: {met} of {len(judged)} targets met"


def figure(x: float, digits: int = 3) -> str:
    """A number with three significant digits, without an exponent where it is readable."""
    if x == 0 or not 1e-4 <= abs(x) < 1e6:
        return f"{x:.{digits}g}"
    return f"{x:.{max(0, digits - 1 - int(f'{x:e}'.split('e')[1]))}f}"


def timed(times: Times) -> str:
    return f"{figure(times.median)} ±{times.spread:.0%}"


def tell(what: str) -> None:
    """Say what runs now."""
    print(f"... {what}", file=sys.stderr, flush=True)


def show(table: Table) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as Rich

    colour = {"met": "green", "missed": "red"}
    rich = Rich(title=table.title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in [*table.header, "verdict"]:
        rich.add_column(name)
    for row in table.rows:
        rich.add_row(*row.cells, row.verdict, style=colour.get(row.verdict))
    console = Console()
    natural = console.measure(rich, options=console.options.update(width=1000)).maximum
    Console(width=max(console.width, natural)).print(rich)  # rather long lines than folded cells
    for note in table.notes:
        console.print(f"- {note}", highlight=False, markup=False, soft_wrap=True)
    console.print(f"{table.summary}\n", style="bold")


def markdown(table: Table, machine: str) -> str:
    header = [*table.header, "verdict"]
    lines = [[*row.cells, row.verdict] for row in table.rows]
    grid = [header, ["---"] * len(header), *lines]
    body = ["| " + " | ".join(cells) + " |" for cells in grid]
    day = datetime.now(UTC).date().isoformat()
    notes = [f"- {note}" for note in [*table.notes, f"{day}, {machine}"]]
    return "\n".join([f"## {table.title}", "", table.summary + ".", "", *body, "", *notes, ""])


def write(title: str, section: str, order: list[str]) -> None:
    """Replace one section of RESULTS.md and keep the others."""
    old = RESULTS.read_text() if RESULTS.exists() else ""
    parts = [part.rstrip() for part in re.split(r"^## ", old, flags=re.MULTILINE)[1:]]
    kept = {part.splitlines()[0]: f"## {part}\n" for part in parts} | {title: section}
    unfinished = RESULTS.with_name(f".{RESULTS.name}.{os.getpid()}.part")
    try:
        known = [name for name in order if name in kept]
        others = [name for name in kept if name not in order]  # such as "Learning from tables"
        unfinished.write_text("\n".join([HEAD, *(kept[name] for name in known + others)]))
        os.replace(unfinished, RESULTS)
    finally:
        unfinished.unlink(missing_ok=True)
