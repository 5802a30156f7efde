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

from tenfold.cli.console import make_console, sanitize

EXIT_REFUSED, EXIT_BUG, EXIT_INTERRUPTED, EXIT_BROKEN_PIPE = 2, 1, 130, 141
_USER_ERRORS = (ValueError, TypeError, OSError, MemoryError)


class DebugMode:
    """What was asked for before anything could go wrong."""

    debug = False


def exit_code(run: Callable[[], Any]) -> int:
    """Run a command and return its exit code; whatever goes wrong is said in one sentence."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without the letter shows a mark
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            return int(run() or 0)
    except BrokenPipeError:
        return _handle_broken_pipe()
    except (KeyboardInterrupt, typer.Abort):
        return EXIT_INTERRUPTED
    except BaseException as error:  # noqa: BLE001 - this is where errors end
        return _report_error(error)


def _report_error(error: BaseException) -> int:
    if isinstance(error, SystemExit):
        return int(error.code or 0)
    if DebugMode.debug:
        import traceback

        traceback.print_exception(error)
    text, code = describe_error(error)
    _print_error(text)
    return code


def describe_error(error: BaseException) -> tuple[str, int]:
    """What to say about an error, and the exit code.

    Examples
    --------
    >>> describe_error(ValueError("no column 'prize': did you mean 'price'?"))
    ("no column 'prize': did you mean 'price'?", 2)
    """
    if hasattr(error, "format_message"):  # a word of the command line was wrong
        return _describe_usage(error), EXIT_REFUSED
    if _is_disk_full(error):
        file = getattr(error, "filename", None)
        where = f" while writing {sanitize(file)}" if file else ""
        return f"the disk is full{where}: free some space, then run the same again", EXIT_REFUSED
    if isinstance(error, MemoryError):
        return "there is not enough memory: take fewer rows or columns (--drop)", EXIT_REFUSED
    if isinstance(error, OSError) and error.errno:
        return _describe_os_error(error), EXIT_REFUSED
    if isinstance(error, _USER_ERRORS):
        return sanitize(error) or type(error).__name__, EXIT_REFUSED
    found = f"{type(error).__name__}: {sanitize(error)}"
    return f"this is a bug in tenfold ({found}): --debug shows where, please report it", EXIT_BUG


def _describe_usage(error: Any) -> str:
    asked = error.ctx.command_path if getattr(error, "ctx", None) else "tenfold"
    text = sanitize(error.format_message())
    stop = "" if text.endswith((".", "?")) else "."
    return f"{text[:1].lower()}{text[1:]}{stop} See {asked} --help"


def _is_disk_full(error: BaseException) -> bool:
    """Whether the disk was full; Arrow and safetensors say it in words only."""
    full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
    return full or "No space left on device" in str(error)


def _describe_os_error(error: OSError) -> str:
    where = sanitize(error.filename) if error.filename else "a file"
    cures = {
        errno.ENOENT: f"there is no {where}: check the name and the folder",
        errno.EACCES: f"no permission for {where}: choose another place or change its rights",
        errno.EPERM: f"no permission for {where}: choose another place or change its rights",
        errno.EROFS: f"{where} is on a disk that cannot be written: choose another place (-o)",
        errno.EISDIR: f"{where} is a folder, not a file: name the file in it",
        errno.ENOTDIR: f"{where} lies below something that is no folder: choose another place",
    }
    return cures.get(error.errno or 0) or sanitize(error)


def _handle_broken_pipe() -> int:
    """Whoever read our output has gone (`| head`): end without a word."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return EXIT_BROKEN_PIPE


def _show_warning(message: Warning | str, category: type[Warning], *_: Any) -> None:
    if not issubclass(category, DeprecationWarning | PendingDeprecationWarning):
        make_console(stderr=True).print(
            f"warning: {sanitize(message)}", style="yellow", soft_wrap=True
        )


def _print_error(text: str) -> None:
    make_console(stderr=True).print(f"tenfold: {sanitize(text)}", style="red", soft_wrap=True)
