"""Models of sequences: Markov chains and n-grams."""

from tenfold._lazy import attach

__getattr__, __dir__ = attach(__name__, {})
