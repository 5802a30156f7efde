"""Three scales, one model: memory, files larger than it, a cluster; and what may go wrong there."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils._param_validation import InvalidParameterError

import tenfold
from tenfold import testing
from tenfold.testing.instances import limit_chunks
from tenfold.testing.storage import STORAGES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings(
        "ignore:Sending large graph",
        "default:::distributed",
        "ignore::sklearn.exceptions.ConvergenceWarning",
    ),
]
GENERATIVE = ("naive_bayes", "discriminant", "mixture")  # families that take missing values
FEW = 4  # rounds of a fit on a cluster: bits that differ do so from the first one on


def in_few_rounds(model):
    """The model with at most a few rounds, where that is a parameter."""
    rounds = model.get_params(deep=False).get("max_iter")
    few = clone(model).set_params(max_iter=min(rounds, FEW)) if isinstance(rounds, int) else model
    with suppress(InvalidParameterError):  # t-SNE takes 250 at least, as in scikit-learn
        few._validate_params()
        return few
    return model


@contextmanager
def several_chunks(model, client):
    """Smaller chunks for laws of few rows, in this process and in those of the workers."""
    rows = type(model)._law_rows
    if rows is not None:
        client.run(limit_chunks, rows // 3)
    try:
        with testing.several_chunks(model):
            yield
    finally:
        if rows is not None:
            client.run(limit_chunks, None)


MODELS = [in_few_rounds(model) for model in testing.all_models()]
NAMES = [type(model).__name__ for model in MODELS]


@pytest.mark.parametrize("number", range(len(MODELS)), ids=NAMES)
def test_the_same_bits_on_two_worker_processes(number, two_workers):
    """Dask collections for every model; files and arrays of this process in turns."""
    model, other = MODELS[number], ("in_npy", "in_parquet", None)[number % 3]
    with several_chunks(model, two_workers):
        with tenfold.on(two_workers):
            only = ("in_dask",) if other is None else ("in_dask", other)
            testing.check_storage_invariance(model, only=only, dtypes=(np.float32,))
        if other is None:
            check_arrays_of_this_process(model, two_workers)


MISSING = [m for m in MODELS if type(m).__module__.split(".")[1] in GENERATIVE]


@pytest.mark.parametrize("model", MISSING, ids=lambda model: type(model).__name__)
def test_missing_values_on_two_worker_processes(model, two_workers):
    X, y = testing.make_dataset(model, rows=3000)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    here = clone(model).fit(X, y)
    with tenfold.on(two_workers):
        there = clone(model).fit(*STORAGES["in_dask"](X, y, Path()))
    testing.assert_bitwise_equal(here, there, "on the cluster")


def check_arrays_of_this_process(model, two_workers):
    X, y = testing.make_dataset(model, np.float32)
    here = clone(model).fit(X, y)
    with tenfold.on(two_workers):
        there = clone(model).fit(X, y)
        outputs = testing.model_outputs(there, X)
    testing.assert_bitwise_equal(here, there, "on the cluster")
    assert all(
        testing.is_bitwise_equal(value, outputs[name])
        for name, value in testing.model_outputs(here, X).items()
    )


def test_killing_a_worker_during_kmeans_costs_no_bits(tmp_path):
    from distributed import Client, LocalCluster

    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 16)).astype(np.float32)
    model = tenfold.KMeans(n_clusters=20, max_iter=40, tol=0, random_state=0)
    with pytest.warns(Warning, match="did not converge"):
        alone = clone(model).fit(X)
    killed = []
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            local_directory=str(tmp_path),
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
        tenfold.on(client),
    ):
        data = STORAGES["in_dask"](X, None, tmp_path)[0]
        rows = tenfold.open(data)

        def kill():
            while rows.passes < 5:
                time.sleep(0.01)
            os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)
            killed.append(rows.passes)

        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.warns(Warning, match="did not converge"):
            together = clone(model).fit(rows)
        killer.join()
    assert 5 <= killed[0] < rows.passes, "the fit was over before a worker was killed"
    testing.assert_bitwise_equal(alone, together, "after a worker was killed")


PROGRAM = """
import sys, warnings, numpy as np, tenfold
from tenfold.engine.task import FoldTask as Task

warnings.simplefilter("ignore")
folder, model = sys.argv[1:]
honest = Task.result

def slow(task, chunk):
    import time
    if getattr(task.f, "__name__", "") == "digest_chunk":  # the rows are compared first
        return honest(task, chunk)
    time.sleep(0.002)
    print("chunk", flush=True)
    return honest(task, chunk)

Task.result = slow
model = eval("tenfold." + model)
with tenfold.checkpoint(folder + "/fit.ckpt", every=0.01):
    model.fit(folder + "/X.npy", np.load(folder + "/y.npy"))
model.save(folder + "/model.tenfold")
"""


def run_until_killed(folder: Path, model, chunks: int) -> bool:
    """Start the program and kill it after so many chunks; whether it came to its end."""
    command = [sys.executable, "-c", PROGRAM, str(folder), repr(model)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for _ in range(chunks):
            if not process.stdout.readline():
                break
        else:
            process.send_signal(signal.SIGKILL)
        process.stdout.read()
    assert process.returncode in (0, -signal.SIGKILL)
    return process.returncode == 0


IN_ONE_PASS = {"Ridge", "PCA", "GaussianNB"}
STOPPED = [
    tenfold.KMeans(n_clusters=5, max_iter=15, random_state=0),
    tenfold.LogisticRegression(solver="lbfgs", tol=1e-9),
    tenfold.Ridge(),
    tenfold.PCA(),
    tenfold.GaussianNB(),
]


@pytest.mark.parametrize("model", STOPPED, ids=lambda model: type(model).__name__)
def test_a_killed_process_resumes_to_the_same_bits(tmp_path, model):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150_000, 4))
    y = np.digitize(X[:, 0] + X[:, 1] + rng.normal(size=len(X)), [-1, 1])
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    whole = clone(model).fit(X, y)
    assert not run_until_killed(tmp_path, model, 12)
    assert (tmp_path / "fit.ckpt").exists()
    if type(model).__name__ not in IN_ONE_PASS:  # 19 chunks: the rest of one pass ends first
        assert not run_until_killed(tmp_path, model, 60)
    assert run_until_killed(tmp_path, model, 10**6)
    resumed = tenfold.load(tmp_path / "model.tenfold")
    testing.assert_bitwise_equal(whole, resumed, "after the kills")
    assert not (tmp_path / "fit.ckpt").exists()


def test_a_file_with_more_columns_is_predicted_from_those_of_the_fit(tmp_path):
    import pandas as pd

    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.normal(size=(500, 3)), columns=["a", "b", "c"])
    table["target"] = table.a - table.b
    table.to_parquet(tmp_path / "old.parquet")
    table["note"] = "words"
    new = table[["note", "c", "target", "b", "a"]]
    new.to_csv(tmp_path / "new.csv", index=False)
    new.drop(columns="b").to_parquet(tmp_path / "short.parquet")
    model = tenfold.LinearRegression().fit(tmp_path / "old.parquet", "target")
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_allclose(model.predict(tmp_path / "new.csv"), table.target, atol=1e-12)
    np.testing.assert_array_equal(
        model.predict(table[["a", "b", "c"]]).round(9), table.target.round(9)
    )
    with pytest.raises(ValueError, match=r"'b'.*short.parquet|short.parquet.*'b'"):
        model.predict(tmp_path / "short.parquet")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_target_and_weight_of_a_table_may_be_names(library):
    frame = pytest.importorskip(library).DataFrame(
        {"a": [0.0, 1.0, 2.0, 9.0], "price": [1.0, 3.0, 5.0, 0.0], "times": [1.0, 2.0, 1.0, 0.0]}
    )
    model = tenfold.LinearRegression().fit(frame, "price", sample_weight="times")
    assert list(model.feature_names_in_) == ["a"]
    np.testing.assert_allclose(model.coef_, [2.0])
