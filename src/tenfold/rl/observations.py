"""Observations of a world as vectors of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from tenfold.rl._arguments import as_list

_MAX_INDICATOR_BYTES = 2**30  # of the vectors of a table of moves


class ObservationEncoder(NamedTuple):
    """Turns one observation into a vector.

    Attributes
    ----------
    kind : {"indicator", "numbers", "model", "function"}
    size : int
        Numbers of the vector.
    model : transformer, callable or None
    """

    kind: str
    size: int
    model: Any = None

    @classmethod
    def make(cls, features: Any, env: Any) -> ObservationEncoder:
        """The encoder of the observations of a world."""
        space = env.observation_space
        if features is None:
            if getattr(space, "n", None) is not None and not getattr(space, "shape", ()):
                return cls("indicator", int(space.n))
            if getattr(space, "shape", None):
                return cls("numbers", int(np.prod(space.shape)))
            raise ValueError(
                f"the observations of this world are {space}: give `features`, a function of one "
                'observation, or WordCounts("presence") for texts'
            )
        if hasattr(features, "transform"):
            model = _fit_to_texts(features, env)
            seen = env.reset(seed=0)[0]
            return cls("model", _row(model.transform([seen])).size, model)
        if not callable(features):
            raise TypeError(f"features={features!r}: give a transformer or a function")
        first: Any = features(env.reset(seed=0)[0])
        return cls("function", np.asarray(first).size, features)

    @classmethod
    def make_for_log(cls, features: Any, seen: np.ndarray) -> ObservationEncoder:
        """The encoder of observations of a table: of one column, or rows of several."""
        if features is None:
            if seen.ndim > 1:
                return cls("numbers", seen.shape[1])
            if seen.dtype.kind in "iufb" and (seen >= 0).all() and (seen == np.floor(seen)).all():
                return cls("indicator", int(seen.max()) + 1)
            cure = (
                'give `features`, such as WordCounts("presence") for texts'
                if seen.dtype == object
                else "name the columns state_0 and next_state_0 if they are measurements"
            )
            raise ValueError(
                f"column 'state' holds {seen.tolist()[0]!r}, no number of a state: {cure}"
            )
        if hasattr(features, "transform"):
            model: Any = features if _is_fitted(features) else clone(features)
            if model is not features:
                model.fit(_different(seen))
            return cls("model", _row(model.transform(seen[:1])).size, model)
        if not callable(features):
            raise TypeError(f"features={features!r}: give a transformer or a function")
        return cls("function", np.asarray(features(seen[0])).size, features)

    def assert_small(self, n: int, dtype: Any) -> None:
        """Raise an error if vectors of n observations would take more than a gigabyte or so."""
        needed = n * self.size * np.dtype(dtype).itemsize
        if self.kind == "indicator" and needed > _MAX_INDICATOR_BYTES:
            raise ValueError(
                f"an indicator for each of {self.size:,} states would take {needed / 1e9:.1f} GB: "
                "take QLearning, which has a table, or give `features`"
            )

    def encode(self, observations: Any, dtype: Any) -> np.ndarray:
        """The vectors of some observations as rows."""
        rows = [self(seen) for seen in as_list(observations)]
        return np.array(rows, dtype=dtype).reshape(len(rows), self.size)

    def __call__(self, observation: Any) -> np.ndarray:
        """The vector of an observation."""
        if self.kind == "indicator":
            x = np.zeros(self.size)
            x[as_state_number(observation, self.size)] = 1.0
            return x
        if self.kind == "model":
            return _row(self.model.transform([observation]))
        value = self.model(observation) if isinstance(self.model, Callable) else observation
        x = np.asarray(value, dtype=np.float64).reshape(-1)
        if len(x) != self.size or not np.isfinite(x).all():
            raise ValueError(
                f"observation {observation!r}: expected {self.size} finite numbers, as the world "
                "gives them"
            )
        return x


def as_state_number(observation: Any, n_states: int) -> int:
    """An observation that is the number of a state; an error that names it if it is none."""
    value = np.asarray(observation)
    number = value.reshape(-1)[0] if value.size == 1 and value.dtype.kind in "iufb" else -1
    if not (0 <= number < n_states and number == int(number)):
        raise ValueError(
            f"observation {observation!r}: states are whole numbers from 0 to {n_states - 1}"
        )
    return int(number)


def number_observations(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Different observations, and which of them each one is; rows of numbers stay as they are."""
    if observations.ndim > 1:
        return observations, np.arange(len(observations))
    return np.unique(observations, return_inverse=True)


def _different(seen: np.ndarray) -> Any:
    different = number_observations(seen)[0]
    return different.tolist() if seen.ndim == 1 else different


def _is_fitted(features: Any) -> bool:
    try:
        check_is_fitted(features)
    except NotFittedError:
        return False
    return True


def _fit_to_texts(features: Any, env: Any) -> Any:
    """The transformer, fitted to the texts of the world if it is not yet."""
    if _is_fitted(features):
        return features
    texts = getattr(env, "texts", None)
    if texts is None:
        raise ValueError(
            f"{type(features).__name__} is not fitted, and the world has no `texts` to fit it "
            "to: fit it first"
        )
    new: Any = clone(features)
    return new.fit(texts)


def _row(matrix: Any) -> np.ndarray:
    dense = matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)
    return dense.reshape(-1).astype(np.float64)
