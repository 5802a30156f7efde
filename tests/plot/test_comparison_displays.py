"""Pictures of comparisons show the numbers that they are pictures of."""

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, scale

mpl.use("Agg")
from matplotlib import pyplot as plt

from tenfold import LinearRegression, LogisticRegression, SGDClassifier
from tenfold.datasets import load_iris, make_noisy_xor
from tenfold.model_selection.confidence_intervals import fold_interval
from tenfold.model_selection.early_stopping import EarlyStopping
from tenfold.plot.model_comparison import BiasVarianceDisplay, ModelComparisonDisplay, fitted_curves
from tenfold.plot.style import COLORS
from tenfold.plot.training_curves import EarlyStoppingDisplay, HistoryDisplay
from tenfold.teaching.learning_theory.bias_variance_decomposition import (
    NoisyCurve,
    bias_variance,
    complexity_curve,
)

SINE = NoisyCurve(lambda x: np.sin(2 * np.pi * x))


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    yield
    plt.close("all")


def polynomial(degree):
    return make_pipeline(PolynomialFeatures(degree), LinearRegression())


def test_parts_of_the_error_are_drawn_over_flexibility():
    curve = complexity_curve({d: polynomial(d) for d in (1, 3, 6)}, SINE, n=15, repeats=20)
    shown = BiasVarianceDisplay.from_curve(curve, name="degree")
    names = ["expected error", "variance", "bias²", "noise", "training error"]
    assert list(shown.lines_) == names
    wanted = (curve.error, curve.variance, curve.bias2, curve.noise, curve.training)
    for name, values in zip(names, wanted, strict=True):
        assert_array_equal(shown.lines_[name].get_data(), [[1, 3, 6], values])
    assert shown.ax_.get_xlabel() == "degree"
    assert [text.get_text() for text in shown.ax_.get_legend().get_texts()] == names


def test_wide_errors_are_drawn_in_logs_and_names_as_ticks():
    narrow = BiasVarianceDisplay(["stiff", "loose"], [1, 1], [1, 0], [0, 2], [2, 3]).plot()
    assert narrow.ax_.get_yscale() == "linear"
    assert [tick.get_text() for tick in narrow.ax_.get_xticklabels()] == ["stiff", "loose"]
    assert "training error" not in narrow.lines_
    wide = BiasVarianceDisplay([1, 2], [1, 1], [1, 0], [0, 200], [2, 201]).plot()
    assert wide.ax_.get_yscale() == "log"


def test_the_spread_of_fits_shows_mean_and_truth():
    x = np.array([[0.9], [0.1], [0.5]])
    result = bias_variance(polynomial(1), SINE, n=10, repeats=8, x=x)
    ax = fitted_curves(result, max_fits=5)
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert len(ax.get_lines()) == 7
    assert_allclose(lines["truth"].get_xydata(), np.c_[[0.1, 0.5, 0.9], SINE.truth(x)[[1, 2, 0]]])
    assert_allclose(lines["mean fit"].get_ydata(), result.mean_fit[[1, 2, 0]])
    with pytest.raises(ValueError, match="one column"):
        fitted_curves(result._replace(x=np.zeros((3, 2))))


def test_models_are_compared_best_on_top_with_their_intervals():
    rng = np.random.default_rng(0)
    scores = {"worse": rng.normal(0.8, 0.02, 10), "better": rng.normal(0.9, 0.02, 10)}
    shown = ModelComparisonDisplay.from_scores(scores, name="accuracy")
    assert shown.order_ == ["better", "worse"]
    assert [tick.get_text() for tick in shown.ax_.get_yticklabels()] == ["better", "worse"]
    bars = [line for line in shown.ax_.get_lines() if len(line.get_xdata()) == 2][:2]
    for bar, name in zip(bars, shown.order_, strict=True):
        assert_allclose(bar.get_xdata(), fold_interval(scores[name])[1:3])
    assert shown.ax_.get_xlabel() == "accuracy, 95 % intervals"
    low, high = shown.ax_.get_ylim()
    assert low > high  # the first row is on top


def test_models_are_compared_by_any_metric_of_predictions():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    said = {"good": np.where(rng.random(300) < 0.9, y, 1 - y), "coin": rng.integers(0, 2, 300)}
    shown = ModelComparisonDisplay.from_predictions(y, said, accuracy_score, level=0.9)
    assert shown.intervals["good"].value == accuracy_score(y, said["good"])
    assert shown.ax_.get_xlabel() == "accuracy score, 90 % intervals"
    assert shown.intervals["coin"].high < shown.intervals["good"].low


def test_any_history_is_drawn_and_models_share_axes():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression().fit(X, y)
    shown = HistoryDisplay.from_estimator(model)
    rounds = np.arange(1, len(model.history_["objective"]) + 1)
    assert_array_equal(shown.line_.get_data(), [rounds, model.history_["objective"]])
    second = HistoryDisplay.from_estimator(
        SGDClassifier(random_state=0).fit(scale(X), y), name="SGD", ax=shown.ax_
    )
    assert second.line_.get_color() == COLORS[1] != shown.line_.get_color()
    legend = [text.get_text() for text in second.ax_.get_legend().get_texts()]
    assert legend == ["LogisticRegression", "SGD"]
    assert (
        HistoryDisplay([2.0, 1.0], converged=False)
        .plot()
        .line_.get_label()
        .endswith("(not converged)")
    )
    with pytest.raises(TypeError, match="no history_"):
        HistoryDisplay.from_estimator(LinearRegression().fit(X, y))


def test_the_round_that_was_kept_is_marked():
    X, y = make_noisy_xor(200, noise=0.6, random_state=0)
    features = PolynomialFeatures(2).fit_transform(X)
    model = EarlyStopping(SGDClassifier(random_state=0), scoring="accuracy", patience=3)
    shown = EarlyStoppingDisplay.from_estimator(model.fit(features, y))
    train, held_out, kept = [line for line in shown.ax_.get_lines() if line.get_label()[0] != "_"]
    assert_array_equal(train.get_ydata(), model.history_["train"])
    assert_array_equal(held_out.get_ydata(), model.history_["validation"])
    assert_array_equal(kept.get_xydata(), [[model.best_round_, model.best_score_]])
    assert shown.ax_.get_ylabel() == "accuracy"
