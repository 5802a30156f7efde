"""A fit that loses its process, or a worker, ends with the same bits. As a script, it is killed."""

import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import dask.array as da
import numpy as np
import pytest

import tenfold
from tenfold.callbacks.checkpoint_file import CheckpointFile
from tenfold.svm import _blocked_smo, _classifier_base, _kernel_access


def make_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    return X, (np.linalg.norm(X, axis=1) > 1.5).astype(int)


def shorten_rounds(stack):
    """Many short rounds, each with passes over the rows, on few rows."""
    for module in (_blocked_smo, _classifier_base):
        stack.enter_context(mock.patch.object(module, "FULL_MATRIX_ROWS", 20))
    stack.enter_context(mock.patch.object(_blocked_smo, "WORKING_SET", 32))
    stack.enter_context(mock.patch.object(_blocked_smo, "_FIRST_SEGMENT", 2))
    stack.enter_context(mock.patch.object(_kernel_access, "GATHER_BYTES", 0))


@pytest.fixture(autouse=True)
def short_rounds():
    with ExitStack() as stack:
        shorten_rounds(stack)
        yield


def fit(path, y):
    return tenfold.SVC(C=10.0, tol=1e-6).fit(path, y)


def test_after_kill_9_a_fit_goes_on_and_ends_the_same(tmp_path):
    X, y = make_rows()
    np.save(tmp_path / "X.npy", X)
    expected = fit(str(tmp_path / "X.npy"), y)
    run = subprocess.run([sys.executable, __file__, str(tmp_path)], check=False)
    assert run.returncode == -signal.SIGKILL
    rounds, advance = [], _blocked_smo._Rounds.advance

    def counted(self, state):
        rounds.append(1)
        return advance(self, state)

    with (
        mock.patch.object(_blocked_smo._Rounds, "advance", counted),
        tenfold.checkpoint(tmp_path / "fit.ckpt", every=0),
    ):
        resumed = fit(str(tmp_path / "X.npy"), y)
    assert 0 < len(rounds) < len(expected.history_["seconds"])
    tenfold.testing.assert_bitwise_equal(expected, resumed, "after kill -9")


@pytest.mark.slow
def test_a_killed_worker_costs_no_bits(tmp_path):
    from distributed import Client, LocalCluster

    X, y = make_rows()
    expected = fit(X, y)
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", local_directory=str(tmp_path)
    )
    with cluster, Client(cluster, set_as_default=False) as client, tenfold.on(client):
        rows = tenfold.open(da.from_array(X, chunks=(100, 3)), da.from_array(y, chunks=100))
        victim, rounds = min(client.run(os.getpid).values()), []
        advance = _blocked_smo._Rounds.advance

        def kill_worker(self, state):
            rounds.append(1)
            if len(rounds) == 5:
                os.kill(victim, signal.SIGKILL)
            return advance(self, state)

        with mock.patch.object(_blocked_smo._Rounds, "advance", kill_worker):
            found = tenfold.SVC(C=10.0, tol=1e-6).fit(rows)
    assert len(rounds) > 6
    tenfold.testing.assert_bitwise_equal(expected, found, "after a worker was killed")


def main(folder):
    rounds, advance = [], _blocked_smo._Rounds.advance

    def killed(self, state):
        rounds.append(1)
        if len(rounds) == 7:
            os.kill(os.getpid(), signal.SIGKILL)
        return advance(self, state)

    with ExitStack() as stack:
        shorten_rounds(stack)
        stack.enter_context(mock.patch.object(CheckpointFile, "is_due", return_value=True))
        stack.enter_context(mock.patch.object(_blocked_smo._Rounds, "advance", killed))
        with tenfold.checkpoint(Path(folder, "fit.ckpt"), every=0):
            fit(str(Path(folder, "X.npy")), make_rows()[1])


if __name__ == "__main__":
    main(sys.argv[1])
