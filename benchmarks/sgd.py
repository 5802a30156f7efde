"""Learning row by row: five epochs over a large table, at the same settings."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import generated, limits, quality
from benchmarks.case import Case, Data, Limit, Quality, rounds_of

DTYPES = {"f4": np.float32, "f8": np.float64}
EPOCHS = {"max_iter": 5, "tol": None}
AN_EPOCH = Limit("read X an epoch", (limits.read,), rounds_of)


def margins(model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Scores of two classes times their sign."""
    z = X @ np.ravel(model.coef_).astype(np.float64) + model.intercept_
    return np.where(y == model.classes_[1], z, -z)


def hinge(model: Any, data: Data) -> float:
    """Mean hinge loss and the penalty."""
    total = sum(np.maximum(0, 1 - margins(model, X, y)).sum() for X, y in quality.blocks(data))
    return float(total) / len(data.X) + 0.5 * model.alpha * float((model.coef_**2).sum())


def cross_entropy(model: Any, data: Data) -> float:
    """Mean log loss and the penalty."""
    total = sum(np.logaddexp(0, -margins(model, X, y)).sum() for X, y in quality.blocks(data))
    return float(total) / len(data.X) + 0.5 * model.alpha * float((model.coef_**2).sum())


# the order of the rows is drawn: means over seeds agree to a few per cent at best
HINGE = Quality("mean objective", hinge, 0.05)
CROSS_ENTROPY = Quality("mean objective", cross_entropy, 0.05)
ACCURACY = quality.ACCURACY._replace(name="mean accuracy", tolerance=0.01)


def cases() -> list[Case]:
    return [case for kind, dtype in DTYPES.items() for case in of_kind(kind, dtype)]


def of_kind(kind: str, dtype: type) -> list[Case]:
    shared = {"data": generated.classes(500_000, 100, 2, dtype), "limit": AN_EPOCH, "target": 1.5}
    shared |= {"seeded": True}
    log_loss = EPOCHS | {"loss": "log_loss"}
    return [
        Case(f"sgd-hinge-{kind}", "SGDClassifier", quality=HINGE, params=EPOCHS, **shared),
        Case(f"sgd-log-{kind}", "SGDClassifier", quality=CROSS_ENTROPY, params=log_loss, **shared),
        Case(f"perceptron-{kind}", "Perceptron", quality=ACCURACY, params=EPOCHS, **shared),
    ]
