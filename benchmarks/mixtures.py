"""Gaussian mixtures: EM from the same start and from each library's own, against scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.case import Data, rounds_of
from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import interleaved, seconds, undisturbed

TITLE = "Gaussian mixtures"
HEADER = ["case", "peer", "ours (s)", "peer (s)", "ratio", "target"]
HEADER += ["log-likelihood ours", "peer", "rounds"]
AS_GOOD = 1e-6  # share of the peer's mean log-likelihood that ours may lie below it
OURS, PEER = "tenfold", "scikit-learn"
ROWS, COLUMNS, COMPONENTS = 50_000, 16, 20


class Case(NamedTuple):
    """One shape of covariances, from one start."""

    name: str
    params: dict[str, Any]
    start: Callable[[Data], dict[str, Any]]
    target: float
    rounds: int = 5


def names() -> list[str]:
    return [case.name for case in cases()]


def run(wanted: list[str], *, quick: bool) -> Table:
    rows = [tell(c.name) or contest(c, quick=quick) for c in cases() if c.name in wanted]
    notes = [f"as good: our mean log-likelihood is at most {AS_GOOD:g} of the peer's below it"]
    return Table(TITLE, HEADER, rows, notes)


def contest(case: Case, *, quick: bool) -> Row:
    """Fits in turns; the models of the last turn are judged."""
    data, models = clouds(10 if quick else 1), {}
    params = {**case.params, **case.start(data)}
    fits = {OURS: partial(ours, params), PEER: partial(scikit_learns, params)}
    with undisturbed():
        for fit in fits.values():
            fit(data.head(len(data.X) // 10))

    def timed_fit(name: str, _: int) -> list[float]:
        return [seconds(lambda: models.update({name: fits[name](data)}))]

    turns = {name: partial(timed_fit, name) for name in fits}
    times = interleaved(turns, 2 if quick else case.rounds)
    mine, theirs = (models[name].score(data.X) for name in fits)
    ratio = times[PEER].median / times[OURS].median
    good = theirs - mine <= AS_GOOD * abs(theirs)
    verdict = ("met" if ratio >= case.target else "missed") if good else "not counted: worse"
    cells = [case.name, PEER, timed(times[OURS]), timed(times[PEER]), f"{ratio:.2f}x"]
    cells += [f"{case.target:g}x", figure(mine, 9), figure(theirs, 9)]
    return Row([*cells, " / ".join(str(rounds_of(models[name])) for name in fits)], verdict)


def clouds(shrink: int) -> Data:
    """Groups with a covariance each, near enough to overlap."""
    rng = np.random.default_rng(0)
    centres = 2 * rng.normal(size=(COMPONENTS, COLUMNS))
    turns = rng.normal(size=(COMPONENTS, COLUMNS, COLUMNS)) / np.sqrt(COLUMNS)
    group = rng.integers(COMPONENTS, size=ROWS // shrink)
    steps = rng.normal(size=(ROWS // shrink, COLUMNS))
    return Data(centres[group] + np.einsum("nij,nj->ni", turns[group], steps))


def same_start(kind: str, data: Data) -> dict[str, Any]:
    """Twenty rounds from the same rows, with unit variances."""
    rows = np.random.default_rng(1).choice(len(data.X), COMPONENTS, replace=False)
    eye = np.eye(COLUMNS)
    precisions = {
        "full": np.stack([eye] * COMPONENTS),
        "tied": eye,
        "diag": np.ones((COMPONENTS, COLUMNS)),
        "spherical": np.ones(COMPONENTS),
    }
    return {
        "weights_init": np.full(COMPONENTS, 1 / COMPONENTS),
        "means_init": data.X[rows],
        "precisions_init": precisions[kind],
        "max_iter": 20,
        "tol": 0.0,
    }


def own_start(_: Data) -> dict[str, Any]:
    return {"random_state": 0}


def ours(params: dict[str, Any], data: Data) -> Any:
    from tenfold.mixture.gaussian_mixture import GaussianMixture

    return quietly(GaussianMixture(COMPONENTS, **params), data)


def scikit_learns(params: dict[str, Any], data: Data) -> Any:
    from sklearn.mixture import GaussianMixture

    return quietly(GaussianMixture(COMPONENTS, **params), data)


def quietly(model: Any, data: Data) -> Any:
    """Fit; a fixed number of rounds does not converge, which is meant."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(data.X)


def cases() -> list[Case]:
    targets = {"full": 6.0, "diag": 3.0, "tied": 3.0, "spherical": 3.0}
    rounds = [
        Case(f"{kind}, 20 rounds", {"covariance_type": kind}, partial(same_start, kind), target)
        for kind, target in targets.items()
    ]
    fits = [
        Case(f"{kind}, own start", {"covariance_type": kind}, own_start, targets[kind])
        for kind in ("full", "diag")
    ]
    return [*rounds, *fits]
