"""Dictionary learning: planted atoms, objectives that never increase, batches, unused atoms."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import decomposition as theirs
from sklearn.exceptions import ConvergenceWarning

from tenfold import DictionaryLearning, MiniBatchDictionaryLearning, sparse_encode


@pytest.fixture
def planted():
    rng = np.random.default_rng(0)
    D = rng.normal(size=(12, 10))
    D /= np.linalg.norm(D, axis=1)[:, None]
    Z = rng.normal(size=(800, 12)) * (rng.random((800, 12)) < 0.15)
    return Z @ D + 0.01 * rng.normal(size=(800, 10)), D


def quietly(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X)


def objective(X, D, alpha):
    Z = sparse_encode(X, D, alpha=alpha)
    return 0.5 * ((X - Z @ D) ** 2).sum() + alpha * np.abs(Z).sum()


def matches(found, D):
    return np.abs(found @ D.T).max(axis=0)


@pytest.mark.parametrize("algorithm", ["lars", "cd"])
def test_planted_atoms_of_an_overcomplete_dictionary_are_found(planted, algorithm):
    X, D = planted
    model = quietly(
        DictionaryLearning(12, alpha=0.1, fit_algorithm=algorithm, max_iter=60, random_state=0), X
    )
    assert (matches(model.components_, D) > 0.95).sum() >= 11
    assert (np.diff(model.history_["objective"]) <= 1e-9).all()
    assert_allclose(model.error_, model.history_["objective"])
    assert (np.linalg.norm(model.components_, axis=1) <= 1 + 1e-9).all()


def test_the_objective_is_below_scikit_learns(planted):
    X, _ = planted
    ours = quietly(DictionaryLearning(12, alpha=0.1, max_iter=15, random_state=0), X)
    peer = quietly(
        theirs.DictionaryLearning(12, alpha=0.1, max_iter=15, fit_algorithm="cd", random_state=0), X
    )
    assert objective(X, ours.components_, 0.1) <= objective(X, peer.components_, 0.1)


def test_codes_with_k_atoms_give_a_dictionary_too(planted):
    X, D = planted
    model = DictionaryLearning(
        12, fit_algorithm="omp", transform_n_nonzero_coefs=2, max_iter=40, random_state=0
    )
    Z = quietly(model, X).transform(X)
    assert ((Z != 0).sum(axis=1) <= 2).all()
    assert (matches(model.components_, D) > 0.9).sum() >= 8


def test_non_negative_codes_and_atoms(planted):
    X = np.abs(planted[0])
    model = quietly(
        DictionaryLearning(
            6,
            alpha=0.1,
            max_iter=20,
            fit_algorithm="cd",
            positive_code=True,
            positive_dict=True,
            transform_algorithm="lasso_cd",
        ),
        X,
    )
    assert (model.components_ >= 0).all()
    assert (model.transform(X) >= 0).all()


def test_unused_atoms_become_rows_with_large_errors():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 4))
    start = np.vstack([np.eye(4)[:2], np.zeros((2, 4))])
    model = quietly(DictionaryLearning(4, alpha=0.5, dict_init=start, max_iter=10), X)
    assert (np.linalg.norm(model.components_, axis=1) > 0.5).all()
    assert (model.usage_ > 0).all()


def test_usage_is_the_sum_of_absolute_codes(planted):
    X, _ = planted
    model = DictionaryLearning(
        5, alpha=0.2, max_iter=300, tol=1e-5, transform_algorithm="lasso_lars"
    )
    Z = model.fit_transform(X)
    assert_allclose(model.usage_, np.abs(Z).sum(axis=0), rtol=0.02)


def test_fits_are_repeatable_and_seeds_matter_where_rows_are_drawn(planted):
    X, _ = planted
    a, b, c = (
        quietly(DictionaryLearning(20, alpha=0.2, max_iter=3, random_state=seed), X).components_
        for seed in (0, 0, 1)
    )
    assert (a == b).all()
    assert (a != c).any()


def test_online_learning_comes_near_the_batch_objective(planted):
    X, _ = planted
    online = MiniBatchDictionaryLearning(
        12, alpha=0.1, batch_size=32, max_iter=20, max_no_improvement=None, random_state=0
    ).fit(X)
    batch = quietly(DictionaryLearning(12, alpha=0.1, max_iter=40, random_state=0), X)
    assert objective(X, online.components_, 0.1) < 1.3 * objective(X, batch.components_, 0.1)


def test_partial_fits_learn_from_a_stream(planted):
    X, _ = planted
    model = MiniBatchDictionaryLearning(12, alpha=0.1, random_state=0)
    costs = []
    for start in range(0, 800, 100):
        model.partial_fit(X[start : start + 100])
        costs.append(objective(X, model.components_, 0.1))
    assert model.n_steps_ == 8
    assert costs[-1] < costs[0]


def test_callbacks_see_each_batch_and_every_fifth_iteration(planted):
    X, _ = planted
    seen = []
    quietly(DictionaryLearning(3, max_iter=11, tol=0, callback=seen.append), X)
    assert [entry["ii"] for entry in seen] == [0, 5, 10]
    steps = []
    MiniBatchDictionaryLearning(3, batch_size=200, max_iter=1, callback=steps.append).fit(X)
    assert [entry["i"] for entry in steps] == [0, 1, 2, 3]


def test_atoms_of_another_width_are_refused(planted):
    with pytest.raises(ValueError, match="an atom as long as a row"):
        DictionaryLearning(3, dict_init=np.eye(3)).fit(planted[0])
