"""Errors as one line on stderr, with the cure, and an exit code.

Errors of files, tables and disks are the user's and end with code 2; all others are bugs of tenfold
and end with code 1. `--debug` prints the traceback.
"""

from __future__ import annotations

import csv
import errno
import os
import sys
import warnings
from collections.abc import Callable
from io import TextIOWrapper
from typing import Any

import typer

from tenfold.cli.console import ClosedOutput, make_console, sanitize
from tenfold.engine.interrupts import find_interrupt

EXIT_REFUSED, EXIT_BUG, EXIT_INTERRUPTED, EXIT_BROKEN_PIPE = 2, 1, 130, 141
_USER_ERRORS = (ValueError, TypeError, OSError, MemoryError, csv.Error)
_DISK_FULL = ("No space left on device", "Disk quota exceeded", "File too large")


class DebugMode:
    """Whether a traceback is printed; set by --debug before the command runs."""

    debug = False


def exit_code(run: Callable[[], Any]) -> int:
    """Run a command and return its exit code; errors are printed in one line."""
    _prepare_streams()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code = int(run() or 0)
        sys.stdout.flush()  # or a full disk would only be found after the end
    except BrokenPipeError:
        return _handle_broken_pipe()
    except (KeyboardInterrupt, typer.Abort):
        return EXIT_INTERRUPTED
    except BaseException as error:  # noqa: BLE001 - this is where errors end
        if isinstance(find_interrupt(error), KeyboardInterrupt):
            return EXIT_INTERRUPTED
        return _report_error(error)
    return code


def _prepare_streams() -> None:
    """Let closed streams take text, and show a sign for characters that a terminal cannot show."""
    sys.stdout = ClosedOutput() if sys.stdout is None else sys.stdout
    sys.stderr = ClosedOutput() if sys.stderr is None else sys.stderr
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def _report_error(error: BaseException) -> int:
    if isinstance(error, SystemExit):
        if isinstance(error.__context__, BrokenPipeError):  # click exits with 1 then
            return _handle_broken_pipe()
        return int(error.code or 0)
    if DebugMode.debug:
        import traceback

        traceback.print_exception(error)
    text, code = describe_error(error)
    _print_error(text)
    return code


def describe_error(error: BaseException) -> tuple[str, int]:
    """The message of an error, and its exit code.

    Examples
    --------
    >>> describe_error(ValueError("no column 'prize': did you mean 'price'?"))
    ("no column 'prize': did you mean 'price'?", 2)
    """
    if hasattr(error, "format_message"):  # an error of the command line
        return _describe_usage(error), EXIT_REFUSED
    if _is_disk_full(error):
        file = getattr(error, "filename", None)
        where = f" while writing {sanitize(file)}" if file else ""
        return f"the disk is full{where}: free some space and run the command again", EXIT_REFUSED
    if isinstance(error, MemoryError):
        return "out of memory: use fewer rows or columns (--drop)", EXIT_REFUSED
    if isinstance(error, OSError) and error.errno:
        return _describe_os_error(error), EXIT_REFUSED
    if isinstance(error, _USER_ERRORS):
        return sanitize(error) or type(error).__name__, EXIT_REFUSED
    name = f"{type(error).__name__}: {sanitize(error)}"
    return f"this is a bug in tenfold ({name}): please report it with --debug", EXIT_BUG


def _describe_usage(error: Any) -> str:
    command = error.ctx.command_path if getattr(error, "ctx", None) else "tenfold"
    text = sanitize(error.format_message())
    stop = "" if text.endswith((".", "?")) else "."
    return f"{text[:1].lower()}{text[1:]}{stop} See {command} --help"


def _is_disk_full(error: BaseException) -> bool:
    """Whether the disk, or a quota, is full; Arrow and safetensors raise it without a number."""
    is_full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return is_full or any(words in str(error) for words in _DISK_FULL)


def _describe_os_error(error: OSError) -> str:
    path = sanitize(error.filename) if error.filename else "a file"
    cures = {
        errno.ENOENT: f"{path} does not exist: check the name and the folder",
        errno.EACCES: f"no permission for {path}: choose another path or change its permissions",
        errno.EPERM: f"no permission for {path}: choose another path or change its permissions",
        errno.EROFS: f"{path} is on a read-only disk: choose another path (-o)",
        errno.EISDIR: f"{path} is a folder, not a file: name a file in it",
        errno.ENOTDIR: f"a part of the path {path} is not a folder: choose another path",
    }
    return cures.get(error.errno or 0) or sanitize(error)


def _handle_broken_pipe() -> int:
    """The reader of stdout has closed it (`| head`): exit silently."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return EXIT_BROKEN_PIPE


def _show_warning(message: Warning | str, category: type[Warning], *_: Any) -> None:
    if not issubclass(category, DeprecationWarning | PendingDeprecationWarning):
        make_console(stderr=True).print(
            f"warning: {sanitize(message)}", style="yellow", soft_wrap=True
        )


def _print_error(text: str) -> None:
    make_console(stderr=True).print(f"tenfold: {sanitize(text)}", style="red", soft_wrap=True)
