"""Text files larger than memory: numbers in a temporary file, scores in parts."""

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


def peak_memory(function):
    """Bytes that a call allocates at most; the least of three, since other threads allocate too."""
    peaks = []
    for _ in range(3):
        tracemalloc.start()
        function()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return min(peaks)


def test_scores_of_a_file_are_those_of_its_text(model, tmp_path):
    path = write(tmp_path, TEXT)
    assert model.log_prob(path).shape == (1,)
    assert model.log_prob(path)[0] == pytest.approx(model.log_prob(TEXT)[0], rel=1e-6)
    assert model.score(path) == pytest.approx(model.score(TEXT), rel=1e-6)
    assert model.bits_per_character(path) == pytest.approx(model.bits_per_character(TEXT), rel=1e-6)


def test_memory_of_scores_does_not_grow_with_the_file(model, tmp_path, monkeypatch):
    """Numbers of symbols lie in a file; what a pass allocates is that of a part."""
    monkeypatch.setattr(_number_store, "MAX_BYTES_IN_MEMORY", 2**12)
    monkeypatch.setattr(_symbols, "_PIECE_CHARACTERS", 2**10)
    monkeypatch.setattr(_number_store, "_BLOCK", 2**10)
    peaks = []
    for times in (8, 60):
        path = write(tmp_path, TEXT * times)
        peaks.append(peak_memory(partial(model.score, path)))
    assert peaks[1] < peaks[0] + 2**17  # 156,000 more symbols, each of 2 bytes at least


@pytest.mark.parametrize("text", [TEXT * 200, "abc" * 200_000], ids=["lines", "one line"])
def test_memory_of_reading_does_not_grow_with_the_file(text, tmp_path, monkeypatch):
    monkeypatch.setattr(_number_store, "MAX_BYTES_IN_MEMORY", 2**14)
    monkeypatch.setattr(_symbols, "_PIECE_CHARACTERS", 2**12)
    monkeypatch.setattr(_number_store, "_BLOCK", 2**12)
    peaks = []
    for part in (text[: len(text) // 4], text):
        path = write(tmp_path, part)
        read = partial(read_stream, RecurrentLanguageModel("gru", 4), path)
        peaks.append(peak_memory(read))
        assert len(read()) == len(part) + 1
    assert peaks[1] < peaks[0] + 2**17  # of 450 kB more text


def test_files_without_symbols_are_explained(model, tmp_path):
    path = write(tmp_path, "")
    with pytest.raises(ValueError, match="the documents are empty"):
        model.score(path)
    assert model.log_prob(path).tolist() == [0.0]
    with pytest.raises(ValueError, match="must not be negative"):
        model.sample(temperature=float("nan"))
