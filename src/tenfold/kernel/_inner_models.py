"""Models that are fitted within kernel models, and leave warnings to them."""

from __future__ import annotations

from typing import Any

from tenfold.cluster.kmeans import KMeans
from tenfold.linear.logistic import LogisticRegression


class FeatureLogisticRegression(LogisticRegression):
    """Logistic regression on features of a kernel, whose owner warns in its own name."""

    convergence_warning: str | None = None  # the text, where it is not the usual one

    def _set_learned(self, learned: dict[str, Any]) -> None:
        self.convergence_warning = learned.get("warning_")
        super()._set_learned({**learned, "warning_": ""})

    def report(self) -> dict[str, Any]:
        """How the fit went, as learned attributes of the owner."""
        learned = {name: getattr(self, name) for name in ("n_iter_", "converged_", "history_")}
        text = self.convergence_warning
        return learned if text is None else learned | {"warning_": text}


class LandmarkMeans(KMeans):
    """Means as landmarks, which need not have converged."""

    def _set_learned(self, learned: dict[str, Any]) -> None:
        super()._set_learned({**learned, "warning_": ""})
