"""The commands of `tenfold`, in the order of their help."""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Annotated, Any

import typer

import tenfold
from tenfold.cli.act_command import act
from tenfold.cli.evaluate_command import evaluate
from tenfold.cli.explain_command import explain
from tenfold.cli.learn_command import learn
from tenfold.cli.predict_command import predict
from tenfold.cli.server.command import serve
from tenfold.cli.show_commands import datasets, models, show

HELP = """Learn models from tables, and predict, evaluate, explain and serve them; train agents.

\b
  tenfold learn                              try it on an included data set
  tenfold learn houses.csv --target price    writes the folder tenfold-houses
  tenfold predict tenfold-houses new.csv     prints predictions as CSV
  tenfold serve tenfold-houses               serves predictions over HTTP
  tenfold act maze --agent q-learning        trains an agent, with a film
"""

app = typer.Typer(
    name="tenfold",
    help=HELP,
    invoke_without_command=True,
    rich_markup_mode=None,  # plain help: importing rich would double the start-up time
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (learn, predict, evaluate, explain, show, serve, act, datasets, models):
    app.command()(command)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"tenfold {tenfold.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _refuse_empty(arguments: list[str]) -> None:
    """Raise an error for an empty argument, such as an unset variable of a shell."""
    for before, argument in pairwise(["", *arguments]):
        option = before if before.startswith("-") else "an argument"
        if argument.startswith("--") and argument.endswith("="):
            option, argument = argument[:-1], ""
        if not argument:
            raise ValueError(
                f"{option} is empty (an unset variable?): give a value, or leave it out"
            )


def run(arguments: list[str] | None = None) -> Any:
    """Run one command; errors are raised, an early exit returns its code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    _refuse_empty(arguments)
    command = typer.main.get_command(app)
    return command.main(arguments, prog_name="tenfold", standalone_mode=False)
