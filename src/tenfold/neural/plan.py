"""How a network learns, and when it stops."""

from __future__ import annotations

from typing import NamedTuple

from tenfold.solve.rates import Constant, Rate
from tenfold.solve.steppers import Adam, Rule


class Plan(NamedTuple):
    """How a network learns.

    Attributes
    ----------
    rule, rate : a stepper of `tenfold.solve.steppers` and a rate of `tenfold.solve.rates`
    batch_size, part_rows : rows of a step, and of the parts in which threads share it
    l2, l1 : penalties of weights
    clip_norm, clip_value : longest gradient, and largest entry
    shuffle : whether each epoch has a random order of its own
    """

    rule: Rule = Adam()
    rate: Rate = Constant(0.001)
    batch_size: int = 128
    part_rows: int | None = None
    l2: float = 0.0
    l1: float = 0.0
    clip_norm: float | None = None
    clip_value: float | None = None
    shuffle: bool = True


class Stop(NamedTuple):
    """When to stop: after `patience` epochs in a row without a gain of `tol`, after `epochs`.

    `tol=None` never looks. `slower`: divide the rate by five instead, as long as it is not tiny.
    """

    epochs: int
    tol: float | None = None
    patience: int = 10
    slower: bool = False
