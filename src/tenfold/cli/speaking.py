"""Who is told what: results on stdout, talk on stderr, and no control codes in a file.

A result is a table and sentences for a person, or with `--json` one document for a machine. Talk is
everything said while the work goes on; `--quiet` silences both.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

FILE_WIDTH = 100  # columns of a table that goes to a file


def printable(text: object) -> str:
    r"""Text in one line without control characters: cells and file names are not to be trusted.

    Examples
    --------
    >>> printable("a\x1b[31m b")
    'a [31m b'
    """
    return " ".join(_harmless(str(text)).split())


def _harmless(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


@dataclass(frozen=True)
class Voice:
    """How one command speaks."""

    json: bool = False
    quiet: bool = False

    @cached_property
    def out(self) -> Console:
        """Where results go."""
        return console(stderr=False)

    @cached_property
    def err(self) -> Console:
        """Where talk goes."""
        return console(stderr=True)

    def say(self, text: str, style: str = "") -> None:
        """Talk while working."""
        if not self.quiet:
            self.err.print(printable(text), style=style or None, soft_wrap=True)

    def say_all(self, texts: Iterable[str]) -> None:
        """Several sentences of talk."""
        for text in texts:
            self.say(text)

    def show(self, *shown: RenderableType) -> None:
        """Give a person the result, or parts of it."""
        if not (self.quiet or self.json):
            self.out.print(*(_clean(part) for part in shown), sep="\n", soft_wrap=_is_text(shown))

    def give(self, document: Mapping[str, Any]) -> None:
        """Give a machine the result, if that was asked for."""
        if self.json:
            text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
            sys.stdout.write(text + "\n")


def console(*, stderr: bool) -> Console:
    """A console that takes text literally, and is wide enough for a table in a file."""
    from rich.console import Console

    made = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not made.is_terminal:
        made.width = FILE_WIDTH
    return made


def _clean(part: RenderableType) -> RenderableType:
    return "\n".join(map(_harmless, part.split("\n"))) if isinstance(part, str) else part


def _is_text(shown: tuple[RenderableType, ...]) -> bool:
    return all(isinstance(part, str) for part in shown)
