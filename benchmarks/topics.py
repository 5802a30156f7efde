"""Topics of 20 Newsgroups against scikit-learn, gensim and tomotopy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import util
from itertools import pairwise
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import interleaved, undisturbed

TITLE = "Topics"
HEADER = ["case", "peer", "ours (s)", "peer (s)", "ratio", "target", "score ours", "peer"]
OURS = "tenfold"
TOPICS = 20
AGREE = 1e-3  # share of the score by which ours may be worse


class Case(NamedTuple):
    """One problem; the score is the bound, or the completion perplexity of gensim and tomotopy.

    Every round is another start; scores are means over rounds.
    """

    name: str
    peer: str
    target: float
    rounds: int = 3


def cases() -> list[Case]:
    return [
        Case("lda-batch", "sklearn", 5, 2),
        Case("lda-online", "sklearn", 5),
        Case("lda-transform", "sklearn", 5),
        Case("lda-gensim", "gensim", 20, 2),
        Case("lda-tomotopy", "tomotopy", 1, 3),
    ]


def names() -> list[str]:
    return [case.name for case in cases()]


def run(wanted: list[str], *, quick: bool) -> Table:
    chosen = [case for case in cases() if case.name in wanted]
    missing = [case for case in chosen if util.find_spec(case.peer) is None]
    rows = [tell(case.name) or contest(case, quick=quick) for case in chosen if case not in missing]
    notes = ["11,314 messages, 10,000 words, 20 topics; 10 passes of batch, 1 of online learning"]
    notes += ["each round from other first topics; scores are means, their time is not counted"]
    notes += ["tomotopy: sweeps to the completion perplexity of 10 batch passes, at most 200"]
    notes += [f"left out: {case.name}, {case.peer} is not installed" for case in missing]
    return Table(TITLE, HEADER, rows, notes)


class Result(NamedTuple):
    """Seconds to learn, and the score, which is computed afterwards."""

    seconds: float
    score: float


def contest(case: Case, *, quick: bool) -> Row:
    X, test = read_counts(quick=quick)
    makers = {"gensim": gensim_fits, "tomotopy": tomotopy_fits}
    fits = makers.get(case.peer, sklearn_fits)(case, X, test)
    scores: dict[str, list[float]] = {home: [] for home in fits}

    def turn(home: str, seed: int) -> list[float]:
        result = fits[home](seed)
        scores[home].append(result.score)
        return [result.seconds]

    with undisturbed():
        fits[OURS](0)
    times = interleaved({h: partial(turn, h) for h in fits}, 1 if quick else case.rounds)
    ratio = times[case.peer].median / times[OURS].median
    ours, theirs = (float(np.mean(scores[home])) for home in (OURS, case.peer))
    # bounds may be higher, perplexities lower; a small share worse counts as equal
    gain = theirs - ours if case.peer == "gensim" else ours - theirs
    good = case.name in {"lda-online", "lda-tomotopy"} or gain >= -AGREE * abs(theirs)
    verdict = ("met" if ratio >= case.target else "missed") if good else "not counted: worse"
    cells = [case.name, case.peer, timed(times[OURS]), timed(times[case.peer]), f"{ratio:.2f}x"]
    return Row([*cells, f"{case.target:g}x", figure(ours, 6), figure(theirs, 6)], verdict)


def clocked(learn: Callable[[], Any], score: Callable[[Any], float]) -> Result:
    """Learn by the clock, then score what was learned."""
    start = perf_counter()
    learned = learn()
    took = perf_counter() - start
    return Result(took, float(score(learned)))


def read_counts(*, quick: bool) -> tuple[Any, Any]:
    """Counts of words of training and of held-out messages."""
    from tenfold import WordCounts
    from tenfold.datasets import fetch_20newsgroups

    counts = WordCounts(stop_words="english", max_features=10_000, min_df=2)
    X = counts.fit_transform(fetch_20newsgroups().data)
    order = np.random.default_rng(0).permutation(X.shape[0])
    order = order[: len(order) // (10 if quick else 1)]
    cut = len(order) // 10
    return X[np.sort(order[cut:])], X[np.sort(order[:cut])]


def sklearn_fits(case: Case, X: Any, test: Any) -> dict[str, Callable[[int], Result]]:
    from sklearn.decomposition import LatentDirichletAllocation as Theirs

    from tenfold import LatentDirichletAllocation as Ours

    homes: dict[str, Any] = {OURS: Ours, "sklearn": Theirs}
    if case.name == "lda-transform":
        fitted = {h: m(TOPICS, max_iter=2, random_state=0).fit(X) for h, m in homes.items()}
        return {
            h: lambda _, m=m: clocked(lambda: m.transform(test), np.sum) for h, m in fitted.items()
        }
    batch = case.name == "lda-batch"
    options = {"learning_method": "batch" if batch else "online", "max_iter": 10 if batch else 1}

    def fit(model: Any, seed: int) -> Result:
        estimator = model(TOPICS, random_state=seed, **options)
        return clocked(lambda: estimator.fit(X), lambda fitted: fitted.score(X))

    return {home: partial(fit, model) for home, model in homes.items()}


def ours_in_batches(X: Any, test: Any, seed: int) -> Result:
    from tenfold import LatentDirichletAllocation

    model = LatentDirichletAllocation(TOPICS, max_iter=10, random_state=seed)
    return clocked(lambda: model.fit(X), lambda fitted: fitted.completion_perplexity(test))


def gensim_fits(_: Case, X: Any, test: Any) -> dict[str, Callable[[int], Result]]:
    from gensim.models import LdaModel

    starts = X.indptr
    documents = [
        list(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True))
        for a, b in pairwise(starts)
    ]
    words = {i: str(i) for i in range(X.shape[1])}
    options = {"passes": 10, "chunksize": len(documents), "update_every": 0, "eval_every": None}

    def theirs(seed: int) -> Result:
        return clocked(
            lambda: LdaModel(documents, TOPICS, words, random_state=seed, **options),
            lambda model: completion(model.state.get_lambda(), X, test),
        )

    return {OURS: partial(ours_in_batches, X, test), "gensim": theirs}


def tomotopy_fits(_: Case, X: Any, test: Any) -> dict[str, Callable[[int], Result]]:
    import tomotopy

    starts = X.indptr
    documents = [
        np.repeat(X.indices[a:b], X.data[a:b].astype(int)).astype(str).tolist()
        for a, b in pairwise(starts)
    ]

    def begin(seed: int) -> Any:
        model = tomotopy.LDAModel(k=TOPICS, alpha=1 / TOPICS, eta=1 / TOPICS, seed=seed)
        for document in filter(None, documents):
            model.add_doc(document)
        return model

    def score(model: Any) -> float:
        columns = np.array([int(word) for word in model.used_vocabs])
        topics = np.full((TOPICS, X.shape[1]), 1e-9)
        topics[:, columns] = [model.get_topic_word_dist(k) for k in range(TOPICS)]
        return completion(topics * X.sum() / TOPICS, X, test)

    def theirs(seed: int) -> Result:
        goal = ours_in_batches(X, test, seed).score
        start = perf_counter()
        model, reached = begin(seed), np.inf
        took = perf_counter() - start
        for _ in range(40):
            sweeps = clocked(lambda: model.train(5, workers=2), lambda _: score(model))
            took, reached = took + sweeps.seconds, sweeps.score
            if reached <= goal:
                break
        return Result(took, reached)

    return {OURS: partial(ours_in_batches, X, test), "tomotopy": theirs}


def completion(topics: np.ndarray, X: Any, test: Any) -> float:
    """Completion perplexity of topics of another library."""
    from tenfold import LatentDirichletAllocation

    model = LatentDirichletAllocation(TOPICS, max_iter=0).fit(X)
    model.components_ = np.maximum(topics, 1e-12)
    return model.completion_perplexity(test)
