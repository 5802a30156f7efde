"""Support vector machines with kernels."""

from tenfold._lazy import attach

__getattr__, __dir__ = attach(__name__, {})
