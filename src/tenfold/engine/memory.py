"""Memory that is free, and a check before work begins that cannot end."""

from __future__ import annotations

import os
from pathlib import Path

_GIB = 2**30
_CGROUP = Path("/sys/fs/cgroup")


def available_memory() -> float:
    """Bytes that this process may still take; infinite where the system does not say.

    Examples
    --------
    >>> available_memory() > 0
    True
    """
    limits = [_system_memory(), _cgroup_memory(), _address_space()]
    return max(min(limits), 0.0)


def _system_memory() -> float:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = dict(line.split(":", 1) for line in lines)["MemAvailable"]
        return 1024.0 * int(free.split()[0])
    except (OSError, KeyError, ValueError):
        pass
    try:  # not Linux
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return float("inf")


def _cgroup_memory() -> float:
    """What the limit of a container leaves."""
    try:
        limit, used = ((_CGROUP / f"memory.{name}").read_text() for name in ("max", "current"))
        return float("inf") if limit.strip() == "max" else float(int(limit) - int(used))
    except (OSError, ValueError):
        return float("inf")


def _address_space() -> float:
    """What `ulimit -v` leaves."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return float("inf")
        used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        return float(limit - used)
    except (ImportError, OSError, ValueError):
        return float("inf")


def check_memory(needed: float, work: str, cure: str) -> None:
    """Raise a `MemoryError` if more bytes are needed than are free.

    Parameters
    ----------
    needed : float
        Bytes, at least.
    work : str
        What needs them: "PCA of 20,000 columns".
    cure : str
        What to do instead.
    """
    if needed < _GIB / 4:  # too little to ask the system
        return
    free = available_memory()
    if needed > free:
        raise MemoryError(
            f"{work} needs at least {needed / _GIB:.1f} GiB, and {free / _GIB:.1f} GiB are free: "
            f"{cure}"
        )
