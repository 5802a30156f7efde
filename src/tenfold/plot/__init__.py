"""Plots of models and results; matplotlib is imported with the first plot.

Every function takes `ax` and returns the Axes (an array of them if there are panels). The palette
is safe for color-blind readers and for print.
"""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "additive_models": ("additive_terms",),
    "clusters": (
        "cluster_scatter",
        "dendrogram",
        "elbow",
        "silhouettes",
    ),
    "decision_regions": (
        "DecisionBoundaryDisplay",
        "ambiguous_regions",
        "decision_boundary",
    ),
    "evaluation": (
        "CalibrationDisplay",
        "ConfusionDisplay",
        "ResidualsDisplay",
        "coverage_curve",
    ),
    "gaussian_processes": ("evidence_surface", "prediction_band"),
    "geometry": (
        "least_squares_projection",
        "norm_balls",
    ),
    "graphs": ("directed_graph",),
    "kernels": ("kernel_contours",),
    "linear_models": (
        "coefficient_path",
        "contributions",
        "margin_losses",
        "weights",
    ),
    "manifold": ("embedding_scatter", "shepard_diagram"),
    "mixtures": (
        "em_steps",
        "mixture",
    ),
    "model_comparison": (
        "BiasVarianceDisplay",
        "ModelComparisonDisplay",
        "fitted_curves",
    ),
    "neighbors": (
        "neighbor_votes",
        "voronoi_cells",
    ),
    "networks": (
        "activations",
        "feature_maps",
        "filters",
        "hidden_units",
        "saliency",
    ),
    "rl": ("grid_policy", "learning_curves"),
    "threshold_curves": (
        "PrecisionRecallDisplay",
        "RocDisplay",
    ),
    "topics": ("topic_words", "word_cloud"),
    "training_curves": (
        "EarlyStoppingDisplay",
        "HistoryDisplay",
        "layer_gradients",
        "learning_rate_search",
        "loss_surface",
    ),
    "trees": ("tree",),
    "validation_curves": (
        "SearchDisplay",
        "ValidationCurveDisplay",
    ),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
