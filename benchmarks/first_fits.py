"""The very first fit of a model in a fresh process: which models there are, and what it costs."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROWS, COLUMNS = 5000, 20
ONE_COLUMN = {"StateSpaceGaussianProcessRegressor"}
TEXT = "the cat sat on the mat. the dog sat on the log, and looked. " * 100
IN_A_FRESH_PROCESS = """
import json, pickle, sys, time, warnings
warnings.simplefilter("ignore")
with open(sys.argv[1], "rb") as file:
    start = time.perf_counter()
    model = pickle.load(file)  # imports all that it is made of
    imported = time.perf_counter() - start
    X, y = pickle.load(file)
start = time.perf_counter()
model.fit(X, y)
if hasattr(model, "dictionary"):  # given, not learned: its first work are codes
    model.transform(X)
print(json.dumps([imported, time.perf_counter() - start]))
"""
IMPORT = """
import pickle, sys
with open(sys.argv[1], "rb") as file:
    pickle.load(file)
from numba.core.registry import cpu_target
cpu_target.target_context.refresh()  # imports what numba needs to compile
"""


class First(NamedTuple):
    """Seconds of an import, of import and fit, and of both once more with a warm cache."""

    imported: float
    cold: float
    warm: float


def models() -> list[Any]:
    """An instance of every public model, with the settings that the laws are shown with."""
    from tenfold import testing

    return [*testing.all_models(), *models_of_sequences()]


def models_of_sequences() -> list[Any]:
    """Networks of sequences, and models of text and of pairs and labels of words."""
    import tenfold

    pairs: dict[str, Any] = {"units": 16, "epochs": 1}
    steps: dict[str, Any] = {"epochs": 1, "random_state": 0}
    return [
        *(tenfold.RecurrentClassifier(cell, epochs=1) for cell in ("rnn", "gru", "lstm")),
        tenfold.NGramModel(5, unit="character", boundaries=False),
        tenfold.SoftmaxLanguageModel(3, hidden=8, boundaries=False),
        tenfold.RecurrentLanguageModel("gru", units=32, **steps),
        tenfold.RecurrentLanguageModel("lstm", units=32, **steps),
        tenfold.TransformerLanguageModel(**steps),
        tenfold.EncoderDecoder(**pairs, attention=True),
        tenfold.CRF(),
        tenfold.CRF("perceptron"),
    ]


def family(model: Any) -> str:
    """The package of tenfold that a model lives in."""
    return type(model).__module__.split(".")[1]


def table(model: Any) -> tuple[Any, Any]:
    """Rows and a target that suit a model; a text, or words and what they become."""
    if family(model) in ("language", "sequence"):
        words = TEXT.split()
        turned = [word[::-1] for word in words]
        return {
            "EncoderDecoder": (words, turned),
            "CRF": ([[*word] for word in words], [[*word] for word in turned]),
        }.get(type(model).__name__, (TEXT, None))
    from sklearn.base import is_classifier, is_regressor
    from sklearn.utils import get_tags

    rng, tags = np.random.default_rng(0), get_tags(model)
    columns = np.shape(model.dictionary)[1] if hasattr(model, "dictionary") else COLUMNS
    columns = 1 if type(model).__name__ in ONE_COLUMN else columns
    X = rng.standard_normal((ROWS, columns))
    score = X @ rng.standard_normal(columns) + rng.standard_normal(ROWS)
    X = np.abs(X) if tags.input_tags.positive_only else X
    if is_classifier(model):
        return X, (score > 0).astype(int)
    if is_regressor(model):
        return X, np.floor(np.abs(score)) if tags.target_tags.positive_only else score
    return X, None


def first_fit(model: Any) -> First:
    """Import and fit with an empty numba cache, then with the cache that this left.

    Modules were imported before, so that Python need not compile them: pip does so by default.
    """
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder) / "job.pickle"
        job.write_bytes(pickle.dumps(model) + pickle.dumps(table(model)))
        cache = str(Path(folder) / "cache")
        python(IMPORT, str(job))
        code = (IN_A_FRESH_PROCESS, str(job))
        cold, warm = (json.loads(python(*code, NUMBA_CACHE_DIR=cache)) for _ in range(2))
    return First(cold[0], sum(cold), sum(warm))


def python(code: str, *arguments: str, **environment: str) -> str:
    """What a fresh Python prints, which may keep the modules that it compiles."""
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(
        command, env=inherited | environment, check=True, capture_output=True, text=True
    )
    return done.stdout
