"""Sequences, weights, labels and parameters that hidden Markov models refuse, and why."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal

from tenfold import GMMHMM, HMM, CategoricalHMM, GaussianHMM, KalmanFilter, PoissonHMM
from tenfold.distributions import Gaussian
from tenfold.io.sequences import Ragged, from_sequences

X = np.random.default_rng(0).normal(size=(20, 2))
HALVES = np.array([0, 10, 20])


@pytest.mark.parametrize("model", [GaussianHMM(1), PoissonHMM(1), KalmanFilter(1)])
def test_equal_lists_of_numbers_are_not_guessed(model):
    rows = np.arange(12).reshape(4, 3)
    for lists in (rows.tolist(), list(map(tuple, rows.tolist())), rows[:1].tolist()):
        with pytest.raises(ValueError, match=r"give np.array\(X\) for one sequence"):
            model.fit(lists)


def test_lists_mean_what_their_arrays_mean():
    whole = GaussianHMM(2, random_state=0, tol=1e6).fit(X, [10, 10])
    lists = GaussianHMM(2, random_state=0, tol=1e6).fit(X.tolist(), [10, 10])
    assert_array_equal(lists.means_, whole.means_)
    assert_array_equal(
        whole.log_prob([X[:10].tolist(), X[10:].tolist()]), whole.log_prob(X, [10] * 2)
    )
    column = GaussianHMM(2, random_state=0, tol=1e6).fit(X[:, :1].tolist())  # as hmmlearn takes it
    assert_array_equal(column.means_, GaussianHMM(2, random_state=0, tol=1e6).fit(X[:, :1]).means_)
    ragged = GaussianHMM(1).fit([X[:12, 0].tolist(), X[12:, 0].tolist()])
    assert_array_equal(ragged.means_, GaussianHMM(1).fit(X[:, :1], [12, 8]).means_)
    with pytest.raises(ValueError, match="there are no sequences"):
        GaussianHMM(1).fit([])


def test_equal_lists_of_symbols_are_sequences():
    symbols = [[0, 1, 1], [1, 0, 0]]  # a step is one symbol: they cannot be rows
    model = CategoricalHMM(2, random_state=0, tol=1e6).fit(symbols)
    same = CategoricalHMM(2, random_state=0, tol=1e6).fit(np.ravel(symbols)[:, None], [3, 3])
    assert_array_equal(model.emissionprob_, same.emissionprob_)
    assert len(model.log_prob(symbols)) == 2
    with pytest.raises(ValueError, match="sequence 0 does not hold numbers"):
        CategoricalHMM(2).fit([["a", "b"], ["c"]])
    with pytest.raises(ValueError, match="3 columns: give a column"):
        CategoricalHMM(2).fit(np.array(symbols))


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([-1.0, 1.0], "sequence 0 is -1.0"),
        ([1.0, np.nan], "sequence 1 is nan"),
        ([0, 0], "all weights are 0"),
        (["a", "b"], "finite numbers"),
        ([1, 2, 3], r"shape \(3,\) for 2 sequences"),
    ],
)
def test_weights_are_checked_in_every_form_of_sequences(weight, words):
    halves = [X[:10], X[10:]]
    for sequences, lengths in (
        (X, [10, 10]),
        (halves, None),
        ((X, np.diff(HALVES)), None),
        (Ragged(X, HALVES), None),
        (pd.DataFrame(X), [10, 10]),
    ):
        with pytest.raises(ValueError, match=words):
            GaussianHMM(1).fit(sequences, lengths, sample_weight=weight)


def test_weights_of_open_sequences_are_checked_and_not_given_twice():
    halves = [X[:10], X[10:]]
    with pytest.raises(ValueError, match=r"sequence 1 is -2\.0"):
        GaussianHMM(1).fit(from_sequences(halves, weight=[1.0, -2.0]))
    with pytest.raises(ValueError, match="when opening"):
        GaussianHMM(1).fit(from_sequences(halves), sample_weight=[1.0, 2.0])
    with pytest.raises(ValueError, match="lengths of their own"):
        GaussianHMM(1).fit(Ragged(X, HALVES), [10, 10])


def test_labels_are_numbers_of_states_one_for_each_step():
    halves = [X[:10], X[10:]]
    for labels in (["a"] * 20, [["a"] * 10, ["b"] * 10], [0.5] * 20):
        with pytest.raises(ValueError, match=r"labels hold .* -1 where a state is unknown"):
            GaussianHMM(2).fit(halves, labels=labels)
    with pytest.raises(ValueError, match="labels hold"):
        GaussianHMM(2).fit(pd.DataFrame(X), labels=["a"] * 20)
    with pytest.raises(ValueError, match="2 labels for 20 steps"):
        GaussianHMM(2).fit(halves, labels=[0, 1])
    with pytest.raises(ValueError, match="9 for the 10 steps of sequence 0"):
        GaussianHMM(2).fit(halves, labels=[[0] * 9, [1] * 11])
    known = np.repeat([0, 1], 10)
    fits = [
        GaussianHMM(2, random_state=0, tol=1e6).fit(halves, labels=given)
        for given in (known, [known[:10], known[10:]], known.astype(float))
    ]
    for fit in fits[1:]:
        assert_array_equal(fit.means_, fits[0].means_)


def test_a_density_is_an_instance():
    with pytest.raises(TypeError, match=r"give an instance, such as Gaussian\(\)"):
        HMM(2, Gaussian).fit(X)


@pytest.mark.parametrize("kind", ["spherical", "diag", "full", "tied"])
def test_covariances_set_by_hand_are_positive(kind):
    for model in (GaussianHMM(2, kind, tol=1e6), GMMHMM(2, 2, covariance_type=kind, tol=1e6)):
        model.fit(X)
        model.covars_ = -np.asarray(getattr(model, "_covars", model.covars_))
        for ask in (lambda m=model: m.score(X), lambda m=model: m.sample(3)):
            with pytest.raises(ValueError, match=r"covars_.* is no.* eigenvalues are above 0"):
                ask()
    model = GaussianHMM(1, "full", init_params="stm")
    model.covars_ = [[[1.0, 0.5], [0.0, 1.0]]]
    with pytest.raises(ValueError, match="no symmetric"):
        model.fit(X)


@pytest.mark.parametrize("make", [GaussianHMM, GMMHMM])
def test_a_state_that_collapses_is_named(make):
    steps = np.repeat([[0.0], [1.0]], 10, axis=0)
    with pytest.raises(ValueError, match=r"covars_\[.*\] is not above 0.* larger covars_prior"):
        make(2, covars_prior=0, min_covar=0, random_state=0).fit(steps)


def test_sparse_and_huge_steps_are_refused_with_a_cure():
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match=r"sparse: densify them with \.toarray"):
        GaussianHMM(2).fit(scipy.sparse.csr_array(X))
    with pytest.raises(ValueError, match="squares overflow: divide the columns"):
        GaussianHMM(2).fit(X * 1e200)


def test_parameters_that_are_set_and_then_lost_are_named():
    model = GaussianHMM(2, random_state=0, tol=1e6)
    model.startprob_, model.covars_ = np.array([0.5, 0.5]), np.ones((2, 2))
    with pytest.warns(UserWarning, match=r"startprob_, covars_ will be .*init_params='tm' begins"):
        model.fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X)  # what a fit has learned may be learned again
        given = GaussianHMM(2, init_params="tm", random_state=0, tol=1e6)
        given.startprob_, given.covars_ = np.array([0.5, 0.5]), np.ones((2, 2))
        given.fit(X)
