"""SVR, NuSVR and OneClassSVM: libsvm's numbers, closed forms, the meaning of nu."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn import svm

import tenfold
from tenfold import SVR, NuSVR, OneClassSVM, feature_contributions
from tests.svm.problems import waves


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        ("SVR", {"C": 3.0, "epsilon": 0.2}),
        ("SVR", {"kernel": "linear", "epsilon": 0.0}),
        ("NuSVR", {"C": 2.0, "nu": 0.3}),
        ("NuSVR", {"nu": 1.0}),
        ("OneClassSVM", {"nu": 0.2}),
    ],
)
def test_libsvm_finds_the_same_model(model, parameters):
    X, y = waves(120)
    w = np.random.default_rng(2).uniform(0, 2, len(y))
    ours = getattr(tenfold, model)(**parameters, tol=1e-9).fit(X, y)
    theirs = getattr(svm, model)(**parameters, tol=1e-9).fit(X, y)
    output = "decision_function" if model == "OneClassSVM" else "predict"
    assert_allclose(getattr(ours, output)(X), getattr(theirs, output)(X), atol=1e-5)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    assert np.array_equal(ours.support_, theirs.support_) or parameters.get("kernel") == "linear"
    ours.set_params(gamma=0.3).fit(X, y, w)
    theirs.set_params(gamma=0.3).fit(X, y, w)
    assert_allclose(getattr(ours, output)(X), getattr(theirs, output)(X), atol=1e-5)
    assert isinstance(ours.n_iter_, int)


def test_two_points_by_hand():
    model = SVR(kernel="linear", C=10.0, epsilon=0.5, tol=1e-9).fit([[0.0], [2.0]], [0.0, 3.0])
    assert_allclose(model.coef_, [[1.0]])  # the flattest line in the tube
    assert_allclose(model.intercept_, [0.5])
    assert_allclose(model.dual_coef_, [[-0.5, 0.5]])
    why = feature_contributions(model, [4.0])
    assert_allclose(why.scores, [4.5])


@pytest.mark.parametrize("nu", [0.15, 0.5])
def test_nu_is_a_share_of_rows(nu):
    X, y = waves(200)
    tube = NuSVR(nu=nu, C=5.0, tol=1e-7).fit(X, y)
    error = np.abs(tube.predict(X) - y)
    assert (error > tube.epsilon_ + 1e-5).mean() <= nu <= len(tube.support_) / 200
    same = SVR(C=5.0, epsilon=tube.epsilon_, tol=1e-7).fit(X, y)
    assert_allclose(same.predict(X), tube.predict(X), atol=1e-4)
    inside = OneClassSVM(nu=nu, tol=1e-8).fit(X)
    assert (inside.predict(X) < 0).mean() <= nu <= len(inside.support_) / 200
    assert_allclose(inside.score_samples(X) - inside.offset_, inside.decision_function(X))


def test_sparse_rows_give_the_dense_model():
    X, y = waves(80)
    X[np.abs(X) < 0.7] = 0
    dense, sparse = SVR(tol=1e-9).fit(X, y), SVR(tol=1e-9).fit(csr_array(X), y)
    assert_allclose(sparse.predict(csr_array(X)), dense.predict(X), atol=1e-8)
    assert sparse.gamma_ == pytest.approx(dense.gamma_)


def test_a_warm_start_needs_fewer_steps():
    X, y = waves(150)
    warm, steps = SVR(warm_start=True, tol=1e-5), 0
    for C in (1.0, 1.5, 2.0):
        warm.set_params(C=C).fit(X, y)
        cold = SVR(C=C, tol=1e-5).fit(X, y)
        assert warm.objective_[0] == pytest.approx(cold.objective_[0], rel=1e-6)
        steps += cold.n_iter_ - warm.n_iter_
    assert steps > 0
