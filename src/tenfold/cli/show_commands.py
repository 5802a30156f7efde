"""The commands `tenfold show`, `tenfold datasets` and `tenfold models`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tenfold.cli.console import CommandConsole, make_score_table, sanitize
from tenfold.cli.options import Debug, Json, Model, model_path, open_model

_MAX_COLUMNS = 40  # that are listed


def show(model: Model, json: Json = False, debug: Debug = False) -> None:
    """Print what a model is, its test scores, and the columns that it needs."""
    console = CommandConsole(json=json)
    description = open_model(model).describe()
    console.print_json(description)
    console.print(_headline(description), "", make_columns_table(description["columns"]), "")
    if scores := description["scores"].get("test"):
        console.print(f"On {description['scores']['test_rows']:,} test rows:", "")
        console.print(make_score_table(scores, description["scores"]["test_intervals"]), "")
    console.print(*_usage_lines(model))


def _headline(description: dict[str, Any]) -> str:
    goal = (
        "finds clusters" if description["target"] is None else f"predicts {description['target']!r}"
    )
    created = description["created"][:16].replace("T", " ")
    version = description["versions"].get("tenfold", "?")
    lines = [
        f"{description['title']} ({description['model']}) {goal}: {description['task']}.",
        f"Created {created} UTC by tenfold {version}.",
    ]
    if description["classes"] is not None:
        lines.append(f"Classes: {', '.join(map(str, description['classes']))}")
    return "\n".join(lines)


def make_columns_table(columns: dict[str, Any]) -> Any:
    """The columns that a model needs, with their kinds and examples."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("column", "type", "kind", "examples"):
        table.add_column(heading)
    for name, column in list(columns.items())[:_MAX_COLUMNS]:
        examples = ", ".join(sanitize(value)[:30] for value in column["examples"][:4])
        table.add_row(sanitize(name), column["type"], column["kind"], examples)
    if len(columns) > _MAX_COLUMNS:
        table.add_row(f"... and {len(columns) - _MAX_COLUMNS:,} more (--json shows all)")
    return table


def _usage_lines(model: str) -> list[str]:
    from shlex import quote

    path = quote(model)
    return [
        "Usage:",
        f"  tenfold predict {path} NEW.csv -o predictions.csv",
        f"  tenfold serve {path}",
        f"  tenfold.load({str(model_path(model))!r}).predict('NEW.csv')  # in Python",
    ]


_TASK_HEADINGS = {  # of each mixin of scikit-learn
    "ClassifierMixin": "Classification",
    "RegressorMixin": "Regression",
    "ClusterMixin": "Clustering",
    "DensityMixin": "Density estimation",
    "TransformerMixin": "Transformation",
}
_OTHER_HEADING = "Other"


def datasets(json: Json = False, debug: Debug = False) -> None:
    """List the data sets."""
    from rich.table import Table

    from tenfold.datasets.catalog import DATASETS, is_local

    console = CommandConsole(json=json)
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "rows", "columns", "target", "description", "where"):
        table.add_column(heading, justify="right" if heading in {"rows", "columns"} else "left")
    documents = []
    for name, entry in DATASETS.items():
        where = "local" if is_local(name) else "download"
        documents.append(dict(name=name, where=where, **entry._asdict()))
        sizes = f"{entry.rows:,}", str(entry.columns)
        table.add_row(name, *sizes, entry.target, entry.about, where)
    console.print(table)
    console.print_json({"datasets": [_drop_keys(each, "load", "files") for each in documents]})


def _drop_keys(entry: dict, *names: str) -> dict:
    return {name: value for name, value in entry.items() if name not in names}


def models(json: Json = False, debug: Debug = False) -> None:
    """List the models of tenfold, one line each."""
    from rich.table import Table

    console = CommandConsole(json=json)
    rows = list(public_models())
    console.print_json({"models": [dict(name=n, task=task, about=line) for task, n, line in rows]})
    table = Table(box=None, pad_edge=False, show_header=False)
    headings = [*_TASK_HEADINGS.values(), _OTHER_HEADING]
    for number, heading in enumerate(headings):
        lines = [(name, line) for task, name, line in rows if task == heading]
        if lines:
            table.add_row(*(["", ""] if number else []))
            table.add_row(heading, style="bold")
        for name, line in lines:
            table.add_row(f"  {name}", line)
    console.print(table)


def public_models() -> Iterator[tuple[str, str, str]]:
    """Task, name and first line of every public estimator."""
    import inspect

    import tenfold

    for name in tenfold.__all__:
        model = getattr(tenfold, name)
        if inspect.isclass(model) and hasattr(model, "fit"):
            kinds = {base.__name__ for base in model.__mro__}
            task = next(
                (_TASK_HEADINGS[kind] for kind in _TASK_HEADINGS if kind in kinds), _OTHER_HEADING
            )
            yield task, name, _first_line(inspect.getdoc(model) or "")


def _first_line(doc: str) -> str:
    """The first line without its formula."""
    line, formula, _ = doc.partition("\n")[0].partition(": :math:")
    return f"{line}." if formula else line
