"""The table of a search, with scikit-learn's names."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from tenfold.select.trial import Found


def table(candidates: list[dict[str, Any]], found: Found, names: list[str]) -> dict[str, Any]:
    """`cv_results_`: a column per parameter, part and statistic, a row per candidate."""
    parts, n, _ = found.test.shape
    results: dict[str, Any] = {}
    for key, seconds in (("fit", found.fit_seconds), ("score", found.score_seconds)):
        results[f"mean_{key}_time"] = np.full(n, seconds / (parts * n))
        results[f"std_{key}_time"] = np.zeros(n)
    results |= _columns(candidates)
    results["params"] = candidates
    for m, name in enumerate(names):
        results |= _scores(found.test[:, :, m], "test", name)
        if found.train is not None:
            results |= _scores(found.train[:, :, m], "train", name)
    return results


def _columns(candidates: list[dict[str, Any]]) -> dict[str, np.ma.MaskedArray]:
    """Values of each parameter; masked where a candidate leaves it alone."""
    names = sorted({name for each in candidates for name in each})
    columns = {}
    for name in names:
        values = np.empty(len(candidates), object)
        values[:] = [each.get(name) for each in candidates]
        present = [each[name] for each in candidates if name in each]
        if all(type(v) in (int, float) for v in present) and len(present) == len(candidates):
            values = np.array(present)
        columns[f"param_{name}"] = np.ma.MaskedArray(
            values, mask=[name not in each for each in candidates]
        )
    return columns


def _scores(scores: np.ndarray, kind: str, name: str) -> dict[str, np.ndarray]:
    """Scores of each part, their mean and spread, and the ranks."""
    columns = {f"split{p}_{kind}_{name}": row for p, row in enumerate(scores)}
    mean = scores.mean(axis=0)
    columns[f"mean_{kind}_{name}"], columns[f"std_{kind}_{name}"] = mean, scores.std(axis=0)
    if kind == "test":
        ranks = rankdata(-np.where(np.isnan(mean), -np.inf, mean), "min")
        columns[f"rank_test_{name}"] = ranks.astype(np.int32)
    return columns
