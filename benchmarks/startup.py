"""Start-up: what an import and the very first fit cost, each in a fresh process."""

from __future__ import annotations

from itertools import groupby
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.first_fits import COLUMNS, ROWS, First, family, first_fit, models, python
from benchmarks.libraries import FAMILY, SKLEARN, load
from benchmarks.report import Row, Table, figure, tell

TITLE = "Start-up"
HEADER = ["case", "seconds", "target", "of which import", "cache warm", "scikit-learn"]
IMPORT_TARGET, FIT_TARGET = 0.050, 4.0
IMPORTS = {"nothing": "pass", "tenfold": "import tenfold", "scikit-learn": "import sklearn"}
NOTES = [
    "imports: median beyond `python -c pass`",
    f"first fits: import and fit of {ROWS} x {COLUMNS} float64, fresh process, empty numba cache",
    "cache warm: the same with the cache that this left; scikit-learn: its own import and fit",
    "any: all public models of a family, with the settings of their laws; shown is the slowest",
    "any-language: a text of 6,000 characters, or its words",
]


def names() -> list[str]:
    import tenfold

    classes = {module for name, module in tenfold._WHERE.items() if name[0].isupper()}  # noqa: SLF001
    families = sorted({module.split(".")[1] for module in classes})
    return ["import", *(f"first-{model}" for model in FAMILY), *(f"any-{f}" for f in families)]


def run(wanted: list[str], *, quick: bool) -> Table:
    rounds = 1 if quick else 3
    rows = imports(3 if quick else 10) if "import" in wanted else []
    instances = models()
    for model in instances:
        if f"first-{class_name(model)}" in wanted:
            rows.append(beside_scikit_learn(model, rounds))
    instances.sort(key=family)  # groupby joins neighbours alone
    for title, group in groupby(instances, family):
        if f"any-{title}" in wanted:
            rows.append(slowest(title, list(group), rounds))
    return Table(TITLE, HEADER, rows, NOTES)


def class_name(model: Any) -> str:
    return type(model).__name__


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


def beside_scikit_learn(model: Any, rounds: int) -> Row:
    """The first fit of a model, and of the peer with its name."""
    tell(f"first-{class_name(model)}")
    peer = load(SKLEARN, class_name(model))()
    ours, theirs = zip(*((first_fit(model), first_fit(peer)) for _ in range(rounds)), strict=True)
    return row(f"first-{class_name(model)}", middle(ours), figure(middle(theirs).cold))


def slowest(title: str, instances: list[Any], rounds: int) -> Row:
    """The slowest first fit of a family: all once, then this one again."""
    tell(f"any-{title}")
    once = [(first_fit(model), model) for model in instances]
    first, last = max(once, key=lambda each: each[0].cold)
    again = [first, *(first_fit(last) for _ in range(rounds - 1))]
    over = [class_name(m) for f, m in once if f.cold >= FIT_TARGET and m is not last]
    also = f"; over, too: {', '.join(over)}" if over else ""
    case = f"any-{title}: {class_name(last)}, slowest of {len(once)}{also}"
    return row(case, middle(again), "", others_met=not over)


def middle(runs: Any) -> First:
    """The median of each time."""
    return First(*(median(times) for times in zip(*runs, strict=True)))


def row(case: str, first: First, peer: str, *, others_met: bool = True) -> Row:
    met = others_met and first.cold < FIT_TARGET
    times = [figure(first.cold), f"< {FIT_TARGET:g}", figure(first.imported), figure(first.warm)]
    return Row([case, *times, peer], "met" if met else "missed")
