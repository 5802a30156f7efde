"""Draws of these tests do not depend on the order in which they run."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _same_draws_in_any_order(request):
    """The generator of a file begins anew in every test."""
    generator = getattr(request.module, "RNG", None)
    if generator is not None:
        generator.bit_generator.state = np.random.default_rng(1).bit_generator.state
