"""Any minimizer of SciPy over a fold of the rows."""

import itertools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import rosen, rosen_der, rosen_hess

import tenfold
from tenfold.engine import Chunk
from tenfold.optim import minimize, objective_over_rows
from tests.optim.descent_problems import least_squares, squares


def curved_squares(chunk, theta):
    return (*squares(chunk, theta), chunk.X.T @ chunk.X)


# ------------------------------------------------------------------- O04 any minimiser, over a fold

SCIPY = ["Nelder-Mead", "Powell", "CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP", "COBYLA", "COBYQA"]


SCIPY += ["trust-constr", "Newton-CG", "dogleg", "trust-ncg", "trust-exact", "trust-krylov"]


@pytest.mark.parametrize("method", ["lbfgs", "newton", "gd", *SCIPY])
def test_any_minimiser_over_a_fold(method):
    X, y = least_squares(40, 2)
    curved = method == "newton" or method in SCIPY[9:]
    settings = {"learning_rate": 0.01} if method == "gd" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # trust-constr on a quadratic function
        found = minimize(
            curved_squares if curved else squares,
            np.zeros(2),
            rows=tenfold.open(X, y),
            method=method,
            **settings,
        )
    assert_allclose(found.x, np.linalg.lstsq(X, y, rcond=None)[0], atol=2e-4)
    assert found.report["converged_"]
    assert len(found.report["history_"]["objective"]) >= 1
    if method in SCIPY:
        assert_allclose(found.report["history_"]["objective"].min(), found.value, rtol=1e-6)


def test_the_fold_makes_no_difference():
    X, y = least_squares(40, 2)
    whole = minimize(lambda w: squares(Chunk(X, y), w), np.zeros(2))
    assert_allclose(minimize(squares, np.zeros(2), rows=tenfold.open(X, y)).x, whole.x, rtol=1e-12)


def test_a_plain_value_is_enough_for_some():
    found = minimize(rosen, np.zeros(2), method="Nelder-Mead", tol=1e-9)
    assert_allclose(found.x, 1, atol=1e-6)
    assert np.isnan(found.gradient).all()
    with pytest.raises(ValueError, match="use method='Nelder-Mead'"):
        minimize(rosen, np.zeros(2), method="lbfgs")
    with pytest.raises(
        ValueError, match=r"needs a function that returns \(value, gradient, Hessian\)"
    ):
        minimize(lambda x: (rosen(x), rosen_der(x)), np.zeros(2), method="newton")


def test_hessians_bounds_and_one_evaluation_for_all_parts():
    calls = itertools.count()

    def f(x):
        next(calls)
        return rosen(x), rosen_der(x), rosen_hess(x)

    found = minimize(f, np.array([-1.0, 1.0]), method="trust-exact", tol=1e-10)
    assert_allclose(found.x, 1, atol=1e-7)
    assert next(calls) <= found.report["n_iter_"] + 5
    inside = minimize(f, np.zeros(2), method="L-BFGS-B", bounds=[(None, 0.5), (None, None)])
    assert_allclose(inside.x, [0.5, 0.25], atol=1e-5)


def test_the_mean_over_rows_is_by_weight():
    X, y = least_squares(10, 2)
    w = np.arange(1.0, 11.0)
    rows = tenfold.open(X, y, w)
    f = objective_over_rows(
        rows, lambda chunk, theta: float(chunk.weights() @ (chunk.y - theta) ** 2), mean=True
    )
    assert_allclose(f(0.5), np.average((y - 0.5) ** 2, weights=w))
