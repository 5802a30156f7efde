"""Plain arrays skip scikit-learn's checks: whatever these would say must still be said."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_digits
from sklearn.preprocessing import scale

from tenfold import PCA, GaussianNB, KMeans, LinearRegression, LogisticRegression, testing
from tenfold.base import Estimator
from tenfold.base.estimator import _is_plain_target

rng = np.random.default_rng(0)
X = rng.standard_normal((30, 3))
y = X @ [1.0, 2.0, 3.0]
BAD_TARGETS = {
    "none": None,
    "too short": y[:-1],
    "NaN": np.where(np.arange(30) == 4, np.nan, y),
    "infinity": np.where(np.arange(30) == 4, np.inf, y),
    "complex": y + 1j,
}
BAD_ROWS = {
    "one dimension": X[:, 0],
    "three dimensions": X[None],
    "no rows": X[:0],
    "no columns": X[:, :0],
    "complex": X + 1j,
    "words": np.full((30, 3), "word"),
}


def said(call) -> str:
    """The first line of the error that a call raises."""
    with pytest.raises((ValueError, TypeError)) as raised:
        call()
    return str(raised.value).splitlines()[0]


def assert_same_words(model, rows, target, monkeypatch) -> None:
    """The error must be that of a fit that calls scikit-learn's checks always."""
    words = said(lambda: model().fit(rows, target))
    monkeypatch.setattr(Estimator, "_is_plain", lambda *_, **__: False)
    assert words == said(lambda: model().fit(rows, target))


@pytest.mark.parametrize("bad", BAD_TARGETS)
def test_bad_targets_are_refused_in_scikit_learns_words(bad, monkeypatch):
    assert_same_words(LinearRegression, X, BAD_TARGETS[bad], monkeypatch)


@pytest.mark.parametrize("bad", BAD_ROWS)
@pytest.mark.parametrize("model", [PCA, KMeans, GaussianNB])
def test_bad_rows_are_refused_in_scikit_learns_words(model, bad, monkeypatch):
    rows = BAD_ROWS[bad]
    target = np.zeros(len(rows), int) if model is GaussianNB else None
    assert_same_words(model, rows, target, monkeypatch)


def test_a_column_of_targets_still_warns():
    with pytest.warns(Warning, match="column-vector y was passed"):
        LogisticRegression().fit(X, (y > 0).astype(int)[:, None])


@pytest.mark.parametrize("kind", ["i1", "u2", "i8", "?", "f4", "f8"])
def test_numbers_are_plain_targets(kind):
    assert _is_plain_target(np.ones(4, kind), 4)
    assert not _is_plain_target(np.ones(4, kind), 5)
    assert not _is_plain_target(np.ones((4, 1), kind), 4)


@pytest.mark.parametrize("target", [[1, 2], np.array(["a", "b"]), np.array([1, None])])
def test_other_targets_are_not(target):
    assert not _is_plain_target(target, 2)


def test_a_fit_to_an_array_forgets_the_names_of_a_table():
    model = LinearRegression().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    model.fit(X[:, :2], y)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 2


def test_checked_and_plain_arrays_give_the_same_bits():
    plain = LinearRegression().fit(X, y)
    checked = LinearRegression().fit(X.tolist(), y.tolist())
    assert plain.coef_.tobytes() == checked.coef_.tobytes()


@pytest.mark.parametrize(
    "model", list(testing.all_models()), ids=lambda model: type(model).__name__
)
def test_parameters_are_those_that_inspect_finds(model):
    found = BaseEstimator._get_param_names.__func__(type(model))
    assert model._get_param_names() == found


def test_a_constructor_of_any_parameters_is_refused_by_scikit_learn():
    class Loose(Estimator):
        def __init__(self, *values):
            self.values = values

    with pytest.raises(RuntimeError, match="varargs"):
        Loose().get_params()


def test_softmax_on_few_rows_is_as_good_as_scikit_learns():
    from sklearn.linear_model import LogisticRegression as Peer

    digits, labels = load_digits(return_X_y=True)
    digits = scale(digits)

    def objective(model):
        chances = model.predict_proba(digits)[np.arange(len(labels)), labels]
        return -np.log(chances).mean() + (model.coef_**2).sum() / (2 * len(labels))

    ours = LogisticRegression().fit(digits, labels)
    assert ours.converged_
    assert objective(ours) <= objective(Peer().fit(digits, labels)) * (1 + 1e-4)
