"""Word vectors of 20 Newsgroups against gensim: time and similarity scores."""

from __future__ import annotations

from functools import partial
from importlib import util
from typing import Any, NamedTuple

from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import interleaved, seconds

TITLE = "Word vectors"
HEADER = ["case", "peer", "ours (s)", "peer (s)", "ratio", "target", "WordSim ours", "peer"]
OURS, PEER = "tenfold", "gensim"
DIMENSIONS, WINDOW, NEGATIVE, EPOCHS, MIN_COUNT = 100, 5, 5, 5, 5
SCORE_SLACK = 0.03  # rank correlation that ours may lose


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
    notes = ["words of 20 Newsgroups, 100 dimensions, window 5, 5 negative words, 5 epochs"]
    if util.find_spec(PEER) is None:
        return Table(TITLE, HEADER, [], [*notes, "left out: gensim is not installed"])
    return Table(
        TITLE, HEADER, [tell(case.name) or contest(case, quick=quick) for case in chosen], notes
    )


def contest(case: Case, *, quick: bool) -> Row:
    documents = read_documents(quick=quick)
    fits = {OURS: partial(fit_ours, case, documents), PEER: partial(fit_gensim, case, documents)}
    scores: dict[str, float] = {}

    def turn(home: str, _: int) -> list[float]:
        found: list[Any] = []
        elapsed = seconds(lambda: found.append(fits[home]()))
        scores[home] = similarity(found[0])
        return [elapsed]

    fit_ours(case, documents[:50])  # compiled
    times = interleaved({h: partial(turn, h) for h in fits}, 1)
    ratio = times[PEER].median / times[OURS].median
    good = scores[OURS] >= scores[PEER] - SCORE_SLACK
    verdict = ("met" if ratio >= case.target else "missed") if good else "not counted: worse"
    cells = [case.name, PEER, timed(times[OURS]), timed(times[PEER]), f"{ratio:.2f}x"]
    return Row([*cells, f"{case.target:g}x", *(figure(scores[h], 3) for h in fits)], verdict)


def read_documents(*, quick: bool) -> list[list[str]]:
    """Words of each message."""
    import re

    from tenfold.datasets import fetch_20newsgroups

    texts = fetch_20newsgroups().data
    return [re.findall(r"(?u)\b\w\w+\b", text.lower()) for text in texts[:: 10 if quick else 1]]


def fit_ours(case: Case, documents: list[list[str]]) -> Any:
    from tenfold import Word2Vec

    return Word2Vec(
        DIMENSIONS,
        algorithm="cbow" if case.cbow else "skip_gram",
        window=WINDOW,
        negatives=NEGATIVE,
        epochs=EPOCHS,
        min_count=MIN_COUNT,
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
        workers=2,
        seed=0,
    )
    from tenfold import WordVectors

    return WordVectors(model.wv.index_to_key, model.wv.vectors)


def similarity(model: Any) -> float:
    """Rank correlation with the judgments of WordSim-353."""
    from tenfold.datasets import fetch_word_similarity
    from tenfold.embeddings import evaluate_similarity

    data = fetch_word_similarity("wordsim353")
    return evaluate_similarity(model, data.data, data.target).correlation
