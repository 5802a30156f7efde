"""Memory: each of some models on a file of 3 GB, or of ratings, in a process of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.bigfiles import COLUMNS, write_files, write_magnitudes, write_ratings
from benchmarks.memory_fit import NON_NEGATIVE, PARAMS, RECOMMENDERS
from benchmarks.report import Row, Table, figure, tell

TITLE = "Memory"
HEADER = [
    "case",
    "file (MB)",
    "peak (MB)",
    "target",
    "seconds",
    "passes",
    "MB/s a pass",
    "passes by leaf",
]
TARGET, RATINGS_TARGET = 400, 1000
ROWS, RATINGS = 25_000_000, 20_000_000
KINDS = {"npy": "X.npy", "parquet": "all.parquet", "ratings": "ratings.parquet"}
KINDS |= {"magnitudes.npy": "magnitudes.npy", "magnitudes.parquet": "magnitudes.parquet"}
ROOM = 6  # times the file: four files, and a copy that a fit of many passes may spool


def names() -> list[str]:
    of_rows = [f"{model}-{kind}" for model in PARAMS for kind in ("npy", "parquet")]
    kinds = [kind for kind in KINDS if kind.startswith("magnitudes")]
    of_rows += [f"{model}-{kind}" for model in NON_NEGATIVE for kind in kinds]
    return of_rows + [f"{model}-ratings" for model in RECOMMENDERS]


def run(wanted: list[str], *, quick: bool) -> Table:
    rows = ROWS // 10 if quick else ROWS
    notes = ["anonymous memory beyond the import, looked at every 5 ms; MB are 10^6 bytes"]
    notes += ["iterative models make three rounds, networks one epoch (`blocks`, in random order)"]
    notes += ["NearestNeighbors: 500 queries among all rows, which stay in the file"]
    notes += ["KLNMF: by the Kullback-Leibler divergence, which keeps codes in a temporary file"]
    notes += ["`passes by leaf` names what each pass computed"]
    notes += ["files were just written, so reads come from the page cache where it is large enough"]
    room = ROOM * 4 * COLUMNS * rows
    with tempfile.TemporaryDirectory(prefix="tenfold-bench-") as name:
        folder = Path(name)
        if (free := shutil.disk_usage(folder).free) < room:
            notes.append(f"left out: {room / 1e9:.0f} GB of disk needed, {free / 1e9:.0f} GB free")
            return Table(TITLE, HEADER, [], notes)
        if any(case.endswith(("-npy", "-parquet")) for case in wanted):
            tell(f"writing {rows} x {COLUMNS}")
            write_files(folder, rows)
        if any("-magnitudes" in case for case in wanted):
            write_magnitudes(folder, rows)
        if any(case.endswith("-ratings") for case in wanted):
            write_ratings(folder / KINDS["ratings"], RATINGS // 10 if quick else RATINGS)
        return Table(TITLE, HEADER, [fitted(case, folder) for case in wanted], notes)


def fitted(case: str, folder: Path) -> Row:
    """Fit in a fresh process and say what it took."""
    tell(case)
    model, kind = case.split("-")
    command = [sys.executable, "-m", "benchmarks.memory_fit", model, str(folder), kind]
    root = Path(__file__).parent.parent
    done = subprocess.run(command, cwd=root, check=False, capture_output=True, text=True)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return Row([case, *[""] * (len(HEADER) - 2), reason.replace(str(folder), "...")], "failed")
    return row(case, (folder / KINDS[kind]).stat().st_size, json.loads(done.stdout))


def row(case: str, size: int, found: dict) -> Row:
    peak, passes = found["bytes"] / 1e6, found["passes"]
    speed = size / 1e6 * len(passes) / found["seconds"]
    leaves = ", ".join(f"{n} {leaf}" for leaf, n in Counter(passes).items())
    target = RATINGS_TARGET if case.endswith("-ratings") else TARGET
    cells = [case, f"{size / 1e6:.0f}", f"{peak:.0f}", f"< {target}", figure(found["seconds"])]
    cells += [str(len(passes)), f"{speed:.0f}", leaves]
    return Row(cells, "met" if peak < target else "missed")
