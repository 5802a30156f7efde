"""The command `tenfold serve`."""

from __future__ import annotations

import errno
import signal
from contextlib import suppress
from typing import Annotated, Any

import typer

from tenfold.cli.console import CommandConsole
from tenfold.cli.options import Debug, Json, Model, Quiet, open_model


def serve(
    model: Model,
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Port; 0 for any free one.")
    ] = 8000,
    most_bytes: Annotated[
        int, typer.Option(min=1, metavar="N", help="Maximum size of a request in bytes.")
    ] = 1_000_000,
    most_rows: Annotated[
        int, typer.Option(min=1, metavar="N", help="Maximum number of rows in a request.")
    ] = 1_000,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Serve predictions over HTTP, on this machine only."""
    from tenfold.cli.server.app import RequestLimits

    console = CommandConsole(json=json, quiet=quiet)
    server = _open_server(open_model(model), port, RequestLimits(most_bytes, most_rows))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _stop_on_hangup(server)
    console.log(f"Serving at {server.address}: form at /, JSON schema at /schema, POST /predict")
    console.log("Press Ctrl-C to stop")
    console.print_json({"address": server.address})
    with suppress(KeyboardInterrupt):
        server.run()
    console.log("Stopped")


def _stop_on_hangup(server: Any) -> None:
    """Stop in order when the terminal is closed, unless it is ignored, as nohup does."""
    hangup = getattr(signal, "SIGHUP", None)  # not on Windows
    if hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN:
        signal.signal(hangup, lambda *_: server.stop())


def _open_server(model: Any, port: int, limits: Any) -> Any:
    from tenfold.cli.server.app import open_model_server

    try:
        return open_model_server(model, port, limits)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            cure = "choose another with --port, or any free one with --port 0"
            raise ValueError(f"port {port} is in use: {cure}") from error
        raise
