"""Completion by the nuclear norm: the proximal step is its own fixed point."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tenfold import SoftImpute


def gappy(seed=0, n=20, p=15, rank=3, share=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, p)) + 0.1 * rng.normal(size=(n, p))
    return np.where(rng.random((n, p)) < share, np.nan, X), X


def shrink(Z, lam):
    U, s, V = np.linalg.svd(Z, full_matrices=False)
    return (U * np.maximum(s - lam, 0)) @ V


@pytest.mark.parametrize("lam", [0.5, 2.0])
def test_the_solution_is_a_fixed_point_of_the_proximal_step(lam):
    X, _ = gappy()
    model = SoftImpute(lam, center=False, tol=1e-13, max_iter=20_000).fit(X)
    M = model.reconstruct(X)
    assert_allclose(M, shrink(np.where(np.isnan(X), M, X), lam), atol=2e-4)
    s = np.linalg.svd(M, compute_uv=False)
    assert_allclose(model.singular_values_, s[: len(model.singular_values_)], atol=1e-3)
    cost = 0.5 * np.nansum((X - M) ** 2) + lam * s.sum()
    assert_allclose(model.objective_, cost, rtol=1e-6)


def test_a_complete_matrix_has_soft_singular_values():
    _, X = gappy()
    model = SoftImpute(1.5, center=False, tol=1e-14, max_iter=20_000).fit(X)
    s = np.linalg.svd(X, compute_uv=False)
    kept = s[s > 1.5] - 1.5
    assert_allclose(model.singular_values_, kept, rtol=1e-4)
    _, _, V = np.linalg.svd(X)
    assert_allclose(np.abs(model.components_ @ V[: len(kept)].T), np.eye(len(kept)), atol=1e-3)


def test_planted_entries_are_found_again_and_known_ones_stay():
    X, truth = gappy(1, 60, 30)
    filled = SoftImpute(0.5).fit(X).transform(X)
    gaps = np.isnan(X)
    assert_array_equal(filled[~gaps], X[~gaps])
    assert np.sqrt(np.mean((filled - truth)[gaps] ** 2)) < 0.25 * truth.std()


def test_the_cost_never_rises_and_new_rows_are_filled():
    X, truth = gappy(2, 80, 20)
    model = SoftImpute(0.5).fit(X[:60])
    assert (np.diff(model.history_["objective"]) <= 1e-9).all()
    filled, gaps = model.transform(X[60:]), np.isnan(X[60:])
    assert np.sqrt(np.mean((filled - truth[60:])[gaps] ** 2)) < 0.35 * truth.std()


def test_a_row_or_column_without_entries_gets_means():
    X, _ = gappy(3)
    X[4], X[:, 6] = np.nan, np.nan
    with pytest.warns(UserWarning, match="columns 'x6' have no entry at all.*filled with 0"):
        model = SoftImpute(0.5).fit(X)
    assert_allclose(model.transform(X)[4], model.mean_)
    assert_allclose(model.transform(X)[:, 6], 0, atol=1e-12)


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e300])
def test_infinity_is_named_with_its_column(value, recwarn):
    X, _ = gappy(3)
    X[2, 4] = value
    with pytest.raises(ValueError, match="infinity or a value too large to square, in column 'x4'"):
        SoftImpute(0.5, max_rank=np.int64(2)).fit(X)
    assert not recwarn.list


def test_columns_without_entries_are_named_in_a_warning():
    X, _ = gappy(3)
    X[:, 2:9] = np.nan
    table = pd.DataFrame(X, columns=[f"film {j}" for j in range(15)])
    with pytest.warns(UserWarning, match="'film 2', .*'film 6' and 2 more") as caught:
        SoftImpute(0.5, center=False).fit(table)
    assert caught[0].filename == __file__
    X[1:, 4] = 1.0
    with pytest.warns(UserWarning, match="'x2', 'x3', 'x5', 'x6', 'x7' and 1 more"):
        SoftImpute(0.5).fit(X)
    with pytest.warns(UserWarning, match="'x4'"):  # rows of weight 0 do not count
        SoftImpute(0.5).fit(X, sample_weight=[5.0] + [0.0] * 19)


def test_a_large_penalty_leaves_the_means():
    X, _ = gappy()
    model = SoftImpute(1e4).fit(X)
    assert_allclose(model.reconstruct(X), np.tile(np.nanmean(X, axis=0), (20, 1)), atol=1e-6)


def test_all_missing_is_refused():
    with pytest.raises(ValueError, match="all entries of X are missing"):
        SoftImpute().fit(np.full((3, 2), np.nan))
