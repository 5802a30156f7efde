"""Missing entries of naive Bayes: left out of fit and prediction, as if the cell did not exist."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from tenfold import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MixedNB,
    MultinomialNB,
    PoissonNB,
    feature_contributions,
)

MODELS = [
    MultinomialNB(),
    MultinomialNB(alpha=0.1),
    ComplementNB(),
    ComplementNB(norm=True),
    BernoulliNB(),
    BernoulliNB(binarize=1.5),
    PoissonNB(),
    CategoricalNB(),
    GaussianNB(var_smoothing=0.0),
    MixedNB("poisson"),
]
INDEPENDENT = [m for m in MODELS if not isinstance(m, MultinomialNB | ComplementNB)]


def counts(seed=0, n=200, p=5, k=3):
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(k), rng.integers(0, k, n - k))
    return rng.poisson(rng.uniform(0.4, 4, (k, p))[y]).astype(float), y


def with_holes(X, share=0.2, seed=1):
    holes = np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)
    holes[0] = X[0]
    return holes


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("gone", [[2], [0, 3], [0, 1, 2]])
def test_a_missing_cell_counts_as_a_column_that_does_not_exist(model, gone):
    X, y = counts()
    there = np.setdiff1d(np.arange(X.shape[1]), gone)
    rest = type(model)(**model.get_params()).fit(X[:, there], y)
    holes = X[:40].copy()
    holes[:, gone] = np.nan
    whole = model.fit(X, y)
    assert_allclose(whole.predict_proba(holes), rest.predict_proba(holes[:, there]), rtol=1e-10)
    if model in INDEPENDENT:
        joint = rest.predict_joint_log_proba(holes[:, there])
        assert_allclose(whole.predict_joint_log_proba(holes), joint, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("model", INDEPENDENT, ids=str)
def test_a_column_learns_from_the_rows_that_have_it(model):
    X, y = counts()
    holes = with_holes(X)
    fitted = type(model)(**model.get_params()).fit(holes, y)
    for j in range(X.shape[1]):
        there = ~np.isnan(holes[:, j])
        alone = type(model)(**model.get_params()).fit(holes[there][:, [j]], y[there])
        for name in ("rate_", "theta_", "var_", "mean_"):
            if hasattr(alone, name):
                assert_allclose(getattr(fitted, name)[:, j], getattr(alone, name)[:, 0])
        if hasattr(alone, "feature_log_prob_") and not isinstance(model, MixedNB):
            logs = fitted.feature_log_prob_
            mine = logs[j] if isinstance(logs, list) else logs[:, j]
            theirs = alone.feature_log_prob_
            assert_allclose(mine, theirs[0] if isinstance(theirs, list) else theirs[:, 0])


@pytest.mark.parametrize("model", [MultinomialNB(alpha=0.5), ComplementNB(alpha=0.5)], ids=str)
def test_counts_are_scaled_up_to_all_rows_of_a_class(model):
    X, y = counts()
    holes = with_holes(X)
    fitted = model.fit(holes, y)
    rates = np.array([np.nanmean(holes[y == c], axis=0) * (y == c).sum() for c in range(3)])
    if isinstance(model, ComplementNB):
        rates = rates.sum(axis=0) - rates
    shares = (rates + 0.5) / (rates + 0.5).sum(axis=1, keepdims=True)
    sign = -1 if isinstance(model, ComplementNB) else 1
    assert_allclose(fitted.feature_log_prob_, sign * np.log(shares))


def test_scaled_counts_are_not_biased_by_what_is_missing():
    rng = np.random.default_rng(0)
    tau = np.array([0.5, 0.3, 0.2])
    X = rng.multinomial(20, tau, 20_000).astype(float)
    X[rng.random(len(X)) < 0.7, 0] = np.nan
    model = MultinomialNB(alpha=0).fit(X, np.zeros(len(X)))
    assert_allclose(np.exp(model.feature_log_prob_[0]), tau, atol=0.005)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_nothing_missing_changes_no_bit(model):
    X, y = counts()
    expected = type(model)(**model.get_params()).fit(X, y)
    with_one_more = type(model)(**model.get_params()).fit(
        np.vstack([X, np.full((1, 5), np.nan)]),
        np.append(y, 0),
        sample_weight=np.append(np.ones(200), 0),
    )
    joint = expected.predict_joint_log_proba(X)
    assert_allclose(with_one_more.predict_joint_log_proba(X), joint, rtol=1e-12, atol=1e-12)
    again = type(model)(**model.get_params()).fit(X, y).predict_joint_log_proba(X)
    assert_array_equal(again, joint)


@pytest.mark.parametrize("family", [MultinomialNB, ComplementNB, BernoulliNB, PoissonNB])
def test_stored_nan_of_sparse_rows_is_missing(family):
    X, y = counts()
    holes = with_holes(X)
    dense, thin = family().fit(holes, y), family().fit(sparse.csr_array(holes), y)
    assert_allclose(
        thin.predict_joint_log_proba(sparse.csr_array(holes)),
        dense.predict_joint_log_proba(holes),
        rtol=1e-10,
        atol=1e-12,
    )


@pytest.mark.parametrize(
    "model", [MultinomialNB(alpha=0), BernoulliNB(alpha=0), PoissonNB(alpha=0)]
)
def test_what_is_impossible_stays_so_beside_missing_cells(model):
    X = np.array([[2.0, 0, 1], [1, 0, 2], [0, 3, 1], [0, 1, 2]])
    fitted = model.fit(X, [0, 0, 1, 1])
    joint = fitted.predict_joint_log_proba([[1, np.nan, 1], [np.nan, 1, 1], [np.nan, np.nan, 1]])
    assert_array_equal(np.isneginf(joint), [[False, True], [True, False], [False, False]])


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_contributions_of_missing_cells_are_zero(model):
    X, y = counts()
    fitted = model.fit(X, y)
    x = X[3].copy()
    x[[1, 4]] = np.nan
    why = feature_contributions(fitted, x)
    assert_array_equal(why.contributions[:, [1, 4]], 0)
    log_p = fitted.predict_log_proba(x[None])[0]
    assert_allclose(why.scores, log_p - log_p.mean(), rtol=1e-8)


@pytest.mark.parametrize("family", [MultinomialNB, ComplementNB, PoissonNB, CategoricalNB])
def test_negative_numbers_are_refused_at_prediction_too(family):
    X, y = counts()
    model = family().fit(X, y)
    bad = X[:3].copy()
    bad[1, 2] = -5
    for method in ("predict", "predict_proba", "predict_joint_log_proba"):
        with pytest.raises(ValueError, match=r"Negative values.*row 1, column 2"):
            getattr(model, method)(bad)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_infinity_is_not_a_missing_value(model):
    X, y = counts()
    model.fit(X, y)
    bad = X.copy()
    bad[1, 2] = np.inf
    with pytest.raises(ValueError, match=r"infinity: row 1, column 2"):
        model.predict_proba(bad)
    with pytest.raises(ValueError, match=r"column 2"):
        type(model)(**model.get_params()).fit(bad, y)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("family", [MultinomialNB, BernoulliNB, PoissonNB, ComplementNB])
def test_the_score_is_a_linear_log_ratio(family, classes):
    X, y = counts(k=classes)
    model = family(class_prior=np.arange(1, classes + 1) / sum(range(1, classes + 1))).fit(X, y)
    rows = (X > 0).astype(float) if family is BernoulliNB else X
    score = rows @ model.coef_.T + model.intercept_
    log_p = model.predict_joint_log_proba(X)
    expected = log_p[:, 1:] - log_p[:, :1] if classes == 2 else log_p
    assert model.coef_.shape == (1 if classes == 2 else 3, 5)
    assert_allclose(score, expected, rtol=1e-9, atol=1e-9)
    if family is MultinomialNB and classes == 2:
        assert_allclose(model.intercept_, np.log(2))  # the log-odds of the priors
