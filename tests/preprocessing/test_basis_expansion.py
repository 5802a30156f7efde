"""Features made of features, indicators among them: L05 and L21."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import OneHotEncoder

import tenfold
from tenfold import LinearRegression, LogisticRegression
from tenfold.preprocessing.basis_expansion import (
    FourierFeatures,
    FunctionFeatures,
    RotationAbs,
)
from tenfold.preprocessing.indicator_features import IndicatorFeatures
from tenfold.preprocessing.rbf_features import RadialFeatures

CORNERS = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
XOR = np.array([1, 1, 0, 0])


def noisy_xor(n=400, seed=0):
    rng = np.random.default_rng(seed)
    which = rng.integers(0, 4, n)
    return CORNERS[which] + 0.2 * rng.normal(size=(n, 2)), XOR[which]


# ------------------------------------------------------------------------------------- radial
def test_radial_features_solve_xor_with_weights_set_by_hand():
    """[000, C37] The score is 4 exp(-|x|^2 - 2) sinh(2 x1) sinh(2 x2): sign(x1 x2) everywhere."""
    X = np.random.default_rng(0).normal(size=(200, 2))
    score = RadialFeatures(CORNERS).fit(CORNERS).transform(X) @ [1, 1, -1, -1]
    closed = 4 * np.exp(-(X**2).sum(axis=1) - 2) * np.sinh(2 * X[:, 0]) * np.sinh(2 * X[:, 1])
    assert_allclose(score, closed, rtol=1e-9, atol=1e-12)


def test_a_bump_is_one_at_its_centre_and_falls_with_the_distance():
    bump = RadialFeatures([[2.0]], width=3.0).fit([[0.0]])
    values = bump.transform(np.array([[2.0], [5.0], [8.0], [1e3]])).ravel()
    assert_allclose(values, [1, np.exp(-1), np.exp(-4), 0])


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        ("gaussian", np.exp(-4)),
        ("inverse_multiquadric", 1 / np.sqrt(5)),
        ("multiquadric", np.sqrt(5)),
        ("thin_plate", 4 * np.log(2)),
    ],
)
def test_shapes_of_bumps(shape, wanted):
    made = RadialFeatures([[0.0]], width=2.0, shape=shape).fit_transform([[4.0], [0.0]])
    assert made[0, 0] == pytest.approx(wanted)
    assert np.isfinite(made).all()


def test_random_centres_are_different_training_rows():
    X = np.random.default_rng(0).normal(size=(50, 3))
    drawn = RadialFeatures(n_centers=50, random_state=1).fit(X).centers_
    assert_array_equal(np.unique(drawn, axis=0), np.unique(X, axis=0))
    some = RadialFeatures(n_centers=7, random_state=1).fit(X).centers_
    assert all((row == X).all(axis=1).any() for row in some)
    assert len(np.unique(some, axis=0)) == 7


def test_a_grid_spans_the_rows():
    X = np.array([[0.0, 10.0], [4.0, 30.0]])
    centres = RadialFeatures("grid", n_centers=3).fit(X).centers_
    assert_array_equal(np.unique(centres[:, 0]), [0, 2, 4])
    assert_array_equal(np.unique(centres[:, 1]), [10, 20, 30])
    assert len(centres) == 9
    with pytest.raises(ValueError, match="centers='random'"):
        RadialFeatures("grid", n_centers=10).fit(np.zeros((2, 6)))


def test_wrong_centres_and_widths_say_so():
    with pytest.raises(ValueError, match=r"need \(number of centers, 2\)"):
        RadialFeatures([[1.0]]).fit(CORNERS)
    with pytest.raises(ValueError, match="3 widths for 4 centers"):
        RadialFeatures(CORNERS, width=[1.0, 2.0, 3.0]).fit(CORNERS)


@pytest.mark.parametrize("basis", [RotationAbs(), RadialFeatures(CORNERS)])
def test_xor_is_linear_in_the_features_only(basis):
    """[000, C32, C35] A line gets at most three of four clouds right; with the features, all."""
    X, y = noisy_xor()
    assert LogisticRegression().fit(X, y).score(X, y) < 0.8
    assert make_pipeline(basis, LogisticRegression()).fit(X, y).score(X, y) == 1.0


# ----------------------------------------------------------------------------------- rotation
def test_rotation_and_fold_of_the_corners():
    """[000, C35] All four corners land on two points; a turn the other way swaps the columns."""
    root = np.sqrt(2)
    wanted = [[0, root], [0, root], [root, 0], [root, 0]]
    assert_allclose(RotationAbs(45).fit_transform(CORNERS), wanted, atol=1e-15)
    assert_allclose(RotationAbs(-45).fit_transform(CORNERS)[:, ::-1], wanted, atol=1e-15)


def test_rotation_of_chosen_columns_keeps_the_others():
    X = np.random.default_rng(0).normal(size=(5, 3))
    made = RotationAbs(30, columns=(2, 0), keep_original=True).fit(X)
    out = made.transform(X)
    assert_array_equal(out[:, :3], X)
    assert_allclose(np.hypot(*out[:, 3:].T), np.hypot(X[:, 0], X[:, 2]))
    assert made.get_feature_names_out().tolist()[3:] == ["|rotated x2|", "|rotated x0|"]
    with pytest.raises(ValueError, match="two columns"):
        RotationAbs(columns=(0, 3)).fit(X)


# ------------------------------------------------------------------------------ sines, functions
@given(st.floats(0.5, 20), st.floats(-50, 50), st.integers(1, 5))
def test_waves_have_their_period_and_unit_length(period, x, order):
    basis = FourierFeatures(order, period=period, keep_original=False).fit([[0.0]])
    here, there = basis.transform([[x], [x + period]])
    assert_allclose(here, there, atol=1e-9)
    assert_allclose(here[::2] ** 2 + here[1::2] ** 2, 1)


def test_waves_by_column_and_order_with_their_names():
    X = np.array([[0.25, 0.0], [1.0, 8.0], [0.0, 1.0]])
    basis = FourierFeatures(2).fit(X)
    assert_array_equal(basis.period_, [1, 8])  # the span of each column
    first = basis.transform(X)[0]
    assert_allclose(first, [0.25, 0, 1, 0, 0, -1, 0, 1, 0, 1], atol=1e-15)
    assert basis.get_feature_names_out(["a", "b"]).tolist()[:5] == [
        "a",
        "b",
        "sin1(a)",
        "cos1(a)",
        "sin2(a)",
    ]
    with pytest.raises(ValueError, match="period"):
        FourierFeatures(period=[1.0, -1.0]).fit(X)


def test_waves_of_a_sine_are_fitted_exactly():
    x = np.linspace(0, 6, 100)[:, None]
    y = np.sin(2 * np.pi * x[:, 0] / 3) - 2
    model = make_pipeline(FourierFeatures(2, period=3.0), LinearRegression()).fit(x, y)
    assert_allclose(model[-1].coef_, [0, 1, 0, 0, 0], atol=1e-12)


def test_own_functions_of_the_note():
    """[004, 2-16] (2, pi/2) -> (2, 4, pi/2, 1)."""
    own = [lambda X: X[:, 0], lambda X: X[:, 0] ** 2, lambda X: X[:, 1], lambda X: np.sin(X[:, 1])]
    made = FunctionFeatures(own, keep_original=False).fit_transform([[2.0, np.pi / 2]])
    assert_allclose(made, [[2, 4, np.pi / 2, 1]])


def test_own_functions_of_several_columns_and_predicates():
    X = np.arange(6.0).reshape(3, 2)
    basis = FunctionFeatures([np.square, lambda X: X[:, 0] > 1]).fit(X)
    assert_array_equal(basis.transform(X), np.column_stack([X, X**2, X[:, 0] > 1]))
    assert basis.get_feature_names_out().tolist() == [
        "x0",
        "x1",
        "square(x0)",
        "square(x1)",
        "<lambda>",
    ]
    with pytest.raises(ValueError, match="one output per row"):
        FunctionFeatures([lambda X: X.sum()]).fit(X)


def test_bases_compose():
    """A union, a pipeline of two, float32 all the way, and rows from a file give what arrays do."""
    X, y = noisy_xor()
    union = FeatureUnion([("radial", RadialFeatures(CORNERS)), ("waves", FourierFeatures(1))])
    assert union.fit_transform(X).shape == (len(X), 4 + 2 + 4)
    assert union.get_feature_names_out().tolist()[:2] == ["radial__near0", "radial__near1"]
    deep = make_pipeline(RotationAbs(), RadialFeatures(n_centers=5, random_state=0))
    out = deep.fit_transform(X.astype(np.float32), y)
    assert out.shape == (len(X), 5)
    assert out.dtype == np.float32


def test_features_of_a_file_have_the_bits_of_an_array(tmp_path):
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    np.save(tmp_path / "X.npy", X)
    basis = FourierFeatures(2).fit(tmp_path / "X.npy")
    assert_array_equal(basis.transform(tmp_path / "X.npy"), FourierFeatures(2).fit(X).transform(X))


# --------------------------------------------------------------------------------- indicators
def test_indicators_give_each_value_its_own_worth():
    """[002, E13] A count forces equal steps; one indicator per value reproduces any table."""
    rooms = np.repeat([1.0, 2.0, 3.0, 4.0], 5)[:, None]
    price = np.array([100.0, 250.0, 300.0, 310.0])[rooms.astype(int).ravel() - 1]
    plain = LinearRegression().fit(rooms, price)
    steps = np.diff(plain.predict([[1.0], [2.0], [3.0]]))
    assert steps[0] == pytest.approx(steps[1])
    own = make_pipeline(IndicatorFeatures(), LinearRegression()).fit(rooms, price)
    assert_allclose(own.predict([[1.0], [2.0], [3.0], [4.0]]), [100, 250, 300, 310])


def test_a_tail_is_pooled():
    """[002, E13b] 27 bedrooms are too rare: they share the effect of 10+."""
    rooms = np.array([[1.0], [2.0], [10.0], [11.0], [27.0]])
    basis = IndicatorFeatures(tail=10).fit(rooms)
    assert basis.get_feature_names_out(["rooms"]).tolist() == ["rooms=1", "rooms=2", "rooms=10+"]
    assert_array_equal(basis.transform([[10.0], [400.0]]), [[0, 0, 1], [0, 0, 1]])
    assert_array_equal(basis.transform([[3.0], [np.nan]]), np.zeros((2, 3)))  # unseen, missing


def test_rare_values_are_pooled_by_count_share_and_number():
    X = np.repeat([[1.0], [2.0], [3.0], [4.0]], [8, 1, 6, 1], axis=0)
    for settings in ({"min_frequency": 2}, {"min_frequency": 0.1}, {"max_categories": 3}):
        basis = IndicatorFeatures(**settings).fit(X)
        assert basis.get_feature_names_out().tolist() == ["x0=1", "x0=3", "x0=other"]
        assert_array_equal(
            basis.transform([[3.0], [2.0], [99.0]]), [[0, 1, 0], [0, 0, 1], [0, 0, 1]]
        )
    heavy = IndicatorFeatures(min_frequency=2).fit(X, sample_weight=np.where(X[:, 0] == 2, 5, 1))
    assert heavy.categories_[0].tolist() == [1, 2, 3]


def test_zip_codes_are_grouped_and_unseen_ones_are_safe():
    """[002, E14] A zip code that was never seen has the effect of its region."""
    zips = np.array([["90210"], ["90211"], ["10001"], ["10002"]])
    price = np.array([9.0, 9.0, 5.0, 5.0])
    model = make_pipeline(IndicatorFeatures(prefix=3), LinearRegression()).fit(zips, price)
    assert_allclose(model.predict([["90299"], ["10099"]]), [9, 5])
    numbers = zips.astype(float)
    by_step = make_pipeline(IndicatorFeatures(step=100), LinearRegression()).fit(numbers, price)
    assert_allclose(by_step.predict([[90299.0], [10099.0]]), [9, 5])
    assert by_step[0].get_feature_names_out().tolist() == ["x0=10000..10100", "x0=90200..90300"]
    per_zip = make_pipeline(IndicatorFeatures(), LinearRegression()).fit(zips, price)
    assert_allclose(per_zip.predict([["90299"]]), per_zip[-1].intercept_)


def test_groups_by_a_table():
    coast = {"CA": "west", "OR": "west", "NY": "east"}
    basis = IndicatorFeatures(groups=coast).fit([["CA"], ["NY"], ["TX"]])
    assert basis.get_feature_names_out().tolist() == ["x0=TX", "x0=east", "x0=west"]
    assert_array_equal(basis.transform([["OR"], ["FL"]]), [[0, 0, 1], [0, 0, 0]])
    floors = IndicatorFeatures(groups={1: "low", 2: "low"}).fit([[1.0], [2.0], [3.0]])
    assert floors.get_feature_names_out().tolist() == ["x0=3", "x0=low"]


def test_predicates_alone_together_and_of_missing_values():
    X = pd.DataFrame({"rooms": [1.0, 3.0, 5.0, np.nan], "area": [50.0, 90.0, 200.0, 70.0]})
    basis = IndicatorFeatures(
        columns=[], predicates=[("rooms", ">=", 3), [("rooms", "!=", 5), ("area", "<", 80)]]
    ).fit(X)
    assert basis.get_feature_names_out().tolist() == ["rooms>=3", "rooms!=5 & area<80"]
    assert_array_equal(basis.transform(X), [[0, 1], [1, 0], [1, 0], [0, 0]])
    with pytest.raises(ValueError, match="predicates compare by"):
        IndicatorFeatures(predicates=[("rooms", "~", 3)]).fit(X).transform(X)
    with pytest.raises(ValueError, match="'floors'"):
        IndicatorFeatures(columns=["floors"]).fit(X)


def test_tables_of_text_and_numbers():
    X = pd.DataFrame({"kind": ["condo", "house", None, "condo"], "rooms": [1, 2, 2, 9]})
    basis = IndicatorFeatures(tail=5).fit(X)
    names = ["kind=condo", "kind=house", "rooms=1", "rooms=2", "rooms=5+"]
    assert basis.get_feature_names_out().tolist() == names
    assert_array_equal(basis.transform(X)[2:], [[0, 0, 0, 1, 0], [1, 0, 0, 0, 1]])
    new = pd.DataFrame({"kind": ["castle", "house"], "rooms": [4, 1]})
    assert_array_equal(basis.transform(new), [[0, 0, 0, 0, 0], [0, 1, 1, 0, 0]])
    with pytest.raises(TypeError, match="some hold text"):
        IndicatorFeatures(keep_original=True).fit_transform(X)
    with pytest.raises(ValueError, match="numbers at the fit"):
        IndicatorFeatures().fit([[1.0]]).transform([["a"]])


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(1, 39))
def test_indicators_are_one_hot_and_parts_merge(values, cut):
    X = np.array(values, float)[:, None]
    basis = IndicatorFeatures().fit(X)
    assert_array_equal(basis.transform(X), OneHotEncoder(sparse_output=False).fit_transform(X))
    if cut < len(X):
        parts = tenfold.merge(IndicatorFeatures().fit(X[:cut]), IndicatorFeatures().fit(X[cut:]))
        assert_array_equal(parts.transform(X), basis.transform(X))
        text = X.astype(int).astype(str)
        grown = IndicatorFeatures().partial_fit(text[:cut]).partial_fit(text[cut:])
        assert_array_equal(grown.transform(text), basis.transform(X))


def test_columns_of_different_settings_and_original_kept():
    X = np.array([[1.0, 12.0], [2.0, 15.0], [1.0, 3.0]])
    both = ColumnTransformer(
        [("own", IndicatorFeatures(), [0]), ("tail", IndicatorFeatures(tail=10), [1])]
    )
    assert_array_equal(both.fit_transform(X), [[1, 0, 0, 1], [0, 1, 0, 1], [1, 0, 1, 0]])
    kept = IndicatorFeatures([0], keep_original=True).fit_transform(X)
    assert_array_equal(kept[:, :2], X)
    assert kept.shape == (3, 4)


def test_fitted_indicators_of_text_can_be_saved(tmp_path, monkeypatch):
    monkeypatch.setitem(
        tenfold._WHERE, "IndicatorFeatures", "tenfold.preprocessing.indicator_features"
    )
    basis = IndicatorFeatures(prefix=2).fit([["abc"], ["abd"], ["xyz"]])
    basis.save(tmp_path / "basis.tenfold")
    again = tenfold.load(tmp_path / "basis.tenfold")
    assert_array_equal(again.transform([["ab"], ["xx"]]), [[1, 0], [0, 0]])
