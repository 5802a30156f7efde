"""Boosted trees from a Parquet file of the shape of HIGGS: memory, seconds, and the bits in memory.

`python -m benchmarks boosting-file` writes the file, fits it in a process of its own, and fits the
same rows from an array in another; `--quick` takes a tenth of the rows.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.memory_fit import Peak
from benchmarks.report import Row, Table, figure, tell

TITLE = "Boosted trees from a file"
HEADER = ["case", "rows", "file (MB)", "peak (MB)", "target", "seconds", "in memory (s)", "bits"]
CASE = "gbdt-file"
ROWS, COLUMNS = 10_500_000, 28
GROUP_ROWS = 500_000
TARGET = 800
OPTIONS: dict[str, Any] = {"max_iter": 10, "max_leaf_nodes": 31, "early_stopping": False}


def names() -> list[str]:
    return [CASE]


def run(wanted: list[str], *, quick: bool) -> Table:
    rows = ROWS // 10 if quick else ROWS
    notes = ["10 trees of 31 leaves; anonymous memory beyond the import, looked at every 5 ms"]
    room = 4 * 4 * COLUMNS * rows  # the file, its bins, and as much again
    with tempfile.TemporaryDirectory(prefix="tenfold-bench-") as name:
        if (free := shutil.disk_usage(name).free) < room:
            notes.append(f"left out: {room / 1e9:.0f} GB of disk needed, {free / 1e9:.0f} GB free")
            return Table(TITLE, HEADER, [], notes)
        path = Path(name) / "rows.parquet"
        return Table(TITLE, HEADER, [contest(case, path, rows) for case in wanted], notes)


def contest(case: str, path: Path, rows: int) -> Row:
    tell(f"{case}: writing {rows} x {COLUMNS}")
    write(path, rows)
    found = {place: fitted(place, path) for place in ("file", "memory")}
    peak = found["file"]["bytes"] / 1e6
    same = found["file"]["bits"] == found["memory"]["bits"]
    size = path.stat().st_size / 1e6
    cells = [case, f"{rows:,}", f"{size:.0f}", f"{peak:.0f}", f"< {TARGET}"]
    cells += [figure(found[place]["seconds"]) for place in found]
    return Row(
        [*cells, "equal" if same else "differ"], "met" if peak < TARGET and same else "missed"
    )


def write(path: Path, rows: int) -> None:
    """Two classes with interactions, group by group."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, writer = np.random.default_rng(0), None
    for first in range(0, rows, GROUP_ROWS):
        X = rng.normal(size=(min(GROUP_ROWS, rows - first), COLUMNS)).astype(np.float32)
        score = X[:, 0] * (X[:, 1] + 0.5) + np.sin(2 * X[:, 2]) + 0.5 * X[:, 3] ** 2 - 0.5
        y = (score + rng.normal(size=len(X)) > 0).astype(np.int64)
        table = pa.table({**{f"x{j}": X[:, j] for j in range(COLUMNS)}, "y": y})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def fitted(place: str, path: Path) -> dict[str, Any]:
    """One fit in a fresh process."""
    tell(f"{CASE}: {place}")
    command = [sys.executable, "-m", "benchmarks.boosting_file", place, str(path)]
    done = subprocess.run(
        command, cwd=Path(__file__).parent.parent, check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


def main(place: str, path: str) -> None:
    import pyarrow.parquet as pq

    from tenfold import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(**OPTIONS, random_state=0)
    rows: Any = (path, "y")
    if place == "memory":
        table = pq.read_table(path)
        y = np.asarray(table["y"])
        X = np.empty((len(y), COLUMNS), np.float32)
        for j in range(COLUMNS):
            X[:, j] = np.asarray(table[f"x{j}"])
        rows = (X, y)
    start = perf_counter()
    with Peak() as peak:
        model.fit(*rows)
    bits = hashlib.sha256(model.trees_.words.tobytes() + model.trees_.values.tobytes()).hexdigest()
    took, used = perf_counter() - start, peak.most - peak.before
    print(json.dumps({"bytes": used, "seconds": took, "bits": bits}))


if __name__ == "__main__":
    main(*sys.argv[1:])
