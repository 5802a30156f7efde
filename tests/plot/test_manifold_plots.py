"""Pictures of maps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tenfold import MDS
from tenfold.plot import embedding_scatter, shepard_diagram


def test_points_of_a_map_have_their_labels_and_names():
    points = np.random.default_rng(0).normal(size=(6, 2))
    ax = embedding_scatter(points, [0, 0, 1, 1, -1, -1], names="abcdef")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["-1", "0", "1"]
    assert [text.get_text() for text in ax.texts] == list("abcdef")
    drawn = np.vstack([part.get_offsets() for part in ax.collections])
    assert_allclose(np.sort(drawn[:, 0]), np.sort(points[:, 0]))


def test_a_map_that_is_not_in_the_plane_is_refused():
    with pytest.raises(ValueError, match="two columns"):
        embedding_scatter(np.zeros((4, 3)))


def test_a_perfect_map_lies_on_the_line_of_its_shepard_diagram():
    X = np.random.default_rng(0).normal(size=(12, 2))
    model = MDS(eps=1e-14, max_iter=1000).fit(X)
    ax = shepard_diagram(model.dissimilarity_matrix_, model.embedding_)
    dots = ax.collections[0].get_offsets()
    assert len(dots) == 66
    assert_allclose(dots[:, 0], dots[:, 1], atol=1e-6)


def test_disparities_are_a_line_that_never_falls():
    X = np.random.default_rng(0).normal(size=(12, 3))
    model = MDS(metric_mds=False, init="random", random_state=0, max_iter=2000).fit(X)
    curve = model.ordered_dissimilarities_, model.disparities_
    ax = shepard_diagram(model.dissimilarity_matrix_, model.embedding_, disparities=curve)
    assert (np.diff(ax.lines[0].get_ydata()) >= 0).all()
