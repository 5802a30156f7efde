"""Bounds of generalization, and costs of any machine."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression as SklearnLogisticRegression

from tenfold.teaching.learning_theory.generalization_bounds import (
    hoeffding_bound,
    hoeffding_sample_size,
    linear_growth,
    measure_generalization_gap,
    sauer_growth,
    vc_bound,
    vc_sample_size,
)
from tenfold.teaching.learning_theory.risk_minimization import (
    MemoizedOracle,
    empirical_risk,
    empirical_risk_experiment,
    expected_risk,
    minimize_empirical_risk,
    per_example_cost,
)


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
