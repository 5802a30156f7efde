"""Decisions of least cost: the notes' thresholds, brute force over all rules, any classifier."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, optimize, stats
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression as TheirLogistic
from sklearn.linear_model import Perceptron
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import tenfold
from tenfold import GaussianNB, LogisticRegression
from tenfold.inspection.cost_sensitive import CostSensitiveClassifier
from tenfold.math.decision_costs import (
    cost_class_weights,
    cost_report,
    decision_threshold,
    expected_cost,
    least_cost_decision,
)
from tenfold.teaching.bayes_estimators import (
    FiniteBelief,
    NormalBelief,
    bayes_estimate,
    expected_loss,
)

ALARM = np.array([[0, 10], [100, 0]])  # 000 C2: rows quiet, thief; columns silent, alarm
X_RAY = np.array([[0, 1], [1000, 0]])  # 001 1-23: rows normal, cancer
CALM = settings(max_examples=40, deadline=None)


def shares(rows, columns):
    """Tables of probabilities whose rows sum to one."""
    entries = st.integers(0, 6)
    return arrays(np.int64, (rows, columns), elements=entries).map(
        lambda a: (a + 0.25) / (a + 0.25).sum(axis=1, keepdims=True)
    )


def costs_of(k, m):
    return arrays(np.float64, (k, m), elements=st.integers(0, 9).map(float))


# ----------------------------------------------------------------------------- cost matrices


def test_thresholds_of_the_notes():
    assert decision_threshold(ALARM) == pytest.approx(1 / 11)
    assert decision_threshold(X_RAY) == pytest.approx(1 / 1001)
    assert decision_threshold(1 - np.eye(2)) == 0.5
    assert ALARM[0, 1] != ALARM[1, 0]


@pytest.mark.parametrize("costs", [ALARM, X_RAY, [[-5, 3], [4, -2]]])
def test_deciding_by_cost_is_deciding_by_threshold(costs):
    p = np.linspace(0, 1, 4001) + 1e-7
    decided = least_cost_decision(np.column_stack([1 - p, p]), costs)
    assert_array_equal(decided, p > decision_threshold(costs))


def test_equal_costs_go_to_the_first_decision():
    assert least_cost_decision([[0.5, 0.5]], 1 - np.eye(2)) == 0
    assert least_cost_decision([1.0, 0.0], [[3, 3], [0, 1]]) == 0


@CALM
@given(shares(6, 4))
def test_zero_one_costs_give_the_most_probable_class(P):
    cost = expected_cost(P, 1 - np.eye(4))  # 001 1-24
    assert_allclose(cost, 1 - P, atol=1e-15)
    # equal shares may round apart by a bit: the choice costs no more than the least
    assert_allclose(cost[np.arange(6), P.argmax(axis=1)], cost.min(axis=1), atol=1e-15)


@CALM
@given(shares(1, 9), costs_of(3, 4))
def test_no_rule_beats_the_conditional_one(joint, costs):
    joint = joint.reshape(3, 3)  # p(x, y) of three x and three y; 001 1-26
    given_x = joint / joint.sum(axis=1, keepdims=True)
    total = lambda rule: sum(joint[x] @ costs[:, d] for x, d in enumerate(rule))  # noqa: E731
    least = min(total(rule) for rule in product(range(4), repeat=3))
    assert total(least_cost_decision(given_x, costs)) == pytest.approx(least, abs=1e-12)


def test_a_weighted_training_builds_costs_in():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    X = (y + rng.normal(size=4000))[:, None]
    weights = dict(enumerate(cost_class_weights(ALARM)))
    weighted = LogisticRegression(C=np.inf, class_weight=weights, tol=1e-8).fit(X, y)
    plain = CostSensitiveClassifier(LogisticRegression(C=np.inf, tol=1e-8), ALARM).fit(X, y)
    assert np.mean(weighted.predict(X) == plain.predict(X)) > 0.99
    with pytest.raises(ValueError, match="two classes"):
        cost_class_weights(np.ones((3, 3)))
    with pytest.raises(ValueError, match="right decision must cost less"):
        decision_threshold([[1, 0], [1, 0]])


def test_report_counts_costs():
    y, said = np.array(["q", "q", "t", "t", "t"]), np.array(["q", "t", "t", "q", "q"])
    report = cost_report(y, said, ALARM, weights=[1, 2, 1, 1, 0.5])
    assert_array_equal(report.counts, [[1, 2], [1.5, 1]])
    assert report.total == 2 * 10 + 1.5 * 100
    assert report.mean == report.total / 5.5
    assert_allclose(report.by_class, [20 / 3, 150 / 2.5])
    assert_allclose(report.constant, [250 / 5.5, 30 / 5.5])
    empty = cost_report(["q"], ["q"], ALARM, classes=["q", "t"])
    assert_array_equal(empty.by_class, [0, 0])
    with pytest.raises(ValueError, match="2 classes and 2 decisions"):
        cost_report(y, said, np.ones((2, 3)))
    with pytest.raises(ValueError, match="'z'"):
        cost_report(y, np.full(5, "z"), ALARM)
    with pytest.raises(ValueError, match="finite"):
        least_cost_decision([[1.0, 0.0]], [[0, np.nan], [1, 0]])


# ----------------------------------------------------------------------------- the classifier


def two_classes(n=600):
    return make_classification(n, 5, flip_y=0.2, random_state=0)


@pytest.mark.parametrize("inner", [TheirLogistic(), LogisticRegression(), GaussianNB()])
def test_classifier_decides_at_the_threshold(inner):
    X, y = two_classes()
    model = CostSensitiveClassifier(inner, ALARM).fit(X, y)
    assert model.threshold_ == pytest.approx(1 / 11)
    assert_array_equal(model.predict(X), model.predict_proba(X)[:, 1] > 1 / 11)
    alone = clone(inner).fit(X, y)
    assert_allclose(model.expected_cost(X), expected_cost(alone.predict_proba(X), ALARM))
    assert model.score(X, y) == -model.report(X, y).mean
    plain = CostSensitiveClassifier(inner).fit(X, y)
    assert_array_equal(plain.predict(X), alone.predict(X))
    assert plain.score(X, y) == pytest.approx(np.mean(plain.predict(X) == y) - 1)
    assert model.score(X, y) > -cost_report(y, plain.predict(X), ALARM).mean


def test_rejects_where_doubt_is_dear():
    X, y = load_iris(return_X_y=True)  # Chow's rule: 1 - max p against the cost of rejecting
    model = CostSensitiveClassifier(LogisticRegression(), reject=0.2).fit(X, y)
    unsure = model.predict_proba(X).max(axis=1) < 0.8
    assert 0 < unsure.sum() < 60
    assert_array_equal(model.predict(X) == -1, unsure)
    assert_array_equal(model.predict(X)[~unsure], model.predict_proba(X).argmax(axis=1)[~unsure])
    assert model.report(X, y).counts[:, -1].sum() == unsure.sum()
    counts = []
    for reject in (0.01, 0.1, 0.3, 0.6, 1.0):
        rejected = model.set_params(reject=reject).fit(X, y).predict(X) == -1
        counts.append(rejected.sum())
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 0


def test_labels_of_rejected_rows():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    model = CostSensitiveClassifier(LogisticRegression(), reject=0.1)
    assert set(model.fit(X, names).predict(X)) == {"a", "b", "c", "rejected"}
    assert set(model.set_params(reject_label="?").fit(X, names).predict(X)) == {"a", "b", "c", "?"}
    assert set(model.set_params(reject_label=9).fit(X, y).predict(X)) == {0, 1, 2, 9}
    with pytest.raises(ValueError, match="reject_label=-1 is a decision already"):
        model.set_params(reject_label=None).fit(X, y - 1)
    never_c = model.set_params(reject=[0, 0.4, 5]).fit(X, names)
    assert_array_equal(never_c.costs_[:, -1], [0, 0.4, 5])


def test_decisions_other_than_classes():
    X, y = two_classes()
    costs = [[0, 2, 9], [50, 5, 0]]
    model = CostSensitiveClassifier(LogisticRegression(), costs, decisions=["go", "look", "stop"])
    model.fit(X, y)
    assert set(model.predict(X)) == {"go", "look", "stop"}
    P = model.predict_proba(X)
    best = [min(range(3), key=lambda d: P[i] @ np.array(costs)[:, d]) for i in range(len(X))]
    assert_array_equal(model.predict(X), np.array(["go", "look", "stop"])[best])
    assert model.report(X, y).counts.shape == (2, 3)
    with pytest.raises(ValueError, match=r"3 decisions.*shape \(2, 2\)"):
        model.set_params(costs=ALARM).fit(X, y)
    with pytest.raises(ValueError, match="row for each of the 2 classes"):
        model.set_params(costs=np.ones((3, 3))).fit(X, y)


def test_needs_probabilities():
    X, y = two_classes()
    with pytest.raises(TypeError, match="CalibratedClassifierCV"):
        CostSensitiveClassifier(Perceptron(), ALARM).fit(X, y)
    calibrated = CalibratedClassifierCV(Perceptron(), cv=3)
    assert CostSensitiveClassifier(calibrated, ALARM).fit(X, y).score(X, y) > -50


def test_weights_and_other_arguments_reach_the_classifier():
    X, y = two_classes()
    w = np.random.default_rng(0).integers(0, 3, len(X))
    model = CostSensitiveClassifier(LogisticRegression(tol=1e-9), ALARM).fit(X, y, sample_weight=w)
    alone = LogisticRegression(tol=1e-9).fit(X, y, sample_weight=w)
    assert_array_equal(model.estimator_.coef_, alone.coef_)
    pipe = make_pipeline(StandardScaler(), TheirLogistic())
    steps = CostSensitiveClassifier(pipe, ALARM).fit(X, y, logisticregression__sample_weight=w)
    assert_allclose(
        steps.estimator_[-1].coef_,
        clone(pipe).fit(X, y, logisticregression__sample_weight=w)[-1].coef_,
    )
    report = model.report(X, y, w)
    assert_allclose(report.counts.sum(axis=1), np.bincount(y, w))


def test_selects_by_cost():
    X, y = two_classes()
    model = CostSensitiveClassifier(LogisticRegression(), ALARM)
    assert set(model.get_params()) >= {"estimator__C", "costs", "reject"}
    search = GridSearchCV(model, {"estimator__C": [1e-3, 1.0]}, cv=3).fit(X, y)
    by_hand = [
        np.mean(cross_val_score(clone(model).set_params(estimator__C=C), X, y, cv=3))
        for C in (1e-3, 1.0)
    ]
    assert_allclose(search.cv_results_["mean_test_score"], by_hand)


def test_learns_from_files_and_rows(tmp_path):
    X, y = two_classes()
    here = CostSensitiveClassifier(LogisticRegression(), ALARM, reject=3).fit(X, y)
    np.save(tmp_path / "rows.npy", X)
    np.save(tmp_path / "labels.npy", y)
    table = np.column_stack([X, y])
    np.savetxt(tmp_path / "rows.csv", table, delimiter=",", header="a,b,c,d,e,y", comments="")
    for rows, target in (
        (tmp_path / "rows.csv", "y"),
        (tenfold.open(tmp_path / "rows.csv", target="y"), None),
    ):
        there = clone(here).fit(rows, target)
        assert_array_equal(there.estimator_.coef_, here.estimator_.coef_)
        assert_array_equal(there.predict(tmp_path / "rows.csv"), here.predict(X))
    assert_array_equal(here.predict(tmp_path / "rows.npy"), here.predict(X))


def test_saves(tmp_path, monkeypatch):
    home = "tenfold.inspection.cost_sensitive"
    monkeypatch.setitem(tenfold._WHERE, "CostSensitiveClassifier", home)
    X, y = two_classes()
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    model = CostSensitiveClassifier(pipe, ALARM, reject=3, reject_label=7).fit(X, y)
    model.save(tmp_path / "model.tenfold")
    again = tenfold.load(tmp_path / "model.tenfold")
    assert_array_equal(again.predict(X), model.predict(X))
    assert_array_equal(again.expected_cost(X), model.expected_cost(X))
    assert_array_equal(clone(again).fit(X, y).predict(X), model.predict(X))


@pytest.mark.parametrize("inner", [LogisticRegression(), GaussianNB()])
def test_obeys_scikit_learn(inner):
    results = check_estimator(CostSensitiveClassifier(inner), on_fail=None, on_skip=None)
    failed = [f"{r['check_name']}: {r['exception']}" for r in results if r["status"] == "failed"]
    assert not failed, "\n".join(failed)


# -------------------------------------------------------------------------------- best guesses

LOSSES = [("squared", 0.5), ("absolute", 0.5), ("quantile", 0.2), ("quantile", 0.9)]


@CALM
@given(
    st.lists(st.integers(-20, 20), min_size=1, max_size=12),
    st.randoms(use_true_random=False),
    st.sampled_from([*LOSSES, ("zero-one", 0.5)]),
)
def test_no_guess_beats_the_best_one(values, random, loss):
    name, q = loss
    belief = FiniteBelief(values, [random.random() + 0.01 for _ in values])
    best = bayes_estimate(belief, name, q)
    least = expected_loss(belief, best, name, q)
    tries = np.concatenate([values, np.linspace(-21, 21, 127), best + np.array([-1e-3, 1e-3])])
    assert (expected_loss(belief, tries, name, q) >= least - 1e-12).all()


@pytest.mark.parametrize(("loss", "q"), LOSSES)
def test_guesses_about_a_normal(loss, q):
    belief = NormalBelief(np.array([1.0, -3.0]), np.array([2.0, 0.5]))
    best = bayes_estimate(belief, loss, q)
    for i in range(2):
        one = NormalBelief(belief.mean[i], belief.standard_deviation[i])
        found = optimize.minimize_scalar(lambda g, one=one: float(expected_loss(one, g, loss, q)))
        assert best[i] == pytest.approx(found.x, abs=1e-5)
        values = stats.norm.ppf((np.arange(20000) + 0.5) / 20000, *one)  # as a sample
        assert bayes_estimate(FiniteBelief(values), loss, q) == pytest.approx(best[i], abs=1e-2)
        for guess in (best[i], best[i] + 1.3):
            direct = expected_loss(FiniteBelief(values), guess, loss, q)
            assert expected_loss(one, guess, loss, q) == pytest.approx(float(direct), rel=1e-2)


def test_squared_loss_is_variance_plus_distance():
    values, p = np.array([1.0, 4.0, 6.0]), np.array([0.5, 0.25, 0.25])  # 001 1-25
    belief, mean = FiniteBelief(values, p), p @ values
    assert bayes_estimate(belief) == mean
    variance = p @ (values - mean) ** 2
    assert expected_loss(belief, mean) == pytest.approx(variance)
    assert expected_loss(belief, 9.0) == pytest.approx((9 - mean) ** 2 + variance)


def test_guesses_in_corners():
    sample = [3, 1, 2, 2]
    assert bayes_estimate(FiniteBelief(sample), "zero-one") == 2
    assert bayes_estimate(FiniteBelief([5, 1], [1, 1]), "zero-one") == 1  # a tie: the smallest
    assert bayes_estimate(FiniteBelief([4, 1, 2, 3]), "absolute") == 2
    assert bayes_estimate(FiniteBelief(np.arange(10)), "quantile", q=0.3) == 2
    many = bayes_estimate(FiniteBelief([0, 1], [[0.9, 0.1], [0.2, 0.8]]), "zero-one")
    assert_array_equal(many, [0, 1])
    assert bayes_estimate(NormalBelief(4.0, 1.0), "zero-one") == 4
    assert expected_loss(NormalBelief(4.0, 1.0), 4.0, "zero-one") == 1
    density = lambda e: abs(e) * stats.norm.pdf(e)  # noqa: E731
    exact = integrate.quad(density, -9, 9, points=[0])[0]
    assert expected_loss(NormalBelief(0.0, 1.0), 0.0, "absolute") == pytest.approx(exact)
    with pytest.raises(ValueError, match="one of"):
        bayes_estimate(FiniteBelief(sample), "cubic")
    with pytest.raises(ValueError, match="between 0 and 1"):
        bayes_estimate(FiniteBelief(sample), "quantile", q=1.0)
    with pytest.raises(ValueError, match="negative"):
        bayes_estimate(FiniteBelief([1, 2], [-1, 2]))


def test_stocking_by_costs_of_too_little_and_too_much():
    a, b = 3.0, 1.0  # too low costs three times as much
    best = bayes_estimate(NormalBelief(100.0, 20.0), "quantile", q=a / (a + b))
    cost = lambda g: integrate.quad(  # noqa: E731
        lambda y: max(a * (y - g), b * (g - y)) * stats.norm.pdf(y, 100, 20), 0, 200, points=[g]
    )[0]
    assert cost(best) <= min(cost(best - 0.5), cost(best + 0.5))
