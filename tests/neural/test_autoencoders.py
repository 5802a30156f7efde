"""Autoencoders: linear ones span principal components, gradients, variants, retrieval."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import subspace_angles
from scipy.special import logsumexp
from scipy.stats import kstest
from sklearn.datasets import load_digits

from tenfold import PCA, Autoencoder, SemanticHashing, VariationalAutoencoder
from tenfold.engine.thread_pool import threads
from tenfold.neural import Conv2d, Dense, Flatten, GaussianSample, Noise, Reshape, Upsample
from tenfold.neural._autoencoder_objective import (
    AutoencoderObjective,
    GaussianKL,
    KLCodePenalty,
    L1CodePenalty,
)
from tenfold.neural._row_draws import row_keys, row_normals
from tenfold.neural.layers.base import PassContext
from tenfold.neural.losses import HalfSquaredError, MultilabelCrossEntropy
from tenfold.neural.network import build_network
from tenfold.optim.schedules import CosineDecay
from tenfold.persist.model_file import load

X, Y = load_digits(return_X_y=True)
X = X / 16


@pytest.mark.parametrize("tied", [False, True])
def test_a_linear_autoencoder_spans_the_first_principal_components(tied):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 8)) * [5, 4, 3, 1, 1, 0.5, 0.5, 0.5] + 2
    model = Autoencoder(3, optimizer="lbfgs", epochs=2000, tol=1e-7, tied=tied, random_state=0)
    model.fit(rows)
    pca = PCA(3).fit(rows)
    assert model.converged_
    angles = subspace_angles(model.params_[2].T, pca.components_.T)
    assert np.degrees(angles).max() < 0.05
    residual = rows - pca.inverse_transform(pca.transform(rows))
    assert model.score(rows) == pytest.approx(-np.square(residual).sum() / 800, rel=1e-6)


def test_no_linear_code_restores_more_than_principal_components_and_a_deep_one_does():
    pca = PCA(4).fit(X)
    error = np.square(X - pca.inverse_transform(pca.transform(X))).mean()
    settings = {"epochs": 60, "learning_rate": CosineDecay(0.01, None), "random_state": 0}
    linear = Autoencoder(4, **settings).fit(X)
    deep = Autoencoder(4, (64, 32), **settings).fit(X)
    errors = [np.square(X - model.reconstruct(X)).mean() for model in (linear, deep)]
    assert error <= errors[0] < 1.02 * error
    assert errors[1] < 0.8 * error


def objective_of(layers, encoder_layers, shape, loss, penalty=None, tied=()):
    network, params = build_network(layers, shape, np.random.default_rng(1), np.float64)
    for i, j in tied:
        params[j] = np.ascontiguousarray(params[i].T)
    return AutoencoderObjective(
        network, loss, encoder_layers=encoder_layers, penalty=penalty, tied=tied
    ), params


CASES = {
    "l1": ([Dense(3, "tanh"), Dense(4)], 1, L1CodePenalty(0.3)),
    "kl": ([Dense(3, "sigmoid"), Dense(4)], 1, KLCodePenalty(0.3, 0.1)),
    "variational": ([Dense(6), GaussianSample(), Dense(4)], 1, GaussianKL(0.7)),
    "noisy": ([Noise("masking", 0.3), Dense(3, "tanh"), Dense(4)], 2, None),
    "noisy code": ([Dense(3), Noise("gaussian", 0.5), Dense(4)], 2, L1CodePenalty(0.1)),
}


@pytest.mark.parametrize("loss", [HalfSquaredError(), MultilabelCrossEntropy()])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", list(CASES))
def test_gradients_are_finite_differences(case, loss, weighted):
    layers, encoder_layers, penalty = CASES[case]
    objective, params = objective_of(layers, encoder_layers, (4,), loss, penalty)
    rng = np.random.default_rng(0)
    x, w = rng.uniform(size=(5, 4)), rng.uniform(0.5, 2, 5) if weighted else None
    context = PassContext(True, 3, 0)
    _, gradients = objective.loss_and_gradient(params, x, None, w, context)
    for p, g in zip(params, gradients, strict=True):
        at = tuple(rng.integers(0, n) for n in p.shape)
        values = []
        for step in (1e-6, -1e-6):
            p[at] += step
            values.append(objective.loss_and_gradient(params, x, None, w, context)[0])
            p[at] -= step
        assert g[at] == pytest.approx((values[0] - values[1]) / 2e-6, rel=1e-5, abs=1e-7)


def test_the_gradient_of_tied_weights_is_the_projection_of_the_free_one():
    layers, tied = [Dense(3, "tanh"), Dense(4)], ((0, 2),)
    objective, params = objective_of(layers, 1, (4,), HalfSquaredError(), tied=tied)
    x = np.random.default_rng(0).normal(size=(5, 4))
    free = objective._replace(tied=()).loss_and_gradient(params, x, None, None, PassContext())[1]
    own = objective.loss_and_gradient(params, x, None, None, PassContext())[1]
    assert np.allclose(own[0], (free[0] + free[2].T) / 2)
    assert np.array_equal(own[0], own[2].T)


@pytest.mark.filterwarnings("ignore:Autoencoder did not converge")
@pytest.mark.parametrize("optimizer", ["adam", "sgd", "rmsprop", "lbfgs"])
def test_tied_weights_stay_transposes_to_the_bit(optimizer):
    model = Autoencoder(5, (20,), tied=True, optimizer=optimizer, epochs=4, l2=0.01, random_state=0)
    model.fit(X)
    W = [p for p in model.params_ if p.ndim == 2]
    assert np.array_equal(W[0], W[3].T)
    assert np.array_equal(W[1], W[2].T)


def test_upsampling_repeats_pixels_and_its_gradient_adds_them():
    image = np.arange(6.0).reshape(1, 2, 3, 1)
    layer = Upsample((5, 4))
    large, cache = layer.forward([], image, PassContext())
    rows, columns = np.arange(5) * 2 // 5, np.arange(4) * 3 // 4
    assert np.array_equal(large[0, :, :, 0], image[0, rows][:, columns, 0])
    G = np.random.default_rng(0).normal(size=large.shape)
    back, _ = layer.backward([], cache, G)
    assert np.vdot(back, image) == pytest.approx(np.vdot(G, large))
    with pytest.raises(ValueError, match="at most"):
        layer.output_shape((6, 4, 1))


def test_noise_keeps_its_rate_and_belongs_to_training():
    x = np.full((50, 200), 0.3)
    for kind, values in {"masking": {0.0, 0.3}, "salt_and_pepper": {0.0, 0.3, 1.0}}.items():
        noisy, _ = Noise(kind, 0.4).forward([], x, PassContext(True, 5))
        assert set(noisy.ravel()) == values
        assert (noisy != 0.3).mean() == pytest.approx(0.4, abs=0.02)
    noisy, _ = Noise("gaussian", 0.4).forward([], x, PassContext(True, 5))
    assert noisy.std() == pytest.approx(0.4, abs=0.01)
    assert np.array_equal(Noise("masking", 0.4).forward([], x, PassContext())[0], x)
    first, _ = Noise("gaussian", 0.4).forward([], x[:20], PassContext(True, 5))
    assert np.array_equal(first, noisy[:20])


def test_a_denoising_autoencoder_removes_noise_that_a_plain_one_keeps():
    rng = np.random.default_rng(0)
    noisy = X * (rng.random(X.shape) > 0.4)
    settings = {"epochs": 40, "learning_rate": 0.003, "random_state": 0}
    plain = Autoencoder(32, (64,), **settings).fit(X)
    denoising = Autoencoder(32, (64,), noise="masking", noise_level=0.4, **settings).fit(X)
    errors = [np.square(model.reconstruct(noisy) - X).mean() for model in (plain, denoising)]
    assert errors[1] < 0.6 * errors[0]


def test_sparsity_lowers_activations():
    settings = {"epochs": 30, "learning_rate": 0.01, "random_state": 0}
    plain = Autoencoder(50, code_activation="sigmoid", **settings).fit(X)
    sparse = Autoencoder(
        50,
        code_activation="sigmoid",
        sparsity="kl",
        sparsity_weight=1.0,
        sparsity_target=0.05,
        **settings,
    ).fit(X)
    assert plain.transform(X).mean() > 0.2
    assert sparse.transform(X).mean() == pytest.approx(0.05, abs=0.02)
    rectified = {"code_activation": "relu", **settings}
    few = Autoencoder(50, sparsity="l1", sparsity_weight=0.5, **rectified).fit(X)
    many = Autoencoder(50, **rectified).fit(X)
    assert (few.transform(X) > 0).mean() < 0.5 * (many.transform(X) > 0).mean()


@pytest.mark.parametrize("shape", [(8, 8), (7, 9), (5, 4)])
def test_convolutional_layers_give_back_images_of_any_size(shape):
    images = np.random.default_rng(0).random((60, *shape))
    model = Autoencoder(3, filters=(4, 2), epochs=1, random_state=0).fit(images)
    assert model.reconstruct(images).shape == images.shape
    flat = Autoencoder(3, filters=(4, 2), image_shape=shape, epochs=1, random_state=0)
    assert np.array_equal(
        flat.fit(images.reshape(60, -1)).transform(images.reshape(60, -1)), model.transform(images)
    )
    assert model.inverse_transform(model.transform(images)).shape == (60, np.prod(shape))


def test_convolutions_learn_digits_with_layers_of_ones_own():
    encoder = [Reshape((8, 8, 1)), Conv2d(4, 3, "relu", padding="same"), Flatten(), Dense(10)]
    decoder = [Dense(64)]
    model = Autoencoder(encoder=encoder, decoder=decoder, epochs=15, learning_rate=0.003)
    model.set_params(random_state=0).fit(X)
    assert model.transform(X).shape == (len(X), 10)
    assert model.score(X) > -1.0
    assert len(model.get_feature_names_out()) == 10


def test_sparse_rows_give_the_codes_of_dense_ones():
    settings = {"epochs": 2, "loss": "bernoulli", "random_state": 0}
    dense = Autoencoder(4, (10,), **settings).fit(X)
    sparse = Autoencoder(4, (10,), **settings).fit(sp.csr_array(X))
    assert np.array_equal(dense.transform(X), sparse.transform(sp.csr_array(X)))


def test_a_target_beside_the_rows_is_not_used():
    a = Autoencoder(3, epochs=2, random_state=0).fit(X, Y)
    b = Autoencoder(3, epochs=2, random_state=0).fit(X)
    assert np.array_equal(a.transform(X), b.transform(X))


def test_warm_start_partial_fit_and_saving_go_on(tmp_path):
    model = Autoencoder(3, (16,), epochs=2, tied=True, random_state=0, warm_start=True).fit(X)
    before = model.score(X)
    assert model.fit(X).score(X) > before
    model.save(tmp_path / "model.tenfold")
    again = load(tmp_path / "model.tenfold")
    assert np.array_equal(again.transform(X), model.transform(X))
    step = Autoencoder(3, (16,), random_state=0)
    scores = [step.partial_fit(X).score(X) for _ in range(4)]
    assert scores == sorted(scores)


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="values from 0 to 1"):
        Autoencoder(loss="bernoulli").fit(X * 16)
    with pytest.raises(ValueError, match="code_activation='sigmoid'"):
        Autoencoder(sparsity="kl").fit(X)
    with pytest.raises(ValueError, match="does not go with noise"):
        Autoencoder(noise="masking", optimizer="lbfgs").fit(X)
    with pytest.raises(ValueError, match="tied weights are for dense layers"):
        Autoencoder(filters=(4,), tied=True).fit(X)
    with pytest.raises(ValueError, match="end it with Dense"):
        Autoencoder(encoder=[Dense(3)], decoder=[Dense(5)]).fit(X)
    own = Autoencoder(encoder=[Dense(3)], decoder=[Dense(5), Dense()], epochs=1, random_state=0)
    assert own.fit(X).reconstruct(X).shape == X.shape
    with pytest.raises(ValueError, match="both, encoder and decoder"):
        Autoencoder(encoder=[Dense(3)]).fit(X)
    model = Autoencoder(3, epochs=1).fit(X)
    with pytest.raises(ValueError, match="codes have 3 columns"):
        model.inverse_transform(X)


def test_a_linear_variational_autoencoder_is_probabilistic_pca():
    rng = np.random.default_rng(0)
    W = rng.normal(size=(6, 2)) * [2, 1]
    rows = rng.normal(size=(1000, 2)) @ W.T + 0.5 * rng.normal(size=(1000, 6)) + 1
    rate = CosineDecay(0.02, None)
    model = VariationalAutoencoder(2, (), epochs=120, learning_rate=rate, batch_size=100)
    model.set_params(random_state=0).fit(rows)
    pca = PCA(2).fit(rows)
    assert model.variance_ == pytest.approx(pca.noise_variance_, rel=0.05)
    assert np.degrees(subspace_angles(model.params_[-2].T, pca.components_.T)).max() < 1
    assert model.score(rows) == pytest.approx(pca.score(rows), abs=0.03)


def test_bounds_tighten_with_samples_and_divergence_is_that_of_gaussians():
    model = VariationalAutoencoder(
        4, (32,), loss="bernoulli", epochs=10, learning_rate=0.003, random_state=0
    ).fit(X)
    means = [model.score_samples(X, n_samples=n).mean() for n in (4, 64)]
    assert model.elbo(X, n_samples=32).mean() < means[0] < means[1] + 0.05
    mean, std = model.predict_code(X)
    code = np.hstack([mean, 2 * np.log(std)])
    expected = (mean**2 + std**2 - 1 - 2 * np.log(std)).sum(axis=1) / 2
    assert np.allclose(GaussianKL(1.0).row_divergences(code), expected, rtol=1e-5)
    assert model.elbo(X[:3])[2] == pytest.approx(model.elbo(X[2:3])[0], rel=1e-12)


def log_density_by_quadrature(model, rows):
    """Log p(x) of a model with two codes and Gaussian observations, on a grid of codes."""
    grid = np.linspace(-6, 6, 121)
    codes = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    means, variance = model.inverse_transform(codes), model.variance_
    squares = ((rows[:, None] - means) ** 2).sum(axis=2)
    logs = -squares / (2 * variance) - rows.shape[1] / 2 * np.log(2 * np.pi * variance)
    logs = logs - (codes**2).sum(axis=1) / 2 - np.log(2 * np.pi)
    return logsumexp(logs, axis=1) + 2 * np.log(grid[1] - grid[0])


def test_every_row_has_noise_of_its_own_and_bounds_stay_below_the_density():
    rows = np.random.default_rng(1).random((80, 6))
    model = VariationalAutoencoder(2, epochs=20, random_state=0).fit(rows)
    exact = log_density_by_quadrature(model, rows)
    terms = model.elbo(rows, n_samples=500)
    bounds = np.array([model.elbo(rows, random_state=seed).mean() for seed in range(8)])
    error = np.std(bounds, ddof=1) / np.sqrt(8)
    assert bounds.mean() == pytest.approx(terms.mean(), abs=4 * error)
    assert np.std(bounds) < 0.6  # 1.3 with the same draws for all rows
    assert bounds.max() < exact.mean()
    scores = np.array([model.score_samples(rows, random_state=seed).mean() for seed in range(8)])
    assert scores.mean() < exact.mean() + 2 * np.std(scores) / np.sqrt(8)
    many = model.score_samples(rows, n_samples=1000)
    assert np.abs(many - exact).mean() < 0.1


def test_noise_of_a_row_does_not_depend_on_its_place_nor_on_chunks(monkeypatch):
    model = VariationalAutoencoder(2, (8,), epochs=1, random_state=0).fit(X)
    expected, order = model.score_samples(X), np.random.default_rng(0).permutation(len(X))
    assert np.allclose(model.score_samples(X[order]), expected[order], rtol=1e-10)
    assert np.allclose(model.score_samples(sp.csr_array(X[:5])), expected[:5], rtol=1e-10)
    monkeypatch.setattr("tenfold.engine.source.chunk_rows", lambda *_: 100)
    for n in (1, 2, 8):
        with threads(n):
            assert np.allclose(model.score_samples(X), expected, rtol=1e-10)
    moved = X[:1] + 1e-9 * np.arange(50)[:, None]  # nearly the same row, other draws
    assert np.std(model.elbo(moved)) > 0.01


def test_draws_of_rows_are_standard_normal_and_independent():
    x = np.random.default_rng(0).integers(0, 2, (2000, 16)).astype(np.float32)
    x = np.unique(x, axis=0)
    draws = row_normals(row_keys(x, 3), 0, 6)
    assert kstest(draws.ravel(), "norm").pvalue > 0.01
    assert np.abs(np.corrcoef(draws.T) - np.eye(6)).max() < 0.1
    assert np.abs(np.corrcoef(draws[:-1, 0], draws[1:, 0])[0, 1]) < 0.1
    assert np.array_equal(row_normals(row_keys(x, 3), 2, 3), draws[:, 2:5])
    other = row_normals(row_keys(x, 4), 0, 6)
    assert np.abs(np.corrcoef(draws.ravel(), other.ravel())[0, 1]) < 0.05


def test_a_large_beta_brings_codes_to_the_prior():
    settings = {"epochs": 8, "learning_rate": 0.005, "loss": "bernoulli", "random_state": 0}
    near = VariationalAutoencoder(4, (32,), beta=50.0, **settings).fit(X)
    far = VariationalAutoencoder(4, (32,), beta=0.1, **settings).fit(X)
    assert np.abs(near.transform(X)).mean() < 0.1 < np.abs(far.transform(X)).mean()


def test_samples_look_like_the_rows():
    model = VariationalAutoencoder(8, (64,), epochs=20, learning_rate=0.003, random_state=0).fit(X)
    rows = model.sample(2000, random_state=0, noise=True)
    assert np.abs(rows.mean(axis=0) - X.mean(axis=0)).mean() < 0.1
    assert np.corrcoef(np.cov(rows.T).ravel(), np.cov(X.T).ravel())[0, 1] > 0.7
    assert np.array_equal(model.sample(3, random_state=1), model.sample(3, random_state=1))
    drawn = model.set_params(loss="bernoulli").sample(3, noise=True)
    assert set(drawn.ravel()) <= {0.0, 1.0}


def test_hash_codes_are_nearly_binary_and_find_digits_of_the_same_class():
    settings = {"learning_rate": 0.003, "epochs": 30, "random_state": 0}
    noisy = SemanticHashing(16, (64,), **settings).fit(X)
    quiet = SemanticHashing(16, (64,), code_noise=0.0, **settings).fit(X)
    extremes = [(np.abs(model.transform(X) - 0.5) > 0.4).mean() for model in (noisy, quiet)]
    assert extremes[0] > extremes[1] + 0.1
    distances, neighbors = noisy.kneighbors(X, n_neighbors=6)
    assert (Y[neighbors[:, 1:]] == Y[:, None]).mean() > 0.75
    codes = noisy.hash(X)
    bits = np.unpackbits(codes, axis=1)
    brute = (bits[:5, None] != bits[None]).sum(axis=2)
    assert np.array_equal(np.sort(brute, axis=1)[:, :6], distances[:5])
    assert np.array_equal(np.argsort(brute, axis=1, kind="stable")[:, :6], neighbors[:5])
    with pytest.raises(ValueError, match="n_neighbors"):
        noisy.kneighbors(X, n_neighbors=0)


@pytest.mark.parametrize(
    "model",
    [
        Autoencoder(4, (16,), noise="gaussian", sparsity="l1", tied=True),
        Autoencoder(4, filters=(4,), loss="bernoulli"),
        VariationalAutoencoder(3, (16,)),
    ],
    ids=["tied", "convolutional", "variational"],
)
def test_threads_do_not_change_the_bits(model):
    model.set_params(epochs=1, random_state=0)
    codes = []
    for n in (1, 2, 8):
        with threads(n):
            codes.append(model.fit(X).transform(X))
    assert np.array_equal(codes[0], codes[1])
    assert np.array_equal(codes[0], codes[2])
