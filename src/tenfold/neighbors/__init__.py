"""Models of nearest examples: searches, votes and means of neighbors, the nearest centroid."""

from tenfold._lazy import attach

__getattr__, __dir__ = attach(__name__, {})
