"""Maps of words: as many coordinates as words and entries of their vectors allow."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tenfold import PCA, WordVectors


@pytest.fixture
def animals():
    return WordVectors(["cat", "dog", "fish"], np.random.default_rng(0).normal(size=(3, 5)))


def test_a_map_is_the_principal_components_of_unit_vectors(animals):
    expected = PCA(2).fit_transform(animals.unit_vectors())
    assert_allclose(animals.map_words(), expected)
    assert animals.map_words(["dog", "cat"]).shape == (2, 2)
    assert animals.map_words(["dog"], 1).tolist() == [[0.0]]


@pytest.mark.parametrize("n_components", [0, 4, 2.5])
def test_a_map_of_as_many_coordinates_is_refused(animals, n_components):
    with pytest.raises(ValueError, match=r"of 3 word.s. with vectors of 5 entries has 1 to 3"):
        animals.map_words(n_components=n_components)


def test_too_few_words_for_a_map_are_refused(animals):
    for words in (["cat"], "cat"):
        with pytest.raises(ValueError, match="map_words: n_components=2, and a map of 1 word"):
            animals.map_words(words)
    with pytest.raises(ValueError, match="no words to map"):
        animals.map_words([])
    narrow = WordVectors(["cat", "dog"], [[1.0], [2.0]])
    with pytest.raises(ValueError, match="has 1 to 1 coordinates"):
        narrow.map_words()
