"""Pictures show the numbers that they are pictures of."""

import subprocess
import sys
from types import SimpleNamespace
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.linear_model import lasso_path
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import SVC

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex, to_rgb

from tenfold import GaussianNB, LinearRegression, LogisticRegression, plot
from tenfold.inspection.contributions import feature_contributions
from tenfold.math.losses import HingeLoss
from tenfold.plot.decision_regions import CONTESTED, UNCLAIMED, decide_regions, signed_score
from tenfold.plot.geometry import ball_edge
from tenfold.plot.linear_models import spread_labels
from tenfold.plot.style import COLORS


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    yield
    plt.close("all")


def line(ax, label):
    return next(line for line in ax.get_lines() if line.get_label() == label)


def blobs(k=2):
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 3.2]])[:k]
    return make_blobs(90, centers=centres, cluster_std=0.5, random_state=0)


def test_plotting_names_cost_no_matplotlib():
    code = "import sys, tenfold.plot as p; dir(p); sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    with pytest.raises(AttributeError, match="no attribute 'pie'"):
        plot.pie  # noqa: B018


def test_every_name_is_a_function_or_class_however_it_is_imported():
    import tenfold.plot.decision_regions  # noqa: F401  a module of that name would hide a function

    assert all(callable(getattr(plot, name)) for name in plot.__all__)


# ------------------------------------------------------------------------------------- curves
def test_losses_are_drawn_against_the_margin():
    """[000, C14, C15; 004, 3-13] Values at s = -1, 0, 1; which of them bound the 0-1 loss."""
    ax = plot.margin_losses()
    wanted = {
        "0-1": (1, 1, 0),
        "perceptron": (1, 0, 0),
        "hinge": (2, 1, 0),
        "log (nats)": (1.313262, 0.693147, 0.313262),
        "log (bits)": (1.894636, 1, 0.451941),
        "squared hinge": (4, 1, 0),
        "squared": (4, 1, 0),
    }
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == list(wanted)
    errors = line(ax, "0-1").get_ydata()
    for name, values in wanted.items():
        s, y = line(ax, name).get_data()
        assert_allclose(np.interp([-1, 0, 1], s, y), values, atol=2e-3)
        bounds = name not in {"perceptron", "log (nats)"}
        assert (y >= errors - 1e-12).all() == bounds
    assert (
        line(ax, "0-1").get_ydata()[np.searchsorted(line(ax, "0-1").get_xdata(), 0, "right")] == 0
    )
    assert "margin" in ax.get_xlabel()


def test_own_losses_and_axes():
    _, given = plt.subplots()
    ax = plot.margin_losses({"mine": HingeLoss()}, margins=(-1, 1), ax=given)
    assert ax is given
    assert line(ax, "mine").get_ydata()[0] == 2
    assert ax.get_xlim() == (-1, 1)


def test_a_path_goes_from_strong_to_weak():
    X, y = load_iris().data[:, :3], load_iris().data[:, 3]
    alphas, coefs, _ = lasso_path(X - X.mean(axis=0), y - y.mean())
    ax = plot.coefficient_path(alphas[::-1], coefs[:, ::-1], ["a", "b", "c"])  # in any order
    for j, name in enumerate("abc"):
        x, drawn = line(ax, name).get_data()
        assert_array_equal(x, alphas)
        assert_array_equal(drawn, coefs[j])
    assert ax.get_xlim() == (alphas.max(), alphas.min())
    assert ax.get_xscale() == "log"
    ends = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert set(ends) == {"a", "b", "c"}
    assert sorted(ends, key=ends.get) == ["abc"[j] for j in np.argsort(coefs[:, -1])]


def test_names_at_the_ends_of_lines_do_not_overlap():
    places = np.array([0.5, 0.1, 0.5, 0.49, 0.9])
    moved = spread_labels(places, 0.05)
    assert (np.diff(np.sort(moved)) > 0.05 - 1e-12).all()
    assert_allclose(moved[[1, 4]], [0.1, 0.9])
    assert len(spread_labels(np.empty(0), 0.1)) == 0


def test_many_columns_keep_the_picture_readable():
    coefs = np.random.default_rng(0).normal(size=(40, 5)).cumsum(axis=1)
    ax = plot.coefficient_path([5, 4, 3, 2, 1], coefs)
    assert len(ax.texts) == 7
    assert len({to_hex(each.get_color()) for each in ax.get_lines()[:40]}) == 8


def test_balls_and_where_they_are_touched():
    """[004, 2-21] The corner of the L1 ball: one weight exactly zero; none in the L2 ball."""
    row = plot.norm_balls((0.5, 1, 2, 4))
    assert [ax.get_title() for ax in row][1:3] == ["$L_1$  (lasso)", "$L_2$  (ridge)"]
    solutions = [line(ax, "solution").get_xydata()[0] for ax in row]
    assert_array_equal(solutions[0], [0, 1])
    assert_array_equal(solutions[1], [0, 1])
    assert (np.abs(solutions[2]) > 0.1).all()
    assert np.hypot(*solutions[2]) == pytest.approx(1)
    for h, ax in zip((0.5, 1, 2, 4), row, strict=True):
        edge = line(ax, "ball").get_xydata()
        assert_allclose((np.abs(edge) ** h).sum(axis=1), 1)
    assert_allclose(np.abs(ball_edge(2, 3.0)).max(), 3)


# ----------------------------------------------------------------------------------- boundary
def boundary_points(contour):
    return np.vstack([path.vertices for path in contour.get_paths()])


def test_boundary_lies_where_the_score_is_zero():
    X, y = blobs()
    model = LogisticRegression().fit(X, y)
    shown = plot.DecisionBoundaryDisplay.from_estimator(model, X, y, names=["width", "height"])
    on_it = boundary_points(shown.boundaries_[0])
    assert_allclose(model.decision_function(on_it), 0, atol=1e-6)
    assert shown.margins_ is None  # probabilities are shown by colour instead
    assert (shown.ax_.get_xlabel(), shown.ax_.get_ylabel()) == ("width", "height")
    labels = [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    assert labels == ["0", "1"]
    drawn = sum(
        len(points.get_offsets())
        for points in shown.ax_.collections
        if points.get_label() in labels
    )
    assert drawn == len(X)


def test_colour_is_stronger_where_the_model_is_surer():
    X, y = blobs()
    model = LogisticRegression().fit(X, y)
    shown = plot.DecisionBoundaryDisplay.from_estimator(model, X, y, resolution=60)
    pale = shown.surface_.get_array().min(axis=-1)
    sure = shown.grid.of(model.predict_proba).max(axis=-1)
    for c in (0, 1):
        inside = shown.regions == c
        order = np.argsort(sure[inside])
        assert (np.diff(pale[inside][order]) <= 1e-12).all()
    assert_allclose(shown.confidence, 2 * sure - 1)


def test_margins_and_support_vectors_of_a_support_vector_machine():
    X, y = blobs()
    model = SVC(kernel="linear").fit(X, y)
    shown = plot.DecisionBoundaryDisplay.from_estimator(model, X, y)
    lines = [boundary_points(shown.boundaries_[0]), boundary_points(shown.margins_)]
    assert_allclose(model.decision_function(lines[0]), 0, atol=1e-6)
    assert_allclose(np.abs(model.decision_function(lines[1])), 1, atol=1e-6)
    labels = [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    assert labels == ["0", "1", "support vectors", "score ±1"]
    (rings,) = (c for c in shown.ax_.collections if c.get_label() == "support vectors")
    assert_array_equal(rings.get_offsets(), model.support_vectors_)


def test_three_classes_have_three_regions_with_their_names():
    iris = load_iris(as_frame=True)
    X, y = iris.data.iloc[:, 2:], iris.target_names[iris.target]
    model = GaussianNB().fit(X.to_numpy(), y)
    shown = plot.DecisionBoundaryDisplay.from_estimator(model, X, y, resolution=80)
    assert set(np.unique(shown.regions)) == {0, 1, 2}
    assert_array_equal(np.array(shown.classes)[shown.regions], shown.grid.of(model.predict))
    assert len(shown.boundaries_) == 3
    assert shown.ax_.get_xlabel() == "petal length (cm)"


def test_what_cannot_be_drawn_says_so():
    X, y = blobs()
    with pytest.raises(ValueError, match="two columns"):
        plot.decision_boundary(LogisticRegression().fit(np.hstack([X, X]), y), np.hstack([X, X]), y)
    with pytest.raises(TypeError, match="not a classifier"):
        plot.decision_boundary(LinearRegression().fit(X, y), X, y)


# --------------------------------------------------------------------------------- ambiguity
@pytest.mark.parametrize("kind", ["one-vs-rest", "one-vs-one", "argmax"])
def test_where_classifiers_agree_is_what_scikit_learn_predicts(kind):
    """[004, 3-05 to 3-07] K parts or K (K - 1) / 2; only the largest score is never in dispute."""
    X, y = blobs(3)
    where = np.random.default_rng(0).uniform(-3, 7, size=(500, 2))
    wrapper = OneVsOneClassifier if kind == "one-vs-one" else OneVsRestClassifier
    model = wrapper(LogisticRegression()).fit(X, y)
    said = decide_regions(model, where, kind)
    clear = said >= 0
    assert clear.any()
    assert_array_equal(said[clear], model.predict(where)[clear])
    yes = np.column_stack([signed_score(part, where) > 0 for part in model.estimators_])
    disputed = {
        "one-vs-rest": yes.sum(axis=1) != 1,
        "one-vs-one": (yes == [True, False, True]).all(axis=1)
        | (yes == [False, True, False]).all(axis=1),
        "argmax": np.zeros(500, bool),
    }
    assert_array_equal(~clear, disputed[kind])
    if kind == "one-vs-rest":
        assert_array_equal(said == UNCLAIMED, ~yes.any(axis=1))


def test_three_pairs_tie_in_a_triangle():
    """Lines of pairs that do not meet in a point leave room where each class has one vote."""

    class Line(NamedTuple):
        w: np.ndarray

        def decision_function(self, Z):
            return np.asarray(Z) @ self.w[:2] + self.w[2]

        def predict(self, Z):
            return (self.decision_function(Z) > 0).astype(int)

    lines = [[1.0, 0.0, -1.0], [0.0, -1.0, 1.0], [-1.0, 1.0, -0.5]]
    pairs = SimpleNamespace(classes_=np.arange(3), estimators_=[Line(np.array(w)) for w in lines])
    # x > 1: 1 beats 0; y < 1: 2 beats 0; y > x + 1/2: 2 beats 1
    points = np.array([[1.5, 1.2], [0.0, 0.8], [0.0, 3.0], [3.0, 3.9]])
    assert decide_regions(pairs, points, "one-vs-one").tolist() == [1, 2, 0, CONTESTED]


def test_ambiguous_regions_are_where_claims_conflict_and_argmax_has_none():
    X, y = blobs(3)
    row = plot.ambiguous_regions(X, y, resolution=80)
    assert [ax.get_title() for ax in row] == [
        "one against the rest",
        "one against one",
        "the largest score",
    ]
    hatched = [
        {c.get_gid() for c in ax.collections} & {"nobody claims", "several claim"} for ax in row
    ]
    assert hatched[0] == {"nobody claims", "several claim"}
    assert hatched[2] == set()
    legend = [text.get_text() for text in row[0].figure.legends[0].get_texts()]
    assert legend == ["0", "1", "2", "nobody claims", "several claim"]
    (nobody,) = (c for c in row[0].collections if c.get_gid() == "nobody claims")
    inside = np.vstack([path.vertices for path in nobody.get_paths()]).mean(axis=0)
    model = OneVsRestClassifier(LogisticRegression()).fit(X, y)
    assert decide_regions(model, inside[None], "one-vs-rest").tolist() == [UNCLAIMED]
    with pytest.raises(ValueError, match="three or more"):
        plot.ambiguous_regions(*blobs(2))


# ---------------------------------------------------------------------------- weights, reasons
def test_weights_are_images_on_one_scale_about_zero():
    """[001, 2-11, 2-17] A panel per class; two classes have one."""
    digits = load_digits()
    model = LogisticRegression(C=0.01).fit(digits.data, digits.target)
    row = plot.weights(model, (8, 8))
    assert [ax.get_title() for ax in row] == [str(c) for c in range(10)]
    top = np.abs(model.coef_).max()
    for ax, w in zip(row, model.coef_, strict=True):
        (image,) = ax.get_images()
        assert_array_equal(image.get_array(), w.reshape(8, 8))
        assert image.get_clim() == (-top, top)
    assert to_hex(image.cmap(0.5)) == to_hex(mpl.colormaps["RdBu_r"](0.5))
    pair = digits.target < 2
    two = plot.weights(
        LogisticRegression(C=0.01).fit(digits.data[pair], digits.target[pair]), (8, 8)
    )
    assert [ax.get_title() for ax in two] == ["1 (red) against 0 (blue)"]
    with pytest.raises(ValueError, match="not an image of 7 x 7"):
        plot.weights(model, (7, 7))


def test_weights_of_naive_bayes_are_log_odds():
    digits = load_digits()
    pair = digits.target < 2
    model = MultinomialNB().fit(digits.data[pair], digits.target[pair])
    (ax,) = plot.weights(model, (8, 8), limit=2.0)
    log_p = model.feature_log_prob_
    assert_allclose(ax.get_images()[0].get_array(), (log_p[1] - log_p[0]).reshape(8, 8))
    assert ax.get_images()[0].get_clim() == (-2, 2)


def test_reasons_step_from_the_baseline_to_the_score():
    X = np.random.default_rng(0).normal(size=(50, 5))
    model = LinearRegression().fit(X, X @ [5.0, -4.0, 3.0, 0.1, -0.2] + 7)
    why = feature_contributions(model, X[3], list("abcde"))
    ax = plot.contributions(why, top=3)
    labels = [label.get_text().split(" = ")[0] for label in ax.get_yticklabels()]
    ranked = why.rank_features()
    assert labels == ["baseline", *(name for name, _ in ranked[:3]), "2 others", "score"]
    widths = [bar.get_width() for bar in ax.patches]
    assert_allclose(widths[:3], [c for _, c in ranked[:3]])
    last = ax.patches[-1]
    assert last.get_x() + last.get_width() == pytest.approx(model.predict(X[[3]])[0])
    assert ax.patches[0].get_x() == pytest.approx(why.baselines[0])
    assert [bar.get_facecolor()[:3] == to_rgb(COLORS[0]) for bar in ax.patches] == [
        w > 0 for w in widths
    ]
    assert ax.get_xlabel() == "prediction"


def test_projection_is_upright_on_the_plane_of_the_columns():
    X, y = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), np.array([1.0, 3.5, 3.0])
    ax = plot.least_squares_projection(X, y)
    tips = {drawn.get_label(): np.array(drawn.get_data_3d())[:, 1] for drawn in ax.get_lines()}
    fitted = tips["$\\hat y = H y$"]
    assert_allclose([tips["$x_1$"][2], tips["$x_2$"][2], fitted[2]], 0, atol=1e-12)
    assert_allclose(tips["$y$"][:2], fitted[:2])
    residual = y - X @ np.linalg.lstsq(X, y)[0]
    assert tips["$y$"][2] == pytest.approx(np.linalg.norm(residual))
    with pytest.raises(ValueError, match="3 rows and 2 columns"):
        plot.least_squares_projection(X[:2], y[:2])
