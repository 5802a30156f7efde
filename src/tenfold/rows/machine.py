"""What decides the bits of a product: the wheels, the BLAS kernels and the CPU of a process."""

from __future__ import annotations

import platform
import warnings
from typing import Any
from weakref import WeakKeyDictionary

_compared: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()  # client -> its known workers


def machine() -> dict[str, str]:
    """Name what two processes must share for the same bits.

    Examples
    --------
    >>> sorted(machine())
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


def compare(client: Any, workers: set[str]) -> None:
    """Warn, once per worker, if it will not compute the bits that this process computes."""
    new = workers - _compared.setdefault(client, set())
    if not new:
        return
    _compared[client] |= new
    there = client.run(machine, workers=list(new), on_error="ignore")
    differ = sorted(
        {words for theirs in there.values() for words in differences(machine(), theirs)}
    )
    if differ:
        warnings.warn(
            f"{'; '.join(differ)}. Results of the cluster may differ in their last bits from "
            "those of this process. Install the same versions and use one kind of CPU.",
            UserWarning,
            stacklevel=2,
        )


def differences(here: dict[str, str], there: dict[str, str]) -> list[str]:
    """What differs, in words."""
    return [f"{k}: {here[k]} here, {there[k]} on a worker" for k in here if here[k] != there[k]]
