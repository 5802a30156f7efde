"""What went wrong, in one sentence with the cure, and the exit code that says so.

Everything that a file, a table or a disk can do to us ends here as one line on stderr. What nobody
foresaw is called a bug and ends with another code. `--debug` shows where it came from.
"""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Callable
from io import TextIOWrapper
from typing import Any

import typer

from tenfold.cli.speaking import console, printable

REFUSED, OUR_FAULT, INTERRUPTED, NO_READER = 2, 1, 130, 141
KNOWN = (ValueError, TypeError, OSError, MemoryError)


class Asked:
    """What was asked for before anything could go wrong."""

    debug = False


def exit_code(run: Callable[[], Any]) -> int:
    """Run a command and return its exit code; whatever goes wrong is said in one sentence."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without the letter shows a mark
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warned
            return int(run() or 0)
    except BrokenPipeError:
        return _nobody_reads()
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BaseException as error:  # noqa: BLE001 - this is where errors end
        return _told(error)


def _told(error: BaseException) -> int:
    if isinstance(error, SystemExit):
        return int(error.code or 0)
    if Asked.debug:
        import traceback

        traceback.print_exception(error)
    text, code = sentence(error)
    _say(text)
    return code


def sentence(error: BaseException) -> tuple[str, int]:
    """What to say about an error, and the exit code.

    Examples
    --------
    >>> sentence(ValueError("no column 'prize': did you mean 'price'?"))
    ("no column 'prize': did you mean 'price'?", 2)
    """
    if hasattr(error, "format_message"):  # a word of the command line was wrong
        return _usage(error), REFUSED
    if _is_full(error):
        file = getattr(error, "filename", None)
        where = f" while writing {printable(file)}" if file else ""
        return f"the disk is full{where}: free some space, then run the same again", REFUSED
    if isinstance(error, MemoryError):
        return "there is not enough memory: take fewer rows or columns (--drop)", REFUSED
    if isinstance(error, OSError) and error.errno:
        return _of_the_system(error), REFUSED
    if isinstance(error, KNOWN):
        return printable(error) or type(error).__name__, REFUSED
    found = f"{type(error).__name__}: {printable(error)}"
    return f"this is a bug in tenfold ({found}): --debug shows where, please report it", OUR_FAULT


def _usage(error: Any) -> str:
    asked = error.ctx.command_path if getattr(error, "ctx", None) else "tenfold"
    text = printable(error.format_message())
    stop = "" if text.endswith((".", "?")) else "."
    return f"{text[:1].lower()}{text[1:]}{stop} See {asked} --help"


def _is_full(error: BaseException) -> bool:
    """Whether the disk was full; Arrow and safetensors say it in words only."""
    full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
    return full or "No space left on device" in str(error)


def _of_the_system(error: OSError) -> str:
    where = printable(error.filename) if error.filename else "a file"
    cures = {
        errno.ENOENT: f"there is no {where}: check the name and the folder",
        errno.EACCES: f"no permission for {where}: choose another place or change its rights",
        errno.EPERM: f"no permission for {where}: choose another place or change its rights",
        errno.EROFS: f"{where} is on a disk that cannot be written: choose another place (-o)",
        errno.EISDIR: f"{where} is a folder, not a file: name the file in it",
        errno.ENOTDIR: f"{where} lies below something that is no folder: choose another place",
    }
    return cures.get(error.errno or 0) or printable(error)


def _nobody_reads() -> int:
    """Whoever read our output has gone (`| head`): end without a word."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return NO_READER


def _warned(message: Warning | str, category: type[Warning], *_: Any) -> None:
    if not issubclass(category, DeprecationWarning | PendingDeprecationWarning):
        console(stderr=True).print(f"warning: {printable(message)}", style="yellow", soft_wrap=True)


def _say(text: str) -> None:
    console(stderr=True).print(f"tenfold: {printable(text)}", style="red", soft_wrap=True)
