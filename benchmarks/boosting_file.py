"""Boosted trees from a Parquet file of the shape of HIGGS: memory, seconds, and the bits in memory.

`python -m benchmarks boosting-file` writes the file, fits it in a process of its own, fits the same
rows from an array in another, and lets xgboost's external memory fit the file in a third, if it is
installed. `--quick` takes a tenth of the rows; any number of rows:

    python -m benchmarks.boosting_file --rows 1000000

xgboost grows trees of depth 5 (32 leaves) level by level, as its manual advises for data in
external memory, from batches of the rows of the file; ours have 31 leaves, best first.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from importlib import util
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.memory_fit import Peak
from benchmarks.report import Row, Table, figure, show, tell

TITLE = "Boosted trees from a file"
HEADER = ["case", "rows", "file (MB)", "peak (MB)", "target", "seconds", "in memory (s)", "bits"]
HEADER += ["xgboost (MB)", "xgboost (s)", "ratio", "target", "accuracy", "xgboost"]
CASE = "gbdt-file"
ROWS, COLUMNS = 10_500_000, 28
GROUP_ROWS = 500_000
TEST_ROWS = 100_000  # held out, to judge whether trees are as good
TARGET = 800
FASTER = 1.0  # than xgboost's external memory
WORSE = 3e-3  # accuracy by which ours may lie below xgboost's
OPTIONS: dict[str, Any] = {"max_iter": 10, "max_leaf_nodes": 31, "early_stopping": False}


def names() -> list[str]:
    return [CASE]


def run(wanted: list[str], *, quick: bool) -> Table:
    return compare(wanted, ROWS // 10 if quick else ROWS)


def compare(wanted: list[str], rows: int) -> Table:
    """The table of a file of so many rows."""
    notes = ["10 trees of 31 leaves; anonymous memory beyond the import, looked at every 5 ms"]
    notes.append("xgboost: 10 trees of depth 5, external memory; accuracy of held-out rows")
    if util.find_spec("xgboost") is None:
        notes.append("left out: xgboost is not installed")
    room = 6 * 4 * COLUMNS * rows  # the file, its bins, xgboost's pages, and as much again
    with tempfile.TemporaryDirectory(prefix="tenfold-bench-") as name:
        if (free := shutil.disk_usage(name).free) < room:
            notes.append(f"left out: {room / 1e9:.0f} GB of disk needed, {free / 1e9:.0f} GB free")
            return Table(TITLE, HEADER, [], notes)
        path = Path(name) / "rows.parquet"
        return Table(TITLE, HEADER, [contest(case, path, rows) for case in wanted], notes)


def contest(case: str, path: Path, rows: int) -> Row:
    tell(f"{case}: writing {rows} x {COLUMNS}")
    write(path, rows)
    write(path.with_name("test.parquet"), TEST_ROWS, seed=1)
    places = ["file", "memory", *(["xgboost"] if util.find_spec("xgboost") else [])]
    found = {place: fitted(place, path) for place in places}
    ours, peer = found["file"], found.get("xgboost")
    peak, same = ours["bytes"] / 1e6, ours["bits"] == found["memory"]["bits"]
    met = peak < TARGET and same
    size = path.stat().st_size / 1e6
    cells = [case, f"{rows:,}", f"{size:.0f}", f"{peak:.0f}", f"< {TARGET}"]
    cells += [figure(found[place]["seconds"]) for place in ("file", "memory")]
    cells.append("equal" if same else "differ")
    if peer is None:
        cells += ["", "", "", f"{FASTER:g}x", figure(ours["accuracy"], 4), ""]
        return Row(cells, "met" if met else "missed")
    ratio = peer["seconds"] / ours["seconds"]
    cells += [f"{peer['bytes'] / 1e6:.0f}", figure(peer["seconds"]), f"{ratio:.2f}x"]
    cells += [f"{FASTER:g}x", figure(ours["accuracy"], 4), figure(peer["accuracy"], 4)]
    good = ours["accuracy"] >= peer["accuracy"] - WORSE
    return Row(cells, "met" if met and good and ratio >= FASTER else "missed")


def write(path: Path, rows: int, seed: int = 0) -> None:
    """Two classes with interactions, group by group."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, writer = np.random.default_rng(seed), None
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
    command = [sys.executable, "-m", "benchmarks.boosting_file", "--fit", place, str(path)]
    done = subprocess.run(
        command, cwd=Path(__file__).parent.parent, check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(done.stdout)


def read(path: str) -> tuple[np.ndarray, np.ndarray]:
    """All rows of a file."""
    import pyarrow.parquet as pq

    return split(pq.read_table(path))


def split(table: Any) -> tuple[np.ndarray, np.ndarray]:
    """Columns and target of a table."""
    X = np.empty((table.num_rows, COLUMNS), np.float32)
    for j in range(COLUMNS):
        X[:, j] = np.asarray(table[f"x{j}"])
    return X, np.asarray(table["y"])


def fit_ours(place: str, path: str) -> dict[str, Any]:
    """Fit the file, or its rows in memory."""
    from tenfold import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(**OPTIONS, random_state=0)
    rows: Any = read(path) if place == "memory" else (path, "y")
    start = perf_counter()
    with Peak() as peak:
        model.fit(*rows)
    took, used = perf_counter() - start, peak.most - peak.before
    bits = hashlib.sha256(model.trees_.words.tobytes() + model.trees_.values.tobytes()).hexdigest()
    X, y = read(str(Path(path).with_name("test.parquet")))
    return {"bytes": used, "seconds": took, "bits": bits, "accuracy": model.score(X, y)}


def fit_xgboost(path: str) -> dict[str, Any]:
    """Fit the file by xgboost's external memory: batches of rows, pages on disk."""
    import pyarrow.parquet as pq
    import xgboost

    class Batches(xgboost.DataIter):
        """The groups of rows of the file, one after the other."""

        def __init__(self) -> None:
            super().__init__(cache_prefix=str(Path(path).with_name("pages")))
            self.file, self.at = pq.ParquetFile(path), 0

        def next(self, input_data: Any) -> bool:
            if self.at == self.file.num_row_groups:
                return False
            X, y = split(self.file.read_row_group(self.at))
            input_data(data=X, label=y)
            self.at += 1
            return True

        def reset(self) -> None:
            self.at = 0

    options = {"objective": "binary:logistic", "tree_method": "hist", "max_bin": 256}
    options |= {"max_depth": 5, "eta": 0.1, "nthread": 2, "verbosity": 0}
    start = perf_counter()
    with Peak() as peak:
        if hasattr(xgboost, "ExtMemQuantileDMatrix"):  # from version 3 on
            rows = xgboost.ExtMemQuantileDMatrix(Batches(), max_bin=options["max_bin"])
        else:
            rows = xgboost.DMatrix(Batches())
        model = xgboost.train(options, rows, OPTIONS["max_iter"])
    took, used = perf_counter() - start, peak.most - peak.before
    X, y = read(str(Path(path).with_name("test.parquet")))
    accuracy = float(((model.predict(xgboost.DMatrix(X)) > 0.5) == y).mean())
    return {"bytes": used, "seconds": took, "accuracy": accuracy}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--fit", nargs=2, metavar=("PLACE", "PATH"), help="one fit, as JSON")
    asked = parser.parse_args()
    if asked.fit is None:
        show(compare(names(), asked.rows))
        return
    place, path = asked.fit
    print(json.dumps(fit_xgboost(path) if place == "xgboost" else fit_ours(place, path)))


if __name__ == "__main__":
    main()
