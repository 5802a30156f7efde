"""What the EM loop asks of a family of components.

In all arrays of components the rows of the data are columns, so that the entries of one component
are contiguous. `R` holds responsibilities, (n_components, n_rows).
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np

State = TypeVar("State")


class Components(Protocol):
    """Components with fixed parameters, as chunk functions use them."""

    @property
    def values_per_row(self) -> int:
        """Entries that are held in memory for each row; it decides the rows of a block."""
        ...

    def prepare(self, X: Any) -> Any:
        """Rows in the form that `log_joint` and `statistic` take."""
        ...

    def log_joint(self, view: Any) -> np.ndarray:
        """Log of weight times density of each component and row, (n_components, n_rows)."""
        ...

    def statistic(self, view: Any, R: np.ndarray) -> Any:
        """Sufficient statistic of rows with responsibilities R; statistics merge."""
        ...


class MixtureFamily(Protocol[State]):
    """How one kind of component learns; the state is what EM updates in each iteration."""

    def initial_state(self, centers: np.ndarray) -> State:
        """State before the first M-step; centers are (n_components, n_features)."""
        ...

    def components(self, state: State) -> Components:
        """Components with the parameters of the state."""
        ...

    def m_step(self, state: State, statistic: Any) -> State:
        """State of maximal expected complete-data likelihood (or posterior)."""
        ...

    def log_prior(self, state: State) -> float:
        """Log density of the prior, up to a constant; 0 for maximum likelihood."""
        ...
