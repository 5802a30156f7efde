"""Implicit feedback: the cost over all pairs, by brute force."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tenfold import ImplicitALS
from tenfold.recommend import Ratings


def plays(seed=0, n=30, m=20):
    rng = np.random.default_rng(seed)
    R = rng.poisson(0.6, (n, m)).astype(float)
    R[rng.random(R.shape) < 0.05] *= -1  # what is not wanted
    return R


def cost_of(model, R, lam, alpha, alpha0, nu):
    """The sum over all pairs."""
    s = model.user_factors_ @ model.item_factors_.T
    confidence, liked = alpha0 + alpha * np.abs(R), (R > 0).astype(float)
    cost = (confidence * (liked - s) ** 2).sum()
    for axis, factors in ((1, model.user_factors_), (0, model.item_factors_)):
        n = (R != 0).sum(axis=axis) + alpha0 * R.shape[axis]
        cost += lam * (n**nu) @ (factors**2).sum(axis=1)
    return cost


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
@pytest.mark.parametrize(("alpha0", "nu"), [(1.0, 0.0), (0.3, 1.0)])
def test_the_cost_is_the_sum_over_all_pairs_and_never_rises(alpha0, nu, solver):
    R = plays()
    model = ImplicitALS(
        4,
        regularization=0.1,
        confidence=2.0,
        unobserved_weight=alpha0,
        count_power=nu,
        solver=solver,
        random_state=0,
    )
    model.fit(Ratings.from_matrix(np.where(R == 0, np.nan, R)))
    assert (np.diff(model.history_["objective"]) <= 1e-9).all()
    assert_allclose(model.objective_, cost_of(model, R, 0.1, 2.0, alpha0, nu), rtol=1e-10)


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_users_solve_their_normal_equations(solver):
    R = plays(1)
    model = ImplicitALS(3, regularization=0.1, solver=solver, random_state=0)
    model.fit(Ratings.from_matrix(np.where(R == 0, np.nan, R)))
    for u in range(5):
        C = np.diag(1 + np.abs(R[u]))
        A = model.item_factors_.T @ C @ model.item_factors_ + 0.1 * np.eye(3)
        b = model.item_factors_.T @ C @ (R[u] > 0)
        assert_allclose(model.user_factors_[u], np.linalg.solve(A, b), rtol=1e-8)


def test_equal_pairs_add_up():
    model = ImplicitALS(2, random_state=0)
    X = [["a", "x"], ["a", "x"], ["b", "x"], ["b", "y"]]
    twice = model.fit(X).item_factors_
    once = model.fit([["a", "x"], ["b", "x"], ["b", "y"]], [2, 1, 1]).item_factors_
    assert_array_equal(twice, once)


def test_a_weight_of_two_is_the_count_twice():
    rng = np.random.default_rng(0)
    X = np.unique(rng.integers(0, 20, (200, 2)), axis=0)
    counts, weights = rng.integers(1, 5, len(X)), rng.integers(0, 4, len(X))
    weighted = ImplicitALS(2, random_state=0).fit(X, counts, weights).item_factors_
    repeated = ImplicitALS(2, random_state=0).fit(
        np.repeat(X, weights, axis=0), np.repeat(counts, weights)
    )
    assert_array_equal(weighted, repeated.item_factors_)


def test_reasons_add_up_to_the_score_and_new_users_to_old_ones():
    R = np.abs(plays(2))
    model = ImplicitALS(4, random_state=0).fit(Ratings.from_matrix(np.where(R == 0, np.nan, R)))
    best = model.recommend(3, 2)
    found = model.explain(3, best.items[0])
    total = found.base + found.rest + sum(r.contribution for r in found.reasons)
    assert_allclose(total, best.scores[0], rtol=1e-8)
    seen = {i: R[3, i] for i in np.flatnonzero(R[3])}
    assert_array_equal(model.recommend(ratings=seen, n=2).items, best.items)


def test_what_is_not_wanted_gets_a_low_score():
    R = np.zeros((12, 6))
    R[:6, :3], R[6:, 3:] = 1, 1
    R[0, 5] = -20
    model = ImplicitALS(3, random_state=0).fit(Ratings.from_matrix(np.where(R == 0, np.nan, R)))
    s = model.user_factors_ @ model.item_factors_.T
    assert s[0, 5] < min(s[0, 3], s[0, 4]) + 1e-9


@pytest.mark.filterwarnings("ignore:.*did not converge")
def test_a_few_steps_come_close_to_exact_half_steps_and_many_steps_are_exact():
    ratings = Ratings.from_matrix(np.where(plays(3) == 0, np.nan, plays(3)))

    def fit(**options):
        return ImplicitALS(5, max_iter=8, tol=1e-9, random_state=0, **options).fit(ratings)

    exact = fit(solver="cholesky")
    few, many = fit(solver="cg"), fit(solver="cg", cg_steps=30)
    assert exact.objective_ < few.objective_ < 1.03 * exact.objective_
    assert_allclose(many.item_factors_, exact.item_factors_, rtol=1e-6, atol=1e-8)


def test_long_vectors_are_fitted_by_gradient_steps_and_short_ones_exactly():
    ratings = Ratings.from_matrix(np.where(plays(4) == 0, np.nan, plays(4)))
    for k, solver in ((4, "cholesky"), (32, "cg")):
        models = [ImplicitALS(k, solver=s, random_state=0).fit(ratings) for s in ("auto", solver)]
        assert_array_equal(models[0].item_factors_, models[1].item_factors_)


def test_counts_that_prefer_nothing_are_refused():
    with pytest.raises(ValueError, match="nothing is preferred"):
        ImplicitALS(2).fit([["a", "x"], ["b", "y"]], [-1, 0])
