"""The compiled softmax agrees with the loss itself, whatever the shapes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tenfold import LogisticRegression
from tenfold.engine import Chunk
from tenfold.linear import _objective
from tenfold.linear._loss_gradients import softmax_loss_gradient
from tenfold.linear._softmax_numba import BLOCK_ROWS, fast_exp
from tenfold.math.losses import SoftmaxLoss


def problem(n, d, m, dtype=np.float64, *, weighted=False, scale=1.0):
    rng = np.random.default_rng(n + 10 * d + 100 * m)
    X = (scale * rng.normal(size=(n, d))).astype(dtype)
    w = rng.choice([0.0, 1.0, 2.5], n) if weighted else None
    W, b = rng.normal(size=(m, d)).astype(dtype), rng.normal(size=m).astype(dtype)
    return Chunk(X, rng.integers(0, m, n), w), W, b


def assert_as_the_loss_says(rows, W, b, cost, tight):
    got = softmax_loss_gradient(rows, W, b, cost)
    X, w = rows.X.astype(np.float64), rows.weights() * (1 if cost is None else cost[rows.y])
    each, R = SoftmaxLoss().value_and_gradient(
        W.astype(np.float64) @ X.T + b[:, None].astype(np.float64), rows.y
    )
    assert got.loss == pytest.approx(w @ each, rel=tight, abs=tight)
    size = (np.abs(w * R) @ np.abs(X)).max()
    assert_allclose(got.w, (w * R) @ X, atol=tight * size)
    assert_allclose(got.b, (w * R).sum(axis=1), atol=tight * np.abs(w * R).sum())


@given(st.integers(1, 2 * BLOCK_ROWS + 5), st.integers(1, 40), st.integers(3, 9), st.booleans())
def test_any_number_of_rows_columns_and_classes(n, d, m, weighted):
    assert_as_the_loss_says(*problem(n, d, m, weighted=weighted), None, 1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1.0, 30.0])
@pytest.mark.parametrize("cost", [None, np.array([1.0, 3.0, 0.5])], ids=["even", "costly"])
def test_precisions_and_costs(dtype, scale, cost):
    tight = 1e-10 if dtype == np.float64 else 2e-4
    assert_as_the_loss_says(*problem(700, 7, 3, dtype, scale=scale), cost, tight)


def test_rows_that_cannot_be_written_are_read():
    rows, W, b = problem(50, 4, 3)
    rows.X.flags.writeable = False
    assert_as_the_loss_says(rows, W, b, None, 1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_fits_by_blas_mean_the_same(monkeypatch, weighted):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9000, 3)), rng.integers(0, 5, 9000)
    X[:, 0] += y
    w = rng.choice([0.0, 1.0, 2.0], len(y)) if weighted else None
    fit = LogisticRegression(tol=1e-9, class_weight={0: 2.0}).fit
    ours, history = fit(X, y, w).coef_, fit(X, y, w).history_["objective"]
    assert (np.diff(history) <= 1e-12).all()
    monkeypatch.setattr(_objective, "SOFTMAX_LOOP_MAX_CLASSES", 4)
    assert_allclose(ours, fit(X, y, w).coef_, atol=1e-6)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("m", [3, 4])
def test_a_step_too_long_has_no_finite_loss(sign, m):
    """One that overflows must not look like a good one, whichever class it is that overflows."""
    rows, W, b = problem(40, 3, m, np.float32)
    for c in range(m):
        long = W.copy()
        long[c] = sign * np.array([3e38, -3e38, 3e38], np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = 1e3 * rows.X @ long.T
        far = Chunk(1e3 * rows.X, rows.y)
        assert not np.isfinite(scores).all()
        assert not np.isfinite(softmax_loss_gradient(far, long, b, None).loss)


@given(st.floats(-700, 0))
def test_exponentials_are_exact(x):
    assert fast_exp(x) == pytest.approx(np.exp(x), rel=4e-16)


def test_exponentials_at_the_ends():
    assert fast_exp(0.0) == 1.0
    assert 0 <= fast_exp(-800.0) < 1e-307
    assert 0 <= fast_exp(-np.inf) < 1e-307
    assert np.isnan(fast_exp(np.nan))


def test_constants_alone_learn_the_shares():
    y = np.tile(np.repeat([0, 1, 2], [5, 3, 2]), 1000)
    model = LogisticRegression(solver="lbfgs", tol=1e-9).fit(np.zeros((10_000, 2)), y)
    assert_allclose(model.predict_proba(np.zeros((1, 2)))[0], [0.5, 0.3, 0.2], atol=1e-7)
