"""The commands of `tenfold`, in the order of their help."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import tenfold
from tenfold.cli.evaluate_command import evaluate
from tenfold.cli.explain_command import explain
from tenfold.cli.learn_command import learn
from tenfold.cli.predict_command import predict
from tenfold.cli.server.command import serve
from tenfold.cli.show_commands import datasets, models, show

HELP = """From a table to a judged model, and a page that explains it.

\b
  tenfold learn                              a data set that comes with it
  tenfold learn houses.csv --target price    writes the folder tenfold-houses
  tenfold predict tenfold-houses new.csv     predictions, as CSV
  tenfold serve tenfold-houses               the same over HTTP
"""

app = typer.Typer(
    name="tenfold",
    help=HELP,
    invoke_without_command=True,
    rich_markup_mode=None,  # plain help: rich would take as long as the rest
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (learn, predict, evaluate, explain, show, serve, datasets, models):
    app.command()(command)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"tenfold {tenfold.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Say which tenfold."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(arguments: list[str] | None = None) -> Any:
    """Run one command; errors are raised, and an early end gives its exit code."""
    command = typer.main.get_command(app)
    return command.main(arguments, prog_name="tenfold", standalone_mode=False)
