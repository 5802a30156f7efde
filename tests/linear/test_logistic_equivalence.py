"""Logistic regression at its default tolerance: the form of the rows does not matter."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from tenfold import LogisticRegression


def table(n, p, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.3, (n, p)).astype(float)
    scores = X @ rng.normal(size=(p, n_classes)) + rng.gumbel(size=(n, n_classes))
    return X, scores.argmax(axis=1), rng


# Newton's method, L-BFGS with and without a preconditioner, the softmax loop; wide and narrow
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("n", "p"), [(60, 4), (1000, 100), (3000, 40), (100, 300), (9000, 20)])
@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
def test_dense_rows_and_sparse_rows_have_the_same_coefficients(n, p, n_classes, solver):
    X, y, _ = table(n, p, n_classes)
    dense = LogisticRegression(solver=solver).fit(X, y)
    for form in (sparse.csr_array, sparse.csc_array):
        model = LogisticRegression(solver=solver).fit(form(X), y)
        assert_allclose(model.coef_, dense.coef_, atol=1e-6)
        assert_allclose(model.intercept_, dense.intercept_, atol=1e-6)
        assert model.n_iter_ == dense.n_iter_


# repeated, the rows outnumber the columns, or a bound by which the method is chosen; with nearly
# as many columns as rows, steps of L-BFGS amplify the rounding of sums
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    ("n", "p", "C", "atol"),
    [
        (60, 4, 1, 1e-6),
        (60, 4, 100, 1e-6),
        (400, 100, 1, 1e-6),
        (400, 100, 100, 1e-6),
        (4000, 10, 1, 1e-6),
        (120, 200, 1, 1e-6),
        (120, 200, 100, 1e-4),
    ],
)
def test_weights_and_repeated_rows_have_the_same_coefficients(n, p, C, atol, n_classes):
    X, y, rng = table(n, p, n_classes)
    w = rng.integers(0, 5, n)
    weighted = LogisticRegression(C=C, max_iter=300).fit(X, y, sample_weight=w)
    repeated = LogisticRegression(C=C, max_iter=300).fit(X.repeat(w, axis=0), y.repeat(w))
    assert_allclose(weighted.coef_, repeated.coef_, atol=atol)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=atol)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("n", "p"), [(60, 4), (1000, 100), (9000, 20)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_of_classes_and_of_their_rows_have_the_same_coefficients(n, p, n_classes, form):
    X, y, _ = table(n, p, n_classes)
    weights = dict(enumerate([1.5, 0.25, 3.0][:n_classes]))
    of_rows = np.array([weights[label] for label in y])
    for solver in ("auto", "lbfgs"):
        classes = LogisticRegression(class_weight=weights, solver=solver).fit(form(X), y)
        rows = LogisticRegression(solver=solver).fit(form(X), y, sample_weight=of_rows)
        assert_allclose(classes.coef_, rows.coef_, atol=1e-6)
