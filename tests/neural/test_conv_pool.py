"""Convolution and pooling in one go give what the two layers give."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tenfold.engine.shuffle import ShuffledBlock
from tenfold.neural import Conv2d, Dense, Flatten, MaxPool
from tenfold.neural._fused_conv_pool import PooledConv2d, fuse_conv_pool
from tenfold.neural._minibatch import GradientWorkers
from tenfold.neural._training_config import NetworkObjective
from tenfold.neural.layers.base import PassContext
from tenfold.neural.losses import CrossEntropy
from tenfold.neural.network import backward, build_network, forward

KERNELS = [
    Conv2d(4, 3, "relu"),
    Conv2d(3, (2, 3), "relu", stride=(1, 2), padding=(1, 0)),
    Conv2d(5, 3, "relu", padding="same", bias=False),
]


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("pool", [MaxPool(2), MaxPool((3, 2)), MaxPool(None)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_layer_is_the_two(kernels, pool, dtype):
    rng = np.random.default_rng(0)
    two, params = build_network([kernels, pool], (9, 11, 2), rng, dtype)
    one = fuse_conv_pool(two)
    assert [type(layer) for layer in one.layers] == [PooledConv2d]
    assert one.shapes[-1] == two.shapes[-1]
    x = rng.normal(size=(70, 9, 11, 2)).astype(dtype)
    (y, cache), (want, theirs) = (
        forward(net, params, x, PassContext(training=True)) for net in (one, two)
    )
    assert_allclose(y, want, rtol=1e-5, atol=1e-6)
    gradient = rng.normal(size=y.shape).astype(dtype)
    dx, gradients = backward(one, params, cache, gradient.copy(), need_input=True)
    wanted_dx, wanted = backward(two, params, theirs, gradient.copy(), need_input=True)
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype is np.float32 else {"atol": 1e-10}
    assert_allclose(dx, wanted_dx, **close)
    for ours, other in zip(gradients, wanted, strict=True):
        assert_allclose(ours, other, **close)


def test_only_what_fits_goes_together():
    layers = [
        *(Conv2d(4, 3, "tanh"), MaxPool(2)),
        *(Conv2d(4, 2, "relu"), MaxPool(2, stride=1)),
        *(Conv2d(4, 2, "relu"), MaxPool(2)),
        Flatten(),
        Dense(3),
    ]
    network, _ = build_network(layers, (16, 16, 1), np.random.default_rng(0))
    ours = fuse_conv_pool(network)
    assert list(ours.layers) == [*layers[:4], PooledConv2d(*layers[4:6]), *layers[6:]]
    assert sum(ours.sizes) == sum(network.sizes)
    assert ours.trainable == network.trainable


def test_training_takes_merged_layers():
    rng = np.random.default_rng(0)
    network, params = build_network(
        [Conv2d(4, 3, "relu"), MaxPool(2), Flatten(), Dense(3)], (8, 8, 1), rng
    )
    objective = NetworkObjective(network, CrossEntropy())
    workers = GradientWorkers(objective)
    assert isinstance(workers.objective.network.layers[0], PooledConv2d)
    X, y = rng.normal(size=(90, 64)).astype(np.float32), rng.integers(3, size=90)
    block = ShuffledBlock(X, y, None, np.arange(90), np.arange(90))
    ours = workers.gradient(params, block, block.order, 0)
    workers.objective = objective
    theirs = workers.gradient(params, block, block.order, 0)
    assert_allclose(ours.loss, theirs.loss, rtol=1e-6)
    for one, two in zip(ours.arrays, theirs.arrays, strict=True):
        assert_allclose(one, two, rtol=1e-4, atol=1e-5)


def test_what_is_no_number_stays_so():
    layer = PooledConv2d(Conv2d(4, 3, "relu"), MaxPool(2))
    params = layer.init_params((8, 8, 1), np.random.default_rng(0), np.float32)
    params[1][:] = np.nan
    for each in (layer, layer.conv):
        assert np.isnan(
            each.forward(params, np.ones((2, 8, 8, 1), np.float32), PassContext())[0]
        ).all()
