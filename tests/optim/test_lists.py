"""Starting points, scores and targets may be lists of numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tenfold
from tenfold import optim
from tenfold.math import losses
from tenfold.math.penalties import L1Penalty


def bowl(x):
    return float(((x - 3) ** 2).sum()), 2 * (x - 3)


def bowl_with_hessian(x):
    return *bowl(x), 2 * np.eye(len(x))


def row_loss(chunk, x):
    return float(((chunk.X - x) ** 2).sum()), 2 * (x - chunk.X).sum(axis=0)


METHODS = {
    "gradient_descent": lambda x: optim.gradient_descent(bowl, x, tol=1e-6, max_iter=500),
    "subgradient_descent": lambda x: optim.subgradient_descent(bowl, x, max_iter=300),
    "lbfgs": lambda x: optim.lbfgs(bowl, x),
    "newton": lambda x: optim.newton(bowl_with_hessian, x),
    "newton_cg": lambda x: optim.newton_cg(bowl, lambda _, v: 2 * v, x),
    "minimize": lambda x: optim.minimize(bowl, x),
    "simplex": lambda x: optim.minimize(lambda z: bowl(z)[0], x, method="Nelder-Mead"),
    "proximal_gradient": lambda x: optim.proximal_gradient(bowl, L1Penalty(1e-6), x),
    "projected_gradient": lambda x: optim.projected_gradient(bowl, lambda z: z, x),
    "sgd": lambda x: optim.sgd(
        row_loss, x, tenfold.open(np.full((20, 2), 3.0)), learning_rate=0.1, max_iter=30
    ),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("start", [[1, 2], (1.0, 2.0), np.array([1, 2])])
def test_starts_as_lists_and_whole_numbers(name, start):
    found, wanted = METHODS[name](start).x, METHODS[name](np.array([1.0, 2.0])).x
    assert_allclose(found, wanted, rtol=1e-12)
    assert_allclose(found, 3, atol=0.1)


@pytest.mark.parametrize("name", sorted(losses.LOSSES))
def test_losses_of_lists(name):
    loss = losses.LOSSES[name]()
    if loss.labels == "classes":
        z, y = [[0.5, -1.0], [0.1, 2.0]], [0, 1]
    else:
        z, y = [0.5, -1.0], [1, -1] if loss.labels == "signs" else [1.0, 2.0]
    arrays = np.array(z), np.array(y)
    methods = ["value", "gradient", "value_and_gradient"] if name != "zero_one" else ["value"]
    for method in [*methods, "curvature"] if loss.smooth else methods:
        found, wanted = (getattr(loss, method)(*parts) for parts in ((z, y), arrays))
        if not isinstance(found, tuple):
            found, wanted = (found,), (wanted,)
        for a, b in zip(found, wanted, strict=True):
            assert_allclose(a, b)
