"""SVC and NuSVC: libsvm's numbers, closed forms, several classes, probabilities."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn import svm
from sklearn.datasets import load_iris, make_blobs, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels

import tenfold
from tenfold import SVC, LinearSVC, NuSVC, PrimalSVC, feature_contributions
from tenfold.callbacks.checkpoint_file import CheckpointFile
from tenfold.svm import _blocked_smo, _classifier_base, _kernel_access
from tenfold.svm._calibration import couple_pairs, favor_winners, pair_probabilities
from tenfold.svm.primal_svc import primal_objective
from tests.svm.problems import rings

KERNELS = [
    {"kernel": "rbf", "gamma": 0.4},
    {"kernel": "linear"},
    {"kernel": "poly", "coef0": 1.0, "gamma": "auto"},
    {"kernel": "sigmoid", "gamma": 0.05},
]


@pytest.mark.parametrize("parameters", KERNELS, ids=lambda p: p["kernel"])
@pytest.mark.parametrize("model", ["SVC", "NuSVC"])
def test_libsvm_finds_the_same_model(model, parameters):
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    w = np.random.default_rng(0).uniform(0.5, 2, len(y))
    options = {**parameters, "tol": 1e-9} | ({"nu": 0.2} if model == "NuSVC" else {})
    ours = getattr(tenfold, model)(**options).fit(X, y, w)
    theirs = getattr(svm, model)(**options).fit(X, y, w)
    scores = "decision_function"
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(getattr(ours, scores)(X), getattr(theirs, scores)(X), atol=2e-5, rtol=1e-4)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-5, rtol=1e-4)
    assert ours.dual_coef_.shape == (2, len(ours.support_))
    if parameters["kernel"] == "rbf":
        assert np.array_equal(ours.support_, theirs.support_)
        assert np.array_equal(ours.n_support_, theirs.n_support_)
        assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-4)


@pytest.mark.parametrize("gather_bytes", [2**30, 0])
def test_support_vectors_are_the_rows_of_their_numbers(gather_bytes, monkeypatch, tmp_path):
    monkeypatch.setattr(_kernel_access, "GATHER_BYTES", gather_bytes)  # 0: passes over the file
    X, y = np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 2
    path = tmp_path / "rows.npy"
    np.save(path, np.column_stack([X, y]))
    theirs = svm.SVC().fit(X, y)  # all rows are support vectors, ordered by their classes
    assert len(theirs.support_) == len(X)
    for model in (SVC().fit(X, y), SVC().fit(csr_array(X), y), SVC().fit(path, 3)):
        vectors = model.support_vectors_
        vectors = vectors.toarray() if hasattr(vectors, "toarray") else vectors
        assert np.array_equal(vectors, X[model.support_])
        assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=2e-3)


def test_two_points_have_the_plane_between_them():
    model = SVC(kernel="linear", C=10.0).fit([[1.0, 1.0], [3.0, 1.0]], ["a", "b"])
    assert_allclose(model.coef_, [[1.0, 0.0]])
    assert_allclose(model.intercept_, [-2.0])
    assert_allclose(np.abs(model.dual_coef_), [[0.5, 0.5]])
    assert_allclose(model.duality_gap_, 0.0, atol=1e-12)
    clipped = SVC(kernel="linear", C=0.1).fit([[1.0], [3.0]], [0, 1])
    assert_allclose(clipped.coef_, [[0.2]])  # no free vector: the intercept is in the middle
    assert_allclose(clipped.intercept_, [-0.4])


def test_a_linear_kernel_is_the_linear_machine():
    X, y = make_blobs(120, 3, centers=2, cluster_std=4.0, random_state=3)
    ours = SVC(kernel="linear", C=0.5, tol=1e-8).fit(X, y)
    linear = LinearSVC(loss="hinge", C=0.5, intercept_scaling=np.inf, tol=1e-10).fit(X, y)
    assert_allclose(ours.coef_, linear.coef_, rtol=1e-4, atol=1e-5)
    assert_allclose(ours.intercept_, linear.intercept_, rtol=1e-4, atol=1e-5)
    why = feature_contributions(ours, X[0])
    assert why.scores[0] == pytest.approx(ours.decision_function(X[:1])[0])
    with pytest.raises(TypeError, match="SVC"):
        feature_contributions(SVC().fit(X, y), X[0])


def test_other_vectors_may_go():
    X, y = rings(80)
    model = SVC(C=5.0, tol=1e-9, gamma=1.0).fit(X, y)
    few = SVC(C=5.0, tol=1e-9, gamma=1.0).fit(X[model.support_], y[model.support_])
    assert len(model.support_) < 60
    assert_allclose(few.decision_function(X), model.decision_function(X), atol=1e-7)


@pytest.mark.parametrize("nu", [0.1, 0.4])
def test_nu_bounds_errors_and_support_vectors(nu):
    X, y = rings(200)
    model = NuSVC(nu=nu, tol=1e-6).fit(X, y)
    margin = model.decision_function(X) * y
    assert (margin < 1 - 1e-4).mean() <= nu <= len(model.support_) / len(y)


def test_kernels_in_every_form_give_one_model():
    X, y = rings(60)
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    scores = [
        SVC(gamma=0.5, tol=1e-8).fit(X, y).decision_function(X),
        SVC(kernel="precomputed", tol=1e-8).fit(K, y).decision_function(K),
        SVC(kernel=kernels.RBF(1.0), tol=1e-8).fit(X, y).decision_function(X),
        SVC(kernel=tenfold.kernel.RBF(1.0), tol=1e-8).fit(X, y).decision_function(X),
        SVC(gamma=0.5, tol=1e-8).fit(csr_array(X), y).decision_function(csr_array(X)),
        SVC(
            kernel=lambda A, B: np.exp(-0.5 * ((A[:, None] - B) ** 2).sum(axis=2)), tol=1e-8
        ).fit(X, y).decision_function(X),
    ]  # fmt: skip
    for score in scores[1:]:
        assert_allclose(score, scores[0], atol=1e-7)
    with pytest.raises(ValueError, match="a value for each pair"):
        SVC(kernel=lambda A, _: A).fit(X, y)
    with pytest.raises(ValueError, match="square matrix"):
        SVC(kernel="precomputed").fit(X, y)


def test_ties_go_to_the_first_class_or_to_the_largest_confidence():
    X, y = make_blobs(60, random_state=42, centers=4, cluster_std=3.0)
    ours, theirs = SVC(tol=1e-6).fit(X, y), svm.SVC(tol=1e-6).fit(X, y)
    grid = np.random.default_rng(0).uniform(-15, 15, size=(2000, 2))
    assert (ours.predict(grid) == theirs.predict(grid)).mean() > 0.999
    for model in (ours, theirs):
        model.set_params(break_ties=True)
    assert (ours.predict(grid) == theirs.predict(grid)).mean() > 0.999
    assert np.array_equal(ours.predict(grid), ours.decision_function(grid).argmax(axis=1))
    with pytest.raises(ValueError, match="break_ties must be False"):
        ours.set_params(decision_function_shape="ovo").predict(grid)
    ours.set_params(break_ties=False)
    assert ours.decision_function(grid).shape == (2000, 6)


def test_a_warm_start_follows_the_path_of_c():
    X, y = rings(300, noise=0.5)
    warm, steps = SVC(warm_start=True, tol=1e-5), 0
    for C in (1.0, 2.0, 4.0, 8.0, 3.0):
        warm.set_params(C=C).fit(X, y)
        cold = SVC(C=C, tol=1e-5).fit(X, y)
        assert warm.objective_[0] == pytest.approx(cold.objective_[0], rel=1e-6)
        steps += int(cold.n_iter_[0]) - int(warm.n_iter_[0])
    assert steps > 0


def test_large_costs_need_digits_and_get_them():
    """ThunderSVM #125: with C = 1e5 and float32 kernel values accuracy is lost."""
    X, y = rings(200, noise=0.45)
    ours = SVC(C=1e5, gamma=2.0, tol=1e-3).fit(X.astype(np.float32), y)
    theirs = svm.SVC(C=1e5, gamma=2.0, tol=1e-3).fit(X.astype(np.float32), y)
    assert ours.converged_
    assert ours.score(X, y) >= theirs.score(X, y) - 0.01
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.99


def test_values_too_large_for_the_tolerance_end_with_a_warning():
    """scikit-learn #4648 and #30353: fits that never end."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)) * 1e6, rng.integers(0, 2, 60)
    with pytest.warns(ConvergenceWarning, match=r"StandardScaler|MinMaxScaler"):
        model = SVC(kernel="poly", gamma=1.0).fit(X, y)
    assert model.fit_status_ == 1
    assert not model.converged_
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2\)"):
        SVC(max_iter=2).fit(X, y)


def test_a_function_that_is_no_kernel_is_named():
    X, y = rings(60)
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        model = SVC(kernel=lambda A, B: -(A @ B.T)).fit(X, y)
    assert np.isinf(model.duality_gap_).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVC().fit(X, y)


def test_values_without_a_variance_or_a_margin_are_named():
    X, y = rings(60)
    with pytest.raises(ValueError, match="squares overflow"):
        SVC().fit(1e200 * X, y)  # gamma="scale" would be 0, and all rows the same
    with pytest.raises(ValueError, match=r"no margin between two classes with nu=0\.2"):
        NuSVC(nu=0.2).fit(np.ones((40, 2)), np.arange(40) % 2)


def test_a_sigmoid_ends_at_a_stationary_point_and_claims_no_more():
    X, y = make_classification(200, 8, n_informative=5, random_state=0)
    with pytest.warns(UserWarning, match="duality_gap_ is inf"):
        model = SVC(kernel="sigmoid").fit(X, y)
    assert model.converged_
    assert np.isinf(model.duality_gap_).all()
    signs = np.where(y == 1, 1, -1)
    multipliers = np.zeros(len(y))
    multipliers[model.support_] = np.abs(model.dual_coef_[0])
    margins = signs * model.decision_function(X)
    free = (multipliers > 0) & (multipliers < 1)
    assert_allclose(margins[free], 1.0, atol=2e-3)
    assert (margins[multipliers == 0] > 1 - 2e-3).all()
    assert (margins[multipliers == 1] < 1 + 2e-3).all()
    assert np.isinf(SVC(kernel="sigmoid", gamma=1e-6).fit(X, y).duality_gap_).all()


@pytest.mark.parametrize("k", [2, 3])
def test_probabilities_agree_with_predictions(k):
    X, y = make_blobs(150, 2, centers=k, cluster_std=4.0, random_state=1)
    model = SVC(probability=True).fit(X, y)
    p = model.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1.0)
    assert np.array_equal(p.argmax(axis=1), model.predict(X))
    assert_allclose(np.exp(model.predict_log_proba(X)), p)
    chosen = p[np.arange(len(y)), y]
    assert -np.log(chosen).mean() < 0.8 * np.log(k)
    with tenfold.threads(1):
        assert np.array_equal(SVC(probability=True).fit(X, y).predict_proba(X), p)
    assert not hasattr(SVC().fit(X, y), "predict_proba")


def test_coupling_recovers_probabilities_and_winners_are_largest():
    p = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
    pairs = [(0, 1), (0, 2), (1, 2)]
    r = np.column_stack([p[:, i] / (p[:, i] + p[:, j]) for i, j in pairs])
    assert_allclose(couple_pairs(r, 3), p)
    moved = favor_winners(p, np.array([2, 2]))
    assert moved.argmax(axis=1).tolist() == [2, 2]
    assert_allclose(moved, [[0.35, 0.3, 0.35], p[1]], atol=1e-9)
    assert (pair_probabilities(np.array([[1e-300], [0.0]]), np.ones((1, 2))) > 0.5).tolist() == [
        [True],
        [False],
    ]


def test_the_primal_objective_in_alpha_is_minimized():
    X, y = rings(50)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    model = PrimalSVC(0.01, gamma=1.0, tol=1e-8).fit(X, y)
    alpha = np.zeros(50)
    alpha[model.support_] = model.dual_coef_[0]
    best, _ = primal_objective(alpha, K, y, 0.01)
    assert best == pytest.approx(model.objective_[0])
    assert 0 <= model.duality_gap_[0] < 1e-6
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(20):
            other = primal_objective(alpha + size * rng.normal(size=50), K, y, 0.01)[0]
            assert other >= best - model.duality_gap_[0] - 1e-12
    assert (np.abs(alpha) <= 1 / (2 * 0.01 * 50) + 1e-12).all()
    Z = rng.normal(size=(20, 2))
    w = Z.T @ rng.normal(size=20)  # with a dot kernel the objective is that of the weights
    a = np.linalg.lstsq(Z.T, w, rcond=None)[0]
    signs = np.where(rng.normal(size=20) > 0, 1, -1)
    direct = np.maximum(1 - signs * (Z @ w), 0).mean() + 0.3 * w @ w
    assert primal_objective(a, Z @ Z.T, signs, 0.3)[0] == pytest.approx(direct)


def test_a_fit_in_rounds_resumes_with_the_same_bits(tmp_path, monkeypatch):
    for module in (_blocked_smo, _classifier_base):
        monkeypatch.setattr(module, "FULL_MATRIX_ROWS", 20)
    monkeypatch.setattr(_blocked_smo, "WORKING_SET", 32)
    monkeypatch.setattr(_blocked_smo, "_FIRST_SEGMENT", 2)
    monkeypatch.setattr(_kernel_access, "GATHER_BYTES", 0)
    monkeypatch.setattr(CheckpointFile, "is_due", lambda _: True)
    X, y = rings(300)
    np.save(tmp_path / "X.npy", X)

    def fit():
        return SVC(C=10.0, tol=1e-6).fit(str(tmp_path / "X.npy"), y)

    whole, rounds, advance = fit(), [], _blocked_smo._Rounds.advance

    def interrupted(self, state):
        rounds.append(1)
        if len(rounds) == 7:
            raise KeyboardInterrupt
        return advance(self, state)

    monkeypatch.setattr(_blocked_smo._Rounds, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt), tenfold.checkpoint(tmp_path / "c", every=0):
        fit()
    before = len(rounds)
    with tenfold.checkpoint(tmp_path / "c", every=0):
        resumed = fit()
    assert 0 < len(rounds) - before < len(whole.history_["seconds"])
    tenfold.testing.assert_bitwise_equal(whole, resumed, "after an interruption")


def test_a_parquet_file_gives_the_bits_of_memory(tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    X, y = rings(300)
    table = pandas.DataFrame(X, columns=["a", "b"])
    table.assign(label=y).to_parquet(tmp_path / "rings.parquet", row_group_size=70)
    for module in (_blocked_smo, _classifier_base):
        monkeypatch.setattr(module, "FULL_MATRIX_ROWS", 20)
    monkeypatch.setattr(SVC, "_chunk_rows", 64)
    whole = SVC(C=10.0, cache_size=1e-6).fit(table, y)
    monkeypatch.setattr(_kernel_access, "GATHER_BYTES", 0)
    file = SVC(C=10.0, cache_size=1e-6).fit(str(tmp_path / "rings.parquet"), "label")
    tenfold.testing.assert_bitwise_equal(whole, file, "from Parquet")


@pytest.mark.parametrize("cache_size", [200, 1e-6])
def test_passes_on_workers_have_the_bits_of_memory(cache_size, two_workers, monkeypatch):
    X, y = rings(300)
    for module in (_blocked_smo, _classifier_base):
        monkeypatch.setattr(module, "FULL_MATRIX_ROWS", 20)
    monkeypatch.setattr(_blocked_smo, "WORKING_SET", 64)
    monkeypatch.setattr(SVC, "_chunk_rows", 64)
    whole = SVC(C=10.0, cache_size=cache_size).fit(X, y)
    monkeypatch.setattr(_kernel_access, "GATHER_BYTES", 0)
    with tenfold.on(two_workers):
        remote = SVC(C=10.0, cache_size=cache_size).fit(X, y)
    tenfold.testing.assert_bitwise_equal(whole, remote, "on two workers")


def test_classes_without_weight_and_single_classes_are_refused():
    X, y = rings(20)
    with pytest.raises(ValueError, match="greater than one"):
        SVC().fit(X, np.ones(20))
    with pytest.raises(ValueError, match="positive weights"):
        SVC().fit(X, y, sample_weight=(y > 0).astype(float))
    with pytest.raises(ValueError, match="nu is infeasible"):
        NuSVC(nu=0.9).fit(X, np.r_[np.zeros(3), np.ones(17)])


def test_what_does_not_fit_is_refused_with_a_substitute():
    X, y = rings(20)
    with pytest.raises(MemoryError, match="Nystroem"):
        SVC(cache_size=1e12).fit(X, y)
