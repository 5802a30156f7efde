"""Hidden Markov models against hmmlearn from the same parameters, n-grams against nltk."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module, util
from typing import Any, NamedTuple

import numpy as np

from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import interleaved, seconds, undisturbed

TITLE = "Sequences"
HEADER = ["case", "peer", "ours (s)", "peer (s)", "ratio", "target", "score ours", "peer"]
OURS = "tenfold"
AGREE = 1e-6  # share of the log-likelihood by which two fits from one start may differ


class Case(NamedTuple):
    """One problem; `implementation` is hmmlearn's, "" for n-grams against nltk."""

    name: str
    target: float
    sequences: int = 0
    steps: int = 0
    states: int = 0
    columns: int = 0
    kind: str = "diag"
    iterations: int = 5
    implementation: str = ""
    rounds: int = 3


def cases() -> list[Case]:
    found = []
    for implementation, times in (("scaling", (5, 7, 6, 8)), ("log", (15, 35, 20, 8))):
        sizes = ((50, 100, 4, 1), (1000, 200, 8, 2), (400, 200, 32, 4), (200, 250, 5, 16))
        for (n, t, k, d), target in zip(sizes, times, strict=True):
            kind = "full" if d == 16 else "diag"
            name = f"hmm-{n}x{t}-K{k}-{implementation}"
            found.append(Case(name, target, n, t, k, d, kind, 5, implementation))
    return [*found, Case("ngrams-fit", 50), Case("ngrams-score", 1000)]


def names() -> list[str]:
    return [case.name for case in cases()]


def run(wanted: list[str], *, quick: bool) -> Table:
    chosen = [case for case in cases() if case.name in wanted]
    missing = [case for case in chosen if util.find_spec(peer_of(case)) is None]
    rows = [tell(case.name) or contest(case, quick=quick) for case in chosen if case not in missing]
    notes = ["log-likelihood after five iterations from the same parameters; perplexity of n-grams"]
    notes += [f"left out: {case.name}, {peer_of(case)} is not installed" for case in missing]
    return Table(TITLE, HEADER, rows, notes)


def peer_of(case: Case) -> str:
    return "hmmlearn" if case.implementation else "nltk"


def contest(case: Case, *, quick: bool) -> Row:
    fits = (hmm_fits if case.implementation else ngram_fits)(case, quick=quick)
    scores: dict[str, float] = {}

    def turn(home: str, _: int) -> list[float]:
        return [seconds(lambda: scores.update({home: fits[home]()}))]

    peer = peer_of(case)
    with undisturbed():
        for home in fits:
            fits[home]()
    times = interleaved({h: partial(turn, h) for h in fits}, 1 if quick else case.rounds)
    ratio = times[peer].median / times[OURS].median
    good = not case.implementation or abs(scores[OURS] - scores[peer]) <= AGREE * abs(scores[OURS])
    verdict = ("met" if ratio >= case.target else "missed") if good else "not counted: differs"
    cells = [case.name, peer, timed(times[OURS]), timed(times[peer]), f"{ratio:.2f}x"]
    return Row([*cells, f"{case.target:g}x", *(figure(scores[home], 6) for home in fits)], verdict)


def hmm_fits(case: Case, *, quick: bool) -> dict[str, Callable[[], float]]:
    n = max(case.sequences // (10 if quick else 1), 2)
    rng = np.random.default_rng(0)
    means = 3 * rng.normal(size=(case.states, case.columns))
    path = rng.integers(0, case.states, (n, case.steps // 10)).repeat(10, axis=1)
    X = (means[path] + rng.normal(size=(n, case.steps, case.columns))).reshape(-1, case.columns)
    lengths = [case.steps] * n
    start = np.full(case.states, 1 / case.states)
    transition = np.full((case.states, case.states), 0.1 / case.states) + 0.9 * np.eye(case.states)
    covars = np.ones((case.states, case.columns))
    if case.kind == "full":
        covars = np.tile(np.eye(case.columns), (case.states, 1, 1))
    params = {"covariance_type": case.kind, "init_params": "", "n_iter": case.iterations}
    params |= {"tol": -np.inf, "covars_prior": 0.0}
    fits = {}
    for home in (OURS, "hmmlearn"):
        module = "tenfold" if home == OURS else "hmmlearn.hmm"
        model: Any = import_module(module).GaussianHMM
        more = {} if home == OURS else {"implementation": case.implementation}

        def fit(model: Any = model, more: dict[str, Any] = more) -> float:
            made = model(case.states, **params, **more)
            made.startprob_, made.transmat_ = start, transition
            made.means_, made.covars_ = means + 0.3, covars
            return float(made.fit(X, lengths).score(X, lengths))

        fits[home] = fit
    return fits


def ngram_fits(case: Case, *, quick: bool) -> dict[str, Callable[[], float]]:
    """Trigrams of words by Kneser-Ney with one discount."""
    from nltk.lm import KneserNeyInterpolated
    from nltk.lm.preprocessing import pad_both_ends, padded_everygram_pipeline
    from nltk.util import ngrams

    from tenfold import NGramModel
    from tenfold.datasets import fetch_tiny_shakespeare

    lines = [line.lower().split() for line in fetch_tiny_shakespeare().data.split("\n") if line]
    lines = lines[: len(lines) // (10 if quick else 1)]
    cut = int(0.9 * len(lines))
    train, test = lines[:cut], lines[cut:]

    def ours() -> Any:
        return NGramModel(3, smoothing="kneser_ney", discount=0.1).fit(train)

    def theirs() -> Any:
        model = KneserNeyInterpolated(3)
        model.fit(*padded_everygram_pipeline(3, train))
        return model

    if case.name == "ngrams-fit":
        return {OURS: lambda: float(ours().n_tokens_), "nltk": lambda: float(theirs().counts.N())}
    mine, his = ours(), theirs()
    few = test[:3]  # the peer takes milliseconds for each word

    def score_theirs() -> float:
        grams = [g for line in few for g in ngrams(pad_both_ends(line, 3), 3)]
        return float(his.perplexity(grams))

    return {OURS: lambda: float(mine.perplexity(few)), "nltk": score_theirs}
