"""Classes that stand in for models in files."""

from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

import tenfold
from tenfold.persist import registry


class Box(BaseEstimator):
    """Holds anything, as a parameter and as something learned."""

    def __init__(self, value=None):
        self.value = value


class Scores(ClassifierMixin, BaseEstimator):
    """Learns the mean of each class, in Fortran order."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.coef_ = np.asfortranarray([X[y == c].mean(axis=0) for c in self.classes_])
        return self

    def decision_function(self, X):
        scores = X @ self.coef_.T
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X):
        return self.classes_[np.argmax(X @ self.coef_.T, axis=1)]


class Moments(NamedTuple):
    n: int
    mean: np.ndarray


X, Y = np.random.default_rng(0).random((60, 4)), np.array(list("abc") * 20)
DOCS = ["apple pear nut", "pear nut fig", "fig egg apple"] * 20


def box(value, /, **learned):
    return {"model": {"class": "tenfold.Box", "params": {"value": value}, "learned": learned}}


@contextmanager
def stand_ins_may_be_saved():
    """Files may hold the classes above."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("Box", "Scores"):
            patch.setitem(tenfold._WHERE, name, __name__)
        patch.setitem(registry.CLASS_TAGS, "test_moments", f"{__name__}.Moments")
        registry.tags_by_class_name.cache_clear()
        yield
    registry.tags_by_class_name.cache_clear()
