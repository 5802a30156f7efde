"""Versions, BLAS kernels and CPU of a process: what decides the last bits of a result."""

from __future__ import annotations

import platform
from typing import Any


def describe_environment() -> dict[str, str]:
    """Name what two processes must share for the same bits.

    Examples
    --------
    >>> sorted(describe_environment())
    ['BLAS kernels', 'CPU', 'CPU features', 'numpy', 'scipy', 'tenfold']
    """
    import numpy as np
    import scipy.linalg
    from threadpoolctl import threadpool_info

    import tenfold

    blas = {
        f"{b['internal_api']} {b['version']} {b.get('architecture', '')}".strip()
        for b in threadpool_info()
        if b["user_api"] == "blas"
    }
    simd: Any = np.show_config(mode="dicts")["SIMD Extensions"]  # type: ignore[index]
    return {
        "BLAS kernels": ", ".join(sorted(blas)),
        "CPU": platform.machine(),
        "CPU features": " ".join(simd.get("baseline", []) + simd.get("found", [])),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "tenfold": tenfold.__version__,
    }
