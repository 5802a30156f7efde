"""PCA, factors, independent components, gaps and tensors, beside scikit-learn and tensorly."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from benchmarks.case import rounds_of
from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import interleaved, seconds, undisturbed

TITLE = "Decomposition"
HEADER = ["case", "peer", "ours (s)", "peer (s)", "ratio", "target", "figure", "ours", "peer"]
HEADER += ["rounds"]
OURS = "tenfold"
AS_GOOD = 1e-3  # share of the peer's figure that ours may be worse by


class Case(NamedTuple):
    """A model of each library on one array; the figure is the better the larger it is."""

    name: str
    peer: str
    data: Callable[[int], np.ndarray]
    ours: Callable[[np.ndarray], Any]
    theirs: Callable[[np.ndarray], Any]
    figure: str
    judge: Callable[[Any, np.ndarray], float]
    target: float
    rounds: int = 3


def names() -> list[str]:
    return [case.name for case in cases()]


def run(wanted: list[str], *, quick: bool) -> Table:
    chosen = [case for case in cases() if case.name in wanted]
    rows = [tell(case.name) or contest(case, quick=quick) for case in chosen]
    notes = [f"as good: our figure is at most {AS_GOOD:g} of the peer's below it"]
    return Table(TITLE, HEADER, rows, notes)


def contest(case: Case, *, quick: bool) -> Row:
    """Fits in turns; the models of the last turn are judged."""
    if find_spec(case.peer.replace("scikit-learn", "sklearn")) is None:
        return Row([case.name, case.peer, *["not installed"] * 8], "not measured")
    X, models = case.data(10 if quick else 1), {}
    fits = {OURS: case.ours, case.peer: case.theirs}
    with undisturbed():
        for fit in fits.values():
            fit(X[: max(len(X) // 10, 10)])

    def timed_fit(name: str, _: int) -> list[float]:
        return [seconds(lambda: models.update({name: fits[name](X)}))]

    times = interleaved(
        {name: partial(timed_fit, name) for name in fits}, 2 if quick else case.rounds
    )
    mine, theirs = (case.judge(models[name], X) for name in fits)
    ratio = times[case.peer].median / times[OURS].median
    good = theirs - mine <= AS_GOOD * abs(theirs)
    verdict = ("met" if ratio >= case.target else "missed") if good else "not counted: worse"
    cells = [case.name, case.peer, timed(times[OURS]), timed(times[case.peer]), f"{ratio:.2f}x"]
    cells += [f"{case.target:g}x", case.figure, figure(mine, 7), figure(theirs, 7)]
    rounds = [getattr(models[name], "n_iter_", None) for name in fits]
    shown = [
        str(rounds_of(models[n])) if r is not None else "-"
        for n, r in zip(fits, rounds, strict=True)
    ]
    return Row([*cells, " / ".join(shown)], verdict)


def factor_rows(n: int, p: int, k: int, shrink: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n // shrink, k)) @ rng.normal(size=(k, p))
    return rows + rng.normal(size=(n // shrink, p)) * rng.uniform(0.5, 2, size=p)


def laplace_rows(shrink: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.laplace(size=(200_000 // shrink, 20)) @ rng.normal(size=(20, 20))


def tensor(shrink: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    side = 200 if shrink == 1 else 60
    factors = [rng.normal(size=(side, 10)) for _ in range(3)]
    return np.einsum("ir,jr,kr->ijk", *factors) + rng.normal(size=(side,) * 3)


def tensor_with_gaps(shrink: int) -> np.ndarray:
    X = tensor(shrink)
    return np.where(np.random.default_rng(1).random(X.shape) < 0.5, np.nan, X)


def our_model(name: str, X: np.ndarray, /, **params: Any) -> Any:
    import tenfold

    return getattr(tenfold, name)(**params).fit(X)


def their_model(name: str, X: np.ndarray, /, **params: Any) -> Any:
    from sklearn import decomposition

    return getattr(decomposition, name)(**params).fit(X)


def their_tensor(rounds: int, X: np.ndarray) -> Any:
    """The factors by tensorly, as many rounds; missing entries by its mask."""
    from tensorly.decomposition import parafac

    seen = ~np.isnan(X)
    mask = {} if seen.all() else {"mask": seen}
    filled = np.where(seen, X, 0.0)
    return parafac(filled, 10, n_iter_max=rounds, tol=0, init="random", random_state=0, **mask)


def log_likelihood(model: Any, X: np.ndarray) -> float:
    return float(model.score(X))


def negentropy(model: Any, X: np.ndarray) -> float:
    """Sum over components of how far E log cosh is from that of a normal variable."""
    S = np.abs(model.transform(X))
    return float(np.abs((S + np.log1p(np.exp(-2 * S)) - np.log(2)).mean(axis=0) - 0.37457).sum())


def explained(model: Any, X: np.ndarray) -> float:
    """Share of the sum of squares of the entries that are there."""
    if hasattr(model, "reconstruct"):
        fitted = model.reconstruct()
    else:
        from tensorly import cp_to_tensor

        fitted = cp_to_tensor(model)
    return float(1 - np.nansum((X - fitted) ** 2) / np.nansum(X**2))


def cases() -> list[Case]:
    factors = {"n_components": 5}
    independent = {"random_state": 0}
    rounds = {"n_components": 10, "max_iter": 50, "tol": 0.0}
    few = {**rounds, "max_iter": 10}

    def both(name: str, params: dict[str, Any]) -> tuple[Callable, Callable]:
        return partial(_fit, our_model, name, params), partial(_fit, their_model, name, params)

    sklearn = "scikit-learn"
    wide = partial(factor_rows, 200_000, 50, 5)
    return [
        Case(
            "factor analysis, 200,000 x 50",
            sklearn,
            wide,
            *both("FactorAnalysis", factors),
            "log-likelihood",
            log_likelihood,
            20.0,
        ),
        Case(
            "FastICA, 200,000 x 20",
            sklearn,
            laplace_rows,
            *both("FastICA", independent),
            "negentropy",
            negentropy,
            2.0,
        ),
        Case(
            "CP, 200 x 200 x 200, 50 rounds",
            "tensorly",
            tensor,
            partial(_fit, our_model, "CPDecomposition", rounds),
            partial(their_tensor, 50),
            "explained",
            explained,
            1.5,
        ),
        Case(
            "CP, half missing, 10 rounds",
            "tensorly",
            tensor_with_gaps,
            partial(_fit, our_model, "CPDecomposition", few),
            partial(their_tensor, 10),
            "explained",
            explained,
            3.0,
        ),
    ]


def _fit(fit: Callable[..., Any], name: str, params: dict[str, Any], X: np.ndarray) -> Any:
    return fit(name, X, **params)
