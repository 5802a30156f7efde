"""A prefix groups text; on numbers it would do nothing, and is refused."""

import pytest

from tenfold import IndicatorFeatures


def test_a_prefix_needs_text():
    with pytest.raises(ValueError, match=r"prefix=2 groups text .* step="):
        IndicatorFeatures(prefix=2).fit([[90210.0], [10001.0]])
    mixed = IndicatorFeatures(prefix=2).fit([["90210", 1], ["10001", 2]])
    assert mixed.get_feature_names_out().tolist() == ["x0=10", "x0=90", "x1=1", "x1=2"]
