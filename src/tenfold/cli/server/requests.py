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


def make_schema(description: ModelDescription, most_rows: int) -> dict[str, Any]:
    """The schemas of `POST /predict`: of its request, and of its answer."""
    return {
        "request": _request_schema(description, most_rows),
        "answer": _response_schema(description),
    }


def _request_schema(description: ModelDescription, most_rows: int) -> dict[str, Any]:
    row = {
        "type": "object",
        "properties": {
            name: _cell_schema(column) for name, column in description["columns"].items()
        },
        "required": list(description["columns"]),
    }
    rows = {"type": "array", "minItems": 1, "maxItems": most_rows, "items": row}
    return {
        "$schema": _SCHEMA_DIALECT,
        "title": f"Rows to predict {target_name(description)} of",
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


def _response_schema(description: ModelDescription) -> dict[str, Any]:
    items = {
        "type": "object",
        "properties": _prediction_schema(description),
        "required": ["prediction"],
    }
    return {
        "$schema": _SCHEMA_DIALECT,
        "title": f"Predictions of {target_name(description)}",
        "type": "object",
        "properties": {"predictions": {"type": "array", "items": items}},
        "required": ["predictions"],
    }


def _prediction_schema(description: ModelDescription) -> dict[str, Any]:
    number = {"type": "number"}
    if description["classes"] is not None:
        shares = {str(label): number for label in description["classes"]}
        probabilities = {"type": "object", "properties": shares}
        return {"prediction": {"enum": description["classes"]}, "probabilities": probabilities}
    if description["task"] == "clusters":
        return {"prediction": {"type": "integer"}}
    return {"prediction": number, "interval": {"type": "array", "prefixItems": [number, number]}}


def target_name(description: ModelDescription) -> str:
    """What is predicted."""
    return "the cluster" if description["target"] is None else str(description["target"])


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
    model: Any, description: ModelDescription, body: bytes, most_rows: int
) -> dict[str, Any]:
    """The predictions for the rows of a request."""
    rows = [
        validate_row(description, row, number)
        for number, row in enumerate(parse_rows(body, most_rows))
    ]
    try:
        return {"predictions": predict_rows(model, description, rows)}
    except ValueError as error:
        raise RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error


def parse_rows(body: bytes, most_rows: int) -> list[Any]:
    """The rows of a request: `{"rows": [{...}, ...]}` and nothing else."""
    try:
        document = json.loads(body, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        raise RequestError(
            HTTPStatus.BAD_REQUEST, f"the body is not valid JSON: {error}"
        ) from error
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
    raise ValueError(f"{name} is not valid JSON; use null for missing values")


def validate_row(description: ModelDescription, row: Any, number: int) -> dict[str, Any]:
    """The columns that the model needs; an error if one is missing or has the wrong type."""
    if not isinstance(row, dict):
        raise RequestError(
            HTTPStatus.UNPROCESSABLE_ENTITY, f"row {number} is not an object of columns"
        )
    cells = {}
    for name, column in description["columns"].items():
        if name not in row:
            reason = f"row {number} has no column {name!r}; use null for missing values"
            raise RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, reason)
        try:
            cells[name] = _validate_cell(row[name], column["type"])
        except ValueError as error:
            value = json.dumps(row[name])[:60]
            reason = f"row {number}: {name!r} must be {error}, found {value}"
            raise RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, reason) from None
    return cells


def _validate_cell(value: Any, kind: str) -> Any:
    """A JSON value in the type of its column."""
    types = tuple(t for name in JSON_TYPES[kind] for t in _PYTHON_TYPES[name])
    is_valid = bool in types if isinstance(value, bool) else isinstance(value, types)
    if not is_valid or (isinstance(value, int) and abs(value) > _MAX_INTEGER):
        raise ValueError(" or ".join(JSON_TYPES[kind]))
    return _parse_time(str(value)) if kind == "date" and value is not None else value


def _parse_time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("a date such as 2026-05-31 or 2026-05-31T12:00") from None
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time


def predict_rows(
    model: Any, description: ModelDescription, rows: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The prediction for each row, in JSON types."""
    if description["classes"] is not None:
        return [
            _class_prediction(description["classes"], share) for share in model.predict_proba(rows)
        ]
    predictions = [{"prediction": value} for value in model.predict(rows).tolist()]
    if description["task"] == "clusters":
        return predictions
    intervals = model.predict_interval(rows).tolist()
    pairs = zip(predictions, intervals, strict=True)
    return [prediction | {"interval": interval} for prediction, interval in pairs]


def _class_prediction(classes: list[Any], shares: Any) -> dict[str, Any]:
    probabilities = dict(zip(map(str, classes), shares.tolist(), strict=True))
    return {"prediction": classes[int(shares.argmax())], "probabilities": probabilities}
