"""The command `tenfold act`: train or plan an agent in a world, and show what it does."""

from __future__ import annotations

import json as json_format
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tenfold.cli.act_choices import AGENTS, PLANNERS, WORLDS, check_pair, make_agent, make_world
from tenfold.cli.console import CommandConsole
from tenfold.cli.learn_command import NoReport, Open, Seed, output_folder
from tenfold.cli.options import Debug, Json, Quiet

if TYPE_CHECKING:
    from tenfold.report.acting_page import TrainedAgent

_PARTS = 20  # of training, after each of which progress is shown
_FILM_STEPS = 500  # moves of the film, at most
_PROCESS_STEPS = 500  # after which a test episode of a process is cut


def complete_worlds(incomplete: str) -> list[str]:
    """Names of worlds with this prefix."""
    return [name for name in WORLDS if name.startswith(incomplete)]


def complete_agents(incomplete: str) -> list[str]:
    """Names of agents with this prefix."""
    return [name for name in AGENTS if name.startswith(incomplete)]


World = Annotated[
    str,
    typer.Argument(
        metavar="WORLD",
        help=f"{', '.join(WORLDS)}, or the name of an environment of Gymnasium.",
        autocompletion=complete_worlds,
    ),
]
AgentName = Annotated[
    str,
    typer.Option(
        "--agent",
        "-a",
        metavar="NAME",
        help=f"{', '.join(AGENTS)}.",
        autocompletion=complete_agents,
        show_default=True,
    ),
]
Episodes = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Episodes of training.  [depends on the agent]"),
]
TestEpisodes = Annotated[
    int, typer.Option(min=2, metavar="N", help="Episodes after training that give the mean return.")
]
Discount = Annotated[
    float | None,
    typer.Option(min=0.0, max=1.0, metavar="RATE", help="Discount of later rewards."),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FOLDER", help="Output folder.  [tenfold-WORLD]"),
]


def act(
    world: World,
    agent: AgentName = "q-learning",
    episodes: Episodes = None,
    test_episodes: TestEpisodes = 100,
    discount: Discount = None,
    seed: Seed = 0,
    output: Output = None,
    no_report: NoReport = False,
    open_report: Open = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Train an agent in a world, measure its return, and show its policy and a film.

    Writes agent.tenfold, which `tenfold.load` reads, metrics.json and report.html. Ctrl-C stops
    the training and goes on with what is learned; a second Ctrl-C ends the command.
    """
    console = CommandConsole(json=json, quiet=quiet)
    place = make_world(world, agent)
    settings = {"discount": discount, "random_state": seed, "n_episodes": episodes}
    learner = make_agent(agent, place, world, settings)
    check_pair(agent, place, world)
    folder = output or Path(f"tenfold-{re.sub(r'[^A-Za-z0-9.-]+', '-', world)}")
    with output_folder(folder):
        began = perf_counter()
        is_complete = train(console, learner, place, planned=agent in PLANNERS)
        seconds = perf_counter() - began
        console.log(f"Testing {test_episodes} episodes ...")
        trained = _test(learner, place, (world, agent), test_episodes, seed)
        trained = trained._replace(seconds=seconds, is_complete=is_complete)
        files = _write_files(console, trained, folder, report=not no_report)
    _print_result(console, trained, files)
    if open_report and "report" in files:
        typer.launch(files["report"].resolve().as_uri())


def train(console: CommandConsole, learner: Any, world: Any, *, planned: bool) -> bool:
    """Fit an agent with progress; False if Ctrl-C has ended the training early."""
    from tenfold.engine.interrupts import unwrap_interrupts

    try:
        with unwrap_interrupts():
            if planned:
                console.log("Planning ...")
                learner.fit(world)
            else:
                _train_parts(console, learner, world)
    except KeyboardInterrupt:
        done = int(getattr(learner, "n_episodes_", 0))
        if not (done or hasattr(learner, "policy_")):
            raise
        what = "the plan so far" if planned else f"what {done:,} episodes have taught"
        console.log(f"interrupted: going on with {what}", "yellow")
        return False
    return True


def _train_parts(console: CommandConsole, learner: Any, world: Any) -> None:
    """Fit in parts, which together are one fit to the bit; progress after each."""
    total, batch = learner.n_episodes, getattr(learner, "batch_episodes", 1)
    part = -(-total // (_PARTS * batch)) * batch
    with _show_progress(console, total) as show:
        done = 0
        while done < total:
            seen = len(learner.history_["return"]) if done else 0
            learner.partial_fit(world, min(part, total - done))
            done = int(learner.n_episodes_)
            show(done, float(learner.history_["return"][seen:].mean()))


@contextmanager
def _show_progress(console: CommandConsole, total: int) -> Iterator[Any]:
    """A bar on a terminal, lines elsewhere; yields what shows episodes and their mean return."""
    if console.quiet or not console.err.is_terminal:
        yield lambda done, mean: console.log(
            f"- episode {done:,} of {total:,}: mean return {mean:.4g}"
        )
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    text = TextColumn("{task.description}", markup=False)
    bar = Progress(
        text, BarColumn(bar_width=30), MofNCompleteColumn(), console=console.err, transient=True
    )
    with bar:
        task = bar.add_task("training", total=total)
        yield lambda done, mean: bar.update(
            task, completed=done, description=f"mean return {mean:.4g}"
        )


def _test(
    learner: Any, world: Any, names: tuple[str, str], episodes: int, seed: int
) -> TrainedAgent:
    """Returns of test episodes, and the first of them move by move."""
    from itertools import islice

    from tenfold.report.acting_page import TrainedAgent
    from tenfold.rl._random_numba import episode_seed
    from tenfold.rl.environment import as_environment
    from tenfold.rl.episodes import play
    from tenfold.rl.mdp import MDP

    limit = _PROCESS_STEPS if isinstance(world, MDP) else 10_000
    found = learner.evaluate(world, episodes, max_steps=limit, random_state=seed)
    moves = play(learner, as_environment(world, limit), int(episode_seed(seed, 0)), limit)
    return TrainedAgent(*names, world, learner, found, list(islice(moves, _FILM_STEPS)))


def _write_files(
    console: CommandConsole, trained: TrainedAgent, folder: Path, *, report: bool
) -> dict[str, Path]:
    """Paths of the agent, its figures and its page; a page of an earlier agent does not stay."""
    from tenfold.engine.atomic import write_atomic
    from tenfold.report.acting_page import write_acting

    files = {"agent": folder / "agent.tenfold", "metrics": folder / "metrics.json"}
    trained.agent.save(files["agent"])
    text = json_format.dumps(trained.metrics(), indent=2, allow_nan=False)
    write_atomic(files["metrics"], text + "\n")
    page = folder / "report.html"
    if not report:
        page.unlink(missing_ok=True)
        return files
    console.log("Writing the report ...")
    return files | {"report": write_acting(trained, page)}


def _print_result(console: CommandConsole, trained: TrainedAgent, files: dict[str, Path]) -> None:
    """Print the mean return with its interval and the files, or all as JSON."""
    paths = {name: str(path) for name, path in files.items()}
    console.print_json(trained.metrics() | {"files": paths})
    console.print(
        f"{trained.agent_name} in {trained.world_name}: {trained.describe_return()}.",
        "",
        *(f"{name:<7}  {path}" for name, path in files.items()),
    )
