"""Patches of images, denoising, and dictionaries of networks."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.feature_extraction import image as theirs

from tenfold import (
    DictionaryLearning,
    NetworkDictionary,
    PathSampler,
    denoise_image,
    extract_patches_2d,
    reconstruct_from_patches_2d,
)


@pytest.mark.parametrize("shape", [(7, 9), (7, 9, 3)])
def test_patches_are_scikit_learns(shape):
    image = np.random.default_rng(0).random(shape)
    assert_allclose(extract_patches_2d(image, (3, 2)), theirs.extract_patches_2d(image, (3, 2)))
    for most in (5, 0.3):
        ours, peer = (
            f(image, (3, 2), max_patches=most, random_state=1)
            for f in (extract_patches_2d, theirs.extract_patches_2d)
        )
        assert_allclose(ours, peer)


@pytest.mark.parametrize("shape", [(7, 9), (7, 9, 3)])
def test_an_image_is_made_again_from_its_patches(shape):
    image = np.random.default_rng(0).random(shape)
    again = reconstruct_from_patches_2d(extract_patches_2d(image, (3, 2)), shape)
    assert_allclose(again, image)


def test_patches_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="does not fit an image"):
        extract_patches_2d(np.ones((3, 3)), (4, 2))
    with pytest.raises(ValueError, match="Invalid value for max_patches"):
        extract_patches_2d(np.ones((3, 3)), (2, 2), max_patches=2.5)
    with pytest.raises(ValueError, match="give all of them"):
        reconstruct_from_patches_2d(np.ones((2, 2, 2)), (5, 5))


def picture(size=32):
    """Stripes and a disc."""
    y, x = np.mgrid[:size, :size] / size
    return np.sin(20 * x) * (y > 0.5) + 1.0 * ((x - 0.5) ** 2 + (y - 0.3) ** 2 < 0.04)


def learn(image):
    X = extract_patches_2d(image, (6, 6)).reshape(-1, 36)
    X = X - X.mean(axis=1, keepdims=True)
    return (
        DictionaryLearning(24, alpha=0.1, max_iter=300, tol=1e-3, random_state=0).fit(X).components_
    )


def test_a_dictionary_removes_gaussian_noise():
    image = picture()
    noisy = image + 0.3 * np.random.default_rng(1).normal(size=image.shape)
    clean = denoise_image(noisy, learn(image), patch_size=(6, 6), alpha=0.5)
    assert ((clean - image) ** 2).mean() < 0.4 * ((noisy - image) ** 2).mean()


def test_noise_atoms_take_up_the_noise():
    image, rng = picture(), np.random.default_rng(2)
    noisy = np.where(rng.random(image.shape) < 0.08, 3.0, image)
    D = learn(image)
    errors = [
        ((denoise_image(noisy, D, patch_size=(6, 6), alpha=0.1, **kwargs) - image) ** 2).mean()
        for kwargs in ({}, {"noise_atoms": "impulse", "noise_alpha": 0.3})
    ]
    assert errors[1] < 0.5 * errors[0]


def test_denoising_refuses_atoms_of_another_size():
    with pytest.raises(ValueError, match="atoms have 3 pixels"):
        denoise_image(np.ones((5, 5)), np.ones((1, 3)), patch_size=(2, 2))
    with pytest.raises(ValueError, match="array or 'impulse'"):
        denoise_image(np.ones((5, 5)), np.ones((1, 4)), patch_size=(2, 2), noise_atoms="salt")


def test_every_path_is_sampled_equally_often():
    A = np.zeros((5, 5))
    for a, b in [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)]:
        A[a, b] = A[b, a] = 1
    paths = [p for p in product(range(5), repeat=3) if A[p[0], p[1]] and A[p[1], p[2]]]
    seen = Counter(tuple(map(int, p)) for p in PathSampler(A, 3, random_state=0).sample(20_000))
    assert set(seen) == set(paths)
    assert_allclose([seen[p] / 20_000 for p in paths], 1 / len(paths), rtol=0.25)


def test_a_network_of_groups_is_made_again_from_its_patterns():
    rng = np.random.default_rng(3)
    group = np.repeat([0, 1], 25)
    chance = np.where(group[:, None] == group, 0.6, 0.02)
    A = np.triu(rng.random((50, 50)) < chance, 1).astype(float)
    A += A.T
    model = NetworkDictionary(9, path_length=6, n_samples=1500, random_state=0).fit(A)
    assert model.components_.min() >= 0
    assert model.components_.max() <= 1
    assert_allclose(model.importance_.sum(), 1)
    made = model.reconstruct(A, 4000, random_state=1).toarray()
    visited = made != 0
    linked, apart = made[(A > 0) & visited].mean(), made[(A == 0) & visited].mean()
    assert linked > 2 * apart


def test_paths_of_a_ring_have_a_band_in_each_atom():
    ring = np.roll(np.eye(30), 1, axis=1) + np.roll(np.eye(30), -1, axis=1)
    model = NetworkDictionary(3, path_length=4, n_samples=800, random_state=0).fit(ring)
    atom = np.tensordot(model.importance_, model.components_, 1)
    assert (np.diagonal(atom, 1) > np.diagonal(atom)[1:]).all()
    with pytest.raises(ValueError, match="symmetric"):
        PathSampler(np.triu(np.ones((3, 3))), 2)
    with pytest.raises(ValueError, match="no links"):
        PathSampler(np.zeros((3, 3)), 2)
