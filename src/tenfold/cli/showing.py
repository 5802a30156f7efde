"""The command `tenfold show`: what a model is, how good it was, what it needs, how to use it."""

from __future__ import annotations

from typing import Any

from tenfold.cli.options import Debug, Json, Model, model_path, opened_model
from tenfold.cli.scores import score_table
from tenfold.cli.speaking import Voice, printable

MOST_COLUMNS = 40  # of a wide table only so many are shown


def show(model: Model, json: Json = False, debug: Debug = False) -> None:
    """Say what a model is, how good it was, and what columns it needs."""
    voice = Voice(json=json)
    about = opened_model(model).describe()
    voice.give(about)
    voice.show(_headline(about), "", columns_table(about["columns"]), "")
    if scores := about["scores"].get("test"):
        voice.show(f"On {about['scores']['test_rows']:,} rows that no model had seen:", "")
        voice.show(score_table(scores, about["scores"]["test_intervals"]), "")
    voice.show(*_how_to_use(model))


def _headline(about: dict[str, Any]) -> str:
    goal = "finds groups" if about["target"] is None else f"predicts {about['target']!r}"
    made = about["created"][:16].replace("T", " ")
    version = about["versions"].get("tenfold", "?")
    lines = [
        f"{about['title']} ({about['model']}) {goal}: {about['task']}.",
        f"Made {made} UTC by tenfold {version}.",
    ]
    if about["classes"] is not None:
        lines.append(f"Classes: {', '.join(map(str, about['classes']))}")
    return "\n".join(lines)


def columns_table(columns: dict[str, Any]) -> Any:
    """The columns that a model needs, with their kinds and examples."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("column", "type", "taken for", "examples"):
        table.add_column(heading)
    for name, column in list(columns.items())[:MOST_COLUMNS]:
        examples = ", ".join(printable(value)[:30] for value in column["examples"][:4])
        table.add_row(printable(name), column["type"], column["kind"], examples)
    if len(columns) > MOST_COLUMNS:
        table.add_row(f"... and {len(columns) - MOST_COLUMNS:,} more (--json shows all)")
    return table


def _how_to_use(model: str) -> list[str]:
    from shlex import quote

    here = quote(model)
    return [
        "Use it:",
        f"  tenfold predict {here} NEW.csv -o predictions.csv",
        f"  tenfold serve {here}",
        f"  tenfold.load({str(model_path(model))!r}).predict('NEW.csv')  # in Python",
    ]
