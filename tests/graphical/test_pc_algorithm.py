"""PC with an oracle finds every essential graph; with tests, planted structures."""

from itertools import combinations, permutations, product

import numpy as np
import pytest
from scipy.stats import chi2_contingency, pearsonr

from tenfold import PC, BayesianNetwork
from tenfold.graphical._independence_tests import count_p_value
from tenfold.graphical.directed_graph import DirectedGraph


def oracle(graph):
    return lambda a, b, given: float(graph.is_separated(a, b, given))


def test_with_an_oracle_every_graph_of_four_nodes_is_found():
    pairs = list(combinations("abcd", 2))
    for present in product((0, 1), repeat=6):
        arcs = [pair for pair, there in zip(pairs, present, strict=True) if there]
        graph = DirectedGraph.from_arcs(arcs, "abcd")
        for nodes in (list("abcd"), list("dbca")):
            found = PC(test=oracle(graph), nodes=nodes).fit().essential_graph_
            expected = graph.essential_graph()
            assert found.arcs == expected.arcs
            assert {frozenset(e) for e in found.edges} == {frozenset(e) for e in expected.edges}


def test_random_graphs_of_seven_nodes_are_found_in_any_order_of_columns():
    rng = np.random.default_rng(0)
    names = list("abcdefg")
    for _ in range(12):
        arcs = [pair for pair in combinations(names, 2) if rng.random() < 0.35]
        graph = DirectedGraph.from_arcs(arcs, names)
        expected = graph.essential_graph()
        nodes = rng.permutation(names).tolist()
        found = PC(test=oracle(graph), nodes=nodes).fit()
        assert found.essential_graph_.arcs == expected.arcs
        for (a, b), given in found.separators_.items():
            assert graph.is_separated(a, b, given)


def collider_rows(n=2000, seed=0):
    parents = {"a": [], "b": [], "c": ["a", "b"], "d": ["c"]}
    noisy = [[[0.95, 0.05], [0.2, 0.8]], [[0.25, 0.75], [0.05, 0.95]]]
    tables = {"a": [0.5, 0.5], "b": [0.4, 0.6], "c": noisy, "d": [[0.9, 0.1], [0.2, 0.8]]}
    return BayesianNetwork.from_tables(parents, tables).sample(n, random_state=seed)


@pytest.mark.parametrize("test", ["chi_square", "g_square"])
def test_a_planted_network_is_found(test):
    rows = collider_rows()
    model = PC(0.01, test=test).fit(rows)
    assert model.essential_graph_.arcs == (("a", "c"), ("b", "c"), ("c", "d"))
    assert model.essential_graph_.edges == ()
    assert model.separators_["a", "b"] == ()
    assert set(model.network_.graph_.arcs) == {("a", "c"), ("b", "c"), ("c", "d")}
    for order in list(permutations("abcd"))[::7]:  # the stable version
        again = PC(0.01, test=test, nodes=list(order)).fit(rows)
        assert again.essential_graph_.arcs == model.essential_graph_.arcs


def test_numbers_are_tested_by_partial_correlations():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 3000))
    c = a + b + 0.5 * rng.normal(size=3000)
    d = c + 0.5 * rng.normal(size=3000)
    model = PC(0.01, test="fisher_z").fit({"a": a, "b": b, "c": c, "d": d})
    assert model.essential_graph_.arcs == (("a", "c"), ("b", "c"), ("c", "d"))
    assert model.network_ is None
    p = PC(1e-9, test="fisher_z", max_given=0).fit({"a": a, "b": b}).p_values_["a", "b"]
    r = pearsonr(a, b)[0]
    from scipy.stats import norm

    assert p == pytest.approx(2 * norm.sf(np.sqrt(2997) * abs(np.arctanh(r))))
    array = PC(0.01, test="fisher_z").fit(np.column_stack([a, b, c]))
    assert array.essential_graph_.arcs == (("x0", "x2"), ("x1", "x2"))


def test_p_values_of_counts_are_those_of_scipy():
    rng = np.random.default_rng(0)
    table = rng.integers(5, 40, (1, 3, 4))
    for kind, power in (("chi_square", "pearson"), ("g_square", "log-likelihood")):
        expected = chi2_contingency(table[0], correction=False, lambda_=power).pvalue
        assert count_p_value(table, kind) == pytest.approx(expected)
    strata = rng.integers(5, 40, (3, 2, 2))
    parts = [chi2_contingency(part, correction=False) for part in strata]
    from scipy.stats import chi2

    expected = chi2.sf(sum(part.statistic for part in parts), 3)
    assert count_p_value(strata) == pytest.approx(expected)
    assert count_p_value(np.zeros((2, 2, 2))) == 1


def test_bad_input_is_refused_in_words():
    with pytest.raises(ValueError, match="give nodes and a function"):
        PC().fit()
    with pytest.raises(ValueError, match="missing values"):
        PC().fit({"a": [0, None, 1], "b": [0, 1, 1]})
    with pytest.raises(ValueError, match="holds no numbers"):
        PC(test="fisher_z").fit({"a": ["x", "y"], "b": [0.0, 1.0]})
    with pytest.raises(ValueError, match="constant"):
        PC(test="fisher_z").fit({"a": [1.0, 1.0], "b": [0.0, 1.0]})
