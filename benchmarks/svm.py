"""Kernel machines against scikit-learn (libsvm): fits, predictions, small tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.libraries import OURS, SKLEARN
from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import Times, interleaved, seconds, undisturbed

TITLE = "Kernel SVM"
HEADER = ["case", "ours (s)", "peer (s)", "ratio", "target", "scores differ by", "gap"]
TOLERANCE = 5e-3  # of scores, on average: both stop at tol = 1e-3
ROUNDS = 3


class Rows(NamedTuple):
    """Rows and targets."""

    X: np.ndarray
    y: np.ndarray | None


class SVMCase(NamedTuple):
    """Model, parameters, data, target, and what is timed."""

    model: str
    parameters: dict[str, Any]
    data: Callable[[int], Rows]
    target: float
    predicts: bool = False
    repeats: int = 1  # calls that are timed together


def eights(n: int, part: int) -> Rows:
    """MNIST, the digit 8 against the rest."""
    from tenfold.datasets import fetch_mnist

    X, y = fetch_mnist(return_X_y=True)
    X = np.asarray(X[: n // part]).reshape(n // part, -1).astype(np.float32) / np.float32(255)
    return Rows(X, (np.asarray(y[: n // part]).astype(int) == 8).astype(int))


def houses(part: int) -> Rows:
    """California housing, standardized."""
    from tenfold.datasets import fetch_california_housing

    X, y = fetch_california_housing(return_X_y=True)
    X = np.asarray(X, np.float64)[::part]
    return Rows((X - X.mean(axis=0)) / X.std(axis=0), np.asarray(y, np.float64)[::part])


def overlapping(n: int, part: int) -> Rows:
    """Two classes of 20 columns of which two fifths are support vectors."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n // part, 20))
    z = X[:, 0] * X[:, 1] + X[:, 2] + np.sin(3 * X[:, 3])
    return Rows(X, (z + 0.5 * rng.normal(size=len(X)) > 0).astype(int))


def cloud(n: int, part: int) -> Rows:
    return Rows(np.random.default_rng(0).normal(size=(n // part, 20)), None)


def small(name: str, _: int) -> Rows:
    from sklearn import datasets

    return Rows(*getattr(datasets, f"load_{name}")(return_X_y=True))


CASES = {
    "svc-rbf-fit": SVMCase("SVC", {"C": 5, "cache_size": 1000}, partial(eights, 20_000), 6.0),
    "svc-predict": SVMCase("SVC", {"C": 5}, partial(eights, 20_000), 20.0, predicts=True),
    "svc-narrow": SVMCase("SVC", {"C": 10, "cache_size": 1000}, partial(overlapping, 20_000), 4.0),
    "svr-california": SVMCase("SVR", {"C": 10}, houses, 4.0),
    "one-class": SVMCase("OneClassSVM", {"nu": 0.02}, partial(cloud, 50_000), 4.0),
    "small-iris": SVMCase("SVC", {}, partial(small, "iris"), 1 / 1.5, repeats=50),
    "small-cancer": SVMCase("SVC", {}, partial(small, "breast_cancer"), 1 / 1.5, repeats=20),
    "small-digits": SVMCase("SVC", {}, partial(small, "digits"), 1 / 1.5, repeats=3),
}


def names() -> list[str]:
    return list(CASES)


def run(wanted: list[str], *, quick: bool) -> Table:
    rows = [tell(name) or contest(name, quick=quick) for name in wanted]
    notes = ["scikit-learn's solver has one thread; small tables may take 1.5 times its time"]
    return Table(TITLE, HEADER, rows, notes)


def make(library: str, case: SVMCase) -> Any:
    from sklearn import svm

    import tenfold

    return getattr(tenfold if library == OURS else svm, case.model)(**case.parameters)


def contest(name: str, *, quick: bool) -> Row:
    """Both libraries in turns on one case."""
    case = CASES[name]
    data = case.data(10 if quick else 1)
    fitted: dict[str, Any] = {}

    def fit(library: str, _: int) -> list[float]:
        model = fitted[library] = make(library, case)
        return [seconds(lambda: [model.fit(*data) for _ in range(case.repeats)])]

    def predict(library: str, _: int) -> list[float]:
        return [seconds(fitted[library].decision_function, data.X[:10_000])]

    with undisturbed():  # compile, and wake threads
        for library in (OURS, SKLEARN):
            part = slice(0, 2500)
            make(library, case).fit(data.X[part], None if data.y is None else data.y[part])
            if case.predicts:
                fit(library, 0)
    turns = {lib: partial(predict if case.predicts else fit, lib) for lib in (OURS, SKLEARN)}
    return judge(name, case, data, fitted, interleaved(turns, 1 if quick else ROUNDS))


def judge(
    name: str, case: SVMCase, data: Rows, fitted: dict[str, Any], times: dict[str, Times]
) -> Row:
    ours, theirs = times[OURS], times[SKLEARN]
    output = "predict" if case.model == "SVR" else "decision_function"
    scores = [np.asarray(getattr(fitted[lib], output)(data.X[:2000])) for lib in (OURS, SKLEARN)]
    apart = float(np.abs(scores[0] - scores[1]).mean())
    ratio = theirs.median / ours.median
    cells = [name, timed(ours), timed(theirs), f"{ratio:.2f}x", f"{case.target:.2g}x"]
    gap = fitted[OURS].duality_gap_.sum() / np.abs(fitted[OURS].objective_).sum()
    cells += [figure(apart, 2), f"{gap:.1e}"]
    if apart > TOLERANCE:
        return Row(cells, "not counted: other scores")
    return Row(cells, "met" if ratio >= case.target else "missed")
