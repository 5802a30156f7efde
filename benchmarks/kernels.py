"""Kernel methods against scikit-learn: ridge, landmarks, random features, kernel regression."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.libraries import OURS, SKLEARN
from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import interleaved, seconds, undisturbed

TITLE = "Kernels"
HEADER = ["case", "ours (s)", "peer", "peer (s)", "ratio", "target", "quality", "peer's"]
ROUNDS = 3
HAND = "NumPy by hand"


class Problem(NamedTuple):
    """Rows to learn from, and others to judge by."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


class KernelCase(NamedTuple):
    """Size of the data, two ways to learn from them, and what is asked of ours."""

    n: int
    p: int
    dtype: type
    ours: Callable[[Problem], Any]  # a fitted model
    theirs: Callable[[Problem], Any]
    target: float
    tolerance: float  # by which our quality (R^2 or accuracy) may be lower
    peer: str = SKLEARN
    scale: float = 1.0  # peer's times are those of a share of its work, times this
    classes: bool = False


def make_problem(n: int, p: int, dtype: type, *, classes: bool) -> Problem:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 5000, p)).astype(dtype)
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=len(X))
    y = (y > 0).astype(np.int64) if classes else y.astype(dtype)
    return Problem(X[:n], y[:n], X[n:], y[n:])


def ridge(data: Problem, library: str) -> Any:
    from sklearn.kernel_ridge import KernelRidge as Theirs

    from tenfold import KernelRidge

    cls: Any = KernelRidge if library == OURS else Theirs
    return cls(1.0, kernel="rbf", gamma=0.05).fit(data.X, data.y)


def landmark_ridge(data: Problem) -> Any:
    from tenfold import NystroemRidge

    return NystroemRidge(gamma=0.02, n_components=1000, random_state=0).fit(data.X, data.y)


def landmark_pipeline(data: Problem, *, classes: bool = False, m: int = 1000) -> Any:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline

    last = LogisticRegression(max_iter=1000) if classes else Ridge()
    features = Nystroem(gamma=0.02, n_components=m, random_state=0)
    return make_pipeline(features, last).fit(data.X, data.y)


def landmark_grid(data: Problem) -> Any:
    from tenfold import NystroemRidgeCV

    alphas = np.logspace(-3, 3, 20)
    model = NystroemRidgeCV(alphas, gamma=0.02, n_components=1000, cv=5, random_state=0)
    return model.fit(data.X, data.y)


def landmark_logistic(data: Problem) -> Any:
    from tenfold import NystroemLogisticRegression

    model = NystroemLogisticRegression(gamma=0.02, n_components=500, tol=1e-4, random_state=0)
    return model.fit(data.X, data.y)


def fourier_ridge(data: Problem, library: str) -> Any:
    from sklearn import kernel_approximation, linear_model
    from sklearn.pipeline import make_pipeline

    import tenfold

    sampler: Any = tenfold.RBFSampler if library == OURS else kernel_approximation.RBFSampler
    last: Any = tenfold.Ridge if library == OURS else linear_model.Ridge
    features = sampler(gamma=0.02, n_components=500, random_state=0)
    return make_pipeline(features, last()).fit(data.X, data.y)


class SmootherByHand:
    """Weighted means by blocks of queries."""

    def __init__(self, data: Problem, bandwidth: float) -> None:
        self.data, self.bandwidth = data, bandwidth

    def predict(self, Q: np.ndarray) -> np.ndarray:
        X, y = self.data.X, self.data.y
        squares, found = (X * X).sum(axis=1), []
        for first in range(0, len(Q), 500):
            q = Q[first : first + 500]
            D = (q * q).sum(axis=1)[:, None] + squares - 2 * q @ X.T
            D *= -0.5 / self.bandwidth**2
            np.exp(D, out=D)
            found.append(D @ y / D.sum(axis=1))
        return np.concatenate(found)

    def score(self, Q: np.ndarray, y: np.ndarray) -> float:
        return float(1 - ((self.predict(Q) - y) ** 2).mean() / y.var())


def smooth(data: Problem, library: str) -> Any:
    """Fit, and predict the rows of the test."""
    from tenfold import NadarayaWatsonRegressor

    h = 0.3
    ours = library == OURS
    model = NadarayaWatsonRegressor(h).fit(data.X, data.y) if ours else SmootherByHand(data, h)
    model.predict(data.X_test)
    return model


CASES = {
    "kernel-ridge": KernelCase(
        6000,
        20,
        np.float64,
        partial(ridge, library=OURS),
        partial(ridge, library=SKLEARN),
        1.5,
        1e-8,
    ),
    "nystroem-ridge": KernelCase(
        500_000, 28, np.float32, landmark_ridge, landmark_pipeline, 3.0, 1e-3
    ),
    "nystroem-grid": KernelCase(  # 5 folds and 20 penalties
        100_000, 28, np.float32, landmark_grid, landmark_pipeline, 40.0, 1e-3, scale=80.0
    ),
    "kernel-logistic": KernelCase(
        100_000,
        28,
        np.float32,
        landmark_logistic,
        partial(landmark_pipeline, classes=True, m=500),
        3.0,
        2e-3,
        classes=True,
    ),
    "nadaraya-watson": KernelCase(
        100_000,
        5,
        np.float64,
        partial(smooth, library=OURS),
        partial(smooth, library=HAND),
        2.0,
        1e-6,
        peer=HAND,
    ),
    "rbf-sampler": KernelCase(
        1_000_000,
        28,
        np.float32,
        partial(fourier_ridge, library=OURS),
        partial(fourier_ridge, library=SKLEARN),
        3.0,
        1e-3,
    ),
}


def names() -> list[str]:
    return list(CASES)


def run(wanted: list[str], *, quick: bool) -> Table:
    notes = [
        "quality is R^2, of kernel-logistic accuracy, on rows that no model has seen",
        "nystroem-grid: the peer's time is that of a fit to all rows, times 100 x 4/5",
    ]
    return Table(TITLE, HEADER, [contest(name, quick=quick) for name in wanted], notes)


def contest(name: str, *, quick: bool) -> Row:
    """Both sides in turns on one case."""
    tell(name)
    case = CASES[name]
    part = 10 if quick else 1
    data = make_problem(case.n // part, case.p, case.dtype, classes=case.classes)
    makers = {OURS: case.ours, case.peer: case.theirs}
    fitted: dict[str, Any] = {}

    def fit(library: str, _: int) -> list[float]:
        def work() -> None:
            fitted[library] = makers[library](data)

        factor = 1.0 if library == OURS else case.scale
        return [factor * seconds(work)]

    with undisturbed():  # compile, and wake threads
        small = Problem(data.X[:1500], data.y[:1500], data.X_test[:100], data.y_test[:100])
        for make in makers.values():
            make(small)
    rounds = 1 if quick else ROUNDS
    times = interleaved({library: partial(fit, library) for library in makers}, rounds)
    ours, theirs = times[OURS], times[case.peer]
    quality, other = (fitted[lib].score(data.X_test, data.y_test) for lib in makers)
    ratio = theirs.median / ours.median
    cells = [name, timed(ours), case.peer, timed(theirs), f"{ratio:.2f}x", f"{case.target:g}x"]
    cells += [figure(quality, 5), figure(other, 5)]
    if quality < other - case.tolerance:
        return Row(cells, "not counted: worse")
    return Row(cells, "met" if ratio >= case.target else "missed")
