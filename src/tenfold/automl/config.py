"""Settings and callbacks of `tenfold.learn`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from tenfold.automl.target import validate_task

PREFERENCES = ("simple", "best")


class LearnCallbacks:
    """Callbacks of `tenfold.learn(watch=...)`, which takes any object with some of these methods.

    Calls are forwarded to that object; messages are also collected in `messages`.
    """

    def __init__(self, other: Any = None) -> None:
        self.other = other
        self.messages: list[str] = []

    def stage(self, text: str) -> None:
        """A stage of the study begins."""
        self._forward("stage", text)

    def message(self, text: str) -> None:
        """Something was inferred or decided."""
        self.messages.append(text)
        self._forward("message", text)

    def candidate_started(self, candidate: Any, number: int, of: int) -> None:
        """The evaluation of a candidate model begins."""
        self._forward("candidate_started", candidate, number, of)

    def fold_finished(self, candidate: Any, fold: int, score: float) -> None:
        """One fold of a candidate was evaluated."""
        self._forward("fold_finished", candidate, fold, score)

    def candidate_finished(self, attempt: Any) -> None:
        """A candidate was evaluated, or skipped."""
        self._forward("candidate_finished", attempt)

    def _forward(self, method: str, *args: Any) -> None:
        callback = getattr(self.other, method, None)
        if callback is not None:
            callback(*args)


class LearnConfig(NamedTuple):
    """The validated arguments of `tenfold.learn`."""

    target: str | None
    task: str | None
    kinds: dict[str, str]
    drop: tuple[str, ...]
    metric: str | None
    folds: int
    test_share: float
    minutes: float
    models: list[str] | None
    prefer: str
    yardstick: bool
    seed: int
    output: Path | None
    resume: bool

    @classmethod
    def of(cls, **given: Any) -> LearnConfig:
        """Validate the arguments."""
        _require(2 <= given["folds"] <= 100, f"folds={given['folds']} must be from 2 to 100")
        share = given["test_share"]
        _require(0 < share < 1, f"test_share={share} must be between 0 and 1, such as 0.2")
        _require(given["minutes"] > 0, f"minutes={given['minutes']} must be positive")
        _require(
            given["prefer"] in PREFERENCES,
            f"prefer={given['prefer']!r} must be 'simple' or 'best'",
        )
        seed = given["seed"]
        _require(0 <= seed < 2**32, f"seed={seed} must be from 0 to 4294967295")
        output = given["output"]
        _require(
            output is not None or not given["resume"],
            "resume needs the output folder of the interrupted study",
        )
        given["task"] = validate_task(given["task"], given["target"])
        given["kinds"] = dict(given["kinds"] or {})
        given["drop"] = (given["drop"],) if isinstance(given["drop"], str) else (*given["drop"],)
        given["output"] = None if output is None else Path(output)
        return cls(**given)

    @property
    def journal(self) -> Path | None:
        """Folder of finished folds."""
        return None if self.output is None else self.output / "journal"

    def settings(self) -> dict[str, Any]:
        """The arguments that a report shows."""
        excluded = ("output", "resume")
        return {name: value for name, value in self._asdict().items() if name not in excluded}

    def fold_settings(self) -> dict[str, Any]:
        """The arguments that must be the same to resume a study."""
        names = ("target", "task", "kinds", "drop", "metric", "folds", "test_share", "seed")
        return {name: getattr(self, name) for name in (*names, "prefer")}


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)
