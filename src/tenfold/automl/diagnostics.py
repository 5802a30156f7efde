"""Diagnostics of a study: leakage, duplicates, identifiers, few rows, overfitting."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.automl.result import Attempt, Finding, Study
from tenfold.automl.target import Target
from tenfold.automl.task_scores import REGRESSION
from tenfold.automl.value_ranges import SMALLEST_RANGE
from tenfold.io.columnar import ColumnBatch, TextColumn

_BINS = 100  # bins of a numeric column
_MAX_ROWS = 20_000  # rows on which single columns are scored


def single_column_scores(
    cells: ColumnBatch, y: np.ndarray, k: int | None, seed: int
) -> dict[str, float]:
    """Share of the variance (or of the errors) that each column explains alone, on held-out rows.

    Half of the rows give a mean (or class frequencies) for each value, or bin, of a column; the
    other half scores them: R², or the accuracy rescaled from that of the largest class (0) to 1.

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
    targets = y[:, None].astype(np.float64) if k is None else np.eye(k)[y]
    train, test = order[:half], order[half:]
    scores = {}
    for name in cells.names:
        codes = _bin_codes(cells[name])
        means = _bin_means(codes[train], targets[train], int(codes.max()) + 1)
        scores[name] = _explained_share(means[codes[test]], targets[test], targets[train], k)
    return scores


def _bin_codes(column: Any) -> np.ndarray:
    """A code for each value, or for each bin; missing values have their own."""
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


def _bin_means(codes: np.ndarray, targets: np.ndarray, n: int) -> np.ndarray:
    """Mean target of each code, (n_codes, n_targets); the overall mean where none occurs."""
    counts = np.bincount(codes, minlength=n)
    sums = np.stack([np.bincount(codes, column, minlength=n) for column in targets.T], axis=1)
    means = sums / np.maximum(counts, 1)[:, None]
    return np.where(counts[:, None] > 0, means, targets.mean(axis=0))


def _explained_share(
    predictions: np.ndarray, true: np.ndarray, train: np.ndarray, k: int | None
) -> float:
    if k is None:
        total = ((true - train.mean()) ** 2).sum()
        return float(1 - ((true - predictions) ** 2).sum() / total) if total > 0 else 0.0
    accuracy = float((predictions.argmax(axis=1) == true.argmax(axis=1)).mean())
    baseline = float((train.sum(axis=0).argmax() == true.argmax(axis=1)).mean())
    return (accuracy - baseline) / (1 - baseline) if baseline < 1 else 0.0


_LEAK_SHARE = 0.97  # explained share from which a single column is suspected of leakage
_FEW_ROWS = 200  # rows below which scores are imprecise
# Models that fit their training rows almost perfectly even where they predict others well.
_INTERPOLATING = (
    "forest",
    "boosting",
    "neighbors",
    "kernel_svm",
    "gaussian_process",
    "ensemble",
)
_OVERFIT_GAP = 0.1  # relative gap between training and held-out score
_SKEWED = 2.0  # skewness of a target from which its logarithm is suggested
_SKEWNESS_CHUNK = 100_000  # values at a time, to save memory
_DUPLICATE_SHARE = 0.01  # fraction of duplicates from which they are a warning


_TINY = (
    "{!r} has numbers that differ by less than 1e-150, too little to compute with. Multiply the "
    "column by a constant, such as 1e200."
)


def check_columns(
    kinds: dict[str, Any], mixed: dict[str, tuple], target: str | None
) -> list[Finding]:
    """Excluded columns, and columns with cells of another type."""
    findings = []
    for kind, word in (("identifier", "identifiers"), ("constant", "constant")):
        names = tuple(n for n, column in kinds.items() if column.kind == kind and n != target)
        if names:
            text = f"Excluded as {word}: {_join_names(names)}."
            findings.append(Finding(kind, "note", text, names))
    findings += [
        Finding("tiny numbers", "warning", _TINY.format(name), (name,))
        for name, column in kinds.items()
        if name != target and column.kind == "number" and _is_tiny(column)
    ]
    for name, (line, value, count) in mixed.items():
        text = (
            f"{name!r} holds numbers except in {count:,} cells, such as {value!r} in line {line}: "
            "it is treated as text. Correct these cells, or leave them empty, to use its numbers."
        )
        findings.append(Finding("mixed", "warning", text, (name,)))
    return findings


def _is_tiny(column: Any) -> bool:
    return column.low is not None and 0 < column.high - column.low < SMALLEST_RANGE


def check_rows(target: Target, n: int, missing: int, rare: list[tuple[Any, int]]) -> list[Finding]:
    """Missing targets, rare classes, few rows, and a skewed target."""
    findings = []
    if missing:
        text = f"{missing:,} rows have no {target.name!r} and are excluded."
        findings.append(Finding("missing target", "note", text, (target.name,)))
    if rare:
        names = _join_names([f"{label} ({count})" for label, count in rare])
        text = f"Classes with too few rows for every fold are excluded: {names}."
        findings.append(Finding("rare classes", "warning", text, (target.name,)))
    if n < _FEW_ROWS:
        text = f"There are only {n} rows: scores and the choice of the model are imprecise."
        findings.append(Finding("few rows", "warning", text))
    return findings + _check_skew(target)


def _check_skew(target: Target) -> list[Finding]:
    if target.task != REGRESSION:
        return []
    y = target.y[target.known_rows]
    skew = _skewness(y)
    if skew < _SKEWED or y.min() <= 0:
        return []
    text = (
        f"{target.name!r} has a long tail of large values (skewness {skew:.1f}), which dominate "
        "the squared error: consider predicting its logarithm."
    )
    return [Finding("skewed target", "note", text, (target.name,))]


def _skewness(y: np.ndarray) -> float:
    """Mean cube of the standardized values, computed in chunks."""
    mean, deviation = y.mean(), y.std() or 1.0
    parts = np.array_split(y, len(y) // _SKEWNESS_CHUNK + 1)
    return float(sum((((part - mean) / deviation) ** 3).sum() for part in parts) / len(y))


def check_leakage(
    cells: ColumnBatch, y: np.ndarray, k: int | None, target: str, seed: int
) -> list[Finding]:
    """Columns that predict the target almost perfectly on their own."""
    findings = []
    for name, score in single_column_scores(cells, y, k, seed).items():
        if score >= _LEAK_SHARE:
            text = (
                f"{name!r} alone predicts {target!r} almost perfectly ({score:.1%} explained). If "
                "it is not known before the target is, exclude it: the scores are too optimistic."
            )
            findings.append(Finding("leak", "alarm", text, (name,)))
    return findings


def check_duplicates(train: ColumnBatch, test: ColumnBatch) -> list[Finding]:
    """Duplicates among training rows, and test rows that are also training rows."""
    ids = hash_rows(ColumnBatch.concatenate([train, test]))
    train_ids, test_ids = np.unique(ids[: len(train)]), ids[len(train) :]
    copies = int(np.isin(test_ids, train_ids).sum())
    repeated = len(train) - len(train_ids)
    if copies + repeated == 0:
        return []
    text = (
        f"{repeated:,} of {len(train):,} training rows repeat another, and {copies:,} of "
        f"{len(test):,} test rows are among them: a model that memorizes rows scores better than "
        "it should."
    )
    is_many = max(copies, repeated) > _DUPLICATE_SHARE * len(train)
    return [Finding("duplicates", "warning" if is_many else "note", text)]


def hash_rows(cells: ColumnBatch) -> np.ndarray:
    """A 64-bit hash of each row."""
    hashes = np.zeros(len(cells), np.uint64)
    for name in cells.names:
        column = cells[name]
        bits = column.codes if isinstance(column, TextColumn) else column.values.view(np.int64)
        hashes = (hashes ^ bits.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(29)
    return hashes


def check_result(study: Study) -> list[Finding]:
    """Overfitting, a clearly better reference model, no signal, a test unlike the folds."""
    return [
        *_check_overfit(study.chosen, study.metric),
        *_check_reference(study.attempts, study.chosen, study.metric),
        *_check_no_signal(study),
        *_check_test_score(study),
    ]


def _check_overfit(chosen: Attempt, metric: str) -> list[Finding]:
    if chosen.key in (*_INTERPOLATING, "baseline") or len(chosen.train) == 0:
        return []
    gap = float(np.mean(chosen.train)) - chosen.mean
    scale = abs(float(np.mean(chosen.train))) or 1.0
    if gap < _OVERFIT_GAP * scale:
        return []
    text = (
        f"{chosen.title} scores much better on training rows ({metric} "
        f"{np.mean(chosen.train):.3f}) than on others ({chosen.mean:.3f}): it overfits. More rows, "
        "or fewer columns, would help."
    )
    return [Finding("over-fitting", "warning", text)]


def _check_reference(attempts: list[Attempt], chosen: Attempt, metric: str) -> list[Finding]:
    findings = []
    for attempt in attempts:
        is_better = attempt.mean - chosen.mean > 2 * max(attempt.error, chosen.error)
        if attempt.is_reference and attempt.is_finished and is_better:
            text = (
                f"{attempt.title} would score {attempt.mean:.3f} here against {chosen.mean:.3f} "
                f"({metric}): the data has steps or interactions that the model does not fit."
            )
            findings.append(Finding("reference", "warning", text))
    return findings


def _check_no_signal(study: Study) -> list[Finding]:
    others = [a for a in study.attempts if a.eligible and a.key != "baseline"]
    if study.chosen.key != "baseline" or not others:
        return []
    text = (
        "No model is clearly better than the baseline: the columns carry little information about "
        f"{study.target!r}, or there are too few rows to detect it."
    )
    return [Finding("no signal", "alarm", text)]


def _check_test_score(study: Study) -> list[Finding]:
    if study.test is None or len(study.chosen.scores) < 2:
        return []
    low, high = study.test.intervals[study.metric]
    expected = study.chosen.interval()
    if expected.low <= high and low <= expected.high:
        return []
    text = (
        f"The test score ({study.metric} {study.test.scores[study.metric]:.3f}) is outside of the "
        f"interval of the folds ({expected.low:.3f} to {expected.high:.3f}): rows may not be "
        "identically distributed, or not independent."
    )
    return [Finding("surprise", "warning", text)]


def _join_names(names: Any) -> str:
    names = list(map(str, names))
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
