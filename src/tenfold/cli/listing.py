"""`tenfold datasets` and `tenfold models`: what there is."""

from __future__ import annotations

from collections.abc import Iterator

from tenfold.cli.options import Debug, Json
from tenfold.cli.speaking import Voice

TASKS = {  # the kind of a model, as scikit-learn's mixins tell it, and its heading
    "ClassifierMixin": "Classes",
    "RegressorMixin": "Numbers",
    "ClusterMixin": "Clusters",
    "DensityMixin": "Densities",
    "TransformerMixin": "New columns",
}
OTHERS = "Others"


def datasets(json: Json = False, debug: Debug = False) -> None:
    """List the data sets that have a name."""
    from rich.table import Table

    from tenfold.cli.bundled import DATA_SETS, is_here

    voice = Voice(json=json)
    shown = Table(box=None, pad_edge=False)
    for heading in ("name", "rows", "columns", "target", "what it is", "where"):
        shown.add_column(heading, justify="right" if heading in {"rows", "columns"} else "left")
    found = []
    for name, known in DATA_SETS.items():
        where = "here" if is_here(name) else "is downloaded"
        found.append(dict(name=name, where=where, **known._asdict()))
        sizes = f"{known.rows:,}", str(known.columns)
        shown.add_row(name, *sizes, known.target, known.about, where)
    voice.show(shown)
    voice.give({"datasets": [_without(entry, "load", "files") for entry in found]})


def _without(entry: dict, *names: str) -> dict:
    return {name: value for name, value in entry.items() if name not in names}


def models(json: Json = False, debug: Debug = False) -> None:
    """List the models of tenfold, one line each."""
    from rich.table import Table

    voice = Voice(json=json)
    found = list(public_models())
    voice.give({"models": [dict(name=n, task=task, about=line) for task, n, line in found]})
    shown = Table(box=None, pad_edge=False, show_header=False)
    headings = [*TASKS.values(), OTHERS]
    for number, heading in enumerate(headings):
        lines = [(name, line) for task, name, line in found if task == heading]
        if lines:
            shown.add_row(*(["", ""] if number else []))
            shown.add_row(heading, style="bold")
        for name, line in lines:
            shown.add_row(f"  {name}", line)
    voice.show(shown)


def public_models() -> Iterator[tuple[str, str, str]]:
    """Task, name and first line of every public estimator."""
    import inspect

    import tenfold

    for name in tenfold.__all__:
        found = getattr(tenfold, name)
        if inspect.isclass(found) and hasattr(found, "fit"):
            kinds = {base.__name__ for base in found.__mro__}
            task = next((TASKS[kind] for kind in TASKS if kind in kinds), OTHERS)
            yield task, name, _first_line(inspect.getdoc(found) or "")


def _first_line(doc: str) -> str:
    """The first line, without a formula: a terminal does not typeset."""
    line, formula, _ = doc.partition("\n")[0].partition(": :math:")
    return f"{line}." if formula else line
