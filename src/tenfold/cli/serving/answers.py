"""From the bytes of a request to predictions, or to a refusal that says what to change."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, NoReturn

from tenfold.cli.serving.schema import JSON_TYPES, About

KINDS = {"number": (int, float), "boolean": (bool,), "string": (str,), "null": (type(None),)}
LARGEST = 1e300  # beyond it a whole number of JSON is no float


class Refused(Exception):  # noqa: N818 - it is an answer
    """A request that cannot be answered, with the status that says why."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def answered(model: Any, about: About, body: bytes, most_rows: int) -> dict[str, Any]:
    """The predictions for the rows of a request."""
    rows = [checked_row(about, row, number) for number, row in enumerate(rows_of(body, most_rows))]
    try:
        return {"predictions": predictions(model, about, rows)}
    except ValueError as error:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error


def rows_of(body: bytes, most_rows: int) -> list[Any]:
    """The rows of a request: `{"rows": [{...}, ...]}` and nothing else."""
    try:
        document = json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Refused(HTTPStatus.BAD_REQUEST, f"the body is no JSON: {error}") from error
    rows = document.get("rows") if isinstance(document, dict) else None
    if not isinstance(rows, list) or set(document) != {"rows"}:
        raise Refused(HTTPStatus.BAD_REQUEST, 'send {"rows": [{"column": value, ...}, ...]}')
    if not rows:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "there are no rows")
    if len(rows) > most_rows:
        reason = f"{len(rows)} rows are too many: send at most {most_rows} at a time"
        raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason)
    return rows


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON; a missing value is null")


def checked_row(about: About, row: Any, number: int) -> dict[str, Any]:
    """The columns of a row that the model needs; refused if one lacks or is of another type."""
    if not isinstance(row, dict):
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, f"row {number} is no object of columns")
    cells = {}
    for name, column in about["columns"].items():
        if name not in row:
            reason = f"row {number} has no {name!r}; a missing value is null"
            raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, reason)
        try:
            cells[name] = _cell(row[name], column["type"])
        except ValueError as error:
            found = json.dumps(row[name])[:60]
            reason = f"row {number}: {name!r} must be {error}, found {found}"
            raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, reason) from None
    return cells


def _cell(value: Any, kind: str) -> Any:
    """A value of JSON as the table has it."""
    types = tuple(t for name in JSON_TYPES[kind] for t in KINDS[name])
    fits = bool in types if isinstance(value, bool) else isinstance(value, types)
    if not fits or (isinstance(value, int) and abs(value) > LARGEST):
        raise ValueError(" or ".join(JSON_TYPES[kind]))
    return _time(str(value)) if kind == "date" and value is not None else value


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("a date such as 2026-05-31 or 2026-05-31T12:00") from None
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time


def predictions(model: Any, about: About, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the model says of each row, in types of JSON."""
    if about["classes"] is not None:
        return [_named(about["classes"], share) for share in model.predict_proba(rows)]
    found = [{"prediction": value} for value in model.predict(rows).tolist()]
    if about["task"] == "clusters":
        return found
    ends = model.predict_interval(rows).tolist()
    return [one | {"interval": end} for one, end in zip(found, ends, strict=True)]


def _named(classes: list[Any], shares: Any) -> dict[str, Any]:
    probabilities = dict(zip(map(str, classes), shares.tolist(), strict=True))
    return {"prediction": classes[int(shares.argmax())], "probabilities": probabilities}
