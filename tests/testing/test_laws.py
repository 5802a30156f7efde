"""Every law on every public model; each model is tested the day it is named."""

import numpy as np
import pytest

from tenfold import testing

MODELS = list(testing.all_models())
SLOW = {testing.check_storage_invariance}
HERE = tuple(
    place for place in testing.STORAGES if place != "in_dask"
)  # testing/test_laws_on_dask.py has clusters


@pytest.mark.parametrize("law", [law for law in testing.LAWS if law not in SLOW])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_law(model, law):
    with testing.several_chunks(model):
        law(model)


@pytest.mark.parametrize("number", range(len(MODELS)), ids=[type(m).__name__ for m in MODELS])
def test_storage_does_not_matter(number):
    """Half of the storages in each dtype, the other half for the next model: all pairs are met."""
    for parity, dtype in enumerate((np.float64, np.float32)):
        only = HERE[(number + parity) % 2 :: 2]
        with testing.several_chunks(MODELS[number]):
            testing.check_storage_invariance(MODELS[number], only=only, dtypes=(dtype,))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_parts_make_the_whole_at_any_cut(model):
    rows = len(testing.make_dataset(model, rows=3000)[0])
    testing.check_statistics_merge(model, (1, 2, rows // 3, rows - 1))


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
