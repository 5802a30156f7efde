"""Steps of leaves under a loss of one's own, which a Newton step may raise.

Where the curvature at the scores is much smaller than on the way, as in the flanks of log cosh, a
Newton step leads far beyond the minimum. It is halved until the loss of the leaf's rows falls by at
least a quarter of what its slope promises (Armijo 1966). Losses are summed exactly, so rows in
memory and passes over files choose the same steps.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from tenfold.tree._gradient_split_numba import LOWER, UPPER, G, H
from tenfold.tree._growing_tree import GrowingTree
from tenfold.tree._losses import BoostingLoss, exact_pieces, sum_pieces

TRIED = 8  # halvings that are looked at together
BATCHES = 8  # of halvings; then the leaf stays at 0
_LEAST_SHARE = 0.25  # of the fall that the slope promises
_HUGE = 1e300  # in the place of a loss that is no number


def first_steps(tree: GrowingTree, node: int, batch: int) -> np.ndarray:
    """The Newton step of a leaf, halved again and again, from a batch of halvings on."""
    step = tree.leaf_value(node, *tree.integers[node, [G, H]]) / tree.shape.learning_rate
    return step * 2.0 ** -np.arange(batch * TRIED, (batch + 1) * TRIED)


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


def choose_value(
    tree: GrowingTree, node: int, steps: np.ndarray, pieces: np.ndarray
) -> float | None:
    """What a leaf adds to scores: the first step that lowers the loss enough; None if none does."""
    before, *after = (sum_pieces(each) for each in pieces)
    slope = float(tree.integers[node, G]) * tree.units.leaf[0]
    for step, total in zip(steps.tolist(), after, strict=True):
        if total <= before + Fraction(_LEAST_SHARE * slope * step):
            step = float(np.clip(step, tree.numbers[node, LOWER], tree.numbers[node, UPPER]))
            return tree.shape.learning_rate * step
    return None


def guarded_value(
    tree: GrowingTree, node: int, sum_losses: Callable[[np.ndarray], np.ndarray]
) -> float:
    """What a leaf adds to scores; `sum_losses` gives the pieces for some steps."""
    for batch in range(BATCHES):
        steps = first_steps(tree, node, batch)
        value = choose_value(tree, node, steps, sum_losses(steps))
        if value is not None:
            return value
    return 0.0
