"""Kalman filter: the joint Gaussian of all states and steps is the judge."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import tenfold
from tenfold import KalmanFilter

A = np.array([[0.9, 0.2], [-0.1, 0.8]])
C = np.array([[1.0, 0.0], [0.5, 1.0], [0.0, 2.0]])
Q = np.array([[0.5, 0.1], [0.1, 0.3]])
R = np.array([[0.4, 0.1, 0.0], [0.1, 0.6, 0.05], [0.0, 0.05, 0.8]])
M, P = np.array([1.0, -1.0]), np.array([[1.0, 0.3], [0.3, 2.0]])


def given_model(**more):
    return KalmanFilter(
        2, transition_matrix=A, observation_matrix=C, transition_covariance=Q,
        observation_covariance=R, initial_mean=M, initial_covariance=P, **more,
    )  # fmt: skip


def joint_gaussian(n):
    """Mean and covariance of the states, and the matrix that leads to the steps."""
    mean, cov = np.zeros(2 * n), np.zeros((2 * n, 2 * n))
    for t in range(n):
        now = slice(2 * t, 2 * t + 2)
        mean[now] = M if t == 0 else A @ mean[2 * t - 2 : 2 * t]
        if t == 0:
            cov[now, now] = P
            continue
        cov[now, : 2 * t] = A @ cov[2 * t - 2 : 2 * t, : 2 * t]
        cov[: 2 * t, now] = cov[now, : 2 * t].T
        cov[now, now] = A @ cov[2 * t - 2 : 2 * t, 2 * t - 2 : 2 * t] @ A.T + Q
    return mean, cov, np.kron(np.eye(n), C)


def condition(X, upto):
    """States given the first steps, missing entries left out, and the log-density of the steps."""
    n = len(X)
    mean, cov, H = joint_gaussian(n)
    x = X.ravel().copy()
    x[3 * upto :] = np.nan
    seen = ~np.isnan(x)
    H = H[seen]
    S = H @ cov @ H.T + np.kron(np.eye(n), R)[np.ix_(seen, seen)]
    gain = cov @ H.T @ np.linalg.inv(S)
    density = stats.multivariate_normal(H @ mean, cov=S).logpdf(x[seen])  # pyright: ignore[reportArgumentType]
    return mean + gain @ (x[seen] - H @ mean), cov - gain @ H @ cov, density


@pytest.mark.parametrize("missing", [False, True])
def test_filter_and_smoother_condition_the_joint_gaussian(missing):
    X, _ = given_model().sample(6, random_state=0)
    if missing:
        X[2] = np.nan
        X[4, 1] = np.nan
    model = given_model()
    means, covariances = model.filter(X)
    for t in range(6):
        mean, cov, _ = condition(X, t + 1)
        assert_allclose(means[t], mean[2 * t : 2 * t + 2], atol=1e-10)
        assert_allclose(covariances[t], cov[2 * t : 2 * t + 2, 2 * t : 2 * t + 2], atol=1e-10)
    mean, cov, density = condition(X, 6)
    smoothed, spread = model.smooth(X)
    assert_allclose(smoothed.ravel(), mean, atol=1e-10)
    for t in range(6):
        assert_allclose(spread[t], cov[2 * t : 2 * t + 2, 2 * t : 2 * t + 2], atol=1e-10)
    assert model.score(X) == pytest.approx(density)


def test_prediction_is_what_comes_next_on_average():
    X, _ = given_model().sample(5, random_state=1)
    gaps = np.vstack([X, np.full((2, 3), np.nan)])
    states, _ = given_model().smooth(gaps)
    means, covariances = given_model().predict_next(X, 2)
    assert_allclose(means, states[-2:] @ C.T)
    assert covariances.shape == (2, 3, 3)
    assert np.trace(covariances[1]) > np.trace(covariances[0])


@pytest.mark.parametrize("missing", [False, True])
def test_em_raises_the_likelihood_and_finds_the_dynamics(missing):
    parts = [given_model().sample(60, random_state=seed)[0] for seed in range(8)]
    if missing:
        rng = np.random.default_rng(0)
        for part in parts:
            part[rng.random(part.shape) < 0.1] = np.nan
    model = KalmanFilter(2, random_state=0, max_iter=40, tol=1e-6)
    with pytest.warns(match="did not converge"):
        model.fit(parts)
    rises = np.diff(-model.history_["objective"])
    assert (rises >= -1e-8).all()
    assert model.log_likelihood_ == pytest.approx(model.score(parts))
    truth = given_model().score(parts)
    assert model.log_likelihood_ > truth - 25
    rates = np.sort(np.linalg.eigvals(model.transition_matrix_).real)  # free of the basis
    assert_allclose(rates, np.sort(np.linalg.eigvals(A).real), atol=0.25)


def test_a_gradient_of_zero_is_a_fixed_point_of_em():
    parts = [given_model().sample(40, random_state=seed)[0] for seed in range(3)]
    model = given_model(learn="R", max_iter=300, tol=1e-10).fit(parts)
    best = model.log_likelihood_
    for step in (0.98, 1.02):
        moved = given_model().set_params(
            observation_covariance=step * model.observation_covariance_
        )
        assert moved.score(parts) < best
    assert_array_equal(model.transition_matrix_, A)


def test_threads_files_and_saved_models(tmp_path):
    parts = [given_model().sample(20 + seed, random_state=seed)[0] for seed in range(20)]
    model = KalmanFilter(1, random_state=0, max_iter=3, tol=-np.inf)
    fits = []
    for threads in (1, 3):
        with tenfold.threads(threads), pytest.warns(match="did not converge"):
            fits.append(KalmanFilter(**model.get_params()).fit(parts))
    np.save(tmp_path / "v.npy", np.concatenate(parts))
    np.save(tmp_path / "n.npy", np.array([len(part) for part in parts]))
    with pytest.warns(match="did not converge"):
        fits.append(
            KalmanFilter(**model.get_params()).fit(
                (str(tmp_path / "v.npy"), str(tmp_path / "n.npy"))
            )
        )
    for other in fits[1:]:
        assert_array_equal(other.observation_matrix_, fits[0].observation_matrix_)
    tenfold.save(fits[0], tmp_path / "m.tenfold")
    loaded = tenfold.load(tmp_path / "m.tenfold")
    assert_array_equal(loaded.smooth(parts)[0], fits[0].smooth(parts)[0])


def test_bad_parameters_are_named():
    with pytest.raises(ValueError, match="observation_matrix has shape"):
        KalmanFilter(2, observation_matrix=np.eye(2)).fit(np.zeros((5, 3)))
    with pytest.raises(ValueError, match="none of 'ACQRmP'"):
        KalmanFilter(learn="x").fit(np.zeros((5, 1)))
    with pytest.raises(Exception, match="not fitted"):
        KalmanFilter().filter(np.zeros((5, 1)))


def test_a_column_without_entries_is_skipped_and_a_table_without_entries_is_refused():
    X = np.random.default_rng(0).normal(size=(30, 2))
    X[:, 1] = np.nan
    assert np.isfinite(KalmanFilter(max_iter=2, tol=1e9).fit(X).transition_matrix_).all()
    with pytest.raises(ValueError, match="all entries are missing"):
        KalmanFilter().fit(np.full((5, 2), np.nan))


def test_a_constant_column_is_refused_with_the_cure():
    for learn in ("ACQRmP", "R"):
        with pytest.raises(ValueError, match=r"column 0 is constant.*without 'R'"):
            KalmanFilter(1, learn=learn, random_state=0).fit(np.ones((30, 1)))
    noise = np.random.default_rng(0).normal(size=(30, 1))
    with pytest.raises(ValueError, match="column 1 is constant"):
        KalmanFilter(1, random_state=0).fit(np.hstack([noise, np.full((30, 1), 3.0)]))
    known = KalmanFilter(1, observation_covariance=[[1.0]], learn="m", tol=1e6)
    assert np.isfinite(known.fit(np.ones((30, 1))).log_likelihood_)


def test_a_covariance_that_becomes_singular_is_explained():
    noise = np.random.default_rng(0).normal(size=(30, 1))
    with pytest.raises(ValueError, match=r"became singular.*leave columns out"):
        KalmanFilter(1, max_iter=500, tol=0, random_state=0).fit(noise * [1.0, 2.0])


@pytest.mark.parametrize(
    "name", ["transition_covariance", "observation_covariance", "initial_covariance"]
)
def test_given_covariances_are_covariances(name):
    x = np.random.default_rng(0).normal(size=(10, 2))
    for matrix, words in (
        ([[-1.0, 0.0], [0.0, 1.0]], "eigenvalue -1: give a covariance"),
        ([[1.0, 0.5], [0.0, 1.0]], "not symmetric"),
        ([[1.0, np.nan], [np.nan, 1.0]], "NaN or infinity"),
    ):
        with pytest.raises(ValueError, match=f"{name}.*{words}"):
            KalmanFilter(2, **{name: matrix}).fit(x)
    still = KalmanFilter(2, transition_covariance=np.zeros((2, 2)), learn="R", tol=1e6)
    assert np.isfinite(still.fit(x).log_likelihood_)  # no noise of the states is allowed


def test_infinity_and_sequences_without_steps_are_refused():
    model, x = given_model(), given_model().sample(6, random_state=0)[0]
    infinite = x.copy()
    infinite[2] = np.inf
    for ask in (KalmanFilter(1).fit, model.filter, model.smooth, model.log_prob):
        with pytest.raises(ValueError, match="sequence 1 contains infinity"):
            ask([x, infinite])
        with pytest.raises(ValueError, match="there is no step"):
            ask(np.empty((0, x.shape[1])))
