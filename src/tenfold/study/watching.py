"""Who looks on while a study runs."""

from __future__ import annotations

from typing import Any


class Watch:
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
