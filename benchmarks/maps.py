"""Maps against scikit-learn, openTSNE and intelex, at equal stress or divergence."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module, util
from typing import Any, NamedTuple

import numpy as np

from benchmarks.libraries import OURS, SKLEARN
from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import interleaved, seconds, undisturbed

TITLE = "Maps"
HEADER = ["case", "ours (s)", "peer", "peer (s)", "ratio", "target", "value", "peer's"]
OPENTSNE, INTELEX = "openTSNE", "intelex"
PACKAGES = {SKLEARN: "sklearn", OPENTSNE: "openTSNE", INTELEX: "sklearnex"}
TOLERANCE = 0.01  # by which our stress or divergence may be higher
ITERATIONS = 1000  # of t-SNE, of all libraries


class MapCase(NamedTuple):
    """Data, a map by each library, the value of a map, and targets by peer."""

    data: Callable[[int], np.ndarray]
    fit: Callable[..., np.ndarray]  # of rows, a library, max_iter
    value: Callable[[np.ndarray, np.ndarray], float]
    targets: dict[str, float]
    rounds: int = 1  # of maps that take many seconds; else 5: fresh memory slows the first
    to_peers_value: bool = False  # whether ours stops when its map is as good as the peer's


def distances(n: int, part: int) -> np.ndarray:
    from scipy.spatial.distance import pdist, squareform

    return squareform(pdist(np.random.default_rng(0).normal(size=(n // part, 10))))


def digits(n: int, part: int) -> np.ndarray:
    """Rows of MNIST in 50 principal components; without the data, digits of scikit-learn."""
    import tenfold
    from tenfold.datasets import fetch_mnist

    try:
        mnist: Any = fetch_mnist()
        X = mnist.data[: n // part]
    except OSError:
        from sklearn.datasets import load_digits

        X = load_digits().data[: n // part]
    return np.asarray(tenfold.PCA(min(50, *X.shape)).fit_transform(X.astype(np.float64)))


def scale(D: np.ndarray, library: str, max_iter: int = 300, *, classical: bool) -> np.ndarray:
    import sklearn.manifold

    import tenfold

    home: Any = tenfold if library == OURS else sklearn.manifold
    if classical:
        return home.ClassicalMDS(metric="precomputed").fit_transform(D)
    model = home.MDS(metric="precomputed", init="classical_mds", max_iter=max_iter, eps=0)
    return model.fit_transform(D)


def embed(
    X: np.ndarray, library: str, max_iter: int = ITERATIONS, *, method: str = "auto"
) -> np.ndarray:
    """A map by the defaults of a library, on as many threads as ours; `method` is ours."""
    from tenfold.engine.thread_pool import n_threads

    if library == OURS:
        from tenfold import TSNE

        return TSNE(max_iter=max_iter, method=method).fit_transform(X)
    if library == OPENTSNE:
        import openTSNE  # pyright: ignore[reportMissingImports]

        model = openTSNE.TSNE(n_jobs=n_threads(), n_iter=max_iter - 250)  # after exaggeration
        return np.asarray(model.fit(X))
    home = import_module("sklearnex.manifold" if library == INTELEX else "sklearn.manifold")
    return home.TSNE(n_jobs=n_threads(), max_iter=max_iter).fit_transform(X)


def iterations_to(value: float, X: np.ndarray) -> int:
    """As many of our iterations as make a map of this divergence, in steps of 50."""
    from tenfold import TSNE

    reached = TSNE(max_iter=ITERATIONS).fit(X).history_["objective"] <= value
    return 50 * (int(reached.argmax()) + 1) if reached.any() else ITERATIONS


def stress_of(D: np.ndarray, Z: np.ndarray) -> float:
    from tenfold import stress

    return stress(D, Z, normalized=True)


def divergence_of(X: np.ndarray, Y: np.ndarray) -> float:
    """The divergence of any map, from the same similarities."""
    from tenfold import NearestNeighbors
    from tenfold.manifold._similarities import neighbor_similarities
    from tenfold.manifold._t_sne_descent import Divergence

    P = neighbor_similarities(NearestNeighbors().fit(X), X, 30.0, len(X))
    return Divergence(P, 1.0, "pairs", 0.5).value(np.ascontiguousarray(Y, np.float32))


CASES = {
    "classical-3000": MapCase(
        partial(distances, 3000), partial(scale, classical=True), stress_of, {SKLEARN: 20.0}, 5
    ),
    "metric-1000": MapCase(
        partial(distances, 1000), partial(scale, classical=False), stress_of, {SKLEARN: 4.0}, 5
    ),
    "t-sne-5000": MapCase(
        partial(digits, 5000), embed, divergence_of, {SKLEARN: 4.0, OPENTSNE: 2.0}
    ),
    "t-sne-5000-to-divergence": MapCase(
        partial(digits, 5000), embed, divergence_of, {INTELEX: 1.0}, to_peers_value=True
    ),
    "t-sne-20000": MapCase(  # the method is what "auto" takes for as many rows
        partial(digits, 20_000),
        partial(embed, method="interpolation"),
        divergence_of,
        {OPENTSNE: 1.0},
    ),
}


def names() -> list[str]:
    return list(CASES)


def run(wanted: list[str], *, quick: bool) -> Table:
    rows = [row for name in wanted for row in compare(name, CASES[name], 10 if quick else 1)]
    notes = [
        f"{library} is not installed"
        for library, package in PACKAGES.items()
        if util.find_spec(package) is None
    ]
    notes.append("values: Stress-1, and divergences of all maps from the same similarities")
    notes.append(
        "t-SNE: 1,000 iterations; to-divergence: as many of ours as reach the peer's after 1,000"
    )
    return Table(TITLE, HEADER, rows, notes)


def compare(name: str, case: MapCase, part: int) -> list[Row]:
    """One row for each peer that is installed."""
    peers = [peer for peer in case.targets if util.find_spec(PACKAGES[peer]) is not None]
    if not peers:
        return []
    tell(name)
    X = case.data(part)
    maps: dict[str, np.ndarray] = {}
    iterations: dict[str, int] = {}

    def make(library: str) -> None:
        limit = {"max_iter": iterations[library]} if library in iterations else {}
        maps[library] = case.fit(X, library, **limit)

    with undisturbed():
        few = X[:100, :100] if X.shape[0] == X.shape[1] else X[:200]
        for library in (OURS, *peers):  # compiled and imported
            case.fit(few, library)
        if case.to_peers_value:
            iterations[OURS] = iterations_to(case.value(X, case.fit(X, peers[0])), X)
    turns = {each: partial(timed_turn, make, each) for each in (OURS, *peers)}
    times = interleaved(turns, case.rounds)
    values = {library: case.value(X, Z) for library, Z in maps.items()}
    rows = []
    for peer in peers:
        ratio = times[peer].median / times[OURS].median
        good = values[OURS] <= (1 + TOLERANCE) * values[peer]
        verdict = "met" if good and ratio >= case.targets[peer] else "missed"
        cells = [name, timed(times[OURS]), peer, timed(times[peer]), f"{ratio:.1f}x"]
        cells += [f"{case.targets[peer]:g}x", figure(values[OURS]), figure(values[peer])]
        rows.append(Row(cells, verdict if part == 1 else ""))
    return rows


def timed_turn(make: Callable[[str], None], library: str, _turn: int) -> list[float]:
    return [seconds(make, library)]
