"""The HTTP application of `tenfold serve`: routes, limits, headers, and the form."""

from __future__ import annotations

import json
import secrets
from functools import cache, cached_property
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any, NamedTuple

from tenfold.cli.server.requests import (
    ModelDescription,
    RequestError,
    make_schema,
    predict_request,
    target_name,
)

_MAX_FIELDS = 60  # a wider table gets one field for the whole row
_INPUT_TYPES = {"number": "number", "bool": "number", "date": "datetime-local", "text": "text"}


def render_form(about: ModelDescription, most_rows: int, nonce: str) -> str:
    """The page as HTML; names and cells come from data, and are escaped."""
    example = {name: _example(column) for name, column in about["columns"].items()}
    asked = json.dumps({"rows": [dict(list(example.items())[:6])]}, ensure_ascii=False)
    more = " (here some of the columns)" if len(example) > 6 else ""
    target = escape(target_name(about))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{target} · tenfold</title>
<style nonce="{nonce}">{_read_asset("page.css")}</style></head><body>
<h1>Predict {target}</h1>
<p>{escape(str(about["title"]))}. An empty field counts as missing.</p>
<form>{_fields(about, example)}<div class="wide"><button>Predict</button></div>
<output id="answer"></output></form>
<h2>From a program</h2>
<p><code>POST /predict</code> with at most {most_rows:,} rows{more}:</p>
<pre>{escape(asked)}</pre>
<p>The exact types are at <a href="/schema">/schema</a>.</p>
<script nonce="{nonce}">{_read_asset("page.js")}</script></body></html>
"""


@cache
def _read_asset(name: str) -> str:
    """A file that lies beside this one."""
    return resources.files("tenfold.cli.server").joinpath(name).read_text("utf-8")


def _fields(about: ModelDescription, example: dict[str, Any]) -> str:
    if len(example) > _MAX_FIELDS:
        text = json.dumps(example, indent=1, ensure_ascii=False)
        return f'<textarea rows="16" aria-label="row">{escape(text)}</textarea>'
    return "".join(_field(name, column) for name, column in about["columns"].items())


def _field(name: str, column: dict[str, Any]) -> str:
    kind = _INPUT_TYPES[column["type"]]
    step = ' step="any"' if kind == "number" else ""
    shown, hint = escape(name), escape(str(_example(column)))
    return f'<label>{shown}<input name="{shown}" type="{kind}"{step} placeholder="{hint}"></label>'


def _example(column: dict[str, Any]) -> Any:
    return next(iter(column["examples"]), "")


_HOST = "127.0.0.1"
_TIMEOUT_SECONDS = 10.0  # seconds that a sender may be silent
_MAX_DISCARDED_BYTES = 2**24  # bytes of a body that is too large


class RequestLimits(NamedTuple):
    """What one request may ask for."""

    bytes: int = 1_000_000
    rows: int = 1_000


class ModelServer(ThreadingHTTPServer):
    """One model behind a port of this machine."""

    daemon_threads = True

    def __init__(self, model: Any, port: int, limits: RequestLimits) -> None:
        self.model, self.about, self.limits = model, model.describe(), limits
        super().__init__((_HOST, port), RequestHandler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of those who hang up in the middle."""

    @property
    def address(self) -> str:
        """Where it is reached."""
        return f"http://{_HOST}:{self.server_port}"

    @cached_property
    def hosts(self) -> set[str]:
        """Names of this machine that a request may have been sent to."""
        names = (_HOST, "localhost")
        return {*names, *(f"{name}:{self.server_port}" for name in names)}

    @cached_property
    def schema(self) -> dict[str, Any]:
        """What requests and answers look like."""
        return make_schema(self.about, self.limits.rows)


class RequestHandler(BaseHTTPRequestHandler):
    """One request."""

    server: ModelServer  # pyright: ignore[reportIncompatibleVariableOverride]
    server_version, sys_version = "tenfold", ""
    timeout = _TIMEOUT_SECONDS

    def do_GET(self) -> None:
        """Answer the page, the schema, or that we are there."""
        self._answer({"/": self._page, "/schema": self._schema, "/health": self._health})

    def do_HEAD(self) -> None:
        """Answer as GET, without the body."""
        self.do_GET()

    def do_POST(self) -> None:
        """Answer with predictions."""
        self._answer({"/predict": self._predict})

    def _answer(self, known: dict[str, Any]) -> None:
        try:
            self._check_sender()
            path = self.path.partition("?")[0]
            if path not in known:
                raise self._nothing_at(path)
            known[path]()
        except RequestError as refusal:
            self._send_json(refusal.status, {"error": str(refusal)})
        except (TimeoutError, ConnectionError):
            self.close_connection = True
        except Exception as error:  # noqa: BLE001 - a request must not end the server
            self.log_error("%s: %s", type(error).__name__, error)
            self._send_json(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": "the model failed"})

    def _check_sender(self) -> None:
        hosts = self.server.hosts
        if self.headers.get("Host", "").lower() not in hosts:
            raise RequestError(HTTPStatus.FORBIDDEN, f"this server is {self.server.address} alone")
        origin = self.headers.get("Origin")
        if origin is not None and origin.lower().removeprefix("http://") not in hosts:
            raise RequestError(HTTPStatus.FORBIDDEN, "pages of other servers may not ask here")

    def _nothing_at(self, path: str) -> RequestError:
        ways = {"/": "GET", "/schema": "GET", "/health": "GET", "/predict": "POST"}
        if path in ways:
            return RequestError(HTTPStatus.METHOD_NOT_ALLOWED, f"{path} wants {ways[path]}")
        there = ", ".join(f"{way} {path}" for path, way in ways.items())
        return RequestError(HTTPStatus.NOT_FOUND, f"there is nothing here; there are {there}")

    def _page(self) -> None:
        nonce = secrets.token_urlsafe(16)
        policy = (
            f"default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; "
            "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        content = render_form(self.server.about, self.server.limits.rows, nonce).encode()
        self._send(HTTPStatus.OK, content, "text/html; charset=utf-8", policy)

    def _schema(self) -> None:
        self._send_json(HTTPStatus.OK, self.server.schema)

    def _health(self) -> None:
        self._send_json(HTTPStatus.OK, {"status": "ok"})

    def _predict(self) -> None:
        here, body = self.server, self._body()
        self._send_json(
            HTTPStatus.OK, predict_request(here.model, here.about, body, here.limits.rows)
        )

    def _body(self) -> bytes:
        if self.headers.get_content_type() != "application/json":
            reason = "send JSON with the header Content-Type: application/json"
            raise RequestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, reason)
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            raise RequestError(
                HTTPStatus.LENGTH_REQUIRED, "say the size of the body: Content-Length"
            )
        most = self.server.limits.bytes
        if int(length[:20]) > most:
            self._discard(int(length[:20]))
            reason = f"the body has more than {most:,} bytes: send fewer rows at a time"
            raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason)
        return self.rfile.read(int(length))

    def _discard(self, length: int) -> None:
        """Read on for a while: a sender that is cut off does not read the answer."""
        left = min(length, _MAX_DISCARDED_BYTES)
        while left > 0 and (part := self.rfile.read(min(left, 2**16))):
            left -= len(part)

    def _send_json(self, status: HTTPStatus, document: dict[str, Any]) -> None:
        content = json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
        self._send(status, content + b"\n", "application/json", "default-src 'none'")

    def _send(self, status: HTTPStatus, content: bytes, kind: str, policy: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - named by the library
        """Say nothing: talk is the command's."""
