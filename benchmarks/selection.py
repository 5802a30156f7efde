"""Ten folds and a grid: against GridSearchCV, and against a shortcut written for the purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn import decomposition, linear_model, naive_bayes
from sklearn.model_selection import GridSearchCV, KFold, ParameterGrid
from sklearn.pipeline import make_pipeline

import tenfold
from benchmarks.report import Row, Table, figure, tell
from benchmarks.timing import seconds, undisturbed

TITLE = "Ten folds and a grid"
HEADER = ["case", "peer", "ours (s)", "peer (s)", "ratio", "target", "scores apart", "same winner"]
HEADER += ["one fit (s)"]
FOLDS = 10
NOTES = [
    "GridSearchCV has n_jobs=2; a slow one tries a share of the grid, and its time is scaled up",
    "by-hand: X'X of each fold's training rows by NumPy, one eigendecomposition for all penalties",
    "ridge-cv: leave-one-out in closed form, by RidgeCV of both, with all errors kept",
    "scores apart: largest difference of a candidate's mean score",
]


class Case(NamedTuple):
    """A search, ours and a peer's; a slow peer runs a share of the grid and is scaled up."""

    name: str
    peer: str
    data: Callable[[int], tuple[np.ndarray, np.ndarray]]
    ours: Any
    theirs: Any
    grid: dict[str, Any]
    target: float
    share: int = 1  # the peer tries every so-manieth value of the grid
    scoring: str | None = None
    apart: float = 1e-8  # how far scores may lie apart


def names() -> list[str]:
    return [case.name for case in cases()]


def run(wanted: list[str], *, quick: bool) -> Table:
    chosen = [case for case in cases() if case.name in wanted]
    rows = [tell(case.name) or contest(case, quick=quick) for case in chosen]
    return Table(TITLE, HEADER, rows, NOTES)


def contest(case: Case, *, quick: bool) -> Row:
    X, y = case.data(10 if quick else 1)
    found: dict[str, Any] = {}
    few = {name: values[:: case.share] for name, values in case.grid.items()}
    scale = _size(case.grid) / _size(few)

    def ours() -> None:
        if isinstance(case.ours, type):
            found["ours"] = leave_one_out(case.ours)(case, X, y, case.grid)
            return
        results = tenfold.search(
            case.ours, case.grid, X, y, folds=KFold(FOLDS), scoring=case.scoring, refit=False
        ).cv_results_
        tried = [results["params"].index(params) for params in ParameterGrid(few)]
        found["ours"] = results["mean_test_score"][tried]

    def theirs() -> None:
        found["peer"] = case.theirs(case, X, y, few)

    with undisturbed():
        model = tenfold.Ridge() if isinstance(case.ours, type) else case.ours
        tenfold.search(model, few, X[:2000], y[:2000], scoring=case.scoring)  # compile
        took = sorted(seconds(ours) for _ in range(3))[1]
        peer = seconds(theirs) * scale
        lone = seconds(tenfold.search, model, {}, X, y)
    return _row(case, found, took, peer, lone, scale)


def _row(case: Case, found: dict, took: float, peer: float, lone: float, scale: float) -> Row:
    scores = found["ours"]
    apart = float(np.abs(scores - found["peer"]).max())
    same = int(np.argmax(scores)) == int(np.argmax(found["peer"]))
    good = apart <= case.apart and same
    ratio = peer / took
    verdict = ("met" if ratio >= case.target else "missed") if good else "not counted: other scores"
    scaled = "" if scale == 1 else f" (1/{scale:.0f})"
    cells = [case.name, case.peer, figure(took), figure(peer) + scaled, f"{ratio:.1f}x"]
    cells += [f"{case.target:g}x", f"{apart:.1e}", "yes" if same else "no", figure(lone)]
    return Row(cells, verdict)


def _size(grid: dict[str, Any]) -> int:
    return int(np.prod([len(values) for values in grid.values()]))


def grid_search(model: Any) -> Callable[..., np.ndarray]:
    def fit(case: Case, X: np.ndarray, y: np.ndarray, grid: dict) -> np.ndarray:
        search = GridSearchCV(
            model, grid, cv=KFold(FOLDS), n_jobs=2, refit=False, scoring=case.scoring
        )
        return search.fit(X, y).cv_results_["mean_test_score"]

    return fit


def leave_one_out(model: Any) -> Callable[..., np.ndarray]:
    """Minus the mean squared leave-one-out error of every penalty, in closed form."""

    def fit(_: Case, X: np.ndarray, y: np.ndarray, grid: dict) -> np.ndarray:
        found = model(alphas=grid["alpha"], store_cv_results=True).fit(X, y)
        return -found.cv_results_.mean(axis=0)

    return fit


def ridge_by_hand(_: Case, X: np.ndarray, y: np.ndarray, grid: dict) -> np.ndarray:
    """R^2 of every penalty, from one Gram matrix per fold."""
    alphas, scores = np.asarray(grid["alpha"]), []
    for train, test in KFold(FOLDS).split(X):
        A, b = X[train], y[train]
        mean, middle = A.mean(axis=0), b.mean()
        gram = A.T @ A - len(A) * np.outer(mean, mean)
        values, V = np.linalg.eigh(gram)
        turned = V.T @ (A.T @ b - len(A) * mean * middle)
        W = V @ (turned[:, None] / (values[:, None] + alphas))
        left = y[test, None] - (X[test] - mean) @ W - middle
        spread = ((y[test] - y[test].mean()) ** 2).sum()
        scores.append(1 - (left**2).sum(axis=0) / spread)
    return np.mean(scores, axis=0)


def plane(n: int, p: int, noise: float) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
    def make(shrink: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n // shrink, p))
        return X, X @ rng.normal(size=p) + noise * rng.normal(size=len(X))

    return make


def two_classes(n: int, p: int) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
    def make(shrink: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n // shrink, p))
        w = rng.normal(size=p) / 3 * (rng.random(p) < 0.3)
        return X, (X @ w + rng.logistic(size=len(X)) > 0).astype(int)

    return make


def cases() -> list[Case]:
    return [*ridge_cases(), *classifier_cases(), pipeline_case()]


def ridge_cases() -> list[Case]:
    alphas = {"alpha": np.logspace(-3, 6, 100)}
    large = plane(1_000_000, 100, 10.0)
    return [
        Case(
            "ridge-1000000x100",
            "GridSearchCV",
            large,
            tenfold.Ridge(),
            grid_search(linear_model.Ridge()),
            alphas,
            20,
            share=50,
        ),
        Case("ridge-by-hand", "by-hand", large, tenfold.Ridge(), ridge_by_hand, alphas, 3),
        Case(
            "ridge-cv-200000x50",
            "RidgeCV",
            plane(200_000, 50, 5.0),
            tenfold.RidgeCV,
            leave_one_out(linear_model.RidgeCV),
            {"alpha": np.logspace(-3, 6, 10)},
            2,
            apart=1e-6,
        ),
    ]


def classifier_cases() -> list[Case]:
    return [
        Case(
            "logistic-200000x50",
            "GridSearchCV",
            two_classes(200_000, 50),
            tenfold.LogisticRegression(),
            grid_search(linear_model.LogisticRegression()),
            {"C": np.logspace(-4, 2, 20)},
            5,
            scoring="neg_log_loss",
            apart=1e-4,
        ),
        Case(
            "naive-bayes-200000x50",
            "GridSearchCV",
            two_classes(200_000, 50),
            tenfold.GaussianNB(),
            grid_search(naive_bayes.GaussianNB()),
            {"var_smoothing": np.logspace(-9, 0, 10)},
            5,
        ),
    ]


def pipeline_case() -> Case:
    peer = make_pipeline(decomposition.PCA(), linear_model.Ridge())
    return Case(
        "pca-ridge-200000x50",
        "GridSearchCV",
        plane(200_000, 50, 5.0),
        make_pipeline(tenfold.PCA(), tenfold.Ridge()),
        grid_search(peer),
        {"pca__n_components": [5, 10, 20, 40], "ridge__alpha": np.logspace(-2, 4, 10)},
        20,
        share=2,
    )
