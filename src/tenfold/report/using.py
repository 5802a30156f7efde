"""How to use the model, from Python, from the shell, as a service."""

from __future__ import annotations

import json
import re
from typing import Any

from tenfold.report.html import Html, joined, tag
from tenfold.study.result import Study

SHOWN = 4  # columns in the example of a request
WORDS = r"\b(?:import|from|for|in|as|with)\b|^(?:tenfold|curl)\b"
PIECES = re.compile(rf"(?P<c>#[^\n]*)|(?P<s>\"[^\"\n]*\"|'[^'\n]*')|(?P<k>{WORDS})", re.MULTILINE)


def using_section(study: Study) -> Html:
    """Three short programs."""
    parts = [("From Python", _python(study)), ("From the shell", _shell(study))]
    if study.task != "clusters":
        parts.append(("As a service on this machine", _service(study)))
    blocks = [
        tag(
            "div",
            tag("h4", title, tag("button", "Copy", type="button", class_="copy js-only")),
            tag("pre", tag("code", coloured(text))),
        )
        for title, text in parts
    ]
    return joined(
        tag(
            "p",
            "The model lies beside this page as ",
            tag("code", "model.tenfold"),
            ": arrays and plain settings. Loading it executes nothing. It takes tables like the "
            "one it learned from; columns are found by name, and what it has never seen is "
            "handled.",
            class_="say",
        ),
        tag("div", blocks, class_="uses"),
    )


def _python(study: Study) -> str:
    lines = [
        "import tenfold",
        "",
        'model = tenfold.load("model.tenfold")',
        'model.predict("new.csv")',
    ]
    if study.task == "regression":
        lines.append('model.predict_interval("new.csv", level=0.9)')
    elif study.task != "clusters":
        lines.append('model.predict_proba("new.csv")')
    return "\n".join(lines)


def _shell(study: Study) -> str:
    more = " --interval 0.9" if study.task == "regression" else " --probabilities"
    more = "" if study.task == "clusters" else more
    lines = [f"tenfold predict model.tenfold new.csv \\\n    -o out.csv{more}"]
    if study.task != "clusters":
        lines += [
            "tenfold evaluate model.tenfold newer.csv",
            "tenfold explain model.tenfold new.csv --row 1",
        ]
    return "\n".join([*lines, "tenfold show model.tenfold"])


def _service(study: Study) -> str:
    names = [name for name, kind in study.kinds.items() if name != study.target]
    used = [n for n in names if study.kinds[n].kind not in ("identifier", "constant")]
    row = json.dumps(
        {name: _example(study.kinds[name]) for name in used[:SHOWN]}, ensure_ascii=False
    )
    body = f"{row[:-1]}, ...}}" if len(used) > SHOWN else row
    quoted = body.replace("'", "'\\''")
    start = "tenfold serve model.tenfold --port 8000"
    return f"{start}\n\ncurl localhost:8000/predict -d '{{\"rows\": [\n  {quoted}\n]}}'"


def _example(kind: Any) -> Any:
    first = (kind.examples or [None])[0]
    if kind.kind == "number" and first is not None:
        try:
            return float(f"{float(first):.6g}")
        except ValueError:
            return str(first)
    return None if first is None else str(first)[:40]


def coloured(text: str) -> Html:
    """Keywords, strings and comments in their colours."""
    parts: list[Any] = []
    end = 0
    for piece in PIECES.finditer(text):
        parts += [text[end : piece.start()], tag("span", piece.group(), class_=piece.lastgroup)]
        end = piece.end()
    return joined(parts, text[end:])
