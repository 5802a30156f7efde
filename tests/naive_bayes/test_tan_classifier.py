"""Tree-augmented naive Bayes: all trees and the joint table are the judges."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tenfold
from tenfold import BayesianNetwork, CategoricalNB, TANClassifier
from tests.graphical.labelled_trees import all_trees, orient


def planted(n=600, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    a = rng.integers(0, 2, n)
    b = np.where(rng.random(n) < 0.8, (a + y) % 2, rng.integers(0, 3, n))
    c = np.where(rng.random(n) < 0.7, b, rng.integers(0, 3, n))
    d = np.where(rng.random(n) < 0.6, y, rng.integers(0, 2, n))
    return np.column_stack([a, b, c, d]), y


def network(arcs, X, y, p, pseudo_count=0.0):
    names = [f"x{j}" for j in range(p)]
    all_arcs = [("y", name) for name in names] + [(f"x{a}", f"x{b}") for a, b in arcs]
    rows = {name: X[:, j] for j, name in enumerate(names)} | {"y": y}
    return BayesianNetwork(all_arcs, pseudo_count=pseudo_count).fit(rows), rows


def test_no_tree_makes_the_rows_more_likely():
    X, y = planted()
    model = TANClassifier(alpha=0).fit(X, y)
    found = [(int(a), j) for j, a in enumerate(model.parents_) if a >= 0]
    net, rows = network(found, X, y, 4)
    best = max(network(orient(edges, 0), X, y, 4)[0].score(rows) for edges in all_trees(range(4)))
    assert len(list(all_trees(range(4)))) == 16
    assert net.score(rows) == pytest.approx(best)
    joint = model.predict_joint_log_proba(X)[np.arange(len(y)), y]
    assert joint.mean() == pytest.approx(best)


def test_probabilities_are_those_of_the_bayesian_network():
    X, y = planted()
    model = TANClassifier(alpha=0.5, root=2).fit(X, y)
    assert model.parents_[2] == -1
    arcs = [(int(a), j) for j, a in enumerate(model.parents_) if a >= 0]
    net, _ = network(arcs, X, y, 4, pseudo_count=0.5)
    net.tables_["y"] = np.exp(model.class_log_prior_)
    gaps = X.astype(float)
    gaps[np.random.default_rng(0).random(X.shape) < 0.4] = np.nan
    for data in (X.astype(float), gaps):
        table = {f"x{j}": data[:, j] for j in range(4)}
        assert_allclose(model.predict_proba(data), net.predict_proba(table, "y"), rtol=1e-9)


def test_gaps_and_new_categories_are_summed_out():
    X, y = planted()
    model = TANClassifier().fit(X, y)
    row = np.array([[1.0, np.nan, 0.0, np.nan]])
    total = np.zeros(2)
    for b, d in product(range(3), range(2)):
        full = np.array([[1.0, b, 0.0, d]])
        total += np.exp(model.predict_joint_log_proba(full)[0])
    assert_allclose(np.exp(model.predict_joint_log_proba(row)[0]), total)
    new = np.array([[1.0, 7.0, 0.0, 9.0]])
    assert_allclose(model.predict_proba(new), model.predict_proba(row))


def test_independent_features_are_naive_bayes():
    rng = np.random.default_rng(3)
    X = np.array(list(product(range(2), repeat=3)) * 4)  # exactly independent in each class
    y = np.repeat([0, 1], 16)
    more = rng.integers(0, 2, (5, 3))
    tan, naive = TANClassifier(alpha=0).fit(X, y), CategoricalNB(alpha=0).fit(X, y)
    assert_allclose(tan.mutual_information_, 0, atol=1e-12)
    assert_allclose(tan.predict_proba(more), naive.predict_proba(more))


def test_pairs_that_naive_bayes_cannot_see():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (500, 3))
    y = X[:, 0] ^ X[:, 1]
    assert TANClassifier().fit(X, y).score(X, y) == 1
    assert CategoricalNB().fit(X, y).score(X, y) < 0.65


def test_parts_merge_with_other_categories_and_classes():
    X, y = planted()
    first, second = y == 0, y == 1
    whole = TANClassifier().fit(X, y)
    parts = [TANClassifier().fit(X[s], y[s]) for s in (first, second)]
    small = [TANClassifier().fit(X[s], y[s]) for s in (X[:, 1] < 2, X[:, 1] == 2)]
    for merged in (tenfold.merge(*parts), tenfold.merge(*small)):
        assert_array_equal(merged.parents_, whole.parents_)
        assert_allclose(merged.predict_proba(X), whole.predict_proba(X))


def test_samples_have_the_probabilities_of_the_model():
    X, y = planted()
    model = TANClassifier().fit(X, y)
    drawn, labels = model.sample(20_000, random_state=0)
    again = TANClassifier().fit(drawn, labels)
    assert_array_equal(again.parents_, model.parents_)
    for mine, theirs in zip(again.conditional_log_prob_, model.conditional_log_prob_, strict=True):
        assert_allclose(np.exp(mine), np.exp(theirs), atol=0.05)


def test_bad_input_is_refused_in_words():
    X, y = planted()
    with pytest.raises(ValueError, match="root=9"):
        TANClassifier(root=9).fit(X, y)
    with pytest.raises(ValueError, match="Negative values"):
        TANClassifier().fit(X - 1, y)
    with pytest.raises(ValueError, match="min_categories"):
        TANClassifier(min_categories=[2.5] * 4).fit(X, y)
    one = TANClassifier().fit(X[:, :1], y)
    assert_array_equal(one.parents_, [-1])
