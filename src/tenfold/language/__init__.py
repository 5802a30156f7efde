"""Language models made of networks, byte pairs, encoder and decoder, and searches for sequences."""

from tenfold._lazy import attach, modules_of_names

_OFFERS = {"sequence_search": ("Hypothesis", "beam_search", "decode_rows")}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
