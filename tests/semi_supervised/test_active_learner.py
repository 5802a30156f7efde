"""Queries of active learning against their formulas, and the loop with an oracle."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import entropy
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tenfold
from tenfold import (
    ActiveLearner,
    BayesianRidge,
    DecisionTreeRegressor,
    GaussianNB,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    Perceptron,
)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    first = np.arange(0, 150, 15)
    pool = np.setdiff1d(np.arange(150), first)
    return X, y, first, pool


@pytest.mark.parametrize("strategy", ["least_confident", "margin", "entropy"])
def test_uncertainty_by_its_formula(strategy, iris):
    X, y, first, pool = iris
    learner = ActiveLearner(LogisticRegression(), strategy=strategy, random_state=0)
    learner.fit(X[first], y[first])
    p = LogisticRegression().fit(X[first], y[first]).predict_proba(X[pool])
    ordered = np.sort(p, axis=1)
    expected = {
        "least_confident": 1 - p.max(axis=1),
        "margin": -(ordered[:, -1] - ordered[:, -2]),
        "entropy": entropy(p.T),
    }[strategy]
    np.testing.assert_allclose(learner.utilities(X[pool]), expected, atol=1e-12)
    best = learner.query(X[pool], 5)
    assert set(best) == set(np.argsort(-expected)[:5])


def test_committee_of_given_models_by_its_formulas(iris):
    X, y, first, pool = iris
    members = [LogisticRegression(), LinearDiscriminantAnalysis(), GaussianNB(var_smoothing=1e-2)]
    fitted = [tenfold_model.fit(X[first], y[first]) for tenfold_model in members]
    votes = np.array([m.predict(X[pool]) for m in fitted])
    shares = np.stack([(votes == c).mean(axis=0) for c in range(3)])
    learner = ActiveLearner(LogisticRegression(), strategy="vote_entropy", committee=members)
    learner.fit(X[first], y[first])
    np.testing.assert_allclose(learner.utilities(X[pool]), entropy(shares), atol=1e-12)
    p = np.array([m.predict_proba(X[pool]) for m in fitted])
    divergence = [entropy(each.T, p.mean(axis=0).T) for each in p]
    learner = ActiveLearner(LogisticRegression(), strategy="consensus_kl", committee=members)
    learner.fit(X[first], y[first])
    np.testing.assert_allclose(learner.utilities(X[pool]), np.mean(divergence, axis=0), atol=1e-12)


def test_asking_beats_chance_on_a_threshold():
    """Halving an interval: the error falls with 2^-n where random rows give 1/n."""
    X = np.linspace(0, 1, 501)[:, None]
    y = (X[:, 0] > np.sqrt(0.5)).astype(int)
    ends = [0, 500]
    scores = {}
    for strategy in ("margin", "random"):
        learner = ActiveLearner(LogisticRegression(C=1e6), strategy=strategy, random_state=1)
        curve = learner.fit(X[ends], y[ends]).run(X, y, n_queries=12, X_test=X, y_test=y)
        scores[strategy] = curve.scores
    assert scores["margin"][-1] > 0.995
    assert scores["margin"].mean() > scores["random"].mean()


def test_regressors_ask_where_the_deviation_is_largest():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (30, 1))
    y = 2 * X[:, 0] + rng.normal(size=30) / 10
    pool = np.array([[0.0], [5.0], [1.0]])
    learner = ActiveLearner(BayesianRidge(), strategy="std", random_state=0).fit(X, y)
    assert learner.query(pool, 1).tolist() == [1]
    committee = ActiveLearner(DecisionTreeRegressor(), strategy="committee_std", random_state=0)
    assert committee.fit(X, y).utilities(pool).shape == (3,)


def test_the_oracle_may_be_a_function_and_rows_are_asked_once(iris):
    X, y, first, pool = iris
    asked = []

    def oracle(rows):
        asked.extend(rows)
        return y[pool][rows]

    learner = ActiveLearner(GaussianNB(), strategy="entropy", batch_size=4, random_state=0)
    curve = learner.fit(X[first], y[first]).run(X[pool], oracle, n_queries=10)
    assert curve.n_labels.tolist() == [10, 14, 18, 20]
    assert curve.queried.tolist() == asked
    assert len(set(asked)) == 10
    assert np.isnan(curve.scores).all()


@pytest.mark.parametrize("strategy", ["margin", "vote_entropy", "random"])
def test_the_same_seed_asks_for_the_same_rows_also_after_saving(strategy, iris, tmp_path):
    X, y, first, pool = iris
    make = lambda: ActiveLearner(  # noqa: E731
        GaussianNB(var_smoothing=1e-3), strategy=strategy, batch_size=3, random_state=3
    ).fit(X[first], y[first])
    straight = make().run(X[pool], y[pool], n_queries=9).queried
    learner = make()
    begun = learner.run(X[pool], y[pool], n_queries=3).queried
    learner.save(tmp_path / "learner.tenfold")
    left = np.delete(pool, begun)
    rest = tenfold.load(tmp_path / "learner.tenfold").run(X[left], y[left], n_queries=6).queried
    assert [pool[i] for i in straight] == [pool[i] for i in begun] + [left[i] for i in rest]


def test_sparse_rows_and_own_strategies(iris):
    X, y, first, pool = iris

    def largest_sum(learner, rows):
        assert learner.classes_.tolist() == [0, 1, 2]
        return np.asarray(rows.sum(axis=1)).ravel()

    learner = ActiveLearner(LogisticRegression(), strategy=largest_sum)
    learner.fit(sparse.csr_array(X[first]), y[first])
    assert learner.query(sparse.csr_array(X[pool]), 1)[0] == X[pool].sum(axis=1).argmax()
    learner.teach(sparse.csr_array(X[pool][:2]), y[pool][:2])
    assert learner.X_.shape == (12, 4)


def test_bad_requests_are_explained(iris):
    X, y, first, pool = iris
    learner = ActiveLearner(LogisticRegression()).fit(X[first], y[first])
    with pytest.raises(ValueError, match="141 rows were asked for, and the pool has 140"):
        learner.query(X[pool], 141)
    with pytest.raises(ValueError, match="n=-1: give the number"):
        learner.query(X[pool], -1)
    with pytest.raises(TypeError, match="either words or numbers"):
        learner.teach(X[:2], ["a", "b"])
    with pytest.raises(ValueError, match="2 rows came with 1 labels"):
        learner.teach(X[:2], y[:1])
    with pytest.raises(ValueError, match="new rows have 3 columns, known ones 4"):
        learner.teach(X[:2, :3], y[:2])
    with pytest.raises(ValueError, match="not finite"):
        ActiveLearner(GaussianNB(), strategy=lambda *_: np.array([np.nan])).fit(X, y).query(X[:1])


@pytest.mark.parametrize(
    ("model", "strategy", "words"),
    [
        (GaussianNB(), "std", "is for regressors, and GaussianNB is a classifier"),
        (GaussianNB(), "committee_std", "is for regressors"),
        (BayesianRidge(), "vote_entropy", "is for classifiers, and BayesianRidge is none"),
        (BayesianRidge(), "consensus_kl", "is for classifiers"),
        (BayesianRidge(), "margin", "BayesianRidge has no predict_proba"),
        (Perceptron(), "entropy", "Perceptron has no predict_proba: take 'vote_entropy'"),
        (Perceptron(), "consensus_kl", "Perceptron has no predict_proba"),
        (DecisionTreeRegressor(), "std", "DecisionTreeRegressor does not have: take 'committee"),
    ],
)
def test_a_strategy_that_the_model_cannot_answer_is_refused(model, strategy, words, iris):
    X, y, first, _ = iris
    with pytest.raises(ValueError, match=words):
        ActiveLearner(model, strategy=strategy).fit(X[first], y[first])


def test_a_pipeline_passes_on_the_wish_for_deviations(iris):
    X, y, first, pool = iris
    learner = ActiveLearner(make_pipeline(StandardScaler(), BayesianRidge()), strategy="std")
    assert learner.fit(X[first], y[first]).utilities(X[pool]).shape == (140,)


@pytest.mark.parametrize(
    ("oracle", "words"),
    [
        (lambda rows: [0] * (len(rows) - 1), "labels of 3 rows, .* and returned 2 labels"),
        (lambda _: [], "returned 0 labels"),
        (lambda _: 1, "returned 1: it returns an array"),
        (lambda _: None, "returned None"),
        (np.zeros(7), "labels of shape .7,., and the pool has 140 rows"),
    ],
)
def test_an_oracle_that_owes_labels_is_refused(oracle, words, iris):
    X, y, first, pool = iris
    learner = ActiveLearner(GaussianNB(), batch_size=3, random_state=0).fit(X[first], y[first])
    with pytest.raises(ValueError, match=words):
        learner.run(X[pool], oracle, n_queries=6)
    assert len(learner.y_) == 10  # as before
