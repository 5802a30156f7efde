"""Names in sentences."""

from __future__ import annotations

from collections.abc import Iterable


def list_in_words(names: Iterable[str], *, most: int = 6) -> str:
    """Names in one sentence: a, b and c; the tail is counted.

    Examples
    --------
    >>> list_in_words("abc"), list_in_words("abcdef", most=3)
    ('a, b and c', 'a, b, c and 3 more')
    """
    names = [str(name) for name in names]
    if len(names) > most:
        names = [*names[:most], f"{len(names) - most} more"]
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def at_start(text: str) -> str:
    """As the first word of a sentence."""
    return text[:1].upper() + text[1:]


def within(text: str) -> str:
    """Inside a sentence; an abbreviation keeps its capitals.

    Examples
    --------
    >>> within("Logistic regression"), within("SVM")
    ('logistic regression', 'SVM')
    """
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def model_name(title: str) -> str:
    """The name of a model without what is said about it after a colon."""
    return title.split(":", maxsplit=1)[0]
