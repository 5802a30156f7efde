"""Pictures of neighbors and kernels agree with the models that they show."""

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb

from tenfold import KNeighborsClassifier
from tenfold.kernel import RBF
from tenfold.plot.kernels import kernel_contours
from tenfold.plot.neighbors import neighbor_votes, voronoi_cells
from tenfold.plot.style import COLORS


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    yield
    plt.close("all")


def test_cells_are_the_regions_of_the_nearest_neighbor():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.integers(0, 3, 30)
    ax = voronoi_cells(X, y)
    assert len(ax.patches) == 30
    points = rng.uniform(X.min(axis=0), X.max(axis=0), (200, 2))
    labels = KNeighborsClassifier(1).fit(X, y).predict(points)
    for point, label in zip(points, labels, strict=True):
        (cell,) = [patch for patch in ax.patches if patch.get_path().contains_point(point)]
        assert to_rgb(cell.get_facecolor()[:3]) == to_rgb(COLORS[label])


def test_equal_rows_have_no_cells():
    with pytest.raises(ValueError, match="two rows are equal"):
        voronoi_cells([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match="two columns"):
        voronoi_cells(np.zeros((3, 3)))


def test_three_of_five_neighbors_decide():
    X = np.array([[0.0, 1], [0, -1], [1.1, 0], [-1.2, 0], [0, 1.3], [5, 5]])
    y = np.array([1, 1, 1, 0, 0, 0])
    ax = neighbor_votes(KNeighborsClassifier(5).fit(X, y), [0.0, 0.0], X, y)
    assert ax.get_title() == "3 of 5 neighbors: 1"
    assert_allclose(ax.patches[0].radius, 1.3)
    assert len(ax.lines) == 5


def test_contours_of_rbf_are_circles():
    ax = kernel_contours(RBF(1.0), (1.0, 2.0), levels=[0.5], resolution=200)
    (path,) = ax.collections[0].get_paths()
    radius = np.linalg.norm(path.vertices - [1.0, 2.0], axis=1)
    assert_allclose(radius, np.sqrt(2 * np.log(2)), rtol=1e-3)
