"""Topics of 20 Newsgroups against scikit-learn, gensim and tomotopy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import util
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import interleaved, seconds, undisturbed

TITLE = "Topics"
HEADER = ["case", "peer", "ours (s)", "peer (s)", "ratio", "target", "score ours", "peer"]
OURS = "tenfold"
TOPICS = 20
AGREE = 1e-3  # share of the bound by which two fits may differ


class Case(NamedTuple):
    """One problem; the score is the bound, or the completion perplexity for "tomotopy"."""

    name: str
    peer: str
    target: float
    rounds: int = 3


def cases() -> list[Case]:
    return [
        Case("lda-batch", "sklearn", 5),
        Case("lda-online", "sklearn", 5),
        Case("lda-transform", "sklearn", 5),
        Case("lda-gensim", "gensim", 20, 1),
        Case("lda-tomotopy", "tomotopy", 1, 1),
    ]


def names() -> list[str]:
    return [case.name for case in cases()]


def run(wanted: list[str], *, quick: bool) -> Table:
    chosen = [case for case in cases() if case.name in wanted]
    missing = [case for case in chosen if util.find_spec(case.peer) is None]
    rows = [tell(case.name) or contest(case, quick=quick) for case in chosen if case not in missing]
    notes = ["11,314 messages, 10,000 words, 20 topics; 10 passes of batch, 1 of online learning"]
    notes += ["tomotopy: sweeps to the completion perplexity of 10 batch passes, at most 200"]
    notes += [f"left out: {case.name}, {case.peer} is not installed" for case in missing]
    return Table(TITLE, HEADER, rows, notes)


def contest(case: Case, *, quick: bool) -> Row:
    X, test = read_counts(quick=quick)
    makers = {"gensim": gensim_fits, "tomotopy": tomotopy_fits}
    fits = makers.get(case.peer, sklearn_fits)(case, X, test)
    scores: dict[str, float] = {}

    def turn(home: str, _: int) -> list[float]:
        return [seconds(lambda: scores.update({home: fits[home]()}))]

    with undisturbed():
        fits[OURS]()
    times = interleaved({h: partial(turn, h) for h in fits}, 1 if quick else case.rounds)
    ratio = times[case.peer].median / times[OURS].median
    comparable = case.name in {"lda-batch", "lda-transform"}
    good = not comparable or abs(scores[OURS] - scores[case.peer]) <= AGREE * abs(scores[OURS])
    verdict = ("met" if ratio >= case.target else "missed") if good else "not counted: differs"
    cells = [case.name, case.peer, timed(times[OURS]), timed(times[case.peer]), f"{ratio:.2f}x"]
    return Row([*cells, f"{case.target:g}x", *(figure(scores[home], 6) for home in fits)], verdict)


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


def sklearn_fits(case: Case, X: Any, test: Any) -> dict[str, Callable[[], float]]:
    from sklearn.decomposition import LatentDirichletAllocation as Theirs

    from tenfold import LatentDirichletAllocation as Ours

    homes: dict[str, Any] = {OURS: Ours, "sklearn": Theirs}
    if case.name == "lda-transform":
        fitted = {h: m(TOPICS, max_iter=2, random_state=0).fit(X) for h, m in homes.items()}
        return {h: lambda m=m: float(m.transform(test).sum()) for h, m in fitted.items()}
    batch = case.name == "lda-batch"
    parameters = {"learning_method": "batch" if batch else "online", "random_state": 0}
    parameters |= {"max_iter": 10 if batch else 1}

    def fit(model: Any) -> float:
        return float(model(TOPICS, **parameters).fit(X).score(X))

    return {home: partial(fit, model) for home, model in homes.items()}


def ours_in_batches(X: Any) -> Any:
    from tenfold import LatentDirichletAllocation

    return LatentDirichletAllocation(TOPICS, max_iter=10, random_state=0).fit(X)


def gensim_fits(_: Case, X: Any, test: Any) -> dict[str, Callable[[], float]]:
    from gensim.models import LdaModel

    starts = X.indptr
    documents = [
        list(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True))
        for a, b in pairwise(starts)
    ]
    words = {i: str(i) for i in range(X.shape[1])}

    def theirs() -> float:
        model = LdaModel(
            documents, TOPICS, words, passes=10, chunksize=len(documents), update_every=0,
            eval_every=None, random_state=0,
        )  # fmt: skip
        return completion(model.state.get_lambda(), X, test)

    return {OURS: lambda: ours_in_batches(X).completion_perplexity(test), "gensim": theirs}


def tomotopy_fits(_: Case, X: Any, test: Any) -> dict[str, Callable[[], float]]:
    import tomotopy

    goal = ours_in_batches(X).completion_perplexity(test)
    starts = X.indptr
    documents = [
        np.repeat(X.indices[a:b], X.data[a:b].astype(int)).astype(str).tolist()
        for a, b in pairwise(starts)
    ]

    def theirs() -> float:
        model = tomotopy.LDAModel(k=TOPICS, alpha=1 / TOPICS, eta=1 / TOPICS, seed=0)
        for document in filter(None, documents):
            model.add_doc(document)
        reached = np.inf
        for _ in range(20):
            model.train(10, workers=2)
            columns = np.array([int(word) for word in model.used_vocabs])
            topics = np.full((TOPICS, X.shape[1]), 1e-9)
            topics[:, columns] = [model.get_topic_word_dist(k) for k in range(TOPICS)]
            reached = completion(topics * X.sum() / TOPICS, X, test)
            if reached <= goal:
                break
        return reached

    return {OURS: lambda: ours_in_batches(X).completion_perplexity(test), "tomotopy": theirs}


def completion(topics: np.ndarray, X: Any, test: Any) -> float:
    """Completion perplexity of topics of another library."""
    from tenfold import LatentDirichletAllocation

    model = LatentDirichletAllocation(TOPICS, max_iter=0).fit(X)
    model.components_ = np.maximum(topics, 1e-12)
    return model.completion_perplexity(test)
