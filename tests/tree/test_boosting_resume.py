"""A boosting fit that is killed goes on where it was. Run as a script, this file gets killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tenfold
from tenfold.testing.bitwise import assert_bitwise_equal
from tenfold.tree import _trainers

ROUNDS = 6


def fit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    y = X[:, 0] + X[:, 1] * X[:, 2] > 0
    model = tenfold.HistGradientBoostingClassifier(
        max_iter=ROUNDS, early_stopping=True, random_state=0
    )
    return model.fit(X, y)


def count_rounds(trainer, limit):
    """Let a trainer kill its process in the middle of a round."""
    grow = trainer.grow_round

    def grow_round(self, number):
        if number == limit:
            os.kill(os.getpid(), signal.SIGKILL)
        return grow(self, number)

    trainer.grow_round = grow_round


@pytest.mark.parametrize("place", ["memory", "passes"])
def test_a_killed_fit_ends_with_the_same_trees(place, tmp_path, monkeypatch):
    path = tmp_path / "fit.ckpt"
    command = [sys.executable, __file__, str(path), place]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert path.exists()
    expected = fit()
    if place == "passes":
        monkeypatch.setattr(_trainers, "_fits_memory", lambda *_: False)
    with tenfold.checkpoint(path, every=0):
        assert_bitwise_equal(expected, fit(), "after kill -9")


if __name__ == "__main__":
    count_rounds(_trainers.MemoryTrainer, 4)
    count_rounds(_trainers.PassTrainer, 4)
    if sys.argv[2] == "passes":
        _trainers._fits_memory = lambda *_: False
    with tenfold.checkpoint(Path(sys.argv[1]), every=0):
        fit()
