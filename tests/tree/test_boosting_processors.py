"""The same trees on a processor with narrower registers. Run as a script, this file prints them."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import tenfold
from tenfold.tree import _fixed_point

TESTS = Path(__file__).parents[1]


@mock.patch.object(_fixed_point, "_MIN_COARSE_ROWS", 1000)
def digest():
    """A digest of the trees of several losses."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    y = np.exp(X[:, 0] / 2 + X[:, 1] * X[:, 2] / 2)
    short = dict(max_iter=15, early_stopping=False, random_state=0)
    models = [
        tenfold.HistGradientBoostingRegressor(**short).fit(X, y),
        tenfold.HistGradientBoostingRegressor("tweedie", **short).fit(X, y),
        tenfold.HistGradientBoostingClassifier(**short).fit(X, y > 1),
        tenfold.HistGradientBoostingClassifier(**short).fit(X, np.digitize(y, [0.5, 1.5])),
    ]
    parts = [part.tobytes() for m in models for part in (m.trees_.words, m.trees_.values)]
    return hashlib.sha256(b"".join(parts)).hexdigest()


@pytest.mark.slow
def test_an_older_processor_grows_the_same_trees(tmp_path):
    features = subprocess.run(
        [sys.executable, TESTS / "wide_features.py"], capture_output=True, text=True, check=True
    ).stdout.strip()
    older = os.environ | {
        "OPENBLAS_CORETYPE": "Haswell",
        "NUMBA_CPU_NAME": "x86-64",  # without fused multiplication
        "NUMBA_CPU_FEATURES": "+sse,+sse2",
        "NUMBA_CACHE_DIR": str(tmp_path),
        "NPY_DISABLE_CPU_FEATURES": features,
    }
    command = [sys.executable, __file__]
    run = subprocess.run(command, env=older, capture_output=True, text=True, check=True)
    assert run.stdout.split() == [digest()]


if __name__ == "__main__":
    sys.stdout.write(digest())
