"""What planners and learning agents share: parameters, files, actions, evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.base.estimator import Parametrized, fit_context
from tenfold.engine.hooks import record_value
from tenfold.engine.validation import format_names

if TYPE_CHECKING:
    from tenfold.rl.episodes import Evaluation


class Agent(Parametrized):
    """A policy that is planned or learned: `fit(world)`, `predict(states)`, `evaluate(world)`.

    Models of rows derive from `tenfold.base.Estimator`; this is the same for worlds. `__init__`
    only stores parameters, what is learned ends in an underscore, and `history_` tells how.
    """

    _parameter_constraints: dict[str, Any] = {}

    @property
    def takes_names(self) -> bool:
        """Whether actions, and states of tables, are names; `states_`, `actions_` list them."""
        return False

    def name_actions(self, numbers: np.ndarray) -> np.ndarray:
        """Actions by their names, if the agent has learned them from a table of moves."""
        return np.array(self.actions_)[numbers] if self.takes_names else numbers

    def assert_same_actions(self, n_actions: int) -> None:
        """Raise an error if actions that were learned from a table are not those of a world."""
        if self.takes_names and self.actions_ != list(range(n_actions)):
            raise ValueError(
                f"the agent learned the actions {format_names(self.actions_)} from a table of "
                f"moves, the world has the numbers 0 to {n_actions - 1}"
            )

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Parameters and learned attributes, which no type checker sees."""

    def act(self, observation: Any, memory: Any = None, rng: Any = None) -> tuple[Any, Any]:
        """The action for one observation, and what the agent remembers until the next one.

        Parameters
        ----------
        observation : number, array or str
            As the world gives it.
        memory : optional
            What `act` returned with the action before; None at the start of an episode.
        rng : Generator, optional
            For policies that draw their actions.
        """
        del rng
        return self.predict([observation])[0], memory

    def predict(self, observations: Any) -> np.ndarray:
        """The action for each observation."""
        raise NotImplementedError(f"{type(self).__name__} has to define predict")

    def evaluate(
        self,
        world: Any,
        episodes: int = 100,
        *,
        discount: float = 1.0,
        max_steps: int = 10_000,
        random_state: int = 0,
        level: float = 0.95,
    ) -> Evaluation:
        """Mean return over episodes, with a confidence interval.

        Episode i has the seed (random_state, i), so two agents meet the same luck.

        Parameters
        ----------
        world : MDP, environment or name for `gymnasium.make`
        episodes : int
        discount : float
            Of rewards in the return; 1 sums them up.
        max_steps : int
            At which an episode is cut.
        random_state : int
            Seed of the episodes.
        level : float
            Confidence level.

        Returns
        -------
        Evaluation
            With `mean`, `interval`, `returns` and `lengths`.
        """
        from tenfold.rl.episodes import evaluate

        check_is_fitted(self)
        return evaluate(
            self,
            world,
            episodes,
            discount=discount,
            max_steps=max_steps,
            random_state=random_state,
            level=level,
        )

    def save(self, path: str | Path) -> None:
        """Write the agent to one file that `tenfold.load` reads; loading executes no code.

        Parameters
        ----------
        path : path
            File to write; it is replaced only when the new one is complete.
        """
        from tenfold.persist.model_file import save

        save(self, path)

    @contextmanager
    def _work_context(self) -> Iterator[None]:
        """Context of a fit: parameters checked, one BLAS thread, progress bar and checkpoint."""
        self._validate_params()
        with fit_context(self):
            yield

    def _forget(self) -> None:
        """Remove what was learned before."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def draw_seed(self) -> int:
        """The seed of the episodes, from `random_state`."""
        draw = check_random_state(self.random_state).randint
        return int(record_value(lambda: int(draw(2**31 - 1))))


def state_numbers(states: Any, n_states: int) -> np.ndarray:
    """States as an array of numbers, checked."""
    array = np.asarray(states)
    if array.shape == (0,):
        return np.zeros(0, np.int64)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise ValueError(
            f"states has shape {array.shape} and holds {array.dtype}: expected a list of state "
            f"numbers from 0 to {n_states - 1}"
        )
    bad = (array < 0) | (array >= n_states)
    if bad.any():
        raise ValueError(
            f"state {array[bad][0]} does not exist: states are numbered from 0 to {n_states - 1}"
        )
    return array
