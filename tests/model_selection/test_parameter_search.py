"""Searches choose what scikit-learn's would, and are honest about it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import loguniform
from sklearn import decomposition
from sklearn import linear_model as sk
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV, KFold

import tenfold
from tenfold import GaussianNB, LogisticRegression, Ridge, Search, cross_validate, search
from tenfold.base.mixins import unique_labels
from tenfold.model_selection import one_standard_error
from tenfold.model_selection.search_strategies import refine_grid

X, Y = load_diabetes(return_X_y=True)
IRIS, SPECIES = load_iris(return_X_y=True)
ALPHAS = np.logspace(-4, 2, 13)


def test_the_table_is_that_of_scikit_learn():
    ours = Search(Ridge(), {"alpha": ALPHAS}, folds=5, return_train_score=True).fit(X, Y)
    theirs = GridSearchCV(sk.Ridge(), {"alpha": ALPHAS}, cv=5, return_train_score=True).fit(X, Y)
    assert set(ours.cv_results_) == set(theirs.cv_results_)
    for key, column in theirs.cv_results_.items():
        if "time" not in key and key != "params":
            assert_allclose(
                np.asarray(ours.cv_results_[key], float), np.asarray(column, float), rtol=1e-8
            )
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_index_ == theirs.best_index_
    assert ours.best_score_ == pytest.approx(theirs.best_score_, rel=1e-9)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8)
    assert ours.score(X, Y) == pytest.approx(theirs.score(X, Y))
    assert ours.n_features_in_ == 10


def test_iterative_models_find_the_same_winner():
    Z, y = load_breast_cancer(return_X_y=True)
    Z = (Z - Z.mean(0)) / Z.std(0)
    grid = {"C": np.logspace(-4, 2, 7)}
    ours = search(LogisticRegression(tol=1e-9), grid, Z, y, scoring="neg_log_loss", folds=5)
    peer = sk.LogisticRegression(tol=1e-9, max_iter=1000, solver="newton-cholesky")
    theirs = GridSearchCV(peer, grid, cv=5, scoring="neg_log_loss").fit(Z, y)
    assert ours.best_params_ == theirs.best_params_
    assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-6
    )
    assert_array_equal(ours.classes_, [0, 1])
    assert ours.predict_proba(Z).shape == (len(y), 2)


def test_a_list_of_grids_and_several_scores():
    grid = [{"alpha": [0.1, 1.0]}, {"alpha": [0.1], "fit_intercept": [False]}]
    scoring = ["neg_mean_absolute_error", "r2"]
    ours = search(Ridge(), grid, X, Y, folds=3, scoring=scoring)
    theirs = GridSearchCV(sk.Ridge(), grid, cv=3, scoring=scoring, refit=scoring[0]).fit(X, Y)
    assert set(ours.cv_results_) == set(theirs.cv_results_)
    assert ours.best_params_ == theirs.best_params_
    assert ours.cv_results_["param_fit_intercept"].mask.tolist() == [True, True, False]


def test_sampled_candidates_come_from_their_distributions():
    found = search(
        Ridge(), {"alpha": loguniform(1e-3, 1e1)}, X, Y, how="sampled", n_candidates=15, folds=3
    )
    drawn = np.array([each["alpha"] for each in found.cv_results_["params"]])
    assert len(drawn) == 15
    assert ((drawn >= 1e-3) & (drawn <= 10)).all()
    again = search(
        Ridge(), {"alpha": loguniform(1e-3, 1e1)}, X, Y, how="sampled", n_candidates=15, folds=3
    )
    assert again.best_params_ == found.best_params_


def test_refinement_comes_nearer_to_the_best_than_its_grid():
    coarse = search(Ridge(), {"alpha": [1e-4, 1e-2, 1.0]}, X, Y, folds=5)
    finer = search(Ridge(), {"alpha": [1e-4, 1e-2, 1.0]}, X, Y, folds=5, how="refined", rounds=3)
    dense = search(Ridge(), {"alpha": np.logspace(-4, 0, 400)}, X, Y, folds=5)
    assert finer.best_score_ > coarse.best_score_
    assert finer.best_score_ == pytest.approx(dense.best_score_, abs=1e-5)
    assert len(finer.cv_results_["params"]) < 20


def test_refinement_keeps_whole_numbers_whole_and_words_as_they_are():
    tried = [{"k": k, "how": h} for k in (2, 8, 32) for h in "ab"]
    new = refine_grid(tried, {"k": 8, "how": "b"})
    assert all(isinstance(each["k"], int) and each["how"] == "b" for each in new)
    assert {each["k"] for each in new} <= set(range(3, 21))
    assert {"k": 8, "how": "b"} not in new


def test_halving_ends_with_the_winner_of_all_rows():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(20_000, 30))
    y = Z[:, :3].sum(axis=1) + 3 * rng.normal(size=20_000)
    grid = {"alpha": np.logspace(-1, 6, 27)}
    halved = search(Ridge(), grid, Z, y, how="halving", folds=5)
    full = search(Ridge(), grid, Z, y, folds=5)
    tried = len(halved.cv_results_["params"])
    assert 27 < tried < 27 * 3
    assert full.best_score_ - halved.best_score_ < 1e-4
    assert halved.best_params_["alpha"] in grid["alpha"]


def test_the_simplest_within_one_standard_error():  # rule
    found = search(Ridge(), {"alpha": ALPHAS}, X, Y, folds=5, rule="one_standard_error")
    scores = np.array([found.cv_results_[f"split{p}_test_score"] for p in range(5)])
    top = scores.mean(0).argmax()
    bar = scores[:, top].mean() - scores[:, top].std(ddof=1) / np.sqrt(5)
    assert found.best_params_["alpha"] == max(ALPHAS[scores.mean(0) >= bar])
    with pytest.raises(ValueError, match="simpler="):
        one_standard_error(scores, [{"strange": i} for i in range(13)])
    low = one_standard_error(scores, [{"strange": i} for i in range(13)], {"strange": "low"})
    assert low == np.flatnonzero(scores.mean(0) >= bar)[0]


def test_resources_have_a_price_and_a_rule_may_be_ones_own():
    grid = {"alpha": ALPHAS}
    free = search(Ridge(), grid, X, Y, folds=5)
    dear = search(Ridge(), grid, X, Y, folds=5, cost=lambda p: 0.1 * -np.log10(p["alpha"]))
    assert dear.best_params_["alpha"] > free.best_params_["alpha"]
    own = search(Ridge(), grid, X, Y, folds=5, rule=lambda results: len(results["params"]) - 1)
    assert own.best_params_["alpha"] == ALPHAS[-1]


class OneColumn(ClassifierMixin, BaseEstimator):
    """Says class 1 where one column is above its median."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        high = X[:, self.column] > np.median(X[:, self.column])
        self.flip_ = np.mean(high == y) < 0.5
        self.middle_ = np.median(X[:, self.column])
        return self

    def predict(self, X):
        return ((X[:, self.column] > self.middle_) != self.flip_).astype(int)


def test_nested_cross_validation_is_honest_about_noise():
    """Pure noise: the best of 30 columns looks good, and nested folds show that it is not."""
    rng = np.random.default_rng(1)
    apparent, nested = [], []
    folds = KFold(3, shuffle=True, random_state=0)
    for _ in range(8):
        Z, y = rng.normal(size=(60, 30)), rng.permutation(np.repeat([0, 1], 30))
        chooser = Search(OneColumn(), {"column": list(range(30))}, folds=folds)
        apparent.append(chooser.fit(Z, y).best_score_)
        nested.append(np.mean(cross_validate(chooser, Z, y, folds=folds)["test_score"]))
    assert np.mean(apparent) > 0.62
    assert abs(np.mean(nested) - 0.5) < 0.06  # three standard errors of 480 guesses


def test_nested_searches_share_walks():
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(12_000, 4))
    y = Z @ [1.0, 2.0, 0.0, 0.0] + rng.normal(size=12_000)
    inner = Search(Ridge(), {"alpha": [0.1, 10.0, 1e3, 1e5]}, folds=4)
    rows = tenfold.open(Z, target=y)
    got = cross_validate(inner, rows, folds=5, return_estimator=True)
    assert rows.passes <= 3  # 5 x 4 x 4 fits and 5 refits, then one walk to judge
    for i, (train, test) in enumerate(KFold(5).split(Z)):
        alone = Search(Ridge(), {"alpha": [0.1, 10.0, 1e3, 1e5]}, folds=4).fit(Z[train], y[train])
        assert got["estimator"][i].best_params_ == alone.best_params_
        assert got["test_score"][i] == pytest.approx(alone.score(Z[test], y[test]), rel=1e-8)


def test_a_search_is_an_estimator_among_others(tmp_path):
    from sklearn.base import clone, is_classifier, is_regressor

    found = Search(GaussianNB(), {"var_smoothing": [1e-9, 1e-2]}, folds=3)
    assert is_classifier(found)
    assert is_regressor(Search(Ridge(), {}))
    assert clone(found).get_params()["grid"] == {"var_smoothing": [1e-9, 1e-2]}
    with pytest.raises(Exception, match="not fitted"):
        found.predict(IRIS)
    found.fit(IRIS, SPECIES)
    assert not hasattr(Search(Ridge(), {}), "predict_proba")
    tenfold.save(found, tmp_path / "s.tenfold")
    assert_array_equal(tenfold.load(tmp_path / "s.tenfold").predict(IRIS), found.predict(IRIS))


def test_models_without_a_target_are_judged_by_their_own_score():
    from tenfold import PCA, KMeans

    ours = search(PCA(), {"n_components": [1, 2, 3]}, IRIS, folds=KFold(5))
    theirs = GridSearchCV(decomposition.PCA(), {"n_components": [1, 2, 3]}, cv=KFold(5)).fit(IRIS)
    assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-6
    )
    clusters = search(KMeans(random_state=0), {"n_clusters": [1, 2, 3]}, IRIS, folds=KFold(3))
    for p, (train, test) in enumerate(KFold(3).split(IRIS)):
        alone = KMeans(3, random_state=0).fit(IRIS[train])
        got = clusters.cv_results_[f"split{p}_test_score"][2]
        assert got == pytest.approx(alone.score(IRIS[test]), rel=1e-9)


@pytest.mark.parametrize("model", [GaussianNB(), LogisticRegression()], ids=str)
def test_rows_keep_their_labels(model):
    words = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
    rows = tenfold.open(IRIS, target=words)
    assert_array_equal(model.fit(rows).classes_, np.unique(words))
    assert_array_equal(model.fit(rows).classes_, np.unique(words))  # once more, on the same rows
    found = search(model, {}, rows, folds=3)
    assert_array_equal(found.classes_, np.unique(words))
    assert np.mean(found.predict(IRIS) == words) > 0.9


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_whole_numbers_are_counted_without_overflow(dtype):
    labels = np.array([0, 120, 7, 120, 0], dtype)
    if dtype == np.int8:
        labels[0] = labels[4] = -128  # 248 apart: more than an int8 can hold
    known, codes = unique_labels(labels)
    wanted, numbers = np.unique(labels, return_inverse=True)
    assert_array_equal(known, wanted)
    assert known.dtype == dtype
    assert_array_equal(codes, numbers)


def test_errors_name_the_cure():
    with pytest.raises(ValueError, match="non-empty"):
        search(Ridge(), {"alpha": []}, X, Y)
    with pytest.raises(ValueError, match="Invalid parameter 'beta'"):
        search(Ridge(), {"beta": [1]}, X, Y)
    with pytest.raises(ValueError, match="alpha"):
        search(Ridge(), {"alpha": [-1.0]}, X, Y)
    with pytest.raises(ValueError, match="'how' parameter"):
        search(Ridge(), {"alpha": [1.0]}, X, Y, how="wild")


def test_more_columns_than_rows_need_no_square_of_the_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 300))
    y = X[:, 0] + 0.1 * rng.normal(size=40)
    grid = {"alpha": [0.1, 1.0, 10.0, 100.0]}
    found = tenfold.search(tenfold.Ridge(), grid, X, y, folds=4)
    for alpha, score in zip(grid["alpha"], found.cv_results_["mean_test_score"], strict=True):
        alone = tenfold.cross_validate(tenfold.Ridge(alpha=alpha), X, y, folds=4)
        assert_allclose(score, alone.mean(), rtol=1e-10)
    classifier, labels = tenfold.LeastSquaresClassifier(), np.where(y > 0, "up", "down")
    found = tenfold.search(classifier, grid, X, labels, folds=4, scoring="accuracy")
    for alpha, score in zip(grid["alpha"], found.cv_results_["mean_test_score"], strict=True):
        alone = tenfold.cross_validate(classifier.set_params(alpha=alpha), X, labels, folds=4)
        assert_allclose(score, alone.mean(), rtol=1e-10)
    X = rng.normal(size=(30, 20_000))  # a square of them would fill 3 GB
    assert tenfold.search(tenfold.Ridge(), grid, X, X[:, 0], folds=3).best_params_
