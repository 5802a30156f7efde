"""Hidden Markov models of sequences that go over many chunks, or lie in files larger than memory.

Run as a script, this file is a fit that gets killed.
"""

import os
import signal
import subprocess
import sys
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tenfold
from tenfold import CategoricalHMM, GaussianHMM
from tenfold.sequence import _hmm_base, _hmm_data
from tenfold.sequence._hmm_lanes import StepGrid
from tenfold.sequence._lanes import LaneLayout
from tenfold.testing.bitwise import assert_bitwise_equal

LENGTHS = [10, 0, 9000, 1, 2989, 0]
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def steps(K=3, d=2, T=12_000, *, ordered=False):
    """Steps whose states last for a while, and these states."""
    rng = np.random.default_rng(K)
    states = rng.integers(0, K, T // 10).repeat(10)
    states = np.sort(states) if ordered else states
    return (3 * rng.normal(size=(K, d)))[states] + rng.normal(size=(T, d)), states


def started(K, X, **params):
    """A model with parameters that need no initialization."""
    ordered = params.get("transitions") == "left-right"
    params = {"n_iter": 3, "tol": -np.inf, **params}
    model = GaussianHMM(K, random_state=0, init_params="", **params)
    allowed = np.triu(np.ones((K, K))) if ordered else np.ones((K, K)) + 9 * np.eye(K)
    model.transmat_ = allowed / allowed.sum(axis=1, keepdims=True)
    model.startprob_ = np.eye(K)[0] if ordered else np.full(K, 1 / K)
    model.means_, model.covars_ = X[np.arange(K) * len(X) // K], np.full((K, X.shape[1]), 4.0)
    return model


def everything(model, X, lengths):
    """What a model says of sequences."""
    found = {
        name: getattr(model, name) for name in ("startprob_", "transmat_", "means_", "covars_")
    }
    for name in ("log_prob", "predict_proba", "filter"):
        found[name] = getattr(model, name)(X, lengths)
    found["next"] = model.predict_next(X, 2, lengths)
    for algorithm in ("viterbi", "map"):
        found[algorithm], found[f"{algorithm} states"] = model.decode(X, lengths, algorithm)
    return found


@pytest.mark.parametrize(
    ("K", "params"),
    [(3, {}), (1, {}), (4, {"transitions": "left-right"}), (3, {"training": "viterbi"})],
    ids=["free", "one state", "left-right", "viterbi training"],
)
def test_pieces_say_what_whole_sequences_say(K, params, monkeypatch):
    X, states = steps(K, ordered="transitions" in params)
    lengths = [9000, 0, 3000] if "transitions" in params else LENGTHS
    X[200:230] = np.nan
    X[5000, 0] = np.nan
    labels = np.where(np.arange(len(X)) % 1000 < 2, states, -1) if not params else None
    weight = np.linspace(1, 2, len(lengths))
    answers = []
    for longest in (_hmm_data.LONG_STEPS, len(X)):
        monkeypatch.setattr(_hmm_data, "LONG_STEPS", longest)
        model = started(K, steps(K, ordered="transitions" in params)[0], **params)
        assert (model._open_data(X, lengths).grid is None) == (longest == len(X))
        model.fit(X, lengths, labels=labels, sample_weight=weight)
        answers.append(everything(model, X, lengths))
    for name, value in answers[1].items():
        assert_allclose(answers[0][name], value, rtol=1e-8, atol=1e-9, err_msg=name)


def test_pieces_that_never_forget():
    """States that never change: the product of a piece has K different rows."""
    X, _ = steps(2)
    model = started(2, X)
    model.transmat_ = np.eye(2)
    log_density = model._emission().log_densities(model._emission().prepare(X)).sum(axis=1)
    expected = np.logaddexp.reduce(log_density + np.log(0.5))
    assert model.score(X) == pytest.approx(expected)
    posterior = np.exp(log_density + np.log(0.5) - expected)
    assert_allclose(model.predict_proba(X), np.tile(posterior, (len(X), 1)), atol=1e-9)
    assert (model.predict(X) == np.argmax(log_density)).all()


def test_an_impossible_long_sequence_is_named():
    model = CategoricalHMM(2, init_params="")
    model.startprob_, model.transmat_ = np.array([1.0, 0]), np.array([[0.5, 0.5], [0, 1]])
    X = np.ones((9000, 1))
    X[7000] = 0
    possible, impossible = X.copy(), X.copy()
    possible[7000] = 1
    model.emissionprob_ = np.array([[0.0, 1.0], [0.0, 1.0]])
    scores = model.log_prob([possible, impossible])
    assert np.isfinite(scores[0])
    assert scores[1] == -np.inf
    with pytest.raises(ValueError, match="sequence 1 has probability zero"):
        model.fit([possible, impossible])


def test_infinity_is_refused_wherever_it_lies():
    X, _ = steps()
    model = started(3, X)
    X[10_000] = np.inf
    with pytest.raises(ValueError, match="sequence 1 contains infinity"):
        model.score(X, [8000, 4000])
    with pytest.raises(ValueError, match="contains infinity"):
        model.fit(X)


def fitted(X, lengths=None, model=None):
    model = GaussianHMM(3, random_state=0, n_iter=2) if model is None else model
    return model.fit(X, lengths)


def test_long_sequences_have_the_same_bits_everywhere(tmp_path, two_workers):
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, _ = steps(T=30_000)
    places = {"npy": str(tmp_path / "x.npy"), "parquet": str(tmp_path / "x.parquet")}
    np.save(places["npy"], X)
    np.save(tmp_path / "n.npy", np.array([len(X)]))
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), places["parquet"], row_group_size=7000)
    forms = {
        **places,
        "values and lengths": (places["npy"], str(tmp_path / "n.npy")),
        "map": np.load(places["npy"], mmap_mode="r"),
        "list": [X],
        "rows": tenfold.open(places["npy"]),
    }
    expected = fitted(X)
    probabilities, path = expected.predict_proba(X), expected.predict(X)
    for name, form in forms.items():
        found = fitted(form)
        assert_array_equal(found.transmat_, expected.transmat_, err_msg=name)
        assert_array_equal(found.predict_proba(form), probabilities, err_msg=name)
        assert_array_equal(found.predict(form), path, err_msg=name)
    for threads in (1, 2, 8):
        with tenfold.threads(threads):
            assert_bitwise_equal(fitted(X), expected, f"{threads} threads")
            assert_array_equal(expected.predict(X), path)
    with tenfold.on(two_workers):
        for place in places.values():
            found = fitted(place)
            assert_array_equal(found.transmat_, expected.transmat_)
            assert_array_equal(found.predict(place), path)
    into = tmp_path / "states.npy"
    assert_array_equal(expected.predict(places["parquet"], into=into), path)
    assert_array_equal(np.load(into), path)


def test_short_sequences_in_a_table_are_those_of_an_array(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, _ = steps(T=9000)
    lengths = [1000, 2500, 0, 3500, 2000]
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), file)
    expected = fitted(X, lengths)
    found = fitted(str(file), lengths)
    assert found.feature_names_in_.tolist() == ["a", "b"]
    for name in ("startprob_", "transmat_", "means_", "covars_"):
        assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    assert_array_equal(found.predict(str(file), lengths), expected.predict(X, lengths))
    with pytest.raises(ValueError, match="doesn't sum to 9000"):
        found.predict(str(file), [10])


def test_one_sequence_needs_little_memory(tmp_path):
    X, _ = steps(d=1, T=400_000)
    np.save(tmp_path / "x.npy", X)
    file, into = str(tmp_path / "x.npy"), tmp_path / "p.npy"
    with tenfold.threads(1):
        fitted(X[:9000])  # compiles
        tracemalloc.start()
        model = fitted(file)
        model.predict_proba(file, into=into)
        model.score(file)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 6e6  # the steps have 3.2 MB, their probabilities 9.6
    assert_allclose(np.load(into)[-5000:].sum(axis=1), 1.0)


def test_what_needs_a_whole_sequence_still_works():
    X, _ = steps(T=5000)
    model = started(3, X)
    model.fit(X)
    assert_allclose(model.smooth_fixed_lag(X, 0), model.filter(X), atol=1e-10)
    pairs = model.transition_posteriors(X)
    assert_allclose(pairs.sum(axis=2)[:-1], model.predict_proba(X)[:-1], atol=1e-9)
    scores, paths = model.best_paths(X, 2)
    assert_array_equal(paths[0], model.predict(X))
    assert scores[0] == pytest.approx(model.decode(X)[0])
    assert model.sample_paths(X, 2).shape == (2, 5000)


def test_lanes_hold_every_step_once():
    for layout, n in (
        (LaneLayout.of_sequences(np.array([0, 3, 3, 40, 41, 100])), 100),
        (LaneLayout.of_sequences(np.array([0, 5])), 5),
        (LaneLayout.of_pieces(100, np.array([0, 50])), 100),
        (LaneLayout.of_pieces(3, np.array([1])), 3),
    ):
        assert_array_equal(layout.order[layout.places], np.arange(n))
        assert_array_equal(np.flatnonzero(layout.codes != 2), np.sort(layout.places))
        assert layout.edges[0] == 0
        assert layout.edges[-1] == n
    assert StepGrid.of(np.array([0, 10]), None, 10).pieces == LaneLayout.of_pieces(10, []).n_lanes


def test_a_killed_fit_ends_with_the_same_model(tmp_path):
    path = tmp_path / "fit.ckpt"
    command = [sys.executable, __file__, str(path)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert path.exists()
    expected = fit_for_five_iterations(steps(T=9000)[0])
    with tenfold.checkpoint(path, every=0):
        resumed = fit_for_five_iterations(steps(T=9000)[0])
    assert_bitwise_equal(expected, resumed, "after kill -9")


def fit_for_five_iterations(X):
    return GaussianHMM(3, random_state=0, n_iter=5, tol=-np.inf).fit(X)


@pytest.mark.slow
def test_a_killed_worker_costs_no_bit(tmp_path):
    from distributed import Client, LocalCluster

    X, _ = steps(T=20_000)
    np.save(tmp_path / "x.npy", X)
    expected = fit_for_five_iterations(X)
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", local_directory=str(tmp_path)
    )
    with cluster, Client(cluster, set_as_default=False) as client, tenfold.on(client):
        workers = client.run(os.getpid)

        class Dying(GaussianHMM):
            def _count(self, data, model):
                if workers:
                    os.kill(workers.popitem()[1], signal.SIGKILL)
                    workers.clear()
                return super()._count(data, model)

        found = Dying(3, random_state=0, n_iter=5, tol=-np.inf).fit(str(tmp_path / "x.npy"))
    for name in ("startprob_", "transmat_", "means_", "covars_"):
        assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    count, calls = _hmm_base.BaseHMM._count, []

    def count_and_die(self, data, model):
        calls.append(1)
        if len(calls) == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return count(self, data, model)

    _hmm_base.BaseHMM._count = count_and_die
    with tenfold.checkpoint(Path(sys.argv[1]), every=0):
        fit_for_five_iterations(steps(T=9000)[0])
