"""Half steps on the workers of a cluster: the same bits, weights included."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tenfold
from tenfold import ALS, BayesianPMF, ImplicitALS
from tests.recommend.conftest import make_ratings

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize(
    "model",
    [
        ALS(2, random_state=0),
        ImplicitALS(2, random_state=0),
        ImplicitALS(2, solver="cg", random_state=0),
        BayesianPMF(2, burn_in=1, n_samples=2, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_changes_no_bit(client, model):
    X, y = make_ratings(2, 200, 150, share=0.1)
    w = np.random.default_rng(0).integers(1, 3, len(y))
    here = model.fit(X, y, w).item_factors_.copy()
    with tenfold.on(client):
        there = model.fit(X, y, w).item_factors_
    assert_array_equal(here, there)
