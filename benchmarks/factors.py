"""Factorizations against scikit-learn and SPAMS: NMF to an objective, codes, dictionaries."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import util
from typing import Any, NamedTuple

import numpy as np

from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import Times, interleaved, seconds, undisturbed

TITLE = "Factorizations"
HEADER = ["case", "peer", "ours (s)", "peer (s)", "ratio", "target", "objective ours", "peer"]
OURS, SKLEARN, SPAMS = "tenfold", "scikit-learn", "SPAMS"
PACKAGES = {SKLEARN: "sklearn", SPAMS: "spams"}
NMF_ITERATIONS = 50  # of the peer
SLACK = 1e-4  # share of the objective by which ours may be larger
PATCH, ATOMS = 8, 100


class Case(NamedTuple):
    """One problem, and how many times as fast as each peer ours is to be."""

    name: str
    targets: dict[str, float]


class Problem(NamedTuple):
    """A fit by each library, and the objective of what it returns, which is not timed."""

    fits: dict[str, Callable[[], Any]]
    objective: Callable[[Any], float] = float


def cases() -> list[Case]:
    return [
        Case("nmf-digits", {SKLEARN: 2}),
        Case("nmf-newsgroups", {SKLEARN: 2}),
        Case("nmf-kl", {SKLEARN: 5}),
        Case("lasso-codes", {SKLEARN: 4, SPAMS: 1}),
        Case("omp-codes", {SKLEARN: 4}),
        Case("ols-codes", {SPAMS: 1}),
        Case("dictionary", {SKLEARN: 5}),
    ]


def names() -> list[str]:
    return [case.name for case in cases()]


def run(wanted: list[str], *, quick: bool) -> Table:
    chosen = [case for case in cases() if case.name in wanted]
    notes = ["NMF: both from scikit-learn's start (nndsvda), to its objective after 50 iterations"]
    notes += [
        "codes and dictionaries of patches of faces, 8 x 8 pixels, 100 atoms; equal penalties"
    ]
    notes += ["lasso: our path beside scikit-learn's coordinate descent and the path of SPAMS"]
    notes += [
        "ols: the pursuit that SPAMS calls omp takes the atom with which the error falls most"
    ]
    missing = [name for name, package in PACKAGES.items() if util.find_spec(package) is None]
    notes += [f"{library} is not installed" for library in missing]
    rows = [row for case in chosen for row in contest(case, missing, quick=quick)]
    return Table(TITLE, HEADER, rows, notes)


def contest(case: Case, missing: list[str], *, quick: bool) -> list[Row]:
    """A row for each peer that is installed."""
    tell(case.name)
    makers = {"nmf": nmf, "codes": codes, "dictionary": dictionary}
    maker = next(maker for part, maker in makers.items() if part in case.name)
    problem = maker(case.name, quick=quick)
    chosen = [OURS, *(peer for peer in case.targets if peer not in missing)]
    results: dict[str, Any] = {}

    def turn(home: str, _: int) -> list[float]:
        return [seconds(lambda: results.update({home: problem.fits[home]()}))]

    with undisturbed():
        for home in chosen if "codes" in case.name else chosen[:1]:  # quick ones all run warm
            problem.fits[home]()
    times = interleaved({h: partial(turn, h) for h in chosen}, 1 if quick else 3)
    found = {home: problem.objective(result) for home, result in results.items()}
    return [against(case, peer, times, found) for peer in chosen[1:]]


def against(case: Case, peer: str, times: dict[str, Times], found: dict[str, float]) -> Row:
    ratio, target = times[peer].median / times[OURS].median, case.targets[peer]
    good = found[OURS] <= found[peer] * (1 + SLACK)
    verdict = ("met" if ratio >= target else "missed") if good else "not counted: worse"
    cells = [case.name, peer, timed(times[OURS]), timed(times[peer]), f"{ratio:.2f}x"]
    return Row([*cells, f"{target:g}x", *(figure(found[h], 6) for h in (OURS, peer))], verdict)


def nmf(name: str, *, quick: bool) -> Problem:
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
    homes = {OURS: tenfold.NMF, SKLEARN: decomposition.NMF}

    def error(home: str) -> float:
        model = fit(homes[home], iterations.get(home, NMF_ITERATIONS))
        return float(model.reconstruction_err_)

    return Problem({home: partial(error, home) for home in homes})


def nmf_problem(name: str, *, quick: bool) -> tuple[Any, dict[str, Any]]:
    """Rows, and parameters of the factorization."""
    if name == "nmf-digits":
        from tenfold.datasets import fetch_mnist

        mnist: Any = fetch_mnist()
        return mnist.data[:: 10 if quick else 1].reshape(-1, 784) / 255.0, {"n_components": 25}
    from tenfold import TfIdf
    from tenfold.datasets import fetch_20newsgroups

    news: Any = fetch_20newsgroups()
    X = TfIdf(max_features=10_000).fit_transform(news.data[:: 10 if quick else 1])
    kl = {"solver": "mu", "beta_loss": "kullback-leibler"} if name == "nmf-kl" else {}
    return X, {"n_components": 20, **kl}


def patches(n: int) -> np.ndarray:
    """Patches of faces, of mean 0 and variance 1; without the data, of random numbers."""
    from tenfold import extract_patches_2d
    from tenfold.datasets import fetch_olivetti_faces

    try:
        data: Any = fetch_olivetti_faces()
        faces = np.asarray(data.images, np.float64)
    except OSError:
        faces = np.random.default_rng(0).normal(size=(400, 64, 64)).cumsum(axis=2)
    each = -(-n // len(faces))
    found = [
        extract_patches_2d(face, (PATCH, PATCH), max_patches=each, random_state=i)
        for i, face in enumerate(faces)
    ]
    X = np.concatenate(found).reshape(-1, PATCH**2)[:n]
    X -= X.mean(axis=1, keepdims=True)
    return X / (X.std(axis=1, keepdims=True) + 0.01)


def codes(name: str, *, quick: bool) -> Problem:
    """Codes of patches for a learned dictionary."""
    from sklearn.decomposition import sparse_encode as theirs

    from tenfold import MiniBatchDictionaryLearning
    from tenfold import sparse_encode as ours

    X, alpha = patches(2000 if quick else 20_000), 1.2
    learner = MiniBatchDictionaryLearning(ATOMS, alpha=alpha, max_iter=2, random_state=0)
    D = np.ascontiguousarray(quiet(learner.fit, X[:5000]).components_)
    lasso, k = name == "lasso-codes", 5
    rules: dict[str, dict[str, Any]] = {
        OURS: {"algorithm": "lasso_lars", "alpha": alpha} if lasso else {"algorithm": name[:3]},
        SKLEARN: {"algorithm": "lasso_cd", "alpha": alpha} if lasso else {"algorithm": "omp"},
    }
    number = {} if lasso else {"n_nonzero_coefs": k}
    spams_fit = partial(spams_codes, X, D, alpha if lasso else None, k)

    def objective(Z: Any) -> float:
        return float(((X - Z @ D) ** 2).sum() / 2 + (alpha * abs(Z).sum() if lasso else 0))

    fits: dict[str, Callable[[], Any]] = {
        home: partial(quiet, function, X, D, **rules[home], **number, max_iter=1000)
        for home, function in ((OURS, ours), (SKLEARN, theirs))
    }
    return Problem({**fits, SPAMS: spams_fit}, objective)


def spams_codes(X: np.ndarray, D: np.ndarray, alpha: float | None, k: int) -> Any:
    """Codes by SPAMS, with a penalty or with k atoms; its rows are columns."""
    import spams  # pyright: ignore[reportMissingImports]

    from tenfold.engine.thread_pool import n_threads

    columns, atoms, threads = np.asfortranarray(X.T), np.asfortranarray(D.T), n_threads()
    if alpha is None:
        return spams.omp(columns, atoms, L=k, eps=0.0, numThreads=threads).T
    return spams.lasso(columns, D=atoms, lambda1=alpha, numThreads=threads).T


def dictionary(_: str, *, quick: bool) -> Problem:
    """Dictionaries of patches, after as many iterations."""
    from sklearn.decomposition import DictionaryLearning as Theirs

    from tenfold import DictionaryLearning as Ours

    X = patches(1000 if quick else 10_000)
    parameters: dict[str, Any] = {"n_components": ATOMS, "alpha": 1.2, "max_iter": 20, "tol": 0.0}

    def fit(model: Any) -> float:
        return float(model(**parameters, fit_algorithm="cd", random_state=0).fit(X).error_[-1])

    return Problem({OURS: partial(quiet, fit, Ours), SKLEARN: partial(quiet, fit, Theirs)})


def quiet(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call without warnings that iterations have come to an end."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **named)
