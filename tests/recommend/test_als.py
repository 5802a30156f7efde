"""Explicit alternating least squares against closed forms and dense loops."""

import os

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import KFold, cross_val_score

from tenfold import ALS
from tenfold.persist.model_file import load
from tenfold.recommend import Ratings
from tests.recommend.conftest import make_ratings


def cost_of(model, X, y, lam, nu, kappa, w=None):
    """The objective of the docstring, term by term."""
    w = np.ones(len(y)) if w is None else w
    u, i = (
        np.searchsorted(ids, X[:, c]) for c, ids in enumerate((model.user_ids_, model.item_ids_))
    )
    x, v, b, c = model.user_factors_, model.item_factors_, model.user_bias_, model.item_bias_
    errors = y - model.mean_ - b[u] - c[i] - (x[u] * v[i]).sum(axis=1)
    cost = w @ errors**2 + kappa * ((b**2).sum() + (c**2).sum())
    for numbers, factors, bias in ((u, x, b), (i, v, c)):
        counts = np.bincount(numbers, w, minlength=len(factors))
        cost += lam * counts**nu @ ((factors**2).sum(axis=1) + bias**2)
    return cost


@pytest.mark.parametrize(("nu", "biases"), [(0.0, False), (1.0, True), (0.5, True)])
def test_the_cost_is_that_of_the_docstring_and_never_rises(small, nu, biases):
    X, y = small
    model = ALS(3, regularization=0.2, count_power=nu, biases=biases, random_state=0).fit(X, y)
    assert model.converged_
    assert (np.diff(model.history_["objective"]) <= 1e-9).all()
    assert_allclose(model.objective_, cost_of(model, X, y, 0.2, nu, biases * 1.0), rtol=1e-10)


def test_users_solve_their_normal_equations(small):
    X, y = small
    model = ALS(3, regularization=0.2, random_state=0).fit(X, y)
    base, step = cost_of(model, X, y, 0.2, 1.0, 1.0), 1e-5
    for array in (model.user_factors_, model.user_bias_[:, None]):
        for user in (0, 7):
            array[user, 0] += step
            up = cost_of(model, X, y, 0.2, 1.0, 1.0)
            array[user, 0] -= 2 * step
            down = cost_of(model, X, y, 0.2, 1.0, 1.0)
            array[user, 0] += step
            assert abs(up - down) / (2 * step) < 1e-5 * base


def test_a_dense_loop_in_numpy_takes_the_same_steps():
    X, y = make_ratings(3, 20, 15)
    Y = np.full((20, 15), np.nan)
    Y[tuple(X.T)] = y
    model = ALS(2, regularization=0.3, count_power=0, biases=False, center=False, max_iter=4, tol=0)
    ratings = Ratings.from_matrix(Y)
    U, _ = model._start(ratings, model.set_params(random_state=5)._rng(), y.std())
    with pytest.warns(match="did not converge"):
        model.fit(ratings)
    for _ in range(4):
        V = np.array([ridge(U, Y[:, i], 0.3) for i in range(15)])
        U = np.array([ridge(V, Y[a], 0.3) for a in range(20)])
    assert_allclose(model.user_factors_, U, rtol=1e-9)
    assert_allclose(model.item_factors_, V, rtol=1e-9)


def ridge(F, r, lam):
    there = ~np.isnan(r)
    return np.linalg.solve(F[there].T @ F[there] + lam * np.eye(F.shape[1]), F[there].T @ r[there])


def test_a_full_matrix_with_a_vanishing_penalty_gives_the_truncated_svd():
    Y = np.random.default_rng(4).normal(size=(12, 9))
    model = ALS(
        3,
        regularization=1e-9,
        count_power=0,
        biases=False,
        center=False,
        tol=1e-14,
        max_iter=5000,
        random_state=1,
    ).fit(Ratings.from_matrix(Y))
    U, s, V = np.linalg.svd(Y)
    best = (U[:, :3] * s[:3]) @ V[:3]
    assert_allclose(model.user_factors_ @ model.item_factors_.T, best, atol=1e-4)


def test_the_most_probable_factors_of_pmf_minimize_minus_the_log_posterior(small):
    X, y = small
    noise, spread = 0.5, 0.25
    model = ALS.from_pmf(
        2, noise_variance=noise, factor_variance=spread, random_state=0, tol=1e-9, max_iter=500
    )
    model.fit(X, y)
    mean = model.mean_
    errors = y - mean - (model.user_factors_[X[:, 0]] * model.item_factors_[X[:, 1]]).sum(axis=1)
    squares = (model.user_factors_**2).sum() + (model.item_factors_**2).sum()
    log_posterior = -0.5 * (errors**2).sum() / noise - 0.5 * squares / spread
    assert_allclose(model.objective_, -2 * noise * log_posterior, rtol=1e-10)


def test_a_weight_of_two_is_the_rating_twice(small):
    X, y = small
    w = np.random.default_rng(0).integers(1, 4, len(y))
    model = ALS(2, random_state=0)
    weighted = clone_fit(model, X, y, w)
    repeated = clone_fit(model, np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_allclose(weighted.item_factors_, repeated.item_factors_, rtol=1e-8)
    assert_allclose(weighted.objective_, cost_of(weighted, X, y, 0.13, 1.0, 1.0, w), rtol=1e-10)


def test_reasons_add_up_where_ratings_have_weights_and_after_saving_and_folding_in(small, tmp_path):
    X, y = small
    w = np.random.default_rng(0).integers(1, 4, len(y))
    model = ALS(2, random_state=0).fit(X, y, w)
    repeated = clone_fit(model, np.repeat(X, w, axis=0), np.repeat(y, w))
    model.save(tmp_path / "m.tenfold")
    own = X[:, 0] == 6
    renamed = X[own].copy()
    renamed[:, 0] = 1000
    larger = model.fold_in(renamed, y[own], w[own])
    unweighted = ALS(2, random_state=0).fit(X, y).fold_in(renamed, y[own], w[own])
    for found, user in (
        (model, 6), (repeated, 6), (load(tmp_path / "m.tenfold"), 6), (larger, 6), (larger, 1000),
        (unweighted, 6), (unweighted, 1000),
    ):  # fmt: skip
        why = found.explain(user, int(X[0, 1]), n=100)
        total = why.base + why.rest + sum(reason.contribution for reason in why.reasons)
        assert_allclose(total, why.score, rtol=1e-9)
    assert_allclose(larger.explain(1000, 3).score, model.explain(6, 3).score, rtol=1e-9)


@pytest.mark.filterwarnings("ignore:.*did not converge")
@pytest.mark.parametrize("unit", [1e6, 1e9])
def test_ratings_in_small_units_have_a_solution(small, unit):
    X, y = small
    model = ALS(30, max_iter=5, tol=0, random_state=0).fit(X, y * unit)
    assert np.sqrt(np.mean((model.predict(X) / unit - y) ** 2)) < 0.5 * y.std()


def test_the_only_item_is_similar_to_none():
    model = ALS(1, random_state=0).fit([["a", "x"], ["b", "x"]], [1, 2])
    assert len(model.similar_items("x").items) == len(model.similar_items("x").scores) == 0


def clone_fit(model, *data):
    from sklearn.base import clone

    return clone(model).fit(*data)


def test_planted_factors_are_found_again(small):
    X, y = small
    held = np.arange(len(y)) % 5 == 0
    model = ALS(2, regularization=0.02, random_state=0).fit(X[~held], y[~held])
    assert np.sqrt(np.mean((model.predict(X[held]) - y[held]) ** 2)) < 0.45 * y.std()


def test_unknown_users_and_items_get_what_is_known_about_the_other(small):
    X, y = small
    model = ALS(2, random_state=0, clip=False).fit(X, y)
    found = model.predict([[999, 3], [4, 999], [999, 999]])
    expected = [model.mean_ + model.item_bias_[3], model.mean_ + model.user_bias_[4], model.mean_]
    assert_allclose(found, expected)


def test_predictions_stay_in_the_range_of_ratings_unless_told_otherwise(small):
    X, y = small
    y = np.clip(y, 1, 5)
    model = ALS(2, regularization=0.01, random_state=0).fit(X, y)
    pairs = np.argwhere(np.ones((40, 25)))
    assert model.predict(pairs).max() == 5
    assert model.set_params(clip=False).predict(pairs).max() > 5


def test_a_user_who_is_folded_in_gets_the_factors_of_the_fit(small):
    X, y = small
    model = ALS(2, random_state=0).fit(X, y)
    own = X[:, 0] == 6
    renamed = X[own].copy()
    renamed[:, 0] = 1000
    larger = model.fold_in(renamed, y[own])
    assert larger.user_ids_.tolist() == [*range(40), 1000]
    assert_allclose(larger.user_factors_[-1], model.user_factors_[6], rtol=1e-9)
    assert_allclose(larger.user_bias_[-1], model.user_bias_[6], rtol=1e-9)
    new, old = (m.recommend(u, 5) for m, u in ((larger, 1000), (model, 6)))
    assert_array_equal(new.items, old.items)
    assert len(model.user_ids_) == 40  # the model itself is left as it is


def test_ratings_of_somebody_new_are_worth_those_of_a_user(small):
    X, y = small
    model = ALS(2, random_state=0).fit(X, y)
    own = X[:, 0] == 6
    ratings = dict(zip(X[own, 1].tolist(), y[own].tolist(), strict=True))
    assert_array_equal(model.recommend(ratings=ratings, n=4).items, model.recommend(6, 4).items)


def test_reasons_add_up_to_the_score(small):
    X, y = small
    model = ALS(2, random_state=0).fit(X, y)
    item = model.recommend(6, 1).items[0]
    found = model.explain(6, item, n=3)
    assert len(found.reasons) == 3
    total = found.base + found.rest + sum(r.contribution for r in found.reasons)
    assert_allclose(found.score, total, rtol=1e-8)
    assert_allclose(found.score, model.recommend(6, 1).scores[0])
    assert {r.item for r in found.reasons} <= set(X[X[:, 0] == 6, 1].tolist())


def test_it_is_a_regressor_for_cross_validation(small):
    X, y = small
    scores = cross_val_score(ALS(2, regularization=0.05, random_state=0), X, y, cv=KFold(3))
    assert scores.min() > 0.5


def test_without_factors_biases_are_left(small):
    X, y = small
    model = ALS(0).fit(X, y)
    assert model.user_factors_.shape == (40, 0)
    assert np.abs(model.user_bias_).max() > 0


def test_equal_ratings_are_predicted_exactly():
    model = ALS(2, random_state=0).fit([[0, 0], [0, 1], [1, 0]], [3.0, 3.0, 3.0])
    assert model.converged_
    assert_array_equal(model.predict([[1, 1]]), [3.0])


@pytest.mark.skipif("TENFOLD_DATA" not in os.environ, reason="needs MovieLens 100k")
def test_movielens_is_predicted_better_than_by_the_svd_of_surprise():
    from tenfold.datasets import fetch_movielens_100k

    train, test = (fetch_movielens_100k(part=f"u1.{p}") for p in ("base", "test"))
    model = ALS(random_state=0).fit(train.data, train.target)
    rmse = np.sqrt(np.mean((model.predict(test.data) - test.target) ** 2))
    assert rmse <= 0.93  # Surprise 1.1.5: SVD(random_state=0) has 0.951 on this fold


@pytest.mark.skipif("TENFOLD_DATA" not in os.environ, reason="needs the ratings of 6.86x")
def test_the_ratings_of_project_four_are_completed_better_than_by_the_mixture():
    from tenfold.datasets import fetch_netflix_ratings

    Y, gold = fetch_netflix_ratings(return_X_y=True)
    model = ALS(12, random_state=0).fit(Ratings.from_matrix(Y))
    found = model.predict(np.argwhere(np.isnan(Y)))
    filled = Y.copy()
    filled[np.isnan(Y)] = found
    rmse = np.sqrt(np.mean((filled - np.nan_to_num(gold)) ** 2))
    assert rmse < 0.45  # the mixture of 12 Gaussians has 0.48049


def test_the_search_and_the_cross_validation_of_tenfold_take_it(small):
    from tenfold import Search, cross_validate

    X, y = small
    search = Search(ALS(random_state=0), {"n_factors": [0, 2]}, folds=3).fit(X, y)
    assert search.best_params_ == {"n_factors": 2}
    assert cross_validate(ALS(2, random_state=0), X, y) is not None


def test_an_empty_list_of_users_has_no_lists(small):
    model = ALS(1, random_state=0).fit(*small)
    assert model.recommend([], 3).items.shape == (0, 3)


def test_numbers_out_of_range_are_refused():
    with pytest.raises(ValueError, match="no larger than 1e100"):
        ALS().fit([[0, 0]], [1e200])
    with pytest.raises(ValueError, match="give them as words"):
        ALS().fit(np.array([[2**63, 0]], np.uint64), [1.0])
