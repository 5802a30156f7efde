"""Learning from few labels: self-training, label propagation, EM, and asking for labels.

Names are lazy: each model imports what it needs.
"""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "active_learner": ("ActiveLearner", "ActiveLearningCurve"),
    "em_classifier": ("EMClassifier",),
    "label_propagation": ("LabelPropagation", "LabelSpreading"),
    "self_training": ("SelfTrainingClassifier",),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
