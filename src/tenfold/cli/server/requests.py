"""Prediction requests: their JSON schema, their validation, and the answer."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, NoReturn

ModelDescription = dict[str, Any]  # what `TableModel.describe` gives
_SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"
JSON_TYPES = {
    "number": ["number", "null"],
    "bool": ["boolean", "number", "null"],
    "date": ["string", "null"],
    "text": ["string", "null"],
}


def make_schema(about: ModelDescription, most_rows: int) -> dict[str, Any]:
    """The schemas of `POST /predict`: of its request, and of its answer."""
    return {"request": _request_schema(about, most_rows), "answer": _response_schema(about)}


def _request_schema(about: ModelDescription, most_rows: int) -> dict[str, Any]:
    row = {
        "type": "object",
        "properties": {name: _cell_schema(column) for name, column in about["columns"].items()},
        "required": list(about["columns"]),
    }
    rows = {"type": "array", "minItems": 1, "maxItems": most_rows, "items": row}
    return {
        "$schema": _SCHEMA_DIALECT,
        "title": f"Rows to predict {target_name(about)} of",
        "type": "object",
        "properties": {"rows": rows},
        "required": ["rows"],
        "additionalProperties": False,
    }


def _cell_schema(column: dict[str, Any]) -> dict[str, Any]:
    cell = {"type": JSON_TYPES[column["type"]], "description": column["kind"]}
    if column["type"] == "date":
        cell["format"] = "date-time"
    return cell | {"examples": column["examples"]}


def _response_schema(about: ModelDescription) -> dict[str, Any]:
    items = {"type": "object", "properties": _prediction_schema(about), "required": ["prediction"]}
    return {
        "$schema": _SCHEMA_DIALECT,
        "title": f"Predictions of {target_name(about)}",
        "type": "object",
        "properties": {"predictions": {"type": "array", "items": items}},
        "required": ["predictions"],
    }


def _prediction_schema(about: ModelDescription) -> dict[str, Any]:
    number = {"type": "number"}
    if about["classes"] is not None:
        shares = {str(label): number for label in about["classes"]}
        probabilities = {"type": "object", "properties": shares}
        return {"prediction": {"enum": about["classes"]}, "probabilities": probabilities}
    if about["task"] == "clusters":
        return {"prediction": {"type": "integer"}}
    return {"prediction": number, "interval": {"type": "array", "prefixItems": [number, number]}}


def target_name(about: ModelDescription) -> str:
    """What is predicted, in words."""
    return "the group" if about["target"] is None else str(about["target"])


_PYTHON_TYPES = {
    "number": (int, float),
    "boolean": (bool,),
    "string": (str,),
    "null": (type(None),),
}
_MAX_INTEGER = 1e300  # beyond it a whole number of JSON is no float


class RequestError(Exception):
    """A request that cannot be answered, with the status that says why."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def predict_request(
    model: Any, about: ModelDescription, body: bytes, most_rows: int
) -> dict[str, Any]:
    """The predictions for the rows of a request."""
    rows = [
        validate_row(about, row, number) for number, row in enumerate(parse_rows(body, most_rows))
    ]
    try:
        return {"predictions": predict_rows(model, about, rows)}
    except ValueError as error:
        raise RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error


def parse_rows(body: bytes, most_rows: int) -> list[Any]:
    """The rows of a request: `{"rows": [{...}, ...]}` and nothing else."""
    try:
        document = json.loads(body, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        raise RequestError(HTTPStatus.BAD_REQUEST, f"the body is no JSON: {error}") from error
    rows = document.get("rows") if isinstance(document, dict) else None
    if not isinstance(rows, list) or set(document) != {"rows"}:
        raise RequestError(HTTPStatus.BAD_REQUEST, 'send {"rows": [{"column": value, ...}, ...]}')
    if not rows:
        raise RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, "there are no rows")
    if len(rows) > most_rows:
        reason = f"{len(rows)} rows are too many: send at most {most_rows} at a time"
        raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason)
    return rows


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON; a missing value is null")


def validate_row(about: ModelDescription, row: Any, number: int) -> dict[str, Any]:
    """The columns of a row that the model needs; refused if one lacks or is of another type."""
    if not isinstance(row, dict):
        raise RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, f"row {number} is no object of columns")
    cells = {}
    for name, column in about["columns"].items():
        if name not in row:
            reason = f"row {number} has no {name!r}; a missing value is null"
            raise RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, reason)
        try:
            cells[name] = _validate_cell(row[name], column["type"])
        except ValueError as error:
            found = json.dumps(row[name])[:60]
            reason = f"row {number}: {name!r} must be {error}, found {found}"
            raise RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, reason) from None
    return cells


def _validate_cell(value: Any, kind: str) -> Any:
    """A value of JSON as the table has it."""
    types = tuple(t for name in JSON_TYPES[kind] for t in _PYTHON_TYPES[name])
    fits = bool in types if isinstance(value, bool) else isinstance(value, types)
    if not fits or (isinstance(value, int) and abs(value) > _MAX_INTEGER):
        raise ValueError(" or ".join(JSON_TYPES[kind]))
    return _parse_time(str(value)) if kind == "date" and value is not None else value


def _parse_time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("a date such as 2026-05-31 or 2026-05-31T12:00") from None
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time


def predict_rows(
    model: Any, about: ModelDescription, rows: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """What the model says of each row, in types of JSON."""
    if about["classes"] is not None:
        return [_class_prediction(about["classes"], share) for share in model.predict_proba(rows)]
    found = [{"prediction": value} for value in model.predict(rows).tolist()]
    if about["task"] == "clusters":
        return found
    ends = model.predict_interval(rows).tolist()
    return [one | {"interval": end} for one, end in zip(found, ends, strict=True)]


def _class_prediction(classes: list[Any], shares: Any) -> dict[str, Any]:
    probabilities = dict(zip(map(str, classes), shares.tolist(), strict=True))
    return {"prediction": classes[int(shares.argmax())], "probabilities": probabilities}
