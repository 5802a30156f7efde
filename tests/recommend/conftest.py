"""Small tables of ratings."""

import numpy as np
import pytest


def make_ratings(seed=0, n=40, m=25, rank=2, share=0.5):
    """Ratings of a low-rank matrix with noise: pairs (user, item) in random order, and values."""
    rng = np.random.default_rng(seed)
    Y = 3 + rng.normal(size=(n, rank)) @ rng.normal(size=(rank, m))
    pairs = np.argwhere(rng.random((n, m)) < share)
    pairs = pairs[rng.permutation(len(pairs))]
    return pairs, Y[tuple(pairs.T)] + 0.1 * rng.normal(size=len(pairs))


@pytest.fixture
def small():
    return make_ratings()
