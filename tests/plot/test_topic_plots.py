"""Clouds and bars of words."""

import matplotlib.pyplot as plt
import numpy as np
from numpy.testing import assert_allclose

from tenfold.plot import topic_words, word_cloud


def test_words_of_a_cloud_do_not_meet_and_grow_with_their_weights():
    rng = np.random.default_rng(0)
    names = ["".join(rng.choice(list("abcdefgh"), rng.integers(2, 9))) for _ in range(60)]
    weights = 1 / (1 + np.arange(60.0))
    ax = word_cloud([weights], names, n=30)
    renderer = ax.figure.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in ax.texts]
    assert len(boxes) > 20
    frame = ax.get_window_extent()
    for i, a in enumerate(boxes):
        assert frame.x0 - 1 <= a.x0
        assert a.x1 <= frame.x1 + 1
        assert not any(a.overlaps(b) for b in boxes[:i])
    sizes = {text.get_text(): text.get_fontsize() for text in ax.texts}
    assert_allclose(sizes[names[0]] / sizes[names[3]], 2)
    plt.close(ax.figure)


def test_bars_show_the_probabilities_of_the_words():
    axes = topic_words([[5.0, 2.0, 1.0], [0.0, 1.0, 9.0]], ["cat", "dog", "pet"], n=2)
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["cat", "dog"]
    assert_allclose([bar.get_width() for bar in axes[1].patches], [0.9, 0.1])
    plt.close(axes[0].figure)
