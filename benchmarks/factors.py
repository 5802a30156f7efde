"""Factorizations against scikit-learn: NMF to its objective, sparse codes, dictionaries."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import interleaved, seconds, undisturbed

TITLE = "Factorizations"
HEADER = ["case", "ours (s)", "sklearn (s)", "ratio", "target", "objective ours", "sklearn"]
OURS, PEER = "tenfold", "sklearn"
NMF_ITERATIONS = 50  # of the peer
SLACK = 1e-4  # share of the objective by which ours may be larger


class Case(NamedTuple):
    """One problem."""

    name: str
    target: float


def cases() -> list[Case]:
    return [
        Case("nmf-digits", 2),
        Case("nmf-newsgroups", 2),
        Case("nmf-kl", 5),
        Case("lasso-codes", 4),
        Case("omp-codes", 4),
        Case("dictionary", 5),
    ]


def names() -> list[str]:
    return [case.name for case in cases()]


def run(wanted: list[str], *, quick: bool) -> Table:
    chosen = [case for case in cases() if case.name in wanted]
    notes = ["NMF: both from scikit-learn's start (nndsvda), to its objective after 50 iterations"]
    notes += ["codes and dictionaries: equal penalties"]
    return Table(
        TITLE, HEADER, [tell(case.name) or contest(case, quick=quick) for case in chosen], notes
    )


def contest(case: Case, *, quick: bool) -> Row:
    maker = {"lasso-codes": codes, "omp-codes": codes, "dictionary": dictionary}
    fits = maker.get(case.name, nmf)(case.name, quick=quick)
    found: dict[str, float] = {}

    def turn(home: str, _: int) -> list[float]:
        return [seconds(lambda: found.update({home: fits[home]()}))]

    with undisturbed():
        fits[OURS]()
    times = interleaved({h: partial(turn, h) for h in fits}, 1 if quick else 3)
    ratio = times[PEER].median / times[OURS].median
    good = found[OURS] <= found[PEER] * (1 + SLACK)
    verdict = ("met" if ratio >= case.target else "missed") if good else "not counted: worse"
    cells = [case.name, timed(times[OURS]), timed(times[PEER]), f"{ratio:.2f}x"]
    return Row([*cells, f"{case.target:g}x", *(figure(found[h], 6) for h in fits)], verdict)


def nmf(name: str, *, quick: bool) -> dict[str, Callable[[], float]]:
    """Fits from one start to one objective: that of the peer after its iterations."""
    from sklearn import decomposition

    import tenfold

    X, parameters = nmf_problem(name, quick=quick)
    fixed: dict[str, Any] = {**parameters, "tol": 0.0, "random_state": 0}
    start = decomposition.NMF(**{**fixed, "init": "nndsvda", "max_iter": 1})
    W = quiet(start.fit_transform, X)

    def fit(make: Any, max_iter: int) -> Any:
        given = {"W": W.copy(), "H": start.components_.copy()}  # the peer changes its start
        return quiet(make(**fixed, init="custom", max_iter=max_iter).fit, X, **given)

    peers = fit(decomposition.NMF, NMF_ITERATIONS)
    errors = np.sqrt(2 * np.array(fit(tenfold.NMF, NMF_ITERATIONS).history_["objective"]))
    enough = np.flatnonzero(errors <= peers.reconstruction_err_)
    iterations = {OURS: int(enough[0]) + 1 if len(enough) else NMF_ITERATIONS}
    homes = {OURS: tenfold.NMF, PEER: decomposition.NMF}

    def error(home: str) -> float:
        model = fit(homes[home], iterations.get(home, NMF_ITERATIONS))
        return float(model.reconstruction_err_)

    return {home: partial(error, home) for home in homes}


def nmf_problem(name: str, *, quick: bool) -> tuple[Any, dict[str, Any]]:
    """Rows, and parameters of the factorization."""
    if name == "nmf-digits":
        from tenfold.datasets import fetch_mnist

        X = fetch_mnist().data[: 1000 if quick else 10_000].reshape(-1, 784) / 255.0
        return X, {"n_components": 40}
    from tenfold import TfIdf
    from tenfold.datasets import fetch_20newsgroups

    texts = fetch_20newsgroups().data[:: 10 if quick else 1]
    X = TfIdf(max_features=5000, min_df=2).fit_transform(texts)
    kl = {"solver": "mu", "beta_loss": "kullback-leibler"} if name == "nmf-kl" else {}
    return X, {"n_components": 20, **kl}


def codes(name: str, *, quick: bool) -> dict[str, Callable[[], float]]:
    """Codes of random rows for a given dictionary."""
    from sklearn.decomposition import sparse_encode as theirs

    from tenfold import sparse_encode as ours

    rng = np.random.default_rng(0)
    X, D = rng.normal(size=(500 if quick else 5000, 64)), rng.normal(size=(100, 64))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    lasso = name == "lasso-codes"
    parameters: dict[str, Any] = {"algorithm": "lasso_cd", "alpha": 3.0, "max_iter": 1000}
    if not lasso:
        parameters = {"algorithm": "omp", "n_nonzero_coefs": 5}

    def encode(function: Any) -> float:
        Z = function(X, D, **parameters)
        return float(((X - Z @ D) ** 2).sum() / 2 + (3.0 * np.abs(Z).sum() if lasso else 0))

    return {OURS: partial(quiet, encode, ours), PEER: partial(quiet, encode, theirs)}


def dictionary(_: str, *, quick: bool) -> dict[str, Callable[[], float]]:
    """Dictionaries of planted atoms."""
    from sklearn.decomposition import DictionaryLearning as Theirs

    from tenfold import DictionaryLearning as Ours

    rng = np.random.default_rng(0)
    n = 300 if quick else 2000
    atoms = rng.normal(size=(20, 16))
    planted = rng.normal(size=(n, 20)) * (rng.random((n, 20)) < 0.15)
    X = planted @ atoms + rng.normal(size=(n, 16)) / 20
    parameters: dict[str, Any] = {"n_components": 20, "alpha": 0.5, "max_iter": 20, "tol": 0.0}

    def fit(model: Any) -> float:
        return float(model(**parameters, fit_algorithm="cd", random_state=0).fit(X).error_[-1])

    return {OURS: partial(quiet, fit, Ours), PEER: partial(quiet, fit, Theirs)}


def quiet(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call without warnings that iterations have come to an end."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **named)
