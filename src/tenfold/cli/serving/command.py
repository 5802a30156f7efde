"""The command `tenfold serve`."""

from __future__ import annotations

import errno
import signal
from typing import Annotated, Any

import typer

from tenfold.cli.options import Debug, Json, Model, Quiet, opened_model
from tenfold.cli.speaking import Voice


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
    from tenfold.cli.serving.server import Limits

    voice = Voice(json=json, quiet=quiet)
    server = _listening(opened_model(model), port, Limits(most_bytes, most_rows))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    voice.say(f"{server.address} answers: a page at /, types at /schema, POST /predict")
    voice.say("Ctrl-C ends it")
    voice.give({"address": server.address})
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        voice.say("ended")
    finally:
        server.server_close()


def _listening(model: Any, port: int, limits: Any) -> Any:
    from tenfold.cli.serving.server import Server

    try:
        return Server(model, port, limits)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            cure = "choose another with --port, or any free one with --port 0"
            raise ValueError(f"port {port} is taken: {cure}") from error
        raise
