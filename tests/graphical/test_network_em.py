"""Rows with gaps and hidden variables: brute force over all completions is the judge."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold import BayesianNetwork

PARENTS = {"a": [], "b": ["a"], "c": ["a", "b"], "d": ["c"]}


def planted(seed=0):
    rng = np.random.default_rng(seed)
    sizes = {"a": 2, "b": 3, "c": 2, "d": 2}
    tables = {
        v: rng.dirichlet(np.ones(sizes[v]), [sizes[p] for p in above] or None)
        for v, above in PARENTS.items()
    }
    return BayesianNetwork.from_tables(PARENTS, tables)


def rows_with_gaps(net, n, share, seed=0):
    rng = np.random.default_rng(seed)
    rows = net.sample(n, random_state=seed)
    return {v: np.where(rng.random(n) < share, np.nan, c) for v, c in rows.items()}


def brute_force_counts(net, rows):
    """Expected counts and log-likelihood by summing over all completions of each row."""
    names = net.graph_.nodes
    counts = {v: np.zeros_like(t) for v, t in net.tables_.items()}
    total = 0.0
    for values in zip(*(rows[v] for v in names), strict=True):
        options = [
            range(len(net.states_[v])) if np.isnan(x) else [int(x)]
            for v, x in zip(names, values, strict=True)
        ]
        weights = {}
        for full in product(*options):
            state = dict(zip(names, full, strict=True))
            p = 1.0
            for v, above in net.graph_.parents.items():
                p *= net.tables_[v][tuple(state[u] for u in (*above, v))]
            weights[full] = p
        mass = sum(weights.values())
        total += np.log(mass)
        for full, p in weights.items():
            state = dict(zip(names, full, strict=True))
            for v, above in net.graph_.parents.items():
                counts[v][tuple(state[u] for u in (*above, v))] += p / mass
    return counts, total


def arcs():
    return [(p, v) for v, above in PARENTS.items() for p in above]


def test_a_fixed_point_of_brute_force_is_found():
    truth = planted()
    rows = rows_with_gaps(truth, 150, 0.25)
    net = BayesianNetwork(arcs(), missing="em", tol=1e-13, max_iter=5000).fit(rows)
    assert net.converged_
    counts, total = brute_force_counts(net, rows)
    assert net.log_likelihood_ == pytest.approx(total, rel=1e-10)
    for v, table in net.tables_.items():
        shares = counts[v] / counts[v].sum(axis=-1, keepdims=True)
        assert_allclose(table, shares, atol=5e-3)  # EM is slow along flat directions
        assert_allclose(net.family_counts_[v], counts[v], atol=1e-9)


def test_the_likelihood_never_falls_and_beats_complete_families():
    truth = planted(1)
    rows = rows_with_gaps(truth, 400, 0.4)
    net = BayesianNetwork(arcs(), missing="em").fit(rows)
    objective = net.history_["objective"]
    assert (np.diff(objective) <= 1e-9 * abs(objective[0])).all()
    plain = BayesianNetwork(arcs(), states=dict(net.states_)).fit(rows)
    assert net.score(rows) >= plain.score(rows) - 1e-12
    assert net.score(rows) * 400 == pytest.approx(net.log_likelihood_)


def test_without_gaps_em_is_counting():
    rows = planted().sample(300, random_state=0)
    net = BayesianNetwork(arcs(), missing="em").fit(rows)
    counted = BayesianNetwork(arcs()).fit(rows)
    for v, table in counted.tables_.items():
        assert_array_equal(net.tables_[v], table)
    assert net.converged_
    assert net.n_iter_ == 1
    assert net.log_likelihood_ == pytest.approx(counted.score(rows) * 300)


def test_a_hidden_cause_is_learned():
    """A mixture: the hidden variable makes its children independent."""
    truth = BayesianNetwork.from_tables(
        {"h": [], "x": ["h"], "y": ["h"], "z": ["h"]},
        {"h": [0.4, 0.6]} | {v: [[0.9, 0.1], [0.15, 0.85]] for v in "xyz"},
    )
    rows = truth.sample(4000, random_state=0)
    seen = {v: rows[v] for v in "xyz"}
    net = BayesianNetwork(
        "h -> x; h -> y; h -> z",
        states={"h": ["one", "two"]},
        missing="em",
        n_init=3,
        random_state=0,
        max_iter=2000,
        tol=1e-9,
    ).fit(seen)
    order = np.argsort(-net.tables_["x"][:, 0])
    assert_allclose(net.tables_["h"][order], [0.4, 0.6], atol=0.05)
    for v in "xyz":
        assert_allclose(net.tables_[v][order], truth.tables_[v], atol=0.06)
    assert net.score(seen) >= BayesianNetwork(nodes=list("xyz")).fit(seen).score(seen)
    assert net.score(seen) == pytest.approx(truth.score(seen), abs=0.005)
    guess = net.predict(seen, "h")
    hit = np.mean((guess == np.array(["one", "two"])[order[0]]) == (rows["h"] == 0))
    assert hit > 0.85
    with pytest.raises(ValueError, match="no column for the variable 'h'"):
        BayesianNetwork("h -> x").fit(seen)


def test_pseudo_counts_are_a_prior_that_climbs_too():
    rows = rows_with_gaps(planted(2), 120, 0.3)
    net = BayesianNetwork(arcs(), missing="em", pseudo_count=1.0).fit(rows)
    objective = net.history_["objective"]
    assert (np.diff(objective) <= 1e-9 * abs(objective[0])).all()
    assert all((table > 0).all() for table in net.tables_.values())
    heavy = BayesianNetwork(arcs(), missing="em", equivalent_sample_size=1e9).fit(rows)
    for table in heavy.tables_.values():
        assert_allclose(table, 1 / table.shape[-1], atol=1e-4)


def test_weights_are_repetitions_and_threads_do_not_matter():
    rows = rows_with_gaps(planted(), 3000, 0.2)
    weight = np.random.default_rng(0).integers(0, 3, 3000)
    twice = {v: np.repeat(c, weight) for v, c in rows.items()}
    how = {"missing": "em", "max_iter": 5, "states": dict(planted().states_)}
    with pytest.warns(ConvergenceWarning, match="max_iter=5"):
        a = BayesianNetwork(arcs(), **how).fit(rows, sample_weight=weight)
    with pytest.warns(ConvergenceWarning):
        b = BayesianNetwork(arcs(), **how).fit(twice)
    fits = []
    for threads in (1, 2, 8):
        with tenfold.threads(threads), pytest.warns(ConvergenceWarning):
            fits.append(BayesianNetwork(arcs(), **how).fit(rows, sample_weight=weight))
    for v, table in a.tables_.items():
        assert_allclose(table, b.tables_[v], rtol=1e-10)
        for other in fits:
            assert_array_equal(other.tables_[v], table)


def test_networks_by_em_do_not_merge():
    rows = rows_with_gaps(planted(), 200, 0.2)
    net = BayesianNetwork(arcs(), missing="em").fit(rows)
    with pytest.raises(ValueError, match="EM needs all rows"):
        net.partial_fit(rows)
