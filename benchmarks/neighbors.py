"""Exact neighbors against scikit-learn, faiss, SciPy and pykdtree: searches, missing values, grids.

Every case compares the rows that are found with those of float64 brute force on some queries.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import util
from typing import Any, NamedTuple

import numpy as np

from benchmarks.libraries import OURS, SKLEARN
from benchmarks.report import Row, Table, tell, timed
from benchmarks.timing import Times, interleaved, seconds, undisturbed

TITLE = "Exact neighbors"
HEADER = ["case", "ours (s)", "peer", "peer (s)", "ratio", "target", "right rows", "peer's"]
FAISS, SCIPY, PYKDTREE, INTELEX = "faiss Flat", "scipy cKDTree", "pykdtree", "intelex"
PACKAGES = {
    SKLEARN: "sklearn",
    FAISS: "faiss",
    SCIPY: "scipy",
    PYKDTREE: "pykdtree",
    INTELEX: "sklearnex",
}
ROUNDS = 3
CHECKED = 50  # queries that are searched by brute force in float64


class NeighborCase(NamedTuple):
    """Rows, queries, their numbers and kind, and targets by peer."""

    data: Callable[[int], tuple[np.ndarray, np.ndarray]]
    k: int
    targets: dict[str, float]
    metric: str = "euclidean"
    algorithm: str = "auto"  # of scikit-learn


def gauss(n: int, d: int, m: int, dtype: str, shift: float, part: int) -> tuple:
    rng = np.random.default_rng(0)
    n, m = n // part, m // part
    return tuple((rng.normal(size=(rows, d)) + shift).astype(dtype) for rows in (n, m))


def pictures(part: int) -> tuple:
    """Clustered rows with the shape of MNIST."""
    rng = np.random.default_rng(1)
    n, m = 60_000 // part, 5_000 // part
    centers = rng.gamma(0.5, 60, (200, 784)) * (rng.random((200, 784)) < 0.3)
    rows = centers[rng.integers(0, 200, n + m)] * rng.random((n + m, 784))
    rows = np.round(np.minimum(rows, 255)).astype(np.float32)
    return rows[:n], rows[n:]


def cube(n: int, d: int, m: int, part: int) -> tuple:
    rng = np.random.default_rng(2)
    return rng.random((n // part, d)), rng.random((m // part, d))


def bits(part: int) -> tuple:
    rng = np.random.default_rng(5)
    return tuple((rng.random((n // part, 256)) < 0.5).astype("f4") for n in (100_000, 500))


def places(part: int) -> tuple:
    """Latitudes and longitudes."""
    X, Q = cube(200_000, 2, 50_000, part)
    return tuple((a - 0.5) * [np.pi, 2 * np.pi] for a in (X, Q))


def holes(part: int) -> tuple:
    X, Q = gauss(20_000, 30, 5_000, "f8", 0.0, part)
    rng = np.random.default_rng(3)
    return tuple(np.where(rng.random(a.shape) < 0.1, np.nan, a) for a in (X, Q))


WIDE = {SKLEARN: 2.2, FAISS: 1.0, INTELEX: 1.0}
TREES = {SKLEARN: 4.0, SCIPY: 1.5, PYKDTREE: 1.0}
CASES = {
    "brute-mnist": NeighborCase(pictures, 10, WIDE | {SKLEARN: 2.0}, algorithm="brute"),
    "brute-64": NeighborCase(
        partial(gauss, 200_000, 64, 5_000, "f4", 0.0), 10, WIDE, algorithm="brute"
    ),
    "brute-f8": NeighborCase(
        partial(gauss, 100_000, 32, 5_000, "f8", 0.0), 10, {SKLEARN: 2.0}, algorithm="brute"
    ),
    "shifted": NeighborCase(
        partial(gauss, 200_000, 64, 5_000, "f4", 1e4),
        10,
        {SKLEARN: 1.5, FAISS: 0.0},
        algorithm="brute",
    ),
    "kd-3": NeighborCase(partial(cube, 1_000_000, 3, 200_000), 5, TREES, algorithm="kd_tree"),
    "kd-8": NeighborCase(
        partial(cube, 200_000, 8, 50_000),
        5,
        {SKLEARN: 3.0, SCIPY: 1.2, PYKDTREE: 1.0},
        algorithm="kd_tree",
    ),
    "tree-haversine": NeighborCase(
        places, 5, {SKLEARN: 1.5}, metric="haversine", algorithm="ball_tree"
    ),
    "hamming": NeighborCase(
        bits, 10, {SKLEARN: 50.0, FAISS: 0.8}, metric="hamming", algorithm="brute"
    ),
    "nan": NeighborCase(holes, 10, {SKLEARN: 5.0}, metric="nan_euclidean", algorithm="brute"),
    "knn-grid": NeighborCase(
        partial(gauss, 50_000, 20, 50_000, "f8", 0.0), 40, {SKLEARN: 60.0}, algorithm="brute"
    ),
}


def names() -> list[str]:
    return list(CASES)


def run(wanted: list[str], *, quick: bool) -> Table:
    rows = [row for name in wanted for row in contest(name, quick=quick)]
    notes = [
        f"{library} is not installed"
        for library, package in PACKAGES.items()
        if util.find_spec(package) is None
    ]
    notes.append("index and queries, all libraries on all cores")
    notes.append("knn-grid: of GridSearchCV one of 40 candidates on one of 5 folds, times 200")
    return Table(TITLE, HEADER, rows, notes)


def searcher(library: str, case: NeighborCase, X: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """A function that finds the rows of queries, after the index is made."""
    k = case.k
    if library == FAISS:
        import faiss

        if case.metric == "hamming":
            packed = faiss.IndexBinaryFlat(X.shape[1])
            packed.add(np.packbits(X != 0, axis=1))
            return lambda Q: packed.search(np.packbits(Q != 0, axis=1), k)[1]
        index = faiss.IndexFlatL2(X.shape[1])
        index.add(np.ascontiguousarray(X, np.float32))
        return lambda Q: index.search(np.ascontiguousarray(Q, np.float32), k)[1]
    if library == SCIPY:
        from scipy.spatial import cKDTree

        tree = cKDTree(X)
        return lambda Q: tree.query(Q, k, workers=-1)[1]
    if library == PYKDTREE:
        from pykdtree.kdtree import KDTree

        index = KDTree(X)
        return lambda Q: index.query(Q, k)[1]
    options = {"n_neighbors": k, "metric": case.metric}
    if library == OURS:
        from tenfold import NearestNeighbors
    else:
        options |= {"algorithm": case.algorithm, "n_jobs": -1}
        if library == INTELEX:
            from sklearnex.neighbors import NearestNeighbors
        else:
            from sklearn.neighbors import NearestNeighbors
    model: Any = NearestNeighbors(**options).fit(X)
    return lambda Q: model.kneighbors(Q, return_distance=False)


def contest(name: str, *, quick: bool) -> list[Row]:
    """All libraries in turns on one case."""
    tell(name)
    case = CASES[name]
    X, Q = case.data(10 if quick else 1)
    peers = [peer for peer in case.targets if util.find_spec(PACKAGES[peer])]
    found: dict[str, np.ndarray] = {}

    def work(library: str, _: int) -> list[float]:
        def search() -> None:
            found[library] = searcher(library, case, X)(Q)

        return [seconds(search)]

    libraries = [OURS, *peers]
    if name == "knn-grid":
        return [grid_contest(case, X)]
    with undisturbed():  # compile, and wake threads
        for library in libraries:
            searcher(library, case, X[:5000])(Q[:100])
    times = interleaved({lib: partial(work, lib) for lib in libraries}, 1 if quick else ROUNDS)
    return [judge(name, case, peer, X, Q, found, times) for peer in peers]


def grid_contest(case: NeighborCase, X: np.ndarray) -> Row:
    """Every k up to 40 in five folds; of GridSearchCV one candidate on one fold, times 200."""
    from sklearn.neighbors import KNeighborsClassifier as Theirs

    from tenfold import KNeighborsClassifier, Search

    y = (X[:, 0] + np.random.default_rng(4).normal(size=len(X)) > 0).astype(int)
    grid = {"n_neighbors": list(range(1, case.k + 1))}
    test = np.arange(len(X)) < len(X) // 5

    def ours(_: int) -> list[float]:
        search = Search(KNeighborsClassifier(), grid, folds=5, refit=False)
        return [seconds(search.fit, X, y)]

    def theirs(_: int) -> list[float]:
        model = Theirs(20).fit(X[~test], y[~test])
        return [200 * seconds(model.score, X[test], y[test])]

    with undisturbed():
        Search(KNeighborsClassifier(), grid, folds=5, refit=False).fit(X[:2000], y[:2000])
    times = interleaved({OURS: ours, SKLEARN: theirs}, 1)
    ratio, target = times[SKLEARN].median / times[OURS].median, case.targets[SKLEARN]
    cells = ["knn-grid", timed(times[OURS]), SKLEARN, timed(times[SKLEARN])]
    cells += [f"{ratio:.1f}x", f"{target:g}x", "-", "-"]
    return Row(cells, "met" if ratio >= target else "missed")


def judge(
    name: str,
    case: NeighborCase,
    peer: str,
    X: np.ndarray,
    Q: np.ndarray,
    found: dict[str, np.ndarray],
    times: dict[str, Times],
) -> Row:
    ours, theirs, target = times[OURS], times[peer], case.targets[peer]
    right, other = (share_right(found[library], X, Q, case.metric) for library in (OURS, peer))
    ratio = theirs.median / ours.median
    cells = [name, timed(ours), peer, timed(theirs), f"{ratio:.2f}x", f"{target:g}x"]
    cells += [f"{right:.1%}", f"{other:.1%}"]
    if right < 1:
        return Row(cells, "not counted: wrong rows")
    return Row(cells, "met" if ratio >= target else "missed")


def share_right(rows: np.ndarray, X: np.ndarray, Q: np.ndarray, metric: str) -> float:
    """Share of the neighbors that are as near as the true ones, of some queries."""
    from sklearn.metrics.pairwise import haversine_distances, nan_euclidean_distances

    hits = []
    for q, near in zip(Q[:CHECKED], rows[:CHECKED].astype(np.int64), strict=False):
        if metric == "nan_euclidean":
            d = nan_euclidean_distances(q[None], X)[0]
        elif metric == "haversine":
            d = haversine_distances(q[None], X)[0]
        elif metric == "hamming":
            d = (q != X).mean(axis=1)
        else:
            d = ((X - q.astype(np.float64)) ** 2).sum(axis=1)
        hits.append((d[near] <= np.sort(d)[len(near) - 1] * (1 + 1e-12)).mean())
    return float(np.mean(hits))
