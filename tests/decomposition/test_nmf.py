"""Non-negative factorization against closed forms, brute force and scikit-learn."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import nnls
from scipy.sparse import csr_array
from sklearn import decomposition as theirs
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold import NMF, MiniBatchNMF, non_negative_factorization
from tenfold.decomposition import _nmf_fit
from tenfold.decomposition._divergences import beta_divergence
from tenfold.decomposition._hoyer import hoyer_sparseness, project_sparse
from tenfold.decomposition._row_solvers_numba import descend_rows, solve_nonnegative_rows

SOLVERS = ["cd", "mu", "pg", "anls"]
BETAS = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0]


@pytest.fixture
def low_rank():
    rng = np.random.default_rng(0)
    return rng.random((60, 3)) @ rng.random((3, 12))


@pytest.fixture
def counts():
    rng = np.random.default_rng(1)
    return rng.poisson(4 * rng.random((120, 3)) @ rng.random((3, 15))).astype(float)


def quietly(model, X, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, **kwargs)


@pytest.mark.parametrize("solver", SOLVERS)
def test_all_solvers_reach_the_exact_factors_of_low_rank_rows(low_rank, solver):
    model = quietly(NMF(3, solver=solver, tol=0, max_iter=100), low_rank)
    limit = 0.08 if solver in ("mu", "pg") else 1e-3
    assert model.reconstruction_err_ < limit * np.linalg.norm(low_rank)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_objective_never_increases(counts, solver):
    model = quietly(NMF(3, solver=solver, max_iter=50, alpha_W=0.01, l1_ratio=0.5), counts)
    assert (np.diff(model.history_["objective"]) <= 1e-9).all()
    assert (model.components_ >= 0).all()


@pytest.mark.parametrize("beta", BETAS)
def test_divergences_never_increase_and_reach_scikit_learns(counts, beta):
    X = counts + 0.1
    W, H = (np.random.default_rng(2).random(s) + 0.1 for s in ((120, 3), (3, 15)))
    kwargs = {"init": "custom", "solver": "mu", "beta_loss": beta, "max_iter": 150, "tol": 0}
    ours = quietly(NMF(3, **kwargs), X, W=W, H=H)
    peer = theirs.NMF(3, **kwargs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        peer.fit(X, W=W.copy(), H=H.copy())
    assert (np.diff(ours.history_["objective"]) <= 1e-9).all()
    assert ours.reconstruction_err_ <= 1.01 * peer.reconstruction_err_


@pytest.mark.parametrize("beta", BETAS)
def test_sparse_rows_give_the_factors_of_dense_rows(counts, beta):
    X = counts + (0.1 if beta <= 0 else 0.0)
    W, H = (np.random.default_rng(2).random(s) + 0.1 for s in ((120, 3), (3, 15)))
    kwargs = {"init": "custom", "solver": "mu", "beta_loss": beta, "max_iter": 20, "tol": 0}
    dense, sparse = (quietly(NMF(3, **kwargs), Y, W=W, H=H) for Y in (X, csr_array(X)))
    assert_allclose(dense.components_, sparse.components_, rtol=1e-9, atol=1e-12)
    assert_allclose(dense.reconstruction_err_, sparse.reconstruction_err_, rtol=1e-9)


def test_coordinate_descent_reaches_scikit_learns_objective(counts):
    ours = quietly(NMF(3, tol=1e-6, max_iter=500), counts)
    peer = theirs.NMF(3, tol=1e-6, max_iter=500, random_state=0).fit(counts)
    assert ours.reconstruction_err_ <= peer.reconstruction_err_ * 1.001


def test_multiplicative_steps_need_fewer_iterations_than_scikit_learns(counts):
    settings = {"solver": "mu", "beta_loss": "kullback-leibler", "init": "custom", "tol": 0}
    rng = np.random.default_rng(5)
    given = {"W": rng.random((len(counts), 3)), "H": rng.random((3, counts.shape[1]))}
    ours = quietly(NMF(3, **settings, max_iter=30), counts, **given)
    peer = quietly(theirs.NMF(3, **settings, max_iter=60), counts, **given)
    assert ours.reconstruction_err_ <= peer.reconstruction_err_ * (1 + 1e-6)


def test_codes_of_new_rows_are_non_negative_least_squares(counts):
    model = quietly(NMF(3, max_iter=50), counts)
    expected = np.array([nnls(model.components_.T, row)[0] for row in counts])
    assert_allclose(model.transform(counts), expected, atol=1e-7)


def test_row_solvers_find_the_minimum_of_each_row():
    rng = np.random.default_rng(3)
    D, X = rng.normal(size=(6, 20)), rng.normal(size=(40, 20))
    expected = np.array([nnls(D.T, row)[0] for row in X])
    G, C = D @ D.T, X @ D.T
    descended, solved = np.zeros((40, 6)), np.zeros((40, 6))
    descend_rows(descended, C, G, 0.0, 0.0, True, 5000, 0.0, 1e-13)
    solve_nonnegative_rows(solved, C, G, 0.0, 0.0)
    assert_allclose(descended, expected, atol=1e-9)
    assert_allclose(solved, expected, atol=1e-10)


def test_a_repeated_atom_does_not_trouble_the_active_set():
    D = np.ones((2, 3))
    V = np.zeros((1, 2))
    solve_nonnegative_rows(V, np.ones((1, 3)) @ D.T, D @ D.T, 0.0, 0.0)
    assert_allclose(V @ D, np.ones((1, 3)))


def test_penalties_of_codes_fulfil_the_conditions_of_a_minimum(counts):
    model = quietly(NMF(3, alpha_W=0.05, alpha_H=0.0, l1_ratio=0.4, max_iter=40), counts)
    W, H = model.transform(counts), model.components_
    l1, l2 = 15 * 0.05 * 0.4, 15 * 0.05 * 0.6
    gradient = (W @ H - counts) @ H.T + l1 + l2 * W
    assert_allclose(gradient[W > 0], 0.0, atol=1e-6)
    assert (gradient[W == 0] >= -1e-6).all()


def test_more_l1_on_codes_gives_more_zeros(counts):
    model = quietly(NMF(3, max_iter=60), counts)
    zeros = [
        (model.set_params(alpha_W=a, l1_ratio=1).transform(counts) == 0).sum()
        for a in (0.0, 0.1, 0.3)
    ]
    assert zeros[0] < zeros[1] < zeros[2]


def test_components_and_codes_have_the_sparseness_that_was_asked_for(counts):
    model = quietly(NMF(3, sparseness_H=0.6, sparseness_W=0.4, max_iter=20), counts)
    assert (hoyer_sparseness(model.components_) >= 0.6 - 1e-6).all()
    assert (hoyer_sparseness(model.transform(counts)) >= 0.4 - 1e-6).all()
    assert (np.diff(model.history_["objective"]) <= 1e-9).all()


def test_the_projection_onto_sparse_vectors_is_the_nearest_one():
    rng = np.random.default_rng(4)
    v = rng.random(3)
    nearest = project_sparse(v[None], 0.8)[0]
    points = rng.random((200_000, 3))
    inside = points[hoyer_sparseness(points) >= 0.8]
    inside *= (inside @ v / (inside**2).sum(axis=1))[:, None]
    best = np.linalg.norm(inside - v, axis=1).min()
    assert np.linalg.norm(nearest - v) <= best + 1e-9
    assert best - np.linalg.norm(nearest - v) < 1e-2


@pytest.mark.parametrize("solver", ["cd", "mu"])
def test_complete_rows_give_the_same_with_and_without_missing_entries_allowed(counts, solver):
    W, H = (np.random.default_rng(2).random(s) + 0.1 for s in ((120, 3), (3, 15)))
    kwargs = {"init": "custom", "solver": solver, "max_iter": 15, "tol": 0}
    plain = quietly(NMF(3, **kwargs), counts, W=W, H=H)
    masked = quietly(NMF(3, missing="ignore", **kwargs), counts, W=W, H=H)
    assert_allclose(masked.reconstruction_err_, plain.reconstruction_err_, rtol=2e-3)


@pytest.mark.parametrize("solver", ["cd", "mu"])
def test_missing_entries_are_recovered_from_low_rank_rows(low_rank, solver):
    holes = low_rank.copy()
    gone = np.random.default_rng(5).random(holes.shape) < 0.2
    holes[gone] = np.nan
    model = NMF(3, solver=solver, missing="ignore", tol=0, max_iter=400)
    filled = model.inverse_transform(quietly(model, holes).transform(holes))
    error = np.abs(filled - low_rank)[gone].mean() / low_rank.mean()
    assert error < (0.02 if solver == "cd" else 0.1)
    assert (np.diff(model.history_["objective"]) <= 1e-9).all()


def test_the_error_about_a_missing_entry_names_the_parameter(low_rank):
    holes = low_rank.copy()
    holes[3, 2] = np.nan
    for fit in (NMF(3).fit, NMF(3, solver="mu").fit_transform):
        with pytest.raises(ValueError, match=r"NaN: row 3, column 2.*missing='ignore'"):
            fit(holes)


def test_an_entry_of_weight_zero_is_a_missing_entry(counts):
    weights = (np.random.default_rng(6).random(counts.shape) > 0.2).astype(float)
    holes = np.where(weights > 0, counts, np.nan)
    W, H = (np.random.default_rng(2).random(s) + 0.1 for s in ((120, 3), (3, 15)))
    kwargs = {"init": "custom", "max_iter": 20, "tol": 0}
    weighted = quietly(NMF(3, **kwargs), counts, W=W, H=H, entry_weight=weights)
    missing = quietly(NMF(3, missing="ignore", **kwargs), holes, W=W, H=H)
    assert_allclose(weighted.components_, missing.components_, rtol=1e-7)


def test_a_row_of_weight_two_is_the_row_twice(counts):
    w = np.random.default_rng(7).integers(0, 3, len(counts)).astype(float)
    weighted = quietly(NMF(2, tol=1e-7, max_iter=500, alpha_W=0.01), counts, sample_weight=w)
    repeated = quietly(
        NMF(2, tol=1e-7, max_iter=500, alpha_W=0.01), np.repeat(counts, w.astype(int), axis=0)
    )
    assert_allclose(weighted.components_, repeated.components_, rtol=1e-4, atol=1e-5)


def test_codes_that_are_found_anew_give_the_factors_of_codes_that_are_kept(counts, monkeypatch):
    kept = quietly(NMF(3, tol=1e-7, max_iter=400), counts)
    monkeypatch.setattr(_nmf_fit, "MAX_CARRIED_BYTES", 0)
    anew = quietly(NMF(3, tol=1e-7, max_iter=400), counts)
    assert_allclose(anew.reconstruction_err_, kept.reconstruction_err_, rtol=1e-3)
    assert (np.diff(anew.history_["objective"]) <= 1e-9).all()
    assert NMF(3, tol=1e-3).fit_transform(counts).shape == (120, 3)


def test_codes_in_a_file_give_the_bits_of_codes_in_memory(counts, monkeypatch):
    models = [
        NMF(3, solver="mu", beta_loss="kullback-leibler", max_iter=20),
        NMF(3, solver="pg", max_iter=20),
        MiniBatchNMF(3, batch_size=32, max_iter=3, random_state=0),
    ]
    kept = [quietly(clone(model), counts).components_ for model in models]
    monkeypatch.setattr(_nmf_fit, "MAX_CARRIED_BYTES", 0)
    for model, components in zip(models, kept, strict=True):
        assert_array_equal(quietly(model, counts).components_, components)


def test_active_sets_find_the_codes_that_scipy_finds(counts):
    H = np.random.default_rng(3).random((4, counts.shape[1]))
    H = np.vstack([H, H[0] + H[1]])  # depends on the others
    W = np.zeros((len(counts), 5))
    Ht = np.ascontiguousarray(H.T)
    solve_nonnegative_rows(W, counts @ Ht, Ht.T @ Ht, 0.0, 0.0)
    for x, w in zip(counts, W, strict=True):
        assert_allclose(np.linalg.norm(x - w @ H), nnls(Ht, x)[1], rtol=1e-9)


def test_the_reconstruction_error_is_that_of_the_codes(counts):
    model = NMF(3, max_iter=200, tol=1e-3)
    W = model.fit_transform(counts)
    assert_allclose(model.reconstruction_err_, np.linalg.norm(counts - W @ model.components_))
    assert_allclose(model.usage_, W.sum(axis=0))


def test_kl_factors_are_the_admixture_that_em_finds(counts):
    """Word j of document i has topic k with probability theta_ik phi_kj / sum: EM by hand.

    Both minimize the same divergence: factors where the one ends are left alone by the other.
    """
    model = NMF(3, solver="mu", beta_loss="kullback-leibler", tol=0, max_iter=800)
    W = quietly(model, counts).transform(counts)
    size = model.components_.sum(axis=1)
    theta, phi = W * size, model.components_ / size[:, None]
    before = beta_divergence(counts, theta @ phi, 1.0).sum()
    for _ in range(20):
        shares = theta[:, :, None] * phi
        shares *= (counts / shares.sum(axis=1))[:, None, :]
        theta, new = shares.sum(axis=2), shares.sum(axis=0)
        new /= new.sum(axis=1, keepdims=True)
        assert_allclose(new, phi, atol=1e-3)
        phi = new
    after = beta_divergence(counts, theta @ phi, 1.0).sum()
    assert_allclose(after, before, rtol=1e-4)
    assert_allclose(0.5 * model.reconstruction_err_**2, before, rtol=1e-4)


def test_kl_keeps_the_sums_of_rows_and_columns(counts):
    model = NMF(3, solver="mu", beta_loss="kullback-leibler", max_iter=300, tol=0)
    W = quietly(model, counts).transform(counts)
    assert_allclose((W @ model.components_).sum(axis=0), counts.sum(axis=0), rtol=1e-2)


def test_factors_may_be_scaled_and_are_not_identified(low_rank):
    model = quietly(NMF(3, max_iter=50), low_rank)
    W, scale = model.transform(low_rank), np.array([2.0, 0.5, 3.0])
    assert_allclose((W * scale) @ (model.components_ / scale[:, None]), W @ model.components_)


def test_the_loss_is_convex_in_each_factor_and_not_in_both():
    """Exercise 4.2.1 of 001: the chord from (1, 0) to (0, 1) of (x - w h)^2 at x = 0."""
    x, rng = 0.0, np.random.default_rng(9)
    loss = lambda w, h: (x - w * h) ** 2  # noqa: E731
    assert loss(0.5, 0.5) > 0.5 * (loss(1, 0) + loss(0, 1))
    for _ in range(100):
        a, b, fixed, t = rng.normal(size=4)
        t = abs(t) % 1
        assert (
            loss(t * a + (1 - t) * b, fixed)
            <= t * loss(a, fixed) + (1 - t) * loss(b, fixed) + 1e-12
        )


def test_ten_by_twenty_rows_of_rank_five_are_recovered():
    """The notes (001, algorithm 2) print a relative error of 3e-6 for their run."""
    rng = np.random.default_rng(0)
    X = rng.random((10, 5)) @ rng.random((5, 20))
    model = quietly(NMF(5, solver="anls", init="nndsvda", tol=0, max_iter=500), X)
    assert model.reconstruction_err_ / np.linalg.norm(X) < 1e-5


def test_function_and_model_agree(counts):
    W, H, _ = non_negative_factorization(counts, n_components=3, init="nndsvda", tol=1e-3)
    model = NMF(3, init="nndsvda", tol=1e-3).fit(counts)
    assert_allclose(H, model.components_)
    again, same, _ = non_negative_factorization(counts, H=H, n_components=3, update_H=False)
    assert same is H or np.array_equal(same, H)
    assert_allclose(again, W, atol=1e-6)


def test_a_file_gives_the_bits_of_the_array(counts, tmp_path):
    np.save(tmp_path / "X.npy", counts)
    model = NMF(3, tol=1e-3)
    from_array = model.fit(counts).components_.tobytes()
    assert NMF(3, tol=1e-3).fit(tmp_path / "X.npy").components_.tobytes() == from_array
    with tenfold.threads(1):
        assert NMF(3, tol=1e-3).fit(counts).components_.tobytes() == from_array


@pytest.mark.parametrize(
    ("settings", "fit", "words"),
    [
        ({"solver": "cd", "beta_loss": "kullback-leibler"}, {}, "does not handle beta_loss"),
        ({"sparseness_H": 0.5, "missing": "ignore"}, {}, "complete rows"),
        ({"init": "custom"}, {}, "init='custom' needs H"),
        ({"solver": "pg"}, {"entry_weight": np.ones((120, 15))}, "solver 'cd' or 'mu'"),
        ({}, {"entry_weight": np.ones((2, 2))}, "a weight for each entry"),
        ({"init": "nndsvd", "n_components": 99}, {}, "can only be used when n_components"),
    ],
)
def test_what_no_solver_can_do_is_refused_in_words(counts, settings, fit, words):
    with pytest.raises(ValueError, match=words):
        NMF(**{"n_components": 3} | settings).fit(counts, **fit)


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_weights_that_are_none_are_refused_with_their_place(counts, weight):
    weights = np.ones(counts.shape)
    weights[4, 2] = weight
    with pytest.raises(ValueError, match=f"row 4, column 2 is {weight}.*at least 0"):
        NMF(2).fit(counts, entry_weight=weights)


def test_nothing_to_learn_from_is_refused(counts):
    words = "no entry of X is there with a weight above 0"
    with pytest.raises(ValueError, match=words):
        NMF(2).fit(counts, entry_weight=np.zeros(counts.shape))
    with pytest.raises(ValueError, match=words):
        NMF(2, missing="ignore").fit(np.full((9, 3), np.nan))
    counts[:, 1:] = np.nan
    weights = np.ones(counts.shape)
    weights[:, 0] = 0
    with pytest.raises(ValueError, match=words):
        NMF(2, missing="ignore", solver="mu").fit_transform(counts, entry_weight=weights)


def test_negative_entries_are_refused_with_their_row(counts):
    counts[7, 2] = -1
    with pytest.raises(ValueError, match="row 7 has one"):
        NMF(2).fit(counts)


def test_missing_entries_are_refused_by_default(counts):
    counts[3, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        NMF(2).fit(counts)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("fresh", [False, True])
def test_batches_make_scikit_learns_steps(counts, beta, fresh):
    X = counts + 0.1
    W, H = (np.random.default_rng(2).random(s) + 0.1 for s in ((120, 3), (3, 15)))
    kwargs = {
        "init": "custom",
        "beta_loss": beta,
        "max_iter": 4,
        "batch_size": 50,
        "tol": 0,
        "fresh_restarts": fresh,
        "fresh_restarts_max_iter": 500,
        "max_no_improvement": None,
        "alpha_W": 0.01,
        "l1_ratio": 0.5,
    }
    ours = MiniBatchNMF(3, **kwargs).fit(X, W=W, H=H)
    peer = theirs.MiniBatchNMF(3, **kwargs).fit(X, W=W.copy(), H=H.copy())
    assert_allclose(ours.components_, peer.components_, rtol=2e-3 if fresh else 1e-6, atol=1e-9)


def test_partial_fits_make_scikit_learns_steps(counts):
    W, H = (np.random.default_rng(2).random(s) + 0.1 for s in ((60, 3), (3, 15)))
    ours, peer = MiniBatchNMF(3, init="custom"), theirs.MiniBatchNMF(3, init="custom")
    for part in (counts[:60], counts[60:]):
        ours.partial_fit(part, W=W, H=H)
        peer.partial_fit(part, W=W.copy(), H=H.copy())
    assert_allclose(ours.components_, peer.components_, rtol=1e-6)
    assert ours.n_steps_ == 2


def test_the_gradient_of_the_error_points_uphill():
    """(3.9) and (3.10) of 000 print steps against the sign: W + eta (X - WZ) Z' descends."""
    rng = np.random.default_rng(10)
    X, W, Z = rng.random((6, 5)), rng.random((6, 2)), rng.random((2, 5))
    error = lambda W: ((X - W @ Z) ** 2).sum()  # noqa: E731
    step = 1e-3 * (X - W @ Z) @ Z.T
    assert error(W + step) < error(W) < error(W - step)
