"""Decision trees and ensembles of them: gradient boosting, forests, isolation forests."""

from tenfold._lazy import attach

__getattr__, __dir__ = attach(__name__, {})
