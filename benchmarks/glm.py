"""Counts, thresholds and robust lines: at the same objective, against scikit-learn, statsmodels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import util
from typing import Any, NamedTuple

import numpy as np

from benchmarks.case import Data, rounds_of
from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import interleaved, seconds, undisturbed

TITLE = "Counts, thresholds and robust lines"
HEADER = ["case", "peer", "ours (s)", "peer (s)", "ratio", "target", "objective ours", "peer"]
HEADER += ["rounds"]
AS_GOOD = 1e-6  # share of the peer's objective that ours may lie above it
OURS = "tenfold"


class Line(NamedTuple):
    """What a fit of another shape has learned."""

    coef_: np.ndarray
    intercept_: float
    n_iter_: int


class Case(NamedTuple):
    """One model on one table, ours and a peer's."""

    name: str
    peer: str
    data: Callable[[int], Data]
    ours: Callable[[Data], Any]
    theirs: Callable[[Data], Any]
    objective: Callable[[Any, np.ndarray, np.ndarray], float]  # of model, scores and target
    target: float
    rounds: int = 5


def names() -> list[str]:
    return [case.name for case in cases()]


def run(wanted: list[str], *, quick: bool) -> Table:
    chosen = [case for case in cases() if case.name in wanted]
    missing = [case for case in chosen if util.find_spec(module_of(case.peer)) is None]
    rows = [tell(case.name) or contest(case, quick=quick) for case in chosen if case not in missing]
    notes = [f"as good means that our objective is at most {AS_GOOD:g} of the peer's above it"]
    notes += [f"left out: {case.name}, {case.peer} is not installed" for case in missing]
    return Table(TITLE, HEADER, rows, notes)


def module_of(peer: str) -> str:
    return {"scikit-learn": "sklearn"}.get(peer, peer)


def contest(case: Case, *, quick: bool) -> Row:
    """Fits in turns; the models of the last turn are judged."""
    data, models = case.data(10 if quick else 1), {}
    fits = {OURS: case.ours, case.peer: case.theirs}
    with undisturbed():
        for fit in fits.values():
            fit(data.head(len(data.X) // 10))

    def timed_fit(name: str, _: int) -> list[float]:
        return [seconds(lambda: models.update({name: fits[name](data)}))]

    turns = {name: partial(timed_fit, name) for name in fits}
    times = interleaved(turns, 2 if quick else case.rounds)
    ours, theirs = (worth(case, models[name], data) for name in fits)
    ratio = times[case.peer].median / times[OURS].median
    good = ours - theirs <= AS_GOOD * abs(theirs)
    verdict = ("met" if ratio >= case.target else "missed") if good else "not counted: worse"
    cells = [case.name, case.peer, timed(times[OURS]), timed(times[case.peer]), f"{ratio:.2f}x"]
    cells += [f"{case.target:g}x", figure(ours, 9), figure(theirs, 9)]
    return Row([*cells, " / ".join(str(rounds_of(models[name])) for name in fits)], verdict)


def worth(case: Case, model: Any, data: Data) -> float:
    w = np.ravel(model.coef_).astype(np.float64)
    z = data.X @ w + float(np.ravel(model.intercept_)[0])
    return case.objective(model, z, np.asarray(data.y, np.float64))


# ------------------------------------------------------------------------------------------- data


def plane(n: int, p: int, target: Callable[[np.ndarray, np.random.Generator], np.ndarray]) -> Any:
    """Normal columns and a target drawn from a linear score."""

    def make(shrink: int) -> Data:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n // shrink, p))
        return Data(X, target(X @ (rng.normal(size=p) / np.sqrt(p)) + 0.5, rng))

    return make


def above_threshold(z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (z > rng.normal(size=len(z))).astype(np.int64)


def count(z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.poisson(np.exp(z)).astype(np.float64)


def heavy_tailed(z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return z + rng.standard_t(2, size=len(z))


# ------------------------------------------------------------------------------------- objectives


def probit_loss(_: Any, z: np.ndarray, y: np.ndarray) -> float:
    from scipy.special import log_ndtr

    return -float(log_ndtr((2 * y - 1) * z).mean())


def poisson_loss(model: Any, z: np.ndarray, y: np.ndarray) -> float:
    return float((np.exp(z) - y * z).mean() + model.alpha / 2 * (model.coef_**2).sum())


def huber_loss(model: Any, z: np.ndarray, y: np.ndarray) -> float:
    size = np.abs(y - z) / model.scale_
    near = np.minimum(size, model.epsilon)
    total = model.scale_ * (1 + near * (2 * size - near)).sum()
    return float(total + model.alpha * (model.coef_**2).sum()) / len(y)


def quantile_loss(model: Any, z: np.ndarray, y: np.ndarray) -> float:
    r, q = y - z, model.quantile
    return float(np.maximum(q * r, (q - 1) * r).mean() + model.alpha * np.abs(model.coef_).sum())


# ------------------------------------------------------------------------------------------- fits


def ours(name: str, params: dict[str, Any], data: Data) -> Any:
    import tenfold

    return getattr(tenfold, name)(**params).fit(data.X, data.y)


def scikit_learns(name: str, params: dict[str, Any], data: Data) -> Any:
    from sklearn import linear_model

    return getattr(linear_model, name)(**params).fit(data.X, data.y)


def statsmodels_probit(data: Data) -> Line:
    from statsmodels import api  # pyright: ignore[reportMissingImports]

    found = api.Probit(data.y, api.add_constant(data.X)).fit(disp=0)
    return Line(found.params[1:], found.params[0], found.mle_retvals["iterations"])


def against_scikit_learn(
    name: str, model: str, data: Any, objective: Any, target: float, **more: Any
) -> Case:
    params = more.pop("params", {})
    fits = partial(ours, model, params), partial(scikit_learns, model, params)
    return Case(name, "scikit-learn", data, *fits, objective, target, **more)


def cases() -> list[Case]:
    probit = partial(ours, "ProbitRegression", {"C": np.inf})
    table = plane(100_000, 20, above_threshold)
    return [
        Case("probit", "statsmodels", table, probit, statsmodels_probit, probit_loss, 5.0),
        against_scikit_learn(
            "poisson", "PoissonRegressor", plane(500_000, 50, count), poisson_loss, 2.0
        ),
        against_scikit_learn(
            "huber", "HuberRegressor", plane(300_000, 20, heavy_tailed), huber_loss, 2.0
        ),
        against_scikit_learn(
            "quantile",
            "QuantileRegressor",
            plane(10_000, 10, heavy_tailed),
            quantile_loss,
            10.0,
            params={"quantile": 0.3, "alpha": 0.01},
            rounds=2,
        ),
    ]
