"""Pictures of judgements show the numbers that they are pictures of."""

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.metrics import confusion_matrix, roc_auc_score
from sklearn.preprocessing import StandardScaler

mpl.use("Agg")
from matplotlib import pyplot as plt

import tenfold
from tenfold.metrics import Calibration, PrecisionRecallCurve, RocCurve
from tenfold.plot.evaluation import (
    CalibrationDisplay,
    ConfusionDisplay,
    ResidualsDisplay,
    coverage_curve,
    running_means,
)
from tenfold.plot.threshold_curves import (
    MAX_LINE_POINTS,
    PrecisionRecallDisplay,
    RocDisplay,
    thin_line,
)

COSTS = [[0, 1], [20, 0]]


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = StandardScaler().fit_transform(X), np.array(["malignant", "benign"])[y]
    return tenfold.LogisticRegression(C=0.01).fit(X[::2], y[::2]), X[1::2], y[1::2]


def texts(ax):
    return [text.get_text() for text in ax.texts]


# ------------------------------------------------------------------------------------ thresholds
def test_roc_goes_through_its_points_and_marks_the_best(cancer):
    model, X, y = cancer
    shown = RocDisplay.from_estimator(model, X, y, positive="malignant")
    roc = RocCurve.from_estimator(model, X, y, positive="malignant")
    assert_array_equal(shown.lines_[0].get_xdata(), roc.fpr)
    assert_array_equal(shown.lines_[0].get_ydata(), roc.tpr)
    assert shown.lines_[0].get_label() == f"AUC {roc.auc:.3f}"
    assert shown.point_ == roc.operating_point()
    assert "largest TPR" in texts(shown.ax_)[0]
    assert shown.figure_ is shown.ax_.figure


def test_operating_point_by_cost_is_where_an_isocost_line_touches(cancer):
    model, X, y = cancer
    shown = RocDisplay.from_estimator(
        model, X, y, positive="malignant", costs=COSTS, prevalence=0.05
    )
    roc = shown.curves[None]
    point = roc.operating_point(COSTS, 0.05)
    assert shown.point_ == point
    assert "least cost" in texts(shown.ax_)[0]
    slope = (0.95 * 1) / (0.05 * 20)
    assert (roc.tpr <= point.tpr + slope * (roc.fpr - point.fpr) + 1e-12).all()


def test_precision_and_recall_share_the_operating_point(cancer):
    model, X, y = cancer
    shown = PrecisionRecallDisplay.from_estimator(model, X, y, positive="malignant", costs=COSTS)
    threshold = shown.point_.threshold
    assert threshold == RocCurve.from_estimator(model, X, y, positive="malignant").best_threshold(
        COSTS
    )
    said = model.predict_proba(X)[:, list(model.classes_).index("malignant")] >= threshold
    [dot] = [line for line in shown.ax_.get_lines() if line.get_marker() == "o"]
    true = y == "malignant"
    assert_allclose(dot.get_xdata(), (said & true).sum() / true.sum())
    assert_allclose(dot.get_ydata(), (said & true).sum() / said.sum())


def test_several_classes_have_a_curve_each():
    X, y = load_digits(return_X_y=True)
    model = tenfold.GaussianNB(var_smoothing=0.01).fit(X[:900], y[:900])
    shown = RocDisplay.from_estimator(model, X[900:], y[900:])
    assert len(shown.lines_) == 10
    assert shown.point_ is None
    p = model.predict_proba(X[900:])
    assert shown.lines_[3].get_label() == f"3: AUC {roc_auc_score(y[900:] == 3, p[:, 3]):.3f}"
    shown = PrecisionRecallDisplay.from_estimator(model, X[900:], y[900:])
    assert shown.lines_[0].get_label().startswith("0: AP ")


def test_displays_take_predictions_and_axes(cancer):
    model, X, y = cancer
    scores = model.predict_proba(X)[:, 1]
    _, (left, right) = plt.subplots(1, 2)
    roc = RocDisplay.from_predictions(y, scores, positive=model.classes_[1], ax=left)
    assert roc.ax_ is left
    curve = PrecisionRecallDisplay.from_predictions(y, scores, positive=model.classes_[1], ax=right)
    assert curve.curves[None].average_precision == (
        PrecisionRecallCurve.from_predictions(
            y, scores, positive=model.classes_[1]
        ).average_precision
    )


def test_a_sketched_curve_says_how_far_it_may_be_off():
    rng = np.random.default_rng(0)
    y, s = rng.integers(0, 2, 2000), rng.normal(size=2000)
    shown = RocDisplay(RocCurve.from_predictions(y, s, limit=40)).plot()
    assert " ± " in shown.lines_[0].get_label()


def test_long_lines_are_thinned_without_moving():
    x = np.linspace(0, 1, 10**5)
    few = thin_line(x, x**2)
    assert len(few[0]) <= MAX_LINE_POINTS
    assert_array_equal(few[1], few[0] ** 2)
    assert (few[0][0], few[0][-1]) == (0, 1)
    assert np.diff(few[0]).max() < 3 / MAX_LINE_POINTS


# ------------------------------------------------------------------------------- judging, residuals
def test_confusion_is_written_as_counts_and_shares(cancer):
    model, X, y = cancer
    shown = ConfusionDisplay.from_estimator(model, X, y)
    counts = confusion_matrix(y, model.predict(X))
    shares = counts / counts.sum(axis=1, keepdims=True)
    assert_allclose(shown.image_.get_array(), shares)
    assert shown.text_[1, 0].get_text() == f"{counts[1, 0]}\n{100 * shares[1, 0]:.3g}%"
    assert [t.get_text() for t in shown.ax_.get_xticklabels()] == ["benign", "malignant"]


def test_confusion_of_many_classes_leaves_cells_empty():
    y = np.arange(12)
    shown = ConfusionDisplay.from_predictions(y, np.roll(y, 1))
    assert shown.text_[0, 0] is None
    assert shown.text_[1, 0].get_text() == "1"
    assert not ConfusionDisplay.from_predictions(np.arange(20), np.arange(20)).ax_.texts


def test_calibration_over_its_histogram(cancer):
    model, X, y = cancer
    shown = CalibrationDisplay.from_estimator(model, X, y, positive="malignant", bins=5)
    c = Calibration.from_estimator(model, X, y, positive="malignant", bins=5)
    assert_array_equal(shown.line_.get_xdata(), c.predicted[c.weight > 0])
    assert_array_equal(shown.line_.get_ydata(), c.observed[c.weight > 0])
    assert_array_equal(shown.histogram_ax_.patches[0].get_data().values, c.weight)
    assert "malignant" in shown.histogram_ax_.get_xlabel()
    alone = CalibrationDisplay.from_predictions([0, 1], [0.2, 0.7], ax=plt.subplots()[1])
    assert alone.histogram_ax_ is None
    assert alone.ax_.get_xlabel() == "predicted probability of 1"


def test_calibration_of_several_classes_is_that_of_what_is_said():
    X, y = load_digits(return_X_y=True)
    model = tenfold.GaussianNB(var_smoothing=0.01).fit(X[:900], y[:900])
    shown = CalibrationDisplay.from_estimator(model, X[900:], y[900:])
    assert shown.ax_.get_ylabel() == "share that is correct"
    assert shown.calibration.observed[-1] < 0.97  # naive Bayes is too sure of itself


def test_residuals_of_files_and_of_memory(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    np.save(tmp_path / "X.npy", X)
    model = tenfold.LinearRegression().fit(X, y)
    shown = ResidualsDisplay.from_estimator(model, X, y)
    assert_allclose(shown.residuals, y - model.predict(X))
    assert_allclose(shown.points_.get_offsets(), np.c_[model.predict(X), y - model.predict(X)])
    drawn = ResidualsDisplay.from_estimator(model, tmp_path / "X.npy", y, sample=50, seed=1)
    again = ResidualsDisplay.from_estimator(model, X, y, sample=50, seed=1)
    assert len(drawn.residuals) == 50
    assert_array_equal(drawn.residuals, again.residuals)


def test_normal_quantiles_of_normal_residuals_lie_on_the_line():
    rng = np.random.default_rng(0)
    shown = ResidualsDisplay(rng.random(5000), rng.normal(0, 3, 5000)).plot()
    [points] = [line for line in shown.beside_ax_.get_lines() if line.get_marker() == "o"]
    x, y = points.get_data()
    inner = np.abs(x) < 2
    assert np.abs(y - 3 * x)[inner].max() < 0.3


def test_histogram_of_residuals_and_what_is_wrong():
    shown = ResidualsDisplay.from_predictions(np.arange(30.0), np.zeros(30), beside="histogram")
    heights = [bar.get_height() * bar.get_width() for bar in shown.beside_ax_.patches]
    assert_allclose(sum(heights), 1)
    assert ResidualsDisplay([1.0], [0.0]).plot(plt.subplots()[1]).beside_ax_ is None
    with pytest.raises(ValueError, match="choose one of"):
        shown.plot(beside="pie")
    with pytest.raises(ValueError, match="one number per row"):
        ResidualsDisplay([[1.0]], [[1.0]])


def test_running_means():
    x = np.arange(100.0)[::-1]
    at, means = running_means(x, 2 * x)
    assert_allclose(means, 2 * at)
    assert (np.diff(at) > 0).all()


def test_curves_of_coverage_share_axes_and_name_their_error():
    y, mean = np.array([0.0, 0.5, 3.0]), np.zeros(3)
    ax = coverage_curve(y, mean, np.ones(3), label="narrow")
    assert coverage_curve(y, mean, 3 * np.ones(3), label="wide", ax=ax) is ax
    assert len(ax.lines) == 3
    found = tenfold.metrics.interval_coverage(y, mean, np.ones(3))
    assert_allclose(ax.lines[1].get_ydata(), found.coverage)
    assert ax.get_legend().get_texts()[0].get_text() == f"narrow, error {found.error:.2f}"
