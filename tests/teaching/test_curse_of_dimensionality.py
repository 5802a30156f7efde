"""Volumes and distances in many dimensions, against closed forms and simulation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

from tenfold import KNeighborsRegressor, LinearRegression
from tenfold.teaching import (
    ball_volume,
    cube_edge,
    distance_moments,
    median_nearest_distance,
    relative_contrast,
    shell_share,
    stored_numbers,
)


def test_the_cube_with_the_edge_holds_the_share():
    d = np.arange(1, 30)
    assert_allclose(cube_edge(0.1, d) ** d, 0.1)
    assert_allclose(cube_edge([0.01, 0.1], 10), [0.630957, 0.794328], rtol=1e-6)


def test_volumes_of_balls():
    assert_allclose(ball_volume([1, 2, 3, 4]), [2, np.pi, 4 * np.pi / 3, np.pi**2 / 2])
    d = np.arange(3, 20)
    assert_allclose(ball_volume(d) / ball_volume(d - 2), 2 * np.pi / d)
    assert_allclose(ball_volume(5, 2.0), 32 * ball_volume(5))
    assert_allclose(shell_share(0.1, 7), 1 - ball_volume(7, 0.9) / ball_volume(7))


def test_moments_of_squared_distances_are_those_of_the_integral():
    square = quad(lambda t: t**2 * 2 * (1 - t), 0, 1)[0]  # |x - y| has the density 2 (1 - t)
    fourth = quad(lambda t: t**4 * 2 * (1 - t), 0, 1)[0]
    mean, deviation = distance_moments(12)
    assert_allclose(mean, 12 * square)
    assert_allclose(deviation**2, 12 * (fourth - square**2))
    rng = np.random.default_rng(0)
    squares = ((rng.random((20_000, 12)) - rng.random((20_000, 12))) ** 2).sum(axis=1)
    assert_allclose([squares.mean(), squares.std()], [mean, deviation], rtol=0.02)


def test_the_median_distance_to_the_nearest_point():
    n, d = 20, 4
    rng = np.random.default_rng(1)
    radius = rng.random((4000, n)) ** (1 / d)  # of uniform points of the ball
    assert_allclose(np.median(radius.min(axis=1)), median_nearest_distance(n, d), rtol=0.02)
    assert_allclose(median_nearest_distance(1, 1), 0.5)


def test_contrast_falls_with_the_dimension():
    rng = np.random.default_rng(2)
    contrast = [
        relative_contrast(rng.random((300, d)), rng.random((50, d))).mean() for d in (1, 10, 1000)
    ]
    assert contrast[0] > 10 * contrast[1] > 30 * contrast[2]
    with pytest.raises(ValueError, match="query 1"):
        relative_contrast([[0.0], [1.0]], [[0.5], [1.0]])


def test_only_the_non_parametric_model_grows_with_the_rows():
    X = np.random.default_rng(3).normal(size=(400, 4))
    y = X[:, 0]
    line, neighbors = (
        [stored_numbers(model.fit(X[:n], y[:n])) for n in (100, 400)]
        for model in (LinearRegression(), KNeighborsRegressor())
    )
    assert line[0] == line[1] < 60
    assert neighbors[0] >= 100 * 4
    assert neighbors[1] - neighbors[0] >= 300 * 4


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="share"):
        cube_edge(1.5, 2)
    with pytest.raises(ValueError, match="at least 1"):
        ball_volume(0)
    with pytest.raises(ValueError, match="thickness"):
        shell_share(2.0, 3)
