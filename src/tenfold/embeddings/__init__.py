"""Word embeddings: vectors of words from their neighbors in texts, and what to ask of them."""

from tenfold._lazy import attach, modules_of_names

_OFFERS = {
    "cooccurrence": ("CooccurrenceTable", "count_cooccurrences"),
    "evaluation": (
        "AnalogyScore",
        "SimilarityScore",
        "evaluate_analogies",
        "evaluate_similarity",
    ),
    "language_model_vectors": ("embed_related_words", "layer_vectors"),
    "word_vector_files": ("read_word_vectors", "write_word_vectors"),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE, ())
