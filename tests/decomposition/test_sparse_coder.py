"""Sparse codes against exhaustive search, the conditions of a minimum, and scikit-learn."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn import decomposition as theirs
from sklearn.exceptions import ConvergenceWarning

from tenfold import SparseCoder, sparse_encode


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    D = rng.normal(size=(20, 8))  # overcomplete
    return rng.normal(size=(30, 8)), D / np.linalg.norm(D, axis=1)[:, None]


def violation(X, D, Z, alpha, l2=0.0, positive=False):
    """Largest entry of the shortest subgradient."""
    g = (X - Z @ D) @ D.T - l2 * Z
    zero = np.maximum(g if positive else np.abs(g), alpha) - alpha
    return np.where(Z == 0, zero, np.abs(g - alpha * np.sign(Z))).max()


@pytest.mark.parametrize("algorithm", ["lasso_lars", "lasso_cd"])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_lasso_codes_fulfil_the_conditions_of_a_minimum(problem, algorithm, positive, l2):
    X, D = problem
    Z = sparse_encode(
        X, D, algorithm=algorithm, alpha=0.2, positive=positive, l2_penalty=l2, max_iter=100_000
    )
    assert violation(X, D, Z, 0.2, l2, positive) < 1e-8
    assert not positive or (Z >= 0).all()


@pytest.mark.parametrize("algorithm", ["lasso_lars", "lasso_cd", "omp", "lars", "threshold"])
def test_codes_are_scikit_learns(problem, algorithm):
    X, D = problem
    ours, peer = (
        f(X, D, algorithm=algorithm, alpha=0.3, n_nonzero_coefs=3, max_iter=100_000)
        for f in (sparse_encode, theirs.sparse_encode)
    )
    assert_allclose(ours, peer, atol=1e-4 if "lasso" in algorithm else 1e-10)


def test_the_path_and_coordinate_descent_end_at_one_point(problem):
    X, D = problem
    for alpha in (0.01, 0.1, 1.0):
        path, descent = (
            sparse_encode(X, D, algorithm=a, alpha=alpha, max_iter=10**6)
            for a in ("lasso_lars", "lasso_cd")
        )
        assert_allclose(path @ D, descent @ D, atol=1e-6)


def test_more_penalty_gives_more_zeros(problem):
    X, D = problem
    zeros = [(sparse_encode(X, D, alpha=a) == 0).sum() for a in (0.01, 0.1, 0.5, 5.0)]
    assert zeros == sorted(zeros)
    assert zeros[-1] == 600


def test_a_pursuit_of_one_atom_takes_the_best_one_and_of_two_is_near_the_best_pair():
    rng = np.random.default_rng(1)
    D = rng.normal(size=(12, 6))
    D /= np.linalg.norm(D, axis=1)[:, None]
    X = rng.normal(size=(50, 6))

    def error(x, atoms):
        return np.linalg.norm(x - np.linalg.lstsq(D[atoms].T, x, rcond=None)[0] @ D[atoms])

    best = {
        k: np.array([min(error(x, list(c)) for c in combinations(range(12), k)) for x in X])
        for k in (1, 2)
    }
    one, two = (
        np.linalg.norm(X - sparse_encode(X, D, algorithm="omp", n_nonzero_coefs=k) @ D, axis=1)
        for k in (1, 2)
    )
    assert_allclose(one, best[1])
    assert (two >= best[2] - 1e-12).all()
    assert (two <= one + 1e-12).all()
    assert (np.abs(two - best[2]) < 1e-9).mean() > 0.5


def test_pursuit_recovers_codes_of_orthonormal_atoms():
    Q = np.linalg.qr(np.random.default_rng(2).normal(size=(8, 8)))[0]
    Z = np.zeros((5, 8))
    Z[:, 2], Z[:, 5] = 3.0, -1.0
    assert_allclose(sparse_encode(Z @ Q, Q, algorithm="omp", n_nonzero_coefs=2), Z, atol=1e-12)
    assert_allclose(
        sparse_encode(Z @ Q, Q, alpha=0.5), np.sign(Z) * np.maximum(abs(Z) - 0.5, 0), atol=1e-12
    )


def test_l1_and_l2_codes_are_those_of_a_general_minimizer():
    rng = np.random.default_rng(3)
    D, x = rng.normal(size=(4, 3)), rng.normal(size=3)
    Z = sparse_encode(x[None], D, alpha=0.1, l2_penalty=0.2, positive=True)[0]
    cost = lambda z: 0.5 * ((x - z @ D) ** 2).sum() + 0.1 * z.sum() + 0.1 * z @ z  # noqa: E731
    found = minimize(cost, np.ones(4), bounds=[(0, None)] * 4, tol=1e-14)
    assert_allclose(cost(Z), found.fun, atol=1e-10)


def test_repeated_atoms_are_used_once():
    D = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    for algorithm in ("omp", "lasso_lars", "lasso_cd", "lars"):
        Z = sparse_encode(
            np.array([[2.0, 1.0]]), D, algorithm=algorithm, alpha=0.0, n_nonzero_coefs=3
        )
        assert_allclose(Z @ D, [[2.0, 1.0]], atol=1e-9)


def test_coder_splits_signs_and_reconstructs(problem):
    X, D = problem
    coder = SparseCoder(D, transform_algorithm="lasso_lars", transform_alpha=0.1, split_sign=True)
    Z = coder.fit(X).transform(X)
    assert Z.shape == (30, 40)
    assert (Z >= 0).all()
    plain = SparseCoder(D, transform_algorithm="lasso_lars", transform_alpha=0.1)
    assert_allclose(coder.inverse_transform(Z), plain.inverse_transform(plain.transform(X)))


def test_codes_of_a_file_are_those_of_the_array(problem, tmp_path):
    X, D = problem
    np.save(tmp_path / "X.npy", X)
    coder = SparseCoder(D, transform_n_nonzero_coefs=2)
    assert_array_equal(coder.transform(tmp_path / "X.npy"), coder.transform(X))


def test_codes_that_end_before_their_minimum_are_warned_of(problem):
    X, D = problem
    with pytest.warns(ConvergenceWarning, match="raise transform_max_iter"):
        sparse_encode(X, D, algorithm="lasso_lars", alpha=0.01, max_iter=2)


def test_coordinate_descent_goes_on_where_atoms_depend_on_each_other(problem):
    X, D = problem
    twice = np.vstack([D, D[:3], D[:1] / 2])
    Z = sparse_encode(X, twice, algorithm="lasso_cd", alpha=0.05)
    slope = (X - Z @ twice) @ twice.T
    assert (np.abs(slope) <= 0.05 + 1e-9).all()
    assert_allclose(slope[Z != 0], 0.05 * np.sign(Z[Z != 0]), atol=1e-9)


def test_zero_rows_have_zero_codes(problem):
    D = problem[1]
    for algorithm in ("omp", "lasso_lars", "lasso_cd", "lars", "threshold"):
        assert not sparse_encode(np.zeros((2, 8)), D, algorithm=algorithm).any()


def test_errors_name_what_does_not_fit(problem):
    X, D = problem
    with pytest.raises(ValueError, match="different numbers of features"):
        sparse_encode(X[:, :5], D)
    with pytest.raises(ValueError, match="Positive constraint not supported for 'omp'"):
        sparse_encode(X, D, algorithm="omp", positive=True)
    with pytest.raises(ValueError, match="different from the number of components"):
        SparseCoder(D).inverse_transform(np.ones((2, 3)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda D: np.where(D[4, 2] == D, np.nan, D), "atom 4 of the dictionary"),
        (lambda D: D[0], "an atom in each row"),
    ],
)
def test_a_dictionary_without_numbers_is_refused(problem, change, message):
    X, D = problem
    with pytest.raises(ValueError, match=message):
        SparseCoder(change(D)).transform(X)
    with pytest.raises(ValueError, match=message):
        SparseCoder(change(D)).fit(X)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_orthogonal_least_squares_takes_the_atom_with_which_the_error_falls_most(problem, k):
    X, D = problem
    D = D * np.random.default_rng(1).uniform(0.5, 2.0, size=(len(D), 1))  # of any length
    codes = sparse_encode(X, D, algorithm="ols", n_nonzero_coefs=k)
    for x, code in zip(X, codes, strict=True):
        chosen = []
        for _ in range(k):
            others = [t for t in range(len(D)) if t not in chosen]
            errors = [np.linalg.lstsq(D[[*chosen, t]].T, x)[1][0] for t in others]
            chosen.append(others[int(np.argmin(errors))])
        expected = np.zeros(len(D))
        expected[chosen] = np.linalg.lstsq(D[chosen].T, x)[0]
        assert_allclose(code, expected, atol=1e-10)


def test_orthogonal_least_squares_leaves_out_atoms_that_depend_on_chosen_ones(problem):
    X, D = problem
    twice = np.vstack([D[:4], 2 * D[:4], np.zeros((1, 8))])
    codes = sparse_encode(X, twice, algorithm="ols", n_nonzero_coefs=9)
    assert ((codes != 0).sum(axis=1) <= 4).all()
    assert_allclose(codes @ twice, X @ np.linalg.pinv(D[:4]) @ D[:4], atol=1e-10)
    with pytest.raises(ValueError, match="ols"):
        sparse_encode(X, D, algorithm="ols", positive=True)


@pytest.mark.parametrize("algorithm", ["lasso_lars", "ols"])
def test_the_function_has_the_bits_of_the_model_on_any_number_of_threads(algorithm):
    rng = np.random.default_rng(0)
    X, D = rng.normal(size=(2500, 8)), rng.normal(size=(12, 8))  # three chunks
    expected = SparseCoder(D, transform_algorithm=algorithm, transform_n_nonzero_coefs=3)
    for n_jobs in (1, 2, 8):
        codes = sparse_encode(X, D, algorithm=algorithm, n_nonzero_coefs=3, n_jobs=n_jobs)
        assert_array_equal(codes, expected.transform(X))


def test_products_may_be_given(problem):
    X, D = problem
    given = sparse_encode(X, D, gram=D @ D.T, cov=D @ X.T, alpha=0.2)
    assert_allclose(given, sparse_encode(X, D, alpha=0.2), atol=1e-12)
    with pytest.raises(ValueError, match=r"cov has shape \(30, 20\): give \(20, 30\)"):
        sparse_encode(X, D, cov=X @ D.T)
