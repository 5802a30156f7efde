"""The command `tenfold serve`."""

from __future__ import annotations

import errno
import signal
from typing import Annotated, Any

import typer

from tenfold.cli.console import CommandConsole
from tenfold.cli.options import Debug, Json, Model, Quiet, open_model


def serve(
    model: Model,
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="0: any free one.")
    ] = 8000,
    most_bytes: Annotated[
        int, typer.Option(min=1, metavar="N", help="Largest request.")
    ] = 1_000_000,
    most_rows: Annotated[
        int, typer.Option(min=1, metavar="N", help="Most rows in a request.")
    ] = 1_000,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Answer predictions over HTTP, on this machine alone."""
    from tenfold.cli.server.app import RequestLimits

    voice = CommandConsole(json=json, quiet=quiet)
    server = _open_server(open_model(model), port, RequestLimits(most_bytes, most_rows))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    voice.log(f"{server.address} answers: a page at /, types at /schema, POST /predict")
    voice.log("Ctrl-C ends it")
    voice.print_json({"address": server.address})
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        voice.log("ended")
    finally:
        server.server_close()


def _open_server(model: Any, port: int, limits: Any) -> Any:
    from tenfold.cli.server.app import ModelServer

    try:
        return ModelServer(model, port, limits)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            cure = "choose another with --port, or any free one with --port 0"
            raise ValueError(f"port {port} is taken: {cure}") from error
        raise
