"""What came out, in sentences: which model and why, the sealed test, what to be wary of."""

from __future__ import annotations

from typing import Any

from tenfold.cli.scores import ends
from tenfold.cli.speaking import printable

STYLES = {"alarm": "bold red", "warning": "yellow", "note": "dim"}


def verdict(study: Any) -> Any:
    """The sentences, each a line."""
    from rich.text import Text

    said = [Text(_groups(study) if study.test is None else _test(study))]
    said += [
        Text(f"{finding.severity}: {printable(finding.text)}", STYLES.get(finding.severity, ""))
        for finding in study.warnings
    ]
    return Text("\n").join(said)


def _groups(study: Any) -> str:
    *others, last = (f"{int(size):,}" for size in study.clusters.sizes)
    sizes = f"{', '.join(others)} and {last}" if others else last
    return f"The rows fall into {len(study.clusters.sizes)} groups, of {sizes} rows."


def _test(study: Any) -> str:
    from tenfold.report.scores import lined_up, title_of

    name, title = study.metric, printable(study.chosen.title)
    score = f"{title_of(name)} {lined_up(name, study.test.scores[name])}"
    base = lined_up(name, study.attempt("baseline").mean)
    return (
        f"{title} on {study.n_test:,} rows that no model had seen: {score} "
        f"({ends(name, *study.test.intervals[name])}); the baseline has {base}."
    )
