"""Any loss, penalty and solver: all ways lead to the same place, and mismatches say the cure."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

import tenfold
from tenfold import LogisticRegression, PenalizedClassifier, PenalizedRegressor, Ridge
from tenfold.engine import Rows
from tenfold.engine.arrays import ArraySource
from tenfold.linear._objective import LinearObjective
from tenfold.linear._prox_newton import minimize_l1
from tenfold.math.losses import LOSSES, HuberLoss, LogisticLoss, SoftmaxLoss
from tenfold.math.penalties import BridgePenalty, ElasticNetPenalty, L1Penalty, L2Penalty
from tenfold.optim.convergence import DivergenceError


def house(n=300, p=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X @ np.array([2.0, -1, 0, 0, 0.5][:p]) + 3 + rng.normal(size=n)


def votes(k=2, n=300, p=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    score = X[:, 0] - 0.7 * X[:, 1] + rng.normal(size=n)
    return X, np.digitize(score, np.quantile(score, np.linspace(0, 1, k + 1)[1:-1]))


def objective_of(model, X, y, loss, penalty):
    """The mean loss plus the penalty, from scratch."""
    z = X @ model.coef_.T + model.intercept_
    if loss.labels == "signs":
        z, y = z[:, 0], 2 * y - 1
    if loss.labels == "classes":
        z = z.T
    return float(loss.value(z, y).mean()) + penalty.value(model.coef_)


@pytest.mark.parametrize("solver", ["closed-form", "newton-cholesky", "lbfgs", "gd", "proximal"])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_all_ways_lead_to_ridge(solver, alpha):  # L01, L02: closed form, descent and Newton agree
    X, y = house()
    tol = 1e-7 if solver == "gd" else 1e-9  # descent sees no smaller gains than rounding
    model = PenalizedRegressor(alpha=alpha, solver=solver, tol=tol, max_iter=5000).fit(X, y)
    want = Ridge(alpha=alpha * len(X)).fit(X, y)
    assert_allclose(model.coef_, want.coef_, atol=1e-6)
    assert_allclose(model.intercept_, want.intercept_, atol=1e-6)


def test_stochastic_steps_come_near():
    from tenfold.optim.schedules import PowerDecay

    X, y = house(3000)
    model = PenalizedRegressor(
        alpha=0.1, solver="sgd", batch_size=8, learning_rate=PowerDecay(gamma=0.1, delta=0.6),
        max_iter=200, random_state=0, tol=1e-7,
    ).fit(X, y)  # fmt: skip
    assert_allclose(model.coef_, Ridge(alpha=0.1 * len(X)).fit(X, y).coef_, atol=0.02)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "settings",
    [
        {"solver": solver}
        for solver in ("closed-form", "newton-cholesky", "lbfgs", "gd", "proximal", "auto")
    ]
    + [
        {"solver": "sgd", "learning_rate": 0.01, "max_iter": 5, "random_state": 3},
        {
            "solver": "sgd",
            "learning_rate": 0.01,
            "max_iter": 5,
            "random_state": 3,
            "batch_size": 1000,
        },
        {"solver": "gd", "fit_intercept": False},
        {"solver": "gd", "loss": "huber"},
        {"solver": "lbfgs", "loss": "poisson"},
        {"solver": "coordinate", "penalty": "l1", "alpha": 0.1},
        {"solver": "proximal", "penalty": "hnorm", "alpha": 0.1},
        {"solver": "subgradient", "loss": "absolute", "max_iter": 20},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_several_targets_are_fitted_as_each_alone(settings, kind):  # L01, L02: multi-output
    X, y = house()
    Y = np.column_stack([y, X[:, 1] - 2 * y, y**2])
    Y = np.floor(np.abs(Y)) if settings.get("loss") == "poisson" else Y
    w = np.arange(len(X)) % 3  # zeros among them
    rows = kind(X)
    both = PenalizedRegressor(**settings).fit(rows, Y, sample_weight=w)
    alone = [PenalizedRegressor(**settings).fit(rows, y, sample_weight=w) for y in Y.T]
    assert both.coef_.shape == (3, X.shape[1])
    assert_array_equal(both.coef_, [model.coef_ for model in alone])
    intercept = np.broadcast_to(both.intercept_, 3)
    assert_array_equal(intercept, [model.intercept_ for model in alone])
    assert_allclose(both.predict(rows), np.column_stack([m.predict(rows) for m in alone]))
    assert both.n_iter_.tolist() == [model.n_iter_ for model in alone]
    assert both.converged_ == all(model.converged_ for model in alone)
    objectives = np.concatenate([model.history_["objective"] for model in alone])
    assert_array_equal(both.history_["objective"], objectives)


def test_several_targets_by_descent_are_ridge_saved_and_in_folds(tmp_path):
    X, y = house(2000)
    Y = np.column_stack([y, X[:, 1] - 2 * y]).astype(X.dtype)
    model = PenalizedRegressor(alpha=0.3, solver="gd", tol=1e-7)
    want = Ridge(alpha=0.3 * len(X)).fit(X, Y)
    assert_allclose(model.fit(X, Y).coef_, want.coef_, atol=1e-6)
    assert_allclose(model.intercept_, want.intercept_, atol=1e-6)
    assert_allclose(model.score(X, Y), want.score(X, Y), rtol=1e-9)
    model.save(tmp_path / "two.tenfold")
    again = tenfold.load(tmp_path / "two.tenfold")
    assert_array_equal(again.predict(X), model.predict(X))
    assert model.fit(X, Y[:, :1]).predict(X).shape == (len(X), 1)
    scores = tenfold.cross_validate(PenalizedRegressor(solver="lbfgs"), X, Y, cv=3)["test_score"]
    folds = KFold(3).split(X)
    loop = [model.set_params(alpha=1e-3).fit(X[a], Y[a]).score(X[b], Y[b]) for a, b in folds]
    assert_allclose(scores, loop, rtol=1e-5)


def test_one_target_that_does_not_converge_is_told():
    X, y = house()
    counts = np.column_stack([np.floor(np.abs(y)), np.zeros(len(X))])  # zeros: no maximum
    with pytest.warns(ConvergenceWarning, match="likelihood has no maximum"):
        model = PenalizedRegressor("poisson", penalty=None).fit(X, counts)
    assert not model.converged_
    with pytest.raises(ValueError, match="counts"):
        PenalizedRegressor("poisson").fit(X, np.column_stack([counts, y]))


def test_too_long_steps_are_told_with_a_rate_that_works():  # O01
    X, y = house()
    with pytest.raises(DivergenceError) as problem:
        PenalizedRegressor(solver="gd", learning_rate=5.0).fit(X, y)
    rate = problem.value.rate
    model = PenalizedRegressor(solver="gd", learning_rate=0.9 * rate, tol=1e-8).fit(X, y)
    assert_allclose(model.coef_, PenalizedRegressor(tol=1e-9).fit(X, y).coef_, atol=1e-6)


@pytest.mark.parametrize("solver", ["coordinate", "proximal"])
@pytest.mark.parametrize("penalty", [L1Penalty(0.2), ElasticNetPenalty(0.3, 0.4)], ids=repr)
def test_lasso_and_elastic_net_as_scikit_learn(solver, penalty):
    from sklearn import linear_model

    X, y = house()
    ratio = getattr(penalty, "l1_ratio", 1.0)
    theirs = linear_model.ElasticNet(alpha=penalty.strength, l1_ratio=ratio, tol=1e-12).fit(X, y)
    ours = PenalizedRegressor(penalty=penalty, solver=solver, tol=1e-9, max_iter=5000).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
    assert ((ours.coef_ == 0) == (theirs.coef_ == 0)).all()  # the zeros are exact


@pytest.mark.parametrize("h", [1.2, 1.5, 3.0])
@pytest.mark.parametrize("kind", ["squared", "logistic", "softmax"])
def test_any_norm_is_minimised(h, kind):  # L03: as low as any minimiser goes
    penalty = BridgePenalty(0.05, h)
    if kind == "squared":
        (X, y), model = house(), PenalizedRegressor(penalty=penalty, tol=1e-9, max_iter=10_000)
    else:
        X, y = votes(2 if kind == "logistic" else 3)
        model = PenalizedClassifier(penalty=penalty, tol=1e-9, max_iter=10_000)
    model.fit(X, y)
    loss = LOSSES[kind]()
    best = objective_of(model, X, y, loss, penalty)
    shape = model.coef_.shape

    def cost(theta):
        other = type("", (), {})()
        other.coef_ = theta[: np.prod(shape)].reshape(shape)
        other.intercept_ = theta[np.prod(shape) :] if model.intercept_.ndim else theta[-1]
        return objective_of(other, X, y, loss, penalty)

    start = np.append(model.coef_.ravel(), np.ravel(model.intercept_))
    assert_allclose(cost(start), best)
    found = optimize.minimize(cost, np.zeros_like(start), method="BFGS")
    assert best <= found.fun + 1e-9
    assert_allclose(best, found.fun, rtol=1e-5)


def test_norms_below_one_make_zeros():
    X, y = house()
    model = PenalizedRegressor(penalty="hnorm", h=0.5, alpha=0.2, tol=1e-8).fit(X, y)
    assert (model.coef_[[2, 3]] == 0).all()
    assert (model.coef_[[0, 1]] != 0).all()


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize(
    "penalty", [L1Penalty(0.02), ElasticNetPenalty(0.05, 0.5), L2Penalty(0.1)], ids=repr
)
@pytest.mark.parametrize("sparsely", [False, True])
def test_classifiers_reach_the_same_objective_by_all_ways(k, penalty, sparsely):
    X, y = votes(k)
    rows = sparse.csr_array(X) if sparsely else X
    loss = LogisticLoss() if k == 2 else SoftmaxLoss()
    ways = ["lbfgs", "newton-cholesky", "gd", "proximal"]
    ways = ways if isinstance(penalty, L2Penalty) else ["coordinate", "proximal"]
    found = [
        PenalizedClassifier(penalty=penalty, solver=way, tol=1e-7, max_iter=20_000).fit(rows, y)
        for way in ways
    ]
    values = [objective_of(model, X, y, loss, penalty) for model in found]
    assert_allclose(values, values[0], rtol=1e-9)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("ratio", [0.4, 1.0])
@pytest.mark.parametrize("sparsely", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
def test_l1_logistic_regression_meets_the_conditions_of_a_minimum(k, ratio, sparsely, intercept):
    X, y = votes(k, n=400, p=12)
    C, n = 0.05, 400
    model = LogisticRegression(C=C, l1_ratio=ratio, tol=1e-9, fit_intercept=intercept)
    model.fit(sparse.csr_array(X) if sparsely else X, y)
    assert model.converged_
    assert 0 < (model.coef_ == 0).sum() < model.coef_.size
    P = model.predict_proba(X)
    R = P - np.eye(k)[y]
    slope = (R[:, 1:].T if k == 2 else R.T) @ X / n + (1 - ratio) / (C * n) * model.coef_
    bound = ratio / (C * n)
    used = model.coef_ != 0
    assert_allclose(slope[used], -bound * np.sign(model.coef_[used]), atol=1e-8)
    assert (np.abs(slope[~used]) <= bound + 1e-8).all()
    assert_allclose(model.intercept_.sum() if k > 2 else 0, 0, atol=1e-9)


@pytest.mark.parametrize("sparsely", [False, True])
def test_a_small_l1_penalty_is_not_lost_below_the_tolerance(sparsely):
    X, y = votes(2, n=400, p=12)
    rows = sparse.csr_array(X) if sparsely else X
    C, loss = 100.0, LogisticLoss()  # the penalty beside the mean loss is 2.5e-5, tol 1e-4
    usual = LogisticRegression(C=C, l1_ratio=1.0).fit(rows, y)
    exact = LogisticRegression(C=C, l1_ratio=1.0, tol=1e-9).fit(rows, y)
    got, least = (objective_of(m, X, y, loss, L1Penalty(1 / (C * 400))) for m in (usual, exact))
    assert got <= least * (1 + 1e-6)


def test_a_large_l1_penalty_leaves_the_class_shares():
    X, y = votes(3)
    model = LogisticRegression(C=1e-4, l1_ratio=1.0, tol=1e-9).fit(X, y)
    assert not model.coef_.any()
    assert_allclose(model.predict_proba(X[:1])[0], np.bincount(y) / len(y), atol=1e-7)


def test_wide_working_sets_class_by_class(monkeypatch):
    X, y = votes(4, p=30)
    shape, n = (4, 31), len(X)
    l1 = np.append(np.full(30, 0.01), 0.0)
    f = LinearObjective(Rows(ArraySource(X, y)), SoftmaxLoss(), shape, np.zeros(31), n)
    together = minimize_l1(f, l1, np.zeros(124), tol=1e-8, max_iter=500)
    monkeypatch.setattr("tenfold.linear._prox_newton.MAX_JOINT_PARAMETERS", 10)
    apart = minimize_l1(f, l1, np.zeros(124), tol=1e-8, max_iter=2000)
    assert_allclose(apart.value, together.value, rtol=1e-10)


@pytest.mark.parametrize("weights", [False, True])
def test_many_rows_start_from_a_sample(weights, monkeypatch):
    monkeypatch.setattr("tenfold.linear._smooth_solvers.MIN_SAMPLE_ROWS", 100)
    X, y = votes(2, n=4000)
    w = np.random.default_rng(0).integers(0, 3, 4000).astype(float) if weights else None
    many = LogisticRegression(tol=1e-10).fit(X, y, sample_weight=w)
    monkeypatch.setattr("tenfold.linear._smooth_solvers.MIN_SAMPLE_ROWS", 10**9)
    few = LogisticRegression(tol=1e-10).fit(X, y, sample_weight=w)
    assert_allclose(many.coef_, few.coef_, atol=1e-8)
    assert many.converged_


def test_the_offset_is_free_penalised_or_absent():  # L02
    X, y = house()
    free = PenalizedRegressor(alpha=5.0).fit(X, y)
    bound = PenalizedRegressor(alpha=5.0, penalize_intercept=True).fit(X, y)
    none = PenalizedRegressor(alpha=5.0, fit_intercept=False).fit(X, y)
    A = np.column_stack([X, np.ones(len(X))])
    want = np.linalg.solve(A.T @ A / len(X) + 5.0 * np.eye(6), A.T @ y / len(X))
    assert_allclose(np.append(bound.coef_, bound.intercept_), want, atol=1e-6)
    assert_allclose(free.intercept_, y.mean() - X.mean(axis=0) @ free.coef_, atol=1e-6)
    assert none.intercept_ == 0


@pytest.mark.parametrize(
    ("model", "cure"),
    [
        (PenalizedRegressor("absolute"), "QuantileRegressor"),
        (PenalizedRegressor("huber", solver="closed-form"), "squared loss alone"),
        (PenalizedRegressor(penalty="l1", solver="lbfgs"), "'coordinate' or 'proximal'"),
        (PenalizedRegressor(solver="coordinate"), "'lbfgs' or 'newton-cholesky'"),
        (PenalizedRegressor(penalty="hnorm", solver="coordinate"), "solver='proximal'"),
        (PenalizedRegressor(LogisticLoss()), "PenalizedClassifier"),
        (PenalizedRegressor(penalty="l1", penalize_intercept=True), "'l2' alone"),
        (PenalizedRegressor(solver="lbfgs", learning_rate=0.1), "gd, proximal, sgd"),
    ],
)
def test_parts_that_do_not_fit_say_what_would(model, cure):
    with pytest.raises(ValueError, match=cure):
        model.fit(*house())


@pytest.mark.parametrize(
    ("model", "k", "cure"),
    [
        (PenalizedClassifier("hinge"), 2, "LinearSVC"),
        (PenalizedClassifier("probit"), 3, "OneVsRestClassifier"),
        (PenalizedClassifier(HuberLoss()), 2, "PenalizedRegressor"),
        (LogisticRegression(l1_ratio=0.5, solver="lbfgs"), 2, "'coordinate' or 'proximal'"),
        (LogisticRegression(solver="coordinate"), 2, "L1 part"),
    ],
)
def test_classifiers_of_parts_that_do_not_fit(model, k, cure):
    with pytest.raises(ValueError, match=cure):
        model.fit(*votes(k))


def test_sub_gradients_come_near_the_hinge_loss():
    from sklearn.exceptions import ConvergenceWarning

    from tenfold import LinearSVC

    X, y = votes()
    with pytest.warns(ConvergenceWarning):
        model = PenalizedClassifier("hinge", alpha=0.1, solver="subgradient", max_iter=3000).fit(
            X, y
        )
    exact = LinearSVC(loss="hinge", C=10 / len(X), intercept_scaling=np.inf, dual=True).fit(X, y)
    loss, penalty = LOSSES["hinge"](), L2Penalty(0.1)
    best = objective_of(exact, X, y, loss, penalty)
    assert objective_of(model, X, y, loss, penalty) <= best * 1.01
    assert not hasattr(model, "predict_proba")


def test_probit_probabilities_are_those_of_the_normal():
    from scipy.stats import norm

    X, y = votes()
    model = PenalizedClassifier("probit", alpha=0.01).fit(X, y)
    assert_allclose(model.predict_proba(X)[:, 1], norm.cdf(model.decision_function(X)), atol=1e-12)


def test_counts_are_predicted_by_their_mean():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = rng.poisson(np.exp(X @ [0.5, -0.3] + 1))
    model = PenalizedRegressor("poisson", penalty=None, tol=1e-9).fit(X, y)
    assert_allclose(model.predict(X).sum(), y.sum(), rtol=1e-8)  # the slope in b is nothing
    with pytest.raises(ValueError, match="counts"):
        PenalizedRegressor("poisson").fit(X, -y - 1.0)


def test_the_logistic_slope_is_the_perceptrons_update_with_soft_errors():  # [001; 004, 3]
    X, y = votes()
    z = X @ np.array([0.3, 1, 0, 0, -0.2])
    p = 1 / (1 + np.exp(-z))
    assert_allclose(X.T @ LogisticLoss().gradient(z, 2 * y - 1.0), -X.T @ (y - p))


def test_named_models_are_public():
    assert {"PenalizedClassifier", "PenalizedRegressor"} <= set(tenfold.__all__)
