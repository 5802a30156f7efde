"""The page of `tenfold serve`: a form with a field for each column, and the answer beside it."""

from __future__ import annotations

import json
from functools import cache
from html import escape
from importlib import resources
from typing import Any

from tenfold.cli.serving.schema import About, what

MOST_FIELDS = 60  # a wider table gets one field for the whole row
INPUTS = {"number": "number", "bool": "number", "date": "datetime-local", "text": "text"}


def page(about: About, most_rows: int, nonce: str) -> str:
    """The page as HTML; names and cells come from data, and are escaped."""
    example = {name: _example(column) for name, column in about["columns"].items()}
    asked = json.dumps({"rows": [dict(list(example.items())[:6])]}, ensure_ascii=False)
    more = " (here some of the columns)" if len(example) > 6 else ""
    target = escape(what(about))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{target} · tenfold</title>
<style nonce="{nonce}">{_part("page.css")}</style></head><body>
<h1>Predict {target}</h1>
<p>{escape(str(about["title"]))}. An empty field counts as missing.</p>
<form>{_fields(about, example)}<div class="wide"><button>Predict</button></div>
<output id="answer"></output></form>
<h2>From a program</h2>
<p><code>POST /predict</code> with at most {most_rows:,} rows{more}:</p>
<pre>{escape(asked)}</pre>
<p>The exact types are at <a href="/schema">/schema</a>.</p>
<script nonce="{nonce}">{_part("page.js")}</script></body></html>
"""


@cache
def _part(name: str) -> str:
    """A file that lies beside this one."""
    return resources.files("tenfold.cli.serving").joinpath(name).read_text("utf-8")


def _fields(about: About, example: dict[str, Any]) -> str:
    if len(example) > MOST_FIELDS:
        text = json.dumps(example, indent=1, ensure_ascii=False)
        return f'<textarea rows="16" aria-label="row">{escape(text)}</textarea>'
    return "".join(_field(name, column) for name, column in about["columns"].items())


def _field(name: str, column: dict[str, Any]) -> str:
    kind = INPUTS[column["type"]]
    step = ' step="any"' if kind == "number" else ""
    shown, hint = escape(name), escape(str(_example(column)))
    return f'<label>{shown}<input name="{shown}" type="{kind}"{step} placeholder="{hint}"></label>'


def _example(column: dict[str, Any]) -> Any:
    return next(iter(column["examples"]), "")
