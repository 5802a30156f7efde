"""Distributions for the tests of probability."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tenfold.distributions import FiniteDistribution

CALM = settings(max_examples=60, deadline=None)


STARS = FiniteDistribution([1, 2, 3, 4, 5], [0.3, 0.2, 0.05, 0.15, 0.3])


MASSES = st.floats(0, 1, allow_subnormal=False)


def shares(k):
    """Probabilities, zeros among them."""
    return (
        arrays(np.float64, k, elements=MASSES)
        .filter(lambda p: p.sum() > 1e-3)
        .map(lambda p: p / p.sum())
    )


def tables(*shape):
    return shares(int(np.prod(shape))).map(lambda p: p.reshape(shape))
