"""One fit from a file in a process of its own; prints memory, seconds and passes as JSON.

`python -m benchmarks.memory_fit MODEL FOLDER npy|parquet|magnitudes.npy|magnitudes.parquet|ratings`
"""

from __future__ import annotations

import json
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, Self

PARAMS: dict[str, dict[str, Any]] = {
    "GaussianHMM": {"n_components": 4, "n_iter": 2, "random_state": 0},  # rows are one sequence
    "GaussianNB": {},
    "KMeans": {"n_clusters": 10, "max_iter": 3, "random_state": 0},
    "LogisticRegression": {"max_iter": 3},
    "MLPClassifier": {"max_iter": 1, "random_state": 0},
    "NearestNeighbors": {"n_neighbors": 10, "keep_rows": "file"},
    "PCA": {"n_components": 5},
    "RandomForestClassifier": {"n_estimators": 1, "max_depth": 6, "random_state": 0},
    "Ridge": {},
    "RidgeSearch": {"alpha": [0.01, 0.1, 1.0, 10.0, 100.0]},
}
RECOMMENDERS: dict[str, dict[str, Any]] = {
    "ALS": {"max_iter": 3, "random_state": 0},
    "ImplicitALS": {"max_iter": 3, "random_state": 0},
}
NON_NEGATIVE: dict[str, dict[str, Any]] = {
    "NMF": {"n_components": 5, "max_iter": 3, "random_state": 0},
    "KLNMF": {"n_components": 5, "max_iter": 3, "random_state": 0, "solver": "mu", "beta_loss": 1},
}
TARGETS = {"GaussianNB": "label", "LogisticRegression": "label", "Ridge": "number"}
TARGETS |= {"RidgeSearch": "number", "MLPClassifier": "label"}
TARGETS |= {"RandomForestClassifier": "label"}
QUERIES = 500  # of a search among the rows of the file
STEP = 0.005  # seconds between two looks at the memory


def anonymous() -> int:
    """Bytes of this process that no file stands behind."""
    with open("/proc/self/status") as status:  # noqa: PTH123 - every 5 ms: keep it cheap
        line = next(line for line in status if line.startswith("RssAnon"))
    return 1024 * int(line.split()[1])


class Peak:
    """The largest amount of anonymous memory within a block, looked at by a thread."""

    def __enter__(self) -> Self:
        self.before = self.most = anonymous()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()
        return self

    def watch(self) -> None:
        while not self.over.wait(STEP):
            self.most = max(self.most, anonymous())

    def __exit__(self, *problem: object) -> None:
        self.over.set()
        self.thread.join()


def count_passes() -> list[str]:
    """Every pass that is made from now on, by the name of its leaf; `blocks` is a random order."""
    from tenfold.engine import Rows

    passes: list[str] = []

    def counting(verb: Callable[..., Any]) -> Callable[..., Any]:
        def counted(self: Rows, f: Callable[..., Any], *state: Any, **options: Any) -> Any:
            passes.append(f.__name__)
            return verb(self, f, *state, **options)

        return counted

    def visiting(self: Rows, seed: int | None = None) -> Any:
        passes.append("blocks")
        return blocks(self, seed)

    blocks = Rows.blocks
    for verb in ("total", "each", "carry"):
        setattr(Rows, verb, counting(getattr(Rows, verb)))
    Rows.blocks = visiting  # type: ignore[method-assign]
    return passes


def opened(folder: Path, kind: str, target: str | None) -> Any:
    import tenfold

    if kind == "ratings":
        return folder / "ratings.parquet"
    if kind.startswith("magnitudes"):
        return folder / kind
    if kind == "npy":
        side = None if target is None else str(folder / f"{target}.npy")
        return tenfold.open(folder / "X.npy", target=side)
    from benchmarks.bigfiles import COLUMNS

    columns = [f"x{j}" for j in range(COLUMNS)]
    return tenfold.open(folder / "all.parquet", target=target, columns=columns)


def made(model: str) -> Any:
    import tenfold

    if model == "RidgeSearch":  # ten folds of each penalty
        return tenfold.Search(tenfold.Ridge(), PARAMS[model])
    parameters = (PARAMS | RECOMMENDERS | NON_NEGATIVE)[model]
    return getattr(tenfold, model.removeprefix("KL"))(**parameters)


def queries() -> Any:
    import numpy as np

    from benchmarks.bigfiles import COLUMNS

    return np.random.default_rng(0).normal(size=(QUERIES, COLUMNS)).astype(np.float32)


def main(model: str, folder: str, kind: str) -> None:
    warnings.simplefilter("ignore")  # three rounds do not converge
    estimator, passes = made(model), count_passes()
    start = perf_counter()
    with Peak() as peak:
        estimator.fit(opened(Path(folder), kind, TARGETS.get(model)))
        if model == "NearestNeighbors":
            estimator.kneighbors(queries())
    took = perf_counter() - start
    print(json.dumps({"bytes": peak.most - peak.before, "seconds": took, "passes": passes}))


if __name__ == "__main__":
    main(*sys.argv[1:])
