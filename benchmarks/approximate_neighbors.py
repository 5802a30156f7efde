"""Approximate neighbors against faiss: inverted lists and graphs, at a recall of 0.95."""

from __future__ import annotations

from functools import cache, partial
from importlib import util
from typing import Any, NamedTuple

import numpy as np

from benchmarks.libraries import OURS
from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import Times, interleaved, seconds, undisturbed

TITLE = "Approximate neighbors"
HEADER = ["case", "ours (s)", "peer", "peer (s)", "ratio", "target", "recall", "peer's"]
FAISS = "faiss"
RECALL, NEIGHBORS, QUERIES, TRUTHS = 0.95, 10, 10_000, 1000
ROUNDS = 3


class IndexCase(NamedTuple):
    """Rows, columns, kind of index, and whether queries are timed."""

    n: int
    d: int
    kind: str  # "ivf" or "graph"
    searches: bool
    target: float = 1.0


CASES = {
    "ivf-build": IndexCase(500_000, 96, "ivf", searches=False),
    "ivf-search": IndexCase(500_000, 96, "ivf", searches=True),
    "graph-build": IndexCase(100_000, 64, "graph", searches=False),
    "graph-search": IndexCase(100_000, 64, "graph", searches=True),
}
EFFORTS = {"ivf": (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128), "graph": (16, 24, 32, 48, 64, 96)}


def names() -> list[str]:
    return list(CASES)


def run(wanted: list[str], *, quick: bool) -> Table:
    rows = [row for name in wanted for row in contest(name, quick=quick)]
    notes = [
        "1,000 clusters, each of 16 dimensions and some noise; 10 neighbors of 10,000 other rows",
        "ivf: 1,024 lists; graph: at most 32 edges, and faiss's HNSW with M = 16",
        f"searches: the least effort that finds {RECALL:.0%} of the true neighbors",
    ]
    if util.find_spec(FAISS) is None:
        notes.append("faiss is not installed: pip install faiss-cpu")
    return Table(TITLE, HEADER, rows, notes)


@cache
def clusters(n: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, queries, and the true neighbors of the first of these."""
    from tenfold import NearestNeighbors

    rng = np.random.default_rng(0)
    centers, plane = rng.normal(size=(1000, d)), 0.25 * rng.normal(size=(16, d))
    label = rng.integers(1000, size=n + QUERIES)
    X = centers[label] + rng.normal(size=(len(label), 16)) @ plane
    X = (X + 0.1 * rng.normal(size=X.shape)).astype(np.float32)
    rows, queries = X[:n], X[n:]
    model = NearestNeighbors(n_neighbors=NEIGHBORS, algorithm="brute").fit(rows)
    return rows, queries, model.kneighbors(queries[:TRUTHS], return_distance=False)


class Ours:
    """An index of tenfold."""

    def __init__(self, case: IndexCase) -> None:
        from tenfold import GraphNearestNeighbors, IVFNearestNeighbors

        common: dict[str, Any] = {"n_neighbors": NEIGHBORS, "random_state": 0}
        self.model: Any = (
            IVFNearestNeighbors(n_lists=1024, n_probe=8, **common)
            if case.kind == "ivf"
            else GraphNearestNeighbors(**common)
        )

    def build(self, X: np.ndarray) -> None:
        self.model.fit(X)

    def set_effort(self, effort: int) -> None:
        self.model.n_probe_ = self.model.beam = effort

    def search(self, Q: np.ndarray) -> np.ndarray:
        return self.model.kneighbors(Q, return_distance=False)


class Faiss:
    """An index of faiss."""

    def __init__(self, case: IndexCase) -> None:
        self.case = case
        self.index: Any = None

    def build(self, X: np.ndarray) -> None:
        import faiss  # pyright: ignore[reportMissingImports]

        d = X.shape[1]
        if self.case.kind == "ivf":
            self.quantizer = faiss.IndexFlatL2(d)
            self.index = faiss.IndexIVFFlat(self.quantizer, d, 1024)
            self.index.train(X)
        else:
            self.index = faiss.IndexHNSWFlat(d, 16)
        self.index.add(X)

    def set_effort(self, effort: int) -> None:
        if self.case.kind == "ivf":
            self.index.nprobe = effort
        else:
            self.index.hnsw.efSearch = effort

    def search(self, Q: np.ndarray) -> np.ndarray:
        return self.index.search(Q, NEIGHBORS)[1]


def share_found(library: Any, Q: np.ndarray, truth: np.ndarray) -> float:
    found = library.search(Q[:TRUTHS])
    return float((found[:, :, None] == truth[:, None]).any(axis=1).mean())


def reach_recall(library: Any, efforts: tuple[int, ...], Q: np.ndarray, truth: np.ndarray) -> float:
    """Set the least effort that reaches the recall; what it reaches."""
    recall = 0.0
    for effort in efforts:
        library.set_effort(effort)
        recall = share_found(library, Q, truth)
        if recall >= RECALL:
            break
    return recall


def contest(name: str, *, quick: bool) -> list[Row]:
    """Both libraries in turns on one case."""
    tell(name)
    case = CASES[name]
    X, Q, truth = clusters(case.n // (10 if quick else 1), case.d)
    libraries: dict[str, Any] = {OURS: Ours(case)}
    if util.find_spec(FAISS):
        libraries[FAISS] = Faiss(case)

    def build(library: str, _: int) -> list[float]:
        return [seconds(libraries[library].build, X)]

    def search(library: str, _: int) -> list[float]:
        return [seconds(libraries[library].search, Q)]

    with undisturbed():  # compile, and wake threads
        for library in libraries.values():
            library.build(X if case.searches else X[:20_000])
            library.search(Q[:100])
    efforts, recalls = EFFORTS[case.kind], {}
    if case.searches:
        recalls = {key: reach_recall(each, efforts, Q, truth) for key, each in libraries.items()}
    work = search if case.searches else build
    times = interleaved({key: partial(work, key) for key in libraries}, 1 if quick else ROUNDS)
    if not case.searches:
        recalls = {key: reach_recall(each, efforts, Q, truth) for key, each in libraries.items()}
    return [judge(name, case, times, recalls)] if FAISS in libraries else []


def judge(name: str, case: IndexCase, times: dict[str, Times], recalls: dict[str, float]) -> Row:
    ours, theirs = times[OURS], times[FAISS]
    ratio = theirs.median / ours.median
    cells = [name, timed(ours), FAISS, timed(theirs), f"{ratio:.2f}x", f"{case.target:g}x"]
    cells += [figure(recalls[OURS], 3), figure(recalls[FAISS], 3)]
    if recalls[OURS] < RECALL:
        return Row(cells, "not counted: worse")
    return Row(cells, "met" if ratio >= case.target else "missed")
