"""Generators: shapes, seeds, curves, corruption."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tenfold import datasets

SEEDS, NOISES = st.integers(0, 2**32), st.floats(0, 3)


quick = settings(max_examples=25, deadline=None)  # a first call imports scipy


# ------------------------------------------------------------------------------------ generators

MAKERS = [
    datasets.make_noisy_xor,
    datasets.make_rings,
    datasets.make_three_clouds,
    datasets.make_sine,
    datasets.make_cosine,
    datasets.make_cubic,
    datasets.make_wiggle,
    datasets.make_house_sales,
    datasets.make_exchange_rate,
]


CURVES = {
    datasets.make_sine: (0, 1, lambda x: np.sin(2 * np.pi * x)),
    datasets.make_cosine: (0, 1, lambda x: np.cos(2 * np.pi * x)),
    datasets.make_cubic: (1, 3, lambda x: -6 + 11.5 * x - 6 * x**2 + x**3),
    datasets.make_wiggle: (-2, 2, lambda x: np.sin(10 * x) + x**2),
}


@pytest.mark.parametrize("make", MAKERS)
@given(n=st.integers(1, 50), noise=NOISES, seed=SEEDS)
@quick
def test_shapes_types_and_seeds(make, n, noise, seed):
    X, y = make(n, noise=noise, random_state=seed)
    again = make(n, noise=noise, random_state=np.random.default_rng(seed))
    assert (len(X), y.shape, X.ndim) == (n, (n,), 2)
    assert X.dtype == np.float64
    assert y.dtype in (np.float64, np.int64)
    assert np.array_equal(X, again[0])
    assert np.array_equal(y, again[1])


@pytest.mark.parametrize("make", MAKERS)
def test_bad_arguments_are_named(make):
    old = np.random.RandomState(3)
    assert not np.array_equal(*(make(9, random_state=old)[0] for _ in range(2)))
    for bad, error in [
        ({"n_samples": 0}, ValueError),
        ({"n_samples": 2.5}, TypeError),
        ({"noise": -1}, ValueError),
        ({"noise": np.nan}, ValueError),
    ]:
        with pytest.raises(error, match=f"{next(iter(bad))} must be"):
            make(**bad)


@pytest.mark.parametrize("make", CURVES)
@given(n=st.integers(1, 50), noise=NOISES, seed=SEEDS)
@quick
def test_curves(make, n, noise, seed):
    low, high, curve = CURVES[make]
    X, y = make(n, noise=0, random_state=seed)
    assert np.all((low <= X) & (high > X))
    assert y == pytest.approx(curve(X[:, 0]), abs=1e-12)
    same, noisy = make(n, noise=noise, random_state=seed)
    _, unit = make(n, noise=1, random_state=seed)
    assert np.array_equal(same, X)
    assert noisy - y == pytest.approx(noise * (unit - y), abs=1e-9)


@pytest.mark.parametrize(("make", "noise"), list(zip(CURVES, (0.35, 0.4, 0.3, 1.0), strict=True)))
def test_default_noise_is_that_of_the_notes(make, noise):
    X, y = make(20_000, random_state=0)
    assert np.std(y - CURVES[make][2](X[:, 0])) == pytest.approx(noise, rel=0.03)


def test_bias_of_wiggle():
    low, high = (datasets.make_wiggle(9, bias=bias, random_state=0)[1] for bias in (0, 5))
    assert high - low == pytest.approx(np.full(9, 5.0))


@given(n=st.integers(1, 60), seed=SEEDS, radii=st.lists(st.floats(0, 9), min_size=1, max_size=5))
@quick
def test_clouds_and_rings_without_noise(n, seed, radii):
    X, y = datasets.make_noisy_xor(n, noise=0, random_state=seed)
    assert np.all(np.abs(X) == 1)
    assert np.array_equal(y, X[:, 0] * X[:, 1] > 0)
    X, y = datasets.make_three_clouds(n, noise=0, random_state=seed)
    assert np.array_equal(X[:, 0], X[:, 1])
    assert np.array_equal(y == 1, X[:, 0] == 0)
    assert np.all(np.isin(X, [-2, 0, 2]))
    X, y = datasets.make_rings(n, radii=radii, noise=0, random_state=seed)
    assert np.hypot(X[:, 0], X[:, 1]) == pytest.approx(np.array(radii)[y])
    assert np.ptp(np.bincount(y, minlength=len(radii))) <= 1


def test_spread_of_clouds():
    X, _ = datasets.make_noisy_xor(40_000, noise=0.2, random_state=0)
    assert np.std(X - np.sign(X), axis=0) == pytest.approx([0.2, 0.2], rel=0.02)
    for bad in ((), (1, -1), (1, np.inf), ((1, 2),)):
        with pytest.raises(ValueError, match="radii must be"):
            datasets.make_rings(radii=bad)


def test_house_sales():
    X, y = datasets.make_house_sales(5000, n_regions=7, noise=0, random_state=0)
    area, bedrooms, kind, code = X.T
    price = 50_000 + 1_000 * area + 100_000 * np.log2(1 + bedrooms)
    price += np.array([0, 30_000, 80_000])[kind.astype(int)]
    price += 60_000 * np.sin(code // 100) + 5_000 * np.sin(code)
    assert y == pytest.approx(price)
    assert set(kind) == {0, 1, 2}
    assert set(code // 100) == set(range(100, 107))
    assert bedrooms.min() == 1
    assert 10 < bedrooms.max() <= 27
    assert 0.002 < np.mean(bedrooms >= 10) < 0.03
    assert np.all((area >= 30 + 25 * bedrooms) & (area < 70 + 25 * bedrooms))
    with pytest.raises(ValueError, match="n_regions must be at most 900"):
        datasets.make_house_sales(n_regions=901)


@given(n=st.integers(1, 40), window=st.integers(1, 6), pull=st.floats(0, 1), seed=SEEDS)
@quick
def test_exchange_rate(n, window, pull, seed):
    X, y = datasets.make_exchange_rate(n, window=window, reversion=pull, random_state=seed)
    assert X.shape == (n, window)
    series = np.concatenate([X[0, ::-1], y])
    assert series[0] == pytest.approx(1.1)
    assert np.array_equal(np.array([series[t : t + window][::-1] for t in range(n)]), X)
    z = np.log(series / 1.1)
    steps = 0.005 * np.random.default_rng(seed).standard_normal(n + window)
    assert z[1:] - (1 - pull) * z[:-1] == pytest.approx(steps[1:], abs=1e-12)


def test_windows_refuse_a_short_series():
    for bad in ([1, 2, 3, 4], [[1, 2, 3, 4, 5]]):
        with pytest.raises(ValueError, match="more than window=4 values"):
            datasets.make_windows(bad)
    for bad in ({"start": 0}, {"reversion": 2}, {"window": 0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            datasets.make_exchange_rate(**bad)
    assert np.all(datasets.make_exchange_rate(5, noise=0, start=2)[0] == 2)


@given(ratio=st.floats(0, 1), intensity=st.floats(1e-3, 10), seed=SEEDS)
@quick
def test_corruption_of_coordinates(ratio, intensity, seed):
    clean = np.random.default_rng(0).random((200, 50))
    dense = datasets.corrupt_coordinates(clean, ratio=ratio, intensity=intensity, random_state=seed)
    thin = datasets.corrupt_coordinates(
        sparse.csr_array(clean), ratio=ratio, intensity=intensity, random_state=seed
    )
    assert sparse.issparse(thin)
    for noisy in (dense, thin.toarray()):
        added = (noisy - clean) / intensity
        hit = added > 1e-9
        assert np.all((added > -1e-9) & (added < 1 + 1e-9))
        sigma = np.sqrt(ratio * (1 - ratio) / clean.size)
        assert abs(hit.mean() - ratio) <= 6 * sigma + 1e-9
        if hit.sum() > 1000:
            assert added[hit].mean() == pytest.approx(0.5, abs=0.06)


def test_corruption_of_pixels():
    images = np.full((3, 4, 4), 0.5)
    assert np.array_equal(datasets.corrupt_pixels(images, ratio=0), images)
    every = datasets.corrupt_pixels(images, ratio=1, random_state=0)
    assert np.all((every > 0.5) & (every < 1.5))
    with pytest.raises(ValueError, match=r"divide bytes by 255.*got 0 to 200"):
        datasets.corrupt_pixels(np.array([[0, 200]], np.uint8))
    with pytest.raises(ValueError, match="ratio must be between 0 and 1"):
        datasets.corrupt_pixels(images, ratio=1.1)


@given(n=st.integers(2, 60), ratio=st.floats(0, 1), classes=st.integers(2, 5), seed=SEEDS)
@quick
def test_corruption_of_labels(n, ratio, classes, seed):
    y = np.array(list("abcde"))[np.arange(n) % classes]
    noisy = datasets.corrupt_labels(y, ratio=ratio, random_state=seed)
    assert (noisy != y).sum() == round(ratio * n)
    assert set(noisy) <= set(y)


def test_labels_of_one_class_cannot_be_wrong():
    assert datasets.corrupt_labels([1, 1], ratio=0).tolist() == [1, 1]
    with pytest.raises(ValueError, match="one class"):
        datasets.corrupt_labels([1, 1], ratio=1)


@given(extra=st.integers(0, 5), seed=SEEDS)
@quick
def test_padding_keeps_the_image(extra, seed):
    images = np.arange(1, 25, dtype=np.uint8).reshape(2, 3, 4)
    padded = datasets.pad_images(images, thickness=extra, random_state=seed)
    assert padded.shape == (2, 3 + extra, 4 + extra)
    assert padded.dtype == np.uint8
    for image, whole in zip(padded, images, strict=True):
        rows, columns = (np.flatnonzero(image.any(axis=axis)) for axis in (1, 0))
        assert np.array_equal(image[rows[0] : rows[0] + 3, columns[0] : columns[0] + 4], whole)
        assert image.sum() == whole.sum()


def test_padding_places_evenly():
    corners = datasets.pad_images(np.ones((6000, 1, 1)), thickness=1, random_state=0).mean(axis=0)
    assert corners == pytest.approx(np.full((2, 2), 0.25), abs=0.03)
    with pytest.raises(ValueError, match=r"shape \(n, height, width\)"):
        datasets.pad_images(np.ones((28, 28)))
