"""Labels, signs, constant columns and parameters as one vector."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, sparse

from tenfold.math import labels, links
from tenfold.math.parameters import (
    add_intercept_column,
    flatten_parameters,
    split_intercept,
    unflatten_parameters,
)
from tests.math.vectors import CALM, RNG

NAMES = ["fish", "cat", "dog"]


@CALM
@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=20), st.permutations(NAMES))
def test_labels_come_back(y, classes):
    Y = labels.one_hot(y, classes)  # 000 C29, 004 3-11
    assert_array_equal(Y.sum(axis=1), 1)
    assert_array_equal(labels.one_hot_to_labels(Y, classes), y)
    numbers = labels.encode_labels(y, classes)
    assert_array_equal(labels.one_hot_to_labels(Y), numbers)
    assert_array_equal(labels.decode_labels(numbers, classes), y)
    assert_array_equal(np.sort(np.unique(y))[labels.encode_labels(y)], y)


@CALM
@given(st.lists(st.sampled_from([0, 1]), min_size=1, max_size=20))
def test_signs_come_back(y):
    signs = labels.labels_to_signs(y, classes=[0, 1])
    assert set(signs) <= {-1, 1}
    assert_array_equal(labels.signs_to_labels(signs), y)
    names = labels.signs_to_labels(signs, ["no", "yes"])
    assert_array_equal(labels.labels_to_signs(names, ["no", "yes"]), signs)
    assert_array_equal(labels.encode_labels(names, ["no", "yes"]), y)


def test_labels_refuse_what_they_do_not_know():
    with pytest.raises(ValueError, match=r"'bird'.*none of the classes"):
        labels.one_hot(["cat", "bird"], NAMES)
    with pytest.raises(ValueError, match="two classes"):
        labels.labels_to_signs([0, 1, 2])
    with pytest.raises(ValueError, match="none of the classes"):
        labels.signs_to_labels([0, 1])
    with pytest.raises(ValueError, match="row 1 is not one-hot"):
        labels.one_hot_to_labels([[0, 1], [1, 1]])
    with pytest.raises(ValueError, match="0 to 2"):
        labels.decode_labels([3], NAMES)


@pytest.mark.parametrize("first", [False, True])
def test_a_constant_column_is_a_bias(first):
    X, theta = RNG.normal(size=(6, 3)), RNG.normal(size=4)
    w, b = split_intercept(theta, first=first)
    assert_allclose(add_intercept_column(X, first=first) @ theta, X @ w + b)
    S = add_intercept_column(sparse.csr_array(X.astype(np.float32)), first=first)
    assert S.format == "csr"
    assert S.dtype == np.float32
    assert_allclose(S.toarray(), add_intercept_column(X.astype(np.float32), first=first))
    W, c = split_intercept(np.arange(8.0).reshape(2, 4), first=first)
    assert W.shape == (2, 3)
    assert c.shape == (2,)


class Net(NamedTuple):
    W: np.ndarray
    b: float


def test_parameters_as_one_vector():
    like = {"layers": [Net(np.ones((2, 3)), 0.0), Net(np.zeros((1, 2)), 7)], "centres": np.eye(2)}
    theta = flatten_parameters(like)  # 000 R15: basis vectors too
    assert len(theta) == 6 + 1 + 2 + 1 + 4
    again = unflatten_parameters(theta + 1, like)
    assert isinstance(again["layers"][0], Net)
    assert_array_equal(again["layers"][0].W, 2)
    assert again["layers"][1].b == 8
    assert_array_equal(again["centres"], np.eye(2) + 1)
    assert_array_equal(flatten_parameters(again), theta + 1)
    again["centres"][:] = 0
    assert_array_equal(like["centres"], np.eye(2))
    with pytest.raises(ValueError, match="14 entries"):
        unflatten_parameters(theta[1:], like)
    assert flatten_parameters([np.float32([1]), np.float32([2])]).dtype == np.float32


def test_normal_density_has_mass_one():
    assert integrate.quad(links.normal_pdf, -np.inf, np.inf)[0] == pytest.approx(1)
