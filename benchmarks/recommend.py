"""Recommenders on MovieLens 100k against Surprise and implicit.

Explicit ratings are learned on published folds: neighbors on u1, factors on u2, u4 and u5, because
the default penalty and number of factors of `ALS` were chosen with a look at u1 and u3. Implicit
feedback is the split ua.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from importlib import util
from typing import Any, NamedTuple

import numpy as np

from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import interleaved, seconds, undisturbed

TITLE = "Recommenders"
HEADER = ["case", "peer", "ours (s)", "peer (s)", "ratio", "target", "score ours", "peer"]
OURS = "tenfold"


class Case(NamedTuple):
    """A fit, or a fit and 20,000 predictions of each fold, and the mean score.

    `better` is -1 where small scores are good.
    """

    name: str
    peer: str
    target: float
    better: int = -1
    rounds: int = 3
    folds: tuple[int, ...] = (1,)


CASES = [
    Case("explicit-als", "surprise", 1, folds=(2, 4, 5)),
    Case("knn-basic", "surprise", 10),
    Case("knn-means", "surprise", 10),
    Case("knn-baseline", "surprise", 10),
    Case("implicit-als", "implicit", 1, 1),
    Case("implicit-als-exact", "implicit", 2, 1),
    Case("bpr", "implicit", 1, 1),
    Case("bpr-to-precision", "implicit", 1, 1),
]
EPOCHS = 100  # of BPR


def names() -> list[str]:
    return [case.name for case in CASES]


def run(wanted: list[str], *, quick: bool) -> Table:
    chosen = [case for case in CASES if case.name in wanted]
    if "TENFOLD_DATA" not in os.environ:
        return Table(TITLE, HEADER, [], ["left out: TENFOLD_DATA names no folder with MovieLens"])
    missing = [case for case in chosen if util.find_spec(case.peer) is None]
    rows = [tell(case.name) or contest(case, quick=quick) for case in chosen if case not in missing]
    notes = ["RMSE of the test part; precision at 10 of implicit models, larger is better"]
    notes += ["bpr-to-precision: as many epochs of ours as reach that of the peer after 100"]
    notes += [f"left out: {case.name}, {case.peer} is not installed" for case in missing]
    return Table(TITLE, HEADER, rows, notes)


def contest(case: Case, *, quick: bool) -> Row:
    fits = (explicit_fits if case.peer == "surprise" else implicit_fits)(case)
    scores: dict[str, float] = {}

    def turn(home: str, _: int) -> list[float]:
        return [seconds(lambda: scores.update({home: fits[home]()}))]

    with undisturbed():
        for home in fits:
            fits[home]()
    times = interleaved({h: partial(turn, h) for h in fits}, 1 if quick else case.rounds)
    ratio = times[case.peer].median / times[OURS].median
    good = case.better * (scores[OURS] - scores[case.peer]) >= -0.003
    verdict = ("met" if ratio >= case.target else "missed") if good else "not counted: worse"
    cells = [case.name, case.peer, timed(times[OURS]), timed(times[case.peer]), f"{ratio:.2f}x"]
    return Row([*cells, f"{case.target:g}x", *(figure(scores[home], 5) for home in fits)], verdict)


def explicit_fits(case: Case) -> dict[str, Callable[[], float]]:
    fits = [fold_fits(case.name, fold) for fold in case.folds]
    return {
        home: lambda home=home: float(np.mean([fit[home]() for fit in fits]))
        for home in (OURS, "surprise")
    }


def fold_fits(name: str, fold: int) -> dict[str, Callable[[], float]]:
    import surprise

    from tenfold.datasets import fetch_movielens_100k

    (X, y), (X_test, y_test) = (
        fetch_movielens_100k(part=f"u{fold}.{part}", return_X_y=True) for part in ("base", "test")
    )
    known = surprise.Dataset(surprise.Reader(rating_scale=(1, 5))).construct_trainset(
        [(int(u), int(i), float(r), None) for (u, i), r in zip(X, y, strict=True)]
    )
    test = [(int(u), int(i), float(r)) for (u, i), r in zip(X_test, y_test, strict=True)]
    ours, theirs = explicit_models(name)

    def fit_ours() -> float:
        return rmse(ours.fit(X, y).predict(X_test), y_test)

    def fit_theirs() -> float:
        return rmse(np.array([p.est for p in theirs.fit(known).test(test)]), y_test)

    return {OURS: fit_ours, "surprise": fit_theirs}


def explicit_models(name: str) -> tuple[Any, Any]:
    import surprise

    from tenfold import ALS, KNNRecommender

    if name == "explicit-als":
        return ALS(random_state=0), surprise.SVD(random_state=0)
    center, peer = {
        "knn-basic": ("none", surprise.KNNBasic),
        "knn-means": ("mean", surprise.KNNWithMeans),
        "knn-baseline": ("baseline", surprise.KNNBaseline),
    }[name]
    return KNNRecommender(metric="msd", center=center), peer(verbose=False)


def rmse(predicted: np.ndarray, y: np.ndarray) -> float:
    return float(np.sqrt(np.mean((predicted - y) ** 2)))


def implicit_fits(case: Case) -> dict[str, Callable[[], float]]:
    """Lists of ten, compared with the ten ratings of each user that the split ua holds out."""
    from implicit.als import AlternatingLeastSquares
    from implicit.bpr import BayesianPersonalizedRanking
    from scipy.sparse import csr_matrix

    from tenfold import BPR, ImplicitALS
    from tenfold.datasets import fetch_movielens_100k
    from tenfold.metrics import ranking_totals

    X = fetch_movielens_100k(part="ua.base", return_X_y=True)[0]
    held = fetch_movielens_100k(part="ua.test", return_X_y=True)[0]
    R = csr_matrix((np.ones(len(X), np.float32), X.T), shape=(943, 1682))
    counts, users = R, np.unique(held[:, 0])
    relevant = [held[held[:, 0] == user, 1].tolist() for user in users]
    ours: Any = BPR(16, max_iter=EPOCHS, tol=0.0, random_state=0)
    theirs: Any = BayesianPersonalizedRanking(16, iterations=EPOCHS, random_state=0)
    if not case.name.startswith("bpr"):
        steps = case.name == "implicit-als"  # three steps of conjugate gradients, or exact systems
        solver = "cg" if steps else "cholesky"
        ours = ImplicitALS(64, max_iter=15, tol=0.0, solver=solver, random_state=0)
        R = 2 * R  # its matrix has the confidences, which are 1 more than counts
        theirs = AlternatingLeastSquares(64, iterations=15, use_cg=steps, random_state=0)

    def precision(lists: np.ndarray) -> float:
        return ranking_totals(lists.tolist(), relevant, 10).values()["precision"]

    def fit_theirs() -> float:
        theirs.fit(R, show_progress=False)
        return precision(theirs.recommend(users, R[users], N=10)[0])

    def fit_ours() -> float:
        return precision(ours.fit(counts).recommend(users, 10).items)

    if case.name == "bpr-to-precision":
        enough, epochs = fit_theirs(), range(5, EPOCHS + 1, 5)
        for ours.max_iter in epochs:
            if fit_ours() >= enough:
                break
    return {OURS: fit_ours, "implicit": fit_theirs}
