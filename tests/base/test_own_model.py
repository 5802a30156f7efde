"""A model from outside of the package obeys the laws, written as CONTRIBUTING.md says."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import tenfold
from tenfold.base import OnePassClassifier


class Boxes(NamedTuple):
    """The least and the largest value of each column in each class, (k, p) both."""

    low: np.ndarray
    high: np.ndarray

    def merge(self, other):
        return Boxes(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def expand_to_classes(self, places, k):
        low, high = (np.full((k, self.low.shape[1]), end) for end in (np.inf, -np.inf))
        low[places], high[places] = self.low, self.high
        return Boxes(low, high)


def boxes(chunk, k):
    seen = (chunk.y == np.arange(k)[:, None]) & (chunk.weights() > 0)
    low = [chunk.X.min(axis=0, where=mine[:, None], initial=np.inf) for mine in seen]
    high = [chunk.X.max(axis=0, where=mine[:, None], initial=-np.inf) for mine in seen]
    return Boxes(np.stack(low), np.stack(high))


def closeness(chunk, low, high):
    X = chunk.X[:, None]
    return -(np.maximum(np.maximum(low - X, X - high), 0) ** 2).sum(axis=2)


class NearestBox(OnePassClassifier):
    """Predict the class whose box, from the least to the largest values, is nearest."""

    def _statistic(self, rows):
        return rows.total(boxes, len(self.classes_))

    def _finalize(self, s, dtype):
        return {"low_": s.low.astype(dtype), "high_": s.high.astype(dtype)}

    def _scorer(self):
        return closeness, self.low_, self.high_


def test_the_nearest_box():
    model = NearestBox().fit([[0.0], [1.0], [8.0], [9.0]], ["low", "low", "high", "high"])
    assert model.predict([[3.0], [6.0]]).tolist() == ["low", "high"]
    more = NearestBox().fit([[20.0]], ["highest"])
    assert tenfold.merge(model, more).predict([[3.0], [15.0]]).tolist() == ["low", "highest"]


def test_it_obeys_the_laws():
    tenfold.testing.check(NearestBox())


def test_a_broken_law_is_told():
    class Widening(NearestBox):
        def _finalize(self, s, dtype):
            return super()._finalize(s, np.dtype(np.float64))

    with pytest.raises(AssertionError, match="float64"):
        tenfold.testing.check_float32(Widening())


class NamedStates(tenfold.GaussianHMM):
    def __init__(self, names: tuple[str, ...] = ("calm", "wild")) -> None:
        super().__init__(n_components=len(names), n_iter=3)
        self.names = names


def test_a_model_derived_from_one_with_many_parameters_has_its_own() -> None:
    model = NamedStates(("a", "b", "c"))
    assert model.get_params() == {"names": ("a", "b", "c")}
    assert (model.n_components, model.n_iter, model.tol) == (3, 3, tenfold.GaussianHMM().tol)
