"""Models that scikit-learn has too are converted by skl2onnx, and onnxruntime predicts the same."""

import sys
import warnings

import numpy as np
import pytest
from skl2onnx import to_onnx
from sklearn.base import is_classifier, is_clusterer, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes, load_iris, make_multilabel_classification
from sklearn.ensemble import VotingClassifier as TheirVotingClassifier
from sklearn.linear_model import LogisticRegression as TheirLogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tenfold
from tenfold import (
    GaussianMixture,
    GaussianNB,
    LogisticRegression,
    MLPClassifier,
    Perceptron,
    PoissonRegressor,
    register_onnx_converters,
)

ort = pytest.importorskip("onnxruntime")
NAMES = register_onnx_converters()
PARAMS = {
    "GaussianMixture": {"n_components": 3},
    "BayesianGaussianMixture": {"n_components": 3},
    "KMeans": {"n_clusters": 3, "n_init": 1},
    "MiniBatchKMeans": {"n_clusters": 3},
    "MLPClassifier": {"hidden_layer_sizes": (5,), "max_iter": 20},
    "MLPRegressor": {"hidden_layer_sizes": (5,), "max_iter": 20},
    "TruncatedSVD": {"n_components": 2},
}
X, y = load_iris(return_X_y=True)
X = X.astype(np.float32)
DIABETES, TARGET = load_diabetes(return_X_y=True)


def outputs(model, X, **options):
    """What onnxruntime computes, for rows in float32."""
    graph = to_onnx(model, X[:1], options={id(model): options} if options else None)
    return ort.InferenceSession(graph.SerializeToString()).run(None, {"X": X})


def table(model, name):
    """Rows and target that suit a model."""
    if name.startswith("MultiTask"):
        return DIABETES.astype(np.float32), np.column_stack([TARGET, TARGET[::-1]])
    if is_regressor(model):
        return DIABETES.astype(np.float32), TARGET
    return (np.floor(X) if name == "CategoricalNB" else X), np.array(["a", "b", "c"])[y]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_every_registered_model_predicts_the_same(name):
    model = getattr(tenfold, name)(**PARAMS.get(name, {}))
    A, b = table(model, name)
    model.fit(A, b)
    if not hasattr(model, "predict"):
        np.testing.assert_allclose(outputs(model, A)[0], model.transform(A), rtol=1e-3, atol=1e-4)
        return
    probable = hasattr(model, "predict_proba")
    zipped = is_classifier(model) and probable
    found = outputs(model, A, **({"zipmap": False} if zipped else {}))
    expected = model.predict(A)
    if is_classifier(model) or is_clusterer(model) or hasattr(model, "means_"):
        assert (found[0].ravel() == expected).all()
    else:
        np.testing.assert_allclose(found[0].reshape(expected.shape), expected, rtol=1e-3)
    if probable:
        np.testing.assert_allclose(found[1], model.predict_proba(A), atol=1e-4)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        make_pipeline(ColumnTransformer([("s", StandardScaler(), [0, 1])]), GaussianNB()),
        OneVsRestClassifier(LogisticRegression()),
        CalibratedClassifierCV(Perceptron(), cv=2),
        TheirVotingClassifier(
            [("a", LogisticRegression()), ("b", TheirLogisticRegression())],
            flatten_transform=False,
        ),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_a_model_inside_of_scikit_learns_is_converted(model):
    two = y > 0
    model.fit(X[two], y[two])
    assert (outputs(model, X[two])[0] == model.predict(X[two])).all()


def test_options_of_a_conversion_reach_our_models():
    model = MLPClassifier((5,), max_iter=20, tol=0, n_iter_no_change=100, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        mixture = GaussianMixture(2, random_state=0).fit(X)
    zipped, plain = outputs(model, X)[1], outputs(model, X, zipmap=False)[1]
    assert isinstance(zipped[0], dict)
    np.testing.assert_allclose(plain, model.predict_proba(X), atol=1e-5)
    scores = outputs(mixture, X, score_samples=True)[2]
    np.testing.assert_allclose(scores.ravel(), mixture.score_samples(X), rtol=1e-3, atol=1e-3)


@pytest.mark.filterwarnings("ignore")
def test_networks_of_several_labels_are_converted():
    A, B = make_multilabel_classification(50, 4, n_classes=3, random_state=0)
    A = A.astype(np.float32)
    model = MLPClassifier((5,), max_iter=30, random_state=0).fit(A, B)
    assert (outputs(model, A)[0] == model.predict(A)).all()


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_own_models_are_converted_as_before():
    register_onnx_converters()  # a second time
    model = TheirLogisticRegression(max_iter=200).fit(X, y)
    assert (outputs(model, X)[0] == model.predict(X)).all()
    poisson = PoissonRegressor().fit(X, y)
    np.testing.assert_allclose(outputs(poisson, X)[0].ravel(), poisson.predict(X), rtol=1e-4)


def test_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx._supported_operators", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'tenfold\[export\]'"):
        register_onnx_converters()
