"""Missing values from neighbors: against scikit-learn, brute force and closed forms."""

import numpy as np
import pytest
from sklearn.impute import KNNImputer as Peer
from sklearn.metrics.pairwise import nan_euclidean_distances

import tenfold
from tenfold import KNNImputer


def holes(n=400, d=6, share=0.25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + 0.1 * rng.normal(size=(n, d))
    return np.where(rng.random(X.shape) < share, np.nan, X)


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: 1 / (1 + d)])
@pytest.mark.parametrize(("k", "share"), [(1, 0.1), (5, 0.25), (30, 0.7)])
def test_values_are_those_of_scikit_learn(weights, k, share):
    X, Q = holes(share=share), holes(60, share=share, seed=0)
    Q[3] = np.nan  # the means of the columns
    ours = KNNImputer(n_neighbors=k, weights=weights).fit(X).transform(Q)
    theirs = Peer(n_neighbors=k, weights=weights).fit(X).transform(Q)
    np.testing.assert_allclose(ours, theirs, rtol=1e-7)  # its distances cancel


def test_equally_near_rows_are_taken_by_their_numbers():
    X = np.random.default_rng(1).integers(0, 3, (200, 4)).astype(float)
    value = np.arange(200.0)
    rows = np.column_stack([X, value])
    query = np.column_stack([X[:40], np.full(40, np.nan)])
    D = nan_euclidean_distances(query, rows)
    nearest = np.lexsort((np.broadcast_to(np.arange(200), D.shape), D.round(9)))[:, :3]
    filled = KNNImputer(n_neighbors=3).fit(rows).transform(query)
    np.testing.assert_allclose(filled[:, -1], value[nearest].mean(axis=1))


def test_rows_that_lack_the_column_are_passed_over():
    """The nearest 60 rows have no value: more have to be searched."""
    x = np.arange(100.0)
    y = np.where(x < 60, np.nan, 10 * x)
    filled = KNNImputer(n_neighbors=2).fit(np.column_stack([x, y])).transform([[0.0, np.nan]])
    assert filled.tolist() == [[0.0, 605.0]]


def test_other_markers_indicators_and_empty_columns():
    X = holes(80, 4)
    X[:, 2] = np.nan
    for keep in (False, True):
        options = {"add_indicator": True, "keep_empty_features": keep}
        ours, theirs = KNNImputer(**options), Peer(**options)
        np.testing.assert_allclose(ours.fit_transform(X), theirs.fit_transform(X), rtol=1e-9)
        assert len(ours.get_feature_names_out()) == ours.transform(X).shape[1]
        if not keep:  # else scikit-learn leaves out names of columns that it keeps
            assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())
        assert np.array_equal(ours.indicator_.features_, theirs.indicator_.features_)
    marked = np.where(np.isnan(X), -7.0, X)
    other = KNNImputer(missing_values=-7.0).fit(marked).transform(marked)
    assert np.array_equal(other, KNNImputer().fit(X).transform(X))


def test_in_place_and_float32():
    X = holes(50, 3).astype(np.float32)
    model = KNNImputer(copy=False).fit(X.copy())
    expected = KNNImputer().fit(X).transform(X)
    assert expected.dtype == np.float32
    assert model.transform(X) is X
    assert np.array_equal(X, expected)


def test_parts_merge_and_a_saved_model_fills_in_the_same(tmp_path):
    X = holes()
    whole = KNNImputer().fit(X)
    parts = tenfold.merge(KNNImputer().fit(X[:150]), KNNImputer().fit(X[150:]))
    whole.save(tmp_path / "model")
    for model in (
        parts,
        KNNImputer().fit(X[:9]).partial_fit(X[9:]),
        tenfold.load(tmp_path / "model"),
    ):
        assert np.array_equal(model.transform(X), whole.transform(X))


def test_infinite_values_are_refused_with_their_place():
    X = holes(30, 3)
    X[4, 1] = np.inf
    with pytest.raises(ValueError, match="infinity: row 4, column 1"):
        KNNImputer().fit(X)
    with pytest.raises(ValueError, match="infinity: row 4, column 1"):
        KNNImputer().fit(X[5:]).transform(X)
