"""Matrix decompositions: principal components and truncated singular values."""

from tenfold._lazy import attach

__getattr__, __dir__ = attach(__name__, {})
