"""Pictures of networks show the numbers that they are pictures of."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
from matplotlib import pyplot as plt

from tenfold import MLPClassifier, neural, plot
from tenfold.neural import Conv2d, Dense, Flatten, MaxPool
from tenfold.neural.inspection import GradientReport, LayerGradients
from tenfold.neural.learning_rate_finder import LearningRateSearch
from tenfold.neural.sequential import SequentialClassifier
from tenfold.teaching.loss_landscape import LossSurface

RNG = np.random.default_rng(0)
IMAGES = RNG.uniform(size=(30, 8, 8, 1)).astype(np.float32)
LABELS = (IMAGES.mean(axis=(1, 2, 3)) > 0.5).astype(int)
POINTS = RNG.normal(size=(60, 2))
SIDES = (POINTS[:, 0] * POINTS[:, 1] > 0).astype(int)


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def seeing():
    layers = [Conv2d(6, 3, "relu"), MaxPool(2), Flatten(), Dense()]
    return SequentialClassifier(layers, epochs=2, random_state=0).fit(IMAGES, LABELS)


def test_filters_are_the_weights_on_one_scale(seeing):
    grid = plot.filters(seeing)
    pictures = [ax.get_images()[0] for ax in grid.ravel()]
    W = seeing.params_[0]
    for f, picture in enumerate(pictures):
        np.testing.assert_allclose(picture.get_array(), W[..., f].mean(axis=2))
        assert picture.get_clim() == (-np.abs(W).max(), np.abs(W).max())


def test_units_of_a_dense_layer_are_images_of_a_given_shape():
    model = MLPClassifier((3,), max_iter=1, solver="lbfgs", tol=10).fit(
        IMAGES.reshape(30, 64), LABELS
    )
    with pytest.raises(ValueError, match=r"shape=\(height, width\)"):
        plot.filters(model)
    grid = plot.filters(model, shape=(8, 8))
    shown = grid[0, 1].get_images()[0].get_array()
    np.testing.assert_allclose(shown, model.coefs_[0][:, 1].reshape(8, 8))


def test_feature_maps_are_the_outputs_of_the_layer(seeing):
    grid = plot.feature_maps(seeing, IMAGES[3], layer=1)
    given = seeing.outputs(IMAGES[3:4])[1][0]
    assert grid.size == 6
    for f, ax in enumerate(grid.ravel()):
        np.testing.assert_allclose(ax.get_images()[0].get_array(), given[..., f])
    with pytest.raises(ValueError, match="no image"):
        plot.feature_maps(seeing, IMAGES[3], layer=3)


def test_saliency_shows_the_size_of_the_slopes(seeing):
    grid = plot.saliency(seeing, IMAGES[:4])
    slopes = np.abs(neural.saliency(seeing, IMAGES[:4]))
    for i in range(4):
        np.testing.assert_allclose(grid[1, i].get_images()[0].get_array(), slopes[i, ..., 0])
        assert grid[0, i].get_title() == f"predicted: {seeing.predict(IMAGES[i : i + 1])[0]}"


@pytest.mark.parametrize("loss", ["cross_entropy", "binary_cross_entropy"])
def test_the_line_among_hidden_units_parts_what_is_predicted(loss):
    layers = [Dense(5, "tanh"), Dense(2, "tanh"), Dense()]
    model = SequentialClassifier(layers, loss, learning_rate=0.02, random_state=0)
    taken = neural.training_snapshots(model, POINTS, SIDES, (0, 20))
    grid = plot.hidden_units(taken, POINTS, SIDES)
    assert [ax.get_title() for ax in grid[0]] == ["after 0 epochs", "after 20 epochs"]
    (line,) = grid[0, 1].get_lines()
    a, b = np.array(line.get_xy1()), np.array(line.get_xy2())
    values = taken[1].outputs(POINTS)[-2]
    side = (b[0] - a[0]) * (values[:, 1] - a[1]) - (b[1] - a[1]) * (values[:, 0] - a[0]) > 0
    said = taken[1].predict(POINTS) == 1
    assert (side == said).all() or (side != said).all()
    shown = np.concatenate([part.get_offsets() for part in grid[0, 1].collections])
    np.testing.assert_allclose(np.sort(shown, axis=0), np.sort(values, axis=0), rtol=1e-6)


def test_more_than_two_units_are_shown_by_their_main_axes():
    model = MLPClassifier((6,), solver="lbfgs", tol=0.1, random_state=0).fit(POINTS, SIDES)
    grid = plot.hidden_units([model], POINTS, SIDES)
    assert not grid[0, 0].get_lines()
    shown = np.concatenate([part.get_offsets() for part in grid[0, 0].collections])
    values = model.outputs(POINTS)[0].astype(float)
    top = np.linalg.svd(values - values.mean(axis=0))[1][:2]
    np.testing.assert_allclose(np.sqrt((shown**2).sum(axis=0)), top, rtol=1e-5)


def test_activations_and_their_slopes():
    ax = plot.activations(("tanh", "relu", "step"))
    lines = {line.get_label(): line for line in ax.get_lines()}
    z, slope = lines["_derivative of tanh"].get_data()
    np.testing.assert_allclose(slope, 1 - np.tanh(z) ** 2)
    assert "step" in lines
    assert "_derivative of step" not in lines


def test_rates_slopes_and_surface():
    rates = np.geomspace(1e-4, 1, 5)
    ax = plot.learning_rate_search(LearningRateSearch(rates, np.array([3.0, 3, 2, 1, 2]), 0.01))
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), [3, 3, 2, 1, 2])
    assert ax.texts[0].get_text() == "take 0.01"
    layers = [LayerGradients("Dense", 1.0, s, 1.0, 0.0) for s in (1e-3, 1e-1, 1.0)]
    report = GradientReport(layers, 1e-3, 0.03, "vanishing")
    ax = plot.layer_gradients({"deep": report})
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), [1e-3, 1e-1, 1])
    assert plot.layer_gradients(report).get_legend() is None
    place = np.linspace(-1, 1, 5)
    ax = plot.loss_surface(LossSurface(place, place, 0.1 + place[:, None] ** 2 + place**2))
    assert ax.get_xlabel() == "along the second direction"
    flat = plot.loss_surface(LossSurface(place, place, place[:, None] ** 2 + place**2))
    assert flat.get_lines()[0].get_xydata().tolist() == [[0, 0]]
