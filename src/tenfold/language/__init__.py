"""Language models of networks, byte pairs, encoder and decoder, taggers, and tasks of language."""

from tenfold._lazy import attach, modules_of_names

_OFFERS = {
    "eliza": ("Eliza",),
    "label_spans": ("SequenceAccuracy", "Span", "find_spans", "sequence_accuracy"),
    "passages": ("Passage", "split_sentences", "summarize"),
    "sequence_search": ("Hypothesis", "beam_search", "decode_rows"),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
