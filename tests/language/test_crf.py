"""Conditional random fields: enumeration, slopes, special cases, tagging and named entities."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

import tenfold
from tenfold import CRF
from tenfold.language._label_chain import (
    LabelChain,
    find_best_labels,
    infer_labels,
    score_paths,
)
from tenfold.language.crf import part_gradient

RNG = np.random.default_rng(0)


def sequences(n, rng, p=3, k=3):
    """Rows whose labels depend on the row and on the label before."""
    X, y = [], []
    for _ in range(n):
        length = rng.integers(1, 7)
        labels = [int(rng.integers(k))]
        for _ in range(length - 1):
            labels.append((labels[-1] + 1) % k if rng.random() < 0.8 else int(rng.integers(k)))
        X.append(np.eye(k, p)[labels] + rng.normal(scale=0.8, size=(length, p)))
        y.append(labels)
    return X, y


@pytest.mark.parametrize("seed", range(4))
def test_messages_agree_with_the_enumeration_of_all_paths(seed):
    rng = np.random.default_rng(seed)
    k, lengths = 3, [4, 1, 3]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    scores = rng.normal(size=(offsets[-1], k)) * 3
    chain = LabelChain(rng.normal(size=(k, k)) * 2, rng.normal(size=k), rng.normal(size=k))
    found = infer_labels(scores, offsets, chain)
    best, totals = find_best_labels(scores, offsets, chain)
    pairs = np.zeros((k, k))
    for s, length in enumerate(lengths):
        own = scores[offsets[s] : offsets[s + 1]]
        paths = np.array(list(product(range(k), repeat=length)))
        values = own[np.arange(length), paths].sum(axis=1)
        values += chain.start[paths[:, 0]] + chain.end[paths[:, -1]]
        values += chain.transition[paths[:, :-1], paths[:, 1:]].sum(axis=1)
        assert_allclose(found.log_normalizers[s], logsumexp(values), rtol=1e-12)
        p = np.exp(values - logsumexp(values))
        for t in range(length):
            expected = np.bincount(paths[:, t], p, minlength=k)
            assert_allclose(found.marginals[offsets[s] + t], expected, rtol=1e-10)
            if t:
                np.add.at(pairs, (paths[:, t - 1], paths[:, t]), p)
        assert_array_equal(best[offsets[s] : offsets[s + 1]], paths[values.argmax()])
        assert_allclose(totals[s], values.max(), rtol=1e-12)
        labels = paths[seed % len(paths)]
        one = score_paths(own, np.array([0, length]), chain, labels)
        assert_allclose(one, values[seed % len(paths)], rtol=1e-12)
    assert_allclose(found.pairs, pairs, rtol=1e-10)


def test_slopes_are_finite_differences():
    rng = np.random.default_rng(0)
    X, y = sequences(5, rng)
    matrix, labels = np.concatenate(X), np.concatenate(y)
    offsets = np.concatenate([[0], np.cumsum([len(x) for x in X])])
    params = [rng.normal(size=shape) for shape in ((3, 3), (3, 3), (3,), (3,))]

    def run():
        return part_gradient(matrix, offsets, labels, params[0], LabelChain(*params[1:]), (0, 5))

    for array, gradient in zip(params, run().arrays, strict=True):
        for place in np.ndindex(array.shape):
            here = array[place]
            array[place] = here + 1e-6
            up = run().loss
            array[place] = here - 1e-6
            down = run().loss
            array[place] = here
            assert_allclose(gradient[place], (up - down) / 2e-6, rtol=1e-5, atol=1e-7)


def test_sequences_of_one_step_are_softmax_regression():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = (X @ rng.normal(size=(3, 3)) + rng.normal(size=(120, 3))).argmax(axis=1)
    wide = np.column_stack([X, np.ones(120), np.ones(120)])  # scores of first and last labels
    theirs = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=5000).fit(wide, y)
    model = CRF(alpha=1.0, tol=1e-9, max_iter=2000).fit(list(X[:, None]), [[int(k)] for k in y])
    assert_allclose(model.coef_.T, theirs.coef_[:, :3], atol=1e-4)
    found = np.concatenate(model.predict_proba(list(X[:, None])))
    assert_allclose(found, theirs.predict_proba(wide), atol=1e-4)


def test_neighbors_help_and_probabilities_are_consistent():
    rng = np.random.default_rng(1)
    X, y = sequences(300, rng)
    model = CRF().fit(X[:200], y[:200])
    assert model.converged_
    alone = CRF().fit([row[None] for x in X[:200] for row in x], [[k] for s in y[:200] for k in s])
    steps = [row[None] for x in X[200:] for row in x]
    assert model.score(X[200:], y[200:]) > alone.score(steps, [[k] for s in y[200:] for k in s])
    p = model.predict_proba(X[200:])
    assert_allclose(np.concatenate(p).sum(axis=1), 1)
    paths = list(product(range(3), repeat=len(X[0])))
    assert_allclose(
        np.exp(model.log_prob([X[0]] * len(paths), [list(path) for path in paths])).sum(), 1
    )
    assert model.transition_[0, 1] > model.transition_[0, 2]


def test_the_structured_perceptron_separates_what_can_be_separated():
    X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["dogs", "bark"], ["the", "bark"]]
    y = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"], ["D", "N"]]
    model = CRF("perceptron", max_iter=50, random_state=0).fit(X, y)
    assert model.converged_
    assert model.score(X, y) == 1
    assert model.history_["objective"][-1] == 0
    assert CRF().fit(X, y).score(X, y) == 1


def sentences(n, rng):
    """Sentences of a small grammar with parts of speech and named entities."""
    people, places = ["Anna", "Bert", "Clara", "David", "Emil"], ["Rome", "Paris", "Berlin", "Oslo"]
    verbs, nouns = ["sees", "likes", "visits", "paints"], ["bridge", "house", "river", "garden"]
    tokens, tags, names = [], [], []
    for _ in range(n):
        person, place = rng.choice(people), rng.choice(places)
        forms = [
            ([person, rng.choice(verbs), "the", rng.choice(nouns), "in", place, "."],
             "NNP VBZ DT NN IN NNP .", "PER - - - - LOC -"),
            (["The", rng.choice(nouns), "of", place, rng.choice(verbs), person, "."],
             "DT NN IN NNP VBZ NNP .", "- - - LOC - PER -"),
        ]  # fmt: skip
        words, tag, name = forms[rng.integers(2)]
        tokens.append(list(map(str, words)))
        tags.append(tag.split())
        names.append(name.split())
    return tokens, tags, names


@pytest.mark.parametrize("algorithm", ["lbfgs", "perceptron"])
def test_tagging_and_named_entities_of_words_that_were_not_seen(algorithm):
    tokens, tags, names = sentences(80, np.random.default_rng(0))
    new = [["Zara", "likes", "the", "tower", "in", "Vienna", "."]]
    settings = {"max_iter": 40, "alpha": 0.1, "random_state": 0}
    tagger = CRF(algorithm, **settings).fit(tokens, tags)
    assert tagger.score(tokens, tags) == 1
    assert tagger.predict(new)[0] == ["NNP", "VBZ", "DT", "NN", "IN", "NNP", "."]
    finder = CRF(algorithm, **settings).fit(tokens, names)
    assert finder.predict(new)[0] == ["PER", "-", "-", "-", "-", "LOC", "-"]


def test_features_of_any_kind():
    X, y = [["ab", "c"], ["b"]], [[1, 0], [0]]
    own = CRF(features=lambda tokens, t: {"long": len(tokens[t]), "first": tokens[t][0]})
    assert own.fit(X, y).feature_names_ == ["long", "first=a", "first=c", "first=b"]
    dictionaries = [[{"a": 1.5, "w": "x"}, {"a": 0}], [{"w": "y"}]]
    assert CRF().fit(dictionaries, y).feature_names_ == ["a", "w=x", "w=y"]
    named = [[["p", "q"], ["p"]], [["q"]]]
    assert CRF().fit(named, y).predict(named) == CRF().fit(named, y).predict(named)


def test_threads_and_files_keep_every_bit(tmp_path):
    X, y = sequences(400, np.random.default_rng(0))
    models = []
    for number in (1, 2, 8):
        with tenfold.threads(number):
            models.append(CRF(max_iter=15).fit(X, y))
    for model in models[1:]:
        assert_array_equal(models[0].coef_, model.coef_)
        assert_array_equal(models[0].transition_, model.transition_)
    models[0].save(tmp_path / "model.tenfold")
    loaded = tenfold.load(tmp_path / "model.tenfold")
    assert loaded.predict(X[:9]) == models[0].predict(X[:9])
    models[0].start_ = models[0].start_[:-1]
    with pytest.raises(ValueError, match="start_"):
        models[0].save(tmp_path / "model.tenfold")


def test_bad_sequences_are_refused_in_words():
    X, y = sequences(3, np.random.default_rng(0))
    with pytest.raises(ValueError, match="3 sequences and 2 of labels"):
        CRF().fit(X, y[:2])
    with pytest.raises(ValueError, match="each step needs one"):
        CRF().fit([["a", "b"]], [["x"]])
    with pytest.raises(ValueError, match="sequence 1 is empty"):
        CRF().fit([["a"], []], [["x"], []])
    with pytest.raises(ValueError, match="no sequences"):
        CRF().fit([], [])
    with pytest.raises(ValueError, match="NaN"):
        CRF().fit([np.full((2, 2), np.nan)], [["x", "y"]])
    with pytest.raises(TypeError, match="a step is"):
        CRF().fit([[1, 2]], [["x", "y"]])
    with pytest.raises(ValueError, match="missing"):
        CRF().fit([["a", "b"]], [["x", None]])
    with pytest.raises(ValueError, match="values of features"):
        CRF().fit([[{"a": np.inf}, {"b": 1}]], [["x", "y"]])
    with pytest.raises(TypeError, match=r"feature 'a' is a number, .* not NoneType"):
        CRF().fit([[{"a": None}]], [["x"]])
    with pytest.raises(TypeError, match="X is a list of sequences, not NoneType"):
        CRF().fit(None, y)
    with pytest.raises(TypeError, match="y is a list of sequences, not NoneType"):
        CRF().fit(X, None)
    with pytest.raises(TypeError, match=r"X\[1\] is a sequence, .* not NoneType"):
        CRF().fit([["a"], None], [["x"], ["y"]])
    with pytest.raises(TypeError, match=r"y\[0\] is a sequence, .* not int"):
        CRF().fit([["a"]], [5])
    model = CRF(max_iter=3).fit(X, y)
    with pytest.raises(TypeError, match="a text is no list"):
        model.predict("a text")
    with pytest.raises(ValueError, match="of labels"):
        model.score(X, y[:1])
    with pytest.raises(ValueError, match="in the fit"):
        model.predict([np.ones((2, 5))])
    with pytest.raises(ValueError, match="did not occur"):
        model.log_prob(X[:1], [[9] * len(X[0])])
