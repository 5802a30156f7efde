"""Labels, scores and metrics by kind, for the tests of metrics."""

import warnings

import numpy as np
import sklearn.metrics as sk
from hypothesis import strategies as st

from tenfold.metrics import METRICS

SEEDS = st.integers(0, 10**6)


VALUES = [name for name, metric in METRICS.items() if metric.wants == "values"]


def value(name, *rows):
    metric = METRICS[name]
    return metric.value(metric.part(*rows))


def quietly(f, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f(*args, **options)


def labels_case(seed, k, n, weighted, used):
    """True and said class numbers of which only the first `used` classes may occur."""
    rng = np.random.default_rng(seed)
    y, said = rng.integers(0, used, (2, n))
    said = np.where(rng.random(n) < 0.5, y, said)
    return y, said, rng.uniform(0.1, 3, n) if weighted else None, k


CASES = st.tuples(SEEDS, st.integers(2, 5), st.integers(1, 40), st.booleans()).flatmap(
    lambda case: st.tuples(*map(st.just, case), st.integers(1, case[1]))
)


REGRESSION = {
    "r2": sk.r2_score,
    "explained_variance": sk.explained_variance_score,
    "neg_mean_squared_error": lambda *a, **o: -sk.mean_squared_error(*a, **o),
    "neg_root_mean_squared_error": lambda *a, **o: -sk.root_mean_squared_error(*a, **o),
    "neg_mean_absolute_error": lambda *a, **o: -sk.mean_absolute_error(*a, **o),
}


def binary(name):
    return name in {"f1", "precision", "recall", "roc_auc"}
