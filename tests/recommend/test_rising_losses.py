"""A loss that rises is no convergence."""

from tenfold.embeddings.glove import _relative_change
from tenfold.recommend.bpr import _recent_change


def test_rising_losses_are_changes():
    rising = [float(n) for n in range(1, 41)]
    assert _recent_change(rising) > 1e-3
    assert _recent_change([1.0] * 40) == 0
    assert _relative_change([1.0], 1.5) == _relative_change([1.0], 0.5) == 0.5
