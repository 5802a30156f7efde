"""What all tests share."""

import os

import numpy as np
import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

# The same cases every time, so that a change is judged by itself; HYPOTHESIS_PROFILE=search
# draws new ones. There is no deadline: the first call may compile.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
if "HYPOTHESIS_PROFILE" not in os.environ:
    # It also draws numbers that stand in the modules loaded so far, and these depend on the order
    # of the tests.
    providers._get_local_constants = lambda: providers._local_constants

# The draws of a test do not depend on the tests before it: the generators of its module start anew.
_START = {}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    for name, value in vars(item.module).items() if isinstance(item, pytest.Function) else ():
        if isinstance(value, np.random.Generator):
            start = _START.setdefault((item.module.__file__, name), value.bit_generator.state)
            value.bit_generator.state = start


def pytest_itemcollected(item):
    """A test on a cluster is a slow one."""
    if "two_workers" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.slow)


collect_ignore = ["reference"]  # scripts that made numbers once, with libraries not needed here


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
