"""Stochastic gradients: batches, streams, averages, early stopping, noise."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tenfold
from tenfold.engine import Chunk
from tenfold.optim import (
    DivergenceError,
    gradient_descent,
    minimize,
    objective_over_rows,
    online_sgd,
    optimizers,
    schedules,
    sgd,
)
from tenfold.teaching import gradient_noise
from tests.optim.descent_problems import least_squares, squares


@pytest.mark.parametrize("size", [60, 1000])
def test_a_batch_of_all_rows_is_gradient_descent_to_the_bit(size):  # 001 3-09, 004 3-10
    X, y = least_squares()
    rows = tenfold.open(X, y)
    by_batch = sgd(squares, np.zeros(4), rows, batch_size=size, learning_rate=0.1, max_iter=20)
    by_descent = gradient_descent(
        objective_over_rows(rows, squares, mean=True),
        np.zeros(4),
        learning_rate=0.1,
        max_iter=20,
        tol=None,
    )
    assert_array_equal(by_batch.x, by_descent.x)


@pytest.mark.parametrize("size", [1, 7, 30])
def test_an_epoch_sees_every_row_once(size):
    X = np.arange(60.0)[:, None]
    seen = []

    def spy(chunk, _):
        seen.append(chunk.X[:, 0].copy())
        return 0.0, np.zeros(1)

    sgd(spy, np.zeros(1), tenfold.open(X), batch_size=size, max_iter=1)
    seen = seen[1:-1]  # without the passes over all rows that judge the start and the result
    assert [len(batch) for batch in seen[:-1]] == [size] * (len(seen) - 1)
    assert_array_equal(np.sort(np.concatenate(seen)), X[:, 0])
    assert not np.array_equal(np.concatenate(seen), X[:, 0])


@pytest.mark.parametrize("rate", [0.9, 10.0])
def test_stochastic_divergence_raises_and_names_a_rate_that_works(rate):
    X, y = least_squares(300)
    rows = tenfold.open(10 * X, y)
    with pytest.raises(
        DivergenceError, match=r"diverged: the mean loss .* try the learning rate "
    ) as caught:
        sgd(squares, np.zeros(4), rows, learning_rate=rate, max_iter=5)
    found = sgd(squares, np.zeros(4), rows, learning_rate=caught.value.rate / 4, max_iter=50)
    start, end = (float(((10 * X @ at - y) ** 2).mean()) for at in (np.zeros(4), found.x))
    assert end < start


def test_a_loss_that_rises_again_is_not_convergence():
    X, y = least_squares(300)
    y = y + 3 * np.random.default_rng(1).normal(size=300)
    rows = tenfold.open(X, y)
    rate = lambda t: 0.02 if t <= 300 else 0.42  # noqa: E731
    with pytest.warns(RuntimeWarning, match="the mean loss at the result is"):
        found = sgd(squares, np.zeros(4), rows, learning_rate=rate, max_iter=30, patience=3)
    assert found.report["n_iter_"] < 30
    assert not found.report["converged_"]


def test_batches_of_weight_zero_are_no_steps():
    X, y = least_squares(60)
    w = np.tile([1.0, 0.0], 30)
    leaf = lambda chunk, theta: squares(chunk, theta) if chunk.weight else (0.0, np.zeros(4))  # noqa: E731
    rate = schedules.PowerDecay(1.0, 0.8, shift=10)
    some = sgd(leaf, np.zeros(4), tenfold.open(X, y, w), learning_rate=rate, max_iter=15)
    best = np.linalg.lstsq(X[::2], y[::2], rcond=None)[0]
    assert_allclose(some.x, best, atol=0.1)


@pytest.mark.parametrize("size", [1, 10])
def test_sgd_finds_least_squares(size):
    X, y = least_squares(300)
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    rows = tenfold.open(X, y)
    rate = schedules.PowerDecay(1.0, 0.8, shift=10)
    found = sgd(squares, np.zeros(4), rows, batch_size=size, learning_rate=rate, max_iter=15)
    assert_allclose(found.x, best, atol=0.02)


def test_the_seed_decides():
    X, y = least_squares()
    runs = [
        sgd(squares, np.zeros(4), tenfold.open(X, y), learning_rate=0.05, seed=seed, max_iter=3).x
        for seed in (0, 0, 1)
    ]
    assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


@pytest.mark.parametrize("size", [7, 10_000])
def test_rows_in_a_file_give_the_same_bits(size, tmp_path):
    X, y = least_squares(9000, 3)  # more than one chunk
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    here = tenfold.open(X, y)
    there = tenfold.open(tmp_path / "X.npy", tmp_path / "y.npy")
    runs = [
        sgd(squares, np.zeros(3), rows, batch_size=size, learning_rate=0.01, max_iter=2)
        for rows in (here, there)
    ]
    assert_array_equal(runs[0].x, runs[1].x)
    found = [minimize(squares, np.zeros(3), rows=rows, method="BFGS").x for rows in (here, there)]
    assert_array_equal(*found)


def test_sgd_can_be_checkpointed(tmp_path):
    X, y = least_squares()

    def run(stop):
        calls = itertools.count()

        def leaf(chunk, theta):
            if next(calls) == stop:
                raise KeyboardInterrupt
            return squares(chunk, theta)

        with tenfold.checkpoint(tmp_path / "kept", every=0):
            return sgd(
                leaf,
                np.zeros(4),
                tenfold.open(X, y),
                batch_size=10,
                optimizer=optimizers.Adam(),
                max_iter=8,
            )

    with pytest.raises(KeyboardInterrupt):
        run(stop=30)
    resumed, whole = (
        run(None),
        sgd(
            squares,
            np.zeros(4),
            tenfold.open(X, y),
            batch_size=10,
            optimizer=optimizers.Adam(),
            max_iter=8,
        ),
    )
    assert_array_equal(resumed.x, whole.x)


def test_the_mean_of_the_points_is_quieter_than_the_last():
    X, y = least_squares(400, seed=3)
    y = y + np.random.default_rng(5).normal(size=400)
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    how = dict(learning_rate=0.05, max_iter=4)
    far = {
        since: np.linalg.norm(
            sgd(squares, np.zeros(4), tenfold.open(X, y), average_from=since, **how).x - best
        )
        for since in (None, 200)
    }
    assert far[200] < far[None] / 3


def test_averaging_is_the_mean_of_the_points():
    points = []

    def spy(chunk, theta):
        points.append(theta.copy())
        return squares(chunk, theta)

    X, y = least_squares(10)
    stream = [Chunk(X[i : i + 1], y[i : i + 1]) for i in range(10)]
    found = online_sgd(spy, np.zeros(4), stream, learning_rate=0.1, average_from=4)
    last = online_sgd(squares, np.zeros(4), stream, learning_rate=0.1).x
    assert_allclose(found.x, np.mean([*points[4:], last], axis=0))


def test_a_stream_is_learned_as_it_comes():
    X, y = least_squares(200)

    def endless():
        while True:
            for i in range(200):
                yield Chunk(X[i : i + 1], y[i : i + 1])

    found = online_sgd(
        squares, np.zeros(4), endless(), learning_rate=schedules.PowerDecay(0.5, 0.7), max_iter=1000
    )
    assert found.report["n_iter_"] == 1000
    losses = found.report["history_"]["objective"]
    assert losses[-200:].mean() < 0.1 * losses[:50].mean()
    assert_allclose(found.x, np.linalg.lstsq(X, y, rcond=None)[0], atol=0.05)


def test_one_over_t_on_a_stream_is_the_running_mean():
    data = np.random.default_rng(0).normal(size=(50, 2))

    def distance(chunk, theta):
        return float(((theta - chunk.X) ** 2).sum()) / 2, (theta - chunk.X).sum(axis=0)

    found = online_sgd(
        distance,
        np.full(2, 9.0),
        (Chunk(x[None]) for x in data),
        learning_rate=schedules.PowerDecay(),
    )
    assert_allclose(found.x, data.mean(axis=0))


def test_early_stopping_returns_the_best_point_on_other_data():
    X, y = least_squares(20, 15, seed=2)
    other_X, other_y = least_squares(200, 15, seed=2)
    other_X, other_y = other_X[20:], other_y[20:] + np.random.default_rng(1).normal(size=180)
    losses = []

    def validate(theta):
        losses.append(float(((other_X @ theta - other_y) ** 2).mean()))
        return losses[-1]

    found = sgd(
        squares,
        np.zeros(15),
        tenfold.open(X, y),
        learning_rate=0.03,
        validate=validate,
        patience=3,
        tol=1e-4,
    )
    assert found.report["converged_"]
    assert found.value == min(losses)
    assert validate(found.x) == found.value
    assert len(losses) - 3 == found.report["n_iter_"] < 100  # start, result, and the line above


def test_rules_and_clipping_work_with_batches():
    X, y = least_squares(200)
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    found = sgd(
        squares,
        np.zeros(4),
        tenfold.open(X, y),
        batch_size=20,
        learning_rate=schedules.ExponentialDecay(0.05, 0.99),
        optimizer=optimizers.Adam(),
        clip=lambda g: optimizers.clip_value(g, 5.0),
        max_iter=50,
    )
    assert_allclose(found.x, best, atol=0.02)


def test_the_noise_of_batches_is_that_of_all_subsets():  # 001 3-09: exact, by brute force
    X, y = least_squares(7, 2)
    theta = np.array([0.3, -1.0])
    noise = gradient_noise(squares, theta, tenfold.open(X, y))
    assert_allclose(noise.gradient, squares(Chunk(X, y), theta)[1] / 7)
    for size in (1, 3, 7):
        slopes = np.array(
            [
                squares(Chunk(X[list(rows)], y[list(rows)]), theta)[1] / size
                for rows in itertools.combinations(range(7), size)
            ]
        )
        assert_allclose(slopes.mean(axis=0), noise.gradient)
        assert_allclose(np.cov(slopes.T, bias=True), noise.of_batch(size), atol=1e-12)


def test_noise_leaves_a_sharp_minimum_for_a_flat_one():  # 003 A041, shown
    """Two minima of equal depth: descent stays in the sharp one, single rows find the flat one."""
    pulls = np.where(np.arange(100) % 2, 4.5, -4.5)[:, None]  # mean zero

    def wells(chunk, theta):
        x = theta[0]
        sharp, flat = 40 * (x + 1) ** 2, 0.5 * (x - 1) ** 2
        slope = 80 * (x + 1) if sharp < flat else x - 1
        n = chunk.rows
        return n * min(sharp, flat) + chunk.X.sum() * x, np.array([n * slope + chunk.X.sum()])

    rows, start = tenfold.open(pulls), np.array([-0.95])
    exact = sgd(wells, start, rows, batch_size=100, learning_rate=0.02, max_iter=50, patience=99)
    noisy = [
        sgd(wells, start, rows, learning_rate=0.02, max_iter=10, seed=s, patience=99)
        for s in range(5)
    ]
    assert_allclose(exact.x, -1, atol=1e-6)
    assert all(run.x[0] > 0 for run in noisy)
