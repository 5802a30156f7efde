"""Reports as one self-contained page: a study, an explanation, a dendrogram, a graph, an agent."""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "acting_page": (
        "TrainedAgent",
        "render_acting",
        "write_acting",
    ),
    "dendrogram_page": (
        "render_dendrogram",
        "write_dendrogram",
    ),
    "explanation_page": (
        "ModelExplanation",
        "render_explanation",
        "write_explanation",
    ),
    "recommendation_page": (
        "render_recommendations",
        "write_recommendations",
    ),
    "pages": (
        "render_report",
        "write_report",
    ),
    "separation_page": (
        "render_separation",
        "write_separation",
    ),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
