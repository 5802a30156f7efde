"""Parts of a table, and test rows that are opened once."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import mean_squared_error

from tenfold import LinearRegression
from tenfold.model_selection.holdout import (
    SmallPartWarning,
    part_sizes,
    split_rows,
    split_train_test,
    split_train_validation_test,
)
from tenfold.model_selection.selection_bias import ReusedTestWarning, SealedTest


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
