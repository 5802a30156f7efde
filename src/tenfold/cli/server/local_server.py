"""An ASGI application on 127.0.0.1, protected against other machines and other web pages.

Other machines cannot connect. Web pages of other servers can make a browser send requests to
127.0.0.1; these are refused: the Host header must name this machine (a foreign name that resolves
to 127.0.0.1 does not), and the Origin header, if there is one, must be this server.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import h11
import uvicorn
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

HOST = "127.0.0.1"
TIMEOUT_SECONDS = 10.0  # that a client may need for the head of a request, or between its parts
_SHUTDOWN_SECONDS = 5  # that running requests get when the server stops
_MAX_CONNECTIONS = 256  # more are answered with 503
_BACKLOG = 1024  # connections that wait to be accepted; http.server's 5 lost some under load
_DEFAULT_POLICY = "default-src 'none'"


class LocalServer:
    """A server on 127.0.0.1.

    Parameters
    ----------
    app : ASGI application
        What it serves.
    port : int
        Port to bind; 0 for any free one.

    Attributes
    ----------
    port : int
        The port that was bound.
    address : str
        URL of the server.

    Raises
    ------
    OSError
        If the port is in use.
    """

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind((HOST, port))
            self._socket.listen(_BACKLOG)
        except OSError:
            self._socket.close()
            raise
        self.port: int = self._socket.getsockname()[1]
        self.address = f"http://{HOST}:{self.port}"
        config = uvicorn.Config(
            LocalOnly(app, self.port),
            http=_TimedProtocol,
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            headers=[("Server", "tenfold")],
            backlog=_BACKLOG,
            limit_concurrency=_MAX_CONNECTIONS,
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )
        self._server = uvicorn.Server(config)

    def run(self) -> None:
        """Answer requests until `stop` is called, or SIGINT or SIGTERM arrives."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def stop(self) -> None:
        """Let `run` return once running requests are answered; may be called by any thread."""
        self._server.should_exit = True


class _TimedProtocol(H11Protocol):
    """Closes connections whose head of a request does not arrive in time."""

    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._update_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._update_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_timer()
        super().connection_lost(exc)

    def _update_timer(self) -> None:
        """Run while the head is incomplete; bytes that arrive do not extend it."""
        if self.conn.their_state is not h11.IDLE:
            self._cancel_timer()
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(TIMEOUT_SECONDS, self.transport.close)

    def _cancel_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


class LocalOnly:
    """Middleware that refuses requests of other origins and adds security headers.

    Parameters
    ----------
    app : ASGI application
        What it protects.
    port : int
        Port of the server.
    """

    def __init__(self, app: ASGIApp, port: int) -> None:
        self.app = app
        self.address = f"http://{HOST}:{port}"
        self.hosts = {name for host in (HOST, "localhost") for name in (host, f"{host}:{port}")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        problem = self._find_problem(Headers(scope=scope))
        if problem is not None:
            response = JSONResponse({"error": problem}, 403)
            await response(scope, receive, _with_security_headers(send))
            return
        await self.app(scope, receive, _with_security_headers(send))

    def _find_problem(self, headers: Headers) -> str | None:
        if headers.get("host", "").lower() not in self.hosts:
            return f"this server is {self.address}: use that address"
        origin = headers.get("origin")
        if origin is not None and origin.lower().removeprefix("http://") not in self.hosts:
            return "requests from pages of other servers are refused"
        return None


def _with_security_headers(send: Send) -> Callable[[Message], Any]:
    """Send responses that are neither cached nor sniffed, and load nothing unless they say so."""

    async def send_protected(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.setdefault("Content-Security-Policy", _DEFAULT_POLICY)
            headers.setdefault("X-Content-Type-Options", "nosniff")
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return send_protected
