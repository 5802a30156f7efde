"""The report of a study as one self-contained HTML page, rendered from templates."""

from __future__ import annotations

import json
import os
import platform
import re
import warnings
from datetime import datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

import tenfold
from tenfold.automl.explainer import explain_study
from tenfold.automl.explanation import Explanation
from tenfold.automl.result import Study
from tenfold.engine.atomic import write_atomic
from tenfold.report import dataset, evaluation, feature_effects, leaderboard, model_cards, summary
from tenfold.report.format import format_count, format_value, metric_title

_PACKAGES = ("tenfold", "numpy", "scipy", "scikit-learn")
_LEFT_OUT = "This section is left out: it could not be drawn for these values ({})."
_EXAMPLE_COLUMNS = 4  # of the example of a request
_KEYWORDS = r"\b(?:import|from|for|in|as|with)\b|^(?:tenfold|curl)\b"
_STRINGS = r"\"[^\"\n]*\"|'[^'\n]*'"
_TOKENS = re.compile(rf"(?P<c>#[^\n]*)|(?P<s>{_STRINGS})|(?P<k>{_KEYWORDS})", re.MULTILINE)


class Section(NamedTuple):
    """A section of a page: its anchor, its title, and the template of its contents."""

    anchor: str
    title: str
    template: str


def write_report(
    study: Study, path: str | os.PathLike[str], *, explanation: Explanation | None = None
) -> Path:
    """Write the report of a study; the file is replaced only when the new one is complete.

    Parameters
    ----------
    study : Study
        What `tenfold.learn` returned.
    path : path
        Of the page, such as ``report.html``.
    explanation : Explanation, optional
        By default the model is explained on the study's test rows.

    Returns
    -------
    Path
        Path of the page.

    See Also
    --------
    render_report : The page as a string.
    """
    return write_page(path, render_report(study, explanation=explanation))


def write_page(path: str | os.PathLike[str], text: str) -> Path:
    """Write a page into a folder, which is made if it does not exist."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, text)
    return path


def render_report(study: Study, *, explanation: Explanation | None = None) -> str:
    """The report of a study as HTML.

    Parameters
    ----------
    study : Study
        What `tenfold.learn` returned.
    explanation : Explanation, optional
        By default the model is explained on the study's test rows.

    Returns
    -------
    str
        One page without references to other files.

    See Also
    --------
    write_report : Write the page to a file.
    """
    if explanation is None and study.test is not None:
        explanation = _explain(study)
    return render_page(
        "report.html.j2",
        study.target or "clusters",
        _report_sections(study, explanation),
        study=study,
        explanation=explanation,
        usage=usage_examples(study),
        provenance=_provenance(study),
        settings={name: _format_setting(value) for name, value in study.settings.items()},
        versions=_versions(),
    )


def _explain(study: Study) -> Explanation | None:
    """What the model depends on; None if that cannot be computed."""
    try:
        return explain_study(study)
    except Exception as error:  # noqa: BLE001 - a finished study gets its report
        _warn_left_out("the explanation of the model", error)
        return None


def _warn_left_out(what: str, error: Exception) -> None:
    reason = f"{type(error).__name__}: {error}"
    warnings.warn(f"the report leaves out {what}, which failed ({reason})", stacklevel=2)


def _report_sections(study: Study, explanation: Explanation | None) -> list[Section]:
    has_test, has_clusters = study.test is not None, study.clusters is not None
    has_curve = explanation is not None and explanation.curve is not None
    has_importance = explanation is not None and bool(explanation.importances)
    has_errors = explanation is not None and bool(explanation.mistakes)
    sections = [
        (bool(study.warnings), Section("warnings", "Warnings", "warnings")),
        (has_clusters, Section("clusters", "Clusters", "clusters")),
        (True, Section("data", "Data", "data")),
        (not has_clusters, Section("leaderboard", "Leaderboard", "leaderboard")),
        (has_test, Section("test", "Test scores", "test")),
        (has_curve, Section("learning-curve", "Learning curve", "learning_curve")),
        (has_importance, Section("importance", "Feature importance", "importance")),
        (has_errors, Section("errors", "Worst errors", "errors")),
        (True, Section("usage", "Usage", "usage")),
        (True, Section("models", "Models", "models")),
        (True, Section("provenance", "Provenance", "provenance")),
    ]
    return [section for is_shown, section in sections if is_shown]


def render_page(template: str, subject: str, sections: list[Section], **context: Any) -> str:
    """A page with contents, style and script; `context` is what its sections show.

    A section that fails is left out with a sentence, and so is the header.
    """
    shared = {
        "subject": subject,
        "sections": sections,
        "contents": {section.anchor: _render_section(section, context) for section in sections},
        "date": f"{datetime.now().astimezone():%-d %B %Y}",
    }
    try:
        return _environment().get_template(template).render(**shared, **context)
    except Exception as error:  # noqa: BLE001 - the sections are worth a page
        _warn_left_out("the header", error)
        return _environment().get_template("base.html.j2").render(**shared, **context)


def _render_section(section: Section, context: dict[str, Any]) -> Markup:
    name = f"section_{section.template}.html.j2"
    try:
        text = _environment().get_template(name).render(**context)
    except Exception as error:  # noqa: BLE001 - the other sections are worth a page
        _warn_left_out(f"the section {section.title!r}", error)
        text = f'<p class="summary">{_LEFT_OUT.format(escape(type(error).__name__))}</p>'
    return Markup(text)  # noqa: S704 - rendered with automatic escaping


@cache
def _environment() -> Environment:
    """Templates with automatic escaping; functions that make the data of figures are globals."""
    environment = Environment(
        loader=PackageLoader("tenfold.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "style": Markup(read_asset("page.css")),  # noqa: S704 - our own file
        "script": Markup(read_asset("page.js")),  # noqa: S704 - our own file
        "version": tenfold.__version__,
        "dataset": dataset,
        "evaluation": evaluation,
        "effects": feature_effects,
        "cards": model_cards,
        "leaderboard": leaderboard,
        "summary": summary,
    }
    environment.filters |= {
        "count": format_count,
        "value": format_value,
        "metric_title": metric_title,
        "tokens": split_tokens,
    }
    return environment


def read_asset(name: str) -> str:
    """A file beside the templates: a style sheet or a script."""
    return files("tenfold.report").joinpath("templates", name).read_text(encoding="utf-8")


# ---- usage


def usage_examples(study: Study) -> list[tuple[str, str]]:
    """Pairs of a title and a short program that uses the model."""
    examples = [("Python", _python_example(study)), ("Command line", _shell_example(study))]
    if study.task != "clusters":
        examples.append(("HTTP service on this machine", _service_example(study)))
    return examples


def _python_example(study: Study) -> str:
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


def _shell_example(study: Study) -> str:
    options = {"regression": " --interval 0.9", "clusters": ""}.get(study.task, " --probabilities")
    lines = [f"tenfold predict model.tenfold new.csv \\\n    -o out.csv{options}"]
    if study.task != "clusters":
        lines += [
            "tenfold evaluate model.tenfold newer.csv",
            "tenfold explain model.tenfold new.csv --row 1",
        ]
    return "\n".join([*lines, "tenfold show model.tenfold"])


def _service_example(study: Study) -> str:
    kinds = {name: kind for name, kind in study.kinds.items() if name != study.target}
    used = [n for n, kind in kinds.items() if kind.kind not in ("identifier", "constant")]
    cells = {name: _example_cell(kinds[name]) for name in used[:_EXAMPLE_COLUMNS]}
    row = json.dumps(cells, ensure_ascii=False)
    row = f"{row[:-1]}, ...}}" if len(used) > _EXAMPLE_COLUMNS else row
    quoted = row.replace("'", "'\\''")
    start = "tenfold serve model.tenfold --port 8000"
    header = "-H 'Content-Type: application/json'"
    return f"{start}\n\ncurl localhost:8000/predict {header} \\\n    -d '{{\"rows\": [{quoted}]}}'"


def _example_cell(kind: Any) -> Any:
    first = (kind.examples or [None])[0]
    if kind.kind == "number" and first is not None:
        try:
            return float(f"{float(first):.6g}")
        except ValueError:
            return str(first)
    return None if first is None else str(first)[:40]


def split_tokens(text: str) -> list[tuple[str, str]]:
    """Pairs of a class of the style sheet and text: keywords, strings, comments, all else.

    Examples
    --------
    >>> split_tokens("import tenfold  # once")
    [('k', 'import'), ('', ' tenfold  '), ('c', '# once')]
    """
    tokens, end = [], 0
    for match in _TOKENS.finditer(text):
        tokens += [("", text[end : match.start()]), (match.lastgroup or "", match.group())]
        end = match.end()
    return [(class_, piece) for class_, piece in [*tokens, ("", text[end:])] if piece]


# ---- provenance


def _provenance(study: Study) -> str:
    if study.test is None:
        used = f"{format_count(study.n_choosing)} of {format_count(study.n_rows)} rows were used."
        return f"{used} The same seed gives the same clusters."
    some = ""
    if study.n_choosing < study.n_train:
        some = f", on a sample of {format_count(study.n_choosing)} of them"
    return (
        f"{format_count(study.n_test)} rows were held out before anything was fitted and were "
        f"evaluated once, after the choice of the model. The model was chosen by {study.folds}-fold"
        f" cross-validation of the other {format_count(study.n_train)} rows{some}; preprocessing "
        "was fitted within each fold. The same data, settings and seed give the same result."
    )


def _format_setting(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}: {_format_setting(v)}" for k, v in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(_format_setting(v) for v in value) or "none"
    return "default" if value is None else format_value(value)


def _versions() -> dict[str, str]:
    versions = {"Python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "unknown"
    return versions
