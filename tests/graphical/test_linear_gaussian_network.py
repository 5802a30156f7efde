"""Linear-Gaussian networks: formulas of the multivariate normal are the judge."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal, norm

import tenfold
from tenfold import LinearGaussianBayesianNetwork

CHAIN = LinearGaussianBayesianNetwork.from_parameters(
    {"a": [], "b": ["a"], "c": ["a", "b"]},
    {"a": (1.0, [], 2.0), "b": (0.5, [1.5], 0.7), "c": (-1.0, [0.3, -2.0], 0.4)},
)
MIXED = LinearGaussianBayesianNetwork.from_parameters(
    {"k": [], "m": ["k"], "x": ["k"], "y": ["x", "m"]},
    {
        "x": ([0.0, 3.0], [], [1.0, 0.5]),
        "y": ([0.0, 1.0], [[1.0], [-1.0]], [0.3, 0.2]),
    },
    {"k": [0.3, 0.7], "m": [[0.9, 0.1], [0.4, 0.6]]},
    {"k": ["red", "blue"], "m": [0, 1]},
)


def dense(net):
    """(I - W)^-1, mean and covariance of a network of numbers, by linear algebra."""
    names = net.graph_.nodes
    d = len(names)
    W, b, v = np.zeros((d, d)), np.zeros(d), np.zeros(d)
    for i, name in enumerate(names):
        node = net.gaussians_[name]
        b[i], v[i] = node.intercept, node.variance
        for weight, parent in zip(node.coef, net.graph_.parents[name], strict=True):
            W[i, names.index(parent)] = weight
    root = np.linalg.inv(np.eye(d) - W)
    return root @ b, root @ np.diag(v) @ root.T


def test_the_joint_distribution_is_a_gaussian():
    joint = CHAIN.joint()
    mean, covariance = dense(CHAIN)
    assert_allclose(joint.means[0], mean)
    assert_allclose(joint.covariances[0], covariance)
    assert CHAIN.factorization() == "p(a) p(b | a) p(c | a, b)"
    assert CHAIN.n_parameters() == 2 + 3 + 4


def test_conditional_queries_are_those_of_the_normal_distribution():
    mean, S = dense(CHAIN)
    found = CHAIN.query(["a", "b"], {"c": 0.7})
    gain = S[:2, 2] / S[2, 2]
    assert_allclose(found.mean, mean[:2] + gain * (0.7 - mean[2]))
    assert_allclose(found.covariance, S[:2, :2] - np.outer(gain, S[:2, 2]))
    rows = {"a": [0.1, None, 2.0], "b": [1.0, 0.5, None], "c": [None, 1.0, None]}
    scores = CHAIN.log_prob(rows)
    assert scores[0] == pytest.approx(multivariate_normal(mean[:2], S[:2, :2]).logpdf([0.1, 1.0]))
    assert scores[1] == pytest.approx(multivariate_normal(mean[1:], S[1:, 1:]).logpdf([0.5, 1.0]))
    assert scores[2] == pytest.approx(norm(mean[0], np.sqrt(S[0, 0])).logpdf(2.0))
    assert CHAIN.log_evidence({"a": 2.0}) == pytest.approx(scores[2])
    filled = CHAIN.impute(rows)
    assert filled["a"][1] == pytest.approx(CHAIN.query("a", {"b": 0.5, "c": 1.0}).mean[0])
    assert CHAIN.predict(rows, "b")[2] == pytest.approx(CHAIN.query("b", {"a": 2.0}).mean[0])


def test_least_squares_is_the_maximum_of_the_likelihood():
    rng = np.random.default_rng(0)
    a = rng.normal(size=300)
    b = 1 + 2 * a + rng.normal(size=300)
    c = a - b + 0.5 * rng.normal(size=300)
    net = LinearGaussianBayesianNetwork("a -> b; a -> c; b -> c").fit({"a": a, "b": b, "c": c})
    X = np.column_stack([np.ones(300), a, b])
    coef, residual, *_ = np.linalg.lstsq(X, c, rcond=None)
    node = net.gaussians_["c"]
    assert_allclose([node.intercept, *node.coef], coef)
    assert node.variance == pytest.approx(residual[0] / 300)
    full = np.column_stack([a, b, c])  # a complete graph is the normal distribution itself
    assert_allclose(net.joint().means[0], full.mean(axis=0))
    assert_allclose(net.joint().covariances[0], np.cov(full.T, bias=True))


def test_halves_merge_and_weights_are_repetitions():
    rng = np.random.default_rng(1)
    rows = CHAIN.sample(400, random_state=0)
    how = "a -> b; a -> c; b -> c"
    whole = LinearGaussianBayesianNetwork(how).fit(rows)
    parts = [
        LinearGaussianBayesianNetwork(how).fit({v: c[s] for v, c in rows.items()})
        for s in (slice(0, 150), slice(150, None))
    ]
    grown = LinearGaussianBayesianNetwork(how)
    for s in (slice(0, 150), slice(150, None)):
        grown.partial_fit({v: c[s] for v, c in rows.items()})
    for net in (tenfold.merge(*parts), grown):
        for v, node in whole.gaussians_.items():
            for mine, theirs in zip(net.gaussians_[v], node, strict=True):
                assert_allclose(mine, theirs, rtol=1e-10)
    weight = rng.integers(0, 3, 400)
    weighted = LinearGaussianBayesianNetwork(how).fit(rows, sample_weight=weight)
    repeated = LinearGaussianBayesianNetwork(how).fit(
        {v: np.repeat(c, weight) for v, c in rows.items()}
    )
    assert_allclose(weighted.gaussians_["c"].coef, repeated.gaussians_["c"].coef)


def test_discrete_variables_above_numbers_make_a_mixture():
    p = {(k, m): [0.3, 0.7][k] * [[0.9, 0.1], [0.4, 0.6]][k][m] for k in (0, 1) for m in (0, 1)}
    parts = {}
    for k, m in p:
        mx, vx = [0.0, 3.0][k], [1.0, 0.5][k]
        w, b, v = [1.0, -1.0][m], [0.0, 1.0][m], [0.3, 0.2][m]
        parts[k, m] = (b + w * mx, v + w * w * vx, mx, w * vx, vx)
    y = 1.3
    weight = {c: p[c] * norm(parts[c][0], np.sqrt(parts[c][1])).pdf(y) for c in p}
    total = sum(weight.values())
    assert MIXED.log_evidence({"y": y}) == pytest.approx(np.log(total))
    red = (weight[0, 0] + weight[0, 1]) / total
    assert MIXED.query("k", {"y": y}).to_dict()["red"] == pytest.approx(red)
    means = {c: q[2] + q[3] / q[1] * (y - q[0]) for c, q in parts.items()}
    spreads = {c: q[4] - q[3] ** 2 / q[1] for c, q in parts.items()}
    mean = sum(weight[c] * means[c] for c in p) / total
    second = sum(weight[c] * (spreads[c] + means[c] ** 2) for c in p) / total
    found = MIXED.query("x", {"y": y})
    assert found.mean[0] == pytest.approx(mean)
    assert found.covariance[0, 0] == pytest.approx(second - mean**2)
    assert found.weights.sum() == pytest.approx(1)
    pair = MIXED.query(["k", "m"], {"y": y})
    assert pair.table[0, 1] == pytest.approx(weight[0, 1] / total)
    rows = {"k": ["red", None], "m": [1, None], "x": [None, None], "y": [y, y]}
    assert_allclose(np.exp(MIXED.log_prob(rows)), [weight[0, 1], total])
    assert_allclose(MIXED.impute(rows)["x"], [means[0, 1], mean])
    best = MIXED.query("k", {"y": y})
    assert MIXED.impute(rows)["k"][1] == best.states[0][best.table.argmax()]


def test_samples_have_the_moments_of_the_queries():
    rows = MIXED.sample(40_000, random_state=0)
    assert rows["y"].mean() == pytest.approx(MIXED.query("y").mean[0], abs=0.03)
    assert rows["y"].var() == pytest.approx(MIXED.query("y").covariance[0, 0], rel=0.03)
    given = MIXED.sample(40_000, evidence={"y": 1.3}, random_state=1)
    exact = MIXED.query("x", {"y": 1.3})
    assert given["x"].mean() == pytest.approx(exact.mean[0], abs=0.03)
    assert given["x"].var() == pytest.approx(exact.covariance[0, 0], rel=0.05)
    assert (given["k"] == "red").mean() == pytest.approx(
        MIXED.query("k", {"y": 1.3}).to_dict()["red"], abs=0.01
    )
    learned = LinearGaussianBayesianNetwork(MIXED.graph_.arcs, discrete=["k", "m"]).fit(rows)
    assert_allclose(learned.tables_["m"], MIXED.tables_["m"][::-1], atol=0.02)  # blue, red
    assert_allclose(learned.gaussians_["y"].coef[:, 0], [1.0, -1.0], atol=0.02)


def test_an_intervention_cuts_causes():
    done = CHAIN.do(b=3.0)
    assert done.query("a").mean[0] == pytest.approx(1.0)
    assert CHAIN.query("a", {"b": 3.0}).mean[0] != pytest.approx(1.0)
    assert done.query("c").mean[0] == pytest.approx(-1.0 + 0.3 * 1.0 - 2.0 * 3.0)
    assert MIXED.do(k="red").query("x").mean[0] == pytest.approx(0.0)


def test_what_is_not_possible_is_refused_by_name():
    with pytest.raises(ValueError, match="'k' has the parent 'x', a number: exact inference"):
        LinearGaussianBayesianNetwork("x -> k").fit({"x": [0.0, 1.0], "k": ["a", "b"]})
    many = {f"d{i}": [] for i in range(20)} | {"x": [f"d{i}" for i in range(2)]}
    wide = LinearGaussianBayesianNetwork.from_parameters(
        many, {"x": (np.zeros((2, 2)), [], 1.0)}, {f"d{i}": [0.5, 0.5] for i in range(20)}
    )
    with pytest.raises(MemoryError, match="combinations of states"):
        wide.joint()
    assert wide.query("x").mean[0] == 0  # only its ancestors count
    with pytest.raises(ValueError, match="not for both at once"):
        MIXED.query(["k", "x"])
    with pytest.raises(ValueError, match="none of the variables"):
        MIXED.query("z")
    with pytest.raises(ValueError, match="none of its states"):
        MIXED.query("x", {"k": "green"})
    with pytest.raises(ValueError, match="no column for the variable 'b'"):
        LinearGaussianBayesianNetwork("a -> b").fit({"a": [1.0, 2.0]})
    with pytest.raises(ValueError, match="row 1: a is infinite"):
        LinearGaussianBayesianNetwork("a -> b").fit({"a": [1.0, np.inf], "b": [1.0, 2.0]})


def test_states_without_rows_take_the_regression_of_all():
    rows = {"k": ["a", "a", "a", "b"], "x": [0.0, 1.0, 2.0, 5.0]}
    net = LinearGaussianBayesianNetwork("k -> x", states={"k": ["a", "b", "c"]}).fit(rows)
    assert net.gaussians_["x"].intercept[2] == pytest.approx(2.0)


@pytest.mark.parametrize("net", [CHAIN, MIXED])
def test_a_saved_network_answers_the_same(net, tmp_path):
    rows = net.sample(200, random_state=0)
    fitted = LinearGaussianBayesianNetwork(net.graph_.arcs, discrete=list(net.states_)).fit(rows)
    fitted.save(tmp_path / "net.tenfold")
    loaded = tenfold.load(tmp_path / "net.tenfold")
    assert_allclose(loaded.log_prob(rows), fitted.log_prob(rows), rtol=0)
