"""Vectors, matrices and derivatives for the tests of functions."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

CALM = settings(max_examples=50, deadline=None)


RNG = np.random.default_rng(0)


SIZES = st.integers(1, 6)


ENTRIES = st.floats(-100, 100, allow_subnormal=False)


def vectors(n=3):
    return arrays(np.float64, n, elements=ENTRIES)


def matrices(rows=SIZES, columns=SIZES):
    entries = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0])  # often of less than full rank
    return st.tuples(rows, columns).flatmap(
        lambda shape: arrays(np.float64, shape, elements=entries)
    )
