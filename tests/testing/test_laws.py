"""Every law on every public model; each model is tested the day it is named."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenfold import testing

MODELS = list(testing.all_models())
SLOW = {testing.check_storage_invariance}
HERE = tuple(
    place for place in testing.STORAGES if place != "in_dask"
)  # testing/test_laws_on_dask.py has clusters


@pytest.mark.parametrize("law", [law for law in testing.LAWS if law not in SLOW])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_law(model, law):
    law(model)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_place_does_not_matter(model, dtype):
    testing.check_storage_invariance(model, only=HERE, dtypes=(dtype,))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@settings(max_examples=5, deadline=None)
@given(cut=st.integers(1, 2999))
def test_parts_make_the_whole_at_any_cut(model, cut):
    testing.check_statistics_merge(model, cut)


def test_the_laws_find_every_model():
    names = {type(model).__name__ for model in MODELS}
    assert {
        "LinearRegression",
        "Ridge",
        "GaussianNB",
        "PCA",
        "LogisticRegression",
        "KMeans",
    } <= names
