"""A matrix of costs belongs to labels of every kind."""

from __future__ import annotations

import numpy as np
import pytest

from tenfold.teaching.learning_theory import empirical_risk, expected_risk, per_example_cost

COST = [[0, 10], [100, 0]]


@pytest.mark.parametrize(
    "labels", [(0, 1), (-1, 1), (-1.0, 1.0), (1, 2), ("ham", "spam"), (False, True), (0.0, 1.0)]
)
def test_labels_of_every_kind(labels):
    low, high = labels
    y, answers = [low, low, high, high], [low, high, low, high]
    assert per_example_cost(COST, y, answers).tolist() == [0, 10, 100, 0]
    assert per_example_cost(COST, y, answers, labels).tolist() == [0, 10, 100, 0]
    swapped = per_example_cost(COST, y, answers, labels[::-1])
    assert swapped.tolist() == [0, 100, 10, 0]
    risk = empirical_risk(lambda X: np.full(len(X), high), np.zeros((4, 1)), y, cost=COST)
    assert risk == 5.0


def test_one_class_alone():
    assert per_example_cost(COST, [-1, -1], [-1, 1]).tolist() == [0, 10]
    assert per_example_cost(COST, [1, 1], [1, 1]).tolist() == [0, 0]
    assert per_example_cost(COST, ["no"], ["no"], classes=["no", "yes"]).tolist() == [0]
    with pytest.raises(ValueError, match="classes="):
        per_example_cost(COST, ["no"], ["no"])


def test_three_classes_and_mistakes():
    cost = np.arange(9.0).reshape(3, 3)
    assert per_example_cost(cost, ["a", "c"], ["b", "a"], ["a", "b", "c"]).tolist() == [1, 6]
    assert per_example_cost(cost, [2], [0]).tolist() == [6]
    with pytest.raises(ValueError, match="classes="):
        per_example_cost(cost, [-1, 1], [1, 1])
    with pytest.raises(ValueError, match="is none of classes"):
        per_example_cost(cost, ["d"], ["a"], ["a", "b", "c"])
    with pytest.raises(ValueError, match="3 different labels"):
        per_example_cost(cost, ["a"], ["a"], ["a", "b", "b"])
    with pytest.raises(ValueError, match="square"):
        per_example_cost([[0, 1]], [0], [1])


def test_inputs_may_be_lists():
    risk = expected_risk(
        lambda X: np.zeros(len(X)), lambda X: X[:, 0], ([[0.0], [1.0]], [0.9, 0.1])
    )
    assert risk == pytest.approx(0.1)
