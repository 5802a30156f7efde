"""What a model may offer beyond fit and predict: to the search, to cross-validation, to pipelines.

Class attributes with a default (`_samples_rows`, `_fits_from_moments`, ...) are declared on
`tenfold.base.Estimator`; methods that only some models have are declared here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np

    from tenfold.engine.rows import Rows


@runtime_checkable
class SupportsPath(Protocol):
    """A model that fits many parameter settings together."""

    def _fit_path(self, rows: Rows, settings: list[dict[str, Any]]) -> list[Any] | None:
        """Fitted models with these parameters; None if these rows have no shortcut."""
        ...


@runtime_checkable
class SupportsLeaveOneOut(Protocol):
    """A one-pass model whose leave-one-out predictions need no refits."""

    def _leave_one_out(self, statistic: Any) -> tuple[Any, ...] | None:
        """A chunk function and its state that predict each row without it, or None."""
        ...


@runtime_checkable
class SupportsFoldPredictions(Protocol):
    """A model that predicts the rows of all folds at once, each by the rows of other folds."""

    def _predict_folds(
        self, rows: Rows, fold: np.ndarray, settings: list[dict[str, Any]], wants: str
    ) -> list[np.ndarray] | None:
        """Predictions of all rows for each setting, in the form that a metric wants, or None."""
        ...


@runtime_checkable
class SupportsAffineMap(Protocol):
    """A transformer whose fitted `transform` is an affine map."""

    def _affine(self) -> tuple[np.ndarray, np.ndarray]:
        """Shift (n_features,) and matrix A (n_features, n_outputs) of the map (x - shift) A."""
        ...


@runtime_checkable
class SupportsSampling(Protocol):
    """A generative model that draws rows."""

    def _draw(self, *args: Any) -> np.ndarray:
        """Rows drawn from the fitted distribution."""
        ...


@runtime_checkable
class SupportsTreeScores(Protocol):
    """A model whose score is a sum over decision trees."""

    def _score_trees(self) -> Any:
        """The trees and what they are added to: `tenfold.tree.shap_values.TreeScore`."""
        ...
