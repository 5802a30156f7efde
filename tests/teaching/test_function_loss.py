"""Losses of one function: derivatives in closed form, boosting as with derivatives by hand."""

import numpy as np
import pytest

from tenfold import HistGradientBoostingRegressor
from tenfold.math.deviances import TweedieLoss
from tenfold.math.losses import HuberLoss, Loss, SquaredLoss
from tenfold.teaching.autodiff import FunctionLoss


def log_cosh(z, y):
    return np.log(np.cosh(z - y))


class LogCosh(Loss):
    def value(self, z, y):
        return np.log(np.cosh(z - y))

    def gradient(self, z, y):
        return np.tanh(z - y)

    def curvature(self, z, y):
        return 1 / np.cosh(z - y) ** 2


@pytest.mark.parametrize("loss", [SquaredLoss(), HuberLoss(0.7), TweedieLoss(1.5), LogCosh()])
def test_derivatives_are_those_by_hand(loss):
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=50), rng.gamma(2.0, size=50)
    found = FunctionLoss(log_cosh if isinstance(loss, LogCosh) else loss.value)
    np.testing.assert_allclose(found.value(z, y), loss.value(z, y), rtol=1e-12)
    np.testing.assert_allclose(found.gradient(z, y), loss.gradient(z, y), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.curvature(z, y), loss.curvature(z, y), rtol=1e-9, atol=1e-12)


def test_boosting_is_that_of_derivatives_by_hand():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] * X[:, 1] + rng.standard_t(2, size=300)
    options = {"max_iter": 10, "random_state": 0}
    own = HistGradientBoostingRegressor(FunctionLoss(log_cosh), **options).fit(X, y)
    by_hand = HistGradientBoostingRegressor(LogCosh(), **options).fit(X, y)
    np.testing.assert_allclose(own.predict(X), by_hand.predict(X), rtol=1e-9)


def test_a_loss_that_bends_down_is_lowered_too():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 2))
    y = X[:, 0] * X[:, 1] + rng.standard_cauchy(size=400)

    def cauchy(z, y):
        return np.log(1 + (z - y) ** 2)

    model = HistGradientBoostingRegressor(FunctionLoss(cauchy), max_iter=30, random_state=0)
    fitted = cauchy(model.fit(X, y).predict(X), y).mean()
    assert fitted < 0.9 * cauchy(np.median(y), y).mean()


def test_a_function_that_sums_over_rows_is_refused():
    loss = FunctionLoss(lambda z, y: ((z - y) ** 2).mean())
    with pytest.raises(ValueError, match="loss of each row"):
        HistGradientBoostingRegressor(loss).fit(np.zeros((30, 1)), np.arange(30.0))
