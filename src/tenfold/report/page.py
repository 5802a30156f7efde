"""The whole page: one file, no request to anywhere."""

from __future__ import annotations

import os
from pathlib import Path

from tenfold.report.data import data_section
from tenfold.report.findings import findings_list
from tenfold.report.frame import Part, framed
from tenfold.report.groups import groups_section
from tenfold.report.made import made_section
from tenfold.report.mattering import mattering_section
from tenfold.report.mistakes import mistakes_section
from tenfold.report.more_rows import more_rows_section
from tenfold.report.telling import telling_section
from tenfold.report.tried import tried_section
from tenfold.report.using import using_section
from tenfold.report.verdict import hero
from tenfold.report.wrong_and_right import judged_section
from tenfold.study.explaining import Explanation, explain_study
from tenfold.study.result import Study
from tenfold.study.whole_files import write_text


def write(
    study: Study, path: str | os.PathLike[str], *, explanation: Explanation | None = None
) -> Path:
    """Write the page of a study; it appears complete or not at all.

    Parameters
    ----------
    study : Study
        What `tenfold.learn` returned.
    path : path
        Of the page, such as ``report.html``.
    explanation : Explanation, optional
        If it is there already; otherwise the model is explained on the study's test rows.

    Returns
    -------
    Path
        Where the page lies.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, page(study, explanation=explanation))
    return path


def page(study: Study, *, explanation: Explanation | None = None) -> str:
    """The page of a study as one string of HTML.

    Parameters
    ----------
    study : Study
        What `tenfold.learn` returned.
    explanation : Explanation, optional
        If it is there already.
    """
    if explanation is None and study.test is not None:
        explanation = explain_study(study)
    return framed(study.target or "groups", hero(study), _parts(study, explanation))


def _parts(study: Study, found: Explanation | None) -> list[Part]:
    """Sections in the order in which a reader asks."""
    curve = None if found is None else found.curve
    order = [] if found is None else [each.column for each in found.importances]
    title = study.chosen.title
    return [
        ("heed", "What should I know first?", findings_list(study.warnings)),
        ("groups", "Which groups are there?", groups_section(study) if study.clusters else None),
        ("data", "What are the data?", data_section(study, order)),
        ("tried", "What was tried?", None if study.clusters else tried_section(study)),
        ("judged", "Where is it right and wrong?", judged_section(study)),
        ("rows", "Would more rows help?", curve and more_rows_section(curve, study.metric, title)),
        (
            "columns",
            "Which columns matter?",
            found and found.importances and mattering_section(found),
        ),
        (
            "mistakes",
            "Where is it most wrong?",
            found and found.mistakes and mistakes_section(found),
        ),
        ("use", "How do I use it?", using_section(study)),
        ("models", "How do these models work?", telling_section(study)),
        ("made", "How was this made?", made_section(study)),
    ]
