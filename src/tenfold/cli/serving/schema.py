"""What a request and its answer look like, as JSON Schema, from a model's own description."""

from __future__ import annotations

from typing import Any

About = dict[str, Any]  # what `TableModel.describe` gives
DIALECT = "https://json-schema.org/draft/2020-12/schema"
JSON_TYPES = {
    "number": ["number", "null"],
    "bool": ["boolean", "number", "null"],
    "date": ["string", "null"],
    "text": ["string", "null"],
}


def schema(about: About, most_rows: int) -> dict[str, Any]:
    """The schemas of `POST /predict`: of its request, and of its answer."""
    return {"request": _request(about, most_rows), "answer": _answer(about)}


def _request(about: About, most_rows: int) -> dict[str, Any]:
    row = {
        "type": "object",
        "properties": {name: _cell(column) for name, column in about["columns"].items()},
        "required": list(about["columns"]),
    }
    rows = {"type": "array", "minItems": 1, "maxItems": most_rows, "items": row}
    return {
        "$schema": DIALECT,
        "title": f"Rows to predict {what(about)} of",
        "type": "object",
        "properties": {"rows": rows},
        "required": ["rows"],
        "additionalProperties": False,
    }


def _cell(column: dict[str, Any]) -> dict[str, Any]:
    cell = {"type": JSON_TYPES[column["type"]], "description": column["kind"]}
    if column["type"] == "date":
        cell["format"] = "date-time"
    return cell | {"examples": column["examples"]}


def _answer(about: About) -> dict[str, Any]:
    items = {"type": "object", "properties": _prediction(about), "required": ["prediction"]}
    return {
        "$schema": DIALECT,
        "title": f"Predictions of {what(about)}",
        "type": "object",
        "properties": {"predictions": {"type": "array", "items": items}},
        "required": ["predictions"],
    }


def _prediction(about: About) -> dict[str, Any]:
    number = {"type": "number"}
    if about["classes"] is not None:
        shares = {str(label): number for label in about["classes"]}
        probabilities = {"type": "object", "properties": shares}
        return {"prediction": {"enum": about["classes"]}, "probabilities": probabilities}
    if about["task"] == "clusters":
        return {"prediction": {"type": "integer"}}
    return {"prediction": number, "interval": {"type": "array", "prefixItems": [number, number]}}


def what(about: About) -> str:
    """What is predicted, in words."""
    return "the group" if about["target"] is None else str(about["target"])
