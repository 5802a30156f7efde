"""Start-up: what an import and the very first fit cost, each in a fresh process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from statistics import median
from time import perf_counter

from benchmarks.libraries import FAMILY, OURS, SKLEARN, where
from benchmarks.report import Row, Table, figure, tell

TITLE = "Start-up"
HEADER = ["case", "seconds", "target", "of which import", "cache warm", "scikit-learn"]
IMPORT_TARGET, FIT_TARGET = 0.050, 4.0
IMPORTS = {"nothing": "pass", "tenfold": "import tenfold", "scikit-learn": "import sklearn"}
NOTES = [
    "imports: median beyond `python -c pass`",
    "first fits: import and fit of 5000 x 20 float64 in a fresh process with an empty numba cache",
    "cache warm: the same with the cache that this left; scikit-learn: its own import and fit",
]
FIRST_FIT = """
import json, time
start = time.perf_counter()
from {module} import {model}
imported = time.perf_counter() - start
import numpy as np
rng = np.random.default_rng(0)
X = rng.standard_normal((5000, 20))
y = (X[:, 0] > 0).astype(int)
start = time.perf_counter()
{model}().fit(X, y)
print(json.dumps([imported, time.perf_counter() - start]))
"""


def names() -> list[str]:
    return ["import", *(f"first-{model}" for model in FAMILY)]


def run(wanted: list[str], *, quick: bool) -> Table:
    rows = imports(3 if quick else 10) if "import" in wanted else []
    for model in FAMILY:
        if f"first-{model}" in wanted:
            rows.append(first_fit(model, 1 if quick else 3))
    return Table(TITLE, HEADER, rows, NOTES)


def imports(rounds: int) -> list[Row]:
    tell("import")
    times: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for _ in range(rounds):
        for name, code in IMPORTS.items():
            start = perf_counter()
            python(code)
            times[name].append(perf_counter() - start)
    cost = {name: median(each) - median(times["nothing"]) for name, each in times.items()}
    verdict = "met" if cost["tenfold"] < IMPORT_TARGET else "missed"
    blank = ["", ""]
    return [
        Row(
            [
                "import",
                figure(cost["tenfold"]),
                f"< {IMPORT_TARGET}",
                *blank,
                figure(cost["scikit-learn"]),
            ],
            verdict,
        )
    ]


def first_fit(model: str, rounds: int) -> Row:
    tell(f"first-{model}")
    runs = [cold_and_warm(model) for _ in range(rounds)]
    imported, cold, warm, peer = (median(each) for each in zip(*runs, strict=True))
    cells = [f"first-{model}", figure(cold), f"< {FIT_TARGET:g}", figure(imported)]
    return Row([*cells, figure(warm), figure(peer)], "met" if cold < FIT_TARGET else "missed")


def cold_and_warm(model: str) -> tuple[float, float, float, float]:
    """Import alone, then import and fit: cold, warm, and scikit-learn's."""
    ours, theirs = (
        FIRST_FIT.format(module=where(lib, model), model=model) for lib in (OURS, SKLEARN)
    )
    with tempfile.TemporaryDirectory() as empty:
        cold, warm = (json.loads(python(ours, NUMBA_CACHE_DIR=empty)) for _ in range(2))
    return cold[0], sum(cold), sum(warm), sum(json.loads(python(theirs)))


def python(code: str, **environment: str) -> str:
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env=os.environ | environment, check=True, capture_output=True, text=True
    )
    return done.stdout
