"""The laws that every model obeys, run on whatever is public.

A new model is tested the day it is named: `tests/test_laws.py` walks `models()` through `LAWS`.
For a model of your own: ``tenfold.laws.check(MyModel())``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenfold.laws.bits import assert_same_bits, learned, outputs, parts_of, same_bits
from tenfold.laws.contract import (
    float32_stays_float32,
    history_falls,
    obeys_scikit_learn,
    predicting_is_pure,
    saving_keeps_every_bit,
    seeds_are_draws,
)
from tenfold.laws.invariance import (
    chunking_does_not_matter,
    order_does_not_matter,
    place_does_not_matter,
    threads_do_not_matter,
    weights_are_repetitions,
)
from tenfold.laws.merging import parts_make_the_whole, parts_merge
from tenfold.laws.stops import stopped_fits_resume
from tenfold.laws.trials import example, fresh, models, seeded, table
from tenfold.rows.places import PLACES

LAWS: tuple[Callable[[Any], None], ...] = (
    obeys_scikit_learn,
    parts_make_the_whole,
    parts_merge,
    place_does_not_matter,
    threads_do_not_matter,
    weights_are_repetitions,
    order_does_not_matter,
    saving_keeps_every_bit,
    float32_stays_float32,
    predicting_is_pure,
    history_falls,
    seeds_are_draws,
    chunking_does_not_matter,
    stopped_fits_resume,
)

__all__ = [  # noqa: PLE0604  (a law is public by being listed)
    "LAWS",
    "PLACES",
    "assert_same_bits",
    "check",
    "example",
    "fresh",
    "learned",
    "models",
    "outputs",
    "parts_of",
    "same_bits",
    "seeded",
    "table",
    *(law.__name__ for law in LAWS),
]


def check(model: Any) -> None:
    """Run all laws on a model; the first that it breaks raises an AssertionError.

    Parameters
    ----------
    model : Estimator
        An unfitted model.
    """
    for law in LAWS:
        law(model)
