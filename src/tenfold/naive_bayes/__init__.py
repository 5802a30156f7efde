"""Naive Bayes classifiers.

Names are lazy: each model imports what it needs.
"""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "categorical": ("CategoricalNB",),
    "discrete": ("BernoulliNB", "ComplementNB", "MultinomialNB", "PoissonNB"),
    "gaussian": ("GaussianNB",),
    "mixed": ("MixedNB",),
    "tan_classifier": ("TANClassifier",),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
