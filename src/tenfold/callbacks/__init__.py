"""Who watches a fit: progress bars, and checkpoints that make it resumable."""

from tenfold._lazy import attach, modules_of_names
from tenfold.callbacks.checkpoint import checkpoint as checkpoint

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "progress_bar": ("progress",),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted([*_WHERE, "checkpoint"])  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
