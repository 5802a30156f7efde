"""Ensembles of any models: voting, stacking, bagging, AdaBoost.

Names are lazy: each model imports what it needs.
"""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "adaboost": ("AdaBoostClassifier", "AdaBoostRegressor"),
    "bagging": ("BaggingClassifier", "BaggingRegressor"),
    "stacking": ("StackingClassifier", "StackingRegressor"),
    "voting": ("VotingClassifier", "VotingRegressor"),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
