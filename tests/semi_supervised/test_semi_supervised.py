"""Rows without labels: self-training, label propagation and EM against formulas and plain loops."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import semi_supervised as theirs
from sklearn.datasets import load_digits, load_iris, make_moons

import tenfold
from tenfold import (
    EMClassifier,
    GaussianNB,
    LabelPropagation,
    LabelSpreading,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    MultinomialNB,
    SelfTrainingClassifier,
)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    known = np.where(np.arange(150) % 10 == 0, y, -1)
    return X, y, known


def harmonic(W, known, classes):
    """The fixed point of label propagation by one linear system."""
    P = W / W.sum(axis=1, keepdims=True)
    labeled = known != -1
    F = (known[:, None] == classes).astype(float)
    A = np.eye((~labeled).sum()) - P[np.ix_(~labeled, ~labeled)]
    F[~labeled] = np.linalg.solve(A, P[np.ix_(~labeled, labeled)] @ F[labeled])
    return F / F.sum(axis=1, keepdims=True)


def test_propagation_ends_in_the_harmonic_function(iris):
    X, _, known = iris
    model = LabelPropagation(gamma=1.0, tol=1e-10, max_iter=10_000).fit(X, known)
    W = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    expected = harmonic(W, known, model.classes_)
    np.testing.assert_allclose(model.label_distributions_, expected, atol=1e-9)
    assert model.converged_
    assert not model.unreached_.any()


def test_spreading_ends_in_its_closed_form(iris):
    X, _, known = iris
    model = LabelSpreading(gamma=1.0, alpha=0.3, tol=1e-12, max_iter=1000).fit(X, known)
    W = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    np.fill_diagonal(W, 0)
    root = 1 / np.sqrt(W.sum(axis=1))
    S = root[:, None] * W * root
    Y = (known[:, None] == model.classes_).astype(float)
    F = 0.7 * np.linalg.solve(np.eye(150) - 0.3 * S, Y)
    np.testing.assert_allclose(
        model.label_distributions_, F / F.sum(axis=1, keepdims=True), atol=1e-9
    )


@pytest.mark.parametrize("kernel", ["rbf", "knn"])
@pytest.mark.parametrize("name", ["LabelPropagation", "LabelSpreading"])
def test_graphs_agree_with_scikit_learn(name, kernel, iris):
    X, _, known = iris
    X = X + np.random.default_rng(0).normal(size=X.shape) / 1000  # no ties
    params = {"kernel": kernel, "gamma": 2.0, "n_neighbors": 9, "max_iter": 500}
    ours = getattr(tenfold, name)(**params).fit(X, known)
    other = getattr(theirs, name)(**params).fit(X, known)
    np.testing.assert_allclose(ours.label_distributions_, other.label_distributions_, atol=1e-12)
    np.testing.assert_allclose(ours.predict_proba(X), other.predict_proba(X), atol=1e-12)
    assert ours.n_iter_ == other.n_iter_


def test_rows_without_a_path_to_a_label_are_named():
    X = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [9.0], [9.1], [9.2]])
    y = np.array([0, -1, -1, -1, 1, -1, -1, -1, -1, -1])
    model = LabelPropagation(kernel="knn", n_neighbors=3)
    with pytest.warns(UserWarning, match="3 rows are connected to no row with a label"):
        model.fit(X, y)
    assert np.flatnonzero(model.unreached_).tolist() == [7, 8, 9]


def test_a_query_far_from_all_rows_has_the_shares_of_all():
    X = np.array([[0.0], [0.1], [0.9], [1.0]])
    model = LabelPropagation(gamma=20).fit(X, [0, -1, -1, 1])
    p = model.predict_proba([[1e6]])
    np.testing.assert_allclose(p[0], model.label_distributions_.mean(axis=0))


def test_few_labels_suffice_where_the_rows_lie_on_two_curves():
    X, y = make_moons(300, noise=0.05, random_state=0)
    known = np.full(300, -1)
    known[[np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]]] = 0, 1
    model = LabelPropagation(gamma=100, max_iter=20_000).fit(X, known)
    assert np.mean(model.transduction_ == y) > 0.98


def test_self_training_is_scikit_learns_loop(iris):
    X, _, known = iris
    ours = SelfTrainingClassifier(LinearDiscriminantAnalysis(), threshold=0.9).fit(X, known)
    other = theirs.SelfTrainingClassifier(LinearDiscriminantAnalysis(), threshold=0.9).fit(X, known)
    assert np.array_equal(ours.transduction_, other.transduction_)
    assert np.array_equal(ours.labeled_iter_, other.labeled_iter_)


def test_em_climbs_and_ends_where_its_equations_hold(iris):
    X, _, known = iris
    model = EMClassifier(GaussianNB(var_smoothing=0.0), tol=1e-13, max_iter=2000).fit(X, known)
    rises = np.diff(model.history_["objective"])
    assert (rises >= -1e-9).all()
    assert model.converged_
    shares = model.predict_proba(X)
    shares[known != -1] = known[known != -1, None] == model.classes_
    np.testing.assert_allclose(model.estimator_.class_prior_, shares.mean(axis=0), atol=1e-5)
    means = shares.T @ X / shares.sum(axis=0)[:, None]
    np.testing.assert_allclose(model.estimator_.theta_, means, atol=1e-4)


def test_em_without_labels_missing_or_weight_is_the_classifier(iris):
    X, y, known = iris
    plain = GaussianNB().fit(X, y)
    assert np.array_equal(EMClassifier(GaussianNB()).fit(X, y).estimator_.theta_, plain.theta_)
    some = known != -1
    only = GaussianNB(var_smoothing=0.0).fit(X[some], y[some])
    none = EMClassifier(GaussianNB(var_smoothing=0.0), unlabeled_weight=0.0).fit(X, known)
    np.testing.assert_allclose(none.estimator_.theta_, only.theta_, rtol=1e-12)


def test_em_resumes_from_a_checkpoint_with_the_same_bits(iris, tmp_path):
    X, _, known = iris
    whole = EMClassifier(GaussianNB(var_smoothing=1e-3)).fit(X, known)
    path = tmp_path / "fit.ckpt"

    def fit(*, then_stop=False):
        model = EMClassifier(GaussianNB(var_smoothing=1e-3)).fit(X, known)
        if then_stop:  # the loop is over, the program is not
            raise KeyboardInterrupt
        return model

    with pytest.raises(KeyboardInterrupt), tenfold.checkpoint(path, every=0):
        fit(then_stop=True)
    with tenfold.checkpoint(path, every=0):
        resumed = fit()
    assert np.array_equal(whole.estimator_.theta_, resumed.estimator_.theta_)
    assert whole.n_iter_ == resumed.n_iter_


def test_a_second_fit_forgets_the_first(iris):
    X, y, known = iris
    with pytest.warns(match="did not converge"):
        model = EMClassifier(GaussianNB(), max_iter=1).fit(X, known)
    assert model.fit(X, y).converged_
    assert model.n_iter_ == 0


def test_unlabeled_documents_help_naive_bayes():
    X, y = load_digits(return_X_y=True)
    train, test = np.arange(0, 1400), np.arange(1400, 1797)
    known = np.where(np.arange(1400) < 60, y[train], -1)
    alone = MultinomialNB().fit(X[:60], y[:60]).score(X[test], y[test])
    model = EMClassifier(MultinomialNB()).fit(X[train], known)
    assert model.score(X[test], y[test]) > alone + 0.02
    again = EMClassifier(MultinomialNB()).fit(sparse.csr_array(X[train]), known)
    assert np.array_equal(again.transduction_, model.transduction_)


def test_weights_are_repetitions_in_em(iris):
    X, _, known = iris
    w = 1 + np.arange(150) % 3
    weighted = EMClassifier(GaussianNB(var_smoothing=0.0)).fit(X, known, w)
    repeated = EMClassifier(GaussianNB(var_smoothing=0.0)).fit(
        np.repeat(X, w, axis=0), np.repeat(known, w)
    )
    np.testing.assert_allclose(weighted.estimator_.theta_, repeated.estimator_.theta_, rtol=1e-7)


@pytest.mark.parametrize("missing", [None, np.nan, -1])
@pytest.mark.parametrize(
    "model",
    [
        SelfTrainingClassifier(LogisticRegression()),
        EMClassifier(GaussianNB(var_smoothing=1e-3)),
        LabelPropagation(),
        LabelSpreading(),
    ],
    ids=["self-training", "em", "propagation", "spreading"],
)
def test_words_with_any_mark_for_no_label(model, missing, iris):
    X, _, known = iris
    words = np.array(["setosa", "versicolor", "virginica", missing], object)[known]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model.fit(X, words).predict(X)
    assert set(found) == {"setosa", "versicolor", "virginica"}


@pytest.mark.parametrize("model", [LabelSpreading(), SelfTrainingClassifier(GaussianNB())])
def test_labels_that_would_vanish_are_named(model):
    with pytest.warns(UserWarning, match="write the classes -1 and 1 as 0 and 1"):
        model.fit([[0.0], [1.0], [2.0]], [-1, 1, 1])
    with pytest.raises(ValueError, match="no row has a label"):
        model.fit([[0.0], [1.0], [2.0]], [-1, -1, -1])
    for mark in (-1, np.nan):  # NumPy makes text of them
        with pytest.raises(ValueError, match=f"the label '{mark}' is text"):
            model.fit([[0.0], [1.0], [2.0]], np.array(["a", "b", mark]))


def test_minus_one_is_no_class_and_the_fit_warns_of_it():
    X, y = np.array([[0.0], [0.1], [2.0], [2.1]]), [-1, -1, 1, 1]
    with pytest.warns(UserWarning, match="so write the classes -1 and 1 as 0 and 1"):
        model = SelfTrainingClassifier(GaussianNB()).fit(X, y)
    assert model.classes_.tolist() == [1]
    with pytest.warns(UserWarning, match="no unlabeled samples"):
        model = SelfTrainingClassifier(GaussianNB()).fit(X, [0, 0, 1, 1])
    assert model.predict(X).tolist() == [0, 0, 1, 1]


def test_models_are_saved(tmp_path, iris):
    X, _, known = iris
    for model in (
        LabelPropagation(kernel="knn", max_iter=2000),
        LabelSpreading(gamma=1.0),
        SelfTrainingClassifier(GaussianNB()),
        EMClassifier(GaussianNB(var_smoothing=1e-3)),
    ):
        model.fit(X, known).save(tmp_path / "model.tenfold")
        again = tenfold.load(tmp_path / "model.tenfold")
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X)), type(model)


def test_em_says_that_it_did_not_converge(iris):
    X, _, known = iris
    with pytest.warns(match="did not converge in 1 iterations"):
        model = EMClassifier(GaussianNB(), max_iter=1).fit(X, known)
    assert not model.converged_


def test_em_knows_the_names_of_columns(iris):
    pandas = pytest.importorskip("pandas")
    X, _, known = iris
    table = pandas.DataFrame(X, columns=list("abcd"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = EMClassifier(GaussianNB(var_smoothing=1e-3)).fit(table, known)
        assert len(model.predict(table)) == len(X)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[list("badc")])


def test_a_model_without_a_joint_density_is_refused(iris):
    with pytest.raises(ValueError, match="predict_joint_log_proba"):
        EMClassifier(LogisticRegression()).fit(iris[0], iris[2])
