"""Histograms of gradients and gray values by hand, and what they are for."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline, make_union

from tenfold import ImageFeatures, LogisticRegression
from tenfold.preprocessing import PolynomialFeatures


def by_hand(image, cell, n_directions):
    """Counts pixel by pixel."""
    height, width = image.shape
    tall, wide = -(-height // cell), -(-width // cell)
    sums = np.zeros((tall, wide, n_directions))
    for i in range(height):
        for j in range(width):
            dy = (image[min(i + 1, height - 1), j] - image[max(i - 1, 0), j]) / 2
            dx = (image[i, min(j + 1, width - 1)] - image[i, max(j - 1, 0)]) / 2
            angles = np.pi * np.arange(n_directions) / n_directions
            k = np.abs(dx * np.cos(angles) + dy * np.sin(angles)).argmax()
            sums[i // cell, j // cell, k] += np.hypot(dx, dy)
    return (sums / np.maximum(np.linalg.norm(sums, axis=2, keepdims=True), 1e-8)).ravel()


@pytest.mark.parametrize(("shape", "cell", "n_directions"), [((8, 8), 4, 9), ((5, 7), 3, 4)])
def test_gradients_by_hand(shape, cell, n_directions):
    images = np.random.default_rng(0).normal(size=(6, *shape))
    model = ImageFeatures(image_shape=shape, cell=cell, n_directions=n_directions)
    features = model.fit_transform(images.reshape(6, -1))
    expected = [by_hand(image, cell, n_directions) for image in images]
    np.testing.assert_allclose(features, expected, atol=1e-12)
    assert features.shape[1] == model.n_features_out_


def test_brightness_and_contrast_do_not_matter():
    X, _ = load_digits(return_X_y=True)
    model = ImageFeatures(cell=4).fit(X)
    np.testing.assert_allclose(model.transform(3 * X + 5), model.transform(X), atol=1e-9)


def test_a_quarter_turn_moves_directions_and_cells():
    image = np.random.default_rng(1).normal(size=(6, 6))
    model = ImageFeatures(cell=6, n_directions=2).fit(image.reshape(1, -1))
    upright = model.transform(image.reshape(1, -1))[0]
    turned = model.transform(np.rot90(image).reshape(1, -1))[0]
    np.testing.assert_allclose(turned, upright[::-1], atol=1e-12)


def test_histograms_are_shares():
    X = np.array([[0.0, 0.0, 1.0, 4.0], [1.0, 2.0, 3.0, 4.0]])
    model = ImageFeatures("histogram", n_bins=4).fit(X)
    assert model.transform(X).tolist() == [[0.5, 0.25, 0.0, 0.25], [0.0, 0.25, 0.25, 0.5]]
    assert model.transform([[-9.0, 9.0, 9.0, 9.0]]).tolist() == [[0.25, 0.0, 0.0, 0.75]]


def test_gradients_of_digits_are_told_apart_by_a_linear_model():
    X, y = load_digits(return_X_y=True)
    union = make_union(ImageFeatures(cell=3), ImageFeatures("pixels"))
    model = make_pipeline(union, LogisticRegression(max_iter=200)).fit(X[:1000], y[:1000])
    plain = LogisticRegression(max_iter=200).fit(X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) > plain.score(X[1000:], y[1000:])
    assert make_pipeline(ImageFeatures(cell=8), PolynomialFeatures(2)).fit_transform(X[:9]).shape


def test_a_shape_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"image_shape=\(3, 3\) has 9 pixels, and rows have 4"):
        ImageFeatures(image_shape=(3, 3)).fit(np.zeros((2, 4)))
