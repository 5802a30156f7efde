"""Decision trees and forests of full depth against scikit-learn and intelex, at equal quality."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module, util
from typing import Any, NamedTuple

import numpy as np

from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import interleaved, seconds, undisturbed

TITLE = "Trees and forests"
HEADER = ["case", "peer", "ours (s)", "peer (s)", "ratio", "target", "score ours", "peer"]
OURS = "tenfold"
PEERS = {"sklearn": "sklearn.ensemble", "sklearnex": "sklearnex.ensemble"}
WORSE = 3e-3  # accuracy or R2 by which our score on held-out rows may lie below the peer's


class Case(NamedTuple):
    """One problem and a peer; `predict` times predictions instead of fits."""

    name: str
    peer: str
    model: str
    rows: int
    columns: int
    target: float
    params: dict[str, Any]
    predict: bool = False
    rounds: int = 3


def names() -> list[str]:
    return [case.name for case in cases()]


def run(wanted: list[str], *, quick: bool) -> Table:
    chosen = [case for case in cases() if case.name in wanted]
    missing = [case for case in chosen if util.find_spec(case.peer) is None]
    rows = [tell(case.name) or contest(case, quick=quick) for case in chosen if case not in missing]
    notes = [f"scores of held-out rows; as good means at most {WORSE:g} below the peer's"]
    notes += [f"left out: {case.name}, {case.peer} is not installed" for case in missing]
    return Table(TITLE, HEADER, rows, notes)


def make_rows(n: int, p: int, *, is_class: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rows with products and steps in the target, and noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p)).astype(np.float32)
    score = X[:, 0] * X[:, 1] + X[:, 2] + np.sign(X[:, 3]) * X[:, 4] + rng.normal(size=n)
    return X, (score > 0).astype(np.int64) if is_class else score


def find_model(case: Case, home: str) -> Callable[..., Any]:
    """The class of a case in a library."""
    if home == OURS:
        return getattr(import_module("tenfold"), case.model)
    module = "sklearn.tree" if case.model.startswith("DecisionTree") else PEERS[home]
    return getattr(import_module(module), case.model)


def contest(case: Case, *, quick: bool) -> Row:
    """Fits (or predictions) in turns; the score of the last turn counts."""
    n = case.rows // (10 if quick else 1)
    X, y = make_rows(n + n // 5, case.columns, is_class=case.model.endswith("Classifier"))
    models: dict[str, Any] = {}
    for home in (OURS, case.peer):
        models[home] = find_model(case, home)(**case.params, random_state=0)
        with undisturbed():
            models[home].fit(X[:2000], y[:2000])
            if case.predict:
                models[home].fit(X[:n], y[:n])

    def turn(home: str, _: int) -> list[float]:
        if case.predict:
            return [seconds(lambda: models[home].predict(X))]
        return [seconds(lambda: models[home].fit(X[:n], y[:n]))]

    times = interleaved({h: partial(turn, h) for h in models}, 1 if quick else case.rounds)
    scores = {home: model.score(X[n:], y[n:]) for home, model in models.items()}
    ratio = times[case.peer].median / times[OURS].median
    good = scores[OURS] >= scores[case.peer] - WORSE
    verdict = ("met" if ratio >= case.target else "missed") if good else "not counted: worse"
    cells = [case.name, case.peer, timed(times[OURS]), timed(times[case.peer]), f"{ratio:.2f}x"]
    cells += [f"{case.target:g}x", *(figure(scores[home], 4) for home in models)]
    return Row(cells, verdict)


def cases() -> list[Case]:
    """The sizes and targets of the research on trees."""
    forest = {"n_estimators": 50, "n_jobs": 2}
    many = {"n_estimators": 100, "n_jobs": 2}
    rf, et, dt = "RandomForestClassifier", "ExtraTreesClassifier", "DecisionTreeClassifier"
    return [
        Case("tree, depth 10", "sklearn", dt, 10**6, 28, 8, {"max_depth": 10}),
        Case("forest", "sklearn", rf, 200_000, 28, 5, forest),
        Case("forest, intelex", "sklearnex", rf, 200_000, 28, 1.1, forest),
        Case("forest, regression", "sklearn", "RandomForestRegressor", 20_640, 8, 4, many),
        Case("extra trees", "sklearn", et, 200_000, 28, 2.5, forest),
        Case("extra trees, intelex", "sklearnex", et, 200_000, 28, 2.5, forest),
        Case("forest, predict", "sklearn", rf, 200_000, 28, 3, forest, predict=True),
    ]
