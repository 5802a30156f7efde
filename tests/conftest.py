"""What all tests share."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("tenfold", deadline=None)  # the first call may compile
settings.load_profile("tenfold")

BESIDE = Path(__file__).parents[2] / "shared" / "data"
if "TENFOLD_DATA" not in os.environ and BESIDE.is_dir():
    os.environ["TENFOLD_DATA"] = str(BESIDE)


@pytest.fixture(scope="session")
def two_workers(tmp_path_factory):
    """A client of two worker processes with one thread each."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            local_directory=str(tmp_path_factory.mktemp("workers")),
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client
