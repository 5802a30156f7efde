"""Linear SVMs: worked numbers, certificates, geometry, and agreement of all solvers."""

from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from tenfold import testing
from tenfold.linear.svm import margins
from tenfold.linear.svm._objective import SVMObjective, duality_certificate
from tenfold.linear.svm.hard_margin_solver import hard_margin
from tenfold.linear.svm.linear_svc import LinearSVC

LINE = np.array([[-2.0], [-1.0], [0.5], [1.0], [2.0]])
SIDES = np.array([-1, -1, -1, 1, 1])
TEXTBOOK = {"loss": "hinge", "intercept_scaling": np.inf}
IRIS = scale(load_iris().data), load_iris().target
CANCER = scale(load_breast_cancer().data), load_breast_cancer().target


def objective(model, X, y, w=None):
    """The objective of each score, from its definition."""
    C, m = model.C, len(model.coef_)
    F = model.decision_function(X).reshape(len(y), m)
    own = y[:, None] == (model.classes_ if m > 1 else model.classes_[1:])
    hinge = np.maximum(0, 1 - np.where(own, 1, -1) * F) ** (2 if "sq" in model.loss else 1)
    hinge = hinge if w is None else hinge * w[:, None]
    b = model.intercept_ / model.intercept_scaling
    if model.penalty == "l1":
        return np.abs(model.coef_).sum(axis=1) + np.abs(b) + C * hinge.sum(axis=0)
    return 0.5 * ((model.coef_**2).sum(axis=1) + b**2) + C * hinge.sum(axis=0)


def peer(**settings):
    settings["dual"] = settings.get("loss") == "hinge" if settings.get("dual") == "auto" else True
    settings["dual"] &= settings.get("penalty") != "l1"
    return svm.LinearSVC(**settings, tol=1e-8, max_iter=1_000_000, random_state=0)


@pytest.mark.parametrize("dual", ["auto", True])
@pytest.mark.parametrize(
    ("C", "w", "value", "alpha"),
    [
        (100.0, 4.0, 8.0, [0, 0, 8, 8, 0]),
        (1.0, 2 / 3, 17 / 9, [0, 1 / 18, 1, 1, 1 / 18]),
        (0.1, 0.35, 0.33875, [0, 0.1, 0.1, 0.1, 0.1]),
    ],
)
def test_worked_soft_margins(dual, C, w, value, alpha):  # 004, 5-04
    model = LinearSVC(**TEXTBOOK, C=C, dual=dual, tol=1e-7, max_iter=100_000, random_state=0)
    model.fit(LINE, SIDES)
    found = np.zeros(5)
    found[model.support_] = model.dual_coef_[0] * SIDES[model.support_]
    assert_allclose(model.coef_, [[w]], rtol=1e-4)
    assert_allclose(model.objective_, value, rtol=1e-8)
    assert_allclose(found, alpha, atol=2e-4 * max(alpha))
    assert -1e-7 * value <= model.gap_[0] <= 1e-8 * value
    if C == 0.1:
        assert -0.65 - 1e-4 <= model.intercept_[0] <= -0.3 + 1e-4
    else:
        assert_allclose(model.intercept_, {100.0: -3.0, 1.0: -1 / 3}[C], rtol=1e-3)


@pytest.mark.parametrize("strength", [0.1, 0.25, 0.5, 1.0])
def test_two_points_through_the_origin(strength):  # 002, E67
    C = margins.c_from_strength(strength, 2, half=False)
    model = LinearSVC(loss="hinge", C=C, fit_intercept=False, tol=1e-8)
    model.fit(np.array([[1.0], [-1.0]]), [1, -1])
    assert_allclose(model.coef_, [[min(1, 1 / (2 * strength))]], rtol=1e-6)
    assert model.intercept_ == 0


@pytest.mark.parametrize("data", [IRIS, CANCER], ids=["iris", "cancer"])
@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "squared_hinge", "dual": False},
        {"loss": "squared_hinge", "dual": True},
        {"loss": "hinge", "dual": "auto"},
        {"loss": "hinge", "dual": True},
        {"penalty": "l1", "dual": False},
        {"penalty": "l1", "dual": False, "fit_intercept": False, "C": 0.05},
        {"loss": "hinge", "dual": "auto", "intercept_scaling": 10.0, "C": 0.1},
        {"loss": "squared_hinge", "dual": False, "fit_intercept": False, "C": 5.0},
    ],
    ids=str,
)
def test_liblinear_finds_nothing_better(settings, data):
    model = LinearSVC(**settings, random_state=0).fit(*data)
    theirs = objective(peer(**settings).fit(*data), *data)
    assert model.converged_
    assert (objective(model, *data) <= theirs * (1 + 2e-6)).all()
    assert_allclose(model.objective_, objective(model, *data), rtol=1e-10)
    assert (model.gap_ <= 1.01e-6 * model.objective_).all()
    assert (objective(model, *data) - theirs <= model.gap_ + 1e-7 * theirs).all()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("class_weight", [{0: 3.0, 2: 0.5}, "balanced"])
def test_weights_mean_what_liblinear_means(loss, class_weight):
    X, y = IRIS
    X, y = X[30:], y[30:]
    w = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    if class_weight == "balanced":  # theirs counts rows without their weights
        w = np.ones(len(y))
    ours = LinearSVC(loss=loss, class_weight=class_weight, tol=1e-8).fit(X, y, w)
    theirs = peer(loss=loss, class_weight=class_weight).fit(X, y, w)
    assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=4e-3)


def test_a_free_constant_gives_the_quadratic_program_of_the_textbook():
    X, y = CANCER
    theirs = svm.SVC(kernel="linear", tol=1e-8).fit(X, y)
    for dual in ("auto", True):
        ours = LinearSVC(**TEXTBOOK, dual=dual, random_state=0).fit(X, y)
        best = 0.5 * (theirs.coef_**2).sum()
        best += np.maximum(0, 1 - (2 * y - 1) * theirs.decision_function(X)).sum()
        assert_allclose(ours.objective_, best, rtol=2e-6)
        assert ours.gap_ <= 1.01e-6 * best
        assert abs(ours.dual_coef_.sum()) <= 1e-3


@given(seed=st.integers(0, 10_000), squared=st.booleans(), free=st.booleans(), lasso=st.booleans())
@settings(max_examples=60)
def test_no_point_beats_the_dual_of_another(seed, squared, free, lasso):
    """Weak duality: any feasible multipliers bound the objective of any weights from below."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(12, 3)), rng.permutation(np.arange(12) % 2)
    rows = LinearSVC()._training_rows(X, y, None)
    scaling = np.inf if free else rng.uniform(0.5, 2)
    lasso = lasso and squared
    problem = SVMObjective(np.ones(1), np.array([[0.7, 1.3]]), squared, lasso, True, scaling)
    alpha = rng.uniform(0, 1, (1, 12)) * (5 if squared else np.where(y == 1, 1.3, 0.7))
    bound = duality_certificate(rows, problem, np.zeros((1, 4)), alpha).dual
    for size in (0.1, 1.0, 3.0):
        T = size * rng.normal(size=(1, 4))
        assert (duality_certificate(rows, problem, T, None).primal >= bound - 1e-12).all()


@pytest.mark.parametrize(
    "settings", [{}, {"loss": "hinge"}, {"loss": "hinge", "dual": True}], ids=str
)
def test_gap_and_slackness_vanish_at_the_minimum(settings):  # 004, 5-06
    X, y = CANCER
    tol = 1e-5 if settings.get("dual") else 1e-8
    model = LinearSVC(**settings, tol=tol, max_iter=20_000, random_state=0).fit(X, y)
    proof = margins.dual_certificate(model, X, y)
    assert_allclose(proof.primal, model.objective_, rtol=1e-12)
    assert_allclose(proof.gap, proof.primal - proof.dual)
    assert proof.gap <= 0.011 * tol * proof.primal
    assert proof.slackness <= tol
    worse = LinearSVC(**settings, max_iter=2, random_state=0)
    with pytest.warns(ConvergenceWarning):
        worse.fit(X, y)
    proof = margins.dual_certificate(worse, X, y)
    assert proof.gap > 0.1 * proof.primal
    assert proof.slackness > 1e-3 or not settings  # multipliers that are slopes pay nothing


@pytest.mark.parametrize("dual", ["auto", True])
def test_only_support_vectors_matter(dual):  # 002, E70; 004, 5-08; 000, C17
    X, y = make_blobs(200, centers=[[0, 0], [3, 3]], cluster_std=1.1, random_state=1)
    make = {**TEXTBOOK, "dual": dual, "tol": 1e-6, "max_iter": 50_000, "random_state": 0}
    model = LinearSVC(**make).fit(X, y)
    assert len(model.support_) < 60
    assert_allclose(model.dual_coef_ @ X[model.support_], model.coef_, atol=1e-3)
    near = margins.support_vectors(model, X, y, tol=1e-3)
    assert set(model.support_) <= set(near)
    kept = LinearSVC(**make).fit(X[near], y[near])
    assert_allclose(kept.coef_, model.coef_, atol=3e-4)
    moved = X.copy()
    far = margins.margins(model, X, y) > 1.5
    moved[far] += 0.1 * np.random.default_rng(0).normal(size=moved[far].shape)
    moved[far & (y == 1)] += 50 * model.coef_[0]  # further out, however far
    assert_allclose(LinearSVC(**make).fit(moved, y).coef_, model.coef_, atol=3e-4)


def test_kinds_of_support_vectors():  # 004, 5-08 and 5-04, with the correction of ERR-16
    X, y = make_blobs(200, centers=[[0, 0], [2, 2]], cluster_std=1.2, random_state=1)
    model = LinearSVC(**TEXTBOOK, C=0.5, tol=1e-8).fit(X, y)
    z = margins.margins(model, X, y)
    alpha = np.zeros(len(y))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    assert_allclose(alpha[z < 1 - 1e-4], 0.5)
    assert_allclose(alpha[z > 1 + 1e-4], 0.0)
    between = (alpha > 1e-3) & (alpha < 0.499)
    assert between.sum() >= 2
    assert_allclose(z[between], 1, atol=1e-4)
    b = margins.intercept_from_multipliers(X @ model.coef_[0], 2 * y - 1, np.round(alpha, 5), 0.5)
    assert_allclose(b, model.intercept_[0], atol=1e-4)


def test_offset_without_a_row_on_the_margin_is_the_middle():  # 004, 5-10 and 5-04 with C = 0.1
    alpha = np.array([0, 0.1, 0.1, 0.1, 0.1])
    assert_allclose(
        margins.intercept_from_multipliers(0.35 * LINE[:, 0], SIDES, alpha, 0.1), -0.475
    )
    one_sided = margins.intercept_from_multipliers([0.0, 1.0], [1, 1], [0.0, 0.0], 1.0)
    assert one_sided == 1.0


def test_regimes_from_the_widest_margin_to_the_hard_one():  # 003, A031 and A032; 000, C17
    X, y = make_blobs(60, centers=[[0, 0], [4, 4]], cluster_std=0.8, random_state=3)
    strengths = np.array([100.0, 1.0, 1e-1, 1e-2, 1e-4, 1e-7])  # lambda, falling
    costs = [margins.c_from_strength(s, len(y)) for s in strengths]
    path = margins.margin_path(LinearSVC(**TEXTBOOK, tol=1e-7), X, y, [*costs, np.inf])
    assert (np.diff(path.width) <= 1e-6).all()
    assert (np.diff(path.hinge) <= 1e-9).all()
    assert path.support[0] == len(y)
    assert path.support[-1] <= 3
    assert_allclose(path.coef[-2], path.coef[-1], rtol=1e-5)
    assert_allclose(path.intercept[-2], path.intercept[-1], rtol=1e-5)
    assert path.hinge[-1] <= 1e-9
    assert path.errors[-1] == 0


def test_lambda_c_and_cost_are_one_strength():
    lam, n = 0.03, 60
    for loss, half in (("mean", True), ("mean", False), ("sum", True), ("sum", False)):
        C = margins.c_from_strength(lam, n, loss=loss, half=half)
        shrink = (n if loss == "mean" else 1) * (1 if half else 2)  # J = (J of C) / (C shrink)
        assert_allclose(C * shrink * lam, 1)
        assert_allclose(margins.c_from_strength(C, n, loss=loss, half=half), lam)
    with pytest.raises(ValueError, match="'mean' or 'sum'"):
        margins.c_from_strength(1.0, 3, loss="total")


def test_distances_planes_and_reference_margins():  # 004, 5-02; 003, A027 and A046; 000, C16
    X, y = CANCER
    X = X[:, :2]
    model = LinearSVC(**TEXTBOOK).fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]
    foot = margins.project_onto_boundary(model, X)
    assert_allclose(foot @ w + b, 0, atol=1e-10)
    assert_allclose((foot[1:] - foot[:-1]) @ w, 0, atol=1e-10)
    d = margins.signed_distances(model, X)
    assert_allclose(foot + np.multiply.outer(d, w / np.linalg.norm(w)), X, atol=1e-12)
    gamma, width = margins.geometric_margins(model, X, y), margins.margin_width(model)
    assert_allclose(gamma, (2 * y - 1) * d)
    assert_allclose(margins.margins(model, X, y) * width, gamma)
    edge = foot + width * w / np.linalg.norm(w)
    assert_allclose(model.decision_function(edge), 1)
    lam = margins.c_from_strength(model.C, len(y))
    by_reference = margins.reference_margin_objective(gamma, width, lam / 2)
    assert_allclose(by_reference, model.objective_[0] / (model.C * len(y)))
    model.coef_, model.intercept_ = 7 * model.coef_, 7 * model.intercept_
    assert_allclose(margins.geometric_margins(model, X, y), gamma)
    assert margins.reference_margin_objective([0.0], 1.0, 0.0) == 1.0  # 003, E8


def test_hard_margin_of_two_points():  # 004, 5-03; 000, C16: the perpendicular bisector
    model = LinearSVC(**TEXTBOOK, C=np.inf).fit([[1.0, 1.0], [-1.0, -1.0]], [1, -1])
    assert_allclose(model.coef_, [[0.5, 0.5]], atol=1e-12)
    assert_allclose(model.intercept_, 0, atol=1e-12)
    assert_allclose(model.dual_coef_, [[0.25, -0.25]], atol=1e-12)
    assert_allclose(margins.margin_width(model), np.sqrt(2))
    assert_allclose([model.objective_[0], model.gap_[0]], [0.25, 0], atol=1e-12)
    found = hard_margin(np.array([[5.0, 1.0], [1.0, -2.0]]), np.array([1, -1]))
    assert_allclose(found.w, np.array([4.0, 3.0]) * 2 / 25)
    assert_allclose(found.w @ [3.0, -0.5] + found.b, 0, atol=1e-12)


@given(seed=st.integers(0, 10_000), free=st.booleans())
@settings(max_examples=30)
def test_hard_margins_are_feasible_tight_and_certified(seed, free):
    rng = np.random.default_rng(seed)
    y = np.where(rng.permutation(np.arange(40) % 2) == 1, 1.0, -1.0)
    X = rng.normal(size=(40, 4)) + 10 * rng.normal(size=4)
    X += y[:, None] * 5 * np.array([1.0, 0.5, -0.5, 0.2])
    s = np.inf if free else 3.0
    found = hard_margin(X, y, scaling=s)
    z = y * (X @ found.w + found.b)
    size = found.w @ found.w + (0 if free else (found.b / s) ** 2)
    assert_allclose(z.min(), 1, rtol=1e-8)
    assert (found.alpha >= 0).all()
    assert_allclose(found.alpha @ (y[:, None] * X), found.w, atol=1e-8 * np.abs(found.w).max())
    assert_allclose(found.alpha.sum(), size, rtol=1e-7)  # primal = dual
    assert_allclose(found.alpha * (z - 1), 0, atol=1e-7)
    if free:
        assert_allclose(found.alpha @ y, 0, atol=1e-9)


def test_hard_margin_equals_a_very_dear_soft_one_and_needs_separable_rows():
    X, y = make_blobs(80, centers=3, cluster_std=0.5, random_state=5)
    hard = LinearSVC(**TEXTBOOK, C=np.inf).fit(X, y == 2)
    soft = svm.SVC(kernel="linear", C=1e8, tol=1e-9).fit(X, y == 2)
    assert_allclose(hard.coef_, soft.coef_, rtol=1e-5)
    assert_allclose(hard.intercept_, soft.intercept_, rtol=1e-5)
    X, y = make_blobs(60, centers=[[0, 9], [-9, -9], [9, -9]], random_state=5)
    assert LinearSVC(C=np.inf).fit(sp.csr_array(X), y).score(X, y) == 1
    with pytest.raises(ValueError, match=r"no plane separates.*finite C"):
        LinearSVC(C=np.inf).fit(CANCER[0][:, :9], CANCER[1])
    assert LinearSVC(C=np.inf).fit(*CANCER).score(*CANCER) == 1  # all columns together do it
    with pytest.raises(ValueError, match="no plane"):  # equal rows of both classes
        LinearSVC(C=np.inf).fit([[1.0], [1.0], [2.0]], [0, 1, 1])


def text_like(n=300, p=2000, k=3):
    rng = np.random.default_rng(0)
    X = sp.random_array((n, p), density=0.02, format="csr", rng=rng)
    return X, (np.asarray(X[:, : 40 * k] @ np.kron(np.eye(k), np.ones((40, 1)))) + 0.3).argmax(1)


@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "squared_hinge", "dual": True},
        {"loss": "hinge", "dual": True},
        {"loss": "squared_hinge", "dual": False},
        {"penalty": "l1", "dual": False, "C": 1.0},
    ],
    ids=str,
)
def test_wide_sparse_rows(settings):
    X, y = text_like()
    model = LinearSVC(**settings, random_state=0).fit(X, y)
    theirs = objective(peer(**settings).fit(X, y), X, y)
    assert_allclose(objective(model, X, y), theirs, rtol=3e-6)
    dense = LinearSVC(**settings, random_state=0).fit(X.toarray(), y)
    assert_allclose(dense.objective_, model.objective_, rtol=3e-6)
    if settings.get("penalty") == "l1":
        assert 0 < (model.coef_ != 0).sum() < 900


@pytest.mark.parametrize("settings", [{}, {"loss": "hinge"}, {"penalty": "l1"}], ids=str)
def test_single_precision_converges_to_the_same_minimum(settings):
    X, y = testing.make_dataset(LinearSVC(), np.float32, rows=6000)
    model = LinearSVC(**settings).fit(X, y)
    assert model.converged_
    assert model.n_iter_ < 100
    assert (np.abs(model.gap_) <= 2e-6 * model.objective_).all()
    exact = LinearSVC(**settings).fit(X.astype(np.float64), y)
    assert_allclose(model.objective_, exact.objective_, rtol=2e-6)


def test_leaps_save_sweeps_and_change_nothing_else():
    X, y = CANCER
    make = {"loss": "hinge", "dual": True, "max_iter": 50_000, "random_state": 0}
    with mock.patch("tenfold.linear.svm._dual_coordinate_descent.EXTRAPOLATION_INTERVAL", 10**9):
        steady = LinearSVC(**make).fit(X, y)
    model = LinearSVC(**make).fit(X, y)
    assert model.n_iter_ < 0.5 * steady.n_iter_
    assert_allclose(model.objective_, steady.objective_, rtol=2e-6)


def test_the_dual_gives_the_same_bits_from_files_and_threads():
    model = LinearSVC(loss="hinge", dual=True, max_iter=12, random_state=0)
    with pytest.warns(ConvergenceWarning):
        testing.check_storage_invariance(model, only=("in_npy", "in_fortran_order", "in_parquet"))
    with pytest.warns(ConvergenceWarning):
        testing.check_thread_invariance(model)
    with pytest.warns(ConvergenceWarning):
        testing.check_objective_decreases(model)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"penalty": "l1", "loss": "hinge"}, "loss='squared_hinge'"),
        ({"penalty": "l1", "dual": True}, "dual='auto'"),
        ({"loss": "hinge", "dual": False}, "dual='auto'"),
        ({"penalty": "l1", "C": np.inf}, "hard margin"),
        ({"class_weight": {7: 2.0}}, "no labels of y"),
    ],
)
def test_mismatches_name_the_cure(settings, message):
    with pytest.raises(ValueError, match=message):
        LinearSVC(**settings).fit(*IRIS)


def test_rows_of_weight_zero_and_empty_rows_do_no_harm():
    X, y = CANCER
    w = (np.arange(len(y)) % 3 > 0).astype(float)
    for dual in ("auto", True):
        make = {"loss": "hinge", "dual": dual, "random_state": 0}
        some = LinearSVC(**make).fit(X, y, w)
        assert_allclose(
            some.objective_, LinearSVC(**make).fit(X[w > 0], y[w > 0]).objective_, rtol=3e-6
        )
        assert not set(some.support_) & set(np.flatnonzero(w == 0))
    empty = LinearSVC(loss="hinge", dual=True, fit_intercept=False, random_state=0)
    assert_allclose(empty.fit([[0.0], [1.0], [-1.0]], [1, 1, 0]).objective_, 0.5 + 1.0, rtol=1e-6)
