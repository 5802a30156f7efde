"""Structures learned from rows: all trees, all graphs of three variables."""

import warnings
from itertools import combinations, product

import numpy as np
import pytest

from tenfold import BayesianNetwork, ChowLiu, HillClimbing
from tenfold.stats.dependence import mutual_information
from tests.graphical.labelled_trees import all_trees, orient


def chain_rows(n=3000, seed=0):
    parents = {"a": [], "b": ["a"], "c": ["b"], "d": ["b"]}
    table = [[0.85, 0.15], [0.2, 0.8]]
    tables = {"a": [0.5, 0.5], "b": table, "c": table, "d": table}
    return BayesianNetwork.from_tables(parents, tables).sample(n, random_state=seed)


def test_the_tree_is_the_most_likely_of_all():
    rows = chain_rows()
    model = ChowLiu().fit(rows)
    found = {frozenset(edge[:2]) for edge in model.edges_}
    assert found == {frozenset("ab"), frozenset("bc"), frozenset("bd")}
    scores = {
        edges: BayesianNetwork(orient(edges, "a"), nodes=list("abcd")).fit(rows).score(rows)
        for edges in all_trees("abcd")
    }
    assert len(scores) == 16
    assert model.network_.score(rows) == pytest.approx(max(scores.values()))
    other = ChowLiu(root="d").fit(rows)  # the root does not change the likelihood
    assert other.network_.score(rows) == pytest.approx(model.network_.score(rows))
    assert other.network_.graph_.nodes[0] == "d"


def test_mutual_information_of_known_tables():
    assert mutual_information(np.eye(4)) == pytest.approx(np.log(4))
    assert mutual_information(np.outer([1, 3], [2, 5])) == pytest.approx(0, abs=1e-12)


def bic(arcs, rows):
    net = BayesianNetwork(arcs, nodes=["a", "b", "c"]).fit(rows)
    n = len(rows["a"])
    return net.score(rows) * n - 0.5 * np.log(n) * net.n_parameters()


def test_hill_climbing_reaches_the_best_graph_of_three():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 800))
    c = np.where(rng.random(800) < 0.9, a | b, 1 - (a | b))
    rows = {"a": a.tolist(), "b": b.tolist(), "c": c.tolist()}
    scores = []
    pairs = list(combinations("abc", 2))
    for choice in product((0, 1, 2), repeat=3):
        arcs = [p if k == 1 else p[::-1] for p, k in zip(pairs, choice, strict=True) if k]
        try:
            scores.append(bic(arcs, rows))
        except ValueError:  # a cycle
            continue
    model = HillClimbing().fit(rows)
    assert model.converged_
    assert model.score_ == pytest.approx(max(scores))
    assert model.score_ == pytest.approx(bic(model.network_.graph_.arcs, rows))
    assert set(model.network_.graph_.parents["c"]) == {"a", "b"}  # a collider has one orientation


def test_independent_variables_stay_apart():
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 3, (600, 4))
    model = HillClimbing().fit(rows)
    assert model.network_.graph_.arcs == []
    assert model.network_.graph_.nodes == ["x0", "x1", "x2", "x3"]


def test_limits_are_kept_and_said():
    rows = chain_rows()
    short = HillClimbing(max_iter=1).fit(rows)
    assert not short.converged_
    assert len(short.network_.graph_.arcs) == 1
    few = HillClimbing("log_likelihood", max_parents=1).fit(rows)
    assert max(len(above) for above in few.network_.graph_.parents.values()) <= 1


def test_bad_input_is_refused_in_words():
    with pytest.raises(ValueError, match="'a' has missing values"):
        ChowLiu().fit({"a": [0, None], "b": [0, 1]})
    with pytest.raises(ValueError, match="none of the variables"):
        ChowLiu(root="z").fit({"a": [0, 1], "b": [0, 1]})


def test_measured_numbers_are_no_states():
    measured = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.warns(UserWarning, match=r"'b' has 50 different numbers.* cut them into"):
        HillClimbing().fit({"a": np.arange(50) % 2, "b": measured[:, 0]})
    with pytest.warns(UserWarning, match=r"'x0' has 50 different numbers \(1 more like it\)"):
        BayesianNetwork("x0 -> x1").fit(measured)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HillClimbing().fit({"a": np.arange(50) % 2, "b": np.arange(50.0)})
        HillClimbing().fit({"a": np.arange(50) % 2, "b": np.round(measured[:, 0]) / 2})
