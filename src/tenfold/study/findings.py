"""What the reader should know: leaks, duplicates, identifiers, few rows, over-fitting."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.rows.cells import Cells, Words
from tenfold.study.result import Attempt, Finding, Study
from tenfold.study.scoring import REGRESSION
from tenfold.study.single_columns import single_scores
from tenfold.study.targets import Target

LEAK = 0.97  # share of what there is to explain that one column explains alone
FEW_ROWS = 200
GAP = 0.1  # of the deciding score, between training rows and held-out ones
SKEWED = 2.0
AT_ONCE = 100_000  # values in one go
MANY_DUPLICATES = 0.01


def of_columns(kinds: dict[str, Any], mixed: dict[str, tuple], target: str | None) -> list[Finding]:
    """Columns that are left out, or are not what they seem."""
    found = []
    for kind, word in (("identifier", "identifiers"), ("constant", "constant")):
        names = tuple(n for n, each in kinds.items() if each.kind == kind and n != target)
        if names:
            text = f"Left out as {word}: {_list(names)}."
            found.append(Finding(kind, "note", text, names))
    for name, (line, value, count) in mixed.items():
        text = (
            f"{name!r} is numbers but for {count:,} cells, such as {value!r} in line {line}: it is "
            "taken as text. Correct them, or leave them empty, to learn from its numbers."
        )
        found.append(Finding("mixed", "warning", text, (name,)))
    return found


def of_rows(target: Target, n: int, missing: int, rare: list[tuple[Any, int]]) -> list[Finding]:
    """What the number of rows and the target allow."""
    found = []
    if missing:
        text = f"{missing:,} rows have no {target.name!r} and are left out."
        found.append(Finding("missing target", "note", text, (target.name,)))
    if rare:
        names = _list([f"{label} ({count})" for label, count in rare])
        text = f"Classes with too few rows for every fold are left out: {names}."
        found.append(Finding("rare classes", "warning", text, (target.name,)))
    if n < FEW_ROWS:
        text = f"There are only {n} rows: all scores are rough, and so is the choice of the model."
        found.append(Finding("few rows", "warning", text))
    return found + _skew(target)


def _skew(target: Target) -> list[Finding]:
    if target.task != REGRESSION:
        return []
    y = target.y[target.there]
    skew = _skewness(y)
    if skew < SKEWED or y.min() <= 0:
        return []
    text = (
        f"{target.name!r} has a long tail of large values (skewness {skew:.1f}), which rule the "
        "squared error: consider learning its logarithm."
    )
    return [Finding("skewed target", "note", text, (target.name,))]


def _skewness(y: np.ndarray) -> float:
    """Mean cube of the standardised values, some at a time."""
    mean, deviation = y.mean(), y.std() or 1.0
    parts = np.array_split(y, len(y) // AT_ONCE + 1)
    return float(sum((((part - mean) / deviation) ** 3).sum() for part in parts) / len(y))


def of_leaks(cells: Cells, y: np.ndarray, k: int | None, target: str, seed: int) -> list[Finding]:
    """Columns that predict the target almost perfectly on their own."""
    found = []
    for name, score in single_scores(cells, y, k, seed).items():
        if score >= LEAK:
            text = (
                f"{name!r} alone predicts {target!r} almost perfectly ({score:.1%} of what there "
                "is to explain). If it is not known before the target is, leave it out: the scores "
                "are too good to be true."
            )
            found.append(Finding("leak", "alarm", text, (name,)))
    return found


def of_duplicates(train: Cells, test: Cells) -> list[Finding]:
    """Test rows that stand among the rows to learn from too."""
    ids = row_numbers(Cells.joined([train, test]))
    learned, sealed = np.unique(ids[: len(train)]), ids[len(train) :]
    copies = int(np.isin(sealed, learned).sum())
    again = len(train) - len(learned)
    if copies + again == 0:
        return []
    text = (
        f"{again:,} of {len(train):,} rows to learn from repeat another, and {copies:,} of "
        f"{len(test):,} test rows are among them: a model that remembers rows looks better than "
        "it is."
    )
    many = max(copies, again) > MANY_DUPLICATES * len(train)
    return [Finding("duplicates", "warning" if many else "note", text)]


def row_numbers(cells: Cells) -> np.ndarray:
    """A number for each row that equal rows share, and different rows hardly ever do."""
    mixed = np.zeros(len(cells), np.uint64)
    for name in cells.names:
        column = cells[name]
        bits = column.codes if isinstance(column, Words) else column.values.view(np.int64)
        mixed = (mixed ^ bits.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed


def of_result(study: Study) -> list[Finding]:
    """Over-fitting, a yardstick that is clearly better, a test unlike the folds."""
    return [
        *_gap(study.chosen, study.metric),
        *_yardstick(study.attempts, study.chosen, study.metric),
        *_useless(study),
        *_surprise(study),
    ]


def _gap(chosen: Attempt, metric: str) -> list[Finding]:
    gap = float(np.mean(chosen.train)) - chosen.mean
    scale = abs(float(np.mean(chosen.train))) or 1.0
    if gap < GAP * scale:
        return []
    text = (
        f"{chosen.title} does much better on rows it has seen ({metric} "
        f"{np.mean(chosen.train):.3f}) than on others ({chosen.mean:.3f}): it over-fits. More "
        "rows, or fewer columns, would help."
    )
    return [Finding("over-fitting", "warning", text)]


def _yardstick(attempts: list[Attempt], chosen: Attempt, metric: str) -> list[Finding]:
    found = []
    for attempt in attempts:
        clearly = attempt.mean - chosen.mean > 2 * max(attempt.error, chosen.error)
        if attempt.yardstick and attempt.finished and clearly:
            text = (
                f"Boosted trees would score {attempt.mean:.3f} here against {chosen.mean:.3f} "
                f"({metric}): the table holds steps or interactions that the models here miss."
            )
            found.append(Finding("yardstick", "warning", text))
    return found


def _useless(study: Study) -> list[Finding]:
    others = [each for each in study.attempts if each.eligible and each.key != "baseline"]
    if study.chosen.key != "baseline" or not others:
        return []
    text = (
        "No model is clearly better than the baseline: the columns say little about "
        f"{study.target!r}, or there are too few rows to see it."
    )
    return [Finding("no signal", "alarm", text)]


def _surprise(study: Study) -> list[Finding]:
    if study.test is None or len(study.chosen.scores) < 2:
        return []
    low, high = study.test.intervals[study.metric]
    at = study.chosen.interval()
    if at.low <= high and low <= at.high:
        return []
    text = (
        f"The sealed test ({study.metric} {study.test.scores[study.metric]:.3f}) lies outside of "
        f"what the folds led to expect ({at.low:.3f} to {at.high:.3f}): rows may not be alike, or "
        "may depend on each other."
    )
    return [Finding("surprise", "warning", text)]


def _list(names: Any) -> str:
    names = list(map(str, names))
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
