"""Paths of the lasso against scikit-learn's and skglm's: 100 penalties, correlated columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import util
from typing import Any, NamedTuple

import numpy as np

from benchmarks.libraries import OURS, SKLEARN
from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import Times, interleaved, seconds, undisturbed

TITLE = "Lasso paths"
HEADER = ["case", "peer", "ours (s)", "peer (s)", "ratio", "target", "objective", "peer", "columns"]
SKGLM = "skglm"
TARGETS = {SKLEARN: 2.0, SKGLM: 1.0}
ROUNDS = 3
TOLERANCE = 1e-4  # share of the peer's mean objective by which ours may be larger: that is `tol`
ALPHAS, EPS = 100, 1e-3
NOISES = {"clean": 0.0, "noisy": 1.0}  # deviation of the noise as a share of the signal's
DTYPES = {"f4": np.float32, "f8": np.float64}

Found = tuple[np.ndarray, np.ndarray]  # penalties, and coefficients (p, k)


class Plane(NamedTuple):
    """Centred rows, and a target that depends on 100 columns."""

    X: np.ndarray
    y: np.ndarray


def plane(part: int, noise: float, dtype: type) -> Plane:
    """20,000 x 2,000; neighbouring columns have correlation 1/2."""
    rng = np.random.default_rng(0)
    n, p, k = 20_000 // part, 2_000 // part, 100 // part
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    signal = X[:, rng.choice(p, k, replace=False)] @ rng.normal(size=k)
    y = signal + noise * signal.std() * rng.normal(size=n)
    return Plane((X - X.mean(axis=0)).astype(dtype), (y - y.mean()).astype(dtype))


def names() -> list[str]:
    return [f"{kind}-{dtype}" for kind in NOISES for dtype in DTYPES]


def run(wanted: list[str], *, quick: bool) -> Table:
    rows = [row for name in wanted for row in tell(name) or contest(name, quick=quick)]
    notes = [f"as good means: the mean objective is at most {TOLERANCE:g} of the peer's larger"]
    notes.append(f"{ALPHAS} penalties down to {EPS:g} of the largest, tol=1e-4 for all")
    if util.find_spec(SKGLM) is None:
        notes.append(f"left out: {SKGLM} is not installed")
    return Table(TITLE, HEADER, rows, notes)


def ours(data: Plane) -> Found:
    from tenfold import lasso_path

    return lasso_path(data.X, data.y, alphas=ALPHAS, eps=EPS)[:2]


def scikit_learns(data: Plane) -> Found:
    from sklearn import linear_model

    settings: dict[str, Any] = {"alphas": ALPHAS, "eps": EPS}
    return linear_model.lasso_path(data.X, data.y, **settings)[:2]


def skglms(data: Plane) -> Found:
    from skglm import Lasso  # pyright: ignore[reportMissingImports]

    largest = float(np.abs(data.X.T @ data.y).max()) / len(data.y)
    alphas = np.geomspace(largest, largest * EPS, ALPHAS)
    model = Lasso(fit_intercept=False, tol=1e-4)
    return model.path(np.asfortranarray(data.X), data.y, alphas)[:2]


def contestants() -> dict[str, Callable[[Plane], Found]]:
    known = {OURS: ours, SKLEARN: scikit_learns}
    return known if util.find_spec(SKGLM) is None else known | {SKGLM: skglms}


def contest(name: str, *, quick: bool) -> list[Row]:
    """All libraries in turns on one case."""
    kind, dtype = name.split("-")
    data = plane(10 if quick else 1, NOISES[kind], DTYPES[dtype])
    found: dict[str, Found] = {}

    def follow(library: str, _: int) -> list[float]:
        return [seconds(lambda: found.update({library: contestants()[library](data)}))]

    with undisturbed():  # compile
        for path in contestants().values():
            path(Plane(data.X[:900, :600], data.y[:900]))
    turns = {library: partial(follow, library) for library in contestants()}
    times = interleaved(turns, 1 if quick else ROUNDS)
    return [judged(name, peer, data, found, times) for peer in TARGETS if peer in found]


def judged(
    name: str, peer: str, data: Plane, found: dict[str, Found], times: dict[str, Times]
) -> Row:
    ratio, target = times[peer].median / times[OURS].median, TARGETS[peer]
    value, theirs = (objective(data, *found[library]) for library in (OURS, peer))
    cells = [name, peer, timed(times[OURS]), timed(times[peer]), f"{ratio:.2f}x", f"{target:g}x"]
    cells += [figure(value, 8), figure(theirs, 8), str(np.count_nonzero(found[OURS][1][:, -1]))]
    if value > theirs * (1 + TOLERANCE):
        return Row(cells, "not counted: worse")
    return Row(cells, "met" if ratio >= target else "missed")


def objective(data: Plane, alphas: np.ndarray, coefs: np.ndarray) -> float:
    """Mean objective over all penalties."""
    W = np.asarray(coefs, np.float64)
    residual = data.y[:, None].astype(np.float64) - data.X @ W
    return float((0.5 * (residual**2).mean(axis=0) + alphas * np.abs(W).sum(axis=0)).mean())
