"""Numbers that overflow or vanish, masked arrays, and tables too wide for memory."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import tenfold
from tenfold.engine import memory

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, before the error
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4))
y = X @ [1.0, 2, 3, 4] + rng.normal(size=60)
labels = (y > 0).astype(int)


@pytest.mark.parametrize(
    "name",
    [
        "Ridge",
        "LinearRegression",
        "GaussianRegression",
        "BayesianRidge",
        "BayesianLinearRegression",
    ],
)
def test_a_target_near_overflow_is_named(name):
    with pytest.raises(
        ValueError, match=r"no finite solution.*The target holds numbers as large as"
    ):
        getattr(tenfold, name)().fit(X, 1e308 * (y / np.abs(y).max()))


@pytest.mark.parametrize(
    "name",
    [
        "PCA",
        "GaussianMixture",
        "QuadraticDiscriminantAnalysis",
        "BayesianRidge",
        "MixedNB",
        "KMeans",
    ],
)
def test_columns_whose_squares_overflow_are_named(name):
    table = pd.DataFrame(X, columns=["a", "b", "large", "d"])
    table["large"] *= 1e200
    with pytest.raises(ValueError, match=r"Column 'large' holds numbers as large as .*e\+200") as e:
        getattr(tenfold, name)().fit(table, labels)
    assert not isinstance(e.value, np.linalg.LinAlgError)


def test_columns_whose_squares_vanish_are_named():
    with pytest.raises(ValueError, match=r"Column 0 holds no number larger than .*squares vanish"):
        tenfold.BayesianModelAverage().fit(1e-200 * X, y)


def test_outputs_that_overflow_are_refused_by_row():
    model = tenfold.KMeans(2, random_state=0).fit(X)
    far = X.copy()
    far[7] = [1.7e308, -1.7e308, 1.7e308, -1.7e308]
    with pytest.raises(ValueError, match=r"KMeans has no finite output for row 7\. Column"):
        model.transform(far)


def test_linear_models_manage_large_columns():
    plain = tenfold.Ridge(alpha=1e-9).fit(X, y)
    large = tenfold.Ridge(alpha=1e-9).fit(1e160 * X, y)
    np.testing.assert_allclose(large.predict(1e160 * X), plain.predict(X), rtol=1e-6)


# ------------------------------------------------------------------------------- masked arrays
@pytest.mark.parametrize("which", ["X", "y", "sample_weight"])
def test_masked_entries_are_not_learned_from(which):
    data = {"X": X.copy(), "y": y.copy(), "sample_weight": np.ones(60)}
    mask = np.zeros(data[which].shape, bool)
    mask[3] = True
    data[which] = np.ma.masked_array(data[which], mask)
    with pytest.raises(
        ValueError, match=f"{which} is a masked array, and row 3 has a masked entry"
    ):
        tenfold.Ridge().fit(**data)


def test_a_mask_of_nothing_is_no_mask():
    masked = np.ma.masked_array(X, np.zeros(X.shape, bool))
    assert_array_equal(tenfold.Ridge().fit(masked, y).coef_, tenfold.Ridge().fit(X, y).coef_)


def test_masked_entries_are_missing_where_values_may_be():
    mask = rng.random(X.shape) < 0.1
    a = tenfold.GaussianNB().fit(np.ma.masked_array(X, mask), labels)
    b = tenfold.GaussianNB().fit(np.where(mask, np.nan, X), labels)
    assert_array_equal(a.theta_, b.theta_)


# --------------------------------------------------------------------------------- wide tables
@pytest.mark.parametrize(
    "name",
    [
        "BayesianRidge",
        "ARDRegression",
        "BayesianLinearRegression",
        "BayesianModelAverage",
        "BayesianLogisticRegression",
        "GaussianClassifier",
        "GenerativeClassifier",
        "GaussianMixture",
        "MixtureModel",
        "QuadraticDiscriminantAnalysis",
    ],
)
def test_tables_too_wide_for_memory_are_refused_before_work_begins(name, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 2.0**30)
    wide = np.zeros((20, 20_000), np.float32)
    with pytest.raises(
        MemoryError, match=r"20,000 columns needs at least \d+\.\d GiB, and 1\.0 GiB"
    ):
        getattr(tenfold, name)().fit(wide, np.arange(20) % 2)


@pytest.mark.parametrize(
    "name", ["PCA", "Ridge", "LinearRegression", "Lasso", "LogisticRegression"]
)
def test_thin_forms_take_wide_tables(name):
    wide = rng.normal(size=(20, 20_000))
    model = getattr(tenfold, name)().fit(wide, np.arange(20) % 2)
    assert model.n_features_in_ == 20_000


def test_the_system_says_how_much_memory_is_free():
    assert 0 < memory.available_memory() < np.inf
    memory.check_memory(1.0, "nothing", "none needed")
    with pytest.raises(MemoryError, match=r"all of it needs at least .* GiB, .*: take less"):
        memory.check_memory(2.0**70, "all of it", "take less")
