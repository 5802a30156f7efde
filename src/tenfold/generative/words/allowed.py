"""What the parameters of bags of words may be."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

DOCUMENTS = [Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="both")]
COUNTING: dict[str, Any] = {
    "kind": [StrOptions({"counts", "presence", "frequency"})],
    "stop_words": [StrOptions({"english"}), list, set, frozenset, tuple, None],
    "lowercase": ["boolean"],
    "min_df": DOCUMENTS,
    "max_df": DOCUMENTS,
    "max_features": [Interval(Integral, 1, None, closed="left"), None],
    "vocabulary": [list, tuple, dict, np.ndarray, None],
    "ngram_range": [tuple, list],
    "word_weights": [dict, "array-like", None],
    "dtype": "no_validation",
}
