"""Candidate models in order of simplicity, each with its features and parameter grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import tenfold
from tenfold.automl import feature_maps
from tenfold.automl.feature_maps import EncodedTable
from tenfold.automl.task_scores import MULTI_CLASS, REGRESSION, TWO_CLASS
from tenfold.neural.layers.dense import Dense
from tenfold.optim.schedules import CosineDecay

_ALPHAS = np.logspace(-2, 4, 19).tolist()  # columns and target have unit variance
_COUNT_MODELS = ("MultinomialNB", "ComplementNB")
_FULL_BATCH_ROWS = 2_000
_TRAINING_VISITS = 1_200_000  # rows that a network sees in all
_CS = np.logspace(-3, 2, 6).tolist()


class ScreeningModel(NamedTuple):
    """A fast model that chooses among features for a slow one."""

    model: Any
    grid: dict[str, Any]


@dataclass(frozen=True)
class ModelConfig:
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
    scout: ScreeningModel | None = None
    wrapper: Any = None


def make_model(name: str, **settings: Any) -> Any:
    """A public model of tenfold by its name."""
    return getattr(tenfold, name)(**settings)


def linear_config(
    facts: EncodedTable, features: Any = None, *, strong: bool = False, **said: Any
) -> ModelConfig:
    """Logistic regression, or ridge, on features; strong ones have small values, large weights."""
    if not facts.classifies:
        alphas = np.logspace(-2, 2, 5).tolist() if strong else _ALPHAS
        grid = {"alpha": alphas}
        return ModelConfig(
            make_model("Ridge"), grid, features, said, ScreeningModel(make_model("Ridge"), grid)
        )
    scout = ScreeningModel(
        make_model("LeastSquaresClassifier"), {"alpha": np.logspace(-3, 2, 6).tolist()}
    )
    grid = {"C": np.logspace(0, 4, 5).tolist() if strong else _CS}
    return ModelConfig(make_model("LogisticRegression", max_iter=200), grid, features, said, scout)


def plain_linear_configs(facts: EncodedTable) -> list[ModelConfig]:
    """Linear in the columns as they are."""
    return [linear_config(facts)]


def baseline_configs(facts: EncodedTable) -> list[ModelConfig]:
    """The mean, or the shares of the classes."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    return [ModelConfig(DummyClassifier() if facts.classifies else DummyRegressor())]


def lasso_configs(_: EncodedTable) -> list[ModelConfig]:
    """Few columns: penalties down from where all weights are zero."""
    return [
        ModelConfig(make_model("Lasso", max_iter=2000), {"alpha": np.logspace(-3.5, 0, 8).tolist()})
    ]


def naive_bayes_configs(facts: EncodedTable) -> list[ModelConfig]:
    """Columns independent within a class, each of the kind that it is."""
    if facts.sparse:
        grid = {"alpha": [0.01, 0.1, 1.0]}
        return [ModelConfig(make_model(name), grid, None, {"kind": name}) for name in _COUNT_MODELS]
    kinds = np.where(facts.yes_or_no, "bernoulli", "gaussian").tolist()
    return [
        ModelConfig(
            make_model("MixedNB", distributions=kinds), {"var_smoothing": [1e-9, 1e-3, 0.1]}
        )
    ]


def lda_configs(_: EncodedTable) -> list[ModelConfig]:
    """One covariance for all classes, shrunk."""
    shrunk = make_model("LinearDiscriminantAnalysis", solver="eigen")
    return [ModelConfig(shrunk, {"shrinkage": [0.001, 0.01, 0.1, 0.5]})]


def qda_configs(_: EncodedTable) -> list[ModelConfig]:
    """A covariance for each class, shrunk."""
    return [
        ModelConfig(
            make_model("QuadraticDiscriminantAnalysis"), {"reg_param": [0.001, 0.01, 0.1, 0.5]}
        )
    ]


def linear_svm_configs(_: EncodedTable) -> list[ModelConfig]:
    """Wide margins; probabilities by a sigmoid of held-out margins."""
    from sklearn.calibration import CalibratedClassifierCV

    options: Any = {"ensemble": False, "cv": 3}
    calibrated = CalibratedClassifierCV(**options)
    grid = {"C": [0.001, 0.01, 0.1, 1.0]}
    return [ModelConfig(make_model("LinearSVC"), grid, wrapper=calibrated)]


def spline_configs(facts: EncodedTable) -> list[ModelConfig]:
    """Linear in smooth curves of each column."""
    return [
        linear_config(facts, feature_maps.spline_features(facts, knots), knots=knots)
        for knots in (feature_maps.FEW_KNOTS, 12)
    ]


def product_configs(facts: EncodedTable) -> list[ModelConfig]:
    """Linear in columns and products of pairs of them."""
    return [linear_config(facts, feature_maps.product_features(facts))]


def kernel_configs(facts: EncodedTable) -> list[ModelConfig]:
    """Linear in bumps around rows drawn at random: nearly a kernel machine."""
    spreads = feature_maps.KERNEL_WIDTHS
    return [
        linear_config(facts, feature_maps.kernel_features(facts, s), strong=True, spread=s)
        for s in spreads
    ]


def boosting_configs(facts: EncodedTable) -> list[ModelConfig]:
    """Boosted trees of scikit-learn."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if facts.classifies else HistGradientBoostingRegressor
    return [ModelConfig(kind(random_state=facts.seed))]


def neighbor_configs(facts: EncodedTable) -> list[ModelConfig]:
    """What the nearest rows say."""
    name = "KNeighborsClassifier" if facts.classifies else "KNeighborsRegressor"
    return [ModelConfig(make_model(name), {"n_neighbors": [1, 5, 15, 40]})]


def kernel_svm_configs(facts: EncodedTable) -> list[ModelConfig]:
    """Wide margins in the space of a kernel."""
    if facts.classifies:
        return [ModelConfig(make_model("SVC", probability=True), {"C": [0.1, 1.0, 10.0, 100.0]})]
    return [ModelConfig(make_model("SVR"), {"C": [0.1, 1.0, 10.0, 100.0]})]


def mlp_configs(facts: EncodedTable) -> list[ModelConfig]:
    """A small network on all rows at once, or a larger one on batches."""
    if facts.n < _FULL_BATCH_ROWS:
        name = "MLPClassifier" if facts.classifies else "MLPRegressor"
        small = {"hidden_layer_sizes": (16,), "solver": "lbfgs", "max_iter": 100}
        return [
            ModelConfig(
                make_model(name, random_state=facts.seed, **small), {"alpha": [0.1, 1.0, 10.0]}
            )
        ]
    name = "SequentialClassifier" if facts.classifies else "SequentialRegressor"
    most, l2 = (20, 1e-3) if facts.classifies else (60, 1e-4)  # numbers say more than labels
    epochs = int(np.clip(_TRAINING_VISITS // facts.n, 5, most))
    layers = [Dense(64, "relu"), Dense(64, "relu"), Dense()]
    pace = {"learning_rate": CosineDecay(0.01), "epochs": epochs, "l2": l2}
    network = make_model(name, layers=layers, random_state=facts.seed, **pace)
    return [ModelConfig(network, said={"hidden": (64, 64), "epochs": epochs})]


_CLASSIFICATION = (TWO_CLASS, MULTI_CLASS)
_ANY_TASK = (REGRESSION, *_CLASSIFICATION)
_REFERENCE_TITLE = "Boosted trees: yardstick (scikit-learn)"
_MAX_DENSE_COLUMNS = 600  # columns beyond which a covariance, or a tree, costs more than it tells
_MAX_PRODUCT_COLUMNS = 40  # columns beyond which products of pairs are too many


@dataclass(frozen=True)
class CandidateModel:
    """A model of the ladder.

    Attributes
    ----------
    key, title : short name, and name for people
    tasks : what it can be tried for
    needs : public names of tenfold without which it is left out
    make : gives the recipes for a table
    unfit : says why a table does not suit it, or gives None
    simplicity : place in the order of simplicity
    growth : time grows with this power of the rows
    yardstick : whether it is there for comparison alone, and never chosen
    """

    key: str
    title: str
    tasks: tuple[str, ...]
    needs: tuple[str, ...]
    make: Callable[[EncodedTable], list[ModelConfig]]
    unfit: Callable[[EncodedTable], str | None]
    simplicity: int
    growth: float = 1.0
    yardstick: bool = False

    @property
    def eligible(self) -> bool:
        """Whether it can be chosen."""
        return not self.yardstick


def select_candidates(task: str, wanted: Any = None) -> list[CandidateModel]:
    """The rungs for a task, the simplest first.

    Parameters
    ----------
    task : str
        "regression", "two-class" or "multi-class".
    wanted : list of str, optional
        Keys; the baseline is always there.
    """
    fitting = [rung for rung in CANDIDATES if task in rung.tasks and _is_available(rung)]
    if wanted is None:
        return fitting
    unknown = sorted(set(wanted) - {rung.key for rung in fitting})
    if unknown:
        known = ", ".join(rung.key for rung in fitting)
        raise ValueError(f"there is no model {', '.join(unknown)} for {task}; there are {known}")
    return [rung for rung in fitting if rung.key in {"baseline", *wanted}]


def _is_available(rung: CandidateModel) -> bool:
    return all(name in tenfold._WHERE for name in rung.needs)  # noqa: SLF001 - the one list


def accept_all(facts: EncodedTable) -> str | None:
    """Every table suits."""


def require_dense(facts: EncodedTable) -> str | None:
    """A table of few enough columns in memory."""
    if facts.sparse or facts.p > _MAX_DENSE_COLUMNS:
        return f"{facts.p:,} encoded columns are too many for it"
    return None


def require_narrow(facts: EncodedTable) -> str | None:
    """A table of so few columns that pairs of them can be multiplied."""
    if facts.sparse or facts.p > _MAX_PRODUCT_COLUMNS:
        return f"pairs of {facts.p:,} encoded columns are too many products"
    return "there is only one column" if facts.p < 2 else None


def require_continuous(facts: EncodedTable) -> str | None:
    """A table with continuous columns."""
    if facts.sparse or facts.p > _MAX_DENSE_COLUMNS:
        return require_dense(facts)
    return None if facts.continuous else "no column has enough different numbers"


def require_counts_or_dense(facts: EncodedTable) -> str | None:
    """A table in memory, or one of word counts."""
    return None if facts.sparse and facts.counts else require_dense(facts)


_CLASSICAL = ("Ridge", "LogisticRegression")
_NEIGHBORS = ("KNeighborsClassifier", "KNeighborsRegressor")
_NETWORKS = ("MLPClassifier", "MLPRegressor", "SequentialClassifier", "SequentialRegressor")
_NUMBER = (REGRESSION,)
_BAYES = ("MixedNB", "MultinomialNB", "ComplementNB")
_LDA, _QDA = ("LinearDiscriminantAnalysis",), ("QuadraticDiscriminantAnalysis",)

CANDIDATES: tuple[CandidateModel, ...] = (
    CandidateModel("baseline", "Baseline", _ANY_TASK, (), baseline_configs, accept_all, 0),
    CandidateModel(
        "naive_bayes",
        "Naive Bayes",
        _CLASSIFICATION,
        _BAYES,
        naive_bayes_configs,
        require_counts_or_dense,
        1,
    ),
    CandidateModel(
        "ridge", "Ridge regression", _NUMBER, ("Ridge",), plain_linear_configs, accept_all, 2
    ),
    CandidateModel(
        "lda", "Linear discriminant", _CLASSIFICATION, _LDA, lda_configs, require_dense, 2
    ),
    CandidateModel(
        "logistic",
        "Logistic regression",
        _CLASSIFICATION,
        _CLASSICAL,
        plain_linear_configs,
        accept_all,
        3,
    ),
    CandidateModel("lasso", "Lasso", _NUMBER, ("Lasso",), lasso_configs, accept_all, 3),
    CandidateModel(
        "linear_svm",
        "Linear SVM",
        _CLASSIFICATION,
        ("LinearSVC",),
        linear_svm_configs,
        accept_all,
        4,
    ),
    CandidateModel(
        "linear_splines",
        "Linear with splines",
        _ANY_TASK,
        _CLASSICAL,
        spline_configs,
        require_continuous,
        5,
    ),
    CandidateModel(
        "interactions",
        "Linear with products",
        _ANY_TASK,
        _CLASSICAL,
        product_configs,
        require_narrow,
        6,
    ),
    CandidateModel(
        "qda", "Quadratic discriminant", _CLASSIFICATION, _QDA, qda_configs, require_dense, 6
    ),
    CandidateModel(
        "neighbours",
        "Nearest neighbours",
        _ANY_TASK,
        _NEIGHBORS,
        neighbor_configs,
        require_dense,
        7,
        2.0,
    ),
    CandidateModel(
        "radial", "Radial features", _ANY_TASK, _CLASSICAL, kernel_configs, require_dense, 8
    ),
    CandidateModel(
        "kernel_svm",
        "Kernel SVM",
        _ANY_TASK,
        ("SVC", "SVR"),
        kernel_svm_configs,
        require_dense,
        9,
        2.0,
    ),
    CandidateModel("mlp", "Neural network", _ANY_TASK, _NETWORKS, mlp_configs, require_dense, 10),
    CandidateModel(
        "boosting",
        _REFERENCE_TITLE,
        _ANY_TASK,
        (),
        boosting_configs,
        require_dense,
        11,
        yardstick=True,
    ),
)
