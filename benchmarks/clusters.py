"""Medoids and trees: at the same cost, or the same tree, against kmedoids, fastcluster, scipy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import util
from typing import NamedTuple

import numpy as np

from benchmarks.case import Data
from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import interleaved, seconds, undisturbed

TITLE = "Medoids and trees"
HEADER = ["case", "peer", "ours (s)", "peer (s)", "ratio", "target", "worth ours", "peer"]
AS_GOOD = 5e-3  # share by which our cost may lie above the peer's: both are local optima
OURS = "tenfold"
LINKAGES = ("single", "complete", "average", "centroid", "median", "ward")


class Case(NamedTuple):
    """One problem, ours and a peer's; each gives its worth, of which less is better."""

    name: str
    peer: str
    data: Callable[[int], Data]
    ours: Callable[[np.ndarray], float]
    theirs: Callable[[np.ndarray], float]
    rounds: int = 5
    target: float = 1.0


def names() -> list[str]:
    return [case.name for case in cases()]


def run(wanted: list[str], *, quick: bool) -> Table:
    chosen = [case for case in cases() if case.name in wanted]
    missing = [case for case in chosen if util.find_spec(case.peer) is None]
    rows = [tell(case.name) or contest(case, quick=quick) for case in chosen if case not in missing]
    notes = ["worth: cost of the medoids, or sum of the heights of the tree"]
    notes += [f"as good means at most {AS_GOOD:g} of the peer's worth above it"]
    notes += [f"left out: {case.name}, {case.peer} is not installed" for case in missing]
    return Table(TITLE, HEADER, rows, notes)


def contest(case: Case, *, quick: bool) -> Row:
    """Fits in turns; what the last turn found is judged."""
    X, worth = case.data(10 if quick else 1).X, {}
    fits = {OURS: case.ours, case.peer: case.theirs}
    with undisturbed():
        for fit in fits.values():
            fit(X[: len(X) // 10])

    def timed_fit(name: str, _: int) -> list[float]:
        return [seconds(lambda: worth.update({name: fits[name](X)}))]

    turns = {name: partial(timed_fit, name) for name in fits}
    times = interleaved(turns, 2 if quick else case.rounds)
    ratio = times[case.peer].median / times[OURS].median
    good = worth[OURS] - worth[case.peer] <= AS_GOOD * abs(worth[case.peer])
    verdict = ("met" if ratio >= case.target else "missed") if good else "not counted: worse"
    cells = [case.name, case.peer, timed(times[OURS]), timed(times[case.peer]), f"{ratio:.2f}x"]
    cells += [f"{case.target:g}x", *(figure(worth[name], 7) for name in fits)]
    return Row(cells, verdict)


def cloud(n: int, p: int) -> Callable[[int], Data]:
    """Rows without clusters, where a search has the most to do."""
    return lambda shrink: Data(np.random.default_rng(0).normal(size=(n // shrink, p)))


def our_medoids(k: int, X: np.ndarray) -> float:
    from tenfold.cluster.kmedoids import KMedoids

    return KMedoids(min(k, len(X)), random_state=0).fit(X).inertia_


def their_medoids(k: int, X: np.ndarray) -> float:
    from kmedoids import KMedoids  # pyright: ignore[reportMissingImports]

    return float(KMedoids(min(k, len(X)), metric="euclidean", random_state=0).fit(X).inertia_)


def our_tree(linkage: str, X: np.ndarray) -> float:
    from tenfold.cluster.dendrogram import linkage_matrix

    return float(linkage_matrix(X, linkage)[:, 2].sum())


def fastclusters_tree(linkage: str, X: np.ndarray) -> float:
    from fastcluster import linkage as tree  # pyright: ignore[reportMissingImports]

    return float(tree(X, linkage)[:, 2].sum())


def scipys_tree(linkage: str, X: np.ndarray) -> float:
    from scipy.cluster.hierarchy import linkage as tree

    return float(tree(X, linkage)[:, 2].sum())


def cases() -> list[Case]:
    rows = cloud(5000, 10)
    medoids = [
        Case(f"{k} medoids", "kmedoids", rows, partial(our_medoids, k), partial(their_medoids, k))
        for k in (10, 100)
    ]
    peers = {"scipy": scipys_tree, "fastcluster": fastclusters_tree}
    trees = [
        Case(f"{how}, {peer}", peer, rows, partial(our_tree, how), partial(theirs, how), 3)
        for how in LINKAGES
        for peer, theirs in peers.items()
    ]
    return [*medoids, *trees]
