"""Compiled sums of losses agree with the losses themselves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import log_ndtr

from tenfold._compiled.likelihoods import neg_log_normal_cdf
from tenfold.engine import Chunk
from tenfold.linear._loss_gradients import loss_gradient, loss_gradients_at_points
from tenfold.math.losses import LogisticLoss, PoissonLoss, ProbitLoss


def chunk(dtype=np.float64, weighted=False, n=700, p=7, scale=1.0):
    rng = np.random.default_rng(0)
    X = (scale * rng.normal(size=(n, p))).astype(dtype)
    w = rng.choice([0.0, 1.0, 2.5], n) if weighted else None
    return Chunk(X, rng.integers(0, 2, n), w)


@pytest.mark.parametrize("loss", [LogisticLoss(), ProbitLoss()], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [1.0, 30.0])
@pytest.mark.parametrize("cost", [None, np.array([1.0, 3.0])], ids=["even", "costly"])
def test_one_loop_sums_what_the_loss_says(loss, dtype, weighted, scale, cost):
    rows = chunk(dtype, weighted, scale=scale)
    W, b = np.linspace(-1, 1, 7)[None].astype(dtype), np.array([0.3], dtype)
    got = loss_gradient(rows, loss, W, b, cost)
    w = rows.weights() * (1 if cost is None else cost[rows.y])
    z = rows.X.astype(np.float64) @ W[0].astype(np.float64) + float(b[0])
    each, R = loss.value_and_gradient(z, 2.0 * rows.y - 1)
    tight = 1e-10 if dtype == np.float64 else 2e-4
    assert got.loss == pytest.approx(w @ each, rel=tight)
    size = np.abs(w * R) @ np.abs(rows.X)
    assert_allclose(got.w[0], (w * R) @ rows.X, atol=tight * size.max())
    assert got.b[0] == pytest.approx((w * R).sum(), abs=tight * np.abs(w * R).sum())


@given(st.floats(-1e4, 40))
def test_normal_tails_are_exact(m):
    value, slope = neg_log_normal_cdf(m)
    ratio = -slope
    assert -value == pytest.approx(log_ndtr(m), rel=1e-12, abs=1e-300)
    far = np.exp(-0.5 * m * m - 0.5 * np.log(2 * np.pi) - log_ndtr(m)) if m > -30 else -m - 1 / m
    assert ratio == pytest.approx(far, rel=1e-10 if m > -30 else 1e-5, abs=1e-300)


@pytest.mark.parametrize(
    "loss", [LogisticLoss(), ProbitLoss(), PoissonLoss(), LogisticLoss(base=2)], ids=str
)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_places_at_once_are_each_place_alone(loss, masked, weighted):
    rows = chunk(weighted=weighted)
    rng = np.random.default_rng(1)
    states = [(loss, rng.normal(size=(1, 7)) / 3, rng.normal(size=1), None) for _ in range(5)]
    masks = rng.random((5, rows.rows)) < 0.7 if masked else None
    for i, got in enumerate(loss_gradients_at_points(rows, masks, states)):
        keep = np.ones(rows.rows, bool) if masks is None else masks[i]
        part = Chunk(rows.X[keep], rows.y[keep], None if rows.w is None else rows.w[keep])
        wanted = loss_gradient(part, *states[i])
        assert got.loss == pytest.approx(wanted.loss, rel=1e-12)
        assert_allclose(got.w, wanted.w, rtol=1e-9, atol=1e-10)
        assert_allclose(got.b, wanted.b, rtol=1e-9, atol=1e-10)


def test_places_that_differ_in_kind_are_not_taken_together():
    rows = chunk()
    one = (np.zeros((1, 7)), np.zeros(1), None)
    assert (
        loss_gradients_at_points(rows, None, [(LogisticLoss(), *one), (ProbitLoss(), *one)]) is None
    )
