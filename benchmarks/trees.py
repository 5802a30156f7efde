"""Boosted trees against scikit-learn, LightGBM and xgboost: fits, predictions, small tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import util
from typing import Any, NamedTuple

import numpy as np

from benchmarks.libraries import OURS, SKLEARN
from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import Times, interleaved, seconds, undisturbed

TITLE = "Boosted trees"
HEADER = ["case", "ours (s)", "peer", "peer (s)", "ratio", "target", "loss", "peer's"]
LIGHTGBM, XGBOOST = "LightGBM", "xgboost"
PACKAGES = {SKLEARN: "sklearn", LIGHTGBM: "lightgbm", XGBOOST: "xgboost"}
ROUNDS = 3


class Labelled(NamedTuple):
    """Rows and labels to learn from, and others to judge by."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


class TreeCase(NamedTuple):
    """Data, number of trees and leaves, targets by peer, and the loss that may be lost."""

    data: Callable[[int], Labelled]
    trees: int
    leaves: int
    targets: dict[str, float]
    tolerance: float  # share of the peer's loss by which ours may be larger
    predicts: bool = False  # whether predictions are timed, not fits
    categories: bool = False


def split(X: np.ndarray, y: np.ndarray) -> Labelled:
    n = len(X) * 4 // 5
    return Labelled(X[:n], y[:n], X[n:], y[n:])


def collisions(n: int, p: int, part: int) -> Labelled:
    """Two classes with interactions, of the shape of HIGGS."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n * 5 // 4 // part, p)).astype(np.float32)
    z = X[:, 0] * (X[:, 1] + 0.5) + np.sin(2 * X[:, 2]) + 0.5 * X[:, 3] ** 2 - 0.5 + 0.7 * X[:, 4]
    return split(X, (z + rng.normal(size=len(X)) > 0).astype(np.int64))


def forest_cover(part: int) -> Labelled:
    """Seven classes, 54 columns of which 44 are indicators, of the shape of covertype."""
    rng = np.random.default_rng(1)
    n = 581_012 // part
    X = np.zeros((n, 54), np.float32)
    X[:, :10] = rng.normal(size=(n, 10))
    soil, wild = rng.integers(0, 40, n), rng.integers(0, 4, n)
    X[np.arange(n), 10 + wild] = X[np.arange(n), 14 + soil] = 1
    centers = rng.normal(size=(7, 10))
    score = X[:, :10] @ centers.T + rng.normal(size=(40, 7))[soil] + rng.gumbel(size=(n, 7))
    return split(X, score.argmax(axis=1))


def flights(part: int) -> Labelled:
    """Two classes, eight columns of categories with 7 to 250 levels, of the shape of airline."""
    rng = np.random.default_rng(2)
    n, levels = 1_250_000 // part, (7, 12, 24, 31, 60, 120, 200, 250)
    X = np.column_stack([rng.integers(0, k, n) for k in levels]).astype(np.float32)
    score = sum(rng.normal(size=k)[X[:, j].astype(int)] for j, k in enumerate(levels))
    return split(X, (score + 2 * rng.normal(size=n) > 0).astype(np.int64))


THREE = {SKLEARN: 1.5, LIGHTGBM: 1.2, XGBOOST: 1.3}
HIGGS = partial(collisions, 1_000_000, 28)
CASES = {
    "gbdt-higgs": TreeCase(HIGGS, 100, 31, THREE, 0.002),
    "gbdt-255": TreeCase(HIGGS, 20, 255, {SKLEARN: 1.5, LIGHTGBM: 1.0}, 0.002),
    "gbdt-covertype": TreeCase(forest_cover, 20, 31, {SKLEARN: 1.5, LIGHTGBM: 1.0}, 0.005),
    "gbdt-categories": TreeCase(
        flights, 50, 31, {SKLEARN: 1.5, LIGHTGBM: 1.0}, 0.005, categories=True
    ),
    "gbdt-small": TreeCase(
        partial(collisions, 1000, 10), 100, 31, {SKLEARN: 3.0, LIGHTGBM: 1.0}, 0.05
    ),
    "gbdt-predict": TreeCase(
        HIGGS, 100, 31, {SKLEARN: 2.0, LIGHTGBM: 3.0, XGBOOST: 1.0}, 0.002, predicts=True
    ),
}


def names() -> list[str]:
    return list(CASES)


def run(wanted: list[str], *, quick: bool) -> Table:
    rows = [row for name in wanted for row in contest(name, quick=quick)]
    notes = [
        f"{library} is not installed: pip install tenfold[bench]"
        for library, package in PACKAGES.items()
        if util.find_spec(package) is None
    ]
    notes.append("all libraries on all cores, the same numbers of trees, leaves and bins")
    return Table(TITLE, HEADER, rows, notes)


def make(library: str, case: TreeCase) -> Any:
    """A classifier of a library with the settings of a case."""
    columns = list(range(8)) if case.categories else None
    if library in {OURS, SKLEARN}:
        from sklearn.ensemble import HistGradientBoostingClassifier as Theirs

        from tenfold import HistGradientBoostingClassifier

        cls: Any = HistGradientBoostingClassifier if library == OURS else Theirs
        return cls(
            max_iter=case.trees,
            max_leaf_nodes=case.leaves,
            early_stopping=False,
            categorical_features=columns,
            random_state=0,
        )
    if library == LIGHTGBM:
        from lightgbm import LGBMClassifier

        own = {"categorical_feature": columns} if columns else {}
        return LGBMClassifier(n_estimators=case.trees, num_leaves=case.leaves, verbose=-1, **own)
    from xgboost import XGBClassifier

    return XGBClassifier(
        n_estimators=case.trees,
        max_leaves=case.leaves,
        max_depth=0,
        grow_policy="lossguide",
        learning_rate=0.1,
        tree_method="hist",
    )


def contest(name: str, *, quick: bool) -> list[Row]:
    """All libraries in turns on one case."""
    tell(name)
    case = CASES[name]
    data = case.data(10 if quick and name != "gbdt-small" else 1)
    peers = [peer for peer in case.targets if util.find_spec(PACKAGES[peer])]
    fitted: dict[str, Any] = {}

    def fit(library: str, _: int) -> list[float]:
        model = fitted[library] = make(library, case)
        return [seconds(model.fit, data.X, data.y)]

    def predict(library: str, _: int) -> list[float]:
        return [seconds(fitted[library].predict_proba, data.X)]

    libraries = [OURS, *peers]
    with undisturbed():  # compile, and wake threads
        for library in libraries:
            make(library, case).fit(data.X[:70_000], data.y[:70_000])
    if case.predicts:
        for library in libraries:
            fit(library, 0)
    work = predict if case.predicts else fit
    times = interleaved({lib: partial(work, lib) for lib in libraries}, 1 if quick else ROUNDS)
    return [judge(name, case, peer, data, fitted, times) for peer in peers]


def judge(
    name: str,
    case: TreeCase,
    peer: str,
    data: Labelled,
    fitted: dict[str, Any],
    times: dict[str, Times],
) -> Row:
    ours, theirs, target = times[OURS], times[peer], case.targets[peer]
    loss, other = (log_loss(fitted[library], data) for library in (OURS, peer))
    ratio = theirs.median / ours.median
    cells = [name, timed(ours), peer, timed(theirs), f"{ratio:.2f}x", f"{target:g}x"]
    cells += [figure(loss, 5), figure(other, 5)]
    if loss > other * (1 + case.tolerance):
        return Row(cells, "not counted: worse")
    return Row(cells, "met" if ratio >= target else "missed")


def log_loss(model: Any, data: Labelled) -> float:
    """Mean log-loss of the rows that no model has seen."""
    p = model.predict_proba(data.X_test)[np.arange(len(data.y_test)), data.y_test]
    return float(-np.log(np.maximum(p, 1e-12)).mean())
