"""Choosing and judging models: splits, cross-validation, search, and tools that keep it honest."""

from typing import Any

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
_WHERE = {name: module for module, names in _OFFERS.items() for name in names}

__all__ = sorted(_WHERE)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _WHERE:
        raise AttributeError(f"module 'tenfold.select' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"tenfold.select.{_WHERE[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
