"""Voting and stacking: scikit-learn's numbers, and the same bits from arrays, files and Dask."""

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn import ensemble
from sklearn.base import is_classifier
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as ForeignLogistic
from sklearn.linear_model import Ridge as ForeignRidge
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tenfold
from tenfold import (
    BaggingClassifier,
    GaussianNB,
    Lasso,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    MLPClassifier,
    Ridge,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
    cross_validate,
)

CLASSIFIERS = [
    ("nb", GaussianNB()),
    ("lda", LinearDiscriminantAnalysis()),
    ("lr", LogisticRegression(tol=1e-8)),
]
REGRESSORS = [("ridge", Ridge(0.1)), ("lasso", Lasso(0.01))]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20_000, 5))
    score = X @ [1.0, -1.0, 0.5, 0.0, 0.0] + rng.normal(size=len(X))
    return X, np.array(["low", "mid", "top"])[np.digitize(score, [-1, 1])], score


@pytest.fixture(scope="module")
def parquet(rows, tmp_path_factory):
    X, label, score = rows
    path = tmp_path_factory.mktemp("ensemble") / "rows.parquet"
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    pq.write_table(pa.table({**columns, "label": label}), path, row_group_size=3_000)
    numbers = path.with_name("numbers.parquet")
    pq.write_table(pa.table({**columns, "score": score}), numbers, row_group_size=3_000)
    return path, numbers


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_votes_are_those_of_scikit_learn(rows, voting):
    X, y, _ = rows
    weights = [1.0, 2.0, 0.5]
    ours = VotingClassifier(CLASSIFIERS, voting=voting, weights=weights).fit(X[:500], y[:500])
    theirs = ensemble.VotingClassifier(CLASSIFIERS, voting=voting, weights=weights)
    theirs.fit(X[:500], y[:500])
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    assert np.allclose(ours.transform(X), theirs.transform(X), rtol=0, atol=1e-9)
    assert ours.named_estimators_["nb"] is ours.estimators_[0]


@pytest.mark.parametrize(
    "model", [VotingClassifier(CLASSIFIERS, voting="soft"), StackingClassifier(CLASSIFIERS)]
)
def test_a_file_gives_the_bits_of_an_array(rows, parquet, model):
    X, y, _ = rows
    from_array = tenfold.testing.clone_model(model).fit(X, y).predict_proba(X)
    from_file = tenfold.testing.clone_model(model).fit(parquet[0], "label")
    assert np.array_equal(from_file.predict_proba(parquet[0]), from_array)
    assert from_file.classes_.tolist() == ["low", "mid", "top"]
    assert from_file.feature_names_in_.tolist() == [f"x{j}" for j in range(5)]


@pytest.mark.parametrize("model", [VotingRegressor(REGRESSORS), StackingRegressor(REGRESSORS)])
def test_regressors_take_files(rows, parquet, model):
    X, _, score = rows
    from_array = tenfold.testing.clone_model(model).fit(X, score).predict(X)
    from_file = tenfold.testing.clone_model(model).fit(parquet[1], "score").predict(parquet[1])
    assert np.array_equal(from_file, from_array)


def test_any_number_of_threads_gives_the_same_bits(rows):
    X, y, _ = rows
    found = []
    for n in (1, 2, 8):
        with tenfold.threads(n):
            found.append(StackingClassifier(CLASSIFIERS).fit(X, y).predict_proba(X))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_the_final_model_sees_out_of_fold_predictions(rows):
    X, y, score = rows
    X, y, score = X[:600], y[:600], score[:600]
    model = StackingRegressor(REGRESSORS, final_estimator=Ridge(1.0), cv=4).fit(X, score)
    columns = [cross_val_predict(each, X, score, cv=4) for _, each in REGRESSORS]
    wanted = Ridge(1.0).fit(np.column_stack(columns), score)
    assert np.allclose(model.final_estimator_.coef_, wanted.coef_, rtol=1e-9)
    theirs = ensemble.StackingClassifier(CLASSIFIERS, LogisticRegression(tol=1e-10)).fit(X, y)
    ours = StackingClassifier(CLASSIFIERS, LogisticRegression(tol=1e-10)).fit(X, y)
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=1e-6)


def test_two_classes_give_one_column_per_member(rows):
    X, y, _ = rows
    two = np.where(y == "low", "no", "yes")
    model = StackingClassifier([*CLASSIFIERS, ("p", LinearSVC())]).fit(X[:900], two[:900])
    assert model.stack_method_ == ["predict_proba"] * 3 + ["decision_function"]
    assert model.transform(X[:7]).shape == (7, 4)
    assert set(model.predict(X[:50])) <= {"no", "yes"}


def test_features_can_pass_through_and_members_can_be_fitted_before(rows, parquet):
    X, y, _ = rows
    through = StackingClassifier(CLASSIFIERS[:2], passthrough=True).fit(X, y)
    assert through.final_estimator_.n_features_in_ == 6 + 5
    from_file = StackingClassifier(CLASSIFIERS[:2], passthrough=True).fit(parquet[0], "label")
    assert np.array_equal(from_file.predict(parquet[0]), through.predict(X))
    codes = np.unique(y, return_inverse=True)[1]
    fitted = [(name, tenfold.testing.clone_model(m).fit(X, codes)) for name, m in CLASSIFIERS[:2]]
    prefit = StackingClassifier(fitted, cv="prefit").fit(X, y)
    assert prefit.estimators_[0] is fitted[0][1]
    named = [(name, tenfold.testing.clone_model(m).fit(X, y)) for name, m in CLASSIFIERS[:2]]
    again = StackingClassifier(named, cv="prefit").fit(X, y)
    assert np.array_equal(again.predict_proba(X), prefit.predict_proba(X))


def test_weights_count_as_repetitions(rows):
    X, _, score = rows
    X, score = X[:300], score[:300]
    w = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    repeated = np.repeat(np.arange(len(X)), w.astype(int))
    weighted = VotingRegressor(REGRESSORS).fit(X, score, sample_weight=w)
    plain = VotingRegressor(REGRESSORS).fit(X[repeated], score[repeated])
    assert np.allclose(weighted.predict(X), plain.predict(X), rtol=1e-6)


def test_models_of_scikit_learn_can_be_members(rows):
    X, y, _ = rows
    members = [("nb", GaussianNB()), ("lr", make_pipeline(StandardScaler(), ForeignLogistic()))]
    model = VotingClassifier(members, voting="soft").fit(X[:300], y[:300])
    theirs = ensemble.VotingClassifier(members, voting="soft").fit(X[:300], y[:300])
    assert np.array_equal(model.predict(X), theirs.predict(X))


def test_a_foreign_member_is_named_where_rows_lie_in_a_file(parquet):
    members = [("nb", GaussianNB()), ("theirs", ForeignLogistic())]
    with pytest.raises(TypeError, match="'theirs', a LogisticRegression, learns from arrays"):
        VotingClassifier(members).fit(parquet[0], "label")


def test_members_can_be_dropped_and_set(rows):
    X, y, _ = rows
    model = VotingClassifier(CLASSIFIERS, voting="soft").set_params(lda="drop", lr__C=0.1)
    model.fit(X[:300], y[:300])
    assert len(model.estimators_) == 2
    assert model.named_estimators_["lda"] == "drop"
    assert model.estimators_[1].C == 0.1


def test_wrong_settings_are_refused(rows):
    X, y, score = rows
    with pytest.raises(ValueError, match="3 estimators"):
        VotingClassifier(CLASSIFIERS, weights=[1, 2]).fit(X, y)
    with pytest.raises(ValueError, match="should be a classifier"):
        VotingClassifier([("r", Ridge())]).fit(X, y)
    shuffled = [(np.arange(50), np.arange(50, 100)), (np.arange(60), np.arange(60, 100))]
    with pytest.raises(ValueError, match="each row exactly once"):
        StackingRegressor(REGRESSORS, cv=shuffled).fit(X[:200], score[:200])
    with pytest.raises(ValueError, match="does not implement"):
        StackingClassifier([("p", LinearSVC())], stack_method="predict_proba").fit(X, y)


@pytest.mark.parametrize(
    "model",
    [
        VotingClassifier(CLASSIFIERS, voting="soft"),
        StackingClassifier(CLASSIFIERS),
        VotingRegressor(REGRESSORS),
        StackingRegressor(REGRESSORS),
    ],
)
def test_a_saved_ensemble_predicts_the_same(rows, tmp_path, model):
    X, label, score = rows
    y = label if is_classifier(model) else score
    model = tenfold.testing.clone_model(model).fit(X[:400], y[:400])
    model.save(tmp_path / "model.tenfold")
    assert np.array_equal(tenfold.load(tmp_path / "model.tenfold").predict(X), model.predict(X))


class Counted(LogisticRegression):
    """A model with a `fit` of its own, which takes arrays alone."""

    def fit(self, X, y):
        self.shape_ = np.shape(X)
        return super().fit(X, y)


class CountedRidge(Ridge):
    def fit(self, X, y):
        self.shape_ = np.shape(X)
        return super().fit(X, y)


def test_a_subclass_with_a_fit_of_its_own_gets_what_it_expects():
    X, y = load_iris(return_X_y=True)
    members = [("own", Counted()), ("nb", GaussianNB())]
    found = StackingClassifier(members).fit(X, y), VotingClassifier(members).fit(X, y)
    for model in (*found, BaggingClassifier(Counted(), 3, random_state=0).fit(X, y)):
        assert model.estimators_[0].shape_[1] == 4
        assert model.score(X, y) > 0.9
    regressors = [("own", CountedRidge()), ("ridge", Ridge())]
    assert StackingRegressor(regressors).fit(X, y).estimators_[0].shape_ == (150, 4)
    scores = cross_validate(Counted(), X, y, folds=3)["test_score"]
    np.testing.assert_allclose(
        scores, cross_validate(LogisticRegression(), X, y, folds=3)["test_score"]
    )


def test_classifiers_stack_regressors_and_several_labels():
    X, y = load_iris(return_X_y=True)
    ours = StackingClassifier([("ridge", Ridge())], ForeignLogistic()).fit(X, y)
    theirs = ensemble.StackingClassifier([("ridge", ForeignRidge())], ForeignLogistic()).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-8)
    labels = np.column_stack([y == 0, y == 1, X[:, 0] > 5.8]).astype(int)
    networks = [("net", MLPClassifier(max_iter=30, random_state=0))]
    model = StackingClassifier(networks, MLPClassifier(max_iter=100, random_state=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert model.fit(X, labels).predict(X).shape == (150, 3)


def test_a_final_model_without_weights_says_so():
    X, y = load_iris(return_X_y=True)
    model = StackingClassifier([("nb", GaussianNB())], KNeighborsClassifier())
    with pytest.raises(TypeError, match="does not support sample weights"):
        model.fit(X, y, sample_weight=np.ones(150))
