"""Bayesian networks: the full joint table is the judge of every query."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tenfold
from tenfold import BayesianNetwork
from tenfold.graphical.belief_propagation import propagate_beliefs
from tenfold.graphical.factors import Factor

RAIN = BayesianNetwork.from_tables(
    {"rain": [], "sprinkler": ["rain"], "wet": ["sprinkler", "rain"]},
    {
        "rain": [0.8, 0.2],
        "sprinkler": [[0.6, 0.4], [0.99, 0.01]],
        "wet": [[[1.0, 0.0], [0.2, 0.8]], [[0.1, 0.9], [0.01, 0.99]]],
    },
    {"rain": ["no", "yes"], "sprinkler": ["off", "on"], "wet": ["dry", "wet"]},
)


def random_network(nodes=6, seed=0, tree=False):
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(nodes)]
    sizes = {name: int(rng.integers(2, 4)) for name in names}
    parents, tables = {}, {}
    for i, name in enumerate(names):
        count = min(i, 1 if tree else int(rng.integers(0, 4)))
        parents[name] = [str(p) for p in rng.choice(names[:i], count, replace=False)] if i else []
        shape = [sizes[p] for p in parents[name]]
        tables[name] = rng.dirichlet(np.ones(sizes[name]), shape or None)
    return BayesianNetwork.from_tables(parents, tables)


def by_hand(net, variable, evidence):
    joint = net.joint_table()
    fixed = {name: net.states_[name].index(state) for name, state in evidence.items()}
    left = joint.select(fixed)
    return left.sum_out(set(left.variables) - {variable}).normalize().table


def test_the_factorization_is_printed_and_counted():
    assert RAIN.factorization() == "p(rain) p(sprinkler | rain) p(wet | sprinkler, rain)"
    assert RAIN.n_parameters() == 1 + 2 + 4
    assert RAIN.joint_table().table.sum() == pytest.approx(1)
    joint = RAIN.joint_table().reorder(("rain", "sprinkler", "wet")).table
    assert joint[1, 0, 1] == pytest.approx(0.2 * 0.99 * 0.8)


def test_wet_grass_is_explained_away():
    wet = RAIN.query("rain", {"wet": "wet"}).to_dict()["yes"]
    both = RAIN.query("rain", {"wet": "wet", "sprinkler": "on"}).to_dict()["yes"]
    assert wet == pytest.approx(0.3577, abs=1e-4)
    assert both < RAIN.query("rain", {"sprinkler": "off", "wet": "wet"}).to_dict()["yes"]
    assert both < wet


@pytest.mark.parametrize("seed", range(6))
def test_all_exact_methods_agree_with_the_joint_table(seed):
    net = random_network(seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(4):
        target, *known = rng.permutation(net.graph_.nodes)[:3].tolist()
        evidence = {name: int(rng.integers(len(net.states_[name]))) for name in known}
        expected = by_hand(net, target, evidence)
        for method in ("elimination", "enumeration", "junction_tree"):
            assert_allclose(net.query(target, evidence, method=method).table, expected, rtol=1e-10)
        assert_allclose(net.marginals(evidence)[target], expected, rtol=1e-10)
        soft = {name: np.eye(len(net.states_[name]))[state] for name, state in evidence.items()}
        assert_allclose(net.query(target, soft).table, expected, rtol=1e-10)


def test_pairs_and_soft_evidence():
    net = random_network(seed=3)
    joint = net.joint_table()
    for method in ("elimination", "enumeration", "junction_tree"):
        pair = net.query(["v4", "v1"], {"v0": 1}, method=method)
        left = joint.select({"v0": 1})
        expected = left.sum_out(set(left.variables) - {"v4", "v1"}).normalize()
        assert_allclose(pair.table, expected.reorder(("v4", "v1")).table)
    likelihood = np.array([0.3, 0.9, 0.5])[: len(net.states_["v0"])]
    weighed = joint.multiply(Factor(("v0",), likelihood))
    expected = weighed.sum_out(set(weighed.variables) - {"v5"}).normalize().table
    assert_allclose(net.query("v5", {"v0": likelihood}).table, expected)


@pytest.mark.parametrize("seed", range(4))
def test_belief_propagation_is_exact_on_trees(seed):
    net = random_network(7, seed, tree=True)
    evidence = {"v3": 0}
    found = propagate_beliefs(net.factors(evidence))
    assert found.exact
    assert found.converged
    for name, belief in found.beliefs.items():
        assert_allclose(belief, by_hand(net, name, evidence), rtol=1e-9)
    best = propagate_beliefs(net.factors(evidence), largest=True)
    most = net.most_probable(evidence)
    assert {v: int(belief.argmax()) for v, belief in best.beliefs.items()} == most
    assert (0, "v0") in found.messages or ("v0", 0) in found.messages


def test_loops_are_said_to_be_approximate():
    found = propagate_beliefs(RAIN.factors({"wet": "wet"}))
    assert not found.exact
    assert found.beliefs["rain"].sum() == pytest.approx(1)


@pytest.mark.parametrize("seed", range(4))
def test_most_probable_states_are_the_maximum_of_the_joint_table(seed):
    net = random_network(5, seed)
    joint = net.joint_table()
    best = np.unravel_index(joint.table.argmax(), joint.table.shape)
    assert net.most_probable() == dict(zip(joint.variables, map(int, best), strict=True))
    some = joint.sum_out({"v0", "v3"})
    index = np.unravel_index(some.table.argmax(), some.table.shape)
    found = net.most_probable(variables=list(some.variables))
    assert found == dict(zip(some.variables, map(int, index), strict=True))


def test_samples_have_the_probabilities_of_the_network():
    rows = RAIN.sample(20_000, random_state=0)
    wet = (rows["wet"] == "wet").mean()
    assert wet == pytest.approx(RAIN.query("wet").to_dict()["wet"], abs=0.015)
    evidence = {"wet": "wet"}
    expected = RAIN.query("rain", evidence).table
    for method in ("rejection", "gibbs"):
        drawn = RAIN.sample(6000, evidence=evidence, method=method, random_state=1)
        assert set(drawn["wet"]) == {"wet"}
        assert (drawn["rain"] == "yes").mean() == pytest.approx(expected[1], abs=0.03)
    assert_allclose(RAIN.estimate("rain", evidence, random_state=0), expected, atol=0.02)
    again = RAIN.sample(5, random_state=4)
    assert_array_equal(again["rain"], RAIN.sample(5, random_state=4)["rain"])


def test_an_intervention_cuts_causes():
    seen = RAIN.query("rain", {"sprinkler": "on"}).to_dict()["yes"]
    done = RAIN.do(sprinkler="on").query("rain").to_dict()["yes"]
    assert done == pytest.approx(0.2)
    assert seen < done
    assert RAIN.do(sprinkler="on").query("sprinkler").to_dict()["on"] == 1


def test_tables_are_shares_of_counts_and_merge():
    rows = RAIN.sample(4000, random_state=0)
    net = BayesianNetwork(RAIN.graph_.arcs, states=dict(RAIN.states_)).fit(rows)
    rain = rows["rain"] == "yes"
    on = rows["sprinkler"] == "on"
    assert net.tables_["sprinkler"][1, 1] == pytest.approx(on[rain].mean())
    for name, table in RAIN.tables_.items():
        assert_allclose(net.tables_[name], table, atol=0.12)
    halves = [
        BayesianNetwork(RAIN.graph_.arcs, states=dict(RAIN.states_)).fit(
            {name: column[part] for name, column in rows.items()}
        )
        for part in (slice(0, 1500), slice(1500, None))
    ]
    grown = BayesianNetwork(RAIN.graph_.arcs, states=dict(RAIN.states_))
    for part in (slice(0, 1500), slice(1500, None)):
        grown.partial_fit({name: column[part] for name, column in rows.items()})
    for joint in (tenfold.merge(*halves), tenfold.merge(*halves[::-1]), grown):
        for name in net.tables_:
            assert_array_equal(joint.tables_[name], net.tables_[name])
    weighted = BayesianNetwork([("a", "b")]).fit({"a": [0, 1], "b": [0, 1]}, sample_weight=[3, 1])
    repeated = BayesianNetwork([("a", "b")]).fit({"a": [0, 0, 0, 1], "b": [0, 0, 0, 1]})
    assert_array_equal(weighted.tables_["a"], repeated.tables_["a"])
    prior = BayesianNetwork([("a", "b")], pseudo_count=1).fit({"a": [0, 1], "b": [0, 0]})
    assert prior.tables_["b"].shape == (2, 1)


def test_rows_with_gaps():
    rows = {
        "rain": ["yes", None, "no"],
        "sprinkler": [None, None, "off"],
        "wet": ["wet", "wet", "dry"],
    }
    scores = np.exp(RAIN.log_prob(rows))
    joint = RAIN.joint_table().reorder(("rain", "sprinkler", "wet")).table
    assert_allclose(scores, [joint[1, :, 1].sum(), joint[:, :, 1].sum(), joint[0, 0, 0]])
    proba = RAIN.predict_proba({"sprinkler": ["on", None], "wet": ["wet", "wet"]}, "rain")
    assert_allclose(proba[1], RAIN.query("rain", {"wet": "wet"}).table)
    filled = RAIN.impute(rows)
    assert [column[2] for column in filled.values()] == ["no", "off", "dry"]
    assert filled["sprinkler"][0] == RAIN.most_probable({"rain": "yes", "wet": "wet"})["sprinkler"]


def test_too_wide_networks_are_refused_before_memory_fills():
    parents = {f"c{i}": [] for i in range(60)}
    tables = {name: [0.5, 0.5] for name in parents}
    net = BayesianNetwork.from_tables(parents, tables)
    with pytest.raises(MemoryError, match="bytes"):
        net.query("c0", method="enumeration")
    assert_allclose(net.query("c0").table, [0.5, 0.5])


def test_bad_input_is_refused_in_words():
    with pytest.raises(ValueError, match="cycle"):
        BayesianNetwork([("a", "b"), ("b", "a")]).fit({"a": [0], "b": [0]})
    with pytest.raises(ValueError, match="no column for the variable 'b'"):
        BayesianNetwork([("a", "b")]).fit({"a": [0, 1]})
    with pytest.raises(ValueError, match="none of its states"):
        RAIN.query("rain", {"wet": "maybe"})
    with pytest.raises(ValueError, match="none of the variables"):
        RAIN.query("rain", {"snow": 1})
    with pytest.raises(ValueError, match="sum to one"):
        BayesianNetwork.from_tables({"a": []}, {"a": [0.5, 0.6]})
    with pytest.raises(ValueError, match="probability zero"):
        RAIN.query("rain", {"sprinkler": "off", "rain": "no", "wet": "wet"} | {"rain": np.zeros(2)})
    with pytest.raises(ValueError, match="row 1: rain is 'hail'"):
        RAIN.log_prob({"rain": ["yes", "hail"], "sprinkler": ["on", "on"], "wet": ["wet", "wet"]})


def test_a_saved_network_answers_the_same(tmp_path):
    rows = RAIN.sample(500, random_state=0)
    net = BayesianNetwork(RAIN.graph_.arcs).fit(rows)
    net.save(tmp_path / "net.tenfold")
    loaded = tenfold.load(tmp_path / "net.tenfold")
    assert_array_equal(
        loaded.query("rain", {"wet": "wet"}).table, net.query("rain", {"wet": "wet"}).table
    )


def test_independence_in_the_graph_is_independence_in_the_table():
    net = random_network(5, seed=5)
    joint, names = net.joint_table(), net.graph_.nodes
    for a, b in product(names, repeat=2):
        if a >= b:
            continue
        for c in [None, *names]:
            if c in (a, b) or not net.graph_.is_separated(a, b, [] if c is None else [c]):
                continue
            keep = {a, b} if c is None else {a, b, c}
            table = joint.sum_out(set(names) - keep)
            order = (a, b) if c is None else (c, a, b)
            cells = table.reorder(order).table.reshape(-1, *table.reorder(order).table.shape[-2:])
            for cell in cells:
                p = cell / cell.sum()
                assert_allclose(p, np.outer(p.sum(axis=1), p.sum(axis=0)), atol=1e-12)


def test_strangers_are_told_what_is_wrong():
    with pytest.raises(ValueError, match="no variables"):
        BayesianNetwork().fit({"a": [1]})
    with pytest.raises(ValueError, match="no rows"):
        BayesianNetwork("a -> b").fit({"a": [], "b": []})
    with pytest.raises(ValueError, match="named by text"):
        BayesianNetwork([(0, 1)]).fit(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="infinite"):
        BayesianNetwork("a -> b").fit(np.array([[0, np.inf], [1, 0]]))
    with pytest.raises(ValueError, match="intervals"):
        BayesianNetwork("a -> b").fit(np.random.default_rng(0).normal(size=(150_000, 2)))
    with pytest.raises(ValueError, match="no value at all"):
        BayesianNetwork("a -> b").fit({"a": [None, None], "b": [0, 1]})
    with pytest.raises(ValueError, match="each row a weight"):
        BayesianNetwork("a -> b").fit({"a": [0, 1], "b": [0, 1]}, sample_weight=[1])
    with pytest.raises(ValueError, match="none of the variables"):
        RAIN.predict({"wet": ["wet"]}, "snow")
    with pytest.raises(ValueError, match="once"):
        RAIN.query(["rain", "rain"])
    one = BayesianNetwork("a -> b").fit({"a": [1], "b": ["x"]})
    assert one.query("b").to_dict() == {"x": 1.0}
    mixed = BayesianNetwork("a -> b").fit(
        {"a": [1, "x", None, 2.5], "b": [True, False, True, None]}
    )
    assert set(mixed.states_["a"]) == {1, "x", 2.5}


def test_one_variable_needs_no_list():
    assert RAIN.most_probable({"wet": "wet"}, "rain") == RAIN.most_probable(
        {"wet": "wet"}, ["rain"]
    )
    assert RAIN.junction_tree("rain").scopes == RAIN.junction_tree(["rain"]).scopes
    with pytest.raises(TypeError, match="give a dictionary, variable -> state"):
        RAIN.marginals("rain")


def test_a_network_of_tables_takes_arcs_as_text():
    tables = {"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.2, 0.8]]}
    net = BayesianNetwork.from_tables("rain -> wet", tables)
    same = BayesianNetwork.from_tables({"rain": [], "wet": ["rain"]}, tables)
    assert_array_equal(net.query("rain", {"wet": 1}).table, same.query("rain", {"wet": 1}).table)
