"""All monomials of dense and sparse rows, against scikit-learn and products written out."""

import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import preprocessing
from sklearn.pipeline import make_pipeline

import tenfold
from tenfold import LinearRegression, PolynomialFeatures, monomial_count

DEGREES = [0, 1, 2, 3, 4, (0, 2), (1, 3), (2, 2), (2, 4), (3, 3), (4, 4)]


def table(n=13, p=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.6)


@pytest.mark.parametrize(("p", "degree", "count"), [(2, 2, 5), (2, 3, 9), (10, 3, 285)])
def test_sizes_of_the_note(p, degree, count):
    """[003, 6.3] The number of features without the constant, by the sum over degrees."""
    assert monomial_count(p, degree, include_bias=False) == count
    model = PolynomialFeatures(degree, include_bias=False).fit(np.zeros((1, p)))
    assert model.n_output_features_ == model.transform(np.zeros((1, p))).shape[1] == count


@given(p=st.integers(1, 6), q=st.integers(0, 5), bias=st.booleans(), interact=st.booleans())
def test_monomials_are_counted(p, q, bias, interact):
    if q == 0 and not bias:
        return
    theirs = preprocessing.PolynomialFeatures(q, include_bias=bias, interaction_only=interact)
    counted = monomial_count(p, q, include_bias=bias, interaction_only=interact)
    assert counted == theirs.fit(np.zeros((1, p))).n_output_features_


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.sampled_from(DEGREES), st.booleans(), st.booleans(), st.integers(0, 9))
def test_columns_are_scikit_learns_and_products_written_out(p, degree, interact, bias, seed):
    X = table(p=p, seed=seed)
    options = {"interaction_only": interact, "include_bias": bias}
    ours = PolynomialFeatures(degree, **options)
    theirs = preprocessing.PolynomialFeatures(degree, **options)
    if degree == 0 and not bias:
        for model in (ours, theirs):
            with pytest.raises(ValueError, match="empty output array"):
                model.fit(X)
        return
    made = ours.fit_transform(X)
    assert_array_equal(made, theirs.fit_transform(X))
    assert ours.n_output_features_ == made.shape[1] == len(ours.powers_)
    if made.shape[1]:
        assert_array_equal(ours.powers_, theirs.powers_)
    assert_allclose(made, (X[:, None] ** ours.powers_).prod(axis=2), rtol=1e-12, atol=0)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    thin = ours.fit(sparse.csr_array(X)).transform(sparse.csr_array(X))
    assert_array_equal(thin.toarray(), made)
    assert thin.has_sorted_indices


def test_sparse_rows_of_several_chunks_stay_sparse():
    X = sparse.random_array((10_000, 50), density=0.05, format="csr", rng=np.random.default_rng(0))
    model = PolynomialFeatures((1, 3)).fit(X)
    made = model.transform(X)
    per_row = np.diff(X.indptr)
    counts = [1 + monomial_count(int(m), 3, include_bias=False) for m in per_row]
    assert_array_equal(np.diff(made.indptr), counts)  # work for entries that are there
    some = np.r_[0:20, 4090:4100, 9990:10_000]  # the edge of a chunk among them
    assert_array_equal(made[some].toarray(), model.transform(X[some].toarray()))
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert model.transform(X.tocsc()).format == "csc"


def test_entries_in_any_order_and_twice():
    X = sparse.csr_array(([2.0, 3.0, 4.0], [2, 0, 2], [0, 3]), shape=(1, 3))
    made = PolynomialFeatures(2).fit(X).transform(X).toarray()
    assert_array_equal(made, PolynomialFeatures(2).fit_transform([[3.0, 0.0, 6.0]]))
    assert X.indices.tolist() == [2, 0, 2]  # the rows are left as they were


def test_sparse_outputs_come_from_a_cluster(two_workers):
    X = sparse.random_array((9000, 8), density=0.3, format="csr", rng=np.random.default_rng(0))
    model = PolynomialFeatures(2).fit(X)
    here = model.transform(X)
    with tenfold.on(two_workers):
        there = PolynomialFeatures(2).fit(X).transform(X)
        blocks = da.from_array(X.toarray(), chunks=(1000, -1))
        assert_array_equal(model.transform(blocks), here.toarray())
    assert_array_equal(there.toarray(), here.toarray())


def test_files_have_the_bits_of_arrays(tmp_path):
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    np.save(tmp_path / "X.npy", X)
    model = PolynomialFeatures(3).fit(tmp_path / "X.npy")
    assert_array_equal(model.transform(tmp_path / "X.npy"), PolynomialFeatures(3).fit_transform(X))
    assert PolynomialFeatures(order="F").fit_transform(X).flags.f_contiguous


def test_polynomials_fit_a_parabola():
    """[002, E12] Training error falls with the degree; degree 2 fits a parabola exactly."""
    x = np.linspace(-1, 2, 30)[:, None]
    y = 1 - 2 * x[:, 0] + 3 * x[:, 0] ** 2
    score = [
        make_pipeline(PolynomialFeatures(q), LinearRegression()).fit(x, y).score(x, y)
        for q in (1, 2, 3)
    ]
    assert score[0] < 0.9
    assert_allclose(score[1:], 1.0)


def test_what_cannot_be_made_is_refused(monkeypatch):
    wide = sparse.csr_array((1, 10**7))
    with pytest.raises(ValueError, match="too large to be indexed"):
        PolynomialFeatures(3).fit(wide)
    for degree in ((1, 2, 3), (2, 1), (-1, 2), (1, 2.5)):
        with pytest.raises(ValueError, match="min_degree, max_degree"):
            PolynomialFeatures(degree).fit([[1.0]])
    with pytest.raises(ValueError, match="NaN"):
        PolynomialFeatures().fit([[1.0, np.nan]])
    monkeypatch.setattr("tenfold.engine.memory.available_memory", lambda: 2.0**28)
    with pytest.raises(MemoryError, match="smaller degree"):
        PolynomialFeatures(3).fit(np.zeros((2, 100))).transform(np.zeros((400, 100)))
