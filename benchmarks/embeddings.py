"""Word vectors of 20 Newsgroups against gensim: words a second and similarity scores.

Each side has one thread, and its processor time is taken: gensim's results depend on the number of
threads, and ours do not. Words a second count every word of every epoch, reading included.
"""

from __future__ import annotations

from functools import partial
from importlib import util
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.report import Row, Table, tell
from benchmarks.timing import interleaved

TITLE = "Word vectors"
HEADER = ["case", "peer", "ours (words/s)", "peer (words/s)", "ratio", "target"]
HEADER += ["WordSim ours", "peer", "SimLex ours", "peer"]
OURS, PEER = "tenfold", "gensim"
JUDGMENTS = "wordsim353", "simlex999"
DIMENSIONS, WINDOW, NEGATIVE, EPOCHS, MIN_COUNT = 100, 5, 5, 5, 5
SEEDS = 5  # fits of each side, whose scores are averaged: one fit is 0.015 from the mean
SCORE_SLACK = 0.015  # rank correlation that our mean may lose; the error of a difference is 0.01
SHARE = 2  # every second message: all of them take twice as long


class Case(NamedTuple):
    """One way to learn vectors."""

    name: str
    cbow: bool
    target: float = 1.0


def cases() -> list[Case]:
    return [Case("skip-gram", cbow=False), Case("cbow", cbow=True)]


def names() -> list[str]:
    return [case.name for case in cases()]


def run(wanted: list[str], *, quick: bool) -> Table:
    chosen = [case for case in cases() if case.name in wanted]
    notes = [
        "half of 20 Newsgroups, 100 dimensions, window 5, 5 negative words, 5 epochs, a thread",
        f"similarity scores: mean and standard deviation over {SEEDS} seeds",
    ]
    if util.find_spec(PEER) is None:
        return Table(TITLE, HEADER, [], [*notes, "left out: gensim is not installed"])
    return Table(
        TITLE, HEADER, [tell(case.name) or contest(case, quick=quick) for case in chosen], notes
    )


def contest(case: Case, *, quick: bool) -> Row:
    documents = read_documents(quick=quick)
    fits = {OURS: partial(fit_ours, case, documents), PEER: partial(fit_gensim, case, documents)}
    scores: dict[str, dict[str, list[float]]] = {h: {d: [] for d in JUDGMENTS} for h in fits}

    def turn(home: str, seed: int) -> list[float]:
        start = process_time()
        model = fits[home](seed)
        elapsed = process_time() - start
        for data, found in scores[home].items():
            found.append(similarity(model, data))
        return [elapsed]

    fit_ours(case, documents[:50], 0)  # compiled
    times = interleaved({h: partial(turn, h) for h in fits}, 1 if quick else SEEDS)
    ratio = times[PEER].median / times[OURS].median
    good = all(
        np.mean(scores[OURS][data]) >= np.mean(scores[PEER][data]) - SCORE_SLACK
        for data in JUDGMENTS
    )
    verdict = ("met" if ratio >= case.target else "missed") if good else "not counted: worse"
    words = EPOCHS * sum(len(document) for document in documents)
    cells = [case.name, PEER, *(f"{words / times[home].median:,.0f}" for home in fits)]
    cells += [f"{ratio:.2f}x", f"{case.target:g}x"]
    return Row([*cells, *(spread(scores[h][d]) for d in JUDGMENTS for h in fits)], verdict)


def spread(scores: list[float]) -> str:
    return f"{np.mean(scores):.3f} ±{np.std(scores):.3f}"


def read_documents(*, quick: bool) -> list[list[str]]:
    """Words of each message."""
    import re

    from tenfold.datasets import fetch_20newsgroups

    texts = fetch_20newsgroups().data
    return [re.findall(r"(?u)\b\w\w+\b", text.lower()) for text in texts[:: 10 if quick else SHARE]]


def fit_ours(case: Case, documents: list[list[str]], seed: int) -> Any:
    from tenfold import Word2Vec

    return Word2Vec(
        DIMENSIONS,
        algorithm="cbow" if case.cbow else "skip_gram",
        window=WINDOW,
        negatives=NEGATIVE,
        epochs=EPOCHS,
        min_count=MIN_COUNT,
        n_jobs=1,
        random_state=seed,
    ).fit(documents)


def fit_gensim(case: Case, documents: list[list[str]], seed: int) -> Any:
    from gensim.models import Word2Vec as Theirs

    model = Theirs(
        documents,
        vector_size=DIMENSIONS,
        sg=0 if case.cbow else 1,
        window=WINDOW,
        negative=NEGATIVE,
        epochs=EPOCHS,
        min_count=MIN_COUNT,
        workers=1,
        seed=seed,
    )
    from tenfold import WordVectors

    return WordVectors(model.wv.index_to_key, model.wv.vectors)


def similarity(model: Any, name: str) -> float:
    """Rank correlation with the judgments of people."""
    from tenfold.datasets import fetch_word_similarity
    from tenfold.embeddings import evaluate_similarity

    data = fetch_word_similarity(name)
    return evaluate_similarity(model, data.data, data.target).correlation
