"""Arrow's functions of columns."""

from __future__ import annotations

from typing import Any


def compute() -> Any:
    """The functions; they are made when imported, so no type checker sees them."""
    import pyarrow.compute as pc

    return pc
