"""Weighted least squares, Newton steps and IRLS."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tenfold.math.losses import HingeLoss, LogisticLoss, PoissonLoss, ProbitLoss
from tenfold.optim import irls, irls_step, lbfgs, weighted_least_squares
from tests.optim.descent_problems import least_squares, log_loss, logistic_data


def test_weighted_least_squares_is_the_normal_equations():
    X, y = least_squares()
    w = np.random.default_rng(0).random(60)
    assert_allclose(weighted_least_squares(X, y, w), np.linalg.solve((X.T * w) @ X, (X.T * w) @ y))
    two = weighted_least_squares(X, np.column_stack([y, 2 * y]), w)
    assert_allclose(two[:, 1], 2 * two[:, 0])


def test_zero_weights_are_absent_rows_and_dependent_columns_give_the_shortest():
    X, y = least_squares()
    w = np.repeat([1.0, 0.0], 30)
    assert_allclose(weighted_least_squares(X, y, w), np.linalg.lstsq(X[:30], y[:30], rcond=None)[0])
    twice = weighted_least_squares(np.hstack([X, X]), y, np.ones(60))
    assert_allclose(twice[:4], twice[4:])
    with pytest.raises(ValueError, match="row 1"):
        weighted_least_squares(X[:2], y[:2], np.array([1.0, -1.0]))


@pytest.mark.parametrize(
    "loss", [LogisticLoss(), ProbitLoss(), PoissonLoss()], ids=lambda x: type(x).__name__
)
def test_a_newton_step_is_a_weighted_least_squares_solve(loss):  # 001 2-06
    X, y = logistic_data()
    y = np.abs(y + 1) if loss.labels == "counts" else y
    w = np.array([0.1, -0.2, 0.3])
    z = X @ w
    H = (X.T * loss.curvature(z, y)) @ X
    assert_allclose(irls_step(X, y, w, loss), w - np.linalg.solve(H, X.T @ loss.gradient(z, y)))


def test_irls_finds_what_descent_finds_and_doubles_its_digits():
    X, y = logistic_data()
    found = irls(X, y, LogisticLoss())
    assert_allclose(found.x, lbfgs(log_loss(X, y), np.zeros(3), tol=1e-9).x, atol=1e-7)
    points = [np.zeros(3)]
    for _ in range(5):
        points.append(irls_step(X, y, points[-1], LogisticLoss()))
    errors = [np.linalg.norm(p - points[-1]) for p in points]
    assert errors[2] < 1e-2
    assert errors[3] < 10 * errors[2] ** 2 + 1e-12
    assert found.report["n_iter_"] <= 8


def test_irls_with_a_dependent_column_and_no_curvature():
    X, y = logistic_data()
    both = irls(np.hstack([X, X[:, :1]]), y, LogisticLoss())
    assert_allclose(both.value, irls(X, y, LogisticLoss()).value)
    with pytest.raises(ValueError, match="no curvature"):
        irls_step(X, y, np.zeros(3), HingeLoss())
