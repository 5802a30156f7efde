"""Text files larger than memory: numbers in a temporary file, scores in parts."""

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from tenfold import (
    BytePairTokenizer,
    NGramModel,
    RecurrentLanguageModel,
    SoftmaxLanguageModel,
    TransformerLanguageModel,
)
from tenfold.language import _number_store
from tenfold.sequence import _ngram_runs, _symbols

TEXT = "".join(np.random.default_rng(0).choice(list("abc \n"), 3000))
SMALL = {"window": 8, "batch_size": 4, "epochs": 1, "random_state": 0}
MODELS = {
    "ngram": NGramModel(3, unit="character", boundaries=False),
    "softmax": SoftmaxLanguageModel(3, boundaries=False, max_iter=5),
    "recurrent": RecurrentLanguageModel("gru", 4, embedding=3, **SMALL),
    "transformer": TransformerLanguageModel(4, layers=1, heads=1, **SMALL),
}
MAX_MORE_BYTES = 16 * 2**20  # of anonymous memory, for a file of 24 million characters


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(MODELS[request.param]).fit(TEXT)


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


@pytest.mark.filterwarnings("ignore:.*did not converge")
@pytest.mark.parametrize("unit", ["character", "word", "pairs"])
@pytest.mark.parametrize("name", MODELS)
def test_a_file_in_pieces_gives_the_model_of_its_text(name, unit, tmp_path, monkeypatch):
    monkeypatch.setattr(_symbols, "_PIECE_CHARACTERS", 100)
    monkeypatch.setattr(_symbols, "_BATCH_CHARACTERS", 250)
    learner = clone(MODELS[name]).set_params(unit="character" if unit == "character" else "word")
    if unit == "pairs":
        learner.set_params(tokenizer=BytePairTokenizer(9))
    path = write(tmp_path, TEXT)
    of_text, of_file = learner.fit(TEXT), clone(learner).fit(path)
    assert of_file.symbols_ == of_text.symbols_
    assert (of_file.n_documents_, of_file.n_tokens_) == (1, of_text.n_tokens_)
    np.testing.assert_array_equal(of_file.predict_proba("ab"), of_text.predict_proba("ab"))
    assert of_file.score(path) == pytest.approx(of_text.score(TEXT), rel=1e-6)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
def test_files_larger_than_memory_are_learned_and_scored(tmp_path):
    """In a process of its own, which cannot allocate the size of the file."""
    command = [sys.executable, "-W", "ignore", __file__, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_files_without_symbols_are_explained(model, tmp_path):
    path = write(tmp_path, "")
    with pytest.raises(ValueError, match="the documents are empty"):
        model.score(path)
    assert model.log_prob(path).tolist() == [0.0]
    with pytest.raises(ValueError, match="must not be negative"):
        model.sample(temperature=float("nan"))


def learn_within_limit(folder: Path) -> None:
    """Fit and score under a limit for anonymous memory that is less than the file."""
    import resource

    _number_store.MAX_BYTES_IN_MEMORY, _number_store._BLOCK = 2**18, 2**16
    _symbols._PIECE_CHARACTERS = _symbols._BATCH_CHARACTERS = 2**15
    _ngram_runs.RUN_SYMBOLS = 2**16
    small, large = write(folder, TEXT * 50), folder / "large.txt"
    with large.open("w") as file:
        for _ in range(160):
            file.write(TEXT * 50)
    for learner in MODELS.values():
        if "epochs" in learner.get_params():
            learner.set_params(max_steps=20)
        clone(learner).fit(small).score(small)  # imports and compiles
    status = Path("/proc/self/status").read_text()
    limit = int(status.split("VmData:")[1].split()[0]) * 1024 + MAX_MORE_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    for name, learner in MODELS.items():
        model = learner.fit(large)
        assert model.n_tokens_ == large.stat().st_size
        assert model.score(large if name == "ngram" else small) < 0


if __name__ == "__main__":
    learn_within_limit(Path(sys.argv[1]))
