"""`tenfold.learn` beside systems that are tuned for the same time.

`tenfold.learn` seals a part of each table for its test. The other systems get the same training
rows, the same time and one thread, and are judged by the same metric on the same sealed rows:

    export OMP_NUM_THREADS=1 TENFOLD_THREADS=1
    taskset -c 0 python -m benchmarks.learn run --minutes 2 --results learn.jsonl
    python -m benchmarks.learn report learn.jsonl

Every result is a line of the file as soon as it is there; what is in the file is not run again.
`--systems` and `--tables` run some alone. Of several lines of a system and table the last counts,
so a file of new results behind others replaces theirs. The report names the standard error of each
score, and that of the difference of two systems on the same rows, of which two are noise.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.learn_systems import SYSTEMS
from benchmarks.learn_tables import TABLES, SplitTable, split_table

OURS = "tenfold"
NOISE = 2.0  # standard errors of a difference that are noise


def run(systems: list[str], tables: list[str], minutes: float, seed: int, results: Path) -> None:
    """Run what the file of results does not hold yet."""
    known = {(line["system"], line["table"]) for line in read_same([results], minutes, seed)}
    for name in tables:
        table = split_table(name, seed)
        for system in systems:
            if (system, name) in known:
                continue
            line = {"table": name, "minutes": minutes, "seed": seed}
            line |= evaluate(system, table, minutes)
            with results.open("a") as file:
                file.write(json.dumps(line) + "\n")
            what = f"{line['score']:.4f} {line['seconds']:.0f} s {line['model'][:110]}"
            print(f"{name:<15} {system:<9} {what}", flush=True)


def evaluate(system: str, table: SplitTable, minutes: float) -> dict[str, Any]:
    """Score, time and losses by row of a system on the sealed rows."""
    start, cpu, load = perf_counter(), process_time(), os.getloadavg()[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = SYSTEMS[system](table, 60 * minutes)
    losses = row_losses(table, outcome.predictions)
    return {
        "system": system,
        "metric": table.metric,
        "score": 1 - float(np.mean(losses)),
        "rows": len(losses),
        "seconds": perf_counter() - start,
        "cpu": process_time() - cpu,
        "load": load,
        "model": outcome.model,
        "losses": [float(f"{loss:.6g}") for loss in losses],
    }


def row_losses(table: SplitTable, predictions: np.ndarray) -> np.ndarray:
    """Losses whose mean is one minus accuracy, or one minus R2."""
    if table.classifies:
        return (np.asarray(predictions) != table.truth).astype(float)
    truth = np.asarray(table.truth, float)
    return (truth - np.asarray(predictions, float)) ** 2 / truth.var()


def read(results: Path) -> list[dict[str, Any]]:
    if not results.exists():
        return []
    return [json.loads(line) for line in results.read_text().splitlines()]


def read_same(files: list[Path], minutes: float, seed: int) -> list[dict[str, Any]]:
    """Lines of one time and split, which alone can be compared."""
    lines = [line for path in files for line in read(path)]
    return [line for line in lines if (line["minutes"], line.get("seed", 0)) == (minutes, seed)]


def standard_error(losses: np.ndarray) -> float:
    """Of the mean of losses, or of differences of losses on the same rows."""
    return float(np.std(losses, ddof=1) / np.sqrt(len(losses)))


def report(files: list[Path], minutes: float, seed: int) -> None:
    """Scores with standard errors, and how far ours are from the best other system."""
    found_lines = read_same(files, minutes, seed)
    lines = {(line["table"], line["system"]): line for line in found_lines}
    systems = [system for system in SYSTEMS if any(key[1] == system for key in lines)]
    print(f"| table | metric, rows | {' | '.join(systems)} | ours minus best other | verdict |")
    print("|" + "---|" * (len(systems) + 4))
    held, judged = 0, 0
    for name in TABLES:
        found = {system: lines[name, system] for system in systems if (name, system) in lines}
        if OURS not in found or len(found) < 2:
            continue
        difference, error = compare(found)
        verdict = judge(difference, error)
        held, judged = held + (verdict != "behind"), judged + 1
        cells = [describe(found.get(system)) for system in systems]
        row = [name, f"{found[OURS]['metric']}, {found[OURS]['rows']}", *cells]
        print(f"| {' | '.join(row)} | {difference:+.4f} ±{error:.4f} | {verdict} |")
    print(f"\nBest or within noise ({NOISE:g} standard errors) on {held} of {judged}.")
    seconds = [line["seconds"] for line in lines.values()]
    spread = f"{min(seconds):.0f} to {max(seconds):.0f} s" if seconds else "no time"
    print(f"{minutes:g} minutes for each; split {seed}; with the last fit a run took {spread}.")


def compare(found: dict[str, dict[str, Any]]) -> tuple[float, float]:
    """Our score minus that of the best other system, and the standard error of it, paired."""
    others = [line for system, line in found.items() if system != OURS]
    best = max(others, key=lambda line: line["score"])
    differences = np.array(best["losses"]) - np.array(found[OURS]["losses"])
    return float(differences.mean()), standard_error(differences)


def judge(difference: float, error: float) -> str:
    if difference >= 0:
        return "best" if difference > 0 else "tied"
    return "within noise" if difference >= -NOISE * error else "behind"


def describe(line: dict[str, Any] | None) -> str:
    if line is None:
        return ""
    return f"{line['score']:.4f} ±{standard_error(np.array(line['losses'])):.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    runs, reports = commands.add_parser("run"), commands.add_parser("report")
    for each in (runs, reports):
        each.add_argument("--minutes", type=float, default=2.0)
        each.add_argument("--seed", type=int, default=0, help="of the split")
    runs.add_argument("--systems", nargs="*", default=list(SYSTEMS), choices=list(SYSTEMS))
    runs.add_argument("--tables", nargs="*", default=list(TABLES), choices=list(TABLES))
    runs.add_argument("--results", type=Path, default=Path("learn.jsonl"))
    reports.add_argument("files", nargs="+", type=Path)
    asked = parser.parse_args()
    if asked.command == "report":
        report(asked.files, asked.minutes, asked.seed)
    else:
        run(asked.systems, asked.tables, asked.minutes, asked.seed, asked.results)


if __name__ == "__main__":
    main()
