"""Tables of mixed columns as numbers: `TableEncoder` against pipelines in a ColumnTransformer."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import interleaved, seconds, undisturbed

TITLE = "Tables of mixed columns"
HEADER = ["case", "peer", "ours (s)", "peer (s)", "ratio", "target", "columns ours", "peer"]
OURS, PEER = "tenfold", "scikit-learn"
ROWS, ROUNDS, TARGET = 500_000, 5, 1.0
LEVELS = {"work": 8, "education": 16, "marital": 7, "occupation": 14, "country": 41}
NUMBERS = ("age", "weight", "years", "gain", "hours")
NOTES = [
    "fit and transform of a DataFrame: 5 numbers, one with missing values, and 5 categories",
    "theirs: StandardScaler, SimpleImputer and MissingIndicator; OneHotEncoder; the same matrix",
    "what the columns are is told to them, and found by ours",
]


def names() -> list[str]:
    return ["adult-like"]


def run(wanted: list[str], *, quick: bool) -> Table:
    rows = [tell(name) or contest(name, quick=quick) for name in wanted]
    return Table(TITLE, HEADER, rows, NOTES)


def contest(name: str, *, quick: bool) -> Row:
    """Fit and transform in turns; the matrices of the last turn are compared."""
    frame, made = adult_like(ROWS // (10 if quick else 1)), {}
    ways = {OURS: ours, PEER: scikit_learns}
    with undisturbed():
        for way in ways.values():
            way(frame.head(5000))

    def once(which: str, _: int) -> list[float]:
        return [seconds(lambda: made.update({which: ways[which](frame)}))]

    times = interleaved({which: partial(once, which) for which in ways}, 2 if quick else ROUNDS)
    ratio = times[PEER].median / times[OURS].median
    verdict = "met" if ratio >= TARGET else "missed"
    if not same(made[OURS], made[PEER]):
        verdict = "not counted: another matrix"
    cells = [
        name,
        PEER,
        timed(times[OURS]),
        timed(times[PEER]),
        f"{figure(ratio)}x",
        f"{TARGET:g}x",
    ]
    return Row([*cells, *(str(made[which].shape[1]) for which in ways)], verdict)


def same(mine: np.ndarray, theirs: np.ndarray) -> bool:
    """Whether two matrices have the same columns, in whatever order."""
    if mine.shape != theirs.shape:
        return False
    weights = np.random.default_rng(0).normal(size=len(mine)) / np.sqrt(len(mine))
    return np.allclose(np.sort(weights @ mine), np.sort(weights @ theirs), atol=1e-3)


def adult_like(rows: int) -> Any:
    import pandas as pd

    rng = np.random.default_rng(0)
    table: dict[str, Any] = {name: rng.normal(40, 12, rows).round(1) for name in NUMBERS}
    for name, levels in LEVELS.items():
        words = np.array([f"{name}-{level}" for level in range(levels)], object)
        table[name] = words[np.minimum(rng.geometric(2 / levels, rows) - 1, levels - 1)]
    table["gain"][rng.random(rows) < 0.1] = np.nan
    return pd.DataFrame(table)


def ours(frame: Any) -> np.ndarray:
    from tenfold import TableEncoder

    encoder = TableEncoder(min_count=1, max_categories=50, sparse=False)
    return encoder.fit(frame).transform(frame)


def scikit_learns(frame: Any) -> np.ndarray:
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import MissingIndicator, SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = make_pipeline(StandardScaler(), SimpleImputer())  # the mean is then zero
    indicators = OneHotEncoder(sparse_output=False, dtype=np.float32)
    parts = [
        ("numbers", numbers, list(NUMBERS)),
        ("missing", MissingIndicator(), ["gain"]),
        ("categories", indicators, list(LEVELS)),
    ]
    return ColumnTransformer(parts).fit_transform(frame).astype(np.float32)
