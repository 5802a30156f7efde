"""Text files larger than memory: numbers in a temporary file, scores in parts."""

import json
import subprocess
import sys
import tracemalloc
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tenfold import RecurrentLanguageModel, TransformerLanguageModel
from tenfold.language import _number_store
from tenfold.language._symbol_stream import read_stream
from tenfold.sequence import _symbols

TEXT = "".join(np.random.default_rng(0).choice(list("abc \n"), 3000))
SMALL = {"window": 8, "batch_size": 4, "epochs": 1, "random_state": 0}


@pytest.fixture(scope="module", params=["recurrent", "transformer"])
def model(request):
    if request.param == "recurrent":
        return RecurrentLanguageModel("gru", 4, embedding=3, **SMALL).fit(TEXT)
    return TransformerLanguageModel(4, layers=1, heads=1, **SMALL).fit(TEXT)


def write(folder: Path, text: str) -> Path:
    path = folder / "text.txt"
    path.write_text(text, newline="")
    return path


def test_scores_of_a_file_are_those_of_its_text(model, tmp_path):
    path = write(tmp_path, TEXT)
    assert model.log_prob(path).shape == (1,)
    assert model.log_prob(path)[0] == pytest.approx(model.log_prob(TEXT)[0], rel=1e-6)
    assert model.score(path) == pytest.approx(model.score(TEXT), rel=1e-6)
    assert model.bits_per_character(path) == pytest.approx(model.bits_per_character(TEXT), rel=1e-6)


def test_memory_does_not_grow_with_the_file(tmp_path):
    """In a process of its own: threads of other tests allocate too."""
    command = [sys.executable, "-W", "ignore", __file__, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for what, (few, many, more_symbols) in json.loads(done.stdout).items():
        assert many < few + more_symbols, what  # each symbol has 2 bytes at least


def test_files_without_symbols_are_explained(model, tmp_path):
    path = write(tmp_path, "")
    with pytest.raises(ValueError, match="the documents are empty"):
        model.score(path)
    assert model.log_prob(path).tolist() == [0.0]
    with pytest.raises(ValueError, match="must not be negative"):
        model.sample(temperature=float("nan"))


def peak_memory(function):
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


if __name__ == "__main__":
    _number_store.MAX_BYTES_IN_MEMORY, _number_store._BLOCK = 2**12, 2**10
    _symbols._PIECE_CHARACTERS = 2**10
    folder = Path(sys.argv[1])
    small, large = TEXT * 8, TEXT * 60
    recurrent = RecurrentLanguageModel("gru", 4, embedding=3, **SMALL).fit(TEXT)
    transformer = TransformerLanguageModel(4, layers=1, heads=1, **SMALL).fit(TEXT)
    line = "abc" * (len(large) // 3)
    cases = {
        "score, recurrent": (recurrent.score, small, large),
        "score, transformer": (transformer.score, small, large),
        "lines": (partial(read_stream, recurrent), small, large),
        "one line": (partial(read_stream, recurrent), line[: len(small)], line),
    }
    found = {}
    for name, (function, few, many) in cases.items():
        function(write(folder, few))  # the first call imports and compiles
        peaks = [peak_memory(partial(function, write(folder, part))) for part in (few, many)]
        found[name] = [*peaks, len(many) - len(few)]
    sys.stdout.write(json.dumps(found))
