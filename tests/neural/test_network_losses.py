"""Losses of networks agree with the single-score losses that define them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tenfold.math.losses import HingeLoss, LogisticLoss, SoftmaxLoss, SquaredLoss
from tenfold.neural import losses

RNG = np.random.default_rng(0)
Z = 3 * RNG.normal(size=(40, 3))
SIGNS = RNG.choice([-1.0, 1.0], size=(40, 1))
WEIGHTS = RNG.uniform(size=40)


def weighted(values, gradient):
    """Sum over rows with weights, and the gradient with weights."""
    return WEIGHTS @ values, gradient * WEIGHTS[:, None]


@pytest.mark.parametrize(
    ("loss", "definition"),
    [
        (losses.BinaryCrossEntropy(), LogisticLoss()),
        (losses.MulticlassHinge(), HingeLoss()),
    ],
    ids=lambda loss: type(loss).__name__,
)
def test_losses_of_one_score_agree_with_their_definition(loss, definition):
    scores = Z[:, :1]
    values, gradient = definition.value_and_gradient(scores, SIGNS)
    value, got = loss.value_and_gradient(scores, (SIGNS[:, 0] > 0).astype(int), WEIGHTS)
    want, want_gradient = weighted(values[:, 0], gradient)
    assert_allclose(value, want, rtol=1e-12)
    assert_allclose(got, want_gradient, rtol=1e-12, atol=1e-15)


def test_squared_error_of_several_columns_is_the_sum_of_squared_losses():
    y = RNG.normal(size=Z.shape)
    values, gradient = SquaredLoss().value_and_gradient(Z, y)
    value, got = losses.HalfSquaredError().value_and_gradient(Z, y, WEIGHTS)
    want, want_gradient = weighted(values.sum(axis=1), gradient)
    assert_allclose(value, want, rtol=1e-12)
    assert_allclose(got, want_gradient, rtol=1e-12)


def test_cross_entropy_is_the_softmax_loss():
    y = RNG.integers(3, size=40)
    values, gradient = SoftmaxLoss().value_and_gradient(np.ascontiguousarray(Z.T), y)
    value, got = losses.CrossEntropy().value_and_gradient(Z, y, WEIGHTS)
    want, want_gradient = weighted(values, gradient.T)
    assert_allclose(value, want, rtol=1e-12)
    assert_allclose(got, want_gradient, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", sorted(losses.LOSSES))
def test_names_stand_for_losses(name):
    assert losses.as_loss(name) is losses.LOSSES[name]
