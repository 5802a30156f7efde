"""Generative classifiers: the worked numbers of the notes, and what they claim."""

from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp, xlogy

from tenfold import GaussianNB, LogisticRegression, WordCounts
from tenfold.datasets import load_iris
from tenfold.discriminant.gaussian_classifier import GaussianClassifier
from tenfold.discriminant.lda import LinearDiscriminantAnalysis
from tenfold.discriminant.qda import QuadraticDiscriminantAnalysis
from tenfold.inspection.contributions import feature_contributions
from tenfold.naive_bayes.categorical import CategoricalNB
from tenfold.naive_bayes.discrete import BernoulliNB, MultinomialNB
from tenfold.naive_bayes.mixed import MixedNB

NONE = {"alpha": 0.0}  # no smoothing, as the notes count


# ------------------------------------------------------------------------------ [001, 2.7] e-mails

VOCABULARY = ["dear", "sir", "money", "friend", "thanks"]
WORDS = np.array([[70.0, 20, 15, 40, 90], [73, 65, 98, 20, 120]])  # of normal mail and of spam
MAIL = [[1.0, 1, 3, 0, 1]]  # "Dear Sir, Money Money Money. Thanks."


def spam_filter(**options):
    """All mails of a class as one row each, whose weights make the priors 0.7 and 0.3."""
    return MultinomialNB(class_prior=[0.7, 0.3], **(NONE | options)).fit(WORDS, ["normal", "spam"])


def test_example_2_7_3_is_spam():
    model = spam_filter()
    assert_allclose(np.exp(model.feature_log_prob_), WORDS / [[235], [376]])
    joint = np.exp(model.predict_joint_log_proba(MAIL))[0]
    assert_allclose(joint, [1.7674e-6, 5.6897e-5], rtol=3e-5)
    assert_allclose(model.predict_proba(MAIL)[0], [0.030127, 0.969873], atol=1e-6)
    assert model.predict(MAIL) == ["spam"]


def test_the_mail_is_counted_from_its_words():
    counter = WordCounts(vocabulary=VOCABULARY)
    X = counter.fit_transform(["Dear Sir, Money Money Money. Thanks.", "Money, a lottery, sir"])
    assert_array_equal(X.toarray(), [MAIL[0], [0, 1, 1, 0, 0]])
    assert_allclose(spam_filter().predict_proba(X)[0], [0.030127, 0.969873], atol=1e-6)


def test_an_unknown_word_says_nothing():
    model, counter = spam_filter(), WordCounts(vocabulary=VOCABULARY)
    texts = ["dear sir, money", "dear sir, lottery money", "lottery"]
    known, longer, unknown = model.predict_proba(counter.fit(texts).transform(texts))
    assert_array_equal(known, longer)
    assert known[1] > 0.4  # the known words do say something
    assert_allclose(unknown, [0.7, 0.3])  # the priors


@pytest.mark.parametrize("seed", range(20))
def test_exercise_2_7_2_shares_are_the_most_likely(seed):
    other = np.random.default_rng(seed).dirichlet(np.ones(5))
    for counts, shares in zip(WORDS, spam_filter().feature_log_prob_, strict=True):
        assert_allclose(np.exp(shares).sum(), 1)
        assert counts @ shares > xlogy(counts, other).sum()


# ------------------------------------------------------------------------ [001, 2.7] buys_computer

AGE, INCOME, CREDIT = ["<=30", "31..40", ">40"], ["low", "medium", "high"], ["fair", "excellent"]
TABLE = """
<=30   high   no  fair      no
<=30   high   no  excellent no
31..40 high   no  fair      yes
>40    medium no  fair      yes
>40    low    no  fair      yes
>40    low    yes excellent no
31..40 low    yes excellent yes
<=30   medium yes fair      yes
<=30   low    no  fair      yes
>40    medium yes fair      yes
<=30   medium yes excellent yes
31..40 medium yes excellent yes
31..40 high   no  fair      yes
>40    medium no  excellent no
"""
ASKED = "<=30 medium yes fair\n31..40 low no fair\n>40 high no excellent"
LEVELS = [AGE, INCOME, ["no", "yes"], CREDIT]


def coded(text):
    """Rows of words as numbers of categories, and the words after them."""
    lines = [line.split() for line in text.strip().splitlines()]
    X = [[levels.index(word) for levels, word in zip(LEVELS, line, strict=False)] for line in lines]
    return np.array(X, float), np.array([line[-1] for line in lines])


def one_hot(X):
    """The ten indicators of (156)."""
    return np.hstack([X[:, [j]] == np.arange(len(levels)) for j, levels in enumerate(LEVELS)]) * 1.0


X, BUYS = coded(TABLE)
NEW, _ = coded(ASKED)


def test_exercise_2_7_4_priors_and_class_conditionals():
    model = CategoricalNB(**NONE).fit(X, BUYS)
    assert_allclose(np.exp(model.class_log_prior_), [4 / 14, 10 / 14])
    expected = [
        [[1 / 2, 0, 1 / 2], [3 / 10, 2 / 5, 3 / 10]],
        [[1 / 4, 1 / 4, 1 / 2], [3 / 10, 1 / 2, 1 / 5]],
        [[3 / 4, 1 / 4], [1 / 2, 1 / 2]],
        [[1 / 4, 3 / 4], [7 / 10, 3 / 10]],
    ]
    for found, wanted in zip(model.feature_log_prob_, expected, strict=True):
        assert_allclose(np.exp(found), wanted)


def test_exercise_2_7_4_posteriors():
    model = CategoricalNB(**NONE).fit(X, BUYS)
    joint = np.exp(model.predict_joint_log_proba(NEW))
    assert_allclose(joint[[0, 2]], [[1 / 448, 3 / 80], [9 / 224, 9 / 1400]])
    assert_allclose(model.predict_proba(NEW)[:, 1], [0.9438, 1, 0.1379], atol=5e-5)
    assert model.predict(NEW).tolist() == ["yes", "yes", "no"]


def test_exercise_2_7_4_as_counts_of_indicators():
    """A multinomial on the one-hot rows has the same odds: each column has one indicator in it."""
    model = MultinomialNB(**NONE).fit(one_hot(X), BUYS)
    asked = CategoricalNB(**NONE).fit(X, BUYS)
    assert_allclose(model.predict_proba(one_hot(NEW)), asked.predict_proba(NEW), atol=1e-12)


def test_exercise_2_7_4_with_bernoulli_indicators():
    model = BernoulliNB(**NONE).fit(one_hot(X), BUYS)
    assert_allclose(model.predict_proba(one_hot(NEW))[:, 1], [0.9916, 1, 0.0218], atol=5e-5)
    assert model.predict(one_hot(NEW)).tolist() == ["yes", "yes", "no"]


def test_exercise_2_7_4_which_factor_mattered_most():
    """Of x1 the credit rating (0.7 against 0.25), of x3 the same, the other way round."""
    model = MultinomialNB(**NONE).fit(one_hot(X), BUYS)
    log_odds = model.feature_log_prob_[1] - model.feature_log_prob_[0]
    terms = one_hot(NEW)[[0, 2]] * np.where(np.isfinite(log_odds), log_odds, 0)
    assert np.abs(terms).argmax(axis=1).tolist() == [8, 9]
    assert terms[0, 8] > 0 > terms[1, 9]


def test_reasons_add_up_to_the_log_odds():
    model = MultinomialNB().fit(one_hot(X), BUYS)
    why = feature_contributions(model, one_hot(NEW)[0])
    joint = model.predict_joint_log_proba(one_hot(NEW)[:1])[0]
    assert_allclose(np.ptp(why.scores) if len(why.scores) > 1 else why.scores, joint[1] - joint[0])


# ----------------------------------------------------------------- [001, A.7] coins; [004] two dice


def coins(prior):
    """Three coins that show heads with .2, .5, .8; a row counts heads and tails."""
    return MultinomialNB(class_prior=prior, **NONE).fit([[2.0, 8], [5, 5], [8, 2]], [2, 5, 8])


def test_example_a_7_3_three_coins():
    model = coins([1 / 3] * 3)
    evidence = comb(10, 7) * np.exp(logsumexp(model.predict_joint_log_proba([[7.0, 3]])))
    assert_allclose(evidence, 0.1064, atol=5e-5)
    posterior = model.predict_proba([[7.0, 3]])[0]
    assert_allclose(posterior, [0.0025, 0.3670, 0.6305], atol=5e-5)
    again = coins(posterior).predict_proba([[3.0, 7]])[0]
    assert_allclose(again, model.predict_proba([[10.0, 10]])[0])  # one by one is all at once
    assert_allclose(again, [0.0113, 0.9775, 0.0113], atol=5e-5)  # 10 of 20: as much .2 as .8
    printed = coins([0.0025, 0.3670, 0.6305])  # from the rounded numbers that are printed
    assert_allclose(printed.predict_proba([[3.0, 7]])[0], [0.0114, 0.9773, 0.0113], atol=5e-5)
    assert_allclose(printed.predict_proba([[2.0, 8]])[0], [0.0446, 0.9527, 0.0027], atol=5e-5)


def test_exercise_a_7_5_a_positive_test_is_a_fair_coin():
    """95 % right, 5 % ill: 95 of 1900 healthy and 95 of 100 ill are positive."""
    model = BernoulliNB(**NONE).fit([[1.0], [0], [1], [0]], [0, 0, 1, 1], [95, 1805, 95, 5])
    assert_allclose(model.predict_proba([[1.0]]), [[0.5, 0.5]])


def test_two_dice():  # [004, 3.6, the book's example]
    faces = [[0.4, 0.2, 0.1, 0.1, 0.1, 0.1], [0.2, 0.2, 0.1, 0.3, 0.1, 0.1]]
    model = MultinomialNB(class_prior=[0.3, 0.7], **NONE).fit(faces, [1, 2])
    joint = np.exp(model.predict_joint_log_proba([[3.0, 1, 2, 2, 1, 1]]))[0]
    assert_allclose(joint, [3.84e-9, 1.008e-8], rtol=1e-6)
    assert model.predict([[3.0, 1, 2, 2, 1, 1]]) == [2]


def test_cat_cat_dog():  # [003, 15.4]; printed 0.0189, which is 0.3^3 0.7
    model = MultinomialNB(class_prior=[0.5, 0.5], **NONE).fit([[0.3, 0.7], [0.9, 0.1]], [1, 2])
    assert_allclose(np.exp(model.predict_joint_log_proba([[2.0, 1]]))[0] * 2, [0.063, 0.081])
    assert model.predict([[2.0, 1]]) == [2]


# -------------------------------------------------------------------------- [002, 5] words of films

FILMS = np.array([[0.0, 0, 1, 2], [0, 1, 1, 0], [1, 1, 0, 0]])  # bad, film, fun, good
LIKED = np.array([1, 1, 2])


def test_laplace_smoothing_of_words():
    model = MultinomialNB().fit(FILMS, LIKED)
    expected = [[1 / 9, 2 / 9, 3 / 9, 3 / 9], [1 / 3, 1 / 3, 1 / 6, 1 / 6]]
    assert_allclose(np.exp(model.feature_log_prob_), expected)
    assert_allclose(np.exp(model.class_log_prior_), [2 / 3, 1 / 3])  # not smoothed
    tenth = np.exp(MultinomialNB(alpha=0.1).fit(FILMS, LIKED).feature_log_prob_)
    assert_allclose(tenth[0], (FILMS[:2].sum(axis=0) + 0.1) / 5.4)
    assert_allclose(tenth.sum(axis=1), 1)
    assert_allclose(np.exp(MultinomialNB(alpha=1e9).fit(FILMS, LIKED).feature_log_prob_), 0.25)


def test_without_smoothing_good_bad_is_impossible_and_with_it_is_not():
    model = MultinomialNB(**NONE).fit(FILMS, LIKED)
    assert np.isneginf(model.predict_joint_log_proba([[1.0, 0, 0, 1]])).all()
    assert_allclose(model.predict_proba([[1.0, 0, 0, 1]]), 0.5)  # nothing is known
    smooth = MultinomialNB(alpha=0.1).fit(FILMS, LIKED)
    assert np.isfinite(smooth.predict_log_proba([[1.0, 0, 0, 1]])).all()


def test_order_of_words_does_not_matter():
    texts = ["good fun good", "fun film", "bad film"]
    counter = WordCounts()
    assert_array_equal(counter.fit_transform(texts).toarray(), FILMS)
    model = MultinomialNB().fit(FILMS, LIKED)
    first, second, other = model.predict_proba(
        counter.transform(["bad good good", "good bad good", "good bad"])
    )
    assert_array_equal(first, second)
    assert (first != other).all()  # but how often does


def test_long_documents_do_not_underflow():
    rare = np.full(1000, 1e-3)
    model = MultinomialNB(class_prior=[0.5, 0.5], **NONE).fit([rare, rare], [0, 1])
    document = np.zeros((1, 1000))
    document[0, 0] = 400
    assert np.prod(np.full(400, 1e-3)) == 0.0
    assert_allclose(model.predict_joint_log_proba(document) - np.log(0.5), -2763.1, atol=0.05)
    assert_allclose(model.predict_proba(document), 0.5)


# --------------------------------------------------------------------------------- what is claimed


def clouds(seed=0, n=300, own=False):
    """Two Gaussian classes, with one covariance or two."""
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(2, 3, 3))
    second = rng.normal(size=(n, 3)) @ (B if own else A) + [1.0, -1.0, 0.5]
    return np.vstack([rng.normal(size=(n, 3)) @ A, second]), np.repeat([0, 1], n)


def test_oracle_of_the_shared_covariance():  # [004, 3.6]
    corner = np.array([[0.0, 0], [2, 0], [0, 2]])
    model = LinearDiscriminantAnalysis(store_covariance=True)
    model.fit(np.vstack([corner, corner + 4]), [2, 2, 2, 1, 1, 1])  # so that coef_ is for 2
    assert_allclose(model.means_[::-1], [[2 / 3, 2 / 3], [14 / 3, 14 / 3]])
    assert_allclose(model.covariance_, np.array([[8, -4], [-4, 8]]) / 9)
    assert_allclose(model.coef_, [[-9, -9]])
    assert_allclose(model.decision_function([[2.0, 2.0]]), 12)
    assert_allclose(model.predict_proba([[2.0, 2.0]])[0, 1], 0.99999386, atol=1e-8)


def test_posterior_of_a_shared_covariance_is_logistic():  # [004, 3.6]
    data, y = clouds()
    model = LinearDiscriminantAnalysis(store_covariance=True).fit(data, y)
    w = np.linalg.solve(model.covariance_, model.means_[1] - model.means_[0])
    w0 = -0.5 * (model.means_[1] + model.means_[0]) @ w
    assert_allclose(model.predict_proba(data)[:, 1], 1 / (1 + np.exp(-(data @ w + w0))), rtol=1e-8)


def curvature(model, seed=1):
    """Second differences of the log-odds along random lines: zero where they are linear."""
    rng = np.random.default_rng(seed)
    at, step = rng.normal(size=(2, 50, 3))
    logs = [np.diff(model.predict_log_proba(at + t * step))[:, 0] for t in (-1, 0, 1)]
    return np.abs(logs[0] - 2 * logs[1] + logs[2]).max()


def test_shared_covariances_give_planes_and_own_ones_quadrics():
    data, y = clouds(own=True)
    for model in (LinearDiscriminantAnalysis(), GaussianClassifier("tied")):
        assert curvature(model.fit(data, y)) < 1e-8
    for model in (QuadraticDiscriminantAnalysis(), GaussianClassifier("full"), GaussianNB()):
        assert curvature(model.fit(data, y)) > 0.1


@pytest.mark.parametrize("family", [MultinomialNB, BernoulliNB])
def test_naive_bayes_of_counts_is_linear(family):  # [003, 15.7 and 15.8]
    rng = np.random.default_rng(0)
    rows, y = rng.integers(0, 2, (200, 6)).astype(float), rng.integers(0, 2, 200)
    model = family().fit(rows, y)
    odds = np.diff(model.predict_joint_log_proba(rows))[:, 0]
    design = np.column_stack([rows, np.ones(200)])
    weights, *_ = np.linalg.lstsq(design, odds)
    assert_allclose(design @ weights, odds, atol=1e-10)
    if family is MultinomialNB:
        assert_allclose(weights[:-1], np.diff(model.feature_log_prob_, axis=0)[0], atol=1e-10)
        prior = np.diff(model.class_log_prior_)[0]
        assert_allclose(weights[-1], prior, atol=1e-10)  # the priors are the offset


def test_diagonal_covariances_are_gaussian_naive_bayes():  # [004, 3.6]
    data, y = load_iris(return_X_y=True)
    diagonal = GaussianClassifier("diagonal", reg_covar=0.0).fit(data, y)
    naive = GaussianNB(var_smoothing=0.0).fit(data, y)
    assert_allclose(diagonal.covariances_, naive.var_)
    joint = naive.predict_joint_log_proba(data)
    assert_allclose(diagonal.predict_joint_log_proba(data), joint, rtol=1e-10)


def test_spherical_variance_divides_by_rows_and_columns():  # [003, 15.10]; 1 / n_j alone is printed
    data, y = clouds()
    model = GaussianClassifier("spherical", reg_covar=0.0).fit(data, y)
    squares = [((data[y == c] - data[y == c].mean(axis=0)) ** 2).sum() for c in (0, 1)]
    assert_allclose(model.covariances_, np.array(squares) / (300 * 3))


def test_a_new_class_leaves_the_others_alone():  # [002, 5.4]
    rng = np.random.default_rng(3)
    rows, y = rng.poisson(2.0, (90, 5)).astype(float), np.repeat([0, 1, 2], 30)
    old = y < 2
    for model in (MultinomialNB(), BernoulliNB(binarize=1.0), MixedNB("poisson")):
        before = model.fit(rows[old], y[old]).predict_joint_log_proba(rows)
        model.add_classes(rows[~old], y[~old])
        after = model.predict_joint_log_proba(rows)
        assert_allclose(after[:, :2] - before, np.log(60 / 90), rtol=1e-9)  # only the prior changed
        again = type(model)(**model.get_params()).fit(rows, y)
        assert_allclose(after, again.predict_joint_log_proba(rows), rtol=1e-12)


def test_a_missing_feature_is_one_that_was_never_there():  # [002, 5.4]
    data, y = load_iris(return_X_y=True)
    hidden = data.copy()
    hidden[:, 2] = np.nan
    rest = np.delete(data, 2, axis=1)
    for model in (GaussianNB(var_smoothing=0.0), MixedNB(var_smoothing=0.0)):
        expected = type(model)(var_smoothing=0.0).fit(rest, y).predict_log_proba(rest)
        assert_allclose(model.fit(data, y).predict_log_proba(hidden), expected, atol=1e-9)


def test_copies_of_a_column_mislead_naive_bayes_but_not_logistic_regression():  # [002, 5.4]
    data, y = clouds()
    copied = np.hstack([data, data[:, :1], data[:, :1], data[:, :1]])
    sure = [np.abs(GaussianNB().fit(t, y).predict_proba(t) - 0.5).mean() for t in (data, copied)]
    assert sure[1] > sure[0] + 0.01
    fits = [LogisticRegression(C=1e4).fit(t, y).predict_proba(t) for t in (data, copied)]
    assert_allclose(fits[0], fits[1], atol=1e-3)


def test_discriminative_models_win_with_more_rows():  # [002, 5.4]
    rng = np.random.default_rng(0)
    data = rng.normal(size=(4000, 2)) @ [[1.0, 0.95], [0.0, 0.3]]
    y = (data @ [1.0, -1.0] + 0.05 * rng.normal(size=4000) > 0).astype(int)
    naive, logistic = GaussianNB().fit(data, y), LogisticRegression(C=1e4).fit(data, y)
    assert logistic.score(data, y) > naive.score(data, y) + 0.05
