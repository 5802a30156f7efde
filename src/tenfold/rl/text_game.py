"""A game of texts: rooms and wishes are described in words, commands are a verb and an object."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from tenfold.rl._arguments import check_action, check_count, check_seed
from tenfold.rl._random_numba import uniform
from tenfold.rl.environment import DiscreteSpace, Step, TextSpace
from tenfold.rl.mdp import MDP

_ROOMS = ("living room", "garden", "kitchen", "bedroom")
_VERBS = ("eat", "sleep", "watch", "exercise", "go")
_OBJECTS = ("apple", "bed", "tv", "bike", "north", "south", "east", "west")
# where "go" leads: room -> direction -> room
_WAYS = (
    {"south": 3, "west": 1},
    {"south": 2, "east": 0},
    {"north": 1, "east": 3},
    {"north": 0, "west": 2},
)
_DEEDS = (
    "watch tv",
    "exercise bike",
    "eat apple",
    "sleep bed",
)  # possible in the room of the number
_DESCRIPTIONS = (
    "A couch and a screen fill the living room.",
    "You stand where the family sits together in the evening.",
    "Soft chairs, a lamp, and a television on the wall.",
    "Behind the sofa somebody left the remote control.",
    "The garden smells of grass after the rain.",
    "You are outside, between flower beds and a path for riding.",
    "A swing hangs from the tree, a bicycle leans on it.",
    "Birds sing over the lawn.",
    "The kitchen has a stove and a basket of fruit.",
    "You are where meals are cooked.",
    "Plates, a sink, and something sweet on the table.",
    "The fridge hums in the corner.",
    "The bedroom is dark and quiet.",
    "You are where pillows and blankets wait.",
    "A wardrobe, a small desk, and a mattress.",
    "The curtains are drawn above the night table.",
)
_QUESTS = ("You are bored.", "You are getting fat.", "You are hungry.", "You are sleepy.")


class TextGame:
    """Four rooms and a wish, both told in words; the right command in the right room fulfills it.

    A command is a verb with an object. The one that meets the wish pays 1 and ends the episode, any
    other that is possible costs 0.01, an impossible one 0.1. The wish and the first room are drawn;
    each time a room is entered, one of its descriptions is drawn.

    Parameters
    ----------
    observe : {"text", "number"}
        What is seen: description and wish as one text, or the number of this pair.
    texts : list of str, optional
        Descriptions of living room, garden, kitchen and bedroom, the same number for each, then the
        four wishes (entertainment, exercise, food, sleep).
    max_steps : int
        After which an episode is truncated.

    Attributes
    ----------
    commands : list of str
        What the actions mean.
    texts : list of str
        All texts that can be seen.

    Examples
    --------
    >>> from tenfold.rl import TextGame
    >>> game = TextGame()
    >>> game.reset(seed=1)[0]
    'Plates, a sink, and something sweet on the table. You are hungry.'
    >>> game.step(game.commands.index("go north"))[1:]
    (-0.01, False, False, {})
    """

    def __init__(self, observe: str = "text", *, texts: Any = None, max_steps: int = 20) -> None:
        if observe not in {"text", "number"}:
            raise ValueError(f"observe={observe!r}: there are 'text' and 'number'")
        if isinstance(texts, str):
            raise TypeError("texts is one text: give a list, or TextGame.from_file(path)")
        lines = [*_DESCRIPTIONS, *_QUESTS] if texts is None else [str(text) for text in texts]
        if len(lines) < 8 or len(lines) % 4:
            raise ValueError(
                f"{len(lines)} texts: expected the same number for each of four rooms, "
                "and four wishes"
            )
        self.observe, self.max_steps = observe, check_count(max_steps, "max_steps", 1)
        self.descriptions, self.quests = lines[:-4], lines[-4:]
        self.per_room = len(self.descriptions) // 4
        self.commands = [f"{verb} {thing}" for verb in _VERBS for thing in _OBJECTS]
        self.texts = [f"{room} {quest}" for room in self.descriptions for quest in self.quests]
        self.action_space = DiscreteSpace(len(self.commands))
        longest = max(map(len, self.texts))
        is_text = observe == "text"
        self.observation_space: Any = (
            TextSpace(longest) if is_text else DiscreteSpace(len(self.texts))
        )
        self._seed, self._room, self._quest, self._draws, self._left = 0, -1, 0, 0, 0

    @classmethod
    def from_file(cls, path: str | Path, observe: str = "text", *, max_steps: int = 20) -> Self:
        """The game with the texts of a file, one a line: descriptions, then the four wishes.

        Parameters
        ----------
        path : path
        observe : {"text", "number"}
        max_steps : int
        """
        lines = [line.strip() for line in Path(path).read_text(encoding="utf-8").splitlines()]
        return cls(observe, texts=[line for line in lines if line], max_steps=max_steps)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        """Start an episode in a room, with a wish."""
        del options
        self._seed = self._seed + 1 if seed is None else check_seed(seed, "seed")
        self._draws, self._left = 0, self.max_steps
        self._quest, self._room = int(4 * self._draw()), int(4 * self._draw())
        return self._look(), {}

    def step(self, action: Any) -> Step:
        """Give a command."""
        if self._room < 0:
            raise RuntimeError("call reset() before step(), and after the end of an episode")
        verb, thing = self.commands[check_action(action, len(self.commands), "command")].split()
        self._left -= 1
        reward, done = -0.1, False
        if verb == "go" and thing in _WAYS[self._room]:
            self._room, reward = _WAYS[self._room][thing], -0.01
        elif f"{verb} {thing}" == _DEEDS[self._room]:
            done = self._room == self._quest
            reward = 1.0 if done else -0.01
        seen, cut = self._look(), not done and self._left <= 0
        if done or cut:
            self._room = -1
        return seen, reward, done, cut, {}

    def _draw(self) -> float:
        self._draws += 1
        return float(uniform(self._seed, self._draws))

    def _look(self) -> Any:
        """One of the descriptions of the room, and the wish."""
        text = self._room * self.per_room + int(self.per_room * self._draw())
        number = text * len(self.quests) + self._quest
        return self.texts[number] if self.observe == "text" else number

    def to_mdp(self) -> MDP:
        """The process behind the texts: room and wish. Its plan is the best that can be reached."""
        states = [(room, quest) for room in range(4) for quest in range(4)] + ["met"]

        def lead(state: Any, command: str) -> Any:
            room, quest = state
            verb, thing = command.split()
            if verb == "go":
                return _WAYS[room].get(thing, room), quest
            return "met" if command == _DEEDS[room] and room == quest else state

        def pay(state: Any, command: str, after: Any) -> float:
            is_possible = after != state or command == _DEEDS[state[0]]
            return 1.0 if after == "met" else -0.01 if is_possible else -0.1

        return MDP.from_functions(
            lead, actions=self.commands, states=states, reward=pay, terminal=lambda s: s == "met"
        )
