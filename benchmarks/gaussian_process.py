"""Gaussian processes: evaluations of evidence and gradient against scikit-learn and others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import util
from typing import Any, NamedTuple

import numpy as np

from benchmarks.libraries import OURS, SKLEARN
from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import interleaved, seconds, undisturbed

TITLE = "Gaussian processes"
HEADER = ["case", "ours (s)", "peer", "peer (s)", "ratio", "target", "evidence", "peer's"]
GPYTORCH, CELERITE = "GPyTorch", "celerite2"
PACKAGES = {SKLEARN: "sklearn", GPYTORCH: "gpytorch", CELERITE: "celerite2"}
ROUNDS = 3
NOISE = 0.1


class ProcessCase(NamedTuple):
    """Calls that return an evidence, by library, and the targets."""

    calls: Callable[[int], dict[str, Callable[[], float]]]
    targets: dict[str, float]
    tolerance: float  # relative difference of evidences


def rows(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + np.sqrt(NOISE) * rng.normal(size=n)


def regression(part: int) -> dict[str, Callable[[], float]]:
    """Evidence and gradient of a kernel with a length scale for each of 8 columns."""
    from sklearn.gaussian_process import GaussianProcessRegressor as Theirs
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    from tenfold import GaussianProcessRegressor

    X, y = rows(2000 // part, 8)
    kernel = ConstantKernel(1.0) * RBF(np.full(8, 2.0)) + WhiteKernel(NOISE)
    return {
        name: partial(evaluate, model(kernel, optimizer=None).fit(X, y), kernel.theta)
        for name, model in ((OURS, GaussianProcessRegressor), (SKLEARN, Theirs))
    } | ({GPYTORCH: dense_gpytorch(X, y)} if util.find_spec("gpytorch") else {})


def classification(part: int) -> dict[str, Callable[[], float]]:
    """Laplace's evidence and gradient of two classes."""
    from sklearn.gaussian_process import GaussianProcessClassifier as Theirs
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    from tenfold import GaussianProcessClassifier

    X, y = rows(1500 // part, 10)
    kernel = ConstantKernel(2.0) * RBF(np.full(10, 3.0))
    return {
        name: partial(evaluate, model(kernel, optimizer=None).fit(X, y > 0), kernel.theta)
        for name, model in ((OURS, GaussianProcessClassifier), (SKLEARN, Theirs))
    }


def evaluate(model: Any, theta: np.ndarray) -> float:
    return float(model.log_marginal_likelihood(theta, eval_gradient=True)[0])


def small_regression(part: int) -> dict[str, Callable[[], float]]:  # noqa: ARG001
    """A whole fit to 60 rows."""
    from sklearn.gaussian_process import GaussianProcessRegressor as Theirs
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    from tenfold import GaussianProcessRegressor

    X, y = rows(60, 3)
    kernel = ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(NOISE)

    def fit(model: Any) -> float:
        return float(model(kernel).fit(X, y).log_marginal_likelihood_value_)

    return {OURS: partial(fit, GaussianProcessRegressor), SKLEARN: partial(fit, Theirs)}


def sparse(part: int) -> dict[str, Callable[[], float]]:
    """Bound and gradient with 200 inducing points."""
    from tenfold.engine.arrays import ArraySource
    from tenfold.engine.blas_threads import one_blas_thread
    from tenfold.engine.rows import Rows
    from tenfold.gaussian_process.sparse_regressor import SparseGaussianProcessRegressor
    from tenfold.kernel import RBF, ConstantKernel, WhiteKernel

    X, y = rows(100_000 // part, 8)
    Z = X[:200].copy()
    constant: Any = ConstantKernel(1.0)
    prior = constant * RBF(np.full(8, 2.0)) + WhiteKernel(NOISE)
    source = Rows(ArraySource(X, y)).with_chunk_rows(1024)
    model = SparseGaussianProcessRegressor(normalize_y=False)

    def bound() -> float:
        with one_blas_thread():
            found = model._evaluate(source, prior, Z, eval_gradient=True)  # noqa: SLF001
        return float(found[0])

    peers = {GPYTORCH: sparse_gpytorch(X, y, Z)} if util.find_spec("gpytorch") else {}
    return {OURS: bound} | peers


def series(part: int) -> dict[str, Callable[[], float]]:
    """Evidence of a Matern process over a million times."""
    from tenfold import StateSpaceGaussianProcessRegressor
    from tenfold.kernel import ConstantKernel, Matern

    rng = np.random.default_rng(0)
    n = 1_000_000 // part
    t = np.sort(rng.uniform(0, 1000, n))
    y = np.sin(t) + 0.2 * rng.normal(size=n)
    constant: Any = ConstantKernel(2.0)
    model = StateSpaceGaussianProcessRegressor(
        constant * Matern(1.3, nu=1.5), alpha=NOISE, optimizer=None
    ).fit(t[:, None], y)
    calls: dict[str, Callable[[], float]] = {
        OURS: lambda: model.log_marginal_likelihood(model.kernel_.theta)
    }
    if util.find_spec("celerite2"):
        import celerite2  # pyright: ignore[reportMissingImports]

        def theirs() -> float:
            term = celerite2.terms.Matern32Term(sigma=np.sqrt(2.0), rho=1.3, eps=1e-5)
            process = celerite2.GaussianProcess(term)
            process.compute(t, yerr=np.full(n, np.sqrt(NOISE)))
            return float(process.log_likelihood(y))

        calls[CELERITE] = theirs
    return calls


def dense_gpytorch(X: np.ndarray, y: np.ndarray) -> Callable[[], float]:
    return gpytorch_call(X, y, None)


def sparse_gpytorch(X: np.ndarray, y: np.ndarray, Z: np.ndarray) -> Callable[[], float]:
    return gpytorch_call(X, y, Z)


def gpytorch_call(X: np.ndarray, y: np.ndarray, Z: np.ndarray | None) -> Callable[[], float]:
    """Evidence (bound, with inducing points) and gradient by GPyTorch in float64."""
    import gpytorch  # pyright: ignore[reportMissingImports]
    import torch  # pyright: ignore[reportMissingImports]

    inputs, targets = torch.from_numpy(X), torch.from_numpy(y)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    likelihood.noise = NOISE

    class Process(gpytorch.models.ExactGP):
        def __init__(self) -> None:
            super().__init__(inputs, targets, likelihood)
            self.mean = gpytorch.means.ZeroMean()
            base = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=X.shape[1]))
            base = base.double()
            base.outputscale, base.base_kernel.lengthscale = 1.0, 2.0
            self.kernel = base
            if Z is not None:
                self.kernel = gpytorch.kernels.InducingPointKernel(
                    base, torch.from_numpy(Z), likelihood
                )
                self.kernel.inducing_points.requires_grad_(False)

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    process = Process().double()
    process.train()
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, process)

    def call() -> float:
        process.zero_grad()
        with gpytorch.settings.max_cholesky_size(10_000):
            value = objective(process(inputs), targets)
            value.backward()
        return float(value.detach()) * len(y)

    return call


CASES = {
    "gpr-ard": ProcessCase(regression, {SKLEARN: 5.0, GPYTORCH: 1.5}, 1e-4),
    "gpr-small": ProcessCase(small_regression, {SKLEARN: 1 / 1.5}, 1e-4),
    "gpc-laplace": ProcessCase(classification, {SKLEARN: 5.0}, 1e-5),
    "sgpr": ProcessCase(sparse, {GPYTORCH: 2.0}, 1e-2),
    "gp-1d": ProcessCase(series, {CELERITE: 1.0}, 1e-4),
}


def names() -> list[str]:
    return list(CASES)


def run(wanted: list[str], *, quick: bool) -> Table:
    found = [row for name in wanted for row in contest(name, quick=quick)]
    notes = [
        f"{library} is not installed: pip install tenfold[bench]"
        for library, package in PACKAGES.items()
        if util.find_spec(package) is None
    ]
    notes.append("one evaluation of evidence and gradient (gp-1d: evidence; gpr-small: a fit)")
    notes.append("celerite2's Matern term is an approximation, and so is its evidence")
    return Table(TITLE, HEADER, found, notes)


def contest(name: str, *, quick: bool) -> list[Row]:
    """All libraries in turns on one case."""
    tell(name)
    case = CASES[name]
    calls = case.calls(4 if quick else 1)
    values: dict[str, float] = {}

    def timed_call(library: str, _: int) -> list[float]:
        def work() -> None:
            values[library] = calls[library]()

        return [seconds(work)]

    with undisturbed():  # compile, and wake threads
        for call in calls.values():
            call()
    times = interleaved({lib: partial(timed_call, lib) for lib in calls}, 1 if quick else ROUNDS)
    return [judge(name, case, peer, values, times) for peer in calls if peer != OURS]


def judge(
    name: str, case: ProcessCase, peer: str, values: dict[str, float], times: dict[str, Any]
) -> Row:
    ours, theirs, target = times[OURS], times[peer], case.targets[peer]
    ratio = theirs.median / ours.median
    cells = [name, timed(ours), peer, timed(theirs), f"{ratio:.2f}x", f"{target:.2g}x"]
    cells += [figure(values[OURS], 8), figure(values[peer], 8)]
    if values[OURS] < values[peer] - case.tolerance * abs(values[peer]):
        return Row(cells, "not counted: worse")
    return Row(cells, "met" if ratio >= target else "missed")
