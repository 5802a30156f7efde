"""Model selection: splits, cross-validation, parameter search, intervals and tests of scores."""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "confidence_intervals": (
        "ConfidenceInterval",
        "bootstrap_interval",
        "error_interval",
        "fold_interval",
    ),
    "cross_validation": (
        "CVResult",
        "Leaderboard",
        "compare",
        "cross_validate",
    ),
    "curves": (
        "ScoreCurve",
        "learning_curve",
        "validation_curve",
    ),
    "early_stopping": ("EarlyStopping",),
    "holdout": (
        "Part",
        "SmallPartWarning",
        "split_rows",
        "split_train_test",
        "split_train_validation_test",
    ),
    "paired_tests": (
        "Comparison",
        "bootstrap_difference",
        "corrected_t_test",
        "five_by_two_from_differences",
        "five_by_two_test",
        "mcnemar_test",
        "wilcoxon_test",
    ),
    "parameter_search": ("Search",),
    "search_strategies": ("one_standard_error",),
    "selection_bias": (
        "BestOf",
        "ChosenOnTrainingWarning",
        "ReusedTestWarning",
        "SealedTest",
        "expected_maximum",
        "simulate_best_of",
        "training_choice",
        "warn_if_chosen_on_training",
    ),
    "splits": (
        "Split",
        "make_splits",
        "time_series_split",
    ),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
