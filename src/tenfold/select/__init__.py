"""Choosing and judging models: splits, cross-validation, search, and tools that keep it honest."""

from tenfold.lazy import homes, lazily

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "bounds": (
        "Gaps",
        "gap_experiment",
        "hoeffding_gap",
        "hoeffding_rows",
        "linear_growth",
        "sauer_growth",
        "vc_gap",
        "vc_rows",
    ),
    "curves": (
        "Curve",
        "learning_curve",
        "validation_curve",
    ),
    "early_stopping": ("EarlyStopping",),
    "error_parts": (
        "BiasVariance",
        "NoisyCurve",
        "bias_variance",
    ),
    "five_times_two": (
        "five_by_two",
        "five_by_two_test",
    ),
    "flexibility": (
        "FlexibilityCurve",
        "Mistakes",
        "flexibility_curve",
        "structural_and_estimation",
    ),
    "frame": (
        "AskedOnce",
        "best_machine",
        "cost_experiment",
        "empirical_cost",
        "expected_cost_of",
        "per_example_cost",
    ),
    "holdout": (
        "Part",
        "SmallPartWarning",
        "split_rows",
        "three_way",
        "two_way",
    ),
    "honesty": (
        "BestOf",
        "ChosenOnTrainingWarning",
        "best_of",
        "expected_best",
        "training_choice",
        "warn_if_chosen_on_training",
    ),
    "leaderboard": ("Leaderboard", "compare"),
    "intervals": (
        "Interval",
        "bootstrap_interval",
        "error_interval",
        "fold_interval",
    ),
    "memorising": ("MemorisingClassifier",),
    "paired": (
        "Comparison",
        "bootstrap_difference",
        "corrected_t_test",
        "mcnemar_test",
        "wilcoxon_test",
    ),
    "rules": ("one_standard_error",),
    "search": ("Search",),
    "sealed": (
        "SealedTest",
        "SeenTestWarning",
    ),
    "splits": (
        "Split",
        "make_splits",
        "time_ordered",
    ),
    "validation": (
        "Validation",
        "cross_validate",
    ),
}
_WHERE = homes(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = lazily(__name__, _WHERE)
