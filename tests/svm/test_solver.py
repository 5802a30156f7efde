"""The quadratic programs of support vector machines and their solver, wherever rows lie."""

import numpy as np
import pytest

from tenfold import open as open_rows
from tenfold.kernel.kernels import resolve_kernel
from tenfold.svm import _blocked_smo
from tenfold.svm._blocked_smo import SolverOptions, solve_dual
from tenfold.svm._dual_problem import (
    classification_problem,
    nu_classification_problem,
    nu_regression_problem,
    one_class_problem,
    regression_problem,
)
from tenfold.svm._kernel_access import FoldKernel, MemoryKernel, kernel_matrix, open_kernel
from tests.svm.problems import rings, solve_exactly, waves

OPTIONS = SolverOptions(1e-10, -1, 2e8, shrinking=True)
RBF = resolve_kernel("rbf", gamma=0.7)


def problems_of(n):
    X, y = rings(n)
    w = np.random.default_rng(1).uniform(0.5, 2, n)
    target = waves(n)[1]
    return X, {
        "SVC": classification_problem(y, 3 * w),
        "NuSVC": nu_classification_problem(y, w, 0.3),
        "SVR": regression_problem(target, 2 * w, 0.1),
        "NuSVR": nu_regression_problem(target, 2 * w, 0.4),
        "OneClassSVM": one_class_problem(w, 0.2),
    }


@pytest.fixture
def small_sets(monkeypatch):
    """Problems of some hundred rows are solved in rounds of 32 variables."""
    monkeypatch.setattr(_blocked_smo, "FULL_MATRIX_ROWS", 20)
    monkeypatch.setattr(_blocked_smo, "WORKING_SET", 32)
    monkeypatch.setattr(_blocked_smo, "FOLD_WORKING_SET", 32)


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
@pytest.mark.usefixtures("small_sets")
def test_the_optimum_is_that_of_quadratic_programming(name):
    X, problems = problems_of(60)
    problem, access = problems[name], MemoryKernel(X, RBF, 16, np.float64)
    K = kernel_matrix(access, np.arange(60))
    exact = solve_exactly(problem, K)
    whole = solve_dual(problem, access, np.arange(60), OPTIONS, gram=K)
    rounds = solve_dual(problem, access, np.arange(60), OPTIONS)
    for solution in (whole, rounds):
        assert solution.converged
        assert solution.optimality.objective == pytest.approx(exact, rel=1e-9, abs=1e-8)
        assert (problem.lower <= solution.beta).all()
        assert (solution.beta <= problem.upper).all()
        for g in (0, 1):
            own = problem.group == g
            assert solution.beta[own].sum() == pytest.approx(problem.start[own].sum(), abs=1e-9)
        np.testing.assert_allclose(solution.F, K @ problem.row_sums(solution.beta), atol=1e-10)


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
def test_the_duality_gap_bounds_the_distance_from_the_optimum(name):
    X, problems = problems_of(60)
    problem, access = problems[name], MemoryKernel(X, RBF, 64, np.float64)
    exact = solve_exactly(problem, kernel_matrix(access, np.arange(60)))
    for steps in (1, 5, 20, 80):
        options = OPTIONS._replace(max_iter=steps)
        early = solve_dual(problem, access, np.arange(60), options).optimality
        assert early.gap >= early.objective - exact - 1e-10


@pytest.mark.usefixtures("small_sets")
def test_shrinking_and_small_caches_lead_to_the_same_optimum(monkeypatch):
    X, y = rings(400)
    problem, access = classification_problem(y, np.full(400, 10.0)), MemoryKernel(X, RBF, 64, "d")
    shrunk = []
    shrink = _blocked_smo._Rounds._shrink

    def watch(self, state):
        state = shrink(self, state)
        shrunk.append(int((~state.active).sum()))
        return state

    monkeypatch.setattr(_blocked_smo._Rounds, "_shrink", watch)
    solutions = [
        solve_dual(problem, access, np.arange(400), OPTIONS._replace(cache_bytes=c, shrinking=s))
        for c, s in ((2e8, False), (400 * 8 * 70, True), (1.0, True), (1.0, False))
    ]
    assert max(shrunk) > 0
    for solution in solutions:
        assert solution.converged
        assert solution.optimality.violation <= 1e-10
        assert solution.optimality.objective == pytest.approx(
            solutions[0].optimality.objective, abs=1e-8
        )
        objective = solution.history["objective"]  # that of all variables while some are left out
        assert (np.diff(objective) <= 1e-6 * np.abs(objective[1:])).all()
        assert objective[-1] == pytest.approx(solution.optimality.objective, abs=1e-8)


def test_columns_of_float32_products_lead_to_the_optimum_of_float64():
    X, y = rings(2500)
    X = np.r_[X + 1e6, [[1e6 + 300.0, 1e6], [1e6 + 300.01, 1e6]]]  # far from 0, with outliers
    problem = classification_problem(np.r_[y, 1, -1], np.full(2502, 10.0))
    options = OPTIONS._replace(tol=1e-3)
    rows, kernel = open_rows(X), resolve_kernel("rbf", gamma=0.7)
    wide, narrow = open_kernel(rows, kernel), open_kernel(rows, kernel, spread=2.0)
    assert wide.column_dtype == np.float64
    assert narrow.column_dtype == np.float32
    expected, found = (solve_dual(problem, a, np.arange(2502), options) for a in (wide, narrow))
    assert expected.converged
    assert found.converged
    bound = expected.optimality.objective
    assert abs(found.optimality.objective - bound) <= found.optimality.gap + 1e-6 * abs(bound)
    sums = problem.row_sums(found.beta)
    np.testing.assert_allclose(found.F, kernel_matrix(wide, np.arange(2502)) @ sums, atol=5e-4)


@pytest.mark.parametrize("cache_bytes", [2e8, 400 * 8 * 70, 1.0])
@pytest.mark.usefixtures("small_sets")
def test_a_pass_over_rows_has_the_bits_of_memory(cache_bytes):
    X, y = rings(400)
    problem, options = classification_problem(y, np.full(400, 10.0)), OPTIONS._replace(tol=1e-4)
    numbers = np.flatnonzero(np.arange(450) % 9 != 4)
    X = np.insert(X, np.arange(0, 400, 8), 7.0, axis=0)
    rows = open_rows(X).with_chunk_rows(64)
    options = options._replace(cache_bytes=cache_bytes)
    memory = solve_dual(problem, MemoryKernel(X, RBF, 64, np.float64), numbers, options)
    fold = solve_dual(problem, FoldKernel(rows, RBF, np.float64), numbers, options)
    assert memory.n_steps == fold.n_steps
    assert np.array_equal(memory.beta, fold.beta)
    assert np.array_equal(memory.F, fold.F)


class NoisyKernel(MemoryKernel):
    """Kernel values in float32 whose errors differ from call to call."""

    calls = 0

    def with_dtype(self, dtype):
        return NoisyKernel(self.X, self.kernel, self.grid, dtype)

    def product(self, Z, coefficients, numbers):
        NoisyKernel.calls += self.dtype == np.float32
        noise = np.random.default_rng(self.calls).normal(size=len(numbers))
        exact = super().product(Z, coefficients, numbers)
        return exact * (1 + 1e-4 * noise) if self.dtype == np.float32 else exact


@pytest.mark.usefixtures("small_sets")
def test_float32_kernel_values_are_given_up_where_they_stall():
    X, y = rings(200, noise=0.6)
    X = X.astype(np.float32)
    problem, options = classification_problem(y, np.full(200, 10.0)), OPTIONS._replace(tol=1e-5)
    exact = solve_dual(
        problem, MemoryKernel(X.astype(float), RBF, 64, "d"), np.arange(200), options
    )
    noisy = NoisyKernel(X, RBF, 64, np.float32)
    found = solve_dual(problem, noisy, np.arange(200), options._replace(cache_bytes=1.0))
    assert NoisyKernel.calls > 5
    assert found.converged
    assert found.optimality.objective == pytest.approx(exact.optimality.objective, rel=1e-7)
