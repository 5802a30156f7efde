"""Where the figures come from, in general words."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.limits import cores

QUIET = 0.5  # load up to which times are worth keeping
PACKAGES = ("tenfold", "numpy", "scipy", "scikit-learn", "scikit-learn-intelex", "numba", "pyarrow")


def machine(load: float) -> str:
    """Processor, cores, BLAS, versions, and how busy the machine was before."""
    versions = [f"{name} {number}" for name in PACKAGES if (number := _version(name))]
    parts = [_processor(), f"{cores()} cores", f"Python {platform.python_version()}", *versions]
    return ", ".join([*parts, _blas(), f"load {load:.1f} before the run"])


def busy() -> float:
    """The load of the last minute."""
    return os.getloadavg()[0]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _blas() -> str:
    import numpy as np  # noqa: F401 - its BLAS has to be there to be found
    from threadpoolctl import threadpool_info

    libraries = [i for i in threadpool_info() if i["user_api"] == "blas"]
    return ", ".join(
        sorted({f"{i['internal_api']} {i['version']} ({i.get('architecture')})" for i in libraries})
    )
