"""Topic models: latent Dirichlet allocation, admixtures, words and coherence of topics."""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "coherence": ("WindowCounts", "topic_coherence"),
    "lda": ("LatentDirichletAllocation",),
    "n_topics": ("TopicCountChoice", "choose_topics"),
    "topic_mixture": ("TopicMixture",),
    "word_lists": ("seed_topics", "top_words", "topic_diversity"),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
