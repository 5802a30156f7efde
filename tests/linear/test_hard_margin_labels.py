"""Hard margins between two classes of any labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tenfold.linear.separability import is_linearly_separable
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


@pytest.mark.parametrize("gap", [1e-6, 1e-7])
@pytest.mark.parametrize("seed", range(5))
def test_classes_close_together_have_a_margin(seed, gap):
    """What `is_linearly_separable` separates has a hard margin, of at least half the gap."""
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=3)
    normal /= np.linalg.norm(normal)
    rows, sign = rng.normal(size=(60, 3)), np.where(np.arange(60) < 30, -1.0, 1.0)
    distance = gap / 2 + np.where(rng.random(60) < 0.7, rng.exponential(size=60), 0)
    X = rows - np.outer(rows @ normal, normal) + np.outer(sign * distance, normal)
    assert is_linearly_separable(X, sign)
    found = hard_margin(X, sign)
    assert (sign * (X @ found.w + found.b)).min() > 1 - 1e-4
    assert 1 / np.linalg.norm(found.w) > gap / 2 * (1 - 1e-3)
    assert_allclose(found.w, (found.alpha * sign) @ X, rtol=1e-4, atol=1e-4 / gap)


def test_close_points_on_a_line():
    found = hard_margin([[0.0], [1.0], [1.0 + 1e-7], [2.0]], [0, 0, 1, 1])
    assert_allclose(1 / found.w, 5e-8, rtol=1e-6)
    with pytest.raises(ValueError, match="no plane separates"):
        hard_margin([[0.0], [2.0], [1.0], [3.0]], [0, 0, 1, 1])


def test_lengths_must_match():
    with pytest.raises(ValueError, match="as many rows as there are labels"):
        hard_margin(P, [0, 1, 1])
