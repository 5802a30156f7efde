"""Checks of arguments and of what is learned; `_parameter_constraints` check parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

_LARGEST_SEED = 2**63 - 1  # of compiled code


def check_count(value: Any, name: str, least: int = 0) -> int:
    """A whole number that is large enough; an error that names it otherwise.

    Examples
    --------
    >>> check_count(3, "episodes")
    3
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name}={value!r}: expected a whole number, at least {least}")
    return int(value)


def check_seed(value: Any, name: str = "random_state") -> int:
    """A seed of compiled random numbers."""
    if not isinstance(value, int | np.integer) or not 0 <= value <= _LARGEST_SEED:
        raise ValueError(f"{name}={value!r}: expected a whole number from 0 to 2^63 - 1")
    return int(value)


def check_share(value: Any, name: str) -> float:
    """A number from 0 to 1, such as a discount."""
    if not isinstance(value, int | float | np.integer | np.floating) or not 0 <= value <= 1:
        raise ValueError(f"{name}={value!r}: expected a number from 0 to 1")
    return float(value)


def check_level(value: Any) -> float:
    """A confidence level."""
    if not isinstance(value, int | float | np.integer | np.floating) or not 0 < value < 1:
        raise ValueError(f"level={value!r}: expected a number between 0 and 1")
    return float(value)


def check_action(action: Any, n: int, what: str = "action") -> int:
    """An action of a world that has n of them; an error that names it if it is none."""
    value = action.item() if isinstance(action, np.ndarray) and action.ndim == 0 else action
    if not isinstance(value, int | np.integer) or not 0 <= value < n:
        raise ValueError(f"{what} {action!r}: there are 0 to {n - 1}")
    return int(value)


def assert_finite(weights: np.ndarray, when: str) -> None:
    """Raise an error if learning has run away."""
    if not np.isfinite(weights).all():
        raise ValueError(
            f"values are not finite after {when}: standardize observations and rewards, or lower "
            "learning_rate"
        )


def as_list(observations: Any) -> list[Any]:
    """Observations one by one; a single one, or a text, is no list of them."""
    is_one = isinstance(observations, str | bytes) or not hasattr(observations, "__iter__")
    if is_one or (isinstance(observations, np.ndarray) and not observations.ndim):
        raise ValueError(
            f"observations are {observations!r}: expected a list, such as [{observations!r}]"
        )
    return list(observations)
