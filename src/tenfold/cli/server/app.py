"""The HTTP application of `tenfold serve`: a form, a schema, and predictions of one model."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from functools import cache
from http import HTTPStatus
from typing import Any, NamedTuple

from anyio import CapacityLimiter, to_thread
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from tenfold.cli.server.local_server import TIMEOUT_SECONDS, LocalServer
from tenfold.cli.server.requests import (
    ModelDescription,
    RequestError,
    make_schema,
    predict_request,
    target_name,
)

_MAX_FIELDS = 60  # a wider table gets one text area for the whole row
_SHOWN_CELLS = 6  # of the example of a request
_MAX_DISCARDED_BYTES = 2**24  # of a body that is too large, so that the client reads the answer
_MAX_LENGTH_DIGITS = 15  # of a Content-Length without leading zeros
_PREDICTION_THREADS = 4  # requests that are predicted at the same time
_INPUT_TYPES = {"number": "number", "bool": "number", "date": "datetime-local", "text": "text"}
_ROUTES = {"/": "GET", "/schema": "GET", "/health": "GET", "/predict": "POST"}
_LOGGER = logging.getLogger(__name__)


class RequestLimits(NamedTuple):
    """Largest size of the body of a request, and its most rows."""

    bytes: int = 1_000_000
    rows: int = 1_000


class FormField(NamedTuple):
    """An input of the form."""

    name: str
    type: str
    example: str


def open_model_server(model: Any, port: int, limits: RequestLimits) -> LocalServer:
    """A server of one model; see `LocalServer`."""
    return LocalServer(make_app(model, limits), port)


def make_app(model: Any, limits: RequestLimits) -> Starlette:
    """The application of one model.

    Parameters
    ----------
    model : TableModel
        With `describe`, `predict`, and `predict_proba` or `predict_interval`.
    limits : RequestLimits
        Of each request.
    """
    handlers = _Handlers(model, limits)
    routes = [
        Route("/", handlers.form),
        Route("/schema", handlers.schema),
        Route("/health", handlers.health),
        Route("/predict", handlers.predict, methods=["POST"]),
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: _answer_http_error})


class _Handlers:
    """What each route answers."""

    def __init__(self, model: Any, limits: RequestLimits) -> None:
        self.model, self.limits = model, limits
        self.description: ModelDescription = model.describe()
        self.threads = CapacityLimiter(_PREDICTION_THREADS)

    async def form(self, _: Request) -> Response:
        """The form for people; its style and script carry a nonce, nothing else may be loaded."""
        nonce = secrets.token_urlsafe(16)
        policy = (
            f"default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; "
            "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        page = render_form(self.description, self.limits.rows, nonce)
        return HTMLResponse(page, headers={"Content-Security-Policy": policy})

    async def schema(self, _: Request) -> Response:
        """The JSON schemas of requests and answers."""
        return JSONResponse(make_schema(self.description, self.limits.rows))

    async def health(self, _: Request) -> Response:
        """That the server is running."""
        return JSONResponse({"status": "ok"})

    async def predict(self, request: Request) -> Response:
        """Predictions; a model that fails does not stop the server."""
        try:
            body = await _read_body(request, self.limits.bytes)
            arguments = (self.model, self.description, body, self.limits.rows)
            answer = await to_thread.run_sync(predict_request, *arguments, limiter=self.threads)
            return JSONResponse(answer)
        except RequestError as error:
            return _error_response(error.status, str(error))
        except ClientDisconnect:
            return _error_response(HTTPStatus.BAD_REQUEST, "the connection was closed")
        except Exception as error:  # noqa: BLE001 - a request must not end the server
            _LOGGER.error("%s: %s", type(error).__name__, error)  # noqa: TRY400 - one line
            return _error_response(HTTPStatus.INTERNAL_SERVER_ERROR, "the model failed")


async def _read_body(request: Request, most_bytes: int) -> bytes:
    """The body of a JSON request whose size is stated and within the limit."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        reason = "send JSON with the header Content-Type: application/json"
        raise RequestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, reason)
    length = request.headers.get("content-length", "")
    if not (length.isascii() and length.isdigit()):
        reason = "the header Content-Length is missing: state the size of the body"
        raise RequestError(HTTPStatus.LENGTH_REQUIRED, reason)
    significant = length.lstrip("0")
    is_too_large = len(significant) > _MAX_LENGTH_DIGITS or int(significant or 0) > most_bytes
    body, n_bytes = [], 0
    stream = aiter(request.stream())
    while n_bytes < _MAX_DISCARDED_BYTES and (part := await _next_part(stream)) is not None:
        n_bytes += len(part)
        is_too_large |= n_bytes > most_bytes
        if not is_too_large:
            body.append(part)
    if is_too_large:
        reason = f"the body has more than {most_bytes:,} bytes: send fewer rows at a time"
        raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason)
    return b"".join(body)


async def _next_part(stream: Any) -> bytes | None:
    """The next bytes of a body; None at its end."""
    try:
        return await asyncio.wait_for(anext(stream), TIMEOUT_SECONDS)
    except StopAsyncIteration:
        return None
    except TimeoutError:
        reason = f"no data arrived for {TIMEOUT_SECONDS:g} seconds"
        raise RequestError(HTTPStatus.REQUEST_TIMEOUT, reason) from None


def _error_response(status: int, reason: str) -> Response:
    closes = status in (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.REQUEST_TIMEOUT)
    headers = {"Connection": "close"} if closes else None
    return JSONResponse({"error": reason}, status, headers)


async def _answer_http_error(request: Request, error: Exception) -> Response:
    """JSON for a path or method that is not served."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for it
    method = _ROUTES.get(request.url.path)
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED and method is not None:
        reason = f"{request.url.path} takes {method} requests"
    else:
        routes = ", ".join(f"{method} {path}" for path, method in _ROUTES.items())
        reason = f"this path does not exist; there are {routes}"
    return JSONResponse({"error": reason}, error.status_code, error.headers)


# ---- the form


def render_form(description: ModelDescription, most_rows: int, nonce: str) -> str:
    """A page with an input per column; names and cells come from data and are escaped.

    Parameters
    ----------
    description : dict
        What `TableModel.describe` gives.
    most_rows : int
        Of a request.
    nonce : str
        Of the style and the script, for the content security policy.
    """
    examples = {name: _first_example(c) for name, c in description["columns"].items()}
    shown = dict(list(examples.items())[:_SHOWN_CELLS])
    fields = [
        FormField(name, _INPUT_TYPES[column["type"]], str(examples[name]))
        for name, column in description["columns"].items()
    ]
    return _form_environment().get_template("form.html.j2").render(
        target=target_name(description),
        title=description["title"],
        fields=fields if len(fields) <= _MAX_FIELDS else [],
        row=json.dumps(examples, indent=1, ensure_ascii=False),
        request=json.dumps({"rows": [shown]}, ensure_ascii=False),
        is_shortened=len(examples) > len(shown),
        most_rows=most_rows,
        nonce=nonce,
    )  # fmt: skip


@cache
def _form_environment() -> Environment:
    loader = PackageLoader("tenfold.cli.server")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    for name in ("form.css", "form.js"):
        source, _, _ = loader.get_source(environment, name)
        environment.globals[name.replace(".", "_")] = Markup(source)  # noqa: S704 - our own file
    return environment


def _first_example(column: dict[str, Any]) -> Any:
    return next(iter(column["examples"]), "")
