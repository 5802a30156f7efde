"""Candidate models in order of simplicity, each with its features and parameter grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tenfold
from tenfold.automl import feature_maps
from tenfold.automl.ensemble_selection import KEY as ENSEMBLE
from tenfold.automl.feature_maps import EncodedTable
from tenfold.automl.kernel_candidates import (
    find_gaussian_process_obstacle,
    find_neighbor_obstacle,
    find_svm_obstacle,
    gaussian_process_configs,
    kernel_svm_configs,
    kernel_svm_ranges,
    neighbor_configs,
)
from tenfold.automl.model_config import HyperparameterRange, ModelConfig, ScreeningModel
from tenfold.automl.task_scores import MULTI_CLASS, REGRESSION, TWO_CLASS
from tenfold.automl.tree_candidates import (
    boosting_configs,
    boosting_ranges,
    forest_configs,
    forest_ranges,
    tree_configs,
)
from tenfold.neural.layers.dense import Dense
from tenfold.optim.schedules import CosineDecay

_ALPHAS = np.logspace(-2, 4, 19).tolist()  # columns and target have unit variance
YARDSTICK = "yardstick"  # key of the model that is there for comparison only
_COUNT_MODELS = ("MultinomialNB", "ComplementNB")
_FULL_BATCH_ROWS = 2_000  # rows below which networks are trained by L-BFGS
_TRAINING_VISITS = 1_200_000  # rows of all epochs of a network
_CS = np.logspace(-3, 2, 6).tolist()


def make_model(name: str, **settings: Any) -> Any:
    """A public model of tenfold by its name."""
    return getattr(tenfold, name)(**settings)


def linear_config(
    encoded: EncodedTable, features: Any = None, *, strong: bool = False, **description: Any
) -> ModelConfig:
    """Logistic or ridge regression on features; `strong` for small values with large weights."""
    if not encoded.classifies:
        alphas = np.logspace(-2, 2, 5).tolist() if strong else _ALPHAS
        grid = {"alpha": alphas}
        return ModelConfig(
            make_model("Ridge"),
            grid,
            features,
            description,
            ScreeningModel(make_model("Ridge"), grid),
        )
    screening = ScreeningModel(
        make_model("LeastSquaresClassifier"), {"alpha": np.logspace(-3, 2, 6).tolist()}
    )
    grid = {"C": np.logspace(0, 4, 5).tolist() if strong else _CS}
    return ModelConfig(
        make_model("LogisticRegression", max_iter=200), grid, features, description, screening
    )


def plain_linear_configs(encoded: EncodedTable) -> list[ModelConfig]:
    """Linear in the encoded columns."""
    return [linear_config(encoded)]


def baseline_configs(encoded: EncodedTable) -> list[ModelConfig]:
    """The mean, or the class frequencies."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    return [ModelConfig(DummyClassifier() if encoded.classifies else DummyRegressor())]


def lasso_configs(_: EncodedTable) -> list[ModelConfig]:
    """Lasso: penalties down from where all weights are zero."""
    return [
        ModelConfig(make_model("Lasso", max_iter=2000), {"alpha": np.logspace(-3.5, 0, 8).tolist()})
    ]


def naive_bayes_configs(encoded: EncodedTable) -> list[ModelConfig]:
    """Naive Bayes with a distribution for each kind of column."""
    if encoded.sparse:
        grid = {"alpha": [0.01, 0.1, 1.0]}
        return [ModelConfig(make_model(name), grid, None, {"kind": name}) for name in _COUNT_MODELS]
    kinds = np.where(encoded.is_binary, "bernoulli", "gaussian").tolist()
    return [
        ModelConfig(
            make_model("MixedNB", distributions=kinds), {"var_smoothing": [1e-9, 1e-3, 0.1]}
        )
    ]


def lda_configs(_: EncodedTable) -> list[ModelConfig]:
    """Linear discriminant analysis with shrinkage."""
    lda = make_model("LinearDiscriminantAnalysis", solver="eigen")
    return [ModelConfig(lda, {"shrinkage": [0.001, 0.01, 0.1, 0.5]})]


def qda_configs(_: EncodedTable) -> list[ModelConfig]:
    """Quadratic discriminant analysis with shrinkage."""
    return [
        ModelConfig(
            make_model("QuadraticDiscriminantAnalysis"), {"reg_param": [0.001, 0.01, 0.1, 0.5]}
        )
    ]


def linear_svm_configs(_: EncodedTable) -> list[ModelConfig]:
    """Linear support vector machine with Platt scaling of held-out margins."""
    from sklearn.calibration import CalibratedClassifierCV

    options: Any = {"ensemble": False, "cv": 3}
    calibrated = CalibratedClassifierCV(**options)
    grid = {"C": [0.001, 0.01, 0.1, 1.0]}
    return [ModelConfig(make_model("LinearSVC"), grid, wrapper=calibrated)]


def spline_configs(encoded: EncodedTable) -> list[ModelConfig]:
    """Linear in splines of each column."""
    return [
        linear_config(encoded, feature_maps.spline_features(encoded, knots), knots=knots)
        for knots in (feature_maps.FEW_KNOTS, 12)
    ]


def product_configs(encoded: EncodedTable) -> list[ModelConfig]:
    """Linear in columns and products of pairs of them."""
    return [linear_config(encoded, feature_maps.product_features(encoded))]


def kernel_configs(encoded: EncodedTable) -> list[ModelConfig]:
    """Linear in Nystroem features of a Gaussian kernel."""
    return [
        linear_config(encoded, feature_maps.kernel_features(encoded, s), strong=True, spread=s)
        for s in feature_maps.KERNEL_WIDTHS
    ]


def yardstick_configs(encoded: EncodedTable) -> list[ModelConfig]:
    """Boosted trees of scikit-learn."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if encoded.classifies else HistGradientBoostingRegressor
    return [ModelConfig(kind(random_state=encoded.seed))]


def mlp_configs(encoded: EncodedTable) -> list[ModelConfig]:
    """A small network trained by L-BFGS, or a larger one on minibatches."""
    if encoded.n < _FULL_BATCH_ROWS:
        name = "MLPClassifier" if encoded.classifies else "MLPRegressor"
        small = {"hidden_layer_sizes": (16,), "solver": "lbfgs", "max_iter": 100}
        return [
            ModelConfig(
                make_model(name, random_state=encoded.seed, **small), {"alpha": [0.1, 1.0, 10.0]}
            )
        ]
    name = "SequentialClassifier" if encoded.classifies else "SequentialRegressor"
    max_epochs, l2 = (20, 1e-3) if encoded.classifies else (60, 1e-4)
    epochs = int(np.clip(_TRAINING_VISITS // encoded.n, 5, max_epochs))
    layers = [Dense(64, "relu"), Dense(64, "relu"), Dense()]
    training = {"learning_rate": CosineDecay(0.01), "epochs": epochs, "l2": l2}
    network = make_model(name, layers=layers, random_state=encoded.seed, **training)
    return [ModelConfig(network, description={"hidden": (64, 64), "epochs": epochs})]


_CLASSIFICATION = (TWO_CLASS, MULTI_CLASS)
_ANY_TASK = (REGRESSION, *_CLASSIFICATION)
_MAX_DENSE_COLUMNS = 600  # columns beyond which covariances and trees are too slow
_MAX_PRODUCT_COLUMNS = 40  # columns beyond which products of pairs are too many


@dataclass(frozen=True)
class CandidateModel:
    """A candidate model.

    Attributes
    ----------
    key, title : short name, and name in reports
    tasks : tasks that it supports
    requires : public names of tenfold without which it is not available
    make_configs : returns the configurations for a table
    find_obstacle : returns why a table does not suit it, or None
    simplicity : rank in the order of simplicity
    growth : exponent with which time grows with the number of rows
    is_reference : whether it is evaluated for comparison only, and never chosen
    find_ranges : returns the ranges in which settings are searched where time is left, or None
    """

    key: str
    title: str
    tasks: tuple[str, ...]
    requires: tuple[str, ...]
    make_configs: Callable[[EncodedTable], list[ModelConfig]]
    find_obstacle: Callable[[EncodedTable], str | None]
    simplicity: int
    growth: float = 1.0
    is_reference: bool = False
    find_ranges: Callable[[EncodedTable], dict[str, HyperparameterRange]] | None = None

    @property
    def eligible(self) -> bool:
        """Whether it can be chosen."""
        return not self.is_reference


def select_candidates(
    task: str, keys: Any = None, *, yardstick: bool = False
) -> list[CandidateModel]:
    """The candidates for a task, the simplest first.

    Parameters
    ----------
    task : str
        "regression", "two-class" or "multi-class".
    keys : list of str, optional
        Keys of candidates; the baseline is always included.
    yardstick : bool
        Whether the model that is there for comparison only is included.
    """
    available = [c for c in CANDIDATES if task in c.tasks and _is_available(c)]
    wanted = {c.key for c in available if c.eligible} if keys is None else {"baseline", *keys}
    unknown = sorted(wanted - {candidate.key for candidate in available} - {ENSEMBLE})
    if unknown:
        names = ", ".join([*(candidate.key for candidate in available), ENSEMBLE])
        raise ValueError(f"there is no model {', '.join(unknown)} for {task}; there are {names}")
    if yardstick:
        wanted.add(YARDSTICK)
    return [candidate for candidate in available if candidate.key in wanted]


def _is_available(candidate: CandidateModel) -> bool:
    return all(name in tenfold._WHERE for name in candidate.requires)  # noqa: SLF001 - the one list


def accept_all(encoded: EncodedTable) -> str | None:
    """No table is excluded."""


def require_dense(encoded: EncodedTable) -> str | None:
    """Exclude sparse tables and tables of many columns."""
    if encoded.sparse or encoded.p > _MAX_DENSE_COLUMNS:
        return f"{encoded.p:,} encoded columns are too many for it"
    return None


def require_narrow(encoded: EncodedTable) -> str | None:
    """Exclude tables of too many columns for products of pairs."""
    if encoded.sparse or encoded.p > _MAX_PRODUCT_COLUMNS:
        return f"pairs of {encoded.p:,} encoded columns are too many products"
    return "there is only one column" if encoded.p < 2 else None


def require_continuous(encoded: EncodedTable) -> str | None:
    """Exclude tables without continuous columns."""
    if encoded.sparse or encoded.p > _MAX_DENSE_COLUMNS:
        return require_dense(encoded)
    return None if encoded.continuous else "no column has enough different numbers"


def require_counts_or_dense(encoded: EncodedTable) -> str | None:
    """Exclude sparse tables, except of counts."""
    return None if encoded.sparse and encoded.is_nonnegative else require_dense(encoded)


_CLASSICAL = ("Ridge", "LogisticRegression")
_NEIGHBORS = ("KNeighborsClassifier", "KNeighborsRegressor")
_NETWORKS = ("MLPClassifier", "MLPRegressor", "SequentialClassifier", "SequentialRegressor")
_NUMBER = (REGRESSION,)
_BAYES = ("MixedNB", "MultinomialNB", "ComplementNB")
_TREE = ("DecisionTreeClassifier", "DecisionTreeRegressor")
_FOREST = ("RandomForestClassifier", "RandomForestRegressor")
_BOOSTING = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")
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
    CandidateModel("tree", "Decision tree", _ANY_TASK, _TREE, tree_configs, require_dense, 5),
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
        "neighbors",
        "Nearest neighbors",
        _ANY_TASK,
        _NEIGHBORS,
        neighbor_configs,
        find_neighbor_obstacle,
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
        find_svm_obstacle,
        9,
        2.0,
        find_ranges=kernel_svm_ranges,
    ),
    CandidateModel(
        "gaussian_process",
        "Gaussian process",
        _ANY_TASK,
        ("GaussianProcessClassifier", "GaussianProcessRegressor"),
        gaussian_process_configs,
        find_gaussian_process_obstacle,
        9,
        3.0,
    ),
    CandidateModel(
        "forest",
        "Random forest",
        _ANY_TASK,
        _FOREST,
        forest_configs,
        require_dense,
        9,
        find_ranges=forest_ranges,
    ),
    CandidateModel("mlp", "Neural network", _ANY_TASK, _NETWORKS, mlp_configs, require_dense, 10),
    CandidateModel(
        "boosting",
        "Boosted trees",
        _ANY_TASK,
        _BOOSTING,
        boosting_configs,
        require_dense,
        11,
        find_ranges=boosting_ranges,
    ),
    CandidateModel(
        YARDSTICK,
        "Boosted trees of scikit-learn",
        _ANY_TASK,
        (),
        yardstick_configs,
        require_dense,
        12,
        is_reference=True,
    ),
)
