"""Conjugate gradients on the systems of rows: exact after enough steps, never worse before."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tenfold._compiled.row_gradients import improve_row_solutions, pad_columns
from tenfold._compiled.row_systems import solve_row_systems
from tests._compiled.test_row_systems import dense_systems, problem


def improve(entries, Y, start, steps, ridge=0.5, P=None):
    n, k = start.shape
    P = np.zeros((k, k)) if P is None else P
    return improve_row_solutions(
        *entries, Y, start, ridge=np.full(n, ridge), precision=P, steps=steps
    )


@pytest.mark.parametrize("k", [1, 5, 8, 19])
def test_as_many_steps_as_factors_solve_the_systems(k):
    *entries, Y, rng = problem(k, k=k)
    root = rng.normal(size=(k, k))
    P = root @ root.T
    exact = solve_row_systems(*entries, Y, ridge=0.5, precision=P)
    x, decrease = improve(entries, Y, rng.normal(size=(7, k)), 3 * k, P=P)
    assert_allclose(x, exact.x, rtol=1e-6, atol=1e-9)
    assert_allclose(decrease, exact.decrease, rtol=1e-9, atol=1e-9)


def test_no_step_raises_the_cost_and_the_cost_is_that_of_the_rows():
    *entries, Y, rng = problem(3, k=6)
    start = rng.normal(size=(7, 6))
    costs = []
    for steps in range(5):
        x, decrease = improve(entries, Y, start, steps)
        systems = dense_systems(*entries, Y, 0.5, np.zeros((6, 6)), np.zeros(6))
        brute = [2 * b @ row - row @ A @ row for (A, b), row in zip(systems, x, strict=True)]
        assert_allclose(decrease, brute, rtol=1e-9, atol=1e-9)
        costs.append(-decrease)
    assert (np.diff(costs, axis=0) <= 1e-9).all()


def test_a_solution_stays_and_a_row_depends_on_its_own_entries_alone():
    *entries, Y, rng = problem(4, k=6)
    exact = solve_row_systems(*entries, Y, ridge=0.5).x
    assert_allclose(improve(entries, Y, exact, 2)[0], exact, rtol=1e-9, atol=1e-12)
    start = rng.normal(size=(7, 6))
    x = improve(entries, pad_columns(Y), start, 2)[0]
    indptr, indices, weight, moment = entries
    for i in range(7):
        span = slice(indptr[i], indptr[i + 1])
        alone = np.array([0, indptr[i + 1] - indptr[i]]), indices[span], weight[span], moment[span]
        assert_array_equal(improve(alone, Y, start[i : i + 1], 2)[0][0], x[i])
