"""Backtracking line search of leaves under a loss of one's own, which a Newton step may raise.

Where the curvature at the scores is much smaller than on the way, as in the flanks of log cosh, a
Newton step leads far beyond the minimum. It is halved until the loss of the leaf's rows falls by at
least a quarter of what its slope promises (Armijo 1966). A convex loss is looked at after the whole
step, any other one at what is left of it after the learning rate. Losses are summed exactly, so
rows in memory and passes over files choose the same steps.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np

from tenfold.tree._gradient_split_numba import LOWER, UPPER, G, H
from tenfold.tree._growing_tree import GrowingTree
from tenfold.tree._losses import BoostingLoss, exact_pieces, sum_pieces

MEMORY_BATCHES = (0, 1, 2, 4, 8, 16, 32, 64)  # halvings that are looked at together: 0, then 1 ...
PASS_BATCHES = (0, 8, 16, 32, 64)  # the same where each look is a pass over the rows
_LEAST_SHARE = 0.25  # of the fall that the slope promises
_HUGE = 1e300  # in the place of a loss that is no number


def halved_steps(tree: GrowingTree, node: int, first: int, end: int) -> np.ndarray:
    """The Newton step of a leaf after so many halvings, before the learning rate."""
    step = tree.leaf_value(node, *tree.integers[node, [G, H]]) / tree.shape.learning_rate
    return step * 2.0 ** -np.arange(first, end)


def loss_pieces(
    loss: BoostingLoss,
    y: np.ndarray,
    z: np.ndarray,
    w: np.ndarray | None,
    steps: np.ndarray,
    *,
    copies: bool,
) -> np.ndarray:
    """Exact sums of the losses of a leaf's rows: as they are, then after each step."""
    found = []
    for step in (0.0, *steps.tolist()):
        with np.errstate(all="ignore"):
            value = np.asarray(loss.value(y[:, None], z[:, None] + step), np.float64)
        value = np.where(np.isfinite(value), value, _HUGE)
        found.append(exact_pieces(value, w, copies=copies)[0])
    return np.array(found)


def trial_steps(tree: GrowingTree, loss: BoostingLoss, steps: np.ndarray) -> np.ndarray:
    """Steps after which the loss is to be lower."""
    return steps if loss.convex else steps * tree.shape.learning_rate


def choose_value(
    tree: GrowingTree, loss: BoostingLoss, node: int, steps: np.ndarray, pieces: np.ndarray
) -> float | None:
    """What a leaf adds to scores: the first step that lowers the loss enough; None if none does."""
    before, *after = (sum_pieces(each) for each in pieces)
    slope = float(tree.integers[node, G]) * tree.units.leaf[0]
    moves = trial_steps(tree, loss, steps).tolist()
    for step, move, total in zip(steps.tolist(), moves, after, strict=True):
        if total <= before + Fraction(_LEAST_SHARE * slope * move):
            return bounded_value(tree, node, step)
    return None


def bounded_value(tree: GrowingTree, node: int, step: float) -> float:
    """What a leaf with a step adds to scores, within the bounds of monotone constraints."""
    step = float(np.clip(step, tree.numbers[node, LOWER], tree.numbers[node, UPPER]))
    return tree.shape.learning_rate * step


def guarded_value(
    tree: GrowingTree,
    loss: BoostingLoss,
    node: int,
    sum_losses: Callable[[np.ndarray], np.ndarray],
) -> float:
    """What a leaf adds to scores; `sum_losses` gives the pieces after some steps."""
    for first, end in pairwise(MEMORY_BATCHES):
        steps = halved_steps(tree, node, first, end)
        pieces = sum_losses(trial_steps(tree, loss, steps))
        value = choose_value(tree, loss, node, steps, pieces)
        if value is not None:
            return value
    return bounded_value(tree, node, 0.0)
