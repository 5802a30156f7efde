"""Bayesian ridge regression: noise and prior estimated by their evidence, large and small."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import generated, limits
from benchmarks.case import Case, Data, Quality
from benchmarks.quality import blocks
from benchmarks.small import Kind

MODEL = "BayesianRidge"
DTYPES = {"f4": np.float32, "f8": np.float64}


def minus_log_evidence(model: Any, data: Data) -> float:
    """Mean of minus the log-evidence at the model's own estimates, from its posterior."""
    w, n = np.ravel(model.coef_).astype(np.float64), len(data.X)
    misfit = sum(((X @ w + model.intercept_ - y) ** 2).sum() for X, y in blocks(data))
    alpha, lam = float(model.alpha_), float(model.lambda_)
    volume = np.linalg.slogdet(model.sigma_.astype(np.float64))[1] + len(w) * np.log(lam)
    noise = n * np.log(alpha / (2 * np.pi))
    return float(alpha * misfit + lam * w @ w - volume - noise) / (2 * n)


EVIDENCE = Quality("minus log evidence", minus_log_evidence, 1e-6)
SMALL = Kind(EVIDENCE, "number")


def cases() -> list[Case]:
    return [
        Case(
            f"bayesian-ridge-{kind}",
            MODEL,
            generated.plane(500_000, 100, dtype),
            EVIDENCE,
            limits.GRAM,
            target=2.0,
            rounds=3,
        )
        for kind, dtype in DTYPES.items()
    ]
