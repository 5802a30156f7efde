"""Small data: people loop over small fits, so the plumbing must cost no more than a peer's."""

from __future__ import annotations

from collections.abc import Callable
from statistics import mean
from typing import Any, NamedTuple

from benchmarks import quality
from benchmarks.case import Data, Quality
from benchmarks.libraries import OURS, SKLEARN, load
from benchmarks.report import Row, Table, figure, tell
from benchmarks.timing import Times, small_calls, undisturbed

TITLE = "Small data"
HEADER = ["case", "call", "ours (ms)", "peer (ms)", "ratio", "target", "quality", "ours", "peer"]
TARGET = 1 / 1.5
SEEDS = 20  # fits from different seeds that quality is averaged over


class Kind(NamedTuple):
    """How a model is used and judged on small data."""

    quality: Quality
    target: str | None = None  # "label" or "number"
    use: str = "predict"
    params: dict[str, Any] = {}
    seeded: bool = False


KINDS = {
    "GaussianNB": Kind(quality.ACCURACY, "label"),
    "KMeans": Kind(quality.INERTIA_OWN_START._replace(tolerance=0.05), seeded=True),
    "LinearRegression": Kind(quality.SQUARES, "number"),
    "LogisticRegression": Kind(quality.CROSS_ENTROPY, "label"),
    "PCA": Kind(quality.VARIANCE, use="transform", params={"n_components": 2}),
    "Ridge": Kind(quality.SQUARES, "number"),
}


def names() -> list[str]:
    from benchmarks.tables import small_tables

    return [f"{model}-{table}" for model in KINDS for table in small_tables()]


def run(wanted: list[str], *, quick: bool) -> Table:
    from benchmarks.tables import small_tables

    tables, rows = small_tables(), []
    for name in wanted:
        tell(name)
        model, table = name.split("-", 1)
        kind = KINDS[model]
        y = getattr(tables[table], kind.target) if kind.target else None
        rows += judged(name, model, Data(tables[table].X, y), 0.1 if quick else 0.6)
    notes = ["columns are standardised; a target of 0.67x is at most 1.5 times the peer's time"]
    notes += ["k-means starts from another seed each time; its inertia is a mean, within 5 %"]
    return Table(TITLE, HEADER, rows, notes)


def judged(name: str, model: str, data: Data, budget: float) -> list[Row]:
    """Fit and use of one model on one table, in milliseconds."""
    fits = {library: fitter(library, model, data) for library in (OURS, SKLEARN)}
    with undisturbed():
        number = SEEDS if KINDS[model].seeded else 1
        fitted = {library: [fit(i) for i in range(number)] for library, fit in fits.items()}
    good = {library: mean_quality(KINDS[model], fitted[library], data) for library in fits}
    uses = {library: user(fitted[library][0], KINDS[model].use, data) for library in fits}
    as_good = KINDS[model].quality.as_good(good[OURS], good[SKLEARN])
    shown = [KINDS[model].quality.name, figure(good[OURS], 5), figure(good[SKLEARN], 5)]
    return [
        row([name, "fit"], small_calls(fits, budget), shown, as_good=as_good),
        row([name, KINDS[model].use], small_calls(uses, budget), ["", "", ""], as_good=True),
    ]


def fitter(library: str, model: str, data: Data) -> Callable[[int], Any]:
    cls, kind = load(library, model), KINDS[model]

    def fit(turn: int) -> Any:
        seed = {"random_state": turn} if kind.seeded else {}
        return cls(**kind.params, **seed).fit(data.X, data.y)

    return fit


def user(model: Any, use: str, data: Data) -> Callable[[int], Any]:
    call = getattr(model, use)
    return lambda _: call(data.X)


def mean_quality(kind: Kind, models: list[Any], data: Data) -> float:
    return mean(kind.quality.of(model, data) for model in models)


def row(head: list[str], times: dict[str, Times], shown: list[str], *, as_good: bool) -> Row:
    ours, theirs = times[OURS].median, times[SKLEARN].median
    ratio = theirs / ours
    verdict = ("met" if ratio >= TARGET else "missed") if as_good else "not counted: worse"
    cells = [*head, figure(1e3 * ours), figure(1e3 * theirs), f"{ratio:.2f}x", f"{TARGET:.2f}x"]
    return Row([*cells, *shown], verdict)
