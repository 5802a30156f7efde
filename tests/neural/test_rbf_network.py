"""Radial basis networks: the worked numbers of 000, closed gradients, XOR, what adapting gains."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from tenfold import LinearSVC, LogisticRegression, RadialFeatures, RbfNetwork
from tenfold.engine import Chunk
from tenfold.math.losses import LogisticLoss, SoftmaxLoss, SquaredHingeLoss
from tenfold.neural._rbf_objective import RbfParameters, loss_and_gradient
from tenfold.teaching import autodiff

CORNERS = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])


def xor(n=100, sd=0.3, seed=0):
    X, corner = make_blobs(n, centers=CORNERS, cluster_std=sd, random_state=seed)
    return X, (corner < 2).astype(int)


def three_rings(n=300):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    angle = rng.uniform(0, 2 * np.pi, n)
    radius = y + 0.5 + rng.normal(0, 0.1, n)
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), y


def test_four_bumps_by_hand_solve_xor_everywhere():
    """w = [1, 1, -1, -1, 0]: score 4 exp(-(|x|^2 + 2)) sinh(2 x1) sinh(2 x2) [000, 1.7.2]."""
    model = RbfNetwork(centers=CORNERS, width=1.0, weights="labels").fit(CORNERS, [1, 1, 0, 0])
    assert model.coef_.tolist() == [[1, 1, -1, -1]]
    assert model.intercept_.tolist() == [0]
    X = np.random.default_rng(0).normal(size=(50, 2))
    want = 4 * np.exp(-((X**2).sum(axis=1) + 2)) * np.sinh(2 * X[:, 0]) * np.sinh(2 * X[:, 1])
    np.testing.assert_allclose(model.decision_function(X), want, atol=1e-12)
    assert (model.predict(X) == (X[:, 0] * X[:, 1] > 0)).all()
    assert model.decision_function([[1.0, 1.0]])[0] == pytest.approx((1 - np.exp(-4)) ** 2)


def test_labels_of_given_centres_are_those_of_the_rows_around_them():
    X, y = xor()
    model = RbfNetwork(centers=CORNERS, weights="labels").fit(X, y)
    assert model.coef_.tolist() == [[1, 1, -1, -1]]
    assert model.score(X, y) == 1


def test_all_rows_as_narrow_bumps_are_the_nearest_neighbour():
    X, y = three_rings()
    model = RbfNetwork(len(X), width=0.02, weights="labels", random_state=0).fit(X, y)
    grid = np.random.default_rng(1).uniform(-2.5, 2.5, (200, 2))
    near = KNeighborsClassifier(1).fit(X, y)
    assert (near.kneighbors(grid)[0][:, 0] > 0.6).any()  # there all bumps are below 1e-390
    assert (model.predict(grid) == near.predict(grid)).all()
    assert model.score(X, y) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [2, 3])
def test_votes_that_underflow_keep_their_order(k, dtype):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)).astype(dtype), rng.integers(0, k, 50)
    far = rng.normal(size=(1000, 2)).astype(dtype)
    model = RbfNetwork(50, width=0.01, weights="labels", random_state=0).fit(X, y)
    scores = model.decision_function(far)
    assert (model.predict(far) == KNeighborsClassifier(1).fit(X, y).predict(far)).mean() > 0.995
    best = scores.argmax(axis=1) if k > 2 else (scores > 0).astype(int)
    np.testing.assert_array_equal(model.predict(far), best)
    assert scores.dtype == dtype
    smooth = RbfNetwork(50, width=1.0, weights="labels", random_state=0).fit(X, y)
    terms = np.exp(-((far[:, None] - smooth.centers_) ** 2).sum(axis=2))
    want = terms @ smooth.coef_.T
    found = smooth.decision_function(far)
    np.testing.assert_allclose(found.reshape(want.shape), want, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("centers", ["random", "kmeans"])
def test_more_centers_than_rows_are_told(centers):
    X, y = xor(6)
    with pytest.warns(UserWarning, match="6 centers instead of n_centers=20"):
        model = RbfNetwork(20, centers=centers, random_state=0).fit(X, y)
    assert len(model.centers_) <= 6


def test_trained_weights_are_those_of_logistic_regression_in_the_bumps():
    X, y = xor(200, 0.6)
    alpha = 1e-2
    model = RbfNetwork(centers=CORNERS, width=1.3, alpha=alpha, tol=1e-8).fit(X, y)
    phi = RadialFeatures(centers=CORNERS, width=1.3).fit_transform(X)
    plain = LogisticRegression(C=1 / (alpha * len(X)), tol=1e-10).fit(phi, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(phi), atol=1e-6)


def test_weights_are_repetitions_with_given_centres():
    X, y = three_rings()
    w = np.random.default_rng(2).integers(0, 3, len(X))
    model = RbfNetwork(centers=X[:9], tol=1e-9, alpha=1e-3)
    a = model.fit(X, y, sample_weight=w.astype(float)).predict_proba(X)
    b = model.fit(np.repeat(X, w, axis=0), np.repeat(y, w)).predict_proba(X)
    np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize("loss", [LogisticLoss(), SoftmaxLoss(), SquaredHingeLoss()])
def test_slopes_equal_those_of_the_differentiator(loss):
    rng = np.random.default_rng(0)
    m = 1 if isinstance(loss, LogisticLoss) else 3
    net = RbfParameters(
        rng.normal(size=(m, 4)),
        rng.normal(size=m),
        rng.normal(size=(4, 2)),
        0.3 * rng.normal(size=4),
    )
    chunk = Chunk(rng.normal(size=(30, 2)), rng.integers(0, max(m, 2), 30), rng.uniform(size=30))
    signs = 2.0 * (chunk.y[:, None] == (np.arange(m) if m > 1 else [1])) - 1

    def cost(net):
        gaps = chunk.X[:, None] - net.centers[None]
        phi = np.exp(-np.sum(gaps**2, axis=2) / np.exp(net.log_widths) ** 2)
        Z = phi @ net.coef.T + net.intercept
        if isinstance(loss, LogisticLoss):
            each = np.sum(np.logaddexp(0, -signs * Z), axis=1)
        elif isinstance(loss, SoftmaxLoss):
            each = np.logaddexp.reduce(Z, axis=1) - Z[np.arange(30), chunk.y]
        else:
            each = np.sum(np.maximum(0, 1 - signs * Z) ** 2, axis=1)
        return chunk.w @ each

    sums = loss_and_gradient(chunk, loss, net, "all")
    value, gradient = autodiff.value_and_grad(cost)(net)
    scale = 1.0 if not isinstance(loss, SquaredHingeLoss) else sums.loss / value
    assert sums.loss == pytest.approx(scale * value)
    for got, want in zip(sums.gradient, gradient, strict=True):
        np.testing.assert_allclose(got, scale * want, rtol=1e-9, atol=1e-12)


def test_one_row_gives_the_rule_of_the_notes():
    """grad of r_k = -2 (y - p) w_k phi_k(x) (x - r_k) [000, 1.7.4]."""
    rng = np.random.default_rng(1)
    net = RbfParameters(
        rng.normal(size=(1, 3)), np.array([0.2]), rng.normal(size=(3, 2)), np.zeros(3)
    )
    x = np.array([[0.4, -0.3]])
    phi = np.exp(-((x - net.centers) ** 2).sum(axis=1))
    p = 1 / (1 + np.exp(-(net.coef[0] @ phi + 0.2)))
    want = -2 * (1 - p) * (net.coef[0] * phi)[:, None] * (x - net.centers)
    got = loss_and_gradient(Chunk(x, np.array([1])), LogisticLoss(), net, "centers").gradient
    np.testing.assert_allclose(got.centers, want)
    assert not got.log_widths.any()


@pytest.mark.parametrize("centers", ["random", "kmeans"])
def test_xor_is_solved_where_a_line_fails(centers):
    X, y = xor()
    assert LogisticRegression().fit(X, y).score(X, y) < 0.8
    assert RbfNetwork(10, centers=centers, random_state=0).fit(X, y).score(X, y) == 1


def test_kmeans_finds_the_corners():
    X, y = xor(400, 0.2)
    model = RbfNetwork(4, centers="kmeans", random_state=0).fit(X, y)
    order = np.lexsort(model.centers_.round().T)
    np.testing.assert_allclose(model.centers_[order], CORNERS[np.lexsort(CORNERS.T)], atol=0.05)


@pytest.mark.parametrize("loss", ["cross_entropy", "squared_hinge"])
def test_adapting_never_costs_more_than_the_fixed_basis(loss):
    X, y = three_rings()
    ends = {}
    for adapt in ("none", "centers", "all"):
        model = RbfNetwork(6, adapt=adapt, loss=loss, random_state=3).fit(X, y)
        ends[adapt] = model.history_["objective"][-1]
        assert (np.diff(model.history_["objective"]) <= 1e-12).all()
        assert len(model.history_["seconds"]) == model.n_iter_
        assert (np.diff(model.history_["seconds"]) >= 0).all()
    assert ends["all"] < 0.6 * ends["none"]
    assert ends["centers"] < ends["none"]
    moved = RbfNetwork(6, adapt="centers", random_state=3).fit(X, y)
    fixed = RbfNetwork(6, random_state=3).fit(X, y)
    assert not np.allclose(moved.centers_, fixed.centers_)
    np.testing.assert_allclose(moved.widths_, fixed.widths_)


def test_probabilities_only_where_there_are_some():
    X, y = xor()
    assert hasattr(RbfNetwork().fit(X, y), "predict_proba")
    for settings in ({"weights": "labels"}, {"loss": "squared_hinge"}):
        model = RbfNetwork(width=0.7, random_state=0, **settings).fit(X, y)
        assert not hasattr(model, "predict_proba")
        assert model.score(X, y) > 0.9


def test_width_is_that_of_the_cloud():
    X, y = xor(500)
    model = RbfNetwork(random_state=0).fit(X + 1000, y)
    np.testing.assert_allclose(model.widths_, np.sqrt(X.var(axis=0).sum()), rtol=1e-6)
    own = RbfNetwork(3, width=[1.0, 2.0, 3.0], random_state=0).fit(X, y)
    np.testing.assert_allclose(own.widths_, [1, 2, 3])


def test_errors_say_what_to_do():
    X, y = xor()
    with pytest.raises(ValueError, match="2 widths for 3 centers"):
        RbfNetwork(3, width=[1.0, 2.0]).fit(X, y)
    with pytest.raises(ValueError, match=r"2 columns need \(number of centers, 2\)"):
        RbfNetwork(centers=np.zeros((3, 5))).fit(X, y)
    with pytest.raises(ValueError, match="weights='trained'"):
        RbfNetwork(weights="labels", adapt="all").fit(X, y)
    with pytest.raises(AttributeError, match="predict_proba"):
        _ = RbfNetwork(weights="labels").predict_proba


def test_the_plain_hinge_is_a_pipeline():
    X, y = xor()
    machine = LinearSVC(loss="hinge", C=10, random_state=0)
    model = make_pipeline(RadialFeatures(CORNERS, width=1.0), machine).fit(X, y)
    assert model.score(X, y) > 0.97
