"""Recommenders: neighbors, factorizations of ratings, completion, rankings and their splits."""

from tenfold._lazy import attach, modules_of_names

_OFFERS = {
    "matrix_completion": ("alternating_steps", "naive_completion"),
    "evaluation": ("evaluate_ranking", "most_popular"),
    "ratings": ("Ratings", "open_ratings"),
    "splits": ("LastRatings", "TimeSplit", "UserHoldout"),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
