"""The large cases."""

from __future__ import annotations

import numpy as np

from benchmarks import bayesian, generated, limits, quality, sgd
from benchmarks.case import Case

DTYPES = {"f4": np.float32, "f8": np.float64}
LLOYD = {"n_clusters": 50, "n_init": 1}


def cases() -> list[Case]:
    return [softmax(), *(case for kind in DTYPES for case in of_kind(kind, DTYPES[kind]))]


def all_cases() -> list[Case]:
    """These, and those of the linear family."""
    return [*cases(), *logistic(), *bayesian.cases(), *sgd.cases()]


def logistic() -> list[Case]:
    return [
        Case(
            f"logistic-{kind}",
            "LogisticRegression",
            generated.classes(1_000_000, 50, 2, dtype),
            quality.CROSS_ENTROPY,
            limits.READ,
            target=4.0,
            rounds=3,
        )
        for kind, dtype in DTYPES.items()
    ]


def softmax() -> Case:
    return Case(
        "softmax-mnist-f4",
        "LogisticRegression",
        generated.mnist,
        quality.CROSS_ENTROPY,
        limits.SOFTMAX,
        target=3.0,
        rounds=3,
    )


def of_kind(kind: str, dtype: type) -> list[Case]:
    return [
        Case(
            f"kmeans-20-rounds-{kind}",
            "KMeans",
            generated.blobs(300_000, 32, 50, dtype, start=True),
            quality.INERTIA,
            limits.PRODUCTS,
            target=1.5,
            params=LLOYD | {"max_iter": 20, "tol": 0.0},
        ),
        Case(
            f"kmeans-own-start-{kind}",
            "KMeans",
            generated.blobs(300_000, 32, 50, dtype, start=False),
            quality.INERTIA_OWN_START,
            limits.PRODUCTS,
            target=1.5,
            params=LLOYD,
            seeded=True,
            rounds=3,
        ),
        Case(
            f"naive-bayes-{kind}",
            "GaussianNB",
            generated.classes(1_000_000, 50, 5, dtype),
            quality.ACCURACY,
            limits.READ,
            target=2.0,
        ),
        Case(
            f"pca-{kind}",
            "PCA",
            generated.factors(200_000, 200, 20, dtype),
            quality.VARIANCE,
            limits.GRAM,
            target=1.2,
            params={"n_components": 20},
        ),
        *least_squares(kind, dtype),
    ]


def least_squares(kind: str, dtype: type) -> list[Case]:
    data = generated.plane(1_000_000, 100, dtype)
    judged = {"quality": quality.SQUARES, "limit": limits.GRAM, "target": 2.0}
    return [
        Case(f"ridge-{kind}", "Ridge", data, **judged),
        Case(f"linear-regression-{kind}", "LinearRegression", data, **judged, rounds=3),
    ]
