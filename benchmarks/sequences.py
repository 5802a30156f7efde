"""Hidden Markov models against hmmlearn from the same parameters, n-grams against nltk."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module, util
from typing import Any, NamedTuple

import numpy as np

from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import interleaved, seconds, small_calls, undisturbed

TITLE = "Sequences"
HEADER = ["case", "peer", "ours (s)", "peer (s)", "ratio", "target", "score ours", "peer"]
OURS = "tenfold"
Fits = dict[str, Callable[[], float]]


class Size(NamedTuple):
    """Sequences of equal length, their hidden states and columns."""

    sequences: int
    steps: int
    states: int
    columns: int


class Case(NamedTuple):
    """One problem.

    Attributes
    ----------
    make : gives what ours and the peer do, each returning a score
    agree : share of the score by which the two may differ
    rounds : turns of one call each
    budget : seconds of turns of several calls each, instead, where a call takes milliseconds
    """

    name: str
    target: float
    peer: str
    make: Callable[..., Fits]
    agree: float = 1e-6
    rounds: int = 3
    budget: float = 0.0


def cases() -> list[Case]:
    """Sizes of the paper of HiddenMarkovModels.jl, and larger ones."""
    small, middle, wide = Size(50, 100, 4, 1), Size(1000, 200, 8, 2), Size(400, 200, 32, 4)
    gaussian = partial(gaussian_fits, kind="diag")
    full = partial(gaussian_fits, size=Size(200, 250, 5, 16), kind="full", iterations=1)
    return [
        Case("hmm-50x100-K4-scaling", 5, "hmmlearn", partial(gaussian, size=small), budget=2),
        Case(
            "hmm-50x100-K4-log", 15, "hmmlearn", partial(gaussian, size=small, form="log"), budget=4
        ),
        Case("hmm-1000x200-K8-scaling", 7, "hmmlearn", partial(gaussian, size=middle)),
        Case("hmm-1000x200-K8-log", 35, "hmmlearn", partial(gaussian, size=middle, form="log")),
        Case("hmm-400x200-K32-scaling", 6, "hmmlearn", partial(gaussian, size=wide), rounds=2),
        Case("hmm-full-200x250-K5", 8, "hmmlearn", full, rounds=2),
        Case("gmmhmm-100x200-K4-M3", 10, "hmmlearn", mixture_fits, agree=1e-3, rounds=2),
        Case("names-K10", 10, "hmmlearn", symbol_fits, rounds=2),
        Case("viterbi-1000000-K8", 4, "hmmlearn", viterbi_paths, rounds=2),
        Case("ngrams-fit", 50, "nltk", partial(ngram_fits, scored=False), agree=np.inf),
        Case("ngrams-score", 1000, "nltk", partial(ngram_fits, scored=True), agree=np.inf),
    ]


def names() -> list[str]:
    return [case.name for case in cases()]


def run(wanted: list[str], *, quick: bool) -> Table:
    chosen = [case for case in cases() if case.name in wanted]
    missing = [case for case in chosen if util.find_spec(case.peer) is None]
    rows = [tell(case.name) or contest(case, quick=quick) for case in chosen if case not in missing]
    notes = [
        "hidden Markov models: log-likelihood after as many iterations from the same parameters"
    ]
    notes += ["Viterbi: log-probability of the path; n-grams: number of tokens, perplexity"]
    notes += [
        "hmmlearn's mixtures update their covariances by another rule, so scores differ a little"
    ]
    notes += [
        "hmm-50x100: each library in turn makes several calls, and medians of calls are shown"
    ]
    notes += [f"left out: {case.name}, {case.peer} is not installed" for case in missing]
    return Table(TITLE, HEADER, rows, notes)


def contest(case: Case, *, quick: bool) -> Row:
    fits = case.make(quick=quick)
    scores: dict[str, float] = {}

    def turn(home: str, _: int) -> list[float]:
        return [seconds(lambda: scores.update({home: fits[home]()}))]

    with undisturbed():
        fits[OURS]()  # compiles; the peers have nothing to warm
    if case.budget and not quick:
        times = small_calls({h: lambda i, h=h: turn(h, i) for h in fits}, case.budget)
    else:
        times = interleaved({h: partial(turn, h) for h in fits}, 1 if quick else case.rounds)
    ratio = times[case.peer].median / times[OURS].median
    good = abs(scores[OURS] - scores[case.peer]) <= case.agree * abs(scores[OURS])
    verdict = ("met" if ratio >= case.target else "missed") if good else "not counted: differs"
    cells = [case.name, case.peer, timed(times[OURS]), timed(times[case.peer]), f"{ratio:.2f}x"]
    return Row([*cells, f"{case.target:g}x", *(figure(scores[home], 6) for home in fits)], verdict)


def made(home: str, name: str, states: int, **params: Any) -> Any:
    """A model with starts and transitions, whose emissions are to be set."""
    module = import_module("tenfold" if home == OURS else "hmmlearn.hmm")
    model = getattr(module, name)(states, **params)
    model.startprob_ = np.full(states, 1 / states)
    model.transmat_ = np.full((states, states), 0.1 / states) + 0.9 * np.eye(states)
    return model


def draw_steps(size: Size) -> tuple[np.ndarray, list[int], np.ndarray]:
    """Gaussian steps whose states last for ten steps, lengths, and the means of the states."""
    rng = np.random.default_rng(0)
    means = 3 * rng.normal(size=(size.states, size.columns))
    path = rng.integers(0, size.states, (size.sequences, size.steps // 10)).repeat(10, axis=1)
    X = means[path] + rng.normal(size=(*path.shape, size.columns))
    return X.reshape(-1, size.columns), [size.steps] * size.sequences, means


def gaussian_fits(
    size: Size, kind: str, *, quick: bool, form: str = "scaling", iterations: int = 5
) -> Fits:
    """EM of Gaussian steps; `form` is hmmlearn's implementation."""
    size = size._replace(sequences=max(size.sequences // (10 if quick else 1), 2))
    X, lengths, means = draw_steps(size)
    covars = np.ones((size.states, size.columns))
    if kind == "full":
        covars = np.tile(np.eye(size.columns), (size.states, 1, 1))
    params = {"covariance_type": kind, "init_params": "", "n_iter": iterations}
    params |= {"tol": -np.inf, "covars_prior": 0.0, "implementation": form}

    def fit(home: str) -> float:
        model = made(home, "GaussianHMM", size.states, **params)
        model.means_, model.covars_ = means + 0.3, covars
        return float(model.fit(X, lengths).score(X, lengths))

    return {home: partial(fit, home) for home in (OURS, "hmmlearn")}


def mixture_fits(*, quick: bool) -> Fits:
    """EM of steps from mixtures of three Gaussians in each of four states."""
    X, lengths, means = draw_steps(Size(10 if quick else 100, 200, 4, 4))
    spread = means[:, None] + np.random.default_rng(1).normal(size=(4, 3, 4))

    def fit(home: str) -> float:
        params = {"covars_prior": 0.0} if home == OURS else {}
        model = made(home, "GMMHMM", 4, n_mix=3, init_params="", n_iter=2, tol=-np.inf, **params)
        model.weights_, model.means_ = np.full((4, 3), 1 / 3), spread.copy()
        model.covars_, model.n_features = np.ones((4, 3, 4)), 4
        return float(model.fit(X, lengths).score(X, lengths))

    return {home: partial(fit, home) for home in (OURS, "hmmlearn")}


def symbol_fits(*, quick: bool) -> Fits:
    """EM of the letters of first names."""
    from tenfold.datasets import fetch_names

    words = fetch_names().data[:: 10 if quick else 1]
    X = np.array([[ord(letter) - ord("a")] for word in words for letter in word])
    lengths = [len(word) for word in words]
    emissions = np.random.default_rng(0).dirichlet(np.ones(26), 10)

    def fit(home: str) -> float:
        params = {"implementation": "scaling", "init_params": "", "n_iter": 2, "tol": -np.inf}
        model = made(home, "CategoricalHMM", 10, n_features=26, **params)
        model.emissionprob_ = emissions
        return float(model.fit(X, lengths).score(X, lengths))

    return {home: partial(fit, home) for home in (OURS, "hmmlearn")}


def viterbi_paths(*, quick: bool) -> Fits:
    """The best path of one sequence of a million steps."""
    X, _, means = draw_steps(Size(1, 100_000 if quick else 1_000_000, 8, 2))

    def decode(home: str) -> float:
        model = made(home, "GaussianHMM", 8, covariance_type="diag")
        model.means_, model.covars_, model.n_features = means, np.ones((8, 2)), 2
        return float(model.decode(X)[0])

    return {home: partial(decode, home) for home in (OURS, "hmmlearn")}


def ngram_fits(*, scored: bool, quick: bool) -> Fits:
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

    if not scored:
        return {OURS: lambda: float(ours().n_tokens_), "nltk": lambda: float(theirs().counts.N())}
    mine, his = ours(), theirs()
    few = test[:3]  # the peer takes milliseconds for each word

    def score_theirs() -> float:
        grams = [g for line in few for g in ngrams(pad_both_ends(line, 3), 3)]
        return float(his.perplexity(grams))

    return {OURS: lambda: float(mine.perplexity(few)), "nltk": score_theirs}
