"""Word vectors whose process is killed are learned to the same bits. As a script, it is killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import tenfold
from tenfold import GloVe, Word2Vec
from tenfold.callbacks.checkpoint_file import CheckpointFile
from tenfold.optim.convergence import until_converged

UPDATE = until_converged.update


def make_documents(seed=0):
    rng = np.random.default_rng(seed)
    return [[f"w{n}" for n in rng.integers(0, 30, 20)] for _ in range(100)]


def fit_all(documents):
    options = {"n_components": 4, "epochs": 4, "min_count": 1, "random_state": 0}
    return [Word2Vec(**options).fit(documents), GloVe(**options).fit(documents)]


def test_after_kill_9_fits_go_on_and_end_the_same(tmp_path):
    expected = fit_all(make_documents())
    run = subprocess.run([sys.executable, __file__, str(tmp_path)], check=False)
    assert run.returncode == -signal.SIGKILL
    done = []

    def update(self, *args, **kwargs):
        done.append(1)
        UPDATE(self, *args, **kwargs)

    with (
        mock.patch.object(until_converged, "update", update),
        tenfold.checkpoint(tmp_path / "fit.ckpt", every=0),
    ):
        resumed = fit_all(make_documents())
    assert len(done) == 2  # of eight; the script was killed after six
    for one, two in zip(expected, resumed, strict=True):
        tenfold.testing.assert_bitwise_equal(one, two, "after kill -9")


@pytest.mark.parametrize("model", [Word2Vec, GloVe])
def test_a_checkpoint_of_other_documents_with_as_many_words_is_refused(model, tmp_path):
    options = {"n_components": 4, "epochs": 3, "min_count": 1, "random_state": 0}

    def update(self, *args, **kwargs):
        UPDATE(self, *args, **kwargs)
        raise KeyboardInterrupt

    with (
        mock.patch.object(until_converged, "update", update),
        mock.patch.object(CheckpointFile, "is_due", return_value=True),
        pytest.raises(KeyboardInterrupt),
        tenfold.checkpoint(tmp_path / "fit.ckpt", every=0),
    ):
        model(**options).fit(make_documents())
    with (
        pytest.raises(Exception, match="belongs to another fit"),
        tenfold.checkpoint(tmp_path / "fit.ckpt", every=0),
    ):
        model(**options).fit(make_documents(1))


def main(folder):
    done = []

    def update(self, *args, **kwargs):
        UPDATE(self, *args, **kwargs)
        done.append(1)
        if len(done) == 6:
            os.kill(os.getpid(), signal.SIGKILL)

    with (
        mock.patch.object(CheckpointFile, "is_due", return_value=True),
        mock.patch.object(until_converged, "update", update),
        tenfold.checkpoint(Path(folder, "fit.ckpt"), every=0),
    ):
        fit_all(make_documents())


if __name__ == "__main__":
    main(sys.argv[1])
