"""Questions about every row: all patterns of gaps, files, threads, Dask; wide networks."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tenfold
from tenfold import BayesianNetwork, ChowLiu, HillClimbing


def random_network(nodes, seed):
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(nodes)]
    sizes = {name: int(rng.integers(2, 4)) for name in names}
    parents, tables = {}, {}
    for i, name in enumerate(names):
        count = min(i, int(rng.integers(0, 4)))
        parents[name] = [str(p) for p in rng.choice(names[:i], count, replace=False)] if i else []
        shape = [sizes[p] for p in parents[name]]
        tables[name] = rng.dirichlet(np.ones(sizes[name]), shape or None)
    return BayesianNetwork.from_tables(parents, tables)


def all_patterns(net, n=3, seed=0):
    """Rows with every set of gaps, several of each."""
    rng = np.random.default_rng(seed)
    names = net.graph_.nodes
    rows = []
    for gaps in product((False, True), repeat=len(names)):
        drawn = net.sample(n, random_state=int(rng.integers(1000)))
        table = np.column_stack([drawn[v] for v in names]).astype(float)
        table[:, gaps] = np.nan
        rows.append(table)
    return np.concatenate(rows)


@pytest.mark.parametrize("seed", [1, 4])
def test_every_pattern_of_gaps_is_answered_as_by_the_joint_table(seed):
    net = random_network(5, seed)
    names = net.graph_.nodes
    net.nodes = names
    rows = all_patterns(net)
    joint = net.joint_table().reorder(names)
    scores, everything = net.log_prob(rows), net.predict_proba(rows)
    filled = net.impute(rows)
    target = net.predict_proba(rows, names[2])
    for i, row in enumerate(rows):
        known = {v: int(x) for v, x in zip(names, row, strict=True) if not np.isnan(x)}
        left = joint.select(known)
        assert np.exp(scores[i]) == pytest.approx(left.table.sum(), rel=1e-10)
        for v in left.variables:
            expected = left.sum_out(set(left.variables) - {v}).table / left.table.sum()
            assert_allclose(everything[v][i], expected, rtol=1e-9)
        best = np.unravel_index(left.table.argmax(), left.table.shape)
        assert [filled[v][i] for v in left.variables] == [int(s) for s in best]
        assert all(filled[v][i] == s for v, s in known.items())
        others = joint.select({v: s for v, s in known.items() if v != names[2]})
        expected = others.sum_out(set(others.variables) - {names[2]}).normalize().table
        assert_allclose(target[i], expected, rtol=1e-9)
    assert_array_equal(net.predict(rows, names[2]), target.argmax(axis=1))


def words(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    net = BayesianNetwork.from_tables(
        {"sky": [], "rain": ["sky"], "n": ["rain"]},
        {
            "sky": [0.5, 0.3, 0.2],
            "rain": [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]],
            "n": [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]],
        },
        {"sky": ["blue", "gray", "white"], "rain": ["no", "yes"], "n": [1, 2, 5]},
    )
    rows = net.sample(n, random_state=seed)
    frame = pd.DataFrame(rows)
    frame["n"] = frame["n"].astype(float).mask(rng.random(n) < 0.1)
    frame["sky"] = frame["sky"].astype(object).mask(rng.random(n) < 0.1, None)
    return frame


ARCS = "sky -> rain -> n"


def test_files_tables_and_dictionaries_give_the_same_bits(tmp_path):
    frame = words()
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    places = [
        frame,
        {name: frame[name].tolist() for name in frame},
        frame.to_dict("records"),
        tmp_path / "rows.csv",
        str(tmp_path / "rows.parquet"),
    ]
    fits = [BayesianNetwork(ARCS).fit(place) for place in places]
    assert fits[0].states_ == {
        "sky": ("blue", "gray", "white"), "rain": ("no", "yes"), "n": (1, 2, 5),
    }  # fmt: skip
    by_em = [BayesianNetwork(ARCS, missing="em", tol=1e-3).fit(place) for place in places]
    for net, em, place in zip(fits, by_em, places, strict=True):
        assert net.states_ == fits[0].states_
        for v, table in fits[0].tables_.items():
            assert_array_equal(net.tables_[v], table)
            assert_array_equal(em.tables_[v], by_em[0].tables_[v])
        assert_array_equal(net.log_prob(place), fits[0].log_prob(frame))
        assert_array_equal(net.predict(place, "rain"), fits[0].predict(frame, "rain"))
        assert_array_equal(net.impute(place)["sky"], fits[0].impute(frame)["sky"])
    complete = frame.dropna()
    complete.to_parquet(tmp_path / "complete.parquet")
    for model in (ChowLiu(), HillClimbing()):
        a = model.fit(complete).network_
        b = model.fit(tmp_path / "complete.parquet").network_
        assert set(a.graph_.arcs) == set(b.graph_.arcs)
        for v, table in a.tables_.items():
            assert_array_equal(b.tables_[v], table)


def test_numbers_in_arrays_files_and_on_threads_give_the_same_bits(tmp_path):
    net = random_network(6, 2)
    drawn = net.sample(20_000, random_state=0)
    names = net.graph_.nodes
    X = np.column_stack([drawn[v] for v in names])
    np.save(tmp_path / "rows.npy", X.astype(np.float64))
    arcs = net.graph_.arcs
    first = BayesianNetwork(arcs, nodes=names).fit(X)
    places = [X.astype(np.float32), X.astype(np.uint8), np.asfortranarray(X), tenfold.open(X)]
    for place in [*places, tmp_path / "rows.npy"]:
        other = BayesianNetwork(arcs, nodes=names).fit(place)
        for v, table in first.tables_.items():
            assert_array_equal(other.tables_[v], table)
        assert_array_equal(other.log_prob(place), first.log_prob(X))
    for threads in (1, 2, 8):
        with tenfold.threads(threads):
            assert_array_equal(first.log_prob(X), first.log_prob(X[:]))
            again = BayesianNetwork(arcs, nodes=names).fit(X)
        for v, table in first.tables_.items():
            assert_array_equal(again.tables_[v], table)


def test_dask_gives_the_same_bits():
    da = pytest.importorskip("dask.array")
    net = random_network(5, 2)
    names = net.graph_.nodes
    drawn = net.sample(9000, random_state=0)
    X = np.column_stack([drawn[v] for v in names]).astype(float)
    here = BayesianNetwork(net.graph_.arcs, nodes=names).fit(X)
    import dask

    with dask.config.set(scheduler="synchronous"):
        there = BayesianNetwork(net.graph_.arcs, nodes=names).fit(da.from_array(X, (2500, 5)))
    for v, table in here.tables_.items():
        assert_array_equal(there.tables_[v], table)


def test_networks_that_saw_other_states_merge():
    rows = words().dropna()
    whole = BayesianNetwork(ARCS).fit(rows)
    parts = [rows[rows["sky"] == "blue"], rows[rows["sky"] != "blue"]]
    fits = [BayesianNetwork(ARCS).fit(part) for part in parts]
    assert fits[0].states_["sky"] == ("blue",)
    grown = BayesianNetwork(ARCS).fit(parts[1]).partial_fit(parts[0])
    for net in (tenfold.merge(*fits), fits[1].merge(fits[0]), grown):
        assert net.states_ == whole.states_
        for v, table in whole.tables_.items():
            assert_array_equal(net.tables_[v], table)


def test_a_network_too_wide_is_refused_with_bytes_and_culprit_or_answered_row_by_row():
    """Many causes, and an effect of each two: what is known of the effects joins all causes."""
    wide = BayesianNetwork.from_tables(
        {f"c{i}": [] for i in range(32)} | {"y": []}
        | {f"e{i}{j}": [f"c{i}", f"c{j}"] for i in range(32) for j in range(i)},
        {f"c{i}": [0.5, 0.5] for i in range(32)} | {"y": [0.5, 0.5]}
        | {f"e{i}{j}": np.full((2, 2, 2), 0.5) for i in range(32) for j in range(i)},
    )  # fmt: skip
    with pytest.raises(MemoryError, match=r"bytes: its largest clique joins 32 variables \(c0"):
        wide.junction_tree()
    with pytest.raises(MemoryError, match="joins"):
        wide.query("c0", {f"e{i}{j}": 0 for i in range(32) for j in range(i)})
    assert wide.query("c0").table.tolist() == [0.5, 0.5]  # nothing below it matters
    rows = wide.sample(3, random_state=0)
    expected = sum(np.log(0.5) for _ in wide.graph_.nodes)
    assert_allclose(wide.log_prob(rows), expected)
    assert_allclose(wide.predict_proba(rows, "c3"), 0.5)


def test_impossible_rows_and_unknown_states_are_named():
    net = BayesianNetwork.from_tables({"a": [], "b": ["a"]}, {"a": [1, 0], "b": [[1, 0], [0, 1]]})
    rows = {"a": [0, 1], "b": [0, 1]}
    assert net.log_prob(rows).tolist() == [0, -np.inf]
    with pytest.raises(ValueError, match="row 1: what is known has probability zero"):
        net.predict_proba({"b": [0, 1]}, "a")
    with pytest.raises(ValueError, match="row 1: what is known has probability zero"):
        net.impute({"b": [0, 1]})
    with pytest.raises(ValueError, match="row 1: a is 3"):
        net.log_prob(np.array([[0, 0], [3, 0]]))
    with pytest.raises(ValueError, match="row 1: a is 'x'"):
        net.log_prob({"a": [0, "x"], "b": [0, 0]})
    assert net.predict({"b": [0], "a": [77]}, "a").tolist() == [0]  # it is not looked at


def test_soft_evidence_is_used_by_all_draws():
    net = random_network(4, 7)
    names = net.graph_.nodes
    likelihood = np.array([0.2, 1.0, 0.4])[: len(net.states_[names[-1]])]
    evidence = {names[-1]: likelihood}
    exact = net.query(names[0], evidence).table
    assert_allclose(
        net.estimate(names[0], evidence, n_samples=60_000, random_state=0), exact, atol=0.015
    )
    for method in ("rejection", "gibbs"):
        drawn = net.sample(20_000, evidence=evidence, method=method, burn_in=30, random_state=1)
        shares = np.bincount(drawn[names[0]], minlength=len(exact)) / 20_000
        assert_allclose(shares, exact, atol=0.02)
    with pytest.raises(ValueError, match="likelihoods"):
        net.query(names[0], {names[-1]: [0.5]})


def test_rows_of_a_sample_depend_on_their_number_alone():
    net = random_network(5, 3)
    long, short = net.sample(70_000, random_state=5), net.sample(10, random_state=5)
    for v in net.graph_.nodes:
        assert_array_equal(long[v][:10], short[v])
