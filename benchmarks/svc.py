"""Linear SVMs against liblinear: words of 20 newsgroups, and a dense table, both losses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks import generated
from benchmarks.libraries import OURS, SKLEARN
from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import Times, interleaved, seconds, undisturbed

TITLE = "Linear SVM"
HEADER = ["case", "ours (s)", "peer (s)", "ratio", "target", "objective", "peer", "gap", "rounds"]
TARGET = 1.0
ROUNDS = 3
TOLERANCE = 1e-6  # share of the peer's objective by which ours may be larger


class Labelled(NamedTuple):
    """Rows, dense or sparse, and their labels."""

    X: Any
    y: np.ndarray


def words(part: int) -> Labelled:
    """tf-idf of 20 newsgroups, 11,314 x 130,107."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    from tenfold.datasets import fetch_20newsgroups

    text, y = fetch_20newsgroups(return_X_y=True)
    return Labelled(TfidfVectorizer().fit_transform(text)[::part], y[::part])


def dense(part: int) -> Labelled:
    data = generated.classes(100_000, 50, 2, np.float64)(part)
    return Labelled(data.X, np.asarray(data.y))


CASES: dict[str, tuple[Callable[[int], Labelled], str]] = {
    f"{name}-{loss}": (data, loss)
    for name, data in (("newsgroups", words), ("dense-100000x50", dense))
    for loss in ("squared_hinge", "hinge")
}


def names() -> list[str]:
    return list(CASES)


def run(wanted: list[str], *, quick: bool) -> Table:
    rows = [tell(name) or contest(name, quick=quick) for name in wanted]
    notes = [f"as good means: the objective is at most {TOLERANCE:g} of the peer's larger"]
    notes.append("default parameters; the peer stops at max_iter=1000 where it does not converge")
    return Table(TITLE, HEADER, rows, notes)


def makers() -> dict[str, type]:
    from sklearn import svm

    from tenfold.linear.svm.linear_svc import LinearSVC

    return {OURS: LinearSVC, SKLEARN: svm.LinearSVC}


def contest(name: str, *, quick: bool) -> Row:
    """Both libraries in turns on one case."""
    make_data, loss = CASES[name]
    data = make_data(10 if quick else 1)
    fitted: dict[str, Any] = {}

    def fit(library: str, turn: int) -> list[float]:
        model = fitted[library] = makers()[library](loss=loss, random_state=turn)
        return [seconds(model.fit, data.X, data.y)]

    with undisturbed():  # compile
        makers()[OURS](loss=loss, max_iter=6).fit(data.X[::20], data.y[::20])
    turns = {library: partial(fit, library) for library in makers()}
    return judged(name, data, fitted, interleaved(turns, 1 if quick else ROUNDS))


def judged(name: str, data: Labelled, fitted: dict[str, Any], times: dict[str, Times]) -> Row:
    ours, theirs = times[OURS], times[SKLEARN]
    value, peers = (objective(fitted[library], data) for library in (OURS, SKLEARN))
    ratio = theirs.median / ours.median
    cells = [name, timed(ours), timed(theirs), f"{ratio:.2f}x", f"{TARGET:g}x"]
    cells += [figure(value, 8), figure(peers, 8), f"{fitted[OURS].gap_.sum() / value:.1e}"]
    cells.append(f"{fitted[OURS].n_iter_} / {fitted[SKLEARN].n_iter_}")
    if value > peers * (1 + TOLERANCE):
        return Row(cells, "not counted: worse")
    return Row(cells, "met" if ratio >= TARGET else "missed")


def objective(model: Any, data: Labelled) -> float:
    """Liblinear's objective, summed over all scores."""
    m = len(model.coef_)
    own = data.y[:, None] == (model.classes_ if m > 1 else model.classes_[1:])
    Z = np.asarray(data.X @ model.coef_.T) + model.intercept_
    hinge = np.maximum(0.0, 1.0 - np.where(own, Z, -Z))
    losses = hinge**2 if model.loss == "squared_hinge" else hinge
    return float(0.5 * (model.coef_**2).sum() + 0.5 * (model.intercept_**2).sum() + losses.sum())
