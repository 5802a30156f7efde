"""Losses and penalties: derivatives, bounds, prox; and the blocks in which rows come one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import optimize, stats

import tenfold
from tenfold.engine import Rows
from tenfold.engine.arrays import ArraySource
from tenfold.math.losses import (
    LOSSES,
    AbsoluteLoss,
    HingeLoss,
    HuberLoss,
    LogisticLoss,
    PerceptronLoss,
    PinballLoss,
    PoissonLoss,
    ProbitLoss,
    SoftmaxLoss,
    SquaredHingeLoss,
    SquaredLoss,
    ZeroOneLoss,
)
from tenfold.math.penalties import BridgePenalty, ElasticNetPenalty, L1Penalty, L2Penalty, NoPenalty

CALM = settings(deadline=None, max_examples=60)
ONE_SCORE = [
    SquaredLoss(),
    AbsoluteLoss(),
    HuberLoss(0.7),
    PinballLoss(0.3),
    PoissonLoss(),
    LogisticLoss(),
    LogisticLoss(2),
]
ONE_SCORE += [ProbitLoss(), HingeLoss(), SquaredHingeLoss(), PerceptronLoss()]


def rows_for(loss, n=60):
    rng = np.random.default_rng(3)
    y = {
        "numbers": rng.normal(size=n),
        "signs": rng.choice([-1.0, 1.0], n),
        "counts": rng.poisson(2.0, n).astype(float),
    }[loss.labels]
    return 2 * rng.normal(size=n), y


@pytest.mark.parametrize("loss", ONE_SCORE, ids=repr)
def test_slope_and_curvature_are_derivatives(loss):
    z, y = rows_for(loss)
    e = 1e-5
    assert_allclose(
        loss.gradient(z, y), (loss.value(z + e, y) - loss.value(z - e, y)) / (2 * e), atol=1e-8
    )
    bend = (loss.gradient(z + e, y) - loss.gradient(z - e, y)) / (2 * e)
    assert_allclose(loss.curvature(z, y), bend, atol=1e-7)
    assert (loss.curvature(z, y) <= loss.max_curvature + 1e-12).all()
    value, slope = loss.value_and_gradient(z, y)
    assert_allclose(value, loss.value(z, y))
    assert_allclose(slope, loss.gradient(z, y))
    assert_allclose(loss.total(z, y, np.full(len(z), 2.0)), 2 * loss.value(z, y).sum())


@pytest.mark.parametrize("loss", ONE_SCORE, ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_losses_keep_their_number_type(loss, dtype):
    z, y = (a.astype(dtype) for a in rows_for(loss))
    assert {a.dtype for a in (*loss.value_and_gradient(z, y), loss.curvature(z, y))} == {
        np.dtype(dtype)
    }


@pytest.mark.parametrize("loss", ONE_SCORE, ids=repr)
def test_losses_are_convex(loss):  # every chord lies above [002, 1.3]
    z, y = rows_for(loss)
    other = z[::-1]
    for t in (0.1, 0.5, 0.8):
        chord = t * loss.value(z, y) + (1 - t) * loss.value(other, y)
        assert (loss.value(t * z + (1 - t) * other, y) <= chord + 1e-12).all()


def test_which_losses_bound_the_errors_from_above():  # [000, 1.2; 002, ch. 6]
    z = np.linspace(-4, 4, 801)
    errors = ZeroOneLoss().value(z, np.ones_like(z))
    for name, kind in LOSSES.items():
        loss = kind()
        if loss.labels == "signs":
            above = bool((loss.value(z, np.ones_like(z)) >= errors).all())
            assert above == loss.bounds_errors, name
    assert LogisticLoss(base=2).bounds_errors
    assert (LogisticLoss(base=2).value(z, np.ones_like(z)) >= errors).all()
    assert not LogisticLoss().bounds_errors


def test_the_perceptron_criterion_counts_the_boundary_as_wrong():
    loss = PerceptronLoss()
    assert loss.value(np.zeros(1), np.ones(1)) == 0
    assert loss.gradient(np.zeros(1), np.ones(1)) == -1
    assert ZeroOneLoss().value(np.zeros(1), np.ones(1)) == 1


def test_nobody_learns_from_the_zero_one_loss():
    with pytest.raises(TypeError, match="HingeLoss, LogisticLoss"):
        ZeroOneLoss().gradient(np.zeros(1), np.ones(1))


def test_the_best_constants():  # squared: mean, absolute: median, quantile: quantile
    y = np.random.default_rng(0).gamma(2.0, size=501)
    for loss, want in [
        (SquaredLoss(), y.mean()),
        (AbsoluteLoss(), np.median(y)),
        (PinballLoss(0.8), np.quantile(y, 0.8)),
    ]:
        best = optimize.minimize_scalar(lambda z, f=loss: f.total(np.full_like(y, z), y))
        assert_allclose(best.x, want, atol=2e-3)


def test_huber_lies_between_squared_and_absolute():
    z, y = rows_for(SquaredLoss())
    assert_allclose(HuberLoss(1e9).value(z, y), SquaredLoss().value(z, y))
    small = 1e-9
    assert_allclose(HuberLoss(small).value(z, y) / small, AbsoluteLoss().value(z, y), atol=1e-8)


def test_quantile_at_half_is_half_the_absolute_loss():
    z, y = rows_for(SquaredLoss())
    assert_allclose(PinballLoss(0.5).value(z, y), AbsoluteLoss().value(z, y) / 2)


def test_poisson_is_the_negative_log_likelihood():
    z, y = rows_for(PoissonLoss())
    want = -stats.poisson.logpmf(y, np.exp(z)) - np.array(
        [np.log(np.arange(1, k + 1)).sum() for k in y]
    )
    assert_allclose(PoissonLoss().value(z, y), want, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probit_is_exact_far_into_both_tails(dtype):
    z = np.array([-1000.0, -40.0, 0.0, 40.0, 1000.0], dtype)
    y = np.ones(5, dtype)
    value, slope = ProbitLoss().value_and_gradient(z, y)
    assert_allclose(value, -stats.norm.logcdf(z.astype(float)), rtol=1e-6)
    # phi/Phi tends to -m on the wrong side and to 0 on the right one
    assert_allclose(
        -slope, [1000.001, 40.02496884720728, 0.7978845608, 0, 0], rtol=1e-5, atol=1e-30
    )
    assert_allclose(ProbitLoss().curvature(z, y), [1, 0.9993765, 2 / np.pi, 0, 0], atol=2e-3)


def test_softmax_curvature_is_the_hessian():
    rng = np.random.default_rng(1)
    Z, y = rng.normal(size=(4, 7)), rng.integers(0, 4, 7)
    H = SoftmaxLoss().curvature(Z, y)
    for c in range(4):
        step = 1e-6 * (np.arange(4) == c)[:, None]
        rise = (SoftmaxLoss().gradient(Z + step, y) - SoftmaxLoss().gradient(Z - step, y)) / 2e-6
        assert_allclose(H[:, c], rise, atol=1e-8)
    assert_allclose(H.sum(axis=0), 0, atol=1e-12)  # shifts change nothing
    assert SoftmaxLoss().max_curvature >= np.linalg.eigvalsh(H.transpose(2, 0, 1)).max()


# -------------------------------------------------------------------------------------- penalties

PENALTIES = [NoPenalty(), L2Penalty(0.7), L1Penalty(0.7), ElasticNetPenalty(0.7, 0.3)]
PENALTIES += [BridgePenalty(0.7, h) for h in (0.5, 0.8, 1, 1.3, 1.5, 2, 3)]


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_the_slope_of_a_penalty(penalty):
    w = np.array([-2.0, -0.3, 0.4, 1.7])
    for j in range(4):
        e = 1e-6 * (np.arange(4) == j)
        assert_allclose(
            penalty.gradient(w)[j], (penalty.value(w + e) - penalty.value(w - e)) / 2e-6, atol=1e-8
        )
    assert penalty.gradient(np.zeros(2)).tolist() == [0, 0]


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@CALM
@given(v=st.floats(-5, 5), step=st.floats(0.01, 3))
def test_nothing_is_better_than_the_prox(penalty, v, step):
    best = penalty.prox(np.array([v]), step)[0]
    cost = lambda u: (u - v) ** 2 / (2 * step) + penalty.value(np.array([u]))  # noqa: E731
    others = np.append(np.linspace(-6, 6, 2001), 0.0)
    values = [(u - v) ** 2 / (2 * step) + penalty.value(np.array([u])) for u in others]
    assert cost(best) <= min(values) + 1e-9


def test_the_prox_of_l1_makes_exact_zeros_and_that_of_l2_does_not():
    v = np.array([0.2, -0.1, 3.0])
    assert (L1Penalty(0.5).prox(v, 1.0) == 0).tolist() == [True, True, False]
    assert (L2Penalty(0.5).prox(v, 1.0) != 0).all()
    assert (BridgePenalty(0.5, 0.5).prox(v, 1.0) == 0).tolist() == [True, True, False]


def test_the_elastic_net_lies_between():
    w = np.array([1.0, -2.0])
    assert_allclose(ElasticNetPenalty(0.4, 1.0).value(w), L1Penalty(0.4).value(w))
    assert_allclose(ElasticNetPenalty(0.4, 0.0).value(w), L2Penalty(0.4).value(w))
    assert_allclose(BridgePenalty(0.4, 2).value(w), L2Penalty(0.8).value(w))
    assert_allclose(BridgePenalty(0.4, 1).value(w), L1Penalty(0.4).value(w))


# ----------------------------------------------------------------------------------------- blocks


@pytest.mark.parametrize("seed", [None, 0, 1])
@pytest.mark.parametrize("n", [1, 255, 256, 40_001])
def test_blocks_visit_every_row_once_wherever_it_lies(n, seed, tmp_path):
    X = np.random.default_rng(0).normal(size=(n, 3))
    np.save(tmp_path / "x.npy", X)
    here = list(Rows(ArraySource(X)).blocks(seed))
    there = list(tenfold.open(tmp_path / "x.npy").blocks(seed))
    assert max(len(block.X) for block in there) <= 2**14  # a file is not read at once
    assert here[0].X is X  # and memory is not copied
    numbers = np.concatenate([block.numbers for block in here])
    assert np.array_equal(np.sort(numbers), np.arange(n))
    assert np.array_equal(numbers, np.arange(n)) == (seed is None or n == 1)
    for a, b in zip(here, there, strict=True):
        assert np.array_equal(a.numbers, b.numbers)
        assert np.array_equal(a.X[a.order], b.X[b.order])
        assert np.array_equal(a.X[a.order], X[a.numbers])


def test_blocks_are_checked_and_mixed():
    X = np.arange(40_000.0).reshape(-1, 2)
    first = next(iter(Rows(ArraySource(X)).blocks(0))).numbers
    assert len(np.unique(first // 1024)) > 15  # rows from everywhere
    X[7, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN: row 7, column 1"):
        list(Rows(ArraySource(X)).blocks(0))
