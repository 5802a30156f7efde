"""What `learn` was asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from tenfold.study.targets import checked_task


class Asked(NamedTuple):
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
    def of(cls, **given: Any) -> Asked:
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
        given["task"] = checked_task(given["task"], given["target"])
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
