r"""Algorithms of independent component analysis on whitened rows.

FastICA (Hyvärinen) is a fixed-point iteration, all components at once ("parallel") or one after the
other ("deflation"),

.. math:: w \leftarrow E[g(w^\top z) z] - E[g'(w^\top z)] w,

then W orthonormal again. Picard is a quasi-Newton method with a line search: L-BFGS in relative
coordinates, W <- (I + D) W or a rotation in place of I + D, preconditioned by the Hessian that
independent components would have. "picard" maximizes the contrast sum |E G(y) - E G(n)| over
orthonormal W, with the fixed points of FastICA; "infomax" the likelihood of the extended infomax
model, with
densities proportional to exp(-y^2/2) / cosh(y) (heavy tails) or exp(-y^2/2) cosh(y) (light tails),
over all W. It begins at the contrast's solution, whose components say which density is whose.

References
----------
A. Hyvärinen (1999), Fast and robust fixed-point algorithms for independent component analysis.

P. Ablin, J.-F. Cardoso and A. Gramfort (2018), Faster independent component analysis by
preconditioning with Hessian approximations.

T.-W. Lee, M. Girolami and T. Sejnowski (1999), Independent component analysis using an extended
infomax algorithm for mixed sub-Gaussian and super-Gaussian sources.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from tenfold.decomposition._ica_contrasts import ContrastSums, ICAContrast, contrast_sums
from tenfold.engine.rows import Rows
from tenfold.optim.convergence import until_converged
from tenfold.optim.quasi_newton import two_loop_recursion

_MEMORY = 7
_MAX_HALVINGS = 12
_MIN_CURVATURE = 1e-2
_ROUNDING = 64  # last digits of an objective that say nothing
_LOG_LIGHT = 0.5 * float(np.log(2 * np.pi)) + 0.5  # of the integral of exp(-y^2/2) cosh(y)
_LOG_HEAVY = 0.6195404611792749  # of the integral of exp(-y^2/2) / cosh(y)


class Projections(NamedTuple):
    """Rows as the algorithms see them: z = K (x - mean), without second moments other than S.

    Attributes
    ----------
    rows : the rows, or whitened ones
    mean : (p,) subtracted from them, or None
    whitening : (k, p) K, or None if the rows are whitened already
    second_moment : (k, k) mean of z z'
    """

    rows: Rows
    mean: np.ndarray | None
    whitening: np.ndarray | None
    second_moment: np.ndarray

    def sums(self, W: np.ndarray, contrast: ICAContrast, *, with_values: bool) -> ContrastSums:
        """Means over rows of g(Wz) z', g'(Wz) and G(Wz)."""
        A = W if self.whitening is None else W @ self.whitening
        s = self.rows.total(contrast_sums, A, self.mean, contrast, with_values)
        products = s.products if self.whitening is None else s.products @ self.whitening.T
        return ContrastSums(s.n, products / s.n, s.slopes / s.n, s.values / s.n)


def orthonormalize(W: np.ndarray) -> np.ndarray:
    """The nearest matrix with orthonormal rows, (W W')^(-1/2) W."""
    values, V = np.linalg.eigh(W @ W.T)
    values = np.maximum(values, np.finfo(W.dtype).tiny)
    return (V / np.sqrt(values)) @ V.T @ W


def run_parallel(
    z: Projections, W: np.ndarray, contrast: ICAContrast, tol: float, max_iter: int
) -> tuple[np.ndarray, dict[str, Any]]:
    """FastICA of all components at once."""
    loop = until_converged(orthonormalize(W), tol=tol, max_iter=max_iter)
    for current in loop:
        s = z.sums(current, contrast, with_values=False)
        following = orthonormalize(s.products - s.slopes[:, None] * current)
        cosines = np.abs(np.einsum("ij,ij->i", following, current))
        change = float(np.abs(cosines - 1).max())
        loop.update(following, objective=change, change=change)
    return loop.state, loop.report


def run_deflation(
    z: Projections, W: np.ndarray, contrast: ICAContrast, tol: float, max_iter: int
) -> tuple[np.ndarray, dict[str, Any]]:
    """FastICA of one component after the other."""
    found = np.zeros_like(W)
    reports = []
    for j in range(len(W)):
        start = W[j] / np.linalg.norm(W[j])
        loop = until_converged(start, tol=tol, max_iter=max_iter)
        for w in loop:
            s = z.sums(w[None], contrast, with_values=False)
            following = s.products[0] - s.slopes[0] * w
            following = following - found[:j].T @ (found[:j] @ following)
            following /= np.linalg.norm(following)
            change = abs(abs(float(following @ w)) - 1)
            loop.update(following, objective=change, change=change)
        found[j] = loop.state
        reports.append(loop.report)
    return found, _join_reports(reports)


def _join_reports(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """One report of several loops: the most iterations; converged if all are."""
    histories = [report["history_"] for report in reports]
    ends = np.cumsum([0.0, *(history["seconds"][-1] for history in histories[:-1])])
    seconds = [end + history["seconds"] for end, history in zip(ends, histories, strict=True)]
    objectives = [history["objective"] for history in histories]
    return {
        "n_iter_": max(report["n_iter_"] for report in reports),
        "converged_": all(report["converged_"] for report in reports),
        "history_": {
            "objective": np.concatenate(objectives),
            "seconds": np.concatenate(seconds),
        },
    }


class UnmixingPoint(NamedTuple):
    """An unmixing matrix W with its objective, relative gradient and curvatures, (k, k) each."""

    W: np.ndarray
    value: float
    gradient: np.ndarray
    curvature: np.ndarray


class RelativeObjective(Protocol):
    """A function of W with a gradient and moves in relative coordinates."""

    def evaluate(self, z: Projections, W: np.ndarray) -> UnmixingPoint:
        """Objective, gradient and approximate curvatures at W."""
        ...

    def precondition(self, gradient: np.ndarray, curvature: np.ndarray) -> np.ndarray:
        """The approximate inverse Hessian times a gradient."""
        ...

    def move(self, W: np.ndarray, D: np.ndarray) -> np.ndarray:
        """The point in the direction D from W."""
        ...


class ContrastObjective(NamedTuple):
    """Minus the sum of |E G(y) - E G(n)| over orthonormal W."""

    contrast: ICAContrast
    gaussian_mean: float

    def evaluate(self, z: Projections, W: np.ndarray) -> UnmixingPoint:
        """Objective, skew gradient and curvatures at W."""
        s = z.sums(W, self.contrast, with_values=True)
        A = s.products @ W.T
        difference = s.values - self.gaussian_mean
        signs = np.where(difference > 0, -1.0, 1.0)
        kappa = signs * (s.slopes - A.diagonal())
        A = signs[:, None] * A
        curvature = np.maximum(np.add.outer(kappa, kappa) / 2, _MIN_CURVATURE)
        return UnmixingPoint(W, -float(np.abs(difference).sum()), (A - A.T) / 2, curvature)

    def precondition(self, gradient: np.ndarray, curvature: np.ndarray) -> np.ndarray:
        """Independent components have a diagonal Hessian."""
        return gradient / curvature

    def move(self, W: np.ndarray, D: np.ndarray) -> np.ndarray:
        """A rotation: Cayley's transform of a skew matrix."""
        half = D / 2
        same = np.eye(len(D))
        return np.linalg.solve(same - half, same + half) @ W


class LikelihoodObjective(NamedTuple):
    """Minus the mean log-likelihood of the extended infomax model.

    Attributes
    ----------
    contrast : logcosh
    signs : (k,) 1 for components with heavy tails, -1 for light ones
    log_constants : (k,) logs of the integrals of their densities
    """

    contrast: ICAContrast
    signs: np.ndarray
    log_constants: np.ndarray

    def evaluate(self, z: Projections, W: np.ndarray) -> UnmixingPoint:
        """Objective, relative gradient and curvatures at W."""
        s = z.sums(W, self.contrast, with_values=True)
        second = W @ z.second_moment @ W.T
        fitted = self.signs * s.values + self.log_constants + second.diagonal() / 2
        value = float(fitted.sum()) - float(np.linalg.slogdet(W)[1])
        gradient = self.signs[:, None] * (s.products @ W.T) + second - np.eye(len(W))
        slopes = self.signs * s.slopes + 1
        curvature = np.multiply.outer(slopes, second.diagonal())
        return UnmixingPoint(W, value, gradient, curvature)

    def precondition(self, gradient: np.ndarray, curvature: np.ndarray) -> np.ndarray:
        """Independent components have a Hessian of 2 x 2 blocks for the pairs (i, j), (j, i)."""
        h, other = curvature, curvature.T
        smallest = 0.5 * (h + other - np.sqrt((h - other) ** 2 + 4.0))
        shift = np.maximum(_MIN_CURVATURE - smallest, 0.0)
        h, other = h + shift, other + shift
        determinant = h * other - 1.0
        np.fill_diagonal(determinant, 1.0)
        step = (other * gradient - gradient.T) / determinant
        diagonal = np.maximum(curvature.diagonal() + 1.0, _MIN_CURVATURE)
        np.fill_diagonal(step, gradient.diagonal() / diagonal)
        return step

    def move(self, W: np.ndarray, D: np.ndarray) -> np.ndarray:
        """(I + D) W."""
        return W + D @ W


def run_infomax(
    z: Projections, W: np.ndarray, contrast: ICAContrast, tol: float, max_iter: int
) -> tuple[np.ndarray, dict[str, Any]]:
    """Maximum likelihood of the extended infomax model, from the solution of the contrast."""
    reference = contrast.gaussian_mean()
    W, _ = run_quasi_newton(z, W, ContrastObjective(contrast, reference), tol, max_iter)
    s = z.sums(W, contrast, with_values=True)
    heavy = s.values <= reference
    objective = LikelihoodObjective(
        contrast, np.where(heavy, 1.0, -1.0), np.where(heavy, _LOG_HEAVY, _LOG_LIGHT)
    )
    return run_quasi_newton(z, W, objective, tol, max_iter)


def run_quasi_newton(
    z: Projections, W: np.ndarray, objective: RelativeObjective, tol: float, max_iter: int
) -> tuple[np.ndarray, dict[str, Any]]:
    """Preconditioned L-BFGS in relative coordinates; stops when no gradient exceeds `tol`."""
    state: tuple[UnmixingPoint, tuple] = (objective.evaluate(z, W), ())
    loop = until_converged(state, tol=tol, max_iter=max_iter)
    for current, pairs in loop:
        direction = _direction(objective, current, pairs)
        following, step = _search_line(z, objective, current, direction)
        if step == 0.0 and pairs:  # once more, from the preconditioned gradient alone
            pairs, direction = (), _direction(objective, current, ())
            following, step = _search_line(z, objective, current, direction)
        change = float(np.abs(following.gradient).max())
        if step > 0:
            s = (step * direction).ravel()
            y = (following.gradient - current.gradient).ravel()
            if s @ y > 0:
                pairs = (*pairs, (s, y, 1.0 / (s @ y)))[-_MEMORY:]
        stuck = step == 0.0 and change > tol
        loop.update((following, pairs), objective=following.value, change=change, stuck=stuck)
    return loop.state[0].W, loop.report


def _direction(objective: RelativeObjective, current: UnmixingPoint, pairs: tuple) -> np.ndarray:
    """The quasi-Newton direction; the preconditioned gradient if it does not descend."""
    shape = current.gradient.shape

    def precondition(q: np.ndarray) -> np.ndarray:
        return objective.precondition(q.reshape(shape), current.curvature).ravel()

    gradient = current.gradient.ravel()
    direction = -two_loop_recursion(gradient, pairs, precondition)
    if direction @ gradient >= 0:
        direction = -precondition(gradient)
    return direction.reshape(shape)


def _search_line(
    z: Projections, objective: RelativeObjective, current: UnmixingPoint, direction: np.ndarray
) -> tuple[UnmixingPoint, float]:
    """The first of the steps 1, 1/2, 1/4, ... that decreases the objective; 0 for none."""
    step = 1.0
    for _ in range(_MAX_HALVINGS):
        following = objective.evaluate(z, objective.move(current.W, step * direction))
        if following.value < current.value or _is_level(following, current):
            return following, step
        step /= 2
    return current, 0.0


def _is_level(following: UnmixingPoint, current: UnmixingPoint) -> bool:
    """Whether two objectives differ by rounding alone, and the gradient has become smaller."""
    rounding = _ROUNDING * np.finfo(np.float64).eps * max(abs(current.value), 1.0)
    smaller = np.abs(following.gradient).max() < 0.5 * np.abs(current.gradient).max()
    return bool(smaller and following.value <= current.value + rounding)
