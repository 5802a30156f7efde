"""Hard margins between two classes of any labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tenfold.linear.svm.hard_margin_solver import hard_margin

P = np.array([[1.0, 1.0], [-1.0, -1.0]])


@pytest.mark.parametrize(
    "y",
    [[1, 0], [2, 1], [1.0, -1.0], ["b", "a"], [True, False], [10**18 + 1, 10**18]],
    ids=["0 1", "1 2", "signs", "words", "booleans", "large"],
)
def test_labels_of_every_kind_give_one_plane(y):
    found, signs = hard_margin(P, y), hard_margin(P, np.array([1, -1]))
    for a, b in zip(found, signs, strict=True):
        assert_array_equal(a, b)
    assert_allclose(found.w, [0.5, 0.5])


@pytest.mark.parametrize("y", [[1, 1], [1, 2, 3], [[1], [0]]])
def test_a_margin_needs_two_classes(y):
    with pytest.raises(ValueError, match="two classes"):
        hard_margin(np.resize(P, (len(y), 2)), y)


def test_lengths_must_match():
    with pytest.raises(ValueError, match="as many rows as there are labels"):
        hard_margin(P, [0, 1, 1])
