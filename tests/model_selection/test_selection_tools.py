"""Parts, seals, intervals, tests, stops, bounds: each against what is known of it."""

import copy
import pickle
import warnings
from math import sqrt

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, norm, ttest_rel
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as SklearnLogisticRegression
from sklearn.linear_model import Perceptron as SklearnPerceptron
from sklearn.linear_model import SGDClassifier as SklearnSGDClassifier
from sklearn.linear_model import SGDRegressor as SklearnSGDRegressor
from sklearn.metrics import accuracy_score, mean_squared_error, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from tenfold import (
    GaussianNB,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    SGDClassifier,
    SGDRegressor,
)
from tenfold.datasets import make_sine, make_three_clouds
from tenfold.model_selection.confidence_intervals import (
    bootstrap_interval,
    error_interval,
    fold_interval,
)
from tenfold.model_selection.early_stopping import EarlyStopping
from tenfold.model_selection.holdout import (
    SmallPartWarning,
    part_sizes,
    split_rows,
    split_train_test,
    split_train_validation_test,
)
from tenfold.model_selection.paired_tests import (
    bootstrap_difference,
    corrected_t_test,
    five_by_two_from_differences,
    five_by_two_test,
    mcnemar_test,
    wilcoxon_test,
)
from tenfold.model_selection.selection_bias import (
    ChosenOnTrainingWarning,
    ReusedTestWarning,
    SealedTest,
    expected_maximum,
    simulate_best_of,
    training_choice,
    warn_if_chosen_on_training,
)
from tenfold.teaching.learning_theory.generalization_bounds import (
    hoeffding_bound,
    hoeffding_sample_size,
    linear_growth,
    measure_generalization_gap,
    sauer_growth,
    vc_bound,
    vc_sample_size,
)
from tenfold.teaching.learning_theory.lookup_classifier import MemorizingClassifier
from tenfold.teaching.learning_theory.risk_minimization import (
    MemoizedOracle,
    empirical_risk,
    empirical_risk_experiment,
    expected_risk,
    minimize_empirical_risk,
    per_example_cost,
)


# --------------------------------------------------------------------------------------- parts
@given(
    n=st.integers(10, 3000),
    shares=st.sampled_from([(0.7, 0.1, 0.2), (0.5, 0.5), (0.4, 0.3, 0.2, 0.1), (1 / 3,) * 3]),
    seed=st.integers(0, 5),
)
@pytest.mark.filterwarnings("ignore::tenfold.model_selection.holdout.SmallPartWarning")
def test_parts_are_disjoint_cover_all_and_have_their_sizes(n, shares, seed):
    """[002, E36]"""
    parts = split_rows(n, shares, seed=seed)
    assert_array_equal(np.sort(np.concatenate(parts)), np.arange(n))
    assert all(abs(len(part) - n * share) < 1 for part, share in zip(parts, shares, strict=True))
    again = split_rows(n, shares, seed=seed)
    assert all(map(np.array_equal, parts, again))


def test_parts_are_random_and_depend_on_the_seed():
    a, b = split_rows(2000, seed=0), split_rows(2000, seed=1)
    assert not np.array_equal(a[2], b[2])
    assert len(a[2]) == 400
    low = (a[2] < 1000).mean()  # a hypergeometric share, standard deviation 0.022
    assert abs(low - 0.5) < 0.09


@pytest.mark.parametrize("kind", ["array", "sparse", "pandas", "polars", "list"])
def test_three_way_takes_every_kind_of_rows(kind):
    X = np.arange(2000.0).reshape(1000, 2)
    y = np.arange(1000)
    if kind in ("pandas", "polars"):
        given_X = pytest.importorskip(kind).DataFrame({"a": X[:, 0], "b": X[:, 1]})
    else:
        given_X = {"array": X, "sparse": sp.csr_array(X), "list": X.tolist()}[kind]
    parts = split_train_validation_test(given_X, y)
    assert [len(part.rows) for part in parts] == [700, 100, 200]
    for part in parts:
        assert type(part.X) is type(given_X)
        dense = part.X.toarray() if kind == "sparse" else np.asarray(part.X)
        assert_array_equal(dense, X[part.rows])
        assert_array_equal(part.y, y[part.rows])


def test_a_target_may_be_named_in_a_table():
    table = pytest.importorskip("pandas").DataFrame({"a": range(1000), "b": [0, 1] * 500})
    train, test = split_train_test(table, "b", test=0.3, stratify=True)
    assert train.y == test.y == "b"
    assert test.X["b"].mean() == 0.5


def test_stratified_parts_have_the_same_share_of_each_class():
    y = np.repeat([0, 1, 2], [900, 90, 10])
    for part in split_train_validation_test(y[:, None], y, stratify=True, shares=(0.7, 0.1, 0.2)):
        assert_allclose(
            np.bincount(part.y, minlength=3) / len(part.y), [0.9, 0.09, 0.01], atol=0.01
        )
    with pytest.raises(ValueError, match="needs y"):
        split_train_validation_test(y, stratify=True)


def test_small_parts_are_warned_of_with_their_standard_error():
    with pytest.warns(SmallPartWarning) as seen:
        split_train_validation_test(np.zeros((150, 2)))
    small, larger = (str(warning.message) for warning in seen)
    assert "15 rows" in small
    assert "up to 0.13," in small
    assert "30 rows" in larger
    assert "up to 0.091," in larger
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        split_rows(1000)  # 100 rows: standard error 0.05 at most


def test_impossible_parts_are_refused():
    with pytest.raises(ValueError, match="add up to 1"):
        part_sizes(100, (0.7, 0.7))
    with pytest.raises(ValueError, match="one is empty"):
        part_sizes(3, (0.9, 0.05, 0.05))
    with pytest.raises(TypeError, match="split_rows"):
        split_train_validation_test("rows.parquet")


# ---------------------------------------------------------------------------------------- seal
@pytest.fixture
def line():
    X = np.random.default_rng(0).normal(size=(200, 1))
    return X, 3 * X[:, 0] + np.random.default_rng(1).normal(size=200)


def test_a_sealed_test_counts_and_warns_from_the_second_opening(line):
    X, y = line
    sealed, model = SealedTest(X[100:], y[100:]), LinearRegression().fit(X[:100], y[:100])
    assert sealed.score(model) == model.score(X[100:], y[100:])
    with pytest.warns(ReusedTestWarning, match=r"used 2 times.*optimistic.*0\.56 standard"):
        mse = sealed.score(model, "neg_mean_squared_error")
    assert mse == -mean_squared_error(y[100:], model.predict(X[100:]))
    with pytest.warns(ReusedTestWarning, match="used 3 times"):
        assert sealed.open()[1] is not None
    assert (sealed.openings, len(sealed.scores)) == (3, 2)
    assert repr(sealed) == "SealedTest(100 rows, used 3 times)"


@pytest.mark.parametrize("how", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_copies_of_a_seal_remember_its_openings(line, how):
    sealed = SealedTest(*line)
    sealed.open()
    with pytest.warns(ReusedTestWarning, match="2 times"):
        how(sealed).open()


def test_a_model_that_fails_opens_nothing(line):
    sealed = SealedTest(*line)
    with pytest.raises(ValueError):
        sealed.score(LinearRegression().fit(np.ones((3, 2)), [1.0, 2.0, 3.0]))
    assert sealed.openings == 0
    with pytest.raises(ValueError, match="X has 3 rows, but y has 2"):
        SealedTest(np.ones((3, 1)), [1, 2])


# ----------------------------------------------------------------------------------- intervals
def test_wilson_and_exact_intervals_are_the_textbook_ones():
    z, n, p = norm.ppf(0.975), 100, 0.08
    centre, half = (p + z**2 / 2 / n), z * sqrt(p * (1 - p) / n + z**2 / 4 / n**2)
    found = error_interval(8, n)
    assert_allclose(found[1:3], np.array([centre - half, centre + half]) / (1 + z**2 / n))
    exact = error_interval(8, n, method="exact")
    assert_allclose(binom.sf(7, n, exact.low), 0.025, rtol=1e-6)
    assert_allclose(binom.cdf(8, n, exact.high), 0.025, rtol=1e-6)
    assert error_interval(0, 50, method="exact").high == pytest.approx(1 - 0.025 ** (1 / 50))


@given(st.integers(1, 400), st.data())
def test_intervals_of_an_error_rate_contain_it_and_hoeffdings_is_the_widest(n, data):
    wrong = data.draw(st.integers(0, n))
    found = {m: error_interval(wrong, n, method=m) for m in ("wilson", "exact", "hoeffding")}
    for interval in found.values():
        assert -1e-15 <= interval.low - 1e-15 <= wrong / n <= interval.high + 1e-15
        assert interval.high <= 1
    hoeffding, half = found["hoeffding"], sqrt(np.log(40) / 2 / n)
    assert hoeffding.high == pytest.approx(min(wrong / n + half, 1))
    mirrored = error_interval(n - wrong, n)
    assert_allclose([1 - mirrored.high, 1 - mirrored.low], found["wilson"][1:3], atol=1e-12)


def test_exact_intervals_cover_at_least_as_often_as_they_say():
    n = 30
    ends = [error_interval(k, n, level=0.9, method="exact") for k in range(n + 1)]
    for p in (0.02, 0.2, 0.5, 0.77):
        chance = binom.pmf(np.arange(n + 1), n, p)
        assert sum(c for c, i in zip(chance, ends, strict=True) if i.low <= p <= i.high) >= 0.9


def test_impossible_counts_levels_and_methods_are_refused():
    with pytest.raises(ValueError, match="5 of 3"):
        error_interval(5, 3)
    with pytest.raises(ValueError, match="there are"):
        error_interval(1, 3, method="wald")
    with pytest.raises(ValueError, match="level=95"):
        error_interval(1, 3, level=95)
    with pytest.raises(ValueError, match="there are"):
        bootstrap_interval(accuracy_score, [0, 1], [0, 0], method="basic")
    with pytest.raises(ValueError, match="error_interval"):
        bootstrap_interval(accuracy_score, [0, 1, 1], [0, 1, 1])


def test_the_bootstrap_of_a_mean_is_near_the_normal_interval():
    y = np.random.default_rng(0).normal(size=400)
    normal = 1.96 * y.std() / sqrt(400)
    for method in ("bca", "percentile"):
        found = bootstrap_interval(lambda y: y.mean(), y, method=method)
        assert_allclose([found.value - found.low, found.high - found.value], normal, rtol=0.12)


def test_the_bootstrap_covers_about_as_often_as_it_says():
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(150):
        errors = rng.exponential(size=60) ** 0.5
        found = bootstrap_interval(lambda e: (e**2).mean(), errors, draws=200, level=0.9)
        inside += found.low <= 1 <= found.high
    assert 0.78 < inside / 150 < 0.97  # BCa falls a little short on 60 skewed rows


def test_the_bootstrap_takes_metrics_of_scores():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    scores = y + rng.normal(size=200)
    found = bootstrap_interval(roc_auc_score, y, scores, draws=300)
    assert found.value == roc_auc_score(y, scores)
    assert 0.5 < found.low < found.value < found.high < 1


def test_intervals_of_folds_are_wider_than_those_of_independent_draws():
    scores = np.random.default_rng(0).normal(0.9, 0.02, 10)
    plain = fold_interval(scores, ratio=0)
    half = 2.2621571628 * scores.std(ddof=1) / sqrt(10)
    assert_allclose(plain.high - plain.value, half)
    corrected = fold_interval(scores)
    assert_allclose((corrected.high - corrected.low) / (plain.high - plain.low), sqrt(1 + 10 / 9))
    twice = fold_interval(np.tile(scores, (2, 1)))
    assert_allclose(twice.value, scores.mean())
    assert (twice.high - twice.low) > 0.75 * (corrected.high - corrected.low)  # rho stays 1/9
    with pytest.raises(ValueError, match="no spread"):
        fold_interval([0.9])


# ------------------------------------------------------------------------------------- pairs
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=3, max_size=8))
def test_swapping_models_swaps_the_sign_and_nothing_else(pairs):
    a, b = np.array(pairs).T
    for test in (corrected_t_test, wilcoxon_test):
        there, back = test(a, b), test(b, a)
        assert there.difference == -back.difference
        assert_allclose(there.p_value, back.p_value)
        assert 0 <= there.p_value <= 1


def test_without_correction_it_is_the_paired_t_test():
    a, b = np.random.default_rng(0).normal(size=(2, 12))
    found = corrected_t_test(a, b, ratio=0)
    known = ttest_rel(a, b)
    assert_allclose([found.statistic, found.p_value], [known.statistic, known.pvalue])
    ends = known.confidence_interval()
    assert_allclose(found.interval[1:3], [ends.low, ends.high])


def test_correction_keeps_the_level_where_the_plain_test_does_not():
    """Two equally good features; 15 random splits of 60 rows with a third held out."""
    rng = np.random.default_rng(0)
    plain = corrected = 0
    for _ in range(200):
        X = rng.normal(size=(60, 2))
        y = X.sum(axis=1) + rng.normal(size=60)
        errors = np.empty((15, 2))
        for split in range(15):
            order = rng.permutation(60)
            learn, held = order[:40], order[40:]
            slopes = (X[learn] * y[learn, None]).mean(axis=0) / (X[learn] ** 2).mean(axis=0)
            errors[split] = ((y[held, None] - X[held] * slopes) ** 2).mean(axis=0)
        plain += corrected_t_test(*errors.T, ratio=0).p_value < 0.05
        corrected += corrected_t_test(*errors.T, ratio=0.5).p_value < 0.05
    assert plain / 200 > 0.2
    assert corrected / 200 < 0.1


def test_mcnemar_is_a_fair_coin_over_the_rows_that_differ():
    y = np.ones(30)
    first, second = np.ones(30), np.ones(30)
    first[0], second[1:8] = 0, 0
    found = mcnemar_test(y, first, second)
    assert found.p_value == pytest.approx(2 * (1 + 8) / 2**8)
    assert found.difference == pytest.approx(6 / 30)
    assert found.interval.low < 0 < found.interval.high
    accuracies = [accuracy_score(y, said) for said in (first, second)]
    assert found.difference == pytest.approx(accuracies[0] - accuracies[1])
    second[8:12] = 0
    found = mcnemar_test(y, first, second)
    assert found.p_value < 0.05
    assert found.interval.low > 0
    assert mcnemar_test(y, first, first).p_value == 1


def test_bootstrap_of_the_difference_agrees_with_mcnemar():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    first, second = (np.where(rng.random(400) < p, y, 1 - y) for p in (0.9, 0.8))
    found = bootstrap_difference(accuracy_score, y, first, second, draws=500)
    exact = mcnemar_test(y, first, second)
    assert found.difference == pytest.approx(exact.difference)
    assert_allclose(found.interval[1:3], exact.interval[1:3], atol=0.02)
    assert found.p_value < 0.05
    assert exact.p_value < 0.05
    same = bootstrap_difference(accuracy_score, y, first, second[::-1] * 0 + first, draws=50)
    assert same.p_value == 1


def test_five_by_two_follows_dietterichs_formula():
    d = np.array([[0.02, 0.04], [0.01, 0.01], [0.03, -0.01], [0.0, 0.02], [0.02, 0.02]])
    variances = [0.0002, 0, 0.0008, 0.0002, 0]
    found = five_by_two_from_differences(d)
    assert_allclose(found.statistic, 0.02 / sqrt(sum(variances) / 5))
    assert_allclose(found.difference, d.mean())
    assert five_by_two_from_differences(np.zeros((5, 2))).p_value == 1
    with pytest.raises(ValueError, match=r"\(5, 2\)"):
        five_by_two_from_differences(np.zeros(10))


def test_five_by_two_tells_a_good_model_from_a_guess():
    X, y = make_classification(300, random_state=0)
    found = five_by_two_test(GaussianNB(), MemorizingClassifier(), X, y)
    assert found.p_value < 0.01
    assert found.difference > 0.2


def test_sentences_name_the_better_model_and_its_interval():
    a, b = np.array([0.92, 0.95, 0.93, 0.96]), np.array([0.90, 0.92, 0.92, 0.92])
    there, back = corrected_t_test(a, b), corrected_t_test(b, a)
    assert there.sentence("ridge", "lasso") == back.sentence("lasso", "ridge")
    assert there.sentence("ridge", "lasso").startswith("ridge is better than lasso by 0.025 (95 %")
    same = corrected_t_test(a, a)
    assert (same.p_value, same.statistic) == (1, 0)
    assert "score the same" in str(same)
    assert corrected_t_test(a - 1.5, a).p_value == pytest.approx(0, abs=1e-12)
    with pytest.raises(ValueError, match="in pairs"):
        corrected_t_test(a, b[:3])


# -------------------------------------------------------------------------------------- stops
@pytest.fixture(scope="module")
def noisy():
    """Few rows, many columns, wrong labels: training on goes astray."""
    return make_classification(
        240, 40, n_informative=5, n_redundant=0, flip_y=0.2, random_state=0, class_sep=0.7
    )


ROUNDS = [
    SGDClassifier(random_state=0, loss="log_loss"),
    Perceptron(random_state=0),
    LogisticRegression(C=1e6),
    SklearnSGDClassifier(random_state=0),
    SklearnPerceptron(random_state=0),
    SklearnLogisticRegression(C=1e6),
]


@pytest.mark.parametrize("inner", ROUNDS, ids=lambda model: f"{type(model).__module__}")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_is_kept_is_the_round_with_the_best_score_held_out(noisy, inner):
    """[000, C21] The kept model's own score on those rows is the best of the curve."""
    X, y = noisy
    model = EarlyStopping(inner, validation=0.3, patience=4, max_rounds=60).fit(X, y)
    curve, held = model.history_["validation"], model.validation_rows_
    assert model.best_round_ == 1 + int(curve.argmax())
    assert model.best_score_ == curve.max() >= curve[-1]
    assert accuracy_score(y[held], model.predict(X[held])) == pytest.approx(model.best_score_)
    learned = np.setdiff1d(np.arange(len(y)), held)
    at_best = model.history_["train"][model.best_round_ - 1]
    assert accuracy_score(y[learned], model.predict(X[learned])) == pytest.approx(at_best)
    assert model.n_rounds_ in {model.best_round_ + 4, 60}
    assert (np.diff(model.history_["seconds"]) >= 0).all()
    assert_allclose(y[held].mean(), y.mean(), atol=0.02)


def test_rounds_by_partial_fit_are_the_epochs_of_the_model_itself(noisy):
    X, y = noisy
    model = EarlyStopping(SklearnSGDClassifier(random_state=0), patience=3).fit(X, y)
    learned = np.setdiff1d(np.arange(len(y)), model.validation_rows_)
    by_hand = SklearnSGDClassifier(random_state=0)
    for _ in range(model.best_round_):
        by_hand.partial_fit(X[learned], y[learned], classes=[0, 1])
    assert_array_equal(by_hand.coef_, model.estimator_.coef_)
    assert_array_equal(model.decision_function(X), by_hand.decision_function(X))


@pytest.mark.parametrize(
    "inner", [SGDRegressor(random_state=0), SklearnSGDRegressor(random_state=0)]
)
def test_regressors_stop_early_in_a_pipeline_and_under_a_search(inner):
    X, y = make_regression(300, 5, noise=20, random_state=0)
    stopping = EarlyStopping(inner, scoring="neg_mean_squared_error", patience=3)
    model = make_pipeline(StandardScaler(), stopping)
    grid = {"earlystopping__model__alpha": [1e-4, 1e-1]}
    found = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert found.best_params_ == {"earlystopping__model__alpha": 1e-4}
    assert found.score(X, y) > 0.9
    last = found.best_estimator_[-1]
    assert last.best_score_ == last.history_["validation"].max() < 0


def test_weights_of_zero_are_rows_left_out(noisy):
    X, y = noisy
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 2, len(y)).astype(float)
    model = EarlyStopping(SklearnSGDClassifier(random_state=0), patience=2)
    model.fit(X, y, sample_weight=weights)
    held = model.validation_rows_[weights[model.validation_rows_] > 0]
    assert model.score(X[held], y[held]) == pytest.approx(model.best_score_)


def test_early_stopping_follows_scikit_learns_rules():
    model = EarlyStopping(SklearnSGDClassifier(random_state=0), validation=0.3, max_rounds=9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        results = check_estimator(model, on_fail=None, on_skip=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    drawn = "check_sample_weight_equivalence_on_"  # a row twice may be held out once
    assert not {name: why for name, why in failed.items() if not name.startswith(drawn)}


def test_rounds_that_do_not_suffice_are_warned_of(noisy):
    model = EarlyStopping(SklearnSGDClassifier(random_state=0), max_rounds=2)
    with pytest.warns(ConvergenceWarning, match="increase max_rounds"):
        model.fit(*noisy)


def test_models_without_rounds_are_refused(noisy):
    with pytest.raises(TypeError, match="one pass"):
        EarlyStopping(GaussianNB()).fit(*noisy)
    with pytest.raises(TypeError, match="wrap the last step"):
        EarlyStopping(make_pipeline(StandardScaler(), SGDClassifier())).fit(*noisy)
    with pytest.raises(TypeError, match="counts further rounds"):
        EarlyStopping(HistGradientBoostingClassifier()).fit(*noisy)
    with pytest.raises(ValueError, match="not finite in 5 rounds"):
        EarlyStopping(SklearnPerceptron(), scoring=lambda *_: np.nan).fit(*noisy)


# ------------------------------------------------------------------------------------- bounds
def test_hoeffdings_gap_is_kept_by_a_fixed_machine():
    """The promise fails no more often than it may: exact, by the binomial distribution."""
    for n, p in [(20, 0.5), (100, 0.1), (1000, 0.3)]:
        gap = hoeffding_bound(n, delta=0.05)
        wrong = np.arange(n + 1)
        outside = np.abs(wrong / n - p) > gap
        assert binom.pmf(wrong, n, p)[outside].sum() <= 0.05


@given(st.integers(1, 10**6), st.integers(1, 10**9), st.floats(1e-6, 0.5))
def test_gaps_fall_as_one_over_the_root_of_n(n, hypotheses, delta):
    assert hoeffding_bound(4 * n, hypotheses, delta) == pytest.approx(
        hoeffding_bound(n, hypotheses, delta) / 2
    )
    assert hoeffding_bound(n, hypotheses + 1, delta) > hoeffding_bound(n, hypotheses, delta)


@pytest.mark.parametrize("gap", [0.3, 0.05, 0.011])
def test_rows_for_a_gap_are_the_fewest(gap):
    n = hoeffding_sample_size(gap, 50)
    assert hoeffding_bound(n, 50) <= gap < hoeffding_bound(n - 1, 50)
    for growth in (sauer_growth, linear_growth):
        n = vc_sample_size(gap, 4, growth=growth)
        assert vc_bound(n, 4, growth=growth) <= gap < vc_bound(n - 1, 4, growth=growth)


def labellings(points, vc):
    """All sign patterns of hyperplanes with a constant, from very many random ones."""
    rng = np.random.default_rng(0)
    raised = np.column_stack([points, np.ones(len(points))])
    return len(np.unique(raised @ rng.normal(size=(vc, 200_000)) > 0, axis=1).T)


@pytest.mark.parametrize(("n", "columns"), [(3, 2), (4, 2), (5, 2), (6, 2), (5, 3), (4, 1)])
def test_hyperplanes_give_as_many_labellings_as_cover_counted(n, columns):
    points = np.random.default_rng(n).normal(size=(n, columns))
    assert labellings(points, columns + 1) == round(np.exp(linear_growth(n, columns + 1)))


@given(st.integers(1, 3000), st.integers(1, 40))
def test_sauer_bounds_the_growth_of_linear_classifiers(n, vc):
    exact, bound = linear_growth(n, vc), sauer_growth(n, vc)
    assert exact <= bound + 1e-9
    if n <= vc:
        assert exact == pytest.approx(n * np.log(2), rel=1e-9)  # shattered


def test_measured_gaps_stay_below_the_bound_and_fall_as_the_root():
    def cloud(n, rng):
        X = rng.normal(size=(n, 2))
        return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int)

    found = measure_generalization_gap(
        SklearnLogisticRegression(), cloud, [25, 100, 400, 1600], repeats=30, fresh=10_000
    )
    bound = [vc_bound(n, 3, growth=linear_growth) for n in found.sizes]
    assert (found.quantile(0.05) < bound).all()
    assert -0.7 < found.power < -0.35
    assert found.empirical[0].mean() < found.expected[0].mean()  # too good on few own rows
    bayes = 0.25  # angle between the true and the seen direction over pi
    assert_allclose(found.expected[-1].mean(), bayes, atol=0.01)


def test_bounds_refuse_what_means_nothing():
    with pytest.raises(ValueError, match="n=0"):
        hoeffding_bound(0)
    with pytest.raises(ValueError, match="delta=1"):
        vc_bound(10, 3, delta=1)
    with pytest.raises(ValueError, match="at least 1"):
        hoeffding_bound(10, 0)
    with pytest.raises(ValueError, match="gap=0"):
        vc_sample_size(0, 3)


# ------------------------------------------------------------------------------------ honesty
def test_the_best_of_many_normal_numbers():
    """[002, E35] The best of 100 equally good tries is about 2.5 standard errors too good."""
    assert expected_maximum(100) == pytest.approx(2.50759, abs=1e-5)
    assert expected_maximum(2) == pytest.approx(1 / sqrt(np.pi))
    assert expected_maximum(3) == pytest.approx(1.5 / sqrt(np.pi))
    assert expected_maximum(1) == 0
    drawn = np.random.default_rng(0).normal(size=(4000, 1000)).max(axis=1)
    assert expected_maximum(1000) == pytest.approx(drawn.mean(), abs=5 * drawn.std() / sqrt(4000))


def test_the_best_of_100_is_too_good_and_fresh_rows_are_not():
    found = simulate_best_of(100, rows=500, accuracy=0.7)
    assert found.optimism == pytest.approx(found.expected, rel=0.05)
    spread = sqrt(0.21 / 500)
    assert found.optimism == pytest.approx(2.5 * spread, rel=0.07)
    assert found.fresh.mean() == pytest.approx(0.7, abs=5 * spread / sqrt(2000))
    assert simulate_best_of(1, accuracy=0.7).optimism == pytest.approx(0, abs=0.002)
    with pytest.raises(ValueError, match="accuracy=80"):
        simulate_best_of(accuracy=80)


def test_the_training_score_takes_the_largest_degree():
    """[000, C20; 002, E35]"""
    X, y = make_sine(15, random_state=1)
    X_new, y_new = make_sine(500, random_state=2)
    degrees, scores = list(range(1, 10)), []
    for degree in degrees:
        model = make_pipeline(PolynomialFeatures(degree), LinearRegression()).fit(X, y)
        scores.append([-((model.predict(a) - b) ** 2).mean() for a, b in [(X, y), (X_new, y_new)]])
    found = training_choice(degrees, *np.transpose(scores))
    assert found.on_training == 9
    assert 3 <= found.on_held_out <= 5
    assert found.loss > 0
    assert "chooses 9, the validation score" in str(found)
    assert "agree on 1" in str(training_choice([1, 2], [1, 0], [1, 0]))


def test_judging_by_learned_rows_is_warned_of():
    X = np.random.default_rng(0).normal(size=(50, 3))
    with pytest.warns(ChosenOnTrainingWarning, match="10 of the 30 rows"):
        assert warn_if_chosen_on_training(X[:30], X[20:]) == 10
    assert warn_if_chosen_on_training(X[:30], X[30:]) == 0
    with pytest.warns(ChosenOnTrainingWarning):
        warn_if_chosen_on_training([[0.0]], [[-0.0]])


def test_the_memorising_classifier_knows_its_rows_and_nothing_else():
    """[003, A017] Training error 0; every other row is -1; with a radius it starts to learn."""
    X, y = make_three_clouds(200, random_state=0)
    X_new, y_new = make_three_clouds(400, random_state=1)
    signs, signs_new = 2 * y - 1, 2 * y_new - 1
    model = MemorizingClassifier().fit(X, signs)
    assert model.score(X, signs) == 1
    assert (model.predict(X + 1e-9) == -1).all()
    assert model.score(X_new, signs_new) == (signs_new == -1).mean()
    assert clone(model).set_params(radius=np.inf).fit(X, signs).score(X_new, signs_new) > 0.97


def test_memory_is_at_chance_on_balanced_noise():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 4)), rng.integers(0, 2, 400)
    model = MemorizingClassifier().fit(X[:200], y[:200])
    assert model.score(X[:200], y[:200]) == 1
    assert abs(model.score(X[200:], y[200:]) - 0.5) < 0.12


def test_memory_follows_scikit_learns_rules():
    check_estimator(MemorizingClassifier(radius=np.inf), on_skip=None)


# -------------------------------------------------------------------------------------- frame
def test_the_reference_machine_is_asked_once_per_example():
    calls = []

    def expert(X):
        calls.append(len(X))
        return X[:, 0] > 0

    reference = MemoizedOracle(expert)
    X = np.array([[1.0], [-1.0], [1.0]])
    assert reference(X).tolist() == [True, False, True]
    assert reference(X).tolist() == [True, False, True]
    assert reference(np.array([[-1.0], [5.0]])).tolist() == [False, True]
    assert (calls, reference.asked) == ([2, 1], 3)


def test_costs_are_the_users_own():
    """[000, C2] False alarm 10, missed thief 100; alarm where p(thief) > 1/11."""
    costs = [[0, 10], [100, 0]]
    assert per_example_cost(costs, [0, 1], [1, 0]).tolist() == [10, 100]
    never, always = (lambda X: np.zeros(len(X), int)), (lambda X: np.ones(len(X), int))
    X = np.arange(22.0)[:, None]
    for thieves, best in [(1, never), (3, always)]:
        y = (X[:, 0] < thieves).astype(int)
        assert minimize_empirical_risk([never, always], X, y, cost=costs) is best
        assert (
            minimize_empirical_risk([never, always], X, y) is never
        )  # 0-1 cost asks for the larger class
    assert per_example_cost("squared", [1.0], [3.0]).tolist() == [4]
    assert per_example_cost(lambda y, a: (y - a) ** 4, [1.0], [3.0]).tolist() == [16]
    with pytest.raises(ValueError, match="choose one of"):
        per_example_cost("hinge", [1], [1])


def test_weights_and_complexity_enter_the_cost():
    """[000, (1.3), (1.4)] Unlikely inputs matter little; a dear machine must earn its keep."""
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    zero, identity = (lambda X: np.zeros(len(X))), (lambda X: X[:, 0])
    options = {"complexity": lambda m: 3.0 if m is identity else 1.0, "strength": 0.01}
    assert empirical_risk(zero, X, y, weights=[0.9, 0.1], **options) == pytest.approx(0.11)
    assert empirical_risk(identity, X, y, **options) == pytest.approx(0.03)
    rare = {"weights": [0.999, 0.001]}
    assert minimize_empirical_risk([zero, identity], X, y, **rare, **options) is zero
    assert minimize_empirical_risk([zero, identity], X, y, **options) is identity


def test_empirical_cost_is_unbiased_and_its_error_falls_as_the_root():
    """[000, C4] The standard deviation is sqrt(R (1 - R) / N) for a 0-1 cost."""
    X, p = np.arange(5.0)[:, None], np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    machine, reference = (lambda X: X[:, 0] > 2), (lambda X: X[:, 0] > 0)
    R = expected_risk(machine, reference, (X, p))
    assert pytest.approx(0.45) == R
    sizes = [10, 40, 160, 640]
    found = empirical_risk_experiment(machine, reference, (X, p), sizes, repeats=800)
    spread = np.sqrt(R * (1 - R) / np.array(sizes))
    assert_allclose(found.std(axis=1), spread, rtol=0.1)
    assert (np.abs(found.mean(axis=1) - R) < 4 * spread / sqrt(800)).all()
    drawn = expected_risk(machine, reference, lambda n, rng: X[rng.choice(5, n, p=p)])
    assert drawn == pytest.approx(R, abs=0.006)
