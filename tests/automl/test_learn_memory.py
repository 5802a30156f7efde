"""`tenfold learn` on a CSV of five million rows: in how much memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from time import sleep

import numpy as np
import pytest

ROWS = 5_000_000
REPEATS = 10  # of a block of random rows; quick to write, and all the same to who reads
MOST = 480e6  # bytes; what is promised is 600e6
TOWNS = ["Bonn", "Ulm", "Kiel", "Trier", "Jena"]


def block(rows: int) -> bytes:
    """Lines of a table of numbers and words, without names."""
    import pyarrow as pa
    from pyarrow import csv

    rng = np.random.default_rng(0)
    size, age = rng.normal(size=rows).round(3), rng.integers(0, 1000, rows)
    price = (2 * size + age / 100 + rng.normal(size=rows)).round(2)
    town = np.array(TOWNS)[rng.integers(0, len(TOWNS), rows)]
    columns = {"size": size, "age": age, "town": town, "price": price}
    sink = pa.BufferOutputStream()
    csv.write_csv(pa.table(columns), sink, csv.WriteOptions(include_header=False))
    return sink.getvalue().to_pybytes()


def anonymous(process: int) -> int:
    """Bytes of a process that no file stands behind; 0 when it has ended."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon")), 0)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
@pytest.mark.slow
def test_five_million_rows_stay_in_little_memory(tmp_path: Path) -> None:
    table = tmp_path / "houses.csv"
    lines = block(ROWS // REPEATS)
    with table.open("wb") as file:
        file.write(b"size,age,town,price\n")
        for _ in range(REPEATS):
            file.write(lines)
    command = [sys.executable, "-m", "tenfold", "learn", str(table), "--target", "price"]
    command += ["--models", "ridge", "--minutes", "0.2", "--json", "-o", str(tmp_path / "out")]
    with (tmp_path / "said.json").open("wb") as said, (tmp_path / "talk").open("wb") as talk:
        running = subprocess.Popen(command, stdout=said, stderr=talk)
        most = 0
        while running.poll() is None:
            most = max(most, anonymous(running.pid))
            sleep(0.005)
    assert running.returncode == 0, (tmp_path / "talk").read_text()
    found = json.loads((tmp_path / "said.json").read_text())
    assert found["rows"] == ROWS
    assert found["chosen"] == "ridge"
    assert 50e6 < most < MOST
