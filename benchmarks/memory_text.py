"""Memory of text: 1 GB of varied documents to a trigram model and to 50 topics.

`python -m benchmarks.memory_text CASE FILE` fits one case and prints memory and seconds as JSON.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.memory_fit import Peak
from benchmarks.report import Row, Table, figure, tell

TITLE = "Memory of text"
HEADER = ["case", "file (MB)", "peak (MB)", "target", "seconds", "processor (s)", "learned"]
TARGET = 800
SIZE = 10**9
SHUFFLED, INVENTED, N_INVENTED = 0.15, 0.01, 300_000  # shares of words, and kinds of new ones


def names() -> list[str]:
    return ["trigrams", "topics"]


def run(wanted: list[str], *, quick: bool) -> Table:
    notes = ["messages of 20 Newsgroups again and again; each time 15 % of the words give way to"]
    notes[0] += " words drawn from all, 1 % to one of 300,000 invented ones"
    notes += ["trigrams: modified Kneser-Ney, min_count=(3, 3, 3)"]
    notes += ["topics: 50, 20,000 words, one pass of online learning and one for the bound"]
    notes += ["anonymous memory beyond the import, looked at every 5 ms; MB are 10^6 bytes"]
    with tempfile.TemporaryDirectory(prefix="tenfold-bench-") as folder:
        file = Path(folder, "text.csv")
        tell("writing text")
        write_text(file, SIZE // 10 if quick else SIZE)
        return Table(TITLE, HEADER, [fitted(case, file) for case in wanted], notes)


def write_text(file: Path, size: int) -> None:
    """Documents in a column, a line each."""
    from tenfold.datasets import fetch_20newsgroups

    cut = re.compile(r"[a-z]+(?:'[a-z]+)?").findall
    documents = [cut(message.lower()) for message in fetch_20newsgroups(subset="all").data]
    kinds = sorted({word for document in documents for word in document})
    places = {word: n for n, word in enumerate(kinds)}
    numbers = np.array([places[word] for document in documents for word in document])
    ends = np.cumsum([len(document) for document in documents])
    kinds += [f"w{n}" for n in range(N_INVENTED)]
    rng = np.random.default_rng(0)
    with file.open("w") as out:
        done = out.write("text\n")
        while done < size:
            drawn, chance = numbers.copy(), rng.random(len(numbers))
            other, new = chance < SHUFFLED, chance > 1 - INVENTED
            drawn[other] = rng.choice(numbers, int(other.sum()))
            drawn[new] = len(places) + rng.integers(0, N_INVENTED, int(new.sum()))
            for document in np.split(drawn, ends[:-1]):
                done += out.write(" ".join(map(kinds.__getitem__, document.tolist())) + "\n")
                if done >= size:
                    break


def fitted(case: str, file: Path) -> Row:
    """Fit in a fresh process and say what it took."""
    tell(case)
    command = [sys.executable, "-m", "benchmarks.memory_text", case, str(file)]
    root = Path(__file__).parent.parent
    done = subprocess.run(command, cwd=root, check=False, capture_output=True, text=True)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return Row([case, *[""] * (len(HEADER) - 2), reason], "failed")
    found = json.loads(done.stdout)
    peak = found["bytes"] / 1e6
    cells = [case, f"{file.stat().st_size / 1e6:.0f}", f"{peak:.0f}", f"< {TARGET}"]
    cells += [figure(found["seconds"]), figure(found["processor"]), found["learned"]]
    return Row(cells, "met" if peak < TARGET else "missed")


def fit_trigrams(file: Path) -> str:
    from tenfold import NGramModel

    model = NGramModel(3, min_count=(3, 3, 3)).fit(file)
    one, two, three = np.diff(model.tree_.first_ngram).tolist()
    return f"{one} words, {two} bigrams, {three} trigrams of {model.n_tokens_} symbols"


def fit_topics(file: Path) -> str:
    from tenfold import Documents, LatentDirichletAllocation, WordCounts

    rows = WordCounts(stop_words="english", max_features=20_000).fit_rows(Documents(file, "text"))
    model: Any = LatentDirichletAllocation(
        50, learning_method="online", max_iter=1, batch_size=4096, random_state=0
    ).fit(rows)
    return f"{rows.n_rows} documents, perplexity {model.bound_:.0f}"


def main(case: str, file: str) -> None:
    import tenfold  # noqa: F401 - what it takes is not the fit's

    warnings.simplefilter("ignore")
    fit = {"trigrams": fit_trigrams, "topics": fit_topics}[case]
    start, spent = perf_counter(), process_time()
    with Peak() as peak:
        learned = fit(Path(file))
    took = {"seconds": perf_counter() - start, "processor": process_time() - spent}
    print(json.dumps({"bytes": peak.most - peak.before, "learned": learned} | took))


if __name__ == "__main__":
    main(*sys.argv[1:])
