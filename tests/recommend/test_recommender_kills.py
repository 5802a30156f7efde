"""Fits that lose their process, or a worker, end with the same bits. As a script, it is killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import tenfold
from tenfold import ALS, ImplicitALS
from tenfold.callbacks.checkpoint_file import CheckpointFile
from tenfold.optim.convergence import until_converged

UPDATE = until_converged.update


def make_models():
    options = {"max_iter": 6, "tol": 0.0, "random_state": 0}
    return [ALS(3, **options), ImplicitALS(3, solver="cg", **options)]


def fit_all(path):
    return [model.fit(path) for model in make_models()]


def after_updates(n, act):
    """Call `act` after n iterations of any loop, and count all of them."""
    done = []

    def update(self, *args, **kwargs):
        UPDATE(self, *args, **kwargs)
        done.append(1)
        if len(done) == n:
            act()

    return mock.patch.object(until_converged, "update", update), done


def write_ratings(folder):
    import pandas as pd

    from tests.recommend.conftest import make_ratings

    X, y = make_ratings(1, 300, 200, share=0.1)
    table = pd.DataFrame({"user": X[:, 0], "item": X[:, 1], "rating": np.abs(y)})
    table.to_parquet(folder / "ratings.parquet")
    return folder / "ratings.parquet"


@pytest.mark.filterwarnings("ignore:.*did not converge")
def test_after_kill_9_fits_go_on_and_end_the_same(tmp_path):
    path = write_ratings(tmp_path)
    expected = fit_all(path)
    run = subprocess.run([sys.executable, "-W", "ignore", __file__, str(tmp_path)], check=False)
    assert run.returncode == -signal.SIGKILL
    patched, done = after_updates(0, None)
    with patched, tenfold.checkpoint(tmp_path / "fit.ckpt", every=0):
        resumed = fit_all(path)
    assert len(done) == 4  # of twelve; the script was killed after eight
    for one, two in zip(expected, resumed, strict=True):
        tenfold.testing.assert_bitwise_equal(one, two, "after kill -9")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*did not converge")
def test_a_killed_worker_costs_no_bits(tmp_path):
    from distributed import Client, LocalCluster

    path = write_ratings(tmp_path)
    expected = fit_all(path)
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", local_directory=str(tmp_path)
    )
    with cluster, Client(cluster, set_as_default=False) as client, tenfold.on(client):
        victim = min(client.run(os.getpid).values())
        patched, done = after_updates(8, lambda: os.kill(victim, signal.SIGKILL))
        with patched:
            found = fit_all(path)
    assert len(done) == 12
    for one, two in zip(expected, found, strict=True):
        tenfold.testing.assert_bitwise_equal(one, two, "after a worker was killed")


def main(folder):
    patched, _ = after_updates(8, lambda: os.kill(os.getpid(), signal.SIGKILL))
    with (
        mock.patch.object(CheckpointFile, "is_due", return_value=True),
        patched,
        tenfold.checkpoint(Path(folder, "fit.ckpt"), every=0),
    ):
        fit_all(Path(folder, "ratings.parquet"))


if __name__ == "__main__":
    main(sys.argv[1])
