"""Maximum of an evidence over the hyperparameters of a kernel, from several starts."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Kernel

# value and gradient at theta, or the value alone
Evidence = Callable[[np.ndarray, bool], Any]
_SMALL_DECREASE = 2e-10  # of the objective, relative: SciPy's 2e-9 leaves gradients of 2e-4


class _Maximum(NamedTuple):
    theta: np.ndarray
    value: float
    objective: list[float]  # the negative evidence after each iteration
    seconds: list[float]
    n_iter: int
    message: str  # empty if the search converged


def maximize_evidence(
    evidence: Evidence,
    kernel: Any,
    optimizer: Any,
    n_restarts: int,
    rng: np.random.Generator,
    max_iter: int = 15_000,
) -> tuple[np.ndarray, float, dict[str, Any]]:
    """The best theta of all starts, its evidence, and the attributes that report the search.

    The first start is the theta of the kernel, the others are uniform within its bounds (which are
    logarithms), drawn from `rng`.
    """
    _check_positive(kernel)
    starts = [kernel.theta]
    if n_restarts > 0:
        if not np.isfinite(kernel.bounds).all():
            raise ValueError(
                "Multiple optimizer restarts (n_restarts_optimizer>0) requires that all bounds are "
                "finite."
            )
        low, high = kernel.bounds.T
        starts += [rng.uniform(low, high) for _ in range(n_restarts)]
    bounds = kernel.bounds
    maxima = [_maximize_from(evidence, start, bounds, optimizer, max_iter) for start in starts]
    best = max(maxima, key=lambda found: found.value)
    report: dict[str, Any] = {}
    if best.objective:
        history = {"objective": np.array(best.objective), "seconds": np.array(best.seconds)}
        converged = not best.message
        report = {"history_": history, "n_iter_": best.n_iter, "converged_": converged}
        if best.message:
            report["warning_"] = (
                f"lbfgs failed to converge after {best.n_iter} iteration(s): {best.message}. "
                "Rescale the columns, give a better start or narrower bounds of the kernel, or "
                "raise n_restarts_optimizer."
            )
    return best.theta, best.value, report


def _check_positive(kernel: Any) -> None:
    """Refuse hyperparameters that have no logarithm: no kernel has them."""
    with np.errstate(all="ignore"):
        known, params = np.isfinite(kernel.theta), kernel.get_params()
    free = [each.name for each in kernel.hyperparameters if not each.fixed]
    sizes = [each.n_elements for each in kernel.hyperparameters if not each.fixed]
    for name, good in zip(np.repeat(free, sizes), known, strict=True):
        if not good:
            raise ValueError(
                f"hyperparameters of a kernel must be positive, got {name}="
                f'{params.get(name, "no number")!r}; with bounds "fixed" it is left as it is'
            )


def _maximize_from(
    evidence: Evidence, start: np.ndarray, bounds: np.ndarray, optimizer: Any, max_iter: int
) -> _Maximum:
    if not np.isfinite(start).all():
        raise FloatingPointError("the search for hyperparameters starts at no number")

    def objective(theta: np.ndarray, eval_gradient: bool = True) -> Any:
        result = evidence(theta, eval_gradient)
        if np.isnan(result[0] if eval_gradient else result):
            raise FloatingPointError("the evidence is not a number")
        return (-result[0], -result[1]) if eval_gradient else -result

    if callable(optimizer):
        found: Any = optimizer(objective, start, bounds=bounds)
        theta, value = found
        return _Maximum(np.asarray(theta), -float(value), [], [], 0, "")
    begin = time.perf_counter()
    values: list[float] = []
    seconds: list[float] = []

    def record(intermediate_result: Any) -> None:
        values.append(float(intermediate_result.fun))
        seconds.append(time.perf_counter() - begin)

    found = scipy.optimize.minimize(
        objective,
        start,
        method="L-BFGS-B",
        jac=True,
        bounds=bounds,
        callback=record,
        options={"maxiter": max_iter, "ftol": _SMALL_DECREASE},
    )
    if not values:  # the start was a minimum
        values, seconds = [float(found.fun)], [time.perf_counter() - begin]
    message = "" if found.success else str(found.message)
    return _Maximum(found.x, -float(found.fun), values, seconds, int(found.nit), message)


def check_kernel_columns(kernel: Any, X: Any) -> None:
    """Refuse a loaded kernel that is not one, or whose length scales are not for these columns."""
    if not isinstance(kernel, Kernel):
        problem = f"kernel_ is a {type(kernel).__name__}, not a kernel"
        raise ValueError(problem)  # noqa: TRY004 - as of all that does not fit
    try:
        kernel(X[:1])
    except (TypeError, ValueError) as error:
        raise ValueError(f"kernel_ does not fit the rows: {error}") from error


def warn_about_bounds(kernel: Kernel) -> None:
    """Warn of hyperparameters that ended at a bound, in scikit-learn's words."""
    free = [each for each in kernel.hyperparameters if not each.fixed]
    names = [(each, i) for each in free for i in range(each.n_elements)]
    for (parameter, i), theta, bounds in zip(names, kernel.theta, kernel.bounds, strict=True):
        for edge, side, change in ((0, "lower", "Decreasing"), (1, "upper", "Increasing")):
            if np.isclose(theta, bounds[edge]):
                warnings.warn(
                    f"The optimal value found for dimension {i} of parameter {parameter.name} is "
                    f"close to the specified {side} bound {parameter.bounds[i][edge]}. {change} "
                    "the bound and calling fit again may find a better value.",
                    ConvergenceWarning,
                    stacklevel=4,
                )
                break
