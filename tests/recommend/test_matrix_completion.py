"""Worked numbers of lecture 7 of the third course: two users, three films."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tenfold import ALS
from tenfold.recommend import Ratings, alternating_steps, naive_completion

NAN = np.nan
Y = np.array([[5, NAN, 7], [1, 2, NAN]])
START = [2, 7, 8]


def test_the_first_half_step_of_the_notes():
    _, users, items = (
        step for step, _ in zip(alternating_steps(Y, START, 1.0), range(3), strict=False)
    )
    assert_allclose(users.U[:, 0], [22 / 23, 8 / 27], rtol=1e-14)  # printed as 66/69 and 16/54
    assert_allclose(users.cost, 64.064412, atol=1e-6)
    assert_allclose(items.V[:, 0], [1958634 / 772333, 432 / 793, 3542 / 1013], rtol=1e-12)
    assert_allclose(items.cost, 21.694083, atol=1e-6)


def test_the_limit_and_the_completed_matrix():
    *_, last = alternating_steps(Y, START, 1.0, max_iter=10_000, tol=1e-14)
    assert_allclose(last.U[:, 0], [2.782081, 0.797642], atol=1e-5)
    assert_allclose(last.V[:, 0], [1.568656, 0.974974, 2.228218], atol=1e-5)
    assert_allclose(last.cost, 9.677700, atol=1e-6)
    assert_allclose(last.completed, [[4.3641, 2.7125, 6.1991], [1.2512, 0.7777, 1.7773]], atol=1e-4)


def test_factors_of_another_length_are_refused():
    with pytest.raises(ValueError, match="a row of factors for each column"):
        next(alternating_steps(Y, [1, 2, 3, 4], 1.0))


def test_the_cost_never_rises_for_any_rank():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(8, 6))
    Z[rng.random(Z.shape) < 0.3] = NAN
    for rank in (1, 3):
        costs = [s.cost for s in alternating_steps(Z, rng.normal(size=(6, rank)), 0.5)][1:]
        assert (np.diff(costs) <= 1e-12).all()


def test_als_without_biases_ends_at_the_same_cost():
    *_, last = alternating_steps(Y, START, 1.0, tol=1e-13)
    model = ALS(
        1,
        regularization=1.0,
        count_power=0,
        biases=False,
        center=False,
        tol=1e-13,
        max_iter=5000,
        random_state=0,
    )
    model.fit(Ratings.from_matrix(Y))
    assert_allclose(model.objective_ / 2, last.cost, rtol=1e-8)  # the notes halve every term
    assert_allclose(model.user_factors_ @ model.item_factors_.T, last.completed, atol=1e-4)


@pytest.mark.parametrize("lam", [0.0, 0.5, 3.0])
def test_the_naive_solution_minimizes_its_cost_entry_by_entry(lam):
    X = naive_completion(Y, lam)
    known = ~np.isnan(Y)

    def cost(X):
        return 0.5 * np.nansum((Y - X) ** 2) + 0.5 * lam * (X**2).sum()

    assert_allclose(X[known], Y[known] / (1 + lam))
    assert not X[~known].any()
    for place in np.ndindex(Y.shape):
        for step in (-0.01, 0.01):
            moved = X.copy()
            moved[place] += step
            assert cost(moved) >= cost(X)


def test_penalties_that_have_no_solution_are_refused():
    with pytest.raises(ValueError, match="greater than 0"):
        next(alternating_steps(Y, START, 0.0))
    with pytest.raises(ValueError, match="at least 0"):
        naive_completion(Y, -1)
