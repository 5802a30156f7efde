"""Models whose prediction is a linear function of the features."""

from tenfold._lazy import attach

__getattr__, __dir__ = attach(__name__, {})
