"""Hidden Markov models: brute force over paths, other systems' numbers, laws of sequences."""

import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold import (
    GMMHMM,
    HMM,
    CategoricalHMM,
    GaussianHMM,
    GaussianMixture,
    MultinomialHMM,
    PoissonHMM,
)
from tenfold.distributions.discrete import Poisson
from tenfold.distributions.independent import Independent
from tenfold.distributions.normal import Gaussian
from tenfold.io.sequences import Ragged
from tenfold.testing.instances import clone_model as clone

NUMBERS = dict(np.load(Path(__file__).parents[1] / "reference" / "hmmlearn_numbers.npz"))
START = np.array([0.5, 0.3, 0.2])
TRANSITION = np.array([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.3, 0.3, 0.4]])
LENGTHS = [30, 1, 25, 14]
pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:.*no step belongs:UserWarning"
)


def set_chain(model, **emission):
    model.startprob_, model.transmat_ = START, TRANSITION
    for name, value in emission.items():
        setattr(model, name, value)
    return model


def course_model():
    model = CategoricalHMM(2)
    model.startprob_ = np.array([0.6, 0.4])
    model.transmat_ = np.array([[0.7, 0.3], [0.4, 0.6]])
    model.emissionprob_ = np.array([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
    return model, np.array([[0], [1], [2]])


def random_model(K=3, M=4, seed=0):
    rng = np.random.default_rng(seed)
    model = CategoricalHMM(K)
    model.startprob_ = rng.dirichlet(np.ones(K))
    model.transmat_ = rng.dirichlet(np.ones(K), K)
    model.emissionprob_ = rng.dirichlet(np.ones(M), K)
    return model, rng.integers(0, M, (7, 1)).astype(float)


def joint(model, x, path):
    p = model.startprob_[path[0]]
    for t, (state, symbol) in enumerate(zip(path, x[:, 0], strict=True)):
        p *= 1 if np.isnan(symbol) else model.emissionprob_[state, int(symbol)]
        p *= 1 if t == 0 else model.transmat_[path[t - 1], state]
    return p


def all_paths(model, x):
    K = len(model.startprob_)
    return {path: joint(model, x, path) for path in product(range(K), repeat=len(x))}


def test_the_model_of_the_course():
    model, x = course_model()
    alpha, beta = model.forward(x, "plain"), model.backward(x, "plain")
    assert_allclose(alpha, [[0.3, 0.04], [0.0904, 0.0342], [0.007696, 0.028584]])
    assert_allclose(beta, [[0.106, 0.112], [0.25, 0.4], [1, 1]])
    assert np.exp(model.score(x)) == pytest.approx(0.03628)
    assert_allclose((alpha * beta).sum(axis=1), np.full(3, 0.03628))
    smoothed = [[0.876516, 0.123484], [0.622933, 0.377067], [0.212128, 0.787872]]
    assert_allclose(model.predict_proba(x), smoothed, atol=1e-6)
    filtered = [[0.882353, 0.117647], [0.725522, 0.274478], [0.212128, 0.787872]]
    assert_allclose(model.filter(x), filtered, atol=1e-6)
    log_prob, path = model.decode(x)
    assert path.tolist() == [0, 0, 1]
    assert np.exp(log_prob) == pytest.approx(0.01512)
    following = model.predict_next(x)
    assert_allclose(following, [[0.463638, 0.536362]], atol=1e-6)
    emission = model.predict_next_emission(x)
    assert_allclose(emission, [[0.285455, 0.346364, 0.368181]], atol=1e-6)


@pytest.mark.parametrize("missing", [[], [2], [0, 6]])
def test_everything_is_a_sum_or_a_maximum_over_all_paths(missing):
    model, x = random_model()
    x[missing] = np.nan
    paths = all_paths(model, x)
    total = sum(paths.values())
    assert np.exp(model.log_prob([x])[0]) == pytest.approx(total)
    smoothed, pairs = np.zeros((7, 3)), np.zeros((7, 3, 3))
    for path, p in paths.items():
        for t in range(7):
            smoothed[t, path[t]] += p / total
            if t < 6:
                pairs[t, path[t], path[t + 1]] += p / total
    assert_allclose(model.predict_proba(x), smoothed)
    assert_allclose(model.transition_posteriors(x), pairs, atol=1e-15)
    ranked = sorted(paths, key=lambda path: -paths[path])
    scores, best = model.best_paths(x, 20)
    assert_allclose(np.exp(scores), [paths[path] for path in ranked[:20]])
    assert tuple(best[0]) == ranked[0] == tuple(model.predict(x))
    for score, path in zip(scores, best, strict=True):
        assert paths[tuple(path)] == pytest.approx(np.exp(score))
    assert len(model.best_paths(x[:1], 20)[0]) == 3  # there are no more
    many_scores, many = model.best_paths([x, x[:1], x[:0]], 20)
    assert_array_equal(many_scores[0], scores)
    assert_array_equal(many[:, :7], best)
    assert_array_equal(many[:3, 7:], model.best_paths(x[:1], 20)[1])
    assert (many[3:, 7:] == -1).all()
    assert (many_scores[1:, 3:] == -np.inf).all()
    following = sum(p * model.transmat_[path[-1]] for path, p in paths.items()) / total
    assert_allclose(model.predict_next(x)[0], following)
    assert_allclose(model.predict_next(x, 3)[0], following @ model.transmat_ @ model.transmat_)
    extended = [np.vstack([x, [[np.nan]], [[symbol]]]) for symbol in range(4)]
    shares = np.exp(model.log_prob(extended)) / total  # of every symbol two steps later
    assert_allclose(model.predict_next_emission([x, x[:0]], 2)[0], shares)


def test_filter_lag_and_smoother_are_one_family():
    model, x = random_model()
    assert_allclose(model.smooth_fixed_lag(x, 0), model.filter(x))
    assert_allclose(model.smooth_fixed_lag(x, 7), model.predict_proba(x))
    for t in range(7):
        assert_allclose(model.filter(x)[t], model.predict_proba(x[: t + 1])[-1])
        assert_allclose(model.smooth_fixed_lag(x, 2)[t], model.predict_proba(x[: t + 3])[t])


def test_messages_in_three_forms():
    model, x = random_model()
    log_alpha, log_beta = model.forward(x), model.backward(x)
    scaled, scales = model.forward(x, "scaled")
    assert_allclose(scaled, model.filter(x))
    assert scales[-1] == pytest.approx(model.score(x))
    assert_allclose(np.exp(log_alpha + log_beta - scales[-1]), model.predict_proba(x))
    with pytest.raises(ValueError, match="form"):
        model.forward(x, "other")


def test_drawn_paths_have_the_posterior_probabilities():
    model, x = random_model()
    draws = model.sample_paths(x, 4000, random_state=1)
    share = np.stack([(draws == k).mean(axis=0) for k in range(3)], axis=1)
    assert_allclose(share, model.predict_proba(x), atol=0.03)
    assert_array_equal(draws, model.sample_paths(x, 4000, random_state=1))


def test_joint_probability_of_steps_and_states():
    model, x = random_model()
    path = (0, 1, 1, 2, 0, 0, 1)
    assert np.exp(model.joint_log_prob(x, path)[0]) == pytest.approx(joint(model, x, path))


def test_five_iterations_are_those_of_hmmlearn():
    shapes = {"diag": np.ones((3, 2)), "full": np.tile(np.eye(2), (3, 1, 1)), "tied": np.eye(2)}
    shapes["spherical"] = np.ones(3)
    X, means = NUMBERS["X"], np.array([[0.0, 0], [2, 2], [4, 1]])
    for kind, covars in shapes.items():
        scale = 1e-2 if kind in ("diag", "spherical") else 0.0
        model = GaussianHMM(
            3, kind, init_params="", n_iter=5, tol=-np.inf, covars_prior=scale,
            means_prior=0.5, means_weight=0.3,
        )  # fmt: skip
        set_chain(model, means_=means, covars_=covars)
        assert model.score(X, LENGTHS) == pytest.approx(float(NUMBERS[f"{kind}.score0"]))
        model.fit(X, LENGTHS)
        for name, value in (
            ("start", model.startprob_), ("trans", model.transmat_), ("means", model.means_),
            ("covars", model.covars_), ("score", model.score(X, LENGTHS)),
            ("path", model.predict(X, LENGTHS)), ("post", model.predict_proba(X, LENGTHS)[:5]),
        ):  # fmt: skip
            expected = NUMBERS[f"{kind}.{name}"]
            step = len(expected) // 3 if name == "covars" else 1  # hmmlearn repeats spheres
            expected = expected[::step] if name == "covars" else expected
            assert_allclose(value, expected, rtol=1e-8, atol=1e-10, err_msg=f"{kind} {name}")


def test_five_iterations_of_symbols_and_counts_are_those_of_hmmlearn():
    options = {"init_params": "", "n_iter": 5, "tol": -np.inf}
    symbols = CategoricalHMM(
        3, startprob_prior=1.5, transmat_prior=2.0, emissionprob_prior=1.2, **options
    )
    set_chain(symbols, emissionprob_=NUMBERS["E"]).fit(NUMBERS["x"], LENGTHS)
    assert_allclose(symbols.transmat_, NUMBERS["cat.trans"])
    assert_allclose(symbols.emissionprob_, NUMBERS["cat.em"])
    assert symbols.score(NUMBERS["x"], LENGTHS) == pytest.approx(float(NUMBERS["cat.score"]))
    rates = np.array([[2.0, 2], [5, 5], [9, 8]])
    counts = set_chain(PoissonHMM(3, **options), lambdas_=rates).fit(NUMBERS["c"], LENGTHS)
    assert_allclose(counts.lambdas_, NUMBERS["poi.lam"], rtol=1e-7)
    assert counts.score(NUMBERS["c"], LENGTHS) == pytest.approx(float(NUMBERS["poi.score"]))
    shares = NUMBERS["E"][:, :3] / NUMBERS["E"][:, :3].sum(axis=1, keepdims=True)
    kinds = set_chain(MultinomialHMM(3, **options), emissionprob_=shares)
    kinds.fit(NUMBERS["mu"], LENGTHS)
    assert_allclose(kinds.emissionprob_, NUMBERS["mul.em"])
    assert kinds.score(NUMBERS["mu"], LENGTHS) == pytest.approx(float(NUMBERS["mul.score"]))


def some_sequences(seed=0, d=2, n=12):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 40, n)
    parts = []
    for length in lengths:
        level = np.cumsum(rng.random(length) < 0.2) % 2
        parts.append(rng.normal(size=(length, d)) + 4 * level[:, None])
    return parts


MODELS = [
    GaussianHMM(2, random_state=0, n_iter=15),
    GaussianHMM(2, "full", random_state=0, n_iter=15, sticky=2.0),
    GMMHMM(2, 2, random_state=0, n_iter=15),
    GMMHMM(2, 2, covariance_type="tied", random_state=0, n_iter=15),
    HMM(2, Gaussian(), random_state=0, n_iter=15),
    PoissonHMM(2, random_state=0, n_iter=15),
    CategoricalHMM(2, random_state=0, n_iter=15),
    MultinomialHMM(2, random_state=0, n_iter=15),
]


def sequences_for(model, n=12):
    parts = some_sequences(n=n)
    if isinstance(model, PoissonHMM | MultinomialHMM):
        return [np.floor(np.abs(part) * 3) + 1 for part in parts]
    if isinstance(model, CategoricalHMM):
        return [np.floor(np.abs(part[:, :1])).clip(0, 6) for part in parts]
    return parts


def learned(model):
    names = (
        "startprob_",
        "transmat_",
        "means_",
        "covars_",
        "lambdas_",
        "emissionprob_",
        "weights_",
    )
    return {name: getattr(model, name) for name in names if hasattr(model, name)}


def assert_same(a, b):
    assert learned(a).keys() == learned(b).keys()
    for name, value in learned(a).items():
        assert_array_equal(value, learned(b)[name], err_msg=name)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_laws_of_sequences(model, tmp_path):
    parts = sequences_for(model)
    values, lengths = np.concatenate(parts), [len(part) for part in parts]
    fitted = clone(model).fit(parts)
    objective = -fitted.history_["objective"]
    assert (np.diff(objective) >= -1e-9 * np.abs(objective[1:])).all()  # EM never falls
    assert fitted.log_likelihood_ == pytest.approx(fitted.score(parts))
    for X, given in (
        (values, lengths),
        (Ragged(values, np.concatenate([[0], np.cumsum(lengths)])), None),
    ):
        assert_same(fitted, clone(model).fit(X, given))
    np.save(tmp_path / "v.npy", values)
    np.save(tmp_path / "n.npy", np.array(lengths))
    files = (str(tmp_path / "v.npy"), str(tmp_path / "n.npy"))
    assert_same(fitted, clone(model).fit(files))
    for threads in (1, 3):
        with tenfold.threads(threads):
            assert_same(fitted, clone(model).fit(parts))
    tenfold.save(fitted, tmp_path / "m.tenfold")
    loaded = tenfold.load(tmp_path / "m.tenfold")
    assert_array_equal(loaded.predict_proba(parts), fitted.predict_proba(parts))
    X, states = fitted.sample(200, random_state=3)
    assert_array_equal(X, fitted.sample(200, random_state=3)[0])
    assert X.shape == (200, values.shape[1])
    assert set(states) <= {0, 1}
    assert np.isfinite(fitted.score(X))
    assert fitted.bic(parts) > fitted.aic(parts) > -2 * fitted.score(parts)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_weights_are_repetitions(model):
    parts = sequences_for(model, 5)
    weight = np.array([1, 2, 1, 3, 1])
    repeated = [part for part, w in zip(parts, weight, strict=True) for _ in range(w)]
    first = clone(model).set_params(n_iter=2).fit(parts)
    for name in ("params", "init_params"):
        first.set_params(**{name: getattr(model, name)})
    a, b = (clone(model) for _ in range(2))
    for each in (a, b):
        each.set_params(init_params="", n_iter=3, tol=-np.inf)
        for name, value in learned(first).items():
            setattr(each, name, value)
        if isinstance(model, HMM):
            each.densities_ = first.densities_
    a.fit(parts, sample_weight=weight)
    b.fit(repeated)
    for name, value in learned(a).items():
        assert_allclose(value, learned(b)[name], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_missing_steps_are_left_out(model):
    parts = [part.copy() for part in sequences_for(model)]
    fitted = clone(model).fit(parts)
    one = max(parts, key=len).copy()
    one[3:6] = np.nan
    gaps = fitted.predict_proba(one)
    assert_allclose(gaps.sum(axis=1), 1)
    # Without steps the state moves by the chain alone.
    assert_allclose(fitted.filter(one)[4], fitted.filter(one)[3] @ fitted.transmat_)
    parts[0] = np.full_like(parts[0], np.nan)
    refitted = clone(model).fit(parts)
    objective = -refitted.history_["objective"]
    assert (np.diff(objective) >= -1e-9 * np.abs(objective[1:])).all()


def test_equal_rows_are_a_mixture():
    X = np.concatenate(some_sequences())
    mixture = GaussianMixture(2, random_state=0, reg_covar=0.0, tol=1e-10, max_iter=500).fit(X)
    chain = GaussianHMM(
        2, "full", init_params="", transitions="tied", n_iter=30, tol=-np.inf, covars_prior=0.0
    )
    chain.startprob_ = np.array(mixture.weights_)
    chain.transmat_ = np.tile(mixture.weights_, (2, 1))
    chain.means_, chain.covars_ = np.array(mixture.means_), np.array(mixture.covariances_)
    assert chain.score(X) == pytest.approx(mixture.score(X) * len(X))
    assert_allclose(chain.predict_proba(X), mixture.predict_proba(X), atol=1e-10)
    chain.fit(X)  # one long sequence: the start is one of many steps
    assert_allclose(chain.means_, mixture.means_, atol=0.05)
    assert (chain.transmat_ == chain.transmat_[0]).all()


def test_one_state_of_a_mixture_is_a_mixture():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = GMMHMM(1, 3, init_params="", n_iter=4, tol=-np.inf, covars_prior=0.0)
    model.startprob_, model.transmat_ = np.ones(1), np.ones((1, 1))
    model.weights_, model.means_ = np.full((1, 3), 1 / 3), X[None, :3]
    model.covars_ = np.ones((1, 3, 2))
    model.fit(X)
    mixture = GaussianMixture(
        3, covariance_type="diag", weights_init=np.full(3, 1 / 3), means_init=X[:3],
        precisions_init=np.ones((3, 2)), max_iter=4, tol=0, reg_covar=0,
    ).fit(X)  # fmt: skip
    assert_allclose(model.means_[0], mixture.means_)
    assert_allclose(model.covars_[0], mixture.covariances_)
    assert_allclose(model.weights_[0], mixture.weights_)


def test_one_state_is_one_density():
    X = np.concatenate(some_sequences())
    model = GaussianHMM(1, "full", covars_prior=0.0, random_state=0).fit(X)
    assert_allclose(model.means_[0], X.mean(axis=0))
    assert_allclose(model.covars_[0], np.cov(X.T, bias=True))


def test_a_million_steps_do_not_underflow():
    model, _ = course_model()
    X, states = model.sample(200_000, random_state=0)
    assert np.isfinite(model.score(X))
    assert (model.predict(X) == states).mean() > 0.6
    again = CategoricalHMM(2, init_params="", n_iter=3, tol=-np.inf)
    again.startprob_, again.transmat_ = model.startprob_, model.transmat_
    again.emissionprob_ = model.emissionprob_
    again.fit(X)
    assert_allclose(again.emissionprob_, model.emissionprob_, atol=0.05)


def test_known_states_are_counted():
    model, _ = course_model()
    X, states = model.sample(300, random_state=0)
    fitted = CategoricalHMM(2, random_state=0, n_iter=2).fit(X, labels=states)
    assert_allclose(
        fitted.emissionprob_[0], np.bincount(X[states == 0, 0], minlength=3) / (states == 0).sum()
    )
    pairs = np.zeros((2, 2))
    np.add.at(pairs, (states[:-1], states[1:]), 1)
    assert_allclose(fitted.transmat_, pairs / pairs.sum(axis=1, keepdims=True))
    partly = np.where(np.arange(300) % 3, -1, states)
    half = CategoricalHMM(2, random_state=0, n_iter=200, tol=1e-6).fit(X, labels=partly)
    assert half.score(X) > fitted.score(X) - 20
    with pytest.raises(ValueError, match="state 5 is given"):
        CategoricalHMM(2).fit(X, labels=np.full(300, 5))


def test_structures_of_transitions():
    parts = some_sequences()
    left = GaussianHMM(3, transitions="left-right", random_state=0).fit(parts)
    assert (np.tril(left.transmat_, -1) == 0).all()
    assert left.startprob_.tolist() == [1, 0, 0]
    banded = GaussianHMM(4, transitions="banded", random_state=0).fit(parts)
    assert banded.transmat_[0, 2] == banded.transmat_[3, 1] == 0
    mask = np.array([[1, 1], [0, 1]])
    absorbing = GaussianHMM(2, transitions=mask, random_state=0).fit(parts)
    assert absorbing.transmat_[1].tolist() == [0, 1]
    free, sticky = (
        GaussianHMM(2, random_state=0, sticky=weight, n_iter=30).fit(parts) for weight in (0, 500)
    )
    assert np.diag(sticky.transmat_).min() > np.diag(free.transmat_).min()


def test_viterbi_training_raises_the_best_path():
    parts = some_sequences()
    model = GaussianHMM(2, random_state=0, training="viterbi", n_iter=20, covars_prior=0.0).fit(
        parts
    )
    objective = -model.history_["objective"]
    assert (np.diff(objective) >= -1e-9 * np.abs(objective[1:])).all()
    assert model.log_likelihood_ == pytest.approx(model.decode(parts)[0])


def test_mixed_columns():
    rng = np.random.default_rng(0)
    level = np.repeat([0, 1, 0, 1], 40)
    X = np.column_stack([rng.normal(4 * level), rng.poisson(2 + 9 * level)])
    density = Independent((Gaussian(), Poisson()))
    model = HMM(2, density, random_state=0, n_iter=30).fit(X)
    agree = (model.predict(X) == level).mean()
    assert max(agree, 1 - agree) > 0.95


def test_restarts_keep_the_best():
    parts = some_sequences()
    runs = [GaussianHMM(4, random_state=0, n_init=n, n_iter=5).fit(parts) for n in (1, 4)]
    assert runs[1].log_likelihood_ >= runs[0].log_likelihood_


def test_convergence_is_said_as_it_is():
    parts = some_sequences()
    with pytest.warns(ConvergenceWarning):
        short = GaussianHMM(3, random_state=0, n_iter=2, tol=1e-9).fit(parts)
    assert not short.converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        full = GaussianHMM(2, random_state=0, n_iter=500, tol=1e-4).fit(parts)
    assert full.converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        untrained = GaussianHMM(2, random_state=0, n_iter=0).fit(parts)
    assert not untrained.converged_


def test_a_state_without_steps_is_kept_with_a_warning():
    model = CategoricalHMM(3, init_params="", n_iter=5, tol=-np.inf)
    model.startprob_ = np.array([1.0, 0, 0])
    model.transmat_ = np.array([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1.0]])
    model.emissionprob_ = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    with pytest.warns(UserWarning, match="no step belongs to state 2"):
        model.fit(np.array([[0], [1], [0], [1], [1]]))
    assert_allclose(model.transmat_[2], [0, 0, 1])
    assert np.isfinite(model.emissionprob_).all()


def test_impossible_sequences_are_named():
    model, _ = course_model()
    model.emissionprob_ = np.array([[1.0, 0, 0], [0, 1.0, 0]])
    assert model.log_prob([np.array([[0], [1]]), np.array([[2]])])[1] == -np.inf
    model.init_params = ""
    with pytest.raises(ValueError, match="sequence 1 has probability zero"):
        model.fit([np.array([[0], [1]]), np.array([[2]])])


def test_samples_need_steps_and_a_state_that_exists():
    model, _ = course_model()
    for params in ({"n_samples": 0}, {"n_samples": 2, "currstate": 2}):
        with pytest.raises(ValueError, match="give"):
            model.sample(**params)
    assert model.sample(2, currstate=1)[1][0] == 1


def test_bad_input_is_refused_in_words():
    X = np.zeros((4, 1))
    with pytest.raises(ValueError, match="doesn't sum to 4"):
        GaussianHMM(1).fit(X, [2, 1])
    with pytest.raises(ValueError, match="Expected 2D"):
        GaussianHMM(1).fit(X[:, 0])
    with pytest.raises(ValueError, match="must be set"):
        GaussianHMM(1, init_params="st").fit(X)
    with pytest.raises(ValueError, match="none of the letters"):
        GaussianHMM(1, params="x").fit(X)
    with pytest.raises(ValueError, match="integers"):
        CategoricalHMM(1).fit(X + 0.5)
    with pytest.raises(ValueError, match="counts"):
        PoissonHMM(1).fit(X - 1)
    model, x = course_model()
    with pytest.raises(ValueError, match="Largest symbol is 7"):
        model.score(np.array([[7]]))
    with pytest.raises(ValueError, match="states from 0 to 7"):
        model.joint_log_prob(np.array([[0], [1]]), [0, 7])
    model.transmat_ = np.ones((2, 2))
    with pytest.raises(ValueError, match="must sum to 1"):
        model.score(x)
    with pytest.raises(ValueError, match="empty"):
        GaussianHMM(1).fit([np.empty((0, 1))])
    with pytest.raises(ValueError, match="all entries are missing"):
        GaussianHMM(1).fit(X * np.nan)
    for lengths, words in (([-1, 5], "sequence 0 has -1"), ([1.5, 2.5], "whole number")):
        with pytest.raises(ValueError, match=words):
            GaussianHMM(1).fit(X, lengths)
    for weight in ([1, -1], [0, 0], [1, np.nan]):
        with pytest.raises(ValueError, match="at least 0"):
            GaussianHMM(1).fit(X, [2, 2], sample_weight=weight)


def test_sequences_on_workers(two_workers, tmp_path):
    parts = some_sequences(n=40)
    np.save(tmp_path / "v.npy", np.concatenate(parts))
    np.save(tmp_path / "n.npy", np.array([len(part) for part in parts]))
    files = (str(tmp_path / "v.npy"), str(tmp_path / "n.npy"))
    here = GaussianHMM(2, random_state=0, n_iter=3).fit(parts)
    with tenfold.on(two_workers):
        there = GaussianHMM(2, random_state=0, n_iter=3).fit(files)
    assert_same(here, there)


def test_the_course_of_training_has_hmmlearns_names():
    X = np.random.default_rng(0).normal(size=(60, 1))
    model = GaussianHMM(2, random_state=0, n_iter=7, tol=-np.inf).fit(X)
    assert model.monitor_.iter == len(model.monitor_.history) == 7
    assert not model.monitor_.converged
    assert_array_equal(model.monitor_.history, -model.history_["objective"])


@pytest.mark.parametrize("shape", [(2,), (2, 1), (2, 1, 1, 1)])
def test_spherical_variances_may_have_hmmlearns_shapes(shape):
    model = set_chain(GaussianHMM(2, covariance_type="spherical", init_params="", n_iter=0))
    model.startprob_, model.transmat_ = np.full(2, 0.5), np.full((2, 2), 0.5)
    model.means_, model.covars_ = np.array([[0.0], [1.0]]), np.array([4.0, 3.0]).reshape(shape)
    assert model.sample(5, random_state=0)[0].shape == (5, 1)


def test_warnings_and_errors_name_the_parameters_of_the_model():
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.warns(ConvergenceWarning, match="n_iter=1 iterations"):
        model = GaussianHMM(2, n_iter=1, random_state=0).fit(X)
    with pytest.raises(ValueError, match="whole number, 0 or more"):
        model.smooth_fixed_lag(X, lag=1.5)
