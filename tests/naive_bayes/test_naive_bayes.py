"""Naive Bayes of counts, categories and mixed columns, against scikit-learn and scipy."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import bernoulli, norm, poisson
from sklearn import naive_bayes as theirs
from sklearn.model_selection import cross_val_score

import tenfold
from tenfold import GaussianNB, testing
from tenfold.naive_bayes.categorical import CategoricalNB
from tenfold.naive_bayes.discrete import BernoulliNB, ComplementNB, MultinomialNB, PoissonNB
from tenfold.naive_bayes.mixed import MixedNB

COUNTING = [MultinomialNB, ComplementNB, BernoulliNB, PoissonNB]
ALL = [*COUNTING, CategoricalNB, GaussianNB]


def table(n=300, p=8, k=3, seed=0):
    """Counts whose rates depend on the class."""
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(k), rng.integers(0, k, n - k))
    return rng.poisson(rng.uniform(0.1, 3, (k, p))[y]).astype(float), y


def learned(model):
    """What a model learned of classes and columns."""
    skip = {"statistic_", "dtype_", "n_features_in_"}
    return {name: v for name, v in vars(model).items() if name.endswith("_") and name not in skip}


def enough(model):
    """Whether the model's own statistic would do for a fold."""
    return model._statistic_suffices(model.statistic_, 300, model.dtype_, [{}])


def same_model(a, b, X, rtol=1e-10):
    """Equal learned numbers and equal predictions."""
    for name, value in learned(b).items():
        if isinstance(value, list):
            for one, other in zip(getattr(a, name), value, strict=True):
                assert_allclose(one, other, rtol=rtol, err_msg=name)
        elif np.asarray(value).dtype.kind in "fiu":
            assert_allclose(getattr(a, name), value, rtol=rtol, atol=1e-12, err_msg=name)
    joint = b.predict_joint_log_proba(X)
    assert_allclose(a.predict_joint_log_proba(X), joint, rtol=rtol, atol=1e-9)
    assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-9)
    assert_array_equal(a.predict(X), b.predict(X))


OPTIONS = [
    {},
    {"alpha": 0.1},
    {"fit_prior": False},
    {"class_prior": [0.2, 0.3, 0.5]},
    {"alpha": np.linspace(0.1, 2, 8)},
]


@pytest.mark.parametrize(
    "place", [np.asarray, sparse.csr_matrix, sparse.csr_array, sparse.csc_array]
)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB", "BernoulliNB"])
def test_counts_are_scikit_learns(name, options, place):
    if name == "BernoulliNB" and np.ndim(options.get("alpha", 0)):
        return  # scikit-learn fails there
    X, y = table()
    w = np.random.default_rng(1).random(300)
    ours = {c.__name__: c for c in COUNTING}[name](**options).fit(place(X), y, w)
    its = getattr(theirs, name)(**options).fit(X, y, w)
    same_model(ours, its, X)
    assert_allclose(
        ours.predict_log_proba(place(X)), its.predict_log_proba(X), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize(
    ("family", "options"),
    [
        ("ComplementNB", {"norm": True}),
        ("BernoulliNB", {"binarize": 1.5}),
        ("CategoricalNB", {}),
        ("CategoricalNB", {"alpha": 0.01, "fit_prior": False}),
        ("CategoricalNB", {"min_categories": 20}),
        ("CategoricalNB", {"min_categories": np.arange(1, 9) * 3}),
    ],
)
def test_other_options_are_scikit_learns(family, options):
    X, y = table()
    ours = globals()[family](**options).fit(X, y)
    same_model(ours, getattr(theirs, family)(**options).fit(X, y), X)


def test_rates_are_poisson():
    X, y = table()
    model = PoissonNB(alpha=0.5).fit(X, y)
    for c in range(3):
        mine = X[y == c]
        rate = (mine.sum(axis=0) + 0.5) / (len(mine) + 0.5)
        assert_allclose(model.rate_[c], rate)
        expected = poisson.logpmf(X, rate).sum(axis=1) + np.log(len(mine) / 300)
        shared = poisson.logpmf(X, 1.0).sum(axis=1) + 8  # minus the sum of log x!
        assert_allclose(model.predict_joint_log_proba(X)[:, c], expected - shared, rtol=1e-9)


@pytest.mark.parametrize("family", ALL)
@pytest.mark.parametrize("place", [np.asarray, sparse.csr_array])
@settings(max_examples=10)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 300), max_size=4))
def test_any_order_of_any_batches_is_the_fit(family, place, seed, cuts):
    if place is not np.asarray and not family._sparse_ok:
        return
    X, y = table()
    w = np.random.default_rng(2).integers(0, 3, 300).astype(float)
    order = np.random.default_rng(seed).permutation(300)
    learner = family()
    for part in np.split(order, sorted(cuts)):
        if len(part) and w[part].any():
            learner.partial_fit(place(X[part]), y[part], [0, 1, 2], w[part])
    repeated = family().fit(np.repeat(X, w.astype(int), axis=0), np.repeat(y, w.astype(int)))
    same_model(learner, repeated, X)


@pytest.mark.parametrize("family", [*ALL, MixedNB])
def test_models_of_other_labels_merge(family):
    X, y = table()
    label = np.array(["x", "yy", "zzz"])[y]
    low, high = y < 2, y > 0
    merged = tenfold.merge(family().fit(X[low], label[low]), family().fit(X[high], label[high]))
    rows = np.append(np.flatnonzero(low), np.flatnonzero(high))
    same_model(merged, family().fit(X[rows], label[rows]), X)


@pytest.mark.parametrize("family", [*ALL, MixedNB])
def test_classes_may_be_added(family):
    X, y = table()
    grown = family().fit(X[y != 1], y[y != 1]).add_classes(X[y == 1], y[y == 1])
    same_model(grown, family().fit(X, y), X)


@pytest.mark.parametrize("family", [*ALL, MixedNB])
def test_an_announced_class_without_rows_is_never_predicted(family):
    X, y = table()
    model = family().partial_fit(X[y < 2], y[y < 2], [0, 1, 2])
    assert set(model.predict(X)) == {0, 1}
    assert np.isfinite(model.predict_proba(X)).all()
    assert not enough(model)
    model.partial_fit(X[y == 2], y[y == 2])
    assert enough(model)
    same_model(model, family().fit(X, y), X)


@pytest.mark.parametrize("family", [MultinomialNB, BernoulliNB, PoissonNB, CategoricalNB])
def test_without_smoothing_the_impossible_is_impossible(family):
    X, y = table(40, 4)
    X[y == 0, 0] = 0  # class 0 never has the first column
    X[y == 1, 1] = np.maximum(X[y == 1, 1], 1)  # class 1 always has the second
    model = family(alpha=0.0).fit(X, y)
    tiny = family(alpha=1e-12).fit(X, y)
    p, limit = model.predict_proba(X), tiny.predict_proba(X)
    assert np.isfinite(p).all()
    assert_array_equal(p[(X[:, 0] > 0), 0], 0)
    if family is BernoulliNB:
        assert_array_equal(p[X[:, 1] == 0, 1], 0)
    assert_allclose(p, limit, atol=1e-6)
    assert_allclose(model.predict_proba(sparse.csr_array(X)) if family._sparse_ok else p, p)


@pytest.mark.parametrize("family", [MultinomialNB, ComplementNB, PoissonNB, CategoricalNB])
def test_negative_numbers_are_refused(family):  # [001, 2.7]
    X, y = table()
    X[17, 3] = -1
    with pytest.raises(
        ValueError, match=f"Negative values in data passed to {family.__name__}.*column 3"
    ):
        family().fit(X, y)
    if family._sparse_ok:
        with pytest.raises(ValueError, match="row 17, column 3"):
            family().fit(sparse.csr_array(X), y)


def test_real_numbers_count_too():  # [001, 2.7]
    X, y = table()
    X *= np.random.default_rng(0).random(X.shape)
    model = MultinomialNB(alpha=0.0).fit(X, y)
    for c in range(3):
        assert_allclose(np.exp(model.feature_log_prob_[c]), X[y == c].sum(0) / X[y == c].sum())


def test_a_category_never_seen_says_nothing():
    X, y = table(60, 3)
    model = CategoricalNB().fit(X, y)
    new = X[:1].copy()
    new[0, 1] = 1e30
    rest = CategoricalNB().fit(X[:, [0, 2]], y)
    assert_allclose(model.predict_proba(new), rest.predict_proba(new[:, [0, 2]]))
    with pytest.raises(ValueError, match=r"column 1.*1e\+30.*OrdinalEncoder"):
        CategoricalNB().fit(new, [0])


def test_two_categories_are_bernoulli():  # [002, 5.3]
    X, y = table()
    X = (X > 0).astype(float)
    both = [family(alpha=0.3).fit(X, y).predict_proba(X) for family in (CategoricalNB, BernoulliNB)]
    assert_allclose(*both, atol=1e-12)


# -------------------------------------------------------------------------------------------- mixed

KINDS = ["gaussian", "poisson", "bernoulli", "categorical", "categorical", "gaussian"]


def people(n=400, seed=0):
    """Rows with columns of all kinds."""
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(3), rng.integers(0, 3, n - 3))
    columns = [
        rng.normal(y * 0.5, 1 + y),
        rng.poisson(1 + y),
        rng.random(n) < 0.2 + 0.3 * y,
        rng.integers(0, 2 + y),
        rng.integers(0, 5, n),
        rng.normal(size=n) + 100,
    ]
    return np.stack(columns, axis=1).astype(float), y


def test_mixed_scores_are_the_sum_of_those_of_each_kind():  # [002, 5.3]
    X, y = people()
    mixed = MixedNB(KINDS).fit(X, y).predict_joint_log_proba(X)
    prior = np.log(np.bincount(y) / len(y))
    parts = [
        (GaussianNB(), [0, 5]),
        (PoissonNB(), [1]),
        (BernoulliNB(), [2]),
        (CategoricalNB(), [3, 4]),
    ]
    alone = [m.fit(X[:, c], y).predict_joint_log_proba(X[:, c]) - prior for m, c in parts]
    assert_allclose(mixed, np.sum(alone, axis=0) + prior, rtol=1e-9)


@pytest.mark.parametrize(
    ("kind", "family"),
    [
        ("gaussian", GaussianNB),
        ("poisson", PoissonNB),
        ("bernoulli", BernoulliNB),
        ("categorical", CategoricalNB),
    ],
)
def test_one_kind_is_the_model_of_that_kind(kind, family):
    X, y = table()
    expected = family().fit(X, y).predict_joint_log_proba(X)
    for kinds in (kind, [kind] * 8):
        assert_allclose(MixedNB(kinds).fit(X, y).predict_joint_log_proba(X), expected, rtol=1e-9)


def with_holes(X, share=0.3, seed=5):
    """The same with entries missing at random."""
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def test_what_is_missing_is_left_out_of_fit_and_prediction():
    X, y = people()
    holes = with_holes(X)
    model = MixedNB(KINDS, var_smoothing=0.0).fit(holes, y)
    expected = np.tile(np.log(np.bincount(y) / len(y)), (len(X), 1))
    for c in range(3):
        for j, kind in enumerate(KINDS):
            seen = holes[(y == c) & ~np.isnan(holes[:, j]), j]
            x, n = holes[:, j], len(seen)
            if kind == "gaussian":
                said = norm.logpdf(x, seen.mean(), seen.std())
            elif kind == "poisson":
                said = poisson.logpmf(x, (seen.sum() + 1) / (n + 1)) - poisson.logpmf(x, 1) - 1
            elif kind == "bernoulli":
                said = bernoulli.logpmf(np.nan_to_num(x), (seen.sum() + 1) / (n + 2))
            else:
                m = int(np.nanmax(holes[:, j])) + 1
                counts = np.bincount(seen.astype(int), minlength=m) + 1
                said = np.log(counts / (n + m))[np.nan_to_num(x).astype(int)]
            expected[:, c] += np.where(np.isnan(x), 0, said)
    assert_allclose(model.predict_joint_log_proba(holes), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("model", [GaussianNB(), MixedNB(KINDS)], ids=repr)
def test_missing_entries_in_parts(model):
    X, y = people()
    holes = with_holes(X)
    fresh = lambda: type(model)(**model.get_params())  # noqa: E731
    whole = fresh().fit(holes, y)
    parts = tenfold.merge(fresh().fit(holes[:150], y[:150]), fresh().fit(holes[150:], y[150:]))
    assert_allclose(parts.predict_proba(holes), whole.predict_proba(holes), atol=1e-10)
    weighed = fresh().fit(holes, y, np.arange(400) % 3)
    twice = fresh().fit(
        np.repeat(holes, np.arange(400) % 3, axis=0), np.repeat(y, np.arange(400) % 3)
    )
    assert_allclose(weighed.predict_proba(holes), twice.predict_proba(holes), atol=1e-10)


IN_FILES = {"only": ("in_npy", "in_parquet", "in_csv", "in_arrow_table")}


@pytest.mark.parametrize("model", [GaussianNB(), MixedNB()], ids=repr)
@pytest.mark.parametrize(
    "law",
    [
        testing.check_statistics_merge,
        testing.check_models_merge,
        testing.check_storage_invariance,
        testing.check_thread_invariance,
        testing.check_weights_as_repetitions,
    ],
)
def test_laws_hold_with_missing_entries(model, law):
    whole = testing.make_dataset

    def holes(*args, **options):
        X, y = whole(*args, **options)
        return with_holes(X, 0.1).astype(X.dtype), y

    with mock.patch(f"{law.__module__}.make_dataset", holes):
        law(model, **(IN_FILES if law is testing.check_storage_invariance else {}))


def test_nulls_of_a_table_are_missing():
    import pyarrow as pa

    X, y = people()
    holes = with_holes(X)
    columns = {f"c{j}": pa.array(holes[:, j], from_pandas=True) for j in range(6)}
    table = pa.table(columns | {"y": y})
    assert sum(table[name].null_count for name in columns) == np.isnan(holes).sum()
    model = MixedNB(KINDS).fit(holes, y)
    other = MixedNB(KINDS).fit(table, "y")
    assert_array_equal(other.predict_proba(table.drop_columns("y")), model.predict_proba(holes))


def test_a_class_that_never_shows_a_column():
    X, y = people()
    X[y == 1, 0] = np.nan
    for model in (GaussianNB(), MixedNB(KINDS)):
        model.fit(X, y)
        assert np.isfinite(model.predict_log_proba(X)).all()
    model = GaussianNB(var_smoothing=0.0).fit(X, y)
    assert_allclose(model.theta_[1, 0], np.nanmean(X[:, 0]))
    assert_allclose(model.var_[1, 0], np.nanvar(X[:, 0]))


def test_nothing_but_missing_entries_leaves_the_priors():
    X, y = people()
    for model in (GaussianNB(), MixedNB(KINDS)):
        p = model.fit(X, y).predict_proba(np.full((1, 6), np.nan))
        assert_allclose(p, [np.bincount(y) / len(y)])


def test_infinity_is_not_missing():
    X, y = people()
    X[3, 5] = np.inf
    for model in (GaussianNB(), MixedNB(KINDS)):
        with pytest.raises(ValueError, match=r"infinity.*column"):
            model.fit(X, y)


def test_wrong_kinds_say_so():
    X, y = people()
    for wrong in (["gaussian"] * 5, ["gaussian"] * 5 + ["gamma"]):
        with pytest.raises(ValueError, match="6 columns"):
            MixedNB(wrong).fit(X, y)
    X[8, 1] = -1
    with pytest.raises(ValueError, match="row 8, column 1"):
        MixedNB(KINDS).fit(X, y)


# ----------------------------------------------------------------------------------------- sampling


@pytest.mark.parametrize(
    "family", [MultinomialNB, BernoulliNB, PoissonNB, CategoricalNB, GaussianNB]
)
def test_a_model_learns_itself_from_its_sample(family):  # [002, 5.2; 003, 15.3; 004, 3.6]
    X, y = table(600)
    model = family(alpha=0.1) if family is not GaussianNB else family()
    model.fit(X, y)
    new_X, new_y = model.sample(60_000, random_state=3)
    again = type(model)(**model.get_params()).fit(new_X, new_y)
    assert_array_equal(new_X, model.sample(60_000, random_state=3)[0])
    assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=0.1)


def test_mixed_samples():
    X, y = people()
    model = MixedNB(KINDS).fit(X, y)
    again = MixedNB(KINDS).fit(*model.sample(60_000, random_state=0))
    assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=0.05)


def test_documents_have_the_length_that_is_asked_for():
    X, y = table()
    model = MultinomialNB().fit(X, y)
    assert_array_equal(model.sample(50, random_state=0, length=7)[0].sum(axis=1), 7)
    new_X, new_y = model.sample(50, random_state=0)
    lengths = np.rint([X[y == c].sum() / (y == c).sum() for c in range(3)])
    assert_array_equal(new_X.sum(axis=1), lengths[new_y])


def test_the_complement_tells_no_story():
    model = ComplementNB().fit(*table())
    assert not hasattr(model, "sample")
    with pytest.raises(ValueError, match="at least one"):
        MultinomialNB().fit(*table()).sample(0)


def test_sparse_and_dense_learn_the_same_over_many_chunks():
    X, y = table(10_000, 12)
    for family in COUNTING:
        for dtype in (np.float64, np.float32):
            dense = family().fit(X.astype(dtype), y)
            thin = family().fit(sparse.csr_array(X.astype(dtype)), y)
            for name, value in learned(dense).items():
                assert_array_equal(getattr(thin, name), value, err_msg=name)
            assert dense.predict_proba(X.astype(dtype)).dtype == dtype


@pytest.mark.parametrize("family", [*ALL, MixedNB])
@pytest.mark.parametrize("place", [np.asarray, sparse.csr_array])
def test_one_walk_serves_all_folds(family, place):
    if place is not np.asarray and not family._sparse_ok:
        return
    X, y = table()
    ours = tenfold.cross_validate(family(), place(X), y, folds=5)["test_score"]
    assert_allclose(ours, cross_val_score(family(), X, y, cv=5), atol=1e-12)
