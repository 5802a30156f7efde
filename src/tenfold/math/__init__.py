"""Pure functions of arrays: losses, penalties, links, distances, labels, costs.

Modules are imported on first use.
"""

from tenfold._lazy import attach

_MODULES = (
    "decision_costs",
    "distances",
    "labels",
    "linalg",
    "links",
    "losses",
    "parameters",
    "partitions",
    "penalties",
)

__all__ = list(_MODULES)
__getattr__, __dir__ = attach(__name__, {}, _MODULES)
