"""Progress of a study: a bar for each model on a terminal, plain lines elsewhere."""

from __future__ import annotations

from typing import Any, Self

from tenfold.cli.console import CommandConsole, sanitize

_SHOWN_MODELS = 14  # bars on the screen at once


def make_progress(
    console: CommandConsole, folds: int, metric: str | None
) -> ProgressLines | ProgressBars:
    """Progress bars on a terminal, lines of text elsewhere."""
    if console.err.is_terminal and not console.quiet:
        return ProgressBars(console, folds, metric or "")
    return ProgressLines(console, metric or "")


def _format_mean(metric: str, score: float) -> str:
    from tenfold.report.format import format_aligned

    return format_aligned(metric, score)


class ProgressLines:
    """One line per model."""

    def __init__(self, console: CommandConsole, metric: str) -> None:
        self.console, self.metric = console, metric

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def message(self, text: str) -> None:
        self.console.log(text)

    def stage(self, text: str) -> None:
        self.console.log(f"{text} ...")

    def candidate_finished(self, attempt: Any) -> None:
        score = f"{_format_mean(self.metric, attempt.mean)} in {attempt.seconds:.1f} s"
        self.console.log(f"- {attempt.title}: {attempt.note or score}")


class ProgressBars:
    """A bar per model with its mean score so far; removed at the end."""

    def __init__(self, console: CommandConsole, folds: int, metric: str) -> None:
        from rich.console import Group
        from rich.live import Live
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

        self.console, self.folds, self.metric = console, folds, metric
        self.scores: list[float] = []
        self.bars: list[Any] = []
        title = TextColumn("{task.description}", markup=False)
        score = TextColumn("{task.fields[score]}", markup=False)
        self.models = Progress(title, BarColumn(bar_width=20), MofNCompleteColumn(), score)
        self.work = Progress(SpinnerColumn(), title)
        self.stages = self.work.add_task("", total=None)
        self.live = Live(Group(self.models, self.work), console=console.err, transient=True)

    def __enter__(self) -> Self:
        self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.live.stop()

    def message(self, text: str) -> None:
        self.console.log(text)

    def stage(self, text: str) -> None:
        self.work.update(self.stages, description=sanitize(text))

    def candidate_started(self, candidate: Any, number: int, of: int) -> None:
        self.scores = []
        title = f"{number + 1:>2}/{of} {sanitize(candidate.title)}"
        self.bars.append(self.models.add_task(title, total=self.folds, score=""))
        for old in self.bars[:-_SHOWN_MODELS]:
            self.models.update(old, visible=False)

    def fold_finished(self, candidate: Any, fold: int, score: float) -> None:
        self.scores.append(score)
        mean = _format_mean(self.metric, sum(self.scores) / len(self.scores))
        self.models.update(self.bars[-1], advance=1, score=mean)

    def candidate_finished(self, attempt: Any) -> None:
        score = f"{_format_mean(self.metric, attempt.mean)}  {attempt.seconds:.1f} s"
        self.models.update(self.bars[-1], score=sanitize(attempt.note or score))
