"""The commands `tenfold show`, `tenfold datasets` and `tenfold models`: what a model is, and what there is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tenfold.cli.console import CommandConsole, make_score_table, sanitize
from tenfold.cli.options import Debug, Json, Model, model_path, open_model

_MAX_COLUMNS = 40  # of a wide table only so many are shown


def show(model: Model, json: Json = False, debug: Debug = False) -> None:
    """Say what a model is, how good it was, and what columns it needs."""
    voice = CommandConsole(json=json)
    about = open_model(model).describe()
    voice.print_json(about)
    voice.print(_headline(about), "", make_columns_table(about["columns"]), "")
    if scores := about["scores"].get("test"):
        voice.print(f"On {about['scores']['test_rows']:,} rows that no model had seen:", "")
        voice.print(make_score_table(scores, about["scores"]["test_intervals"]), "")
    voice.print(*_usage_lines(model))


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


def make_columns_table(columns: dict[str, Any]) -> Any:
    """The columns that a model needs, with their kinds and examples."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("column", "type", "taken for", "examples"):
        table.add_column(heading)
    for name, column in list(columns.items())[:_MAX_COLUMNS]:
        examples = ", ".join(sanitize(value)[:30] for value in column["examples"][:4])
        table.add_row(sanitize(name), column["type"], column["kind"], examples)
    if len(columns) > _MAX_COLUMNS:
        table.add_row(f"... and {len(columns) - _MAX_COLUMNS:,} more (--json shows all)")
    return table


def _usage_lines(model: str) -> list[str]:
    from shlex import quote

    here = quote(model)
    return [
        "Use it:",
        f"  tenfold predict {here} NEW.csv -o predictions.csv",
        f"  tenfold serve {here}",
        f"  tenfold.load({str(model_path(model))!r}).predict('NEW.csv')  # in Python",
    ]


_TASK_HEADINGS = {  # the kind of a model, as scikit-learn's mixins tell it, and its heading
    "ClassifierMixin": "Classes",
    "RegressorMixin": "Numbers",
    "ClusterMixin": "Clusters",
    "DensityMixin": "Densities",
    "TransformerMixin": "New columns",
}
_OTHER_HEADING = "Others"


def datasets(json: Json = False, debug: Debug = False) -> None:
    """List the data sets that have a name."""
    from rich.table import Table

    from tenfold.datasets.catalog import DATASETS, is_local

    voice = CommandConsole(json=json)
    shown = Table(box=None, pad_edge=False)
    for heading in ("name", "rows", "columns", "target", "what it is", "where"):
        shown.add_column(heading, justify="right" if heading in {"rows", "columns"} else "left")
    found = []
    for name, known in DATASETS.items():
        where = "here" if is_local(name) else "is downloaded"
        found.append(dict(name=name, where=where, **known._asdict()))
        sizes = f"{known.rows:,}", str(known.columns)
        shown.add_row(name, *sizes, known.target, known.about, where)
    voice.print(shown)
    voice.print_json({"datasets": [_drop_keys(entry, "load", "files") for entry in found]})


def _drop_keys(entry: dict, *names: str) -> dict:
    return {name: value for name, value in entry.items() if name not in names}


def models(json: Json = False, debug: Debug = False) -> None:
    """List the models of tenfold, one line each."""
    from rich.table import Table

    voice = CommandConsole(json=json)
    found = list(public_models())
    voice.print_json({"models": [dict(name=n, task=task, about=line) for task, n, line in found]})
    shown = Table(box=None, pad_edge=False, show_header=False)
    headings = [*_TASK_HEADINGS.values(), _OTHER_HEADING]
    for number, heading in enumerate(headings):
        lines = [(name, line) for task, name, line in found if task == heading]
        if lines:
            shown.add_row(*(["", ""] if number else []))
            shown.add_row(heading, style="bold")
        for name, line in lines:
            shown.add_row(f"  {name}", line)
    voice.print(shown)


def public_models() -> Iterator[tuple[str, str, str]]:
    """Task, name and first line of every public estimator."""
    import inspect

    import tenfold

    for name in tenfold.__all__:
        found = getattr(tenfold, name)
        if inspect.isclass(found) and hasattr(found, "fit"):
            kinds = {base.__name__ for base in found.__mro__}
            task = next(
                (_TASK_HEADINGS[kind] for kind in _TASK_HEADINGS if kind in kinds), _OTHER_HEADING
            )
            yield task, name, _first_line(inspect.getdoc(found) or "")


def _first_line(doc: str) -> str:
    """The first line, without a formula: a terminal does not typeset."""
    line, formula, _ = doc.partition("\n")[0].partition(": :math:")
    return f"{line}." if formula else line
