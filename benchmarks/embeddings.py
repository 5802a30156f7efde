"""Word vectors of 20 Newsgroups against gensim: words a second and similarity scores.

Each side has one thread, and its processor time is taken: gensim's results depend on the number of
threads, and ours do not. Words a second count every word of every epoch, reading included.
"""

from __future__ import annotations

from functools import partial
from importlib import util
from time import process_time
from typing import Any, NamedTuple

from benchmarks.report import Row, Table, figure, tell
from benchmarks.timing import interleaved

TITLE = "Word vectors"
HEADER = ["case", "peer", "ours (words/s)", "peer (words/s)", "ratio", "target"]
HEADER += ["WordSim ours", "peer", "SimLex ours", "peer"]
OURS, PEER = "tenfold", "gensim"
DIMENSIONS, WINDOW, NEGATIVE, EPOCHS, MIN_COUNT = 100, 5, 5, 5, 5
SCORE_SLACK = 0.03  # rank correlation that ours may lose; seeds differ by as much
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
        "half of 20 Newsgroups, 100 dimensions, window 5, 5 negative words, 5 epochs, a thread"
    ]
    if util.find_spec(PEER) is None:
        return Table(TITLE, HEADER, [], [*notes, "left out: gensim is not installed"])
    return Table(
        TITLE, HEADER, [tell(case.name) or contest(case, quick=quick) for case in chosen], notes
    )


def contest(case: Case, *, quick: bool) -> Row:
    documents = read_documents(quick=quick)
    fits = {OURS: partial(fit_ours, case, documents), PEER: partial(fit_gensim, case, documents)}
    scores: dict[str, dict[str, float]] = {}

    def turn(home: str, _: int) -> list[float]:
        start = process_time()
        model = fits[home]()
        elapsed = process_time() - start
        scores[home] = {data: similarity(model, data) for data in ("wordsim353", "simlex999")}
        return [elapsed]

    fit_ours(case, documents[:50])  # compiled
    times = interleaved({h: partial(turn, h) for h in fits}, 1)
    ratio = times[PEER].median / times[OURS].median
    good = all(scores[OURS][data] >= scores[PEER][data] - SCORE_SLACK for data in scores[PEER])
    verdict = ("met" if ratio >= case.target else "missed") if good else "not counted: worse"
    words = EPOCHS * sum(len(document) for document in documents)
    cells = [case.name, PEER, *(f"{words / times[home].median:,.0f}" for home in fits)]
    cells += [f"{ratio:.2f}x", f"{case.target:g}x"]
    return Row([*cells, *(figure(scores[h][d], 3) for d in scores[PEER] for h in fits)], verdict)


def read_documents(*, quick: bool) -> list[list[str]]:
    """Words of each message."""
    import re

    from tenfold.datasets import fetch_20newsgroups

    texts = fetch_20newsgroups().data
    return [re.findall(r"(?u)\b\w\w+\b", text.lower()) for text in texts[:: 10 if quick else SHARE]]


def fit_ours(case: Case, documents: list[list[str]]) -> Any:
    from tenfold import Word2Vec

    return Word2Vec(
        DIMENSIONS,
        algorithm="cbow" if case.cbow else "skip_gram",
        window=WINDOW,
        negatives=NEGATIVE,
        epochs=EPOCHS,
        min_count=MIN_COUNT,
        n_jobs=1,
        random_state=0,
    ).fit(documents)


def fit_gensim(case: Case, documents: list[list[str]]) -> Any:
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
        seed=0,
    )
    from tenfold import WordVectors

    return WordVectors(model.wv.index_to_key, model.wv.vectors)


def similarity(model: Any, name: str) -> float:
    """Rank correlation with the judgments of people."""
    from tenfold.datasets import fetch_word_similarity
    from tenfold.embeddings import evaluate_similarity

    data = fetch_word_similarity(name)
    return evaluate_similarity(model, data.data, data.target).correlation
