"""Large data: the fit of each model against its peers and against the unavoidable."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from benchmarks import generated, limits, quality
from benchmarks.case import Case, Data, rounds_of
from benchmarks.libraries import INTELEX, OURS, PEERS, SKLEARN, fell_back, has, load
from benchmarks.report import Row, Table, figure
from benchmarks.timing import Times, interleaved, seconds, undisturbed

LIMIT = "limit"
TITLE = "Speed"
HEADER = ["case", "peer", "ours (s)", "peer (s)", "ratio", "target", "quality: ours / peer"]
HEADER += ["rounds: ours / peer", "limit (s)", "ours / limit"]
DTYPES = {"f4": np.float32, "f8": np.float64}


def cases() -> list[Case]:
    softmax = Case(
        "softmax-mnist-f4",
        "LogisticRegression",
        generated.mnist,
        quality.CROSS_ENTROPY,
        limits.SOFTMAX,
        target=3.0,
        rounds=3,
    )
    return [softmax, *(case for kind in DTYPES for case in _of_kind(kind, DTYPES[kind]))]


def _of_kind(kind: str, dtype: type) -> list[Case]:
    k, rounds = {"n_clusters": 50, "n_init": 1}, {"max_iter": 20, "tol": 0.0}
    given = generated.blobs(300_000, 32, 50, dtype, start=True)
    own = generated.blobs(300_000, 32, 50, dtype, start=False)
    classes = generated.classes(1_000_000, 50, 5, dtype)
    factors, plane = generated.factors(200_000, 200, 20, dtype), generated.plane(1_000_000, 100, dtype)
    variance, squares = quality.VARIANCE, quality.SQUARES
    gram, near = limits.GRAM, limits.DISTANCES
    nearest, start = quality.INERTIA, quality.INERTIA_OWN_START
    return [
        Case(f"kmeans-20-rounds-{kind}", "KMeans", given, nearest, near, 1.5, k | rounds),
        Case(f"kmeans-own-start-{kind}", "KMeans", own, start, near, 1.5, k, seeded=True),
        Case(f"naive-bayes-{kind}", "GaussianNB", classes, quality.ACCURACY, limits.READ, 2.0),
        Case(f"pca-{kind}", "PCA", factors, variance, gram, 1.2, {"n_components": 20}),
        Case(f"ridge-{kind}", "Ridge", plane, squares, gram, 2.0),
        Case(f"linear-regression-{kind}", "LinearRegression", plane, squares, gram, 2.0),
    ]


def run(names: list[str], *, quick: bool) -> Table:
    rows = [row for case in cases() if case.name in names for row in judged(case, quick=quick)]
    notes = [f"quality within {c.quality.tolerance:g} ({c.quality.name}) counts as equal: {c.name}"
             for c in cases() if c.name in names]
    return Table(TITLE, HEADER, rows, notes)


def judged(case: Case, *, quick: bool) -> list[Row]:
    """Run a case; one row for each peer."""
    data = case.data(10 if quick else 1)
    contest = Contest(case, data)
    times = contest.times(2 if quick else case.rounds)
    return [contest.row(peer, times) for peer in PEERS if peer in times]
