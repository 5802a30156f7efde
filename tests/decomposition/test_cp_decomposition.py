"""CP tensors: planted factors, brute-force least squares, missing entries, core consistency."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tenfold
from tenfold import CPDecomposition
from tenfold.decomposition._tensor_als import (
    CellProducts,
    khatri_rao,
    normalize,
    squared_error,
    tensor_sums,
    update_factors,
)
from tenfold.engine.chunk import Chunk

LETTERS = "ijklm"


def planted(shape, rank=3, seed=0, non_negative=False):
    rng = np.random.default_rng(seed)
    factors = [rng.normal(size=(d, rank)) for d in shape]
    factors = [np.abs(B) for B in factors] if non_negative else factors
    letters = LETTERS[: len(shape)]
    X = np.einsum(",".join(f"{x}r" for x in letters) + f"->{letters}", *factors)
    return X, factors


def with_holes(X, share=0.4, seed=1):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def congruence(model, factors):
    """For each planted component the largest product of cosines with a component of the model."""
    units = [B / np.linalg.norm(B, axis=0) for B in factors]
    cosines = [np.abs(B.T @ F) for B, F in zip(units, model.factors_, strict=True)]
    return np.prod(cosines, axis=0).max(axis=1)


@pytest.mark.parametrize("non_negative", [False, True])
@pytest.mark.parametrize("shape", [(40, 6, 5), (20, 4, 3, 5), (15, 3, 3, 3, 3)])
def test_planted_factors_are_found_up_to_order_and_scale(shape, non_negative):
    X, factors = planted(shape, 2, non_negative=non_negative)
    model = CPDecomposition(2, non_negative=non_negative, tol=1e-12, n_init=2, random_state=0)
    model.fit(X)
    assert (congruence(model, factors) > 0.9999).all()
    assert model.explained_ratio_ > 0.99999
    assert_allclose(model.reconstruct(), X, atol=1e-2)
    assert [F.shape for F in model.factors_] == [(d, 2) for d in shape]
    assert all(np.allclose(np.linalg.norm(F, axis=0), 1) for F in model.factors_)
    assert model.weights_[0] >= model.weights_[1]
    if non_negative:
        assert min(F.min() for F in model.factors_) >= 0


@pytest.mark.parametrize("non_negative", [False, True])
def test_missing_entries_are_found_again_and_no_step_raises_the_error(non_negative):
    X, factors = planted((40, 6, 5), non_negative=non_negative)
    noisy = X + 0.05 * np.random.default_rng(2).normal(size=X.shape)
    holes = with_holes(noisy)
    holes[7, 2] = np.nan
    model = CPDecomposition(3, non_negative=non_negative, tol=1e-10).fit(holes)
    assert model.converged_
    assert (np.diff(model.history_["objective"]) <= 1e-9).all()
    assert (congruence(model, factors) > 0.999).all()
    assert (model.reconstruct() - X)[np.isnan(holes)].std() < 0.1
    error = np.sqrt(np.nansum((holes - model.reconstruct()) ** 2))
    assert model.reconstruction_err_ == pytest.approx(error, rel=1e-3)


def test_one_pass_is_exact_least_squares_of_each_mode_in_turn():
    """Against numpy's lstsq on the unfolded tensor, with weights, without and with gaps."""
    X, _ = planted((8, 4, 3))
    X = X + np.random.default_rng(3).normal(size=X.shape)
    w = np.random.default_rng(4).integers(1, 4, 8).astype(float)
    start = normalize(tuple(np.random.default_rng(5).normal(size=(d, 2)) for d in (4, 3)))
    for tensor in (X, with_holes(X, 0.2)):
        incomplete = bool(np.isnan(tensor).any())
        chunk = Chunk(tensor.reshape(8, -1), None, w)
        s = tensor_sums(chunk, CellProducts.of(start, incomplete=incomplete), False)
        B, C = update_factors(s, start, False)
        A = np.array([least_squares(khatri_rao(start), row) for row in tensor.reshape(8, -1)])
        roots = np.sqrt(w)[:, None, None]
        first = np.array(
            [
                least_squares(
                    khatri_rao((A * roots[:, 0], start[1])), (roots * tensor)[:, j].ravel()
                )
                for j in range(4)
            ]
        )
        second = np.array(
            [
                least_squares(
                    khatri_rao((A * roots[:, 0], first)), (roots * tensor)[:, :, k].ravel()
                )
                for k in range(3)
            ]
        )
        assert_allclose(B, first, atol=1e-8)
        assert_allclose(C, second, atol=1e-8)
        fitted = np.einsum("ir,jr,kr->ijk", A, B, C)
        direct = np.nansum(w[:, None, None] * (tensor - fitted) ** 2)
        squares = np.nansum(w[:, None, None] * tensor**2)
        assert squared_error(squares, s, (B, C)) == pytest.approx(direct, rel=1e-9)


def least_squares(K, y):
    seen = ~np.isnan(y)
    return np.linalg.lstsq(K[seen], y[seen], rcond=None)[0]


def test_a_matrix_has_the_error_of_its_singular_values_and_factors_that_are_not_unique():
    X, _ = planted((30, 8), 5)
    model = CPDecomposition(3, tol=1e-14).fit(X)
    left_out = np.linalg.svd(X, compute_uv=False)[3:]
    assert model.reconstruction_err_ == pytest.approx(np.linalg.norm(left_out), rel=1e-6)
    A, B = model.factors_[0] * model.weights_, model.factors_[1]
    mix = np.random.default_rng(0).normal(size=(3, 3))  # (W C)(C^-1 Z) = W Z
    assert_allclose((B @ mix) @ np.linalg.solve(mix, A.T), model.reconstruct().T, atol=1e-9)


def test_core_consistency_falls_when_there_are_too_many_components():
    X, _ = planted((40, 6, 5))
    noisy = X + 0.05 * np.random.default_rng(2).normal(size=X.shape)
    for tensor in (noisy, with_holes(noisy, 0.2)):
        consistency = [
            CPDecomposition(r, max_iter=2000, tol=1e-6).fit(tensor).core_consistency(tensor)
            for r in (1, 3, 5)
        ]
        assert consistency[0] == pytest.approx(100)
        assert consistency[1] > 98
        assert consistency[2] < 80


def test_new_slices_are_solved_with_the_other_factors():
    X, _ = planted((40, 6, 5))
    model = CPDecomposition(3, tol=1e-14).fit(X[:30])
    assert_allclose(model.inverse_transform(model.transform(X[30:])), X[30:], atol=1e-4)
    assert_allclose(model.transform(X[:30]), model.factors_[0] * model.weights_, atol=1e-6)


def test_rows_of_a_file_are_slices_of_the_given_shape(tmp_path):
    X, _ = planted((40, 6, 5))
    np.save(tmp_path / "slices.npy", X.reshape(40, 30))
    whole = CPDecomposition(3).fit(X)
    with tenfold.threads(2):
        stored = CPDecomposition(3, shape=(6, 5)).fit(tmp_path / "slices.npy")
    assert stored.shape_ == whole.shape_ == (6, 5)
    for a, b in zip(whole.factors_, stored.factors_, strict=True):
        assert np.array_equal(a, b)


def test_a_nested_list_is_a_tensor():
    X, _ = planted((8, 4, 3))
    assert CPDecomposition(2).fit(X.tolist()).shape_ == (4, 3)


def test_weights_are_repetitions_and_masks_are_missing_entries():
    X, _ = planted((40, 6, 5))
    X = X + 0.1 * np.random.default_rng(2).normal(size=X.shape)
    w = np.random.default_rng(0).integers(0, 3, 40)
    for tensor in (X, with_holes(X, 0.2)):
        weighted = CPDecomposition(2, tol=1e-12).fit(tensor, sample_weight=w)
        repeated = CPDecomposition(2, tol=1e-12).fit(np.repeat(tensor, w, axis=0))
        assert_allclose(weighted.factors_[1], repeated.factors_[1], atol=1e-4)
    holes = with_holes(X)
    masked = np.ma.masked_invalid(holes)
    assert_allclose(
        CPDecomposition(2).fit(masked).factors_[2], CPDecomposition(2).fit(holes).factors_[2]
    )


def test_a_saved_model_keeps_its_factors(tmp_path):
    X, _ = planted((20, 4, 3))
    model = CPDecomposition(2).fit(X)
    model.save(tmp_path / "model.tenfold")
    loaded = tenfold.load(tmp_path / "model.tenfold")
    assert np.array_equal(loaded.transform(X), model.transform(X))
    assert loaded.shape_ == (4, 3)


def test_errors_name_the_cure():
    X, _ = planted((20, 4, 3))
    with pytest.raises(ValueError, match="has 10 cells, and a row 12"):
        CPDecomposition(2, shape=(5, 2)).fit(X.reshape(20, 12))
    with pytest.raises(ValueError, match="slices of X have the shape"):
        CPDecomposition(2, shape=(3, 4)).fit(X)
    with pytest.raises(ValueError, match="those of the fit"):
        CPDecomposition(2).fit(X).transform(X.reshape(20, 3, 4))
    with pytest.raises(ValueError, match="no entry at all"):
        CPDecomposition(2).fit(np.full((5, 3, 2), np.nan))
    with pytest.raises(ValueError, match="infinity"):
        CPDecomposition(2).fit(np.where(X[0, 0, 0] == X, np.inf, X))
