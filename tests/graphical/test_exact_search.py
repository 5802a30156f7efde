"""The best structure of all: every graph of four variables is scored."""

from itertools import combinations, product

import numpy as np
import pytest

from tenfold import BayesianNetwork, ExactSearch, HillClimbing
from tenfold.graphical._state_rows import open_states
from tenfold.graphical._structure_base import FamilyScores
from tenfold.graphical.directed_graph import DirectedGraph

SCORES = ("bic", "aic", "bdeu", "k2", "log_likelihood")


def some_rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, n), rng.integers(0, 3, n)
    c = np.where(rng.random(n) < 0.85, (a + b) % 2, rng.integers(0, 2, n))
    d = np.where(rng.random(n) < 0.7, c, rng.integers(0, 2, n))
    return {"a": a, "b": b, "c": c, "d": d}


def graphs(names):
    pairs = list(combinations(names, 2))
    for choice in product((0, 1, 2), repeat=len(pairs)):
        arcs = [p if k == 1 else p[::-1] for p, k in zip(pairs, choice, strict=True) if k]
        try:
            yield DirectedGraph.from_arcs(arcs, names)
        except ValueError:
            continue


@pytest.mark.parametrize("score", SCORES)
def test_the_found_network_is_the_best_of_all_543(score):
    rows = some_rows()
    term = FamilyScores(open_states(rows, None), score, 10.0)
    totals = {
        tuple(g.arcs): sum(term(v, frozenset(p)) for v, p in g.parents.items())
        for g in graphs("abcd")
    }
    assert len(totals) == 543
    found = ExactSearch(score, max_parents=3).fit(rows)
    assert found.score_ == pytest.approx(max(totals.values()), rel=1e-12)
    arcs = found.network_.graph_.arcs
    assert sum(term(v, frozenset(p)) for v, p in found.network_.graph_.parents.items()) == (
        pytest.approx(found.score_, rel=1e-12)
    ), arcs
    climbed = HillClimbing(score, tabu_length=5, n_restarts=3, random_state=0).fit(rows)
    assert climbed.score_ <= found.score_ + 1e-9
    assert climbed.score_ == pytest.approx(found.score_, rel=1e-9)


@pytest.mark.parametrize("score", ["bic", "aic", "bdeu", "log_likelihood"])
def test_networks_of_the_same_independences_have_the_same_score(score):
    rows = some_rows()
    term = FamilyScores(open_states(rows, None), score, 5.0)
    by_class = {}
    for graph in graphs("abcd"):
        total = sum(term(v, frozenset(p)) for v, p in graph.parents.items())
        essential = graph.essential_graph()
        key = (essential.arcs, essential.edges)
        by_class.setdefault(key, []).append(total)
    for totals in by_class.values():
        np.testing.assert_allclose(totals, totals[0], rtol=1e-11)


def test_scores_of_a_network_are_those_of_its_fit():
    rows = some_rows()
    arcs = "a -> c; b -> c; c -> d"
    net = BayesianNetwork(arcs, nodes=list("abcd")).fit(rows)
    term = FamilyScores(open_states(rows, list("abcd")), "bic", 1.0)
    total = sum(term(v, frozenset(p)) for v, p in net.graph_.parents.items())
    n = len(rows["a"])
    assert total == pytest.approx(net.score(rows) * n - 0.5 * np.log(n) * net.n_parameters())


def test_arcs_are_required_and_forbidden():
    rows = some_rows()
    for model in (ExactSearch, HillClimbing):
        free = model().fit(rows).network_.graph_.arcs
        banned = model(forbidden=free).fit(rows).network_.graph_.arcs
        assert not set(free) & set(banned)
        forced = model(required=[("d", "a")]).fit(rows).network_.graph_.arcs
        assert ("d", "a") in forced
        with pytest.raises(ValueError, match="none of the variables"):
            model(required=[("d", "z")]).fit(rows)
    with pytest.raises(ValueError, match="no network has"):
        ExactSearch(required=[("a", "b"), ("b", "a")]).fit(rows)
    with pytest.raises(ValueError, match="both required and forbidden"):
        HillClimbing(required=[("a", "b")], forbidden=[("a", "b")]).fit(rows)


def test_many_variables_are_refused_with_a_cure():
    rows = np.zeros((5, 21), int)
    with pytest.raises(ValueError, match="HillClimbing"):
        ExactSearch().fit(rows)
