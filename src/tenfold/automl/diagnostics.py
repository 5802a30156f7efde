"""Diagnostics of a study: leakage, duplicates, identifiers, few rows, overfitting."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.automl.result import Attempt, Finding, Study
from tenfold.automl.target import Target
from tenfold.automl.task_scores import REGRESSION
from tenfold.io.columnar import ColumnBatch, TextColumn

_BINS = 100
_MAX_ROWS = 20_000


def single_column_scores(
    cells: ColumnBatch, y: np.ndarray, k: int | None, seed: int
) -> dict[str, float]:
    """Share of what there is to explain that each column explains alone, on rows held out.

    Half of the rows give a mean (or shares of classes) for each value, or bin, of a column; the
    other half judges them: R², or the accuracy between that of the largest class (0) and 1.

    Examples
    --------
    >>> from tenfold.io.columnar import NumericColumn
    >>> y = np.arange(1000) % 2
    >>> columns = {
    ...     "leak": NumericColumn(y + 5.0),
    ...     "noise": NumericColumn(np.arange(1000.0) // 2 % 7),
    ... }
    >>> cells = ColumnBatch(columns, {"leak": "number", "noise": "number"})
    >>> scores = single_column_scores(cells, y, 2, 0)
    >>> scores["leak"], scores["noise"] < 0.2
    (1.0, True)
    """
    order = np.random.default_rng(seed).permutation(len(y))[:_MAX_ROWS]
    half = len(order) // 2
    wanted = y[:, None].astype(np.float64) if k is None else np.eye(k)[y]
    learn, judge = order[:half], order[half:]
    scores = {}
    for name in cells.names:
        codes = _bin_codes(cells[name])
        means = _bin_means(codes[learn], wanted[learn], int(codes.max()) + 1)
        scores[name] = _explained_share(means[codes[judge]], wanted[judge], wanted[learn], k)
    return scores


def _bin_codes(column: Any) -> np.ndarray:
    """A number for each value, or for each of many bins; missing ones have their own."""
    if isinstance(column, TextColumn):
        return column.codes + 1
    missing = column.missing()
    values = np.where(missing, 0, column.values.astype(np.float64))
    edges = (
        np.unique(np.quantile(values[~missing], np.linspace(0, 1, _BINS)[1:-1]))
        if not missing.all()
        else np.empty(0)
    )
    return np.where(missing, 0, np.searchsorted(edges, values, "right") + 1)


def _bin_means(codes: np.ndarray, wanted: np.ndarray, n: int) -> np.ndarray:
    """Mean of each value, (n, q); that of all rows where a value does not occur."""
    counts = np.bincount(codes, minlength=n)
    sums = np.stack([np.bincount(codes, column, minlength=n) for column in wanted.T], axis=1)
    return np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], wanted.mean(axis=0))


def _explained_share(said: np.ndarray, true: np.ndarray, seen: np.ndarray, k: int | None) -> float:
    if k is None:
        spread = ((true - seen.mean()) ** 2).sum()
        return float(1 - ((true - said) ** 2).sum() / spread) if spread > 0 else 0.0
    right = float((said.argmax(axis=1) == true.argmax(axis=1)).mean())
    guess = float((seen.sum(axis=0).argmax() == true.argmax(axis=1)).mean())
    return (right - guess) / (1 - guess) if guess < 1 else 0.0


_LEAK_SHARE = 0.97  # share of what there is to explain that one column explains alone
_FEW_ROWS = 200
_OVERFIT_GAP = 0.1  # of the deciding score, between training rows and held-out ones
_SKEWED = 2.0
_SKEWNESS_CHUNK = 100_000  # values in one go
_DUPLICATE_SHARE = 0.01


def check_columns(
    kinds: dict[str, Any], mixed: dict[str, tuple], target: str | None
) -> list[Finding]:
    """Columns that are left out, or are not what they seem."""
    found = []
    for kind, word in (("identifier", "identifiers"), ("constant", "constant")):
        names = tuple(n for n, each in kinds.items() if each.kind == kind and n != target)
        if names:
            text = f"Left out as {word}: {_join_names(names)}."
            found.append(Finding(kind, "note", text, names))
    for name, (line, value, count) in mixed.items():
        text = (
            f"{name!r} is numbers but for {count:,} cells, such as {value!r} in line {line}: it is "
            "taken as text. Correct them, or leave them empty, to learn from its numbers."
        )
        found.append(Finding("mixed", "warning", text, (name,)))
    return found


def check_rows(target: Target, n: int, missing: int, rare: list[tuple[Any, int]]) -> list[Finding]:
    """What the number of rows and the target allow."""
    found = []
    if missing:
        text = f"{missing:,} rows have no {target.name!r} and are left out."
        found.append(Finding("missing target", "note", text, (target.name,)))
    if rare:
        names = _join_names([f"{label} ({count})" for label, count in rare])
        text = f"Classes with too few rows for every fold are left out: {names}."
        found.append(Finding("rare classes", "warning", text, (target.name,)))
    if n < _FEW_ROWS:
        text = f"There are only {n} rows: all scores are rough, and so is the choice of the model."
        found.append(Finding("few rows", "warning", text))
    return found + _check_skew(target)


def _check_skew(target: Target) -> list[Finding]:
    if target.task != REGRESSION:
        return []
    y = target.y[target.there]
    skew = _skewness(y)
    if skew < _SKEWED or y.min() <= 0:
        return []
    text = (
        f"{target.name!r} has a long tail of large values (skewness {skew:.1f}), which rule the "
        "squared error: consider learning its logarithm."
    )
    return [Finding("skewed target", "note", text, (target.name,))]


def _skewness(y: np.ndarray) -> float:
    """Mean cube of the standardised values, some at a time."""
    mean, deviation = y.mean(), y.std() or 1.0
    parts = np.array_split(y, len(y) // _SKEWNESS_CHUNK + 1)
    return float(sum((((part - mean) / deviation) ** 3).sum() for part in parts) / len(y))


def check_leakage(
    cells: ColumnBatch, y: np.ndarray, k: int | None, target: str, seed: int
) -> list[Finding]:
    """Columns that predict the target almost perfectly on their own."""
    found = []
    for name, score in single_column_scores(cells, y, k, seed).items():
        if score >= _LEAK_SHARE:
            text = (
                f"{name!r} alone predicts {target!r} almost perfectly ({score:.1%} of what there "
                "is to explain). If it is not known before the target is, leave it out: the scores "
                "are too good to be true."
            )
            found.append(Finding("leak", "alarm", text, (name,)))
    return found


def check_duplicates(train: ColumnBatch, test: ColumnBatch) -> list[Finding]:
    """Test rows that stand among the rows to learn from too."""
    ids = hash_rows(ColumnBatch.joined([train, test]))
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
    many = max(copies, again) > _DUPLICATE_SHARE * len(train)
    return [Finding("duplicates", "warning" if many else "note", text)]


def hash_rows(cells: ColumnBatch) -> np.ndarray:
    """A number for each row that equal rows share, and different rows hardly ever do."""
    mixed = np.zeros(len(cells), np.uint64)
    for name in cells.names:
        column = cells[name]
        bits = column.codes if isinstance(column, TextColumn) else column.values.view(np.int64)
        mixed = (mixed ^ bits.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed


def check_result(study: Study) -> list[Finding]:
    """Over-fitting, a yardstick that is clearly better, a test unlike the folds."""
    return [
        *_check_overfit(study.chosen, study.metric),
        *_check_reference(study.attempts, study.chosen, study.metric),
        *_check_no_signal(study),
        *_check_test_score(study),
    ]


def _check_overfit(chosen: Attempt, metric: str) -> list[Finding]:
    gap = float(np.mean(chosen.train)) - chosen.mean
    scale = abs(float(np.mean(chosen.train))) or 1.0
    if gap < _OVERFIT_GAP * scale:
        return []
    text = (
        f"{chosen.title} does much better on rows it has seen ({metric} "
        f"{np.mean(chosen.train):.3f}) than on others ({chosen.mean:.3f}): it over-fits. More "
        "rows, or fewer columns, would help."
    )
    return [Finding("over-fitting", "warning", text)]


def _check_reference(attempts: list[Attempt], chosen: Attempt, metric: str) -> list[Finding]:
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


def _check_no_signal(study: Study) -> list[Finding]:
    others = [each for each in study.attempts if each.eligible and each.key != "baseline"]
    if study.chosen.key != "baseline" or not others:
        return []
    text = (
        "No model is clearly better than the baseline: the columns say little about "
        f"{study.target!r}, or there are too few rows to see it."
    )
    return [Finding("no signal", "alarm", text)]


def _check_test_score(study: Study) -> list[Finding]:
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


def _join_names(names: Any) -> str:
    names = list(map(str, names))
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
