"""Recipes: how each rung of the ladder makes models for a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import tenfold
from tenfold.neural.dense import Dense
from tenfold.solve.rates import Cosine
from tenfold.study import feature_maps
from tenfold.study.facts import Facts

ALPHAS = np.logspace(-2, 4, 19).tolist()  # columns and target have unit variance
OF_WORDS = ("MultinomialNB", "ComplementNB")
FEW_ROWS = 2_000
VISITS = 1_200_000  # rows that a network sees in all
CS = np.logspace(-3, 2, 6).tolist()


class Scout(NamedTuple):
    """A fast model that chooses among features for a slow one."""

    model: Any
    grid: dict[str, Any]


@dataclass(frozen=True)
class Recipe:
    """A model, the features that are made for it, and the settings to choose from.

    Attributes
    ----------
    model : unfitted estimator
    grid : values of its parameters
    features : unfitted transformer, or None
    said : settings of the features, for people
    scout : who chooses among recipes; by default each is judged with all its settings
    wrapper : unfitted estimator of an `estimator`, which the tuned model becomes; or None
    """

    model: Any
    grid: dict[str, Any] = field(default_factory=dict)
    features: Any = None
    said: dict[str, Any] = field(default_factory=dict)
    scout: Scout | None = None
    wrapper: Any = None


def model(name: str, **settings: Any) -> Any:
    """A public model of tenfold by its name."""
    return getattr(tenfold, name)(**settings)


def linear(facts: Facts, features: Any = None, *, strong: bool = False, **said: Any) -> Recipe:
    """Logistic regression, or ridge, on features; strong ones have small values, large weights."""
    if not facts.classifies:
        alphas = np.logspace(-2, 2, 5).tolist() if strong else ALPHAS
        grid = {"alpha": alphas}
        return Recipe(model("Ridge"), grid, features, said, Scout(model("Ridge"), grid))
    scout = Scout(model("LeastSquaresClassifier"), {"alpha": np.logspace(-3, 2, 6).tolist()})
    grid = {"C": np.logspace(0, 4, 5).tolist() if strong else CS}
    return Recipe(model("LogisticRegression", max_iter=200), grid, features, said, scout)


def plain_linear(facts: Facts) -> list[Recipe]:
    """Linear in the columns as they are."""
    return [linear(facts)]


def baseline(facts: Facts) -> list[Recipe]:
    """The mean, or the shares of the classes."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    return [Recipe(DummyClassifier() if facts.classifies else DummyRegressor())]


def lasso(_: Facts) -> list[Recipe]:
    """Few columns: penalties down from where all weights are zero."""
    return [Recipe(model("Lasso", max_iter=2000), {"alpha": np.logspace(-3.5, 0, 8).tolist()})]


def naive_bayes(facts: Facts) -> list[Recipe]:
    """Columns independent within a class, each of the kind that it is."""
    if facts.sparse:
        grid = {"alpha": [0.01, 0.1, 1.0]}
        return [Recipe(model(name), grid, None, {"kind": name}) for name in OF_WORDS]
    kinds = np.where(facts.yes_or_no, "bernoulli", "gaussian").tolist()
    return [Recipe(model("MixedNB", distributions=kinds), {"var_smoothing": [1e-9, 1e-3, 0.1]})]


def lda(_: Facts) -> list[Recipe]:
    """One covariance for all classes, shrunk."""
    shrunk = model("LinearDiscriminantAnalysis", solver="eigen")
    return [Recipe(shrunk, {"shrinkage": [0.001, 0.01, 0.1, 0.5]})]


def qda(_: Facts) -> list[Recipe]:
    """A covariance for each class, shrunk."""
    return [Recipe(model("QuadraticDiscriminantAnalysis"), {"reg_param": [0.001, 0.01, 0.1, 0.5]})]


def linear_svm(_: Facts) -> list[Recipe]:
    """Wide margins; probabilities by a sigmoid of held-out margins."""
    from sklearn.calibration import CalibratedClassifierCV

    options: Any = {"ensemble": False, "cv": 3}
    calibrated = CalibratedClassifierCV(**options)
    grid = {"C": [0.001, 0.01, 0.1, 1.0]}
    return [Recipe(model("LinearSVC"), grid, wrapper=calibrated)]


def splines(facts: Facts) -> list[Recipe]:
    """Linear in smooth curves of each column."""
    return [
        linear(facts, feature_maps.splines(facts, knots), knots=knots)
        for knots in (feature_maps.FEW_KNOTS, 12)
    ]


def products(facts: Facts) -> list[Recipe]:
    """Linear in columns and products of pairs of them."""
    return [linear(facts, feature_maps.products(facts))]


def radial(facts: Facts) -> list[Recipe]:
    """Linear in bumps around rows drawn at random: nearly a kernel machine."""
    spreads = feature_maps.SPREADS
    return [linear(facts, feature_maps.bumps(facts, s), strong=True, spread=s) for s in spreads]


def boosting(facts: Facts) -> list[Recipe]:
    """Boosted trees of scikit-learn."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if facts.classifies else HistGradientBoostingRegressor
    return [Recipe(kind(random_state=facts.seed))]


def neighbours(facts: Facts) -> list[Recipe]:
    """What the nearest rows say."""
    name = "KNeighborsClassifier" if facts.classifies else "KNeighborsRegressor"
    return [Recipe(model(name), {"n_neighbors": [1, 5, 15, 40]})]


def kernel_svm(facts: Facts) -> list[Recipe]:
    """Wide margins in the space of a kernel."""
    if facts.classifies:
        return [Recipe(model("SVC", probability=True), {"C": [0.1, 1.0, 10.0, 100.0]})]
    return [Recipe(model("SVR"), {"C": [0.1, 1.0, 10.0, 100.0]})]


def mlp(facts: Facts) -> list[Recipe]:
    """A small network on all rows at once, or a larger one on batches."""
    if facts.n < FEW_ROWS:
        name = "MLPClassifier" if facts.classifies else "MLPRegressor"
        small = {"hidden_layer_sizes": (16,), "solver": "lbfgs", "max_iter": 100}
        return [Recipe(model(name, random_state=facts.seed, **small), {"alpha": [0.1, 1.0, 10.0]})]
    name = "SequentialClassifier" if facts.classifies else "SequentialRegressor"
    most, l2 = (20, 1e-3) if facts.classifies else (60, 1e-4)  # numbers say more than labels
    epochs = int(np.clip(VISITS // facts.n, 5, most))
    layers = [Dense(64, "relu"), Dense(64, "relu"), Dense()]
    pace = {"learning_rate": Cosine(0.01), "epochs": epochs, "l2": l2}
    network = model(name, layers=layers, random_state=facts.seed, **pace)
    return [Recipe(network, said={"hidden": (64, 64), "epochs": epochs})]
