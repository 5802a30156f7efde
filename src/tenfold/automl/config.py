"""Settings and callbacks of `tenfold.learn`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from tenfold.automl.target import validate_task


class LearnCallbacks:
    """Says nothing; whoever wants to see a study at work has methods of these names.

    `tenfold.learn(watch=...)` takes any object with some of them.
    """

    def __init__(self, other: Any = None) -> None:
        self.other = other
        self.sentences: list[str] = []

    def stage(self, text: str) -> None:
        """A stage of the study begins."""
        self._tell("stage", text)

    def said(self, text: str) -> None:
        """Something was inferred or decided."""
        self.sentences.append(text)
        self._tell("said", text)

    def rung_begins(self, rung: Any, number: int, of: int) -> None:
        """A model is going to be judged."""
        self._tell("rung_begins", rung, number, of)

    def fold_done(self, rung: Any, fold: int, score: float) -> None:
        """One fold of it is done."""
        self._tell("fold_done", rung, fold, score)

    def rung_done(self, attempt: Any) -> None:
        """A model was judged, or skipped."""
        self._tell("rung_done", attempt)

    def _tell(self, method: str, *given: Any) -> None:
        told = getattr(self.other, method, None)
        if told is not None:
            told(*given)


class LearnConfig(NamedTuple):
    """The arguments of `tenfold.learn`, checked."""

    target: str | None
    task: str | None
    kinds: dict[str, str]
    drop: tuple[str, ...]
    metric: str | None
    folds: int
    test_share: float
    minutes: float
    models: list[str] | None
    seed: int
    output: Path | None
    resume: bool

    @classmethod
    def of(cls, **given: Any) -> LearnConfig:
        """Check the arguments."""
        _require(2 <= given["folds"] <= 100, f"folds={given['folds']} must be from 2 to 100")
        share = given["test_share"]
        _require(0 < share < 1, f"test_share={share} must lie between 0 and 1, such as 0.2")
        _require(given["minutes"] > 0, f"minutes={given['minutes']} must be positive")
        where = given["output"]
        _require(
            where is not None or not given["resume"],
            "resume needs the output folder of the study that goes on",
        )
        given["task"] = validate_task(given["task"], given["target"])
        given["kinds"] = dict(given["kinds"] or {})
        given["drop"] = (given["drop"],) if isinstance(given["drop"], str) else (*given["drop"],)
        given["output"] = None if where is None else Path(where)
        return cls(**given)

    @property
    def journal(self) -> Path | None:
        """Where finished folds are kept."""
        return None if self.output is None else self.output / "journal"

    def settings(self) -> dict[str, Any]:
        """What to remember in a report."""
        left_out = ("output", "resume")
        return {name: value for name, value in self._asdict().items() if name not in left_out}

    def what_folds_depend_on(self) -> dict[str, Any]:
        """What must be the same for a study to go on."""
        names = ("target", "task", "kinds", "drop", "metric", "folds", "test_share", "seed")
        return {name: getattr(self, name) for name in names}


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise ValueError(problem)
