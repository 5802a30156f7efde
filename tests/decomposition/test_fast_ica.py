"""Independent components against scikit-learn, planted mixtures, derivatives and likelihoods."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from sklearn import decomposition
from sklearn.datasets import load_digits

import tenfold
from tenfold import FastICA, fastica
from tenfold.decomposition._ica_algorithms import (
    ContrastObjective,
    LikelihoodObjective,
    Projections,
    orthonormalize,
)
from tenfold.decomposition._ica_contrasts import CONTRASTS, ICAContrast
from tenfold.engine.arrays import ArraySource
from tenfold.engine.rows import Rows

ALGORITHMS = ("parallel", "deflation", "picard", "infomax")


@pytest.fixture(name="mixture")
def mixed_sources():
    """Rows, and the matrix that mixed three sources with heavy tails and two with light ones."""
    rng = np.random.default_rng(0)
    S = np.column_stack([rng.laplace(size=(5000, 3)), rng.uniform(-1, 1, size=(5000, 2))])
    A = rng.normal(size=(5, 5))
    return S @ A.T + 3, A


def amari_distance(P):
    """0 if P is a permutation with scales, at most 1."""
    P = np.abs(P)
    k = len(P)
    rows = (P / P.max(axis=1, keepdims=True)).sum() - k
    columns = (P / P.max(axis=0, keepdims=True)).sum() - k
    return (rows + columns) / (2 * k * (k - 1))


@pytest.mark.parametrize("fun", CONTRASTS)
@pytest.mark.parametrize("algorithm", ["parallel", "deflation"])
def test_is_scikit_learns_to_the_last_digits(mixture, algorithm, fun):
    X, _ = mixture
    settings = {"algorithm": algorithm, "fun": fun, "random_state": 3, "n_components": 4}
    theirs, ours = decomposition.FastICA(**settings).fit(X), FastICA(**settings).fit(X)
    assert ours.n_iter_ == theirs.n_iter_
    for name in ("components_", "mixing_", "mean_", "whitening_"):
        assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-9, err_msg=name)
    assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-9)


@pytest.mark.parametrize("whiten", ["arbitrary-variance", "unit-variance"])
def test_a_function_of_the_user_is_called_as_scikit_learn_calls_it(mixture, whiten):
    X, _ = mixture

    def cube(y, scale):
        return scale * y**3, (scale * 3 * y**2).mean(axis=-1)

    settings = {"fun": cube, "fun_args": {"scale": 2.0}, "random_state": 0, "whiten": whiten}
    theirs, ours = decomposition.FastICA(**settings).fit(X), FastICA(**settings).fit(X)
    assert_allclose(ours.components_, theirs.components_, atol=1e-9)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_planted_sources_are_found_up_to_order_and_scale(mixture, algorithm):
    X, A = mixture
    model = FastICA(algorithm=algorithm, random_state=0, tol=1e-6).fit(X)
    assert model.converged_
    assert amari_distance(model.components_ @ A) < 0.03
    assert_allclose(model.transform(X).std(axis=0), 1, rtol=1e-6)
    assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-8)


def test_the_unmixing_is_a_formula_of_its_own_and_no_transpose(mixture):
    """g(x) = U (x - mean), with U the inverse of the mixing matrix, not its transpose."""
    X, _ = mixture
    model = FastICA(random_state=0).fit(X)
    assert_allclose(model.transform(X[:3]), (X[:3] - model.mean_) @ model.components_.T)
    assert_allclose(model.components_ @ model.mixing_, np.eye(5), atol=1e-9)
    assert not np.allclose(model.components_, model.mixing_.T, atol=0.1)
    assert_allclose(model.components_, model.unmixing_ @ model.whitening_, atol=1e-12)


def test_picard_ends_at_a_fixed_point_of_fastica(mixture):
    X, _ = mixture
    for fun in CONTRASTS:
        picard = FastICA(algorithm="picard", fun=fun, random_state=0, tol=1e-9).fit(X)
        start = picard.unmixing_ / np.linalg.norm(picard.unmixing_, axis=1, keepdims=True)
        again = FastICA(fun=fun, w_init=start, max_iter=5, tol=1e-12).fit(X)
        match = np.abs(again.components_ @ picard.mixing_)
        assert_allclose(match, np.eye(5), atol=1e-5)


def test_picard_converges_in_fewer_iterations_where_rows_are_no_mixture():
    X = load_digits().data
    with pytest.warns(UserWarning, match="Try algorithm='picard'"):
        slow = FastICA(40, random_state=0, tol=1e-6, max_iter=180).fit(X)
    assert not slow.converged_
    fast = FastICA(40, algorithm="picard", random_state=0, tol=1e-6, max_iter=180).fit(X)
    assert fast.converged_
    assert (np.diff(fast.history_["objective"]) <= 1e-14).all()


def white_rows():
    Z = np.random.default_rng(2).laplace(size=(400, 3))
    Z -= Z.mean(axis=0)
    return Z @ np.linalg.inv(np.linalg.cholesky(Z.T @ Z / 400)).T


@pytest.mark.parametrize("fun", CONTRASTS)
def test_gradient_of_the_contrast_is_its_derivative(fun):
    z = Projections(Rows(ArraySource(white_rows())), None, None, np.eye(3))
    contrast = ICAContrast(fun, 1.0)
    objective = ContrastObjective(contrast, contrast.gaussian_mean())
    W = orthonormalize(np.random.default_rng(3).normal(size=(3, 3)))
    here = objective.evaluate(z, W)
    for i, j in itertools.combinations(range(3), 2):
        E = np.zeros((3, 3))
        E[i, j], E[j, i] = 1e-5, -1e-5
        ahead, behind = (objective.evaluate(z, objective.move(W, D)).value for D in (E, -E))
        assert (ahead - behind) / 2e-5 == pytest.approx(2 * here.gradient[i, j], abs=1e-7)


def test_gradient_of_the_likelihood_is_its_derivative():
    X = white_rows() * [1.0, 2.0, 0.5]
    z = Projections(Rows(ArraySource(X)), None, None, X.T @ X / 400)
    objective = LikelihoodObjective(
        ICAContrast("logcosh", 1.0), np.array([1.0, -1.0, 1.0]), np.zeros(3)
    )
    W = np.random.default_rng(3).normal(size=(3, 3))
    here = objective.evaluate(z, W)
    for i, j in itertools.product(range(3), repeat=2):
        E = np.zeros((3, 3))
        E[i, j] = 1e-5
        ahead, behind = (objective.evaluate(z, objective.move(W, D)).value for D in (E, -E))
        assert (ahead - behind) / 2e-5 == pytest.approx(here.gradient[i, j], abs=1e-6)


def test_infomax_maximizes_the_likelihood_that_it_reports(mixture):
    """Densities exp(-y^2/2) / cosh(y) and exp(-y^2/2) cosh(y), normalized by quadrature."""
    X, _ = mixture
    model = FastICA(algorithm="infomax", random_state=0, whiten="arbitrary-variance").fit(X)
    U = model.components_
    n = len(X)
    Y = (X - X.mean(axis=0)) @ U.T * np.sqrt(n)  # up to a scale for each component
    heavy = np.log(quad(lambda y: np.exp(-y * y / 2) / np.cosh(y), -40, 40)[0])
    light = np.log(quad(lambda y: np.exp(-y * y / 2) * np.cosh(y), -40, 40)[0])
    logs = np.log(np.cosh(Y)).mean(axis=0)
    squares = (Y * Y).mean(axis=0) / 2
    sub = logs > ICAContrast("logcosh", 1.0).gaussian_mean() * 1.2
    best = np.where(sub, -logs + light, logs + heavy) + squares
    whitened = model.unmixing_
    value = best.sum() - np.linalg.slogdet(whitened)[1]
    assert model.history_["objective"][-1] == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_same_bits_from_files_and_with_other_threads(mixture, algorithm, tmp_path):
    X = np.repeat(mixture[0], 4, axis=0)
    X += np.random.default_rng(0).normal(size=X.shape) * 0.01
    np.save(tmp_path / "rows.npy", X)
    settings = {"algorithm": algorithm, "random_state": 0, "n_components": 3}
    a = FastICA(**settings).fit(X)
    with tenfold.threads(3):
        b = FastICA(**settings).fit(tmp_path / "rows.npy")
    assert np.array_equal(a.components_, b.components_)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_weights_are_repetitions(mixture, algorithm):
    X, _ = mixture
    X = X[:1000]
    w = np.random.default_rng(0).integers(0, 3, len(X))
    settings = {"algorithm": algorithm, "random_state": 0, "tol": 1e-7}
    weighted = FastICA(**settings).fit(X, sample_weight=w)
    repeated = FastICA(**settings).fit(np.repeat(X, w, axis=0))
    assert_allclose(weighted.components_, repeated.components_, atol=1e-6)


def test_white_rows_are_taken_as_they_are():
    Z = white_rows()
    settings = {"whiten": False, "random_state": 0}
    theirs, ours = decomposition.FastICA(**settings).fit(Z), FastICA(**settings).fit(Z)
    assert_allclose(ours.components_, theirs.components_, atol=1e-9)
    assert not hasattr(ours, "mean_")
    assert_allclose(ours.inverse_transform(ours.transform(Z)), Z, atol=1e-10)
    infomax = FastICA(algorithm="infomax", whiten=False, random_state=0).fit(3 * Z)
    assert infomax.converged_


def test_the_function_returns_what_scikit_learns_does(mixture):
    X, _ = mixture
    theirs = decomposition.fastica(X, random_state=0, return_X_mean=True, return_n_iter=True)
    ours = fastica(X, random_state=0, return_X_mean=True, return_n_iter=True)
    for a, b in zip(theirs, ours, strict=True):
        assert_allclose(a, b, atol=1e-9)
    assert fastica(X, random_state=0, compute_sources=False)[2] is None


def test_errors_name_the_cure(mixture):
    X, _ = mixture

    def identity(y):
        return y, np.ones(len(y))

    with pytest.raises(ValueError, match="algorithm='parallel'"):
        FastICA(fun=identity, algorithm="picard").fit(X)
    with pytest.raises(ValueError, match="takes no weights"):
        FastICA(fun=identity).fit(X, sample_weight=np.ones(len(X)))
    with pytest.raises(ValueError, match="other contrasts: 'picard'"):
        FastICA(fun="cube", algorithm="infomax").fit(X)
    with pytest.raises(ValueError, match="returns the pair"):
        FastICA(fun=np.tanh).fit(X)
    with pytest.raises(ValueError, match="NaN"):
        FastICA().fit(np.where(np.arange(5) == 2, np.nan, X))
