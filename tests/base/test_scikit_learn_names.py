"""Whatever scikit-learn's class of the same name accepts is accepted here."""

from __future__ import annotations

import warnings
from importlib import import_module
from inspect import isclass, isfunction, signature

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_breast_cancer, load_iris, make_multilabel_classification
from sklearn.preprocessing import scale
from sklearn.utils import get_tags

import tenfold
from tenfold.base._sklearn import StrOptions
from tests.dropin.swap import shared_names

MODULES = [
    "cluster",
    "decomposition",
    "discriminant_analysis",
    "linear_model",
    "mixture",
    "naive_bayes",
    "neighbors",
    "neural_network",
    "svm",
]
PAIRS = {
    name: (getattr(module, name), getattr(tenfold, name))
    for module in (import_module(f"sklearn.{name}") for name in MODULES)
    for name in sorted(set(tenfold._WHERE) & set(dir(module)))
    if isclass(getattr(module, name)) and name != "SparseCoder"  # a parameter without a default
}
MISSING_METHODS = {  # callbacks are tenfold.progress here
    (name, "set_callbacks") for name in ("LogisticRegression", "LogisticRegressionCV")
}
OTHER_SIGNATURES = {(name, "path") for name in PAIRS if hasattr(PAIRS[name][0], "path")}  # keywords
OTHER_SIGNATURES |= {(name, "fit") for name in ("NMF", "MiniBatchNMF")}  # weights, not metadata
OTHER_SIGNATURES |= {("LatentDirichletAllocation", "fit_transform")}  # normalize is a keyword
pytestmark = pytest.mark.filterwarnings("ignore")


def data(cls, n_classes):
    """Rows that every model takes: positive, of a few columns."""
    X, y = load_iris(return_X_y=True)
    rows = y < n_classes
    if is_classifier(cls()):
        return X[rows], y[rows]
    several = is_regressor(cls()) and not get_tags(cls()).target_tags.single_output
    if not is_regressor(cls()):
        X = X[::3]
    return X[:, :3].copy(), X[:, 2:].copy() if several else X[:, 3].copy()


def named_values(cls):
    """Parameters with the values that the constraints of a class name one by one."""
    for name, constraints in cls._parameter_constraints.items():
        if name not in signature(cls.__init__).parameters:
            continue
        for constraint in constraints:
            if isinstance(constraint, StrOptions):
                few = sorted(constraint.options)[:: 12 if name == "scoring" else 1]
                yield from ((name, value) for value in few)
            elif isinstance(constraint, str) and constraint == "boolean":
                yield from ((name, value) for value in (True, False))
            elif constraint is None:
                yield name, None


def fits(cls, params, n_classes):
    known = signature(cls.__init__).parameters
    short = {"max_iter": 2 if "dict_init" in known else 20}  # dictionaries of scikit-learn are slow
    short |= {"Cs": 1, "cv": 2} if "Cs" in known else {}
    rounds = {name: value for name, value in short.items() if name in known}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            cls(**{**rounds, **params}).fit(*data(cls, n_classes))
        except Exception:  # noqa: BLE001  any refusal counts
            return False
    return True


@pytest.mark.parametrize("name", PAIRS)
def test_default_parameters_of_scikit_learn_are_accepted(name):
    theirs, ours = PAIRS[name]
    model = ours(**theirs().get_params())
    assert clone(model).fit(*data(theirs, 3)) is not None


@pytest.mark.parametrize("name", PAIRS)
def test_every_named_value_is_accepted(name):
    theirs, ours = PAIRS[name]
    refused = [
        (parameter, value, n_classes)
        for parameter, value in named_values(theirs)
        for n_classes in ((2, 3) if is_classifier(theirs()) else (2,))
        if fits(theirs, {parameter: value}, n_classes)
        and not fits(ours, {parameter: value}, n_classes)
    ]
    assert refused == []


@pytest.mark.parametrize("name", PAIRS)
def test_positions_of_arguments_are_those_of_scikit_learn(name):
    theirs, ours = PAIRS[name]

    def positional(function):
        parameters = signature(function).parameters.values()
        return [p.name for p in parameters if p.kind == p.POSITIONAL_OR_KEYWORD]

    assert positional(ours.__init__) == positional(theirs.__init__)
    for method in dir(theirs):
        known = (name, method) in MISSING_METHODS | OTHER_SIGNATURES
        if method.startswith("_") or known or not isfunction(getattr(theirs, method)):
            continue
        want = list(signature(getattr(theirs, method)).parameters)
        assert list(signature(getattr(ours, method)).parameters)[: len(want)] == want, method


CANCER, BENIGN = load_breast_cancer(return_X_y=True)
CANCER = scale(CANCER)


def logistic_objective(model, C, l1_ratio, intercept_scaling):
    """The objective of scikit-learn's solvers; liblinear's has a penalty of the intercept."""
    z, w = model.decision_function(CANCER), np.ravel(model.coef_)
    if intercept_scaling:
        w = np.append(w, model.intercept_ / intercept_scaling)
    loss = np.logaddexp(0, (1 - 2 * BENIGN) * z).sum()
    return C * loss + (1 - l1_ratio) / 2 * (w @ w) + l1_ratio * np.abs(w).sum()


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("solver", "l1_ratio", "scaling"),
    [
        ("liblinear", 0.0, 1.0),
        ("liblinear", 0.0, 5.0),
        ("liblinear", 1.0, 0.3),
        ("saga", 0.0, 0),
        ("saga", 0.5, 0),
        ("saga", 1.0, 0),
        ("sag", 0.0, 0),
        ("lbfgs", 0.0, 0),
        ("newton-cg", 0.0, 0),
    ],
)
def test_solvers_of_logistic_regression_reach_the_optimum_of_scikit_learn(
    make, solver, l1_ratio, scaling
):
    settings = {"solver": solver, "l1_ratio": l1_ratio, "C": 0.1, "tol": 1e-5, "max_iter": 500}
    settings["intercept_scaling"] = scaling or 1.0
    theirs, ours = (
        logistic_objective(cls(**settings).fit(make(CANCER), BENIGN), 0.1, l1_ratio, scaling)
        for cls in PAIRS["LogisticRegression"]
    )
    assert ours <= theirs * (1 + 1e-6)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"penalty": "l2"}, {}),
        ({"penalty": "l1", "solver": "saga"}, {"l1_ratio": 1.0}),
        ({"penalty": "elasticnet", "l1_ratio": 0.3, "solver": "saga"}, {"l1_ratio": 0.3}),
        ({"l1_ratio": None}, {}),
        ({"penalty": None, "C": 3.0}, {"C": np.inf}),
        ({"dual": True, "solver": "liblinear"}, {"solver": "liblinear"}),
    ],
)
def test_deprecated_penalties_are_the_new_ones(old, new):
    a, b = (
        tenfold.LogisticRegression(**params).fit(CANCER[:, :5], BENIGN) for params in (old, new)
    )
    assert np.array_equal(a.coef_, b.coef_)


@pytest.mark.parametrize(
    ("params", "word"),
    [
        ({"dual": True}, "dual"),
        ({"dual": True, "solver": "liblinear", "l1_ratio": 1.0}, "dual"),
        ({"solver": "liblinear", "C": np.inf}, "liblinear"),
        ({"penalty": "elasticnet", "l1_ratio": None, "solver": "saga"}, "l1_ratio"),
    ],
)
def test_what_scikit_learn_refuses_is_refused_in_words(params, word):
    for cls in PAIRS["LogisticRegression"]:
        with pytest.raises(ValueError, match=word):
            cls(**params).fit(CANCER, BENIGN)


def test_liblinear_is_for_two_classes():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="OneVsRestClassifier"):
        tenfold.LogisticRegression(solver="liblinear").fit(X, y)


@pytest.mark.parametrize("solver", ["lsqr", "sag", "saga", "svd", "cholesky", "sparse_cg", "lbfgs"])
@pytest.mark.parametrize("positive", [False, True])
def test_solvers_of_ridge_agree(solver, positive):
    X, y = CANCER[:, 1:], CANCER[:, 0]
    if solver == "lbfgs" and not positive:
        with pytest.raises(ValueError, match="positive=True"):
            tenfold.Ridge(solver=solver).fit(X, y)
        return
    model = tenfold.Ridge(solver=solver, positive=positive, tol=1e-10).fit(X, y)
    reference = linear_model.Ridge(positive=positive, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=2e-4 if positive else 1e-8)
    assert model.solver_ == solver


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "params", [{}, {"C": 0.1}, {"fit_intercept": False}, {"class_weight": {0: 2.0, 1: 0.5}}]
)
def test_crammer_and_singer_reach_the_optimum_of_scikit_learn(make, n_classes, params):
    X, y = load_iris(return_X_y=True)
    X, y = scale(X[y < n_classes]), y[y < n_classes]
    params = {"multi_class": "crammer_singer", "tol": 1e-7, "max_iter": 20000, **params}
    theirs, ours = (cls(random_state=0, **params).fit(make(X), y) for cls in PAIRS["LinearSVC"])
    assert ours.gap_[0] <= 1e-8 * ours.objective_[0]
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-3)


SPARSE_COEF = ["LinearSVC", "LogisticRegression", "Perceptron", "SGDClassifier", "SGDRegressor"]


@pytest.mark.parametrize("name", SPARSE_COEF)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_coefficients_predict_the_same(name, n_classes, tmp_path):
    theirs, ours = PAIRS[name]
    X, y = data(theirs, n_classes)
    model = ours().fit(X, y)
    before, dense = model.predict(X), model.coef_.copy()
    assert sparse.issparse(model.sparsify().coef_)
    assert model.sparsify() is model
    for rows in (X, sparse.csr_array(X)):
        np.testing.assert_allclose(model.predict(rows), before, atol=1e-9)
        assert model.predict(rows).shape == before.shape
    model.save(tmp_path / "sparse")
    np.testing.assert_allclose(tenfold.load(tmp_path / "sparse").predict(X), before, atol=1e-9)
    assert np.array_equal(model.densify().coef_, dense)
    assert np.array_equal(model.densify().coef_, dense)


LINEAR = [
    *("ARDRegression", "BayesianRidge", "ElasticNet", "HuberRegressor", "Lasso"),
    *("LinearRegression", "PoissonRegressor", "QuantileRegressor", "Ridge", *SPARSE_COEF),
]
WHAT_PREDICTS = dict.fromkeys(LINEAR, ("coef_", "intercept_", "classes_")) | {
    "PCA": ("components_", "mean_"),
    "KMeans": ("cluster_centers_",),
    "NearestCentroid": ("centroids_", "classes_"),
}


@pytest.mark.parametrize("name", WHAT_PREDICTS)
def test_models_put_together_by_hand_predict(name):
    X, y = data(PAIRS[name][0], 3)
    ours = PAIRS[name][1]
    fitted, model = ours().fit(X, y), ours()
    for attribute in WHAT_PREDICTS[name]:
        if hasattr(fitted, attribute):
            setattr(model, attribute, getattr(fitted, attribute))
    method = "transform" if name == "PCA" else "predict"
    np.testing.assert_array_equal(getattr(model, method)(X), getattr(fitted, method)(X))


@pytest.mark.parametrize("name", ["KMeans", "MiniBatchKMeans"])
def test_weights_of_clusters_by_position(name):
    X, _ = load_iris(return_X_y=True)
    w = np.arange(150.0)
    model = PAIRS[name][1](3, random_state=0, n_init=1)
    labels = clone(model).fit(X, sample_weight=w).labels_
    assert np.array_equal(clone(model).fit_predict(X, None, w), labels)
    assert clone(model).fit_transform(X, None, w).shape == (150, 3)


def test_arguments_of_lassos_and_paths():
    X, y = CANCER[:, 1:6], CANCER[:, 0]
    a, b = (tenfold.Lasso(alpha=0.1).fit(X, y, None, check_input) for check_input in (True, False))
    assert np.array_equal(a.coef_, b.coef_)
    theirs = linear_model.enet_path(X, y, alphas=5, check_input=True, Xy=X.T @ y, copy_X=True)
    ours = tenfold.enet_path(X, y, n_alphas=5, check_input=True, Xy=X.T @ y, copy_X=True)
    np.testing.assert_allclose(ours[1], theirs[1], atol=0.02)


def test_options_of_linear_programs_arrive():
    X, y = CANCER[:, 1:4], CANCER[:, 0]
    model = tenfold.QuantileRegressor(solver="highs", solver_options={"presolve": False}, alpha=0)
    exact = tenfold.QuantileRegressor(alpha=0).fit(X, y)
    np.testing.assert_allclose(model.fit(X, y).coef_, exact.coef_, atol=1e-6)


@pytest.mark.parametrize("solver", ["adam", "sgd", "lbfgs"])
@pytest.mark.parametrize("n_labels", [2, 5])
def test_several_labels_per_row(solver, n_labels):
    X, Y = make_multilabel_classification(300, n_classes=n_labels, random_state=0)
    X, settings = scale(X), {"solver": solver, "max_iter": 100, "random_state": 0}
    theirs, ours = (cls(**settings).fit(X, Y) for cls in PAIRS["MLPClassifier"])
    assert ours.predict(X).shape == ours.predict_proba(X).shape == Y.shape
    assert ours.loss_ < theirs.loss_ * 1.2 + 0.05
    for attribute in ("classes_", "n_outputs_", "out_activation_", "t_"):
        if attribute != "classes_":
            assert getattr(ours, attribute) == getattr(theirs, attribute)
    assert np.array_equal(ours.classes_, theirs.classes_)
    if solver != "lbfgs":
        again = PAIRS["MLPClassifier"][1](solver=solver).partial_fit(
            X, Y, classes=np.arange(n_labels)
        )
        assert again.predict(X).shape == Y.shape
    with pytest.raises(ValueError, match="zeros and ones"):
        PAIRS["MLPClassifier"][1]().fit(X, Y * 3 + np.arange(n_labels))


@pytest.mark.parametrize("name", ["MLPClassifier", "MLPRegressor"])
@pytest.mark.parametrize("solver", ["adam", "sgd", "lbfgs"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_networks_are_trained_in_the_type_of_the_rows(name, solver, dtype):
    X, y = data(PAIRS[name][0], 3)
    model = PAIRS[name][1](max_iter=3, solver=solver).fit(X.astype(dtype), y)
    assert {part.dtype for part in (*model.coefs_, *model.intercepts_)} == {np.dtype(dtype)}


def test_weights_of_networks_can_be_replaced():
    X, y = load_iris(return_X_y=True)
    model = tenfold.MLPClassifier(max_iter=3, random_state=0).fit(X, y)
    model.coefs_ = [0 * part for part in model.coefs_]
    model.intercepts_ = [np.zeros(100), np.log([0.2, 0.3, 0.5])]
    np.testing.assert_allclose(model.predict_proba(X[:1]), [[0.2, 0.3, 0.5]])
    made = tenfold.MLPRegressor(activation="tanh")
    made.coefs_, made.intercepts_ = [np.ones((2, 3)), np.ones((3, 1))], [np.zeros(3), np.zeros(1)]
    np.testing.assert_allclose(made.predict(np.array([[0.1, 0.2]])), 3 * np.tanh([0.3]))


@pytest.mark.parametrize("early_stopping", [False, True])
def test_attributes_that_do_not_apply_are_none(early_stopping):
    X, y = load_iris(return_X_y=True)
    theirs, ours = (
        cls(max_iter=3, early_stopping=early_stopping).fit(X, y) for cls in PAIRS["MLPClassifier"]
    )
    for attribute in ("best_loss_", "validation_scores_", "best_validation_score_"):
        assert (getattr(ours, attribute) is None) == (getattr(theirs, attribute) is None)
    assert ours.t_ == theirs.t_


def test_deprecated_values_warn_as_in_scikit_learn():
    for cls in PAIRS["LogisticRegression"]:
        for params, kind in (
            ({"penalty": "l2"}, FutureWarning),
            ({"l1_ratio": None}, FutureWarning),
            ({"penalty": None, "C": 3.0}, UserWarning),
            ({"penalty": "l1", "l1_ratio": 0.0, "solver": "saga"}, UserWarning),
        ):
            with pytest.warns(kind):
                cls(**params).fit(CANCER[:, :3], BENIGN)


def test_classes_of_networks_do_not_change():
    for cls in PAIRS["MLPClassifier"]:
        model = cls(solver="sgd").partial_fit([[3.0, 2.0]], [0], classes=[0, 1])
        with pytest.raises(ValueError, match="classes"):
            model.partial_fit([[3.0, 2.0]], [1], classes=[1, 2])


@pytest.mark.parametrize("name", [name for name in PAIRS if hasattr(PAIRS[name][1], "transform")])
def test_types_of_rows_that_a_transform_keeps_are_those_of_scikit_learn(name):
    theirs, ours = (get_tags(cls()).transformer_tags for cls in PAIRS[name])
    assert set(ours.preserves_dtype) >= set(theirs.preserves_dtype)
    X, y = data(PAIRS[name][0], 3)
    for dtype in ours.preserves_dtype:
        rows = X.astype(dtype)
        assert PAIRS[name][1]().fit(rows, y).transform(rows).dtype == dtype


SCALARS = {
    "ARDRegression": ["alpha_"],
    "BayesianRidge": ["alpha_", "lambda_"],
    "GaussianMixture": ["lower_bound_"],
    "HuberRegressor": ["scale_"],
    "MLPClassifier": ["loss_", "best_loss_"],
    "MLPRegressor": ["loss_", "best_loss_"],
}


@pytest.mark.parametrize("name", SCALARS)
def test_learned_scalars_are_those_of_numpy(name):
    X, y = data(PAIRS[name][0], 2)
    for cls in PAIRS[name]:
        model = cls(**({"max_iter": 3} if "MLP" in name else {})).fit(X, y)
        assert all(isinstance(getattr(model, found), np.float64) for found in SCALARS[name])


SHARED = {name: value for name, value in shared_names().items() if isclass(value)}
NEEDED = {"estimators": [("nb", tenfold.GaussianNB())]}  # parameters without a default
INNER = {
    "SelfTrainingClassifier": {"estimator": tenfold.GaussianNB()},  # None is no default
    "SparseCoder": {"dictionary": np.eye(3)},
}


@pytest.mark.parametrize("name", SHARED)
def test_every_parameter_of_a_shared_class_is_accepted(name):
    """Without a fit, for all families: names, positions and values of parameters."""
    theirs, ours = SHARED[name], getattr(tenfold, name)
    parameters = signature(theirs).parameters
    given = {key: value for key, value in NEEDED.items() if key in parameters}
    given |= INNER.get(name, {})
    ours(**theirs(**given).get_params(deep=False))
    by_position = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert list(signature(ours).parameters)[: len(by_position)] == by_position
    for parameter, value in named_values(theirs):
        ours(**given | {parameter: value})._validate_params()
