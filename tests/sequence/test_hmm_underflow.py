"""Paths that differ by more than floating-point numbers can hold: scaled messages would lose some.

References are messages in logarithms of extended precision, and hmmlearn's.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tenfold
from tenfold import GaussianHMM
from tenfold.sequence import _hmm_data, _hmm_smoother

EXTENDED = np.longdouble
LENGTHS = [150, 1, 0, 60]
LEFT_RIGHT = np.array([[0.6, 0.3, 0.1], [0, 0.7, 0.3], [0, 0, 1.0]])
NEXT_ONLY = np.array([[0.9, 0.1, 0], [0, 0.9, 0.1], [0, 0, 1.0]])
RARE = np.array([[1 - 1e-200, 1e-200, 0], [1e-250, 1 - 1e-250, 0], [0, 1e-300, 1.0]])
TRANSITIONS = {
    "left-right": LEFT_RIGHT,
    "one after the other": NEXT_ONLY,
    "no transition": np.eye(3),
    "hardly any transition": RARE,
    "all transitions": np.full((3, 3), 1 / 3),
}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def chain(transition, means, start=None, **params):
    K = len(transition)
    model = GaussianHMM(K, init_params="", covars_prior=0.0, tol=-np.inf, **{"n_iter": 1, **params})
    model.startprob_ = np.eye(K)[0] if start is None else np.asarray(start, float)
    model.transmat_ = transition
    model.means_, model.covars_ = np.reshape(means, (K, 1)).astype(float), np.ones((K, 1))
    return model


def reference(model, x, lengths):
    """Filtered and smoothed probabilities, expected transitions, log-likelihoods."""
    with np.errstate(divide="ignore"):
        log_start = np.log(model.startprob_.astype(EXTENDED))
        log_A = np.log(model.transmat_.astype(EXTENDED))
    K, ends = len(log_start), np.cumsum(lengths)
    log_B = (-0.5 * (x - model.means_.T) ** 2 - 0.5 * np.log(2 * np.pi)).astype(EXTENDED)
    filtered, smoothed, pairs, scores = [], [], np.zeros((K, K), EXTENDED), []
    for own in np.split(log_B, ends[:-1]):
        n = len(own)
        alpha, beta, scale = np.empty((n, K), EXTENDED), np.zeros((n, K), EXTENDED), np.zeros(n)
        for t in range(n):
            ways = log_start if t == 0 else np.logaddexp.reduce(alpha[t - 1][:, None] + log_A)
            scale[t] = np.logaddexp.reduce(ways + own[t])
            alpha[t] = ways + own[t] - scale[t]
        for t in range(n - 2, -1, -1):
            moved = log_A + own[t + 1] + beta[t + 1] - scale[t + 1]
            beta[t] = np.logaddexp.reduce(moved, axis=1)
            pairs += np.exp(alpha[t][:, None] + moved)
        filtered.append(np.exp(alpha))
        smoothed.append(np.exp(alpha + beta))
        scores.append(scale.sum())
    tables = np.concatenate(filtered), np.concatenate(smoothed), pairs, np.array(scores)
    return [table.astype(float) for table in tables]


def steps_far_apart(seed, spread):
    """Steps near the means in turn, with outliers, and the means."""
    rng = np.random.default_rng(seed)
    means = spread * np.array([0.0, 1.0, -2.0])
    states = rng.integers(0, 3, sum(LENGTHS) // 30 + 1).repeat(30)[: sum(LENGTHS)]
    return means[states][:, None] + rng.normal(size=(len(states), 1)), means


@pytest.mark.parametrize("longest", [4096, 10], ids=["whole", "in pieces"])
@pytest.mark.parametrize("spread", [3.0, 9.0, 40.0])
@pytest.mark.parametrize("name", TRANSITIONS)
def test_every_answer_is_that_of_logarithms(name, spread, longest, monkeypatch):
    monkeypatch.setattr(_hmm_data, "LONG_STEPS", longest)
    for seed in range(2):
        x, means = steps_far_apart(seed, spread)
        model = chain(TRANSITIONS[name], means, [0.5, 0.5, 0] if seed else None)
        filtered, smoothed, pairs, scores = reference(model, x, LENGTHS)
        assert_allclose(model.log_prob(x, LENGTHS), scores, rtol=1e-11)
        assert_allclose(model.filter(x, LENGTHS), filtered, atol=1e-9)
        assert_allclose(model.predict_proba(x, LENGTHS), smoothed, atol=1e-9)
        assert_allclose(model.smooth_fixed_lag(x, 200, LENGTHS), smoothed, atol=1e-9)
        assert_allclose(model.transition_posteriors(x, LENGTHS).sum(axis=0), pairs, atol=1e-8)
        counts = model._count(model._open_data(x, LENGTHS), model._hidden_chain())
        assert_allclose(counts.transitions, pairs, atol=1e-8)
        assert counts.log_likelihood == pytest.approx(scores.sum(), rel=1e-11)


def test_a_path_that_is_lost_twice_is_found():
    """The second state is far behind, far ahead, and behind again: less in the end than ahead."""
    x = np.repeat([0.0, 3.0, 0.0], [200, 600, 200])[:, None]
    model = chain(np.eye(2), [0.0, 3.0], [0.5, 0.5])
    assert_allclose(model.predict_proba(x), [[0.0, 1.0]] * 1000, atol=1e-12)
    assert_array_equal(model.sample_paths(x, 2), np.ones((2, 1000)))
    assert_array_equal(model.predict(x), np.ones(1000))
    assert_allclose(model.filter(x)[[100, 300, 700]], [[1, 0], [1, 0], [0, 1]], atol=1e-12)
    assert_allclose(model.predict_next(x), [[0, 1]], atol=1e-12)


def test_paths_that_are_lost_beside_the_best_one_are_counted():
    """Two states explain a step equally well, and one of them had underflowed before."""
    x = np.array([[0.0], [0.0], [40.0], [20.0]])
    # States 1 and 2 share a density, and lead on to nothing else.
    transition = np.array([[0.8, 0.1, 0.1], [0, 1.0, 0], [0, 0, 1.0]])
    model = chain(transition, [0.0, 40.0, 40.0])
    _, smoothed, _, scores = reference(model, x, [4])
    assert_allclose(model.predict_proba(x), smoothed, atol=1e-12)
    assert model.score(x) == pytest.approx(scores[0], rel=1e-12)
    assert_allclose(smoothed[:, 1], smoothed[:, 2])


def left_right_steps():
    x = np.sin(np.arange(120.0))[:, None]
    x[40:43] += 45
    x[60:] += 20
    x[75] -= 30
    x[100:] += 25
    return x


@pytest.mark.parametrize("longest", [4096, 10], ids=["whole", "in pieces"])
def test_a_fit_is_that_of_hmmlearn_in_logarithms(longest, monkeypatch):
    """Numbers of hmmlearn 0.3.3, implementation="log"; its "scaling" ends in an underflow."""
    monkeypatch.setattr(_hmm_data, "LONG_STEPS", longest)
    x = left_right_steps()
    model = chain(LEFT_RIGHT, [0.0, 20, 45], n_iter=2)
    assert model.score(x) == pytest.approx(-3670.8514954845514, rel=1e-13)
    assert_allclose(model.predict_proba(x)[59, 1], 5.478812871048237e-82, rtol=1e-10)
    model.fit(x)
    expected = [[0.98336535, 0.01663465, 0], [0, 0.97492761, 0.02507239], [0, 0, 1]]
    assert_allclose(model.transmat_, expected, atol=5e-9)
    assert_allclose(model.means_.ravel(), [2.31595896, 19.20931915, 44.97502848], atol=5e-9)
    assert_allclose(model.covars_.ravel(), [96.44085983, 23.0375412, 0.48276133], atol=5e-9)
    assert_allclose(model.monitor_.history, [-3670.8514954845514, -372.2640368009932], rtol=1e-12)
    assert model.score(x) == pytest.approx(-372.2633026321934, rel=1e-12)


def test_fits_in_logarithms_have_laws_of_their_own():
    """Weights are repetitions, and threads cost no bit, where some sequences need logarithms."""
    x = left_right_steps()
    parts = [x, np.zeros((5, 1)), x[:50]]

    def fit(parts, weight=None, threads=2):
        with tenfold.threads(threads):
            model = chain(LEFT_RIGHT, [0.0, 20, 45], n_iter=3)
            return model.fit(parts, sample_weight=weight)

    once = fit(parts, [2, 1, 3])
    assert_array_equal(fit(parts, [2, 1, 3], threads=1).transmat_, once.transmat_)
    repeated = fit([parts[0], *parts, parts[2], parts[2]])
    assert_allclose(once.transmat_, repeated.transmat_, rtol=1e-9)
    assert_allclose(once.means_, repeated.means_, rtol=1e-9)


def test_scaled_messages_are_kept_where_nothing_is_lost(monkeypatch):
    """A left-right chain that stays long in each state forgets states that it has left."""
    used = []
    monkeypatch.setattr(_hmm_smoother, "filter_logs", lambda *_: used.append(1))
    x = np.repeat([0.0, 8.0, 16.0], 1000)[:, None] + np.random.default_rng(0).normal(size=(3000, 1))
    model = chain(LEFT_RIGHT, [0.0, 8, 16])
    assert model.predict_proba(x).argmax(axis=1)[[500, 1500, 2500]].tolist() == [0, 1, 2]
    assert not used
