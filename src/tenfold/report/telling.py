"""How the models that were tried work, one paragraph each."""

from __future__ import annotations

from tenfold.report.html import Html, joined, tag
from tenfold.report.models import Story, story
from tenfold.report.typeset import typeset
from tenfold.report.words import model_name
from tenfold.study.result import Attempt, Study


def telling_section(study: Study) -> Html:
    """The chosen model first, then the others in the order of the ladder."""
    attempts = [study.chosen, *(each for each in study.attempts if each is not study.chosen)]
    told: dict[str, tuple[Story, Attempt]] = {}
    for attempt in attempts:
        found = story(attempt.key)
        if found is not None and found.words not in told:
            told[found.words] = (found, attempt)
    parts = [_model(found, attempt, study) for found, attempt in told.values()]
    said = (
        "What each model looks for, the chosen one first. Numbers such as L02 are topics of "
        "tenfold's syllabus, 004 §2.7 a section of the course notes that it covers."
    )
    return joined(tag("p", said, class_="say"), parts)


def _model(found: Story, attempt: Attempt, study: Study) -> Html:
    badge = tag("span", "chosen", class_="badge chosen") if attempt is study.chosen else None
    topics = ", ".join(found.topics)
    return tag(
        "article",
        tag(
            "div",
            tag("h3", model_name(attempt.title), badge),
            tag("p", found.words, " ", found.strength),
            tag("p", f"Syllabus: {topics} · Notes: {found.notes}", class_="source"),
        ),
        tag("div", typeset(found.formula), class_="formula"),
        class_="model",
    )
