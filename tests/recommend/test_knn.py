"""Neighbors against double loops, and against numbers of Surprise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from tenfold import KNNRecommender
from tenfold.recommend import Ratings
from tests.recommend.conftest import make_ratings


def similarity(a, b, metric):
    both = ~np.isnan(a) & ~np.isnan(b)
    if not both.any():
        return np.nan
    a, b = a[both], b[both]
    if metric == "cosine":
        return a @ b / np.sqrt((a @ a) * (b @ b))
    if metric == "pearson":
        da, db = a - a.mean(), b - b.mean()
        below = np.sqrt((da @ da) * (db @ db))
        return round(da @ db / below, 11) if below > 1e-9 else 0.0
    msd = np.mean((a - b) ** 2)
    return 1 / (1 + (msd if metric == "msd" else np.sqrt(msd)))


def brute_force(Y, a, i, k, metric, weights, center):
    """The formula of the docstring for one pair, rows being those who have neighbors."""
    level = np.nanmean(Y, axis=1) if center != "none" else np.zeros(len(Y))
    scale = np.nanstd(Y, axis=1) if center == "zscore" else np.ones(len(Y))
    scale = np.where(scale > 0, scale, np.nanstd(Y))
    near = [
        (similarity(Y[a], Y[b], metric), -b)
        for b in range(len(Y))
        if b != a and not np.isnan(Y[b, i])
    ]
    near = sorted((s for s in near if not np.isnan(s[0])), reverse=True)[:k]
    w = np.array([s if weights == "similarity" else 1.0 for s, _ in near])
    r = np.array([(Y[-b, i] - level[-b]) / scale[-b] for _, b in near])
    if not np.abs(w).sum():  # nobody, or nobody with any similarity
        return np.nanmean(Y) if center == "none" else level[a]
    return level[a] + scale[a] * (w @ r) / np.abs(w).sum()


@pytest.mark.parametrize("by", ["user", "item"])
@pytest.mark.parametrize("metric", ["cosine", "euclidean", "msd", "pearson"])
@pytest.mark.parametrize(
    ("weights", "center"),
    [("uniform", "none"), ("similarity", "none"), ("similarity", "mean"), ("similarity", "zscore")],
)
def test_predictions_are_those_of_a_double_loop(by, metric, weights, center):
    X, y = make_ratings(5, 14, 9, share=0.6)
    Y = np.full((14, 9), np.nan)
    Y[tuple(X.T)] = y
    rows = Y if by == "user" else Y.T
    model = KNNRecommender(3, by=by, metric=metric, weights=weights, center=center)
    model.fit(Ratings.from_matrix(Y))
    pairs = np.argwhere(np.ones(Y.shape))
    expected = [
        brute_force(rows, *(p if by == "user" else p[::-1]), 3, metric, weights, center)
        for p in pairs
    ]
    assert_allclose(model.predict(pairs), expected, rtol=1e-9, atol=1e-9)
    scores = model._scores(model._profiles(np.arange(14)))
    assert_allclose(
        scores.ravel(), expected, rtol=1e-9, atol=1e-9
    )  # top lists use the same numbers


@pytest.mark.parametrize("by", ["user", "item"])
@pytest.mark.parametrize("center", ["none", "mean", "baseline"])
def test_reasons_add_up_to_the_score(small, by, center):
    X, y = small
    model = KNNRecommender(6, by=by, center=center, metric="msd").fit(X, y)
    best = model.recommend(4, 3)
    for item, score in zip(best.items, best.scores, strict=True):
        found = model.explain(4, item, n=4)
        total = found.base + found.rest + sum(r.contribution for r in found.reasons)
        assert_allclose([found.score, total], [score, score], rtol=1e-9)


def test_opposite_taste_counts_unless_neighbors_must_be_similar():
    Y = np.array([[1.0, 5, 1, np.nan], [5, 1, 5, 1], [np.nan, np.nan, np.nan, 3]])
    ratings = Ratings.from_matrix(Y)
    model = KNNRecommender(2, metric="pearson", center="mean").fit(ratings)
    assert model.predict([[0, 3]])[0] == pytest.approx(
        7 / 3 + 2
    )  # who dislikes it has another taste
    model.set_params(min_similarity=0.0).fit(ratings)
    assert model.predict([[0, 3]])[0] == pytest.approx(7 / 3)


def test_few_common_ratings_count_less_or_not_at_all(small):
    X, y = small
    plain = KNNRecommender(metric="msd").fit(X, y).similar_users(3, 39)
    shrunk = KNNRecommender(metric="msd", shrinkage=5).fit(X, y)
    Y = Ratings.to_matrix(shrunk_ratings := Ratings.from_matrix(_matrix(X, y)))
    common = [(~np.isnan(Y[3]) & ~np.isnan(Y[b])).sum() for b in range(40)]
    first = dict(zip(plain.items.tolist(), plain.scores.tolist(), strict=True))
    for user, value in zip(*shrunk.similar_users(3, 39), strict=True):
        assert value == pytest.approx(first[user] * common[user] / (common[user] + 5))
    strict = KNNRecommender(metric="msd", min_support=8).fit(shrunk_ratings)
    assert min(common[u] for u in strict.similar_users(3, 39).items) >= 8


def _matrix(X, y):
    Y = np.full((40, 25), np.nan)
    Y[tuple(X.T)] = y
    return Y


def test_nobody_is_a_neighbor_of_themselves(small):
    X, y = small
    model = KNNRecommender(1, metric="msd").fit(X, y)
    assert np.abs(model.predict(X) - y).max() > 0.1
    assert 3 not in model.similar_users(3, 39).items


@pytest.mark.parametrize("by", ["user", "item"])
def test_ratings_of_somebody_new_are_worth_those_of_a_user(small, by):
    X, y = small
    model = KNNRecommender(5, by=by, center="mean", metric="msd").fit(X, y)
    own = X[:, 0] == 6
    ratings = dict(zip(X[own, 1].tolist(), y[own].tolist(), strict=True))
    new = model.recommend(ratings=ratings, n=3)  # user 6 is now a neighbor, and the nearest one
    assert set(new.items) & set(model.recommend(6, 6).items.tolist())


def test_unknown_users_and_items_get_means(small):
    X, y = small
    model = KNNRecommender(5, center="mean").fit(X, y)
    assert model.predict([[999, 3]])[0] == pytest.approx(y.mean())
    assert model.predict([[4, 999]])[0] == pytest.approx(y[X[:, 0] == 4].mean())
    assert_array_equal(model.recommend(999, 2).items, model.popular_items(2).items)


@pytest.mark.parametrize("by", ["user", "item"])
def test_folding_users_in_is_a_fit_to_everybody(by):
    table = {"user": list("aabbc"), "item": list("xyxzy"), "rating": [5, 1, 4, 2, 3]}
    more = {"user": ["zoe", "zoe", "c"], "item": list("xwz"), "rating": [5, 4, 1]}
    model = KNNRecommender(by=by, center="mean").fit(table)
    larger = model.fold_in(more)
    all_ratings = {name: [*table[name][:4], *more[name]] for name in table}  # c rates anew
    fitted = KNNRecommender(by=by, center="mean").fit(all_ratings)
    pairs = [["zoe", "z"], ["c", "y"], ["a", "w"], ["b", "y"]]
    assert_array_equal(larger.predict(pairs), fitted.predict(pairs))
    assert "zoe" not in model.user_ids_
    with pytest.raises(ValueError, match="such as 'a'"):
        model.fold_in([[1, 2]], [3])


def test_folding_in_keeps_the_weights_of_everybody(small):
    X, y = small
    w = np.random.default_rng(0).integers(1, 4, len(y))
    new = X[:, 0] == 6
    model = KNNRecommender(5, center="baseline").fit(X[~new], y[~new], w[~new])
    larger, whole = model.fold_in(X[new], y[new], w[new]), clone(model).fit(X, y, w)
    assert_allclose(larger.predict(X), whole.predict(X), rtol=1e-6)
