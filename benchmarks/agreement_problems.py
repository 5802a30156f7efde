"""Which model is compared on which data, with which peers, and at which settings."""

from __future__ import annotations

from importlib import import_module, util
from typing import Any, NamedTuple

import numpy as np

from benchmarks import agreement_objectives as losses
from benchmarks.agreement_objectives import Loss, Penalty, Solution, solution_of

SKLEARN, SVM, SKGLM, OTHER = "sklearn.linear_model.", "sklearn.svm.", "skglm.", "benchmarks."
OTHER += "agreement_peers."
TIGHT = {"tol": 1e-8, "max_iter": 10_000}  # what a user sets who wants precision
LIBRARIES = {"sklearn": "scikit-learn", "StatsmodelsProbit": "statsmodels"}
LIBRARIES |= {"StatsmodelsPoisson": "statsmodels", "ScipyProbit": "scipy", "LassoPath": "enet_path"}


class Fit(NamedTuple):
    """A class, by its full name, with its parameters."""

    name: str
    params: dict[str, Any]

    @property
    def library(self) -> str:
        package, _, _ = self.name.partition(".")
        own = self.name.rpartition(".")[2]
        solver = f" {self.params['solver']}" if "solver" in self.params else ""
        return LIBRARIES.get(own, LIBRARIES.get(package, package)) + solver

    @property
    def missing(self) -> bool:
        package = "statsmodels" if self.library == "statsmodels" else self.name.split(".")[0]
        return util.find_spec(package) is None

    def run(self, X: Any, y: np.ndarray) -> Solution:
        module, _, name = self.name.rpartition(".")
        return solution_of(getattr(import_module(module), name)(**self.params).fit(X, y))


class Problem(NamedTuple):
    """An objective on some data, ours, what makes ours precise, and the peers."""

    data: str
    model: str
    loss: Loss
    penalty: Penalty
    C: float | None  # price of the sum of losses; None: their mean
    ours: Fit
    peers: list[Fit]
    tight: dict[str, Any] = TIGHT

    @property
    def name(self) -> str:
        return f"{self.model}-{self.data}"


def fit(name: str, **params: Any) -> Fit:
    return Fit(name, params)


def logistic(data: str, C: float, l1_ratio: float, n: int, peers: list[Fit]) -> Problem:
    """Logistic regression; n is the number of rows, which skglm's penalty needs."""
    penalised = np.isfinite(C)
    penalty = Penalty(l1_ratio, 1 - l1_ratio) if penalised else Penalty()
    kind = {0: "L2", 1: "L1"}.get(l1_ratio, "elastic net") if penalised else "no penalty"
    if l1_ratio:
        alpha = {"alpha": 1 / (C * n), "l1_ratio": l1_ratio}
        precise = {"tol": 1e-8, "max_iter": 30, "max_epochs": 1000}
        peers = [*peers, fit(SKGLM + "SparseLogisticRegression", **alpha, **precise)]
    ours = fit("tenfold.LogisticRegression", C=C, l1_ratio=l1_ratio)
    name = f"LogisticRegression {kind} C={C:g}"
    return Problem(data, name, losses.logistic, penalty, C if penalised else 1.0, ours, peers)


def scikit_logistic(C: float, solver: str, l1_ratio: float = 0.0, **params: Any) -> Fit:
    settings = {"C": C, "l1_ratio": l1_ratio, "solver": solver, "tol": 1e-10, "max_iter": 20_000}
    return fit(SKLEARN + "LogisticRegression", **(settings | params))


def logistic_problems() -> list[Problem]:
    newton = [scikit_logistic(C, "newton-cholesky") for C in (1.0, np.inf)]
    return [
        logistic("breast-cancer", 1.0, 0.0, 569, [newton[0]]),
        logistic("breast-cancer", 1.0, 1.0, 569, [scikit_logistic(1.0, "saga", 1.0)]),
        logistic("breast-cancer", 1.0, 0.5, 569, [scikit_logistic(1.0, "saga", 0.5)]),
        logistic("spambase", 1.0, 0.0, 4601, [newton[0]]),
        logistic("spambase", 1.0, 1.0, 4601, []),
        logistic("spambase", 1.0, 0.5, 4601, []),
        logistic("spambase", np.inf, 0.0, 4601, [newton[1]]),
        logistic("mnist-4-7", 1.0, 0.0, 12_107, [newton[0]]),
        logistic("mnist-4-7", 1.0, 1.0, 12_107, []),
        logistic("newsgroup-14", 10.0, 1.0, 11_314, []),
    ]


def softmax_problems() -> list[Problem]:
    """On 20 groups; saga gets a minute or so, which is not enough for it."""
    settings = {"loss": losses.softmax, "C": 1.0}
    l2, l1 = fit("tenfold.LogisticRegression"), fit("tenfold.LogisticRegression", l1_ratio=1.0)
    lbfgs = scikit_logistic(1.0, "lbfgs", tol=1e-7, max_iter=1000)
    saga = scikit_logistic(1.0, "saga", 1.0, max_iter=50)
    name = "LogisticRegression softmax"
    return [
        Problem(
            "newsgroups", f"{name} L2", penalty=Penalty(l2=1), ours=l2, peers=[lbfgs], **settings
        ),
        Problem(
            "newsgroups", f"{name} L1", penalty=Penalty(l1=1), ours=l1, peers=[saga], **settings
        ),
    ]


def probit_problems() -> list[Problem]:
    ours = "tenfold.ProbitRegression"
    penalised = [
        Problem(data, "ProbitRegression L2 C=1", losses.probit, Penalty(l2=1), 1.0,
                fit(ours, C=1.0), [fit(OTHER + "ScipyProbit", C=1.0)])
        for data in ("breast-cancer", "spambase")
    ]  # fmt: skip
    free = Problem(
        "spambase", "ProbitRegression no penalty", losses.probit, Penalty(), 1.0,
        fit(ours, C=np.inf), [fit(OTHER + "StatsmodelsProbit")],
    )  # fmt: skip
    return [*penalised, free]


def poisson_problems() -> list[Problem]:
    made = []
    for alpha in (1e-3, 0.0):
        ours = fit("tenfold.PoissonRegressor", alpha=alpha)
        settings = {"alpha": alpha, "solver": "newton-cholesky", "tol": 1e-12, "max_iter": 1000}
        peers = [fit(SKLEARN + "PoissonRegressor", **settings)]
        peers += [] if alpha else [fit(OTHER + "StatsmodelsPoisson")]
        name = f"PoissonRegressor alpha={alpha:g}"
        penalty = Penalty(l2=alpha)
        made.append(Problem("california-cubic", name, losses.poisson, penalty, None, ours, peers))
    return made


def ridge_problems() -> list[Problem]:
    ours, penalty = fit("tenfold.Ridge"), Penalty(l2=1.0)
    dense = [fit(SKLEARN + "Ridge", solver="svd"), fit(SKLEARN + "Ridge", solver="cholesky")]
    sparse = [fit(SKLEARN + "Ridge", solver="sparse_cg", tol=1e-12)]
    return [
        Problem("california-cubic", "Ridge alpha=1", losses.squared, penalty, 1.0, ours, dense),
        Problem("newsgroup-14", "Ridge alpha=1", losses.squared, penalty, 1.0, ours, sparse),
    ]


def lasso_problems() -> list[Problem]:
    made = []
    for alpha, l1_ratio in [(0.01, 1.0), (0.001, 1.0), (0.01, 0.5)]:
        kind = "Lasso" if l1_ratio == 1 else "ElasticNet"
        mixed = {"alpha": alpha} | ({} if l1_ratio == 1 else {"l1_ratio": l1_ratio})
        precise = {"tol": 1e-12, "max_iter": 1_000_000, "precompute": True}
        peers = [fit(SKLEARN + kind, **mixed, **precise), fit(OTHER + "LassoPath", **mixed)]
        peers.append(fit(SKGLM + kind, **mixed, tol=1e-10, max_iter=500))
        ours = fit(f"tenfold.{kind}", **mixed)
        penalty = Penalty(alpha * l1_ratio, alpha * (1 - l1_ratio))
        name = f"{kind} alpha={alpha:g}"
        made.append(Problem("california-cubic", name, losses.squared, penalty, None, ours, peers))
    return made


def robust_problems() -> list[Problem]:
    """Huber's minimises a sum of losses and alpha |w|^2; the median's peer takes few rows only."""
    precise = {"tol": 1e-12, "max_iter": 100_000}
    huber = Problem(
        "california-cubic", "HuberRegressor", losses.huber, Penalty(l2=2e-4), 1.0,
        fit("tenfold.HuberRegressor"),
        [fit(SKLEARN + "HuberRegressor", **precise)],
    )  # fmt: skip
    median = [
        Problem("california-cubic-2000", f"QuantileRegressor alpha={alpha:g}", losses.pinball,
                Penalty(l1=alpha), None,
                fit("tenfold.QuantileRegressor", alpha=alpha),
                [fit(SKLEARN + "QuantileRegressor", alpha=alpha, solver="highs")])
        for alpha in (1e-3, 0.0)
    ]  # fmt: skip
    return [huber, *median]


def svm_problems() -> list[Problem]:
    penalty = Penalty(l2=1.0, on_constant=True)
    made = []
    for data, C in [("breast-cancer", 1.0), ("spambase", 0.1), ("newsgroups", 1.0)]:
        for loss in ("hinge", "squared_hinge"):
            settings: dict[str, Any] = {"loss": loss, "C": C}
            dual = loss == "hinge" or data == "newsgroups"
            precise = {"dual": dual, "tol": 1e-8, "max_iter": 20_000}
            ours = fit("tenfold.LinearSVC", **settings)
            peers = [fit(SVM + "LinearSVC", **settings, **precise)]
            name = f"LinearSVC {loss} C={C:g}"
            made.append(Problem(data, name, getattr(losses, loss), penalty, C, ours, peers))
    return made


def problems() -> list[Problem]:
    made = [*logistic_problems(), *softmax_problems(), *probit_problems(), *poisson_problems()]
    return [*made, *ridge_problems(), *lasso_problems(), *robust_problems(), *svm_problems()]
